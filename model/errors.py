# SPDX-License-Identifier: BSD-2-Clause
"""The causes of ill-formed subsequences, derived from the rows of a table.

The rows define only the well-formed sequences. The bit distribution of the rows (Table 3-6) gives
the code point that a unit sequence outside the rows would represent: a sequence that fits the
distribution of some length but no row is overlong, a surrogate or out of range, depending on that
code point. Where the rows have no bit distribution those three causes do not exist.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import product

from utf8fpga.model.dfa import DFA, REJECT, START
from utf8fpga.model.ranges import Range, TableError, pieces
from utf8fpga.model.table import BitPattern, EncodingTable


class ErrorKind(IntEnum):
    """The cause of an ill-formed item. The values are the codes that the hardware emits; 0 is no error."""

    UNEXPECTED_CONTINUATION = 1
    """A unit that can only continue a sequence, while no sequence is open (in UTF-8: 80..BF)."""
    INVALID_BYTE = 2
    """A unit that does not occur in the bit distribution of any length (in UTF-8: F8..FF)."""
    OVERLONG = 3
    """A non-shortest form (in UTF-8: C0, C1, E0 before 80..9F, F0 before 80..8F)."""
    SURROGATE = 4
    """A sequence that would represent a surrogate code point (in UTF-8: ED before A0..BF)."""
    OUT_OF_RANGE = 5
    """A sequence that would be above the last code point (in UTF-8: F5..F7, F4 before 90..BF)."""
    TRUNCATED = 6
    """Any other open sequence that the next unit does not continue."""
    INCOMPLETE = 7
    """An open sequence at the end of the text."""

    def __str__(self) -> str:
        return self.name


def cause(table: EncodingTable, subpart: Sequence[int], following: int | None) -> ErrorKind:
    """The cause of one ill-formed item, a maximal subpart (D93b).

    Args:
        table: the encoding form.
        subpart: the code units of the item, at least one: the start of some sequence, or one
            unit that starts none.
        following: the unit that does not continue the sequence; None at the end of the text. It is
            ignored where the subpart is a unit that starts no sequence.

    >>> from utf8fpga.model.forms import TABLE_3_7
    >>> cause(TABLE_3_7, b"\\xed", 0xA0).name
    'SURROGATE'
    """
    if not any(subpart[0] in row.units[0] for row in table.rows):
        if any(subpart[0] in allowed for row in table.rows for allowed in row.units[1:]):
            return ErrorKind.UNEXPECTED_CONTINUATION
        return _cause_by_pattern(table, subpart) or ErrorKind.INVALID_BYTE
    if following is None:
        return ErrorKind.INCOMPLETE
    return _cause_by_pattern(table, [*subpart, following]) or ErrorKind.TRUNCATED


def _patterns(table: EncodingTable) -> dict[int, BitPattern]:
    """The bit distribution by length; empty where the rows have none."""
    try:
        return table.patterns
    except TableError:
        return {}


def _cause_by_pattern(table: EncodingTable, prefix: Sequence[int]) -> ErrorKind | None:
    """The cause by the code points that `prefix` would lead to; None if it fits no bit distribution."""
    patterns = _patterns(table)
    for length, pattern in patterns.items():
        if not pattern.matches(prefix):
            continue
        points = pattern.reachable(prefix)
        if points.last <= max((p.code_points.last for n, p in patterns.items() if n < length), default=-1):
            return ErrorKind.OVERLONG
        if points.first > table.last_code_point:
            return ErrorKind.OUT_OF_RANGE
        if not any(points.overlaps(row.code_points) for row in table.rows):
            return ErrorKind.SURROGATE
    is_code_point = table.longest == 1 and patterns and patterns[1].code_points == patterns[1].blocks[0]
    if is_code_point and prefix[0] > table.last_code_point:
        # The unit is its own code point (D90), also where it has more bits than the rows.
        return ErrorKind.OUT_OF_RANGE
    return None


@lru_cache(maxsize=32)
def _bounds(table: EncodingTable) -> list[int]:
    """The code points at which the result of `cause` may change, ascending."""
    spans = [row.code_points for row in table.rows]
    ends = [*(span.last for span in spans), *(pattern.code_points.last for pattern in _patterns(table).values())]
    return sorted({*(span.first for span in spans), *(end + 1 for end in ends)})


@lru_cache(maxsize=32)
def unit_pieces(table: EncodingTable) -> tuple[Range, ...]:
    """All code units as ranges that are equivalent, at any place, for the rows and for the causes."""
    ranges = [allowed for row in table.rows for allowed in row.units]
    for pattern in _patterns(table).values():
        ranges += pattern.blocks
        for bound in _bounds(table):
            if bound in pattern.code_points:
                ranges += [Range(unit, unit) for unit in pattern.encode(bound)]
    return tuple(pieces(ranges, table.unit_width))


def outlook(table: EncodingTable, prefix: Sequence[int]) -> Hashable:
    """A key that is equal for prefixes with the same causes for any units after them.

    The code points that a prefix may lead to in a pattern either all have the same cause, and the key has the number
    of the interval between two bounds, or contain one of a few bounds. So the number of keys is small.
    """
    bounds, intervals = _bounds(table), []
    for pattern in _patterns(table).values():
        points = pattern.reachable(prefix) if pattern.matches(prefix) else None
        number = points and bisect_right(bounds, points.first)
        intervals.append(number if points is None or bisect_right(bounds, points.last) == number else points)
    return tuple(intervals)


def representatives(table: EncodingTable) -> Iterator[tuple[tuple[int, ...], int]]:
    """One open sequence of each equivalence class with the number of the DFA's state after it; the shortest first.

    Two open sequences of the same length are equivalent if they lead to the same state and any units that follow have
    the same causes. The number of classes is small, whereas that of open sequences is large.

    >>> from utf8fpga.model.forms import TABLE_3_7
    >>> sum(1 for _ in representatives(TABLE_3_7))
    18
    """
    dfa = DFA.of(table)
    reached: dict[Hashable, tuple[tuple[int, ...], int]] = {None: ((), START)}
    while reached:
        longer: dict[Hashable, tuple[tuple[int, ...], int]] = {}
        for (subpart, state), piece in product(reached.values(), unit_pieces(table)):
            sequence, after = (*subpart, piece.first), dfa.step(state, piece.first)
            if after not in (REJECT, START):
                longer.setdefault((after, outlook(table, sequence)), (sequence, after))
        reached = longer
        yield from sorted(reached.values())
