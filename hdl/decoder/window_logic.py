# SPDX-License-Identifier: BSD-2-Clause
"""The logic of the sliding window: the role of each unit of a beat, from the units around it.

A self-synchronising table needs no state. Whether a unit continues a sequence follows from the units before it, at
most as many as the longest sequence has. So the window is a pipeline without feedback, the same logic for each lane,
with registers after any of its steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial, reduce
from operator import and_, or_
from typing import Self

from amaranth.hdl import Const, Value

from utf8fpga.hdl.commented import spelled_units
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.minimise import Function, Word, minimised_word
from utf8fpga.model import EncodingTable, ErrorKind, TableError, cause, spell


def any_of(values: Iterable[Value]) -> Value:
    """The OR of one-bit values; 0 of none."""
    return reduce(or_, values, Const(0, 1))


@dataclass(frozen=True)
class Source:
    """A bit of a unit that is the source of a bit of the code point.

    Attributes:
        back: the number of units between it and the end of the sequence.
        above, up_to: it applies in sequences of more than `above` and up to `up_to` units. Where the bit is 0 anyway
            the bounds are wider, so that fewer inputs are needed.
        sum: the bit of the unit with what is added to its payload, as a function of the unit; None if nothing is.
    """

    back: int
    place: int
    above: int
    up_to: int
    sum: Function | None = None


@dataclass(frozen=True)
class WindowControl:
    """The functions of the window of one encoding table, derived from its rows.

    A sequence of n units is a lead that opens it, a second unit that the lead allows, and any further trailing units.
    For each n the trailing units fall into classes such that a lead of n units allows all units of a class or none;
    for UTF-8 there are at most two, which differ in one bit.
    """

    table: EncodingTable
    serial: SerialControl

    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, table: EncodingTable) -> Self:
        """The functions of `table`.

        Raises:
            TableError: the table does not allow a decoder.
        """
        return cls(table, SerialControl.of(table))

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the sequences of several units."""
        return tuple(sorted(length for length in self.table.patterns if length > 1))

    def _leads(self, length: int) -> dict[int, frozenset[int]]:
        """For each lead of sequences of `length` units the units that may follow it."""
        serial = self.serial
        return {
            unit: serial.allowed[state]
            for unit, state in serial.leads.items()
            if serial.dfa.states[state].remaining[0] == length - 1
        }

    @cache  # noqa: B019 - as many entries as lengths, and the tables are few
    def _classes(self, length: int) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
        """Classes of trailing units that no lead of `length` distinguishes, each with the leads that allow it."""
        leads = self._leads(length)
        groups: dict[frozenset[int], set[int]] = {}
        for trail in self.serial.trails:
            allowing = frozenset(lead for lead, allowed in leads.items() if trail in allowed)
            groups.setdefault(allowing, set()).add(trail)
        pairs = [(frozenset(trails), allowing) for allowing, trails in groups.items()]
        return tuple(sorted((pair for pair in pairs if pair[1]), key=lambda pair: min(pair[0])))

    @cached_property
    def comments(self) -> dict[str, str]:
        """What the values of a unit by itself mean in terms of the rows, by the names of their registers."""
        spelled = partial(spelled_units, width=self.table.unit_width)
        found = {"trail": f"A trailing unit, {spelled(self.serial.trails)}."}
        for length in self.lengths:
            leads = spelled(self._leads(length))
            found[f"prefix_{length}"] = f"The upper bits are those of a lead of {length} units, as in {leads}."
            for which, (trails, allowing) in enumerate(self._classes(length)):
                found[f"allows_{length}_{which}"] = (
                    f"With that prefix: {spelled(allowing)}, after which {spelled(trails)} may follow."
                )
                found[f"class_{length}_{which}"] = f"Of a trailing unit: {spelled(trails)}."
        return found

    @cached_property
    def is_longer(self) -> Function:
        """Of a unit that completes a sequence: the sequence has several units."""
        return self.serial.of_unit(self.serial.trails, self.serial.singles)

    @cached_property
    def kind_of_unit(self) -> Word:
        """The cause of an error that a unit has by itself: it starts no sequence, or is a lead, and the next unit is a
        trailing one that the lead does not allow.

        Raises:
            TableError: the cause depends on the next unit.
        """
        serial = self.serial
        kinds = {unit: cause(self.table, [unit], None) for unit in serial.units - serial.allowed[0]}
        for lead, state in serial.leads.items():
            found = {cause(self.table, [lead], trail) for trail in serial.trails - serial.allowed[state]}
            if len(found) > 1:
                raise TableError(
                    f"{self.table.name}: the cause of an error after {spell([lead], self.table.unit_width)} depends on "
                    f"the trailing unit: {', '.join(sorted(kind.name for kind in found))}"
                )
            if found:
                kinds[lead] = found.pop()
        return minimised_word(kinds, max(ErrorKind).bit_length(), self.table.unit_width)

    def trail_classes(self, length: int) -> tuple[Function, ...]:
        """For each class: a trailing unit is in it. No function for a last class of all other trailing units."""
        classes = [trails for trails, _ in self._classes(length)]
        rest = self.serial.trails - frozenset[int]().union(*classes)
        needed = classes if rest or len(classes) > 2 else classes[:-1]
        return tuple(self.serial.of_unit(trails, self.serial.trails - trails) for trails in needed)

    def lead_prefix(self, length: int) -> Function:
        """Those of the unit's upper four bits that are the same in all leads of `length` are as in these."""
        leads = self._leads(length)
        width = self.table.unit_width
        care = reduce(and_, (~(unit ^ min(leads)) for unit in leads)) & (1 << width) - 1
        care &= 0xF << max(width - 4, 0)
        return Function(((care, min(leads) & care),))

    def lead_allows(self, length: int) -> tuple[Function, ...]:
        """Of a unit with the `lead_prefix`: it is a lead of `length` and allows this class to follow."""
        prefix = self.lead_prefix(length)
        alike = {unit for unit in self.serial.units if prefix.compute(unit)}
        return tuple(self.serial.of_unit(allowing, alike - allowing) for _, allowing in self._classes(length))

    def sources(self, bit: int) -> list[Source]:
        """The bits of units that a bit of the code point of a complete sequence depends on."""
        trail_bits = self.serial.trail_bits
        users: dict[tuple[int, int, int], set[int]] = {}
        for length, pattern in self.table.patterns.items():
            back = min(bit // trail_bits, length - 1) if trail_bits else length - 1
            place = bit - back * trail_bits
            with_sum = length if pattern.base and back == length - 1 else 0
            first_bits = self.serial.first_payload_bits(length)
            if place < (first_bits if back == length - 1 else trail_bits):
                users.setdefault((back, place, with_sum), set()).add(length)
        return [self._source(back, place, lengths, with_sum) for (back, place, with_sum), lengths in users.items()]

    def _sum(self, length: int, place: int) -> Function:
        """A bit of the payload of a lead, with what is added to it."""
        leads = self._leads(length)
        ones = [unit for unit in leads if self.serial.first_payload(unit, length) >> place & 1]
        return self.serial.of_unit(ones, leads.keys() - set(ones))

    def _source(self, back: int, place: int, lengths: set[int], with_sum: int) -> Source:
        def harmless(length: int) -> bool:
            if length <= back or with_sum:
                return False
            units = self._units_at(length, back)
            return all(not unit >> place & 1 for unit in units)

        forbidden = [n for n in self.table.patterns if n not in lengths and not harmless(n)]
        below = [n for n in forbidden if n < min(lengths)]
        above = [n for n in forbidden if n > max(lengths)]
        if len(below) + len(above) != len(forbidden):
            raise TableError(f"{self.table.name}: sequences of {forbidden} units have no payload where others do")
        bounds = max(below, default=0), min(above, default=self.table.longest + 1) - 1
        return Source(back, place, *bounds, self._sum(with_sum, place) if with_sum else None)

    def _units_at(self, length: int, back: int) -> Iterable[int]:
        """The units that can be `back` units before the end of a sequence of `length`."""
        if back < length - 1:
            return self.serial.trails
        return self.serial.singles if length == 1 else self._leads(length)
