# SPDX-License-Identifier: BSD-2-Clause
"""The logic functions of a serial decoder, derived from the rows of its table.

Each function is specified only for the inputs for which it is used; all others are don't-cares of the
minimisation. For UTF-8 this is enough to reduce "is a continuation" to one bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

from amaranth.hdl import Cat, Module, Value

from utf8fpga.hdl.commented import named, spelled_units
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

    The state of an open sequence is represented by `remaining`, a register of `longest` - 1 bits of
    which bit k is set while more than k units are needed, and by a constraint code. If only the unit
    after a lead is constrained, as in UTF-8, the code is one bit: this lead constrains the unit after
    it. *Which* constraint applies follows from the payload of the lead, which is stored anyway.
    Otherwise the code is the number of the state among those that need equally many units.

    In the functions below a *context* is, from bit 0: the unit, `remaining`, the code, and the
    low `payload_bits` of the payload of the unit before.
    """

    table: EncodingTable
    dfa: DFA

    @staticmethod
    @lru_cache(maxsize=32)
    def of(table: EncodingTable) -> SerialControl:
        """The control functions of `table` (the same object for an equal table).

        Raises:
            TableError: the table does not allow a serial decoder: its units are wider than 17 bits,
                a state leads to sequences of different lengths, or the payload bits are not in the
                same places in all sequences.
        """
        control = SerialControl(table, DFA.of(table))
        control._check()
        return control

    def _check(self) -> None:
        name = self.table.name
        if self.table.unit_width > _WIDEST:
            raise TableError(
                f"{name}: a serial decoder accepts units of up to {_WIDEST} bits, not {self.table.unit_width}"
            )
        if self.longest == 1:
            raise TableError(f"{name}: a serial decoder requires sequences of several units, but all have one")
        if both := self.trails & self.allowed[START]:
            raise TableError(
                f"{name}: a serial decoder is for self-synchronising tables, "
                f"but {spell([min(both)], self.table.unit_width)} starts one sequence and continues another"
            )
        for state in self.dfa.states:
            if state.remaining[0] != state.remaining[1]:
                raise TableError(f"{name}: state {state.name!r} leads to sequences of different lengths")
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

    @cached_property
    def code_bits(self) -> int:
        """Bits of the constraint code."""
        if self.reads_lead:
            return 1 if self._constrained else 0
        return max(map(self.code_of, self._open_states)).bit_length()

    @cached_property
    def payload_bits(self) -> int:
        """The number of low payload bits of a lead that determine its constraint, and are stored unchanged."""
        return self._kept_bits if self.reads_lead and self._constrained else 0

    @cached_property
    def _kept_bits(self) -> int:
        """The number of low bits of a lead that are stored unchanged."""
        for bit in range(self.trail_bits):
            as_it_comes = Function(((1 << bit, 1 << bit),))
            if self._own_bit(bit, singles=False) != as_it_comes:
                return bit
        return self.trail_bits

    # Sets of units and states.

    @cached_property
    def units(self) -> frozenset[int]:
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
        return frozenset(unit for unit in self.allowed[START] if self.dfa.step(START, unit) == START)

    @cached_property
    def leads(self) -> dict[int, int]:
        """Per unit that opens a sequence the state it leads to."""
        return {unit: self.dfa.step(START, unit) for unit in sorted(self.allowed[START] - self.singles)}

    @cached_property
    def trails(self) -> frozenset[int]:
        return frozenset[int]().union(*self.allowed[1:])

    def _remaining(self, state: int) -> int:
        return self.dfa.states[state].remaining[0]

    @cached_property
    def _constrained(self) -> frozenset[int]:
        return frozenset(state for state in self._open_states if self.allowed[state] != self.trails)

    @cached_property
    def later_states(self) -> frozenset[int]:
        """The open states that the second unit of a sequence, or a later one, leads to."""
        targets = {to for state in self._open_states for to in self.dfa.states[state].transitions}
        return frozenset(targets.intersection(self._open_states))

    @cached_property
    def reads_lead(self) -> bool:
        """Whether the constraint follows from one bit and the payload of the lead."""
        if self.later_states & self._constrained:
            return False
        # Leads with different constraints must differ in their payload.
        mask = (1 << self._kept_bits) - 1
        states: dict[tuple[int, int], int] = {}
        return all(
            states.setdefault((self._remaining(state), unit & mask), state) == state
            for unit, state in self.leads.items()
            if state in self._constrained
        )

    def code_of(self, state: int) -> int:
        """The constraint code of an open state."""
        if self.reads_lead:
            return int(state in self._constrained)
        alike = [other for other in self._open_states if self._remaining(other) == self._remaining(state)]
        alike.sort(key=lambda other: (other in self._constrained, min(self.allowed[other])))
        return alike.index(state)

    def _contexts(self, state: int) -> list[int]:
        """All contexts of an open state, without the unit."""
        payloads: Iterable[int] = range(1 << self.payload_bits)
        if self.reads_lead and state in self._constrained:
            mask = (1 << self.payload_bits) - 1
            payloads = sorted({unit & mask for unit, to in self.leads.items() if to == state})
        low = (1 << self._remaining(state)) - 1 | self.code_of(state) << self.longest - 1
        return [low | payload << self.longest - 1 + self.code_bits for payload in payloads]

    # Functions of the unit.

    def of_unit(self, on: Iterable[int], off: Iterable[int]) -> Function:
        """A function of a unit that is 1 on `on` and 0 on `off`."""
        return minimise(on, off, self.table.unit_width)

    @cached_property
    def is_single(self) -> Function:
        """The unit is a complete sequence."""
        return self.of_unit(self.singles, self.units - self.singles)

    @cached_property
    def may_stay_open(self) -> Function:
        """Of a unit that occurs in a sequence: the sequence has other units, too."""
        return self.of_unit(self.trails.union(self.leads), self.singles)

    @cached_property
    def opens(self) -> Function:
        """Of a unit that `may_stay_open`: it starts a sequence."""
        return self.of_unit(self.leads, self.units - self.singles - set(self.leads))

    @cached_property
    def is_lead(self) -> Function:
        """The unit starts a sequence of several units."""
        return self.of_unit(self.leads, self.units - set(self.leads))

    @cached_property
    def needs_more_than(self) -> tuple[Function, ...]:
        """Of a unit that `opens`: entry k, it needs more than k further units."""
        further = {unit: self._remaining(state) for unit, state in self.leads.items()}
        return tuple(
            minimised({unit: n > k for unit, n in further.items()}, self.table.unit_width)
            for k in range(self.longest - 1)
        )

    def needed(self, opens: Value, unit: Value) -> list[Value]:
        """The bits of `remaining` after a unit that opens a sequence if `opens` is 1."""
        return [opens, *(opens & more(unit) for more in self.needs_more_than[1:])]

    @cached_property
    def code_after_unit(self) -> Word:
        """Of a unit: the constraint code of the state that a lead opens and, where `reads_lead`, of any later state."""
        wanted = {unit: self.code_of(state) for unit, state in self.leads.items()}
        if self.reads_lead:
            wanted |= dict.fromkeys(self.trails, 0)
        return minimised_word(wanted, self.code_bits, self.table.unit_width)

    @cached_property
    def stray_kind(self) -> Word:
        """The error kind of a unit that neither starts nor continues a sequence."""
        strays = self.units - self.allowed[START]
        kinds = {unit: cause(self.table, [unit], None) for unit in strays}
        return minimised_word(kinds, _KIND_BITS, self.table.unit_width)

    # Functions of the context.

    def _of_context(
        self, units: Callable[[int], Iterable[int]], wanted: Callable[[int, int], int], bits: int = 1
    ) -> Word:
        """A function for each bit of ``wanted(state, unit)``, specified for all open states and ``units(state)``."""
        width = self.table.unit_width
        on: list[set[int]] = [set() for _ in range(bits)]
        off: list[set[int]] = [set() for _ in range(bits)]
        for state in self._open_states:
            contexts = self._contexts(state)
            for unit in units(state):
                words = [unit | context << width for context in contexts]
                value = wanted(state, unit)
                for bit in range(bits):
                    (on if value >> bit & 1 else off)[bit].update(words)
        inputs = width + self.longest - 1 + self.code_bits + self.payload_bits
        return Word(minimise(ones, zeros, inputs) for ones, zeros in zip(on, off, strict=True))

    def context(self, unit: Value, remaining: Value, code: Value, payload: Value) -> Value:
        """The context word of these values."""
        return Cat(unit, remaining, code, payload[: self.payload_bits])

    @cached_property
    def is_trail(self) -> Function:
        """The unit is not the first one in some sequence."""
        return self.of_unit(self.trails, self.units - self.trails)

    @cached_property
    def _fits(self) -> Function:
        """Of a unit that continues some open state: it continues this one."""
        return self._of_context(lambda _: self.trails, lambda state, unit: unit in self.allowed[state])[0]

    def continues(self, context: Value, m: Module | None = None) -> Value:
        """The unit continues the open sequence; unspecified if none is open.

        Args:
            m: the module in which the parts of the function have names; default: they have none.
        """
        trail, fits = self.is_trail(context[: self.table.unit_width]), self._fits(context)
        if m is not None:
            trail = named(m, "is_trail", trail, self.comments["trail"])
            fits = named(m, "is_allowed", fits, self.comments["fits"])
        return trail & fits

    @property
    def comments(self) -> dict[str, str]:
        """What the functions mean in terms of the rows, by name, for comments."""
        width, longest = self.table.unit_width, self.longest
        spelled = partial(spelled_units, width=width)
        lengths = {
            k: spelled(unit for unit, state in self.leads.items() if self._remaining(state) > k)
            for k in range(longest - 1)
        }
        leads = {state: sorted(unit for unit, to in self.leads.items() if to == state) for state in self._constrained}
        constrained = spelled(unit for units in leads.values() for unit in units)
        limits = [
            f"after {spelled(units)} it is {spelled(self.allowed[state])}"
            for state, units in sorted(leads.items(), key=lambda pair: pair[1])
        ]
        return {
            "opens": f"The unit starts a sequence of several units: {lengths[0]}.",
            "code": f"The lead is one of those that allow only some trailing units next: {constrained}.",
            "needs": "; ".join(f"bit {k}: {units}" for k, units in lengths.items()),
            "trail": f"Bits of the unit are those of a trailing unit, {spelled(self.trails)}.",
            "fits": f"The open sequence allows this trailing unit: {'; '.join([*limits, 'else any'])}.",
        }

    @property
    def pairwise(self) -> bool:
        """Whether `continues` depends only on the unit and the one before it, if they are in one sequence."""
        remaining = (1 << self.longest - 1) - 1 << self.table.unit_width
        return self.reads_lead and not self._fits.support & remaining

    def payload_is_read(self, bit: int, *, kind: bool) -> bool:
        """Whether `continues` or, if `kind`, `broken_kind` depends on this bit of the payload."""
        functions = (self._fits, *self.broken_kind) if kind else (self._fits,)
        place = self.table.unit_width + self.longest - 1 + self.code_bits + bit
        return any(function.support >> place & 1 for function in functions)

    @cached_property
    def code_after_trail(self) -> Word:
        """Of a context: the constraint code after a unit that continues a sequence; for tables without `reads_lead`."""

        def staying_open(state: int) -> list[int]:
            return [unit for unit in self.allowed[state] if self.dfa.step(state, unit) != START]

        return self._of_context(
            staying_open, lambda state, unit: self.code_of(self.dfa.step(state, unit)), self.code_bits
        )

    @cached_property
    def causes(self) -> dict[tuple[int, int], ErrorKind]:
        """Per open state and unit that breaks it the cause of the error.

        Raises:
            TableError: the cause depends on more of the sequence than the state.
        """
        causes: dict[tuple[int, int], ErrorKind] = {}
        for subpart, state in representatives(self.table):
            for unit in sorted(self.units - self.allowed[state]):
                kind = cause(self.table, subpart, unit)
                if causes.setdefault((state, unit), kind) is not kind:
                    shown = spell(subpart, self.table.unit_width)
                    raise TableError(
                        f"{self.table.name}: {shown} before {spell([unit], self.table.unit_width)} is {kind.name}, "
                        f"but another sequence in the same state is {causes[state, unit].name}: leave out kind"
                    )
        return causes

    def check_kinds(self) -> None:
        """Raise `TableError` if the cause of an error depends on more of the sequence than the state."""
        _ = self.causes  # Raises.

    @cached_property
    def broken_kind(self) -> Word:
        """Of a context: the error kind of an open sequence that the unit breaks."""
        return self._of_context(
            lambda state: self.units - self.allowed[state],
            lambda state, unit: self.causes[state, unit],
            _KIND_BITS,
        )

    # Data.

    def _own_bit(self, bit: int, *, leads: bool = True, singles: bool = True) -> Function:
        """Bit `bit` of the code point, as far as it comes from the last unit."""
        payloads = [(unit, unit, self.trail_bits, 0) for unit in self.trails]
        if singles:
            payloads += [(unit, self.first_payload(unit, 1), self.first_payload_bits(1), 0) for unit in self.singles]
        if leads:
            further = {unit: self._remaining(state) for unit, state in self.leads.items()}
            payloads += [
                (unit, self.first_payload(unit, n + 1), self.first_payload_bits(n + 1), n)
                for unit, n in further.items()
            ]
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
        self,
        before: Value,
        unit: Value,
        width: int,
        *,
        leads: bool = True,
        singles: bool = True,
        shifts: Value | None = None,
    ) -> list[Value]:
        """The payload bits of a sequence after one more unit of it, bit 0 first.

        Args:
            before: the payload bits before it; not used if the unit starts a sequence.
            width: the number of bits of the result.
            leads: whether the result is used after a unit that opens a sequence.
            singles: whether the result is used after a unit that is a complete sequence.
            shifts: the value of `shifts` for the unit, if it is known from a register.
        """
        shift = self.shifts(leads=leads, singles=singles)(unit) if shifts is None else shifts
        bits: list[Value] = []
        for place in range(width):
            function = self._own_bit(place, leads=leads, singles=singles)
            own = function(unit)
            if place < self.trail_bits:
                bits.append(own)
            else:
                moved = before[place - self.trail_bits] & shift
                bits.append(moved if function.is_zero else moved | own)
        return bits
