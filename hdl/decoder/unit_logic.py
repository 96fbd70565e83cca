# SPDX-License-Identifier: BSD-2-Clause
"""The code units of an encoding table: the sets that its rows define, and logic functions of them.

Each function is specified only for the inputs for which it is used; all others are don't-cares of the minimisation. For
UTF-8 this is enough to reduce "is a continuation" to two bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Self

from utf8fpga.hdl.minimise import BitFunctions, Function, minimise, minimised_bits
from utf8fpga.hdl.payloads import code_point_bits
from utf8fpga.model import DFA, REJECT, START, EncodingTable, ErrorKind, TableError, cause

KIND_BITS = max(ErrorKind).bit_length()

_WIDEST = 16
"""Upper bound on the bits of a unit, since the sets of units are enumerated."""


class UnitLogic:
    """What the decoders of one encoding table have in common.

    A sequence of n units is a *lead* that opens it, a second unit that the lead allows, and any further *trailing*
    units; or a single unit.

    Attributes:
        longest: units in the longest sequence.
        code_point_bits: the width of an output code point.
        trail_bits: payload bits of every unit after the first.
        units: all units.
        open_states: the states within a sequence.
        allowed: per state the units that do not break it.
        singles, trails: the units that are whole sequences, and those that continue one.
        leads: per unit that opens a sequence the state it leads to.
        starts: per unit that starts a sequence the length of that.
        constrained: the open states that not every trailing unit may follow.
        stray_kinds: the error kinds of units that neither start nor continue a sequence.
        is_single, is_trail, is_lead: whether a unit is one of `singles`, `trails` or `leads`.

    Raises:
        TableError: the table is not as described above: its units are wide, one of them starts a sequence and
            continues another, one after the second is constrained, or payload bits are not in the same places.
    """

    def __init__(self, table: EncodingTable) -> None:
        self.table, self.dfa, self.longest = table, DFA.of(table), table.longest
        if table.unit_width > _WIDEST or self.longest == 1:
            raise _refusal(table)
        step, states = self.dfa.step, range(len(self.dfa.states))
        self.code_point_bits = code_point_bits(table)
        self.units, self.open_states = frozenset(range(1 << table.unit_width)), states[1:]
        self.allowed = [frozenset(unit for unit in self.units if step(state, unit) != REJECT) for state in states]
        self.singles = frozenset(unit for unit in self.allowed[START] if step(START, unit) == START)
        self.leads = {unit: step(START, unit) for unit in sorted(self.allowed[START] - self.singles)}
        self.trails = frozenset[int]().union(*self.allowed[1:])
        self.constrained = {state for state in self.open_states if self.allowed[state] != self.trails}
        self.starts = dict.fromkeys(self.singles, 1) | {lead: self.needs(to) + 1 for lead, to in self.leads.items()}
        self.trail_bits = max(pattern.payload_bits[-1] for length, pattern in table.patterns.items() if length > 1)
        if not self._is_possible():
            raise _refusal(table)
        self.is_single = self.of_unit(self.singles, self.units - self.singles)
        self.is_trail = self.of_unit(self.trails, self.units - self.trails)
        self.is_lead = self.of_unit(self.leads, self.units - set(self.leads))
        self.stray_kinds = {unit: cause(table, [unit], None) for unit in self.units - self.allowed[START]}

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, table: EncodingTable) -> Self:
        """The functions of a table (the same object for an equal table)."""
        return cls(table)

    def _is_possible(self) -> bool:
        later = {to for state in self.open_states for to in self.dfa.states[state].transitions} - {REJECT, START}
        patterns = self.table.patterns.items()
        return (
            self.trails.isdisjoint(self.allowed[START])
            and later.isdisjoint(self.constrained)
            and all(state.remaining[0] == state.remaining[1] for state in self.dfa.states)
            and all(pattern.base % (1 << self.trail_bits * (length - 1)) == 0 for length, pattern in patterns)
            and all({*pattern.payload_bits[1:]} <= {self.trail_bits} for _, pattern in patterns)
        )

    def needs(self, state: int) -> int:
        """The units that a state needs."""
        return self.dfa.states[state].remaining[0]

    def of_unit(self, on: Iterable[int], off: Iterable[int]) -> Function:
        """A function of a unit that is 1 on `on` and 0 on `off`."""
        return minimise(on, off, self.table.unit_width)

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

    def kind_word(self, kinds: dict[int, ErrorKind]) -> BitFunctions:
        """An error kind as a function of the unit."""
        return minimised_bits(kinds, KIND_BITS, self.table.unit_width)


def _refusal(table: EncodingTable) -> TableError:
    return TableError(f"{table.name}: decoders are for self-synchronising tables like that of UTF-8 or UTF-16")
