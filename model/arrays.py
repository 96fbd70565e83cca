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
from typing import TypeAlias

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Item
from utf8fpga.model.dfa import DFA, REJECT, START
from utf8fpga.model.errors import ErrorKind, cause, representatives
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.named import AnyTable, checked_table
from utf8fpga.model.ranges import TableError
from utf8fpga.model.table import EncodingTable

try:
    import numba
    import numpy as np
    from numpy.typing import NDArray
except ModuleNotFoundError as missing:
    if missing.name not in ("numba", "numpy"):
        raise
    raise ModuleNotFoundError(f"{missing.name} is not installed: pip install -e '.[fast]'", name=missing.name) from None

__all__ = ["ItemArrays", "decode_array"]

Bytes: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]

STRIDE = 256
"""Array entries for each state, one for each byte."""

UNKNOWN = -STRIDE
"""An entry not yet written; no cause has this code."""


@dataclass(frozen=True)
class ItemArrays:
    """Items in order, one array for each attribute of `Item`.

    ``len`` is the number of items; iteration yields each as an `Item`, equal to those of `decode`.

    Attributes:
        offsets: int64; the start of the item, in bytes from the start of the text.
        lengths: uint8; its number of bytes.
        code_points: uint32; its code point, U+FFFD where ill-formed.
        errors: uint8; the code of its `ErrorKind`, 0 where well-formed.
    """

    lengths: NDArray[np.uint8]
    code_points: NDArray[np.uint32]
    errors: NDArray[np.uint8]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Computed at its first use: each item starts where the one before it ends."""
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[Item]:
        for offset, length, point, code in zip(self.offsets, self.lengths, self.code_points, self.errors, strict=True):
            yield Item(int(offset), int(length), int(point), ErrorKind(code) if code else None)


def decode_array(data: Bytes, table: AnyTable = TABLE_3_7) -> ItemArrays:
    """The items of a whole text, equal to those of `decode`.

    Memory: 6 bytes for each byte during the call, of which 6 for each item remain; offsets need 8 more.

    Args:
        data: the bytes of one text: any bytes-like object.
        table: the encoding form, or its name; default: UTF-8. It must be self-synchronising, with code units of 8 bits
            of which those that continue a sequence have 6 bits of the code point.

    Raises:
        TableError: the table is outside these limits.
        TypeError: `data` is not bytes-like.

    >>> items = decode_array(b"n\\xc3\\xa9\\xff")
    >>> items.code_points.tolist() == [0x6E, 0xE9, 0xFFFD]
    True
    >>> items.errors.tolist()
    [0, 0, 2]
    """
    units = data if isinstance(data, np.ndarray) else np.asarray(memoryview(data))
    if units.dtype != np.uint8 or units.ndim != 1:
        raise TypeError(f"decode_array takes bytes, not an array of {units.dtype} with {units.ndim} dimensions")
    outcomes, constants = _automaton(checked_table(table))
    size = len(units)  # A text has at most as many items as bytes.
    lengths, points, errors = np.empty(size, np.uint8), np.empty(size, np.uint32), np.zeros(size, np.uint8)
    count, end = map(int, _loop(outcomes, constants, units, lengths, points, errors))
    if end < size:
        lengths[count], points[count], errors[count] = size - end, REPLACEMENT_CHARACTER, ErrorKind.INCOMPLETE
        count += 1
    for column in (lengths, points, errors):
        column.resize(count, refcheck=False)  # In place; there are no other references yet.
    return ItemArrays(lengths, points, errors)


@lru_cache(maxsize=8)
def _automaton(table: EncodingTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The automaton of a table as the first arguments of the loop.

    Returns:
        outcomes: at the sum of a byte and `STRIDE` times the number of a state of the DFA: positive, the same of the
            next state; negative, minus the code of the cause of an ill-formed item; 0, a well-formed one.
        constants: by length the code point of a sequence without `_joined` of its bytes.
    """
    if table.unit_width != 8:
        raise TableError(f"{table.name}: code units of {table.unit_width} bits, but arrays are of bytes")
    replace(table, self_synchronising=True)  # Raises TableError if it is not.
    constants = np.zeros(max(table.longest, 3) + 1, np.int64)  # The loop reads those of 2 and 3.
    for length, pattern in table.patterns.items():
        if any(bits != 6 for bits in pattern.payload_bits[1:]):
            raise TableError(f"{table.name}: bytes that continue a sequence must have 6 bits of the code point")
        constants[length] = pattern.base - _joined(block.first for block in pattern.blocks)
    return _outcomes(table), constants


def _joined(units: Iterable[int]) -> int:
    """The bytes of a sequence as one number, each worth 64 times the next one."""
    number = 0
    for unit in units:
        number = number * 64 + unit
    return number


def _outcomes(table: EncodingTable) -> NDArray[np.int64]:
    dfa = DFA.of(table)
    outcomes = np.full((len(dfa.states), STRIDE), UNKNOWN, np.int64)
    for opened, state in [((), START), *representatives(table)]:
        for unit in range(STRIDE):
            after = dfa.step(state, unit)
            outcome = after * STRIDE if after != REJECT else -int(cause(table, opened or [unit], unit))
            if outcomes[state, unit] not in (UNKNOWN, outcome):
                raise TableError(f"{table.name}: the state of its DFA does not determine the causes of errors")
            outcomes[state, unit] = outcome
    return outcomes.ravel()


@numba.njit(cache=True)
def _loop(  # noqa: C901 - two steps of it are written out, see below
    outcomes: NDArray[np.int64],
    constants: NDArray[np.int64],
    units: NDArray[np.uint8],
    lengths: NDArray[np.uint8],
    points: NDArray[np.uint32],
    errors: NDArray[np.uint8],
) -> tuple[int, int]:
    """Write lengths, code points and errors of the items of `units`; `errors` is 0 before.

    Returns:
        The number of items, and that of bytes in them: all but those of a sequence open at the end.
    """
    # Indices without sign, since a negative one would count from the end, which takes a comparison.
    size, one = np.uint64(len(units)), np.uint64(1)
    count = at = np.uint64(0)
    of_two, of_three = constants[2], constants[3]
    while at < size:
        start = at
        joined = np.int64(units[at])
        outcome = outcomes[units[at]]
        at += one
        # The second and the third byte, written out: text takes a tenth less time than with the loop below alone.
        if outcome > 0 and at + one < size:
            unit = units[at]
            outcome = outcomes[np.uint64(outcome) + unit]
            if outcome == 0:
                lengths[count] = 2
                points[count] = joined * 64 + unit + of_two
                count += one
                at += one
                continue
            if outcome > 0:
                joined = joined * 64 + unit
                at += one
                unit = units[at]
                outcome = outcomes[np.uint64(outcome) + unit]
                if outcome == 0:
                    lengths[count] = 3
                    points[count] = joined * 64 + unit + of_three
                    count += one
                    at += one
                    continue
                if outcome > 0:
                    joined = joined * 64 + unit
                    at += one
        while outcome > 0 and at < size:
            unit = units[at]
            outcome = outcomes[np.uint64(outcome) + unit]
            if outcome >= 0:  # Else this byte does not continue the sequence.
                joined = joined * 64 + unit
                at += one
        if outcome > 0:
            return count, start  # type: ignore[return-value]  # as below
        length = at - start
        lengths[count] = length
        points[count] = joined + constants[length]
        if outcome < 0:
            points[count] = REPLACEMENT_CHARACTER
            errors[count] = -outcome
        count += one
    return count, at  # type: ignore[return-value]  # both are integers, for Numba without sign
