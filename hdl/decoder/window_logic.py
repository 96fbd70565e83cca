# SPDX-License-Identifier: BSD-2-Clause
"""The logic of the sliding window: the role of each unit of a beat, from the units around it.

A self-synchronising table needs no state. Whether a unit continues a sequence follows from the units before it, at
most as many as the longest sequence has. So the window is a pipeline without feedback, the same logic for each lane,
with registers after any of its steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial, reduce
from operator import and_

from utf8fpga.hdl.commented import spelled_units
from utf8fpga.hdl.decoder.unit_logic import UnitLogic
from utf8fpga.hdl.minimise import BitFunctions, Function
from utf8fpga.model import EncodingTable, cause


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


class WindowControl(UnitLogic):
    """The functions of the window of one encoding table.

    For each length the trailing units fall into classes such that a lead allows all units of a class or none; for UTF-8
    there are at most two, which differ in one bit.

    Attributes:
        lengths: the lengths of the sequences of several units.
        is_longer: of a unit that completes a sequence: the sequence has several units.
    """

    def __init__(self, table: EncodingTable) -> None:
        super().__init__(table)
        self.lengths = sorted(length for length in table.patterns if length > 1)
        self.is_longer = self.of_unit(self.trails, self.singles)

    def leads_of(self, length: int) -> dict[int, frozenset[int]]:
        """For each lead of sequences of `length` units the units that may follow it."""
        return {lead: self.allowed[to] for lead, to in self.leads.items() if self.starts[lead] == length}

    @cache  # noqa: B019 - as many entries as lengths, and the tables are few
    def _classes(self, length: int) -> tuple[tuple[frozenset[int], frozenset[int]], ...]:
        """Classes of trailing units that no lead of `length` distinguishes, each with the leads that allow it."""
        leads = self.leads_of(length)
        groups: dict[frozenset[int], set[int]] = {}
        for trail in self.trails:
            allowing = frozenset(lead for lead, allowed in leads.items() if trail in allowed)
            groups.setdefault(allowing, set()).add(trail)
        pairs = [(frozenset(trails), allowing) for allowing, trails in groups.items() if allowing]
        return tuple(sorted(pairs, key=lambda pair: min(pair[0])))

    @cached_property
    def comments(self) -> dict[str, str]:
        """What the values of a unit by itself mean in terms of the rows, by the names of their registers."""
        spelled = partial(spelled_units, width=self.table.unit_width)
        found = {"trail": f"A trailing unit, {spelled(self.trails)}."}
        for length in self.lengths:
            leads = spelled(self.leads_of(length))
            found[f"prefix_{length}"] = f"The upper bits are those of a lead of {length} units, as in {leads}."
            for which, (trails, allowing) in enumerate(self._classes(length)):
                may_follow = f"after which {spelled(trails)} may follow"
                found[f"allows_{length}_{which}"] = f"With that prefix: {spelled(allowing)}, {may_follow}."
                found[f"class_{length}_{which}"] = f"Of a trailing unit: {spelled(trails)}."
        return found

    @cached_property
    def kind_of_unit(self) -> BitFunctions:
        """The cause of an error that a unit has by itself: it starts no sequence, or is a lead, and the next unit is a
        trailing one that the lead does not allow."""
        kinds = dict(self.stray_kinds)
        for lead, state in self.leads.items():
            for trail in self.trails - self.allowed[state]:
                kinds[lead] = cause(self.table, [lead], trail)
        return self.kind_word(kinds)

    def trail_classes(self, length: int) -> tuple[Function, ...]:
        """For each class: a trailing unit is in it. No function for a last class of all other trailing units."""
        classes = [trails for trails, _ in self._classes(length)]
        rest = self.trails - frozenset[int]().union(*classes)
        needed = classes if rest or len(classes) > 2 else classes[:-1]
        return tuple(self.of_unit(trails, self.trails - trails) for trails in needed)

    def lead_prefix(self, length: int) -> Function:
        """Those of the unit's upper four bits that are the same in all leads of `length` are as in these."""
        leads, width = self.leads_of(length), self.table.unit_width
        care = reduce(and_, (~(unit ^ min(leads)) for unit in leads)) & 0xF << width - 4
        return Function(((care, min(leads) & care),))

    def lead_allows(self, length: int) -> tuple[Function, ...]:
        """For each class: a unit with the `lead_prefix` is a lead of `length` that allows the class to follow."""
        prefix = self.lead_prefix(length)
        alike = {unit for unit in self.units if prefix.compute(unit)}
        return tuple(self.of_unit(allowing, alike - allowing) for _, allowing in self._classes(length))

    def sources(self, bit: int) -> list[Source]:
        """The bits of units that a bit of the code point of a complete sequence depends on."""
        users: dict[tuple[int, int, bool], set[int]] = {}
        for length, pattern in self.table.patterns.items():
            back = min(bit // self.trail_bits, length - 1)
            place, is_lead = bit - back * self.trail_bits, back == length - 1
            if place < (self.first_payload_bits(length) if is_lead else self.trail_bits):
                users.setdefault((back, place, is_lead and pattern.base > 0), set()).add(length)
        return [self._source(*source, lengths) for source, lengths in users.items()]

    def _source(self, back: int, place: int, with_sum: bool, lengths: set[int]) -> Source:
        others = [n for n in self.table.patterns if n not in lengths]
        # Lengths of sequences in which this unit has other bits here, or that do not have it.
        forbidden = [n for n in others if with_sum or n <= back or any(unit >> place & 1 for unit in self._at(n, back))]
        above = max((n for n in forbidden if n < min(lengths)), default=0)
        up_to = min((n for n in forbidden if n > max(lengths)), default=self.table.longest + 1) - 1
        return Source(back, place, above, up_to, self._sum(min(lengths), place) if with_sum else None)

    def _sum(self, length: int, place: int) -> Function:
        """A bit of the payload of a lead, with what is added to it."""
        leads = self.leads_of(length)
        ones = {lead for lead in leads if self.first_payload(lead, length) >> place & 1}
        return self.of_unit(ones, leads.keys() - ones)

    def _at(self, length: int, back: int) -> Iterable[int]:
        """The units that can be `back` units before the end of a sequence of `length`."""
        if back < length - 1:
            return self.trails
        return [unit for unit, its_length in self.starts.items() if its_length == length]
