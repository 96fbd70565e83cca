# SPDX-License-Identifier: BSD-2-Clause
"""The logic functions of a serial decoder, derived from the rows of its table.

Each function is specified only for the inputs for which it is used; all others are don't-cares of the minimisation. For
UTF-8 this is enough to reduce "is a continuation" to two bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

from amaranth.hdl import Cat, Value

from utf8fpga.hdl.commented import spelled_units
from utf8fpga.hdl.minimise import Function, Word, minimise, minimised, minimised_word
from utf8fpga.hdl.payloads import code_point_bits
from utf8fpga.model import DFA, REJECT, START, EncodingTable, ErrorKind, TableError, cause
from utf8fpga.model.errors import representatives
from utf8fpga.model.table import spell

_KIND_BITS = max(ErrorKind).bit_length()

_WIDEST = 17
"""Upper bound on the bits of a unit, since the sets of units are enumerated: those of UTF-16, and an error flag."""


@dataclass(frozen=True)
class SerialControl:
    """The logic functions of one encoding table.

    An open sequence is represented by

    - `remaining`, a register of which bit k is set while the sequence needs more than k units;
    - `restricts`: the unit before was a lead that allows only some trailing units. Which ones follows from its payload,
      which is stored anyway, and from `remaining`.

    In the functions below a *context* is, from bit 0: the unit, `remaining`, `restricts`, and the low `payload_bits`
    of the payload of the sequence.
    """

    table: EncodingTable
    dfa: DFA

    @staticmethod
    @lru_cache(maxsize=32)
    def of(table: EncodingTable) -> SerialControl:
        """The functions of a table (the same object for an equal table).

        Raises:
            TableError: the table does not allow a decoder: its units are wider than 17 bits, a unit starts one sequence
                and continues another, units after the second one are constrained, or the payload bits are not in the
                same places in all sequences.
        """
        control = SerialControl(table, DFA.of(table))
        control._check_units()
        control._check_states()
        control._check_payload()
        return control

    def _check_units(self) -> None:
        name, width = self.table.name, self.table.unit_width
        if width > _WIDEST:
            raise TableError(f"{name}: a serial decoder accepts units of up to {_WIDEST} bits, not {width}")
        if self.longest == 1:
            raise TableError(f"{name}: a serial decoder requires sequences of several units, but all have one")
        if both := self.trails & self.allowed[START]:
            raise TableError(
                f"{name}: a serial decoder is for self-synchronising tables, "
                f"but {spell([min(both)], width)} starts one sequence and continues another"
            )

    def _check_states(self) -> None:
        name = self.table.name
        for state in self.dfa.states:
            if state.remaining[0] != state.remaining[1]:
                raise TableError(f"{name}: state {state.name!r} leads to sequences of different lengths")
        for number in sorted(self._later_states & self._constrained):
            raise TableError(
                f"{name}: a decoder requires constraints on the second unit of a sequence only, "
                f"but in state {self.dfa.states[number].name!r} the next unit is, too"
            )

    def _check_payload(self) -> None:
        name = self.table.name
        for length, pattern in self.table.patterns.items():
            if pattern.base % (1 << self.trail_bits * (length - 1)):
                raise TableError(
                    f"{name}: a serial decoder adds nothing to the payload bits after the first unit, "
                    f"but sequences of {length} units need {pattern.base:X} added"
                )
            if any(bits != self.trail_bits for bits in pattern.payload_bits[1:]):
                raise TableError(f"{name}: not every unit after the first has {self.trail_bits} payload bits")

    # Sizes.

    @property
    def longest(self) -> int:
        """Units in the longest sequence."""
        return self.table.longest

    @property
    def code_point_bits(self) -> int:
        """The width of an output code point."""
        return code_point_bits(self.table)

    @cached_property
    def trail_bits(self) -> int:
        """Payload bits of every unit after the first (0 where there is none)."""
        return max((pattern.payload_bits[-1] for n, pattern in self.table.patterns.items() if n > 1), default=0)

    # Sets of units and states.

    @cached_property
    def units(self) -> frozenset[int]:
        """All units."""
        return frozenset(range(1 << self.table.unit_width))

    @cached_property
    def _open_states(self) -> range:
        return range(1, len(self.dfa.states))

    @cached_property
    def allowed(self) -> tuple[frozenset[int], ...]:
        """Per state the units that do not break it."""
        return tuple(
            frozenset(
                unit
                for unit_class, to in zip(self.dfa.classes, state.transitions, strict=True)
                if to != REJECT
                for allowed in unit_class.ranges
                for unit in allowed
            )
            for state in self.dfa.states
        )

    @cached_property
    def singles(self) -> frozenset[int]:
        """The units that are whole sequences."""
        return frozenset(unit for unit in self.allowed[START] if self.dfa.step(START, unit) == START)

    @cached_property
    def leads(self) -> dict[int, int]:
        """Per unit that opens a sequence the state it leads to."""
        return {unit: self.dfa.step(START, unit) for unit in sorted(self.allowed[START] - self.singles)}

    @cached_property
    def trails(self) -> frozenset[int]:
        """The units that continue sequences."""
        return frozenset[int]().union(*self.allowed[1:])

    def needs(self, state: int) -> int:
        """The units that a state needs."""
        return self.dfa.states[state].remaining[0]

    @cached_property
    def _constrained(self) -> frozenset[int]:
        return frozenset(state for state in self._open_states if self.allowed[state] != self.trails)

    @cached_property
    def _later_states(self) -> set[int]:
        """The open states that the second unit of a sequence, or a later one, leads to."""
        targets = {to for state in self._open_states for to in self.dfa.states[state].transitions}
        return targets.intersection(self._open_states)

    # Functions of the unit.

    def of_unit(self, on: Iterable[int], off: Iterable[int]) -> Function:
        """A function of a unit that is 1 on `on` and 0 on `off`."""
        return minimise(on, off, self.table.unit_width)

    @cached_property
    def is_single(self) -> Function:
        """The unit is a complete sequence."""
        return self.of_unit(self.singles, self.units - self.singles)

    @cached_property
    def is_trail(self) -> Function:
        """The unit is not the first one in some sequence."""
        return self.of_unit(self.trails, self.units - self.trails)

    @cached_property
    def is_lead(self) -> Function:
        """The unit starts a sequence of several units."""
        return self.of_unit(self.leads, self.units - set(self.leads))

    @cached_property
    def may_stay_open(self) -> Function:
        """Of a unit that occurs in a sequence: the sequence has other units, too."""
        return self.of_unit(self.trails.union(self.leads), self.singles)

    @cached_property
    def opens(self) -> Function:
        """Of a unit that `may_stay_open`: it starts a sequence."""
        return self.of_unit(self.leads, self.units - self.singles - set(self.leads))

    def needs_after(self, opens: Value, unit: Value) -> list[Value]:
        """The bits of `remaining` after a unit that opens a sequence if `opens` is 1."""
        needs = {lead: self.needs(state) for lead, state in self.leads.items()}
        bits = [opens]
        for k in range(1, self.longest - 1):
            longer = {lead for lead, number in needs.items() if number > k}
            bits.append(opens & self.of_unit(longer, needs.keys() - longer)(unit))
        return bits

    @cached_property
    def restricts(self) -> Function:
        """Of a unit of a sequence: it is a lead that allows only some trailing units."""
        restricting = {lead for lead, state in self.leads.items() if state in self._constrained}
        return self.of_unit(restricting, self.trails.union(self.leads) - restricting)

    @cached_property
    def stray_kind(self) -> Word:
        """The error kind of a unit that neither starts nor continues a sequence."""
        kinds = {unit: cause(self.table, [unit], None) for unit in self.units - self.allowed[START]}
        return minimised_word(kinds, _KIND_BITS, self.table.unit_width)

    # Functions of the open sequence and the unit after it.

    @cached_property
    def payload_bits(self) -> int:
        """The number of low payload bits of a lead that are stored unchanged, if some lead restricts the unit after it.

        Raises:
            TableError: these bits and the length of the sequence do not tell what the lead allows.
        """
        if not self._constrained:
            return 0
        kept = 0
        while kept < self.trail_bits and self._own_bit(kept, singles=False) == Function(((1 << kept, 1 << kept),)):
            kept += 1
        known: dict[tuple[int, int], int] = {}
        for lead, state in self.leads.items():
            seen = self.needs(state), lead & (1 << kept) - 1
            if state in self._constrained and known.setdefault(seen, state) != state:
                raise TableError(f"{self.table.name}: the payload of a lead does not tell which units it allows")
        return kept

    def context(self, unit: Value, remaining: Value, restricts: Value, payload: Value) -> Value:
        """The context word of these values."""
        return Cat(unit, remaining, restricts, payload[: self.payload_bits])

    def _of_context(
        self, units: Callable[[int], Iterable[int]], wanted: Callable[[int, int], int], bits: int = 1
    ) -> Word:
        """A function for each bit of ``wanted(state, unit)``, specified for all open states and ``units(state)``."""
        values: dict[int, int] = {}
        width = self.table.unit_width
        for state in self._open_states:
            payloads: Iterable[int] = range(1 << self.payload_bits)
            if is_constrained := state in self._constrained:
                mask = (1 << self.payload_bits) - 1
                payloads = {lead & mask for lead, to in self.leads.items() if to == state}
            low = (1 << self.needs(state)) - 1 | is_constrained << self.longest - 1
            for unit in units(state):
                value = wanted(state, unit)
                values |= {unit | (low | payload << self.longest) << width: value for payload in payloads}
        return minimised_word(values, bits, width + self.longest + self.payload_bits)

    @cached_property
    def allows(self) -> Function:
        """Of a context with a trailing unit: the open sequence allows the unit."""
        return self._of_context(lambda _: self.trails, lambda state, unit: unit in self.allowed[state])[0]

    def allows_next(self, unit: Value, restricts: Value, before: Value) -> Value:
        """Of a trailing unit and the unit before it in the sequence: that one allows it."""
        width = self.table.unit_width
        leads = {lead: self.allowed[state] for lead, state in self.leads.items() if state in self._constrained}
        values = {trail | lead << width: trail in units for lead, units in leads.items() for trail in self.trails}
        return ~restricts | minimised(values, 2 * width)(Cat(unit, before))

    @property
    def comments(self) -> dict[str, str]:
        """What the functions mean in terms of the rows, by name, for comments."""
        spelled = partial(spelled_units, width=self.table.unit_width)
        longer = {
            k: spelled(lead for lead, state in self.leads.items() if self.needs(state) > k)
            for k in range(self.longest - 1)
        }
        groups: dict[int, list[int]] = {}
        for lead, state in self.leads.items():
            if state in self._constrained:
                groups.setdefault(state, []).append(lead)
        limits = [f"after {spelled(leads)} it is {spelled(self.allowed[state])}" for state, leads in groups.items()]
        restricting = spelled(lead for leads in groups.values() for lead in leads)
        return {
            "opens": f"The unit starts a sequence of several units: {longer[0]}.",
            "restricts": f"The lead is one of those that allow only some trailing units next: {restricting}.",
            "remaining": "Bit k: the open sequence needs more than k units; all 0 where none is open. The leads that"
            f" set them: {'; '.join(f'bit {k}: {leads}' for k, leads in longer.items())}.",
            "trail": f"The unit continues sequences: {spelled(self.trails)}.",
            "allowed": f"The open sequence allows this trailing unit: {'; '.join([*limits, 'else any'])}.",
        }

    def payload_is_read(self, bit: int, *, kind: bool) -> bool:
        """Whether `allows` or, if `kind`, `broken_kind` depends on this bit of the payload."""
        functions = (self.allows, *self.broken_kind) if kind else (self.allows,)
        place = self.table.unit_width + self.longest + bit
        return any(function.support >> place & 1 for function in functions)

    @cached_property
    def broken_kind(self) -> Word:
        """Of a context: the error kind of an open sequence that the unit breaks.

        Raises:
            TableError: the kind depends on more of the sequence than the state.
        """
        kinds: dict[tuple[int, int], ErrorKind] = {}
        for subpart, state in representatives(self.table):
            for unit in sorted(self.units - self.allowed[state]):
                kind = cause(self.table, subpart, unit)
                if kinds.setdefault((state, unit), kind) is not kind:
                    shown = spell(subpart, self.table.unit_width)
                    raise TableError(
                        f"{self.table.name}: {shown} before {spell([unit], self.table.unit_width)} is {kind.name}, "
                        f"but another sequence in the same state is {kinds[state, unit].name}: leave out kind"
                    )
        return self._of_context(
            lambda state: self.units - self.allowed[state], lambda state, unit: kinds[state, unit], _KIND_BITS
        )

    # The code point.

    def _own_bit(self, bit: int, *, leads: bool = True, singles: bool = True) -> Function:
        """Bit `bit` of the code point, as far as it comes from the last unit."""
        payloads = [(unit, unit, self.trail_bits, 0) for unit in self.trails]
        if singles:
            payloads += [(unit, self.first_payload(unit, 1), self.first_payload_bits(1), 0) for unit in self.singles]
        for unit, state in self.leads.items() if leads else ():
            n = self.needs(state)
            payloads.append((unit, self.first_payload(unit, n + 1), self.first_payload_bits(n + 1), n))
        on = [unit for unit, payload, bits, _ in payloads if bit < bits and payload >> bit & 1]
        off = [unit for unit, payload, bits, _ in payloads if bit < bits and not payload >> bit & 1]
        # A fixed bit of a lead must not enter the code point, unless later units shift it out.
        shown = self.code_point_bits
        off += [unit for unit, _, bits, n in payloads if bit >= bits and bit + n * self.trail_bits < shown]
        return self.of_unit(on, off)

    def _added(self, length: int) -> int:
        """What is added to the payload of the first unit of a sequence."""
        return self.table.patterns[length].base >> (length - 1) * self.trail_bits

    def first_payload(self, unit: int, length: int) -> int:
        """The payload of the first unit of a sequence with what is added to it; upper bits may be fixed ones."""
        added = self._added(length)
        return unit - self.table.patterns[length].blocks[0].first + added if added else unit

    def first_payload_bits(self, length: int) -> int:
        """The number of bits of that payload, with what is added to it."""
        block = self.table.patterns[length].blocks[0]
        return (len(block) - 1 + self._added(length)).bit_length()

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
        most = max(place for place, function in enumerate(own) if not function.is_zero) + 1
        low = Cat(each(unit) for each in own[: self.trail_bits])
        kept = self.code_point_bits - self.trail_bits
        moved = before[:kept] & shifts.replicate(kept)
        if most <= self.trail_bits:
            return Cat(low, moved)
        high = Cat(each(unit) for each in own[self.trail_bits : most])
        return Cat(low, moved[: len(high)] | high, moved[len(high) :])
