# SPDX-License-Identifier: BSD-2-Clause
"""The golden decoder over NumPy arrays, for texts of many megabytes. Requires the extra ``fast``.

Numba compiles one loop over the table of an automaton; the items are those of `decode`.

>>> from utf8fpga.model.arrays import decode_array
>>> decode_array(b"\\xe1\\x80A").offsets.tolist()
[0, 2]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any, NamedTuple

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Item, not_code_units
from utf8fpga.model.dfa import checked_unit
from utf8fpga.model.errors import ErrorKind, cause, outlook, unit_pieces
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.named import AnyTable, checked_table
from utf8fpga.model.ranges import TableError
from utf8fpga.model.table import EncodingTable, starts

try:
    import numba
    import numpy as np
    from numpy.typing import NDArray
except ModuleNotFoundError as missing:
    if missing.name not in ("numba", "numpy"):
        raise
    raise ModuleNotFoundError(
        f"{missing.name} is not installed: pip install 'utf8fpga[fast]'", name=missing.name
    ) from None

__all__ = ["ItemArrays", "decode_array"]

WIDEST = 16
"""Upper bound on the bits in a code unit, since a state has an array entry for each unit."""
LONGEST = (1 << 8) - 1
"""Upper bound on the code units in a sequence, since a length is stored in a byte."""
BLOCK = 1 << 18
"""Items that are made at once."""
OPEN = max(ErrorKind) + 1
"""The smallest number of a state in which a sequence is open; smaller numbers are the codes of the causes."""


@dataclass(frozen=True)
class ItemArrays:
    """Items in order, one array for each attribute of `Item`.

    ``len`` is the number of items; iteration yields each as an `Item`, equal to those of `decode`.

    Attributes:
        offsets: int64; the start of the item, in code units from the start of the text.
        lengths: uint8; its number of code units.
        code_points: uint32; its code point, U+FFFD where ill-formed.
        errors: uint8; the code of its `ErrorKind`, 0 where well-formed.
    """

    lengths: NDArray[np.uint8]
    code_points: NDArray[np.uint32]
    errors: NDArray[np.uint8]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Computed at its first use: each item starts where the one before it ends."""
        found = np.cumsum(self.lengths, dtype=np.int64)
        found -= self.lengths
        return found

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[Item]:
        columns = self.offsets, self.lengths, self.code_points, self.errors
        for first in range(0, len(self), BLOCK):
            part = (column[first : first + BLOCK].tolist() for column in columns)
            for offset, length, point, code in zip(*part, strict=True):
                yield Item(offset, length, point, ErrorKind(code) if code else None)


def decode_array(data: Iterable[int], table: AnyTable = TABLE_3_7) -> ItemArrays:
    """The items of a whole text, equal to those of `decode`.

    Memory: 6 bytes for each code unit during the call, of which 6 for each item remain; offsets need 8 more.

    Args:
        data: the code units of one text: any bytes-like object, or a one-dimensional array of any integer type. Any
            other iterable is accepted, but read unit by unit.
        table: the encoding form, or its name; default: UTF-8. It must be self-synchronising, with code units of at most
            16 bits and sequences of at most 255 units.

    Raises:
        TableError: the table is outside these limits.
        TypeError: `data` is a string, not iterable, or an array of another type than integers.
        ValueError: a code unit is outside the table's width, or an array is not one-dimensional.

    >>> items = decode_array(b"n\\xc3\\xa9\\xff")
    >>> items.code_points.tolist() == [0x6E, 0xE9, 0xFFFD]
    True
    >>> items.errors.tolist()
    [0, 0, 2]
    """
    form = checked_table(table)
    automaton, units = _Automaton.of(form), _code_units(data, form)
    size = len(units)  # A text has at most as many items as units.
    columns = np.empty(size, np.uint8), np.empty(size, np.uint32), np.zeros(size, np.uint8)
    lengths, points, errors = columns
    count, end = map(int, _loop(*automaton, units, columns))
    if end < size:
        lengths[count], points[count], errors[count] = size - end, REPLACEMENT_CHARACTER, ErrorKind.INCOMPLETE
        count += 1
    for column in columns:
        column.resize(count, refcheck=False)  # In place; there are no other references yet.
    return ItemArrays(*columns)


class _Automaton(NamedTuple):
    """The automaton of a table as the first arguments of the loop.

    A state is a class of prefixes with the same rows and the same causes of errors, which is finer than a state of the
    minimal DFA.

    Attributes:
        outcomes: at the sum of a state's number (0 for the start state) and a unit: `OPEN` or above, the number of the
            next state; from 1 to `OPEN` - 1, the cause of an ill-formed item; negative, the complement of a row.
        points: the code point of each unit that is a sequence, else a number above all code points.
        weights, constants: the code point of each row as a linear function of the units.
    """

    outcomes: NDArray[np.int64]
    points: NDArray[np.uint32]
    weights: NDArray[np.int64]
    constants: NDArray[np.int64]

    @staticmethod
    @lru_cache(maxsize=8)
    def of(table: EncodingTable) -> _Automaton:
        if table.unit_width > WIDEST:
            raise TableError(f"{table.name}: code units of {table.unit_width} bits, but arrays take at most {WIDEST}")
        if table.longest > LONGEST:
            raise TableError(f"{table.name}: sequences of {table.longest} units, but arrays take at most {LONGEST}")
        replace(table, self_synchronising=True)  # Raises TableError if it is not.
        weights = np.zeros((len(table.rows), table.longest), np.int64)
        for number, row in enumerate(table.rows):
            weights[number, : len(row.units)] = [
                prod(map(len, row.units[position:])) for position in range(1, len(row.units) + 1)
            ]
        constants = [row.code_point([0] * len(row.units)) for row in table.rows]
        points = np.full(1 << table.unit_width, _NONE, np.uint32)
        for row in table.rows:
            if len(row.units) == 1:
                points[row.units[0].first : row.units[0].last + 1] = list(row.code_points)
        return _Automaton(_outcomes(table), points, weights, np.array(constants, np.int64))


_NONE = (1 << 32) - 1


def _outcomes(table: EncodingTable) -> NDArray[np.int64]:
    pieces = unit_pieces(table)
    stride = max(1 << table.unit_width, OPEN)
    states: list[tuple[int, ...]] = [()]
    numbers: dict[object, int] = {}
    after: list[list[int]] = []
    for prefix in states:
        after.append([])
        for unit in (piece.first for piece in pieces):
            sequence = (*prefix, unit)
            rows = [number for number, row in enumerate(table.rows) if starts(sequence, row.units)]
            if not rows:
                outcome = int(cause(table, prefix or sequence, unit))
            elif len(table.rows[rows[0]].units) == len(sequence):
                outcome = ~rows[0]
            else:
                outcome = numbers.setdefault((len(sequence), *rows, outlook(table, sequence)), len(states) * stride)
                if outcome == len(states) * stride:
                    states.append(sequence)
            after[-1].append(outcome)
    outcomes = np.repeat(np.array(after, np.int64), list(map(len, pieces)), axis=1)
    return np.pad(outcomes, ((0, 0), (0, stride - outcomes.shape[1]))).ravel()


def _decode_units(
    outcomes: NDArray[np.int64],
    single_points: NDArray[np.uint32],
    weights: NDArray[np.int64],
    constants: NDArray[np.int64],
    units: NDArray[Any],
    columns: tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint8]],
) -> tuple[int, int]:
    """Write lengths, code points and errors of the items of `units` to `columns`, whose errors are 0 before.

    Returns:
        The number of items, and that of units in them: all but those of a sequence open at the end.
    """
    lengths, points, errors = columns
    # Indices without sign, since a negative one would count from the end, which takes a comparison.
    size = np.uint64(len(units))
    count = start = at = state = np.uint64(0)
    while at < size:
        outcome = outcomes[state + units[at]]
        if outcome >= OPEN:
            state = np.uint64(outcome)
            at += np.uint64(1)
            continue
        if outcome < 0:
            at += np.uint64(1)
            mapping = np.uint64(~outcome)
            point = constants[mapping]
            for place in range(at - start):
                step = np.uint64(place)
                point += weights[mapping, step] * np.int64(units[start + step])
            points[count] = point
        else:
            if at == start:
                at += np.uint64(1)
            points[count] = REPLACEMENT_CHARACTER
            errors[count] = outcome
        lengths[count] = at - start
        count += np.uint64(1)
        while at < size and single_points[units[at]] != _NONE:
            points[count] = single_points[units[at]]
            lengths[count] = 1
            count += np.uint64(1)
            at += np.uint64(1)
        start = at
        state = np.uint64(0)
    return count, start  # type: ignore[return-value]  # both are integers, for Numba without sign


def _compiled() -> Any:
    try:
        return numba.njit(cache=True)(_decode_units)
    except RuntimeError:  # There is no folder in which it could be cached.
        return numba.njit(_decode_units)


_loop = _compiled()
"""`_decode_units`, compiled at the first call for a type of code units and cached beside this file."""


def _code_units(data: Iterable[int], table: EncodingTable) -> NDArray[Any]:
    """`data` as uint8 or uint16, copied only if it has another type."""
    kind = np.dtype(np.uint8 if table.unit_width <= 8 else np.uint16)
    try:
        units: NDArray[Any] = data if isinstance(data, np.ndarray) else np.asarray(memoryview(data))  # type: ignore[arg-type]  # it has a buffer
    except TypeError:
        if isinstance(data, str) or not isinstance(data, Iterable):
            raise not_code_units(data) from None
        return np.fromiter((checked_unit(table, unit, place) for place, unit in enumerate(data)), kind)
    if units.dtype.kind not in "iu":
        raise TypeError(f"code units must be in an array of integers, not of {units.dtype}")
    if units.ndim != 1:
        raise InvalidArgumentError(f"code units must be in an array of one dimension, not {units.ndim}")
    top = (1 << table.unit_width) - 1
    if np.iinfo(units.dtype).min < 0 or np.iinfo(units.dtype).max > top:
        for place in np.flatnonzero((units < 0) | (units > top))[:1].tolist():
            checked_unit(table, int(units[place]), place)  # Raises.
    return units.astype(kind, copy=False)
