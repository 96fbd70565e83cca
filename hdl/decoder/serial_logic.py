# SPDX-License-Identifier: BSD-2-Clause
"""The logic functions of a serial decoder, derived from the rows of its table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import product, takewhile

from amaranth.hdl import Cat, Value

from utf8fpga.hdl.commented import spelled_units
from utf8fpga.hdl.decoder.unit_logic import KIND_BITS, UnitLogic
from utf8fpga.hdl.minimise import BitFunctions, Function, minimised, minimised_bits
from utf8fpga.model import EncodingTable, cause
from utf8fpga.model.errors import representatives


class SerialControl(UnitLogic):
    """The logic functions of one encoding table.

    An open sequence is represented by

    - `remaining`, a register of which bit k is set while the sequence needs more than k units;
    - `restricts`: the unit before was a lead that allows only some trailing units. Which ones follows from its payload,
      which is stored anyway, and from `remaining`.

    In the functions below a *context* is, from bit 0: the unit, `remaining`, `restricts`, and the low `payload_bits`
    of the payload of the sequence.

    Attributes:
        may_stay_open: of a unit that occurs in a sequence: the sequence has other units, too.
        opens: of a unit that `may_stay_open`: it starts a sequence.
        restricts: of a unit of a sequence: it is a lead that allows only some trailing units.
        payload_bits: how many low payload bits of a lead are stored unchanged; 0 if no lead restricts the next unit.
    """

    def __init__(self, table: EncodingTable) -> None:
        super().__init__(table)
        restricting = {lead for lead, state in self.leads.items() if state in self.constrained}
        self.may_stay_open = self.of_unit(self.trails.union(self.leads), self.singles)
        self.opens = self.of_unit(self.leads, self.units - self.singles - set(self.leads))
        self.restricts = self.of_unit(restricting, self.trails.union(self.leads) - restricting)
        is_unchanged = (
            self._own_bit(bit, singles=False) == Function(((1 << bit, 1 << bit),)) for bit in range(self.trail_bits)
        )
        self.payload_bits = sum(takewhile(bool, is_unchanged)) if restricting else 0

    def needs_after(self, opens: Value, unit: Value) -> list[Value]:
        """The bits of `remaining` after a unit that opens a sequence if `opens` is 1."""
        bits = [opens]
        for k in range(1, self.longest - 1):
            longer = {lead for lead in self.leads if self.starts[lead] > k + 1}
            bits.append(opens & self.of_unit(longer, self.leads.keys() - longer)(unit))
        return bits

    # Functions of the open sequence and the unit after it.

    def context(self, unit: Value, remaining: Value, restricts: Value, payload: Value) -> Value:
        """The context word of these values."""
        return Cat(unit, remaining, restricts, payload[: self.payload_bits])

    def _contexts(self, state: int, unit: int) -> Iterator[int]:
        """The contexts with a unit in an open state."""
        width, mask = self.table.unit_width, (1 << self.payload_bits) - 1
        is_constrained = state in self.constrained
        payloads: Iterable[int] = range(mask + 1)
        if is_constrained:
            payloads = {lead & mask for lead in self._leads_to(state)}
        low = (1 << self.needs(state)) - 1 | is_constrained << self.longest - 1
        for payload in payloads:
            yield unit | (low | payload << self.longest) << width

    def _leads_to(self, state: int) -> list[int]:
        return [lead for lead, to in self.leads.items() if to == state]

    def _of_context(self, values: Mapping[tuple[int, int], int], bits: int = 1) -> BitFunctions:
        """A function for each bit of the values by open state and unit; for all others it is not specified."""
        words = {word: value for case, value in values.items() for word in self._contexts(*case)}
        return minimised_bits(words, bits, self.table.unit_width + self.longest + self.payload_bits)

    @cached_property
    def allows(self) -> Function:
        """Of a context with a trailing unit: the open sequence allows the unit."""
        cases = product(self.open_states, self.trails)
        return self._of_context({(state, unit): unit in self.allowed[state] for state, unit in cases})[0]

    def allows_next(self, unit: Value, restricts: Value, before: Value) -> Value:
        """Of a trailing unit and the unit before it in the sequence: that one allows it."""
        width = self.table.unit_width
        leads = {lead: self.allowed[state] for lead, state in self.leads.items() if state in self.constrained}
        values = {trail | lead << width: trail in units for lead, units in leads.items() for trail in self.trails}
        return ~restricts | minimised(values, 2 * width)(Cat(unit, before))

    def payload_is_read(self, bit: int, *, kind: bool) -> bool:
        """Whether `allows` or, if `kind`, `broken_kind` depends on this bit of the payload."""
        functions = (self.allows, *self.broken_kind) if kind else (self.allows,)
        place = self.table.unit_width + self.longest + bit
        return any(function.support >> place & 1 for function in functions)

    @cached_property
    def broken_kind(self) -> BitFunctions:
        """Of a context: the error kind of an open sequence that the unit breaks."""
        kinds = {}
        for subpart, state in representatives(self.table):
            for unit in self.units - self.allowed[state]:
                kinds[state, unit] = cause(self.table, subpart, unit)
        return self._of_context(kinds, KIND_BITS)

    @property
    def comments(self) -> dict[str, str]:
        """What the functions mean in terms of the rows, by name, for comments."""
        spelled = partial(spelled_units, width=self.table.unit_width)
        longer = [spelled(lead for lead in self.leads if self.starts[lead] > k + 1) for k in range(self.longest - 1)]
        restricting = spelled(lead for lead, state in self.leads.items() if state in self.constrained)
        after = {state: spelled(self._leads_to(state)) for state in self.leads.values() if state in self.constrained}
        limits = [f"after {leads} it is {spelled(self.allowed[state])}" for state, leads in after.items()]
        return {
            "opens": f"The unit starts a sequence of several units: {longer[0]}.",
            "restricts": f"The lead is one of those that allow only some trailing units next: {restricting}.",
            "remaining": "Bit k: the open sequence needs more than k units; all 0 where none is open. The leads that"
            f" set them: {'; '.join(f'bit {k}: {leads}' for k, leads in enumerate(longer))}.",
            "trail": f"The unit continues sequences: {spelled(self.trails)}.",
            "allowed": f"The open sequence allows this trailing unit: {'; '.join([*limits, 'else any'])}.",
        }

    # The code point.

    def _own_bit(self, bit: int, *, leads: bool = True, singles: bool = True) -> Function:
        """Bit `bit` of the code point, as far as it comes from the last unit."""
        payloads = [(unit, unit, self.trail_bits, 0) for unit in self.trails]
        for unit, length in self.starts.items():
            if leads if length > 1 else singles:
                payload = self.first_payload(unit, length)
                payloads.append((unit, payload, self.first_payload_bits(length), length - 1))
        on = [unit for unit, payload, bits, _ in payloads if bit < bits and payload >> bit & 1]
        off = [unit for unit, payload, bits, _ in payloads if bit < bits and not payload >> bit & 1]
        # A fixed bit of a lead must not enter the code point, unless later units shift it out.
        shown = self.code_point_bits
        off += [unit for unit, _, bits, n in payloads if bit >= bits and bit + n * self.trail_bits < shown]
        return self.of_unit(on, off)

    def shifts(self, *, leads: bool = True, singles: bool = True) -> Function:
        """The unit continues a sequence, so that the payload bits before it are shifted.

        Args:
            leads: whether the function is used for a unit that opens a sequence.
            singles: whether the function is used for a unit that is a complete sequence.
        """
        starts = [*(self.leads if leads else ()), *(self.singles if singles else ())]
        return self.of_unit(self.trails, starts)

    def accumulate(
        self, before: Value, unit: Value, shifts: Value, *, leads: bool = True, singles: bool = True
    ) -> Value:
        """The code point after one more unit.

        Args:
            before: the payload bits before it.
            shifts: the value of `shifts` for the unit.
            leads, singles: see `shifts`.
        """
        own = [self._own_bit(place, leads=leads, singles=singles) for place in range(self.code_point_bits)]
        # Above these bits there are none of the unit itself.
        most = max(place for place, function in enumerate(own) if function != Function(())) + 1
        low = Cat(each(unit) for each in own[: self.trail_bits])
        kept = self.code_point_bits - self.trail_bits
        moved = before[:kept] & shifts.replicate(kept)
        if most <= self.trail_bits:
            return Cat(low, moved)
        high = Cat(each(unit) for each in own[self.trail_bits : most])
        return Cat(low, moved[: len(high)] | high, moved[len(high) :])
