# SPDX-License-Identifier: BSD-2-Clause
"""The minimal deterministic automaton of an encoding table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from operator import index
from typing import SupportsIndex

from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.named import AnyTable, checked_table
from utf8fpga.model.ranges import Range, joined, pieces
from utf8fpga.model.table import EncodingTable

START = 0
"""The state in which no sequence is open; a transition to it completes a sequence."""
REJECT = -1
"""The target of a transition whose unit does not continue the open sequence; not counted among the states."""


@dataclass(frozen=True, slots=True)
class UnitClass:
    """Code units with the same transition in every state, as ranges in ascending order."""

    ranges: tuple[Range, ...]

    def __contains__(self, unit: object) -> bool:
        return any(unit in allowed for allowed in self.ranges)

    def __str__(self) -> str:
        return " ".join(map(str, self.ranges))


@dataclass(frozen=True, slots=True)
class State:
    """A state of the DFA other than reject.

    Attributes:
        name: ``start``, or the ranges that the state awaits, such as ``A0..BF 80..BF``.
        remaining: the smallest and the largest number of units that complete the open sequence;
            (0, 0) in the start state.
        transitions: for each unit class the number of the next state, `START` where the unit
            completes a sequence, `REJECT` where it does not continue one.
    """

    name: str
    remaining: tuple[int, int]
    transitions: tuple[int, ...]


@dataclass(frozen=True)
class DFA:
    """The minimal deterministic finite automaton of a table's rows.

    For Table 3-7 it has 8 states that are not reject, and 12 byte classes.

    Attributes:
        table: the table it is derived from.
        classes: the unit classes, ordered by their first unit.
        states: the states; number 0 is the start state, the others are ordered by the units they await.
    """

    table: EncodingTable
    classes: tuple[UnitClass, ...]
    states: tuple[State, ...]

    @staticmethod
    @lru_cache(maxsize=32)
    def of(table: AnyTable) -> DFA:
        """The minimal DFA of a table or of its name (the same object for an equal table)."""
        return _build(checked_table(table))

    def __repr__(self) -> str:
        return f"<DFA of {self.table.name}: {len(self.states)} states without reject, {len(self.classes)} unit classes>"

    @cached_property
    def classify(self) -> Callable[[int], int]:
        """The number of the class that contains a unit, which must fit the table's width."""
        parts = sorted((piece.first, number) for number, each in enumerate(self.classes) for piece in each.ranges)
        firsts, numbers = zip(*parts, strict=True)

        def search(unit: int) -> int:
            return int(numbers[bisect_right(firsts, unit) - 1])

        if self.table.unit_width > 16:
            return search
        return list(map(search, range(1 << self.table.unit_width))).__getitem__

    def after(self, units: Iterable[int]) -> int:
        """The state after `units`, which must fit the table's width; `REJECT` from the first that is rejected on."""
        classify, transitions = self.classify, [state.transitions for state in self.states]
        state = START
        for unit in units:
            state = transitions[state][classify(unit)]
            if state == REJECT:
                break
        return state

    def step(self, state: int, unit: int) -> int:
        """The state after `unit`: `START` where it completes a sequence, `REJECT` where it does not continue one.

        Raises:
            ValueError: the unit does not fit the table's width.
        """
        return self.states[state].transitions[self.classify(checked_unit(self.table, unit))]


def checked_unit(table: EncodingTable, unit: SupportsIndex, offset: int | None = None) -> int:
    """`unit` as an integer of the table's width.

    Raises:
        ValueError: it is not such an integer; the message names the offset, if specified.
    """
    top = (1 << table.unit_width) - 1
    try:
        value = index(unit)
    except TypeError:
        quoted = repr(unit)
    else:
        if 0 <= value <= top:
            return value
        quoted = f"{value:#x}"
    where = "" if offset is None else f" at offset {offset}"
    raise InvalidArgumentError(f"code unit {quoted}{where} is not an integer in 0..{top:#x}")


_Tails = frozenset[tuple[Range, ...]]
"""A state as the ends of rows that may follow: none in reject, the empty end alone after a complete sequence."""
_REJECTED, _COMPLETE = _Tails(), _Tails([()])


def _build(table: EncodingTable) -> DFA:
    parts = pieces((allowed for row in table.rows for allowed in row.units), table.unit_width)
    next_tails: dict[_Tails, list[_Tails]] = {}

    @cache
    def key(tails: _Tails) -> Hashable:
        """Equal for tails with equal continuations: the tree of keys of the next tails, which are shorter."""
        if tails in (_REJECTED, _COMPLETE):
            return tails
        next_tails[tails] = [_Tails(tail[1:] for tail in tails if part.first in tail[0]) for part in parts]
        return tuple(map(key, next_tails[tails]))

    start = _Tails(row.units for row in table.rows)
    key(start)
    # The states have different keys, and the DFA has no cycles except through the start state: it is minimal.
    others = {key(tails): tails for tails in next_tails if tails != start}
    ordered = [start, *sorted(others.values(), key=_order)]
    numbers = {key(tails): number for number, tails in enumerate(ordered)}
    numbers |= {key(_REJECTED): REJECT, key(_COMPLETE): START}

    transitions = [[numbers[key(after)] for after in next_tails[tails]] for tails in ordered]
    classes: dict[tuple[int, ...], list[Range]] = {}
    for part, column in zip(parts, zip(*transitions, strict=True), strict=True):
        classes.setdefault(column, []).append(part)
    rows = zip(*classes, strict=True)
    states = [_state(tails, targets) for tails, targets in zip(ordered, rows, strict=True)]
    states[START] = State("start", (0, 0), states[START].transitions)
    return DFA(table, tuple(UnitClass(tuple(joined(ranges))) for ranges in classes.values()), tuple(states))


def _state(tails: _Tails, transitions: tuple[int, ...]) -> State:
    names, lengths = [" ".join(map(str, tail)) for tail in tails], list(map(len, tails))
    return State(" | ".join(sorted(names)), (min(lengths), max(lengths)), transitions)


def _order(tails: _Tails) -> tuple[object, ...]:
    return min(map(len, tails)), sorted(tuple((r.first, r.last) for r in tail) for tail in tails)
