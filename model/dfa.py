# SPDX-License-Identifier: BSD-2-Clause
"""The minimal deterministic automaton of an encoding table."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from operator import index
from typing import SupportsIndex

from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.table import EncodingTable, Range, checked_table

__all__ = ["DFA", "REJECT", "START", "State", "UnitClass"]

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


_Residual = frozenset[tuple[Range, ...]]


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
    def of(table: EncodingTable) -> DFA:
        """The minimal DFA of `table` (the same object for an equal table).

        Raises:
            TypeError: `table` is a composition, or not an `EncodingTable`.
        """
        return _build(checked_table(table))

    @cached_property
    def classify(self) -> Callable[[int], int]:
        """`class_of` without a check of the unit, for units known to fit the table's width."""
        if self.table.unit_width > 16:
            return self._search
        return [number for piece, number in self._pieces for _ in piece].__getitem__

    @cached_property
    def _pieces(self) -> list[tuple[Range, int]]:
        pieces = [(piece, number) for number, c in enumerate(self.classes) for piece in c.ranges]
        return sorted(pieces, key=_first)

    def _search(self, unit: int) -> int:
        return self._pieces[bisect_right(self._pieces, unit, key=_first) - 1][1]

    def class_of(self, unit: int) -> int:
        """The number of the class that contains `unit`.

        Raises:
            ValueError: the unit does not fit the table's width.
        """
        return self.classify(checked_unit(self.table, unit))

    def step(self, state: int, unit: int) -> int:
        """The state after `unit`: `START` where it completes a sequence, `REJECT` where it does not continue one.

        Raises:
            ValueError: the unit does not fit the table's width.
        """
        return self.states[state].transitions[self.class_of(unit)]


def _first(piece: tuple[Range, int]) -> int:
    return piece[0].first


def checked_unit(table: EncodingTable, unit: SupportsIndex, offset: int | None = None) -> int:
    """`unit` as an integer of the table's width.

    Raises:
        ValueError: it is not such an integer; the message names the offset, if specified.
    """
    top = (1 << table.unit_width) - 1
    try:
        value = index(unit)
    except TypeError:
        shown = repr(unit)
    else:
        if 0 <= value <= top:
            return value
        shown = f"{value:#x}"
    where = "" if offset is None else f" at offset {offset}"
    raise InvalidArgumentError(f"code unit {shown}{where} is not an integer in 0..{top:#x}")


def _build(table: EncodingTable) -> DFA:
    cuts = {0, 1 << table.unit_width}
    for row in table.rows:
        for allowed in row.units:
            cuts |= {allowed.first, allowed.last + 1}
    edges = sorted(cuts)
    pieces = [Range(first, after - 1) for first, after in pairwise(edges)]

    # A state is the set of row tails that may follow. Two sets accept the same continuations if and
    # only if their trees of keys are equal, so the tree is the key of the state. There are no cycles
    # except through the start state, so the DFA is minimal by construction.
    keys: dict[_Residual, tuple[object, ...]] = {}

    def key(tails: _Residual) -> tuple[object, ...]:
        if tails not in keys:
            keys[tails] = tuple(
                "complete" if after == {()} else key(after) if after else None
                for piece in pieces
                for after in [_after(tails, piece)]
            )
        return keys[tails]

    start: _Residual = frozenset(row.units for row in table.rows)
    key(start)
    others = {keys[tails]: tails for tails in sorted(keys, key=_order, reverse=True) if tails != start}
    ordered = [start, *sorted(others.values(), key=_order)]
    number = {keys[tails]: n for n, tails in enumerate(ordered)}

    def target(tails: _Residual, piece: Range) -> int:
        after = _after(tails, piece)
        if not after:
            return REJECT
        return START if after == {()} else number[key(after)]

    columns: dict[tuple[int, ...], list[Range]] = {}
    for piece in pieces:
        column = columns.setdefault(tuple(target(tails, piece) for tails in ordered), [])
        if column and column[-1].last + 1 == piece.first:
            piece = Range(column.pop().first, piece.last)
        column.append(piece)
    states = tuple(
        State(
            "start" if n == START else " | ".join(sorted(" ".join(map(str, tail)) for tail in tails)),
            (0, 0) if n == START else (min(map(len, tails)), max(map(len, tails))),
            tuple(column[n] for column in columns),
        )
        for n, tails in enumerate(ordered)
    )
    return DFA(table, tuple(UnitClass(tuple(ranges)) for ranges in columns.values()), states)


def _after(tails: _Residual, piece: Range) -> _Residual:
    return frozenset(tail[1:] for tail in tails if piece.first in tail[0])


def _order(tails: _Residual) -> tuple[object, ...]:
    return min(map(len, tails)), sorted(tuple((r.first, r.last) for r in tail) for tail in tails)
