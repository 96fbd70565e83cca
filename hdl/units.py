# SPDX-License-Identifier: BSD-2-Clause
"""The code units of an encoding table: the sets that its rows define, and logic functions of them.

Each function is specified only for the inputs for which it is used; all others are don't-cares of the minimisation. For
UTF-8 this is enough to reduce "is a continuation" to two bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

from utf8fpga.hdl.minimise import Function, Word, minimise, minimised_word
from utf8fpga.hdl.payloads import code_point_bits
from utf8fpga.model import DFA, REJECT, START, EncodingTable, ErrorKind, TableError, cause

KIND_BITS = max(ErrorKind).bit_length()

_WIDEST = 16
"""Upper bound on the bits of a unit, since the sets of units are enumerated."""


@dataclass(frozen=True)
class UnitLogic:
    """What the decoders of one encoding table have in common.

    A sequence of n units is a *lead* that opens it, a second unit that the lead allows, and any further *trailing*
    units; or a single unit.
    """

    table: EncodingTable
    dfa: DFA

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, table: EncodingTable) -> Self:
        """The functions of a table (the same object for an equal table).

        Raises:
            TableError: the table is not as described above: its units are wide, one of them starts a sequence and
                continues another, one after the second is constrained, or payload bits are not in the same places.
        """
        logic = cls(table, DFA.of(table))
        if not logic._is_possible():
            raise TableError(f"{table.name}: decoders are for self-synchronising tables like that of UTF-8 or UTF-16")
        return logic

    def _is_possible(self) -> bool:
        if self.table.unit_width > _WIDEST or self.longest == 1 or self.trails & self.allowed[START]:
            return False
        later = {to for state in self.open_states for to in self.dfa.states[state].transitions} - {REJECT, START}
        patterns = self.table.patterns.items()
        return (
            later.isdisjoint(self.constrained)
            and all(state.remaining[0] == state.remaining[1] for state in self.dfa.states)
            and all(pattern.base % (1 << self.trail_bits * (length - 1)) == 0 for length, pattern in patterns)
            and all({*pattern.payload_bits[1:]} <= {self.trail_bits} for _, pattern in patterns)
        )

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
        """Payload bits of every unit after the first."""
        return max(pattern.payload_bits[-1] for length, pattern in self.table.patterns.items() if length > 1)

    @cached_property
    def units(self) -> frozenset[int]:
        """All units."""
        return frozenset(range(1 << self.table.unit_width))

    @cached_property
    def open_states(self) -> range:
        """The states within a sequence."""
        return range(1, len(self.dfa.states))

    @cached_property
    def allowed(self) -> tuple[frozenset[int], ...]:
        """Per state the units that do not break it."""
        return tuple(
            frozenset(unit for unit in self.units if self.dfa.step(state, unit) != REJECT)
            for state in range(len(self.dfa.states))
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
    def constrained(self) -> frozenset[int]:
        """The open states that not every trailing unit may follow."""
        return frozenset(state for state in self.open_states if self.allowed[state] != self.trails)

    @cached_property
    def starts(self) -> dict[int, int]:
        """Per unit that starts a sequence the length of that."""
        return {**dict.fromkeys(self.singles, 1), **{lead: self.needs(to) + 1 for lead, to in self.leads.items()}}

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

    @cached_property
    def stray_kinds(self) -> dict[int, ErrorKind]:
        """The error kinds of units that neither start nor continue a sequence."""
        return {unit: cause(self.table, [unit], None) for unit in self.units - self.allowed[START]}

    def kind_word(self, kinds: dict[int, ErrorKind]) -> Word:
        """An error kind as a function of the unit."""
        return minimised_word(kinds, KIND_BITS, self.table.unit_width)
