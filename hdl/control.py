# SPDX-License-Identifier: BSD-2-Clause
"""What a serial decoder must know of a unit, as sums of products derived from the rows.

Each function is given only the inputs that can occur where it is asked; the rest is left to the
minimiser. For UTF-8 this alone turns "is a continuation" into one bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from amaranth.hdl import Cat, Value

from utf8fpga.hdl.logic import Cube, minimise, sum_of_products
from utf8fpga.model import DFA, REJECT, START, EncodingTable, TableError, cause

__all__ = ["SerialControl"]


@dataclass(frozen=True)
class SerialControl:
    """The logic of one encoding table, ready to be put between registers.

    State is held as: how many more units the open sequence needs (`longest` - 1 bits, bit k set
    while more than k are needed), and a constraint code. Where only the unit after a lead is ever
    constrained, as in UTF-8, the code is one bit, "this lead constrains the unit after it", and
    *which* constraint is read off the lead's payload, which is stored anyway. Otherwise the code
    numbers the states that need equally many units.

    Raises:
        TableError: the table is of a kind that no serial decoder is made for: units wider than
            16 bits, a state whose sequences differ in length, or payloads that are not placed alike.
    """

    table: EncodingTable
    dfa: DFA

    @staticmethod
    @lru_cache(maxsize=32)
    def of(table: EncodingTable) -> SerialControl:
        """The control functions of `table` (the same object for an equal table)."""
        control = SerialControl(table, DFA.of(table))
        control._check()
        return control

    def _check(self) -> None:
        name = self.table.name
        if self.table.unit_width > 16:
            raise TableError(f"{name}: a serial decoder takes units of 16 bits or fewer, not {self.table.unit_width}")
        for state in self.dfa.states:
            if state.remaining[0] != state.remaining[1]:
                raise TableError(f"{name}: state {state.name!r} leads to sequences of different lengths")
        for length, pattern in self.table.patterns.items():
            if pattern.base:
                raise TableError(f"{name}: sequences of {length} units are offset by {pattern.base:X}, not supported")
            if any(bits != self.trail_bits for bits in pattern.payload_bits[1:]):
                raise TableError(f"{name}: the payload of units after the first is not {self.trail_bits} bits everywhere")

    # What the rows say, as sets of units.

    @cached_property
    def _units(self) -> range:
        return range(1 << self.table.unit_width)

    @cached_property
    def _allowed(self) -> tuple[frozenset[int], ...]:
        """Per state the units that do not break it."""
        return tuple(
            frozenset(
                unit for c, to in zip(self.dfa.classes, state.transitions, strict=True) if to != REJECT
                for allowed in c.ranges for unit in allowed
            )
            for state in self.dfa.states
        )

    @cached_property
    def _singles(self) -> frozenset[int]:
        return frozenset(unit for unit in self._allowed[START] if self.dfa.step(START, unit) == START)

    @cached_property
    def _leads(self) -> dict[int, int]:
        """Per unit that opens a sequence the state it leads to."""
        return {unit: self.dfa.step(START, unit) for unit in sorted(self._allowed[START] - self._singles)}

    @cached_property
    def _trails(self) -> frozenset[int]:
        return frozenset().union(*self._allowed[1:])

    @property
    def longest(self) -> int:
        """Units in the longest sequence."""
        return self.table.longest

    @property
    def code_point_bits(self) -> int:
        """Bits of the last code point."""
        return self.table.last_code_point.bit_length()

    @cached_property
    def trail_bits(self) -> int:
        """Payload bits of every unit after the first (0 where there is none)."""
        return max((pattern.payload_bits[-1] for n, pattern in self.table.patterns.items() if n > 1), default=0)

    def _remaining(self, state: int) -> int:
        return self.dfa.states[state].remaining[0]

    # The constraint code.

    @cached_property
    def _constrained(self) -> frozenset[int]:
        return frozenset(n for n, allowed in enumerate(self._allowed) if n != START and allowed != self._trails)

    @cached_property
    def reads_lead(self) -> bool:
        """Whether the constraint code is the one bit that goes with the payload of the lead."""
        targets = {to for state in self.dfa.states[1:] for to in state.transitions}
        return not targets & self._constrained

    @cached_property
    def code_bits(self) -> int:
        """Bits of the constraint code."""
        if self.reads_lead:
            return 1 if self._constrained else 0
        return max(self._code(state) for state in range(1, len(self.dfa.states))).bit_length()

    def _code(self, state: int) -> int:
        if self.reads_lead:
            return int(state in self._constrained)
        alike = [n for n in range(1, len(self.dfa.states)) if self._remaining(n) == self._remaining(state)]
        alike.sort(key=lambda n: (n in self._constrained, min(self._allowed[n])))
        return alike.index(state)

    def _contexts(self, state: int) -> list[int]:
        """All that the registers may hold in an open state: `remaining`, `code`, `payload`, low to high."""
        if self.reads_lead:
            payloads = range(1 << self.payload_bits)
            if state in self._constrained:
                payloads = sorted({unit & (1 << self.payload_bits) - 1 for unit, to in self._leads.items() if to == state})
        else:
            payloads = [0]
        remaining = (1 << self._remaining(state)) - 1
        low = remaining | self._code(state) << self.longest - 1
        return [low | payload << self.longest - 1 + self.code_bits for payload in payloads]

    @cached_property
    def payload_bits(self) -> int:
        """How many low bits of a lead its constraint may be read from: those that are kept as they are."""
        if not self.reads_lead or not self._constrained:
            return 0
        kept = 0
        while kept < self.trail_bits and self._own_bit(kept, leads=True, singles=False) == ((1 << kept, 1 << kept),):
            kept += 1
        return kept

    # Functions of the unit alone.

    def _of_unit(self, on: Iterable[int], off: Iterable[int]) -> tuple[Cube, ...]:
        return minimise(on, off, self.table.unit_width)

    @cached_property
    def _single_cubes(self) -> tuple[Cube, ...]:
        return self._of_unit(self._singles, set(self._units) - self._singles)

    def is_single(self, unit: Value) -> Value:
        """The unit is a whole sequence by itself."""
        return sum_of_products(self._single_cubes, unit)

    @cached_property
    def _opens_cubes(self) -> tuple[Cube, ...]:
        return self._of_unit(self._leads, set(self._units) - set(self._leads))

    def opens(self, unit: Value) -> Value:
        """The unit starts a sequence of several units."""
        return sum_of_products(self._opens_cubes, unit)

    @cached_property
    def _needs_cubes(self) -> tuple[tuple[Cube, ...], ...]:
        needs = {unit: self._remaining(state) for unit, state in self._leads.items()}
        return tuple(
            self._of_unit([u for u, n in needs.items() if n > k], [u for u, n in needs.items() if n <= k])
            for k in range(1, self.longest - 1)
        )

    def needs_more_than(self, k: int, unit: Value) -> Value:
        """A unit that `opens` needs more than `k` further units, k from 1."""
        return sum_of_products(self._needs_cubes[k - 1], unit)

    @cached_property
    def _code_cubes(self) -> tuple[tuple[Cube, ...], ...]:
        inputs: list[tuple[int, int]] = [(unit, self._code(state)) for unit, state in self._leads.items()]
        if self.reads_lead:
            inputs += [(unit, 0) for unit in self._trails]
        return tuple(
            self._of_unit([u for u, c in inputs if c >> k & 1], [u for u, c in inputs if not c >> k & 1])
            for k in range(self.code_bits)
        )

    def code_after_unit(self, unit: Value) -> Value:
        """The constraint code of the state that a lead opens (and, where `reads_lead`, of any later state)."""
        return Cat(*(sum_of_products(cubes, unit) for cubes in self._code_cubes))

    # Functions of the state and the unit.

    def _of_context(
        self, states: Iterable[int], units: Callable[[int], Iterable[int]], wanted: Callable[[int, int], bool]
    ) -> tuple[Cube, ...]:
        width = self.table.unit_width
        on: set[int] = set()
        off: set[int] = set()
        for state in states:
            contexts = self._contexts(state)
            for unit in units(state):
                (on if wanted(state, unit) else off).update(unit | context << width for context in contexts)
        return minimise(on, off, width + self.code_bits + self.payload_bits + self.longest - 1)

    @cached_property
    def _trail_cubes(self) -> tuple[Cube, ...]:
        return self._of_unit(self._trails, set(self._units) - self._trails)

    @cached_property
    def _fits_cubes(self) -> tuple[Cube, ...]:
        states = range(1, len(self.dfa.states))
        return self._of_context(states, lambda _: self._trails, lambda state, unit: unit in self._allowed[state])

    def continues(self, unit: Value, code: Value, payload: Value, remaining: Value) -> Value:
        """The unit continues the open sequence; asked only while one is open."""
        context = Cat(unit, remaining, code, payload[: self.payload_bits])
        return sum_of_products(self._trail_cubes, unit) & sum_of_products(self._fits_cubes, context)

    @property
    def pairwise(self) -> bool:
        """Whether `continues` does not look at `remaining`: the unit before then says all there is to know."""
        remaining = (1 << self.longest - 1) - 1 << self.table.unit_width
        return self.reads_lead and not any(care & remaining for care, _ in self._fits_cubes)

    @cached_property
    def _next_code_cubes(self) -> tuple[tuple[Cube, ...], ...]:
        def after(state: int) -> list[int]:
            return [unit for unit in self._allowed[state] if self.dfa.step(state, unit) != START]

        states = range(1, len(self.dfa.states))
        return tuple(
            self._of_context(states, after, lambda s, u, k=k: bool(self._code(self.dfa.step(s, u)) >> k & 1))
            for k in range(self.code_bits)
        )

    def code_after_trail(self, unit: Value, code: Value, remaining: Value) -> Value:
        """The constraint code after a unit that continues, where not `reads_lead`."""
        context = Cat(unit, remaining, code)
        return Cat(*(sum_of_products(cubes, context) for cubes in self._next_code_cubes))

    # Data.

    def _own_bit(self, bit: int, *, leads: bool, singles: bool) -> tuple[Cube, ...]:
        """Bit `bit` of what a unit itself puts into the code point."""
        patterns = self.table.patterns
        on: list[int] = []
        off: list[int] = []

        def put(unit: int, payload_bits: int, falls_out: bool) -> None:
            if bit < payload_bits:
                (on if unit >> bit & 1 else off).append(unit)
            elif not falls_out:
                off.append(unit)

        for unit in self._trails:
            put(unit, self.trail_bits, False)
        for unit in self._singles if singles else ():
            put(unit, patterns[1].payload_bits[0], False)
        for unit, state in self._leads.items() if leads else ():
            further = self._remaining(state)
            falls_out = bit + self.trail_bits * further >= self.code_point_bits
            put(unit, patterns[further + 1].payload_bits[0], falls_out)
        return self._of_unit(on, off)

    def _shift_cubes(self, *, leads: bool, singles: bool) -> tuple[Cube, ...]:
        return self._of_unit(
            self._trails, [*(self._leads if leads else ()), *(self._singles if singles else ())]
        )

    def accumulate(self, before: Value, unit: Value, width: int, *, leads: bool, singles: bool) -> Value:
        """The payload bits of a sequence, after one more unit of it.

        Args:
            before: the payload bits before it; not looked at where the unit starts a sequence.
            unit: the unit.
            width: bits of the result.
            leads: whether the result matters after a unit that opens a sequence.
            singles: whether it matters after a unit that is a sequence by itself.
        """
        shift = sum_of_products(self._shift_cubes(leads=leads, singles=singles), unit)
        bits: list[Value] = []
        for place in range(width):
            cubes = self._own_bit(place, leads=leads, singles=singles)
            own = sum_of_products(cubes, unit)
            below = place - self.trail_bits
            if below < 0 or not self.trail_bits:
                bits.append(own)
            else:
                moved = before[below] & shift
                bits.append(moved | own if cubes else moved)
        return Cat(*bits)

    # Causes.

    @cached_property
    def _subparts(self) -> tuple[tuple[int, ...], ...]:
        """Per state a shortest sequence of units that leads to it."""
        found: dict[int, tuple[int, ...]] = {START: ()}
        queue: list[int] = [START]
        for state in queue:
            for unit in sorted(self._allowed[state]):
                to = self.dfa.step(state, unit)
                if to not in found:
                    found[to] = (*found[state], unit)
                    queue.append(to)
        return tuple(found[state] for state in range(len(self.dfa.states)))

    @cached_property
    def _stray_cubes(self) -> tuple[tuple[Cube, ...], ...]:
        kinds = {u: cause(self.table, [u], None) for u in self._units if u not in self._allowed[START]}
        return tuple(
            self._of_unit([u for u, kind in kinds.items() if kind >> k & 1], [u for u, kind in kinds.items() if not kind >> k & 1])
            for k in range(3)
        )

    def stray_kind(self, unit: Value) -> Value:
        """The error kind of a unit that neither starts nor continues a sequence."""
        return Cat(*(sum_of_products(cubes, unit) for cubes in self._stray_cubes))

    @cached_property
    def _broken_cubes(self) -> tuple[tuple[Cube, ...], ...]:
        units = tuple(sorted(set(self._units) - allowed) for allowed in self._allowed)
        kinds = {
            (state, unit): cause(self.table, self._subparts[state], unit)
            for state in range(1, len(self.dfa.states))
            for unit in units[state]
        }
        states = range(1, len(self.dfa.states))
        return tuple(
            self._of_context(states, lambda state: units[state], lambda s, u, k=k: bool(kinds[s, u] >> k & 1))
            for k in range(3)
        )

    def broken_kind(self, unit: Value, code: Value, payload: Value, remaining: Value) -> Value:
        """The error kind of an open sequence that `unit` breaks."""
        context = Cat(unit, remaining, code, payload[: self.payload_bits])
        return Cat(*(sum_of_products(cubes, context) for cubes in self._broken_cubes))
