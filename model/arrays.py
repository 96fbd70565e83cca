# SPDX-License-Identifier: BSD-2-Clause
"""The golden decoder over NumPy arrays, for texts of many megabytes. Requires the extra ``arrays``.

In a self-synchronising form no unit both starts a sequence and continues one, so a sequence can be
decoded from its first unit independently of the units before it. All sequences are decoded at once,
one unit at each step; every unit that belongs to none of them is an item of its own. With Numba,
from the extra ``fast``, a large chunk is decoded by a compiled loop instead, which is several times
as fast; the items are the same.

>>> from utf8fpga.model.arrays import decode_array
>>> decode_array(b"\\xe1\\x80A").offsets.tolist()
[0, 2]
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from time import process_time
from typing import Any, NamedTuple, TypeAlias

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Item, mapping_of, not_code_units
from utf8fpga.model.dfa import checked_unit
from utf8fpga.model.errors import ErrorKind, cause, outlook, unit_pieces
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.golden import BulkSymbols
from utf8fpga.model.practices import BLOCKS_BY_FIRST_BYTE, Practice, checked_for
from utf8fpga.model.table import EncodingTable, Row, TableError, checked_table, starts
from utf8fpga.model.text import decode

try:
    import numpy as np
    from numpy.typing import NDArray
except ModuleNotFoundError as missing:
    if missing.name != "numpy":
        raise
    raise ModuleNotFoundError("numpy is not installed: pip install 'utf8fpga[arrays]'", name="numpy") from None

__all__ = [
    "ArrayDecoder",
    "IncrementalArrayDecoder",
    "ItemArrays",
    "PacketDecoder",
    "Speed",
    "decode_array",
    "measure_speed",
]

WIDEST = 16
"""Upper bound on the bits in a code unit, since a state has an array entry for each unit."""
LONGEST = (1 << 8) - 1
"""Upper bound on the code units in a sequence, since a length is stored in a byte."""
BLOCK = 1 << 18
"""Code units processed at once; the temporary arrays for them fit in the cache."""
COMPILED = 1 << 18
"""Lower bound on the code units of a chunk for the compiled loop, since Numba takes about a second to start."""
OPEN = max(ErrorKind) + 1
"""The smallest number of a state in which a sequence is open; smaller numbers are the codes of the causes."""


Columns: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint8]]
"""Lengths, code points and errors of items."""


class ItemArrays:
    """Items in order, one array for each attribute of `Item`.

    ``len`` is the number of items; iteration yields each as an `Item`, equal to those of `decode`.

    Args:
        offsets: the offsets; or the first one, if each item starts where the one before it ends.
        lengths, code_points, errors: see below.

    Attributes:
        offsets: int64; the start of the item, in code units from the start of the text. Computed at its first use.
        lengths: uint8; its number of code units. int64 where marks are merged.
        code_points: uint32; its code point, U+FFFD where ill-formed.
        errors: uint8; the code of its `ErrorKind`, 0 where well-formed.
    """

    def __init__(
        self,
        offsets: NDArray[np.int64] | int,
        lengths: NDArray[np.uint8] | NDArray[np.int64],
        code_points: NDArray[np.uint32],
        errors: NDArray[np.uint8],
    ) -> None:
        self._first, self.lengths, self.code_points, self.errors = offsets, lengths, code_points, errors

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        if not isinstance(self._first, int):
            return self._first
        found = np.cumsum(self.lengths, dtype=np.int64)
        found += self._first
        found -= self.lengths
        return found

    def __repr__(self) -> str:
        columns = (f"{name}={getattr(self, name)!r}" for name in ("offsets", "lengths", "code_points", "errors"))
        return f"ItemArrays({', '.join(columns)})"

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, which: slice | NDArray[Any]) -> ItemArrays:
        """Select items by a slice, an array of indices or an array of bool."""
        return ItemArrays(self.offsets[which], self.lengths[which], self.code_points[which], self.errors[which])

    def __iter__(self) -> Iterator[Item]:
        columns = self.offsets, self.lengths, self.code_points, self.errors
        for first in range(0, len(self), BLOCK):
            part = (column[first : first + BLOCK].tolist() for column in columns)
            for offset, length, point, code in zip(*part, strict=True):
                yield Item(offset, length, point, ErrorKind(code) if code else None)


class ArrayDecoder:
    """A `Decoder` that returns arrays: for the same chunks the same items.

    Memory does not grow with the text: a call needs 6 bytes for each code unit of the chunk, of
    which 6 bytes for each item remain allocated, and some megabytes of temporary arrays; offsets need
    8 more for each item. A file of any size can therefore be decoded in chunks, for example of 1 MiB.

    Args:
        table: the encoding form; default: UTF-8. It must be self-synchronising, with code units of
            at most 16 bits and sequences of at most 255 units.

    Raises:
        TableError: the table is outside these limits.
        TypeError: `table` is not an `EncodingTable`.

    >>> decoder = ArrayDecoder()
    >>> len(decoder.decode(b"\\xe1\\x80"))
    0
    >>> decoder.decode(b"A", final=True).lengths.tolist()
    [2, 1]
    """

    def __init__(self, table: EncodingTable = TABLE_3_7) -> None:
        self.table = table
        self._automaton = _Automaton.of(table)
        self.reset()

    def reset(self) -> None:
        """Discard the open sequence and restart offsets at 0."""
        self._open: tuple[int, ...] = ()
        self._offset = 0

    def decode(self, data: Iterable[int], final: bool = False) -> ItemArrays:
        """Decode one chunk of a text.

        Args:
            data: code units, each of the table's width: any bytes-like object, or a one-dimensional
                array of any integer type. Any other iterable is accepted, but read unit by unit.
            final: the text ends after this chunk; the decoder is then reset.

        Returns:
            The items that this chunk completes.

        Raises:
            TypeError: `data` is a string, not iterable, or an array of another type than integers.
            ValueError: a code unit is outside the table's width, or an array is not one-dimensional. The
                decoder's state is unchanged.
        """
        units = _code_units(data, self.table, self._offset + len(self._open))
        if self._open:
            units = np.concatenate([np.array(self._open, units.dtype), units])
        size = len(units)  # A text has at most as many items as units.
        columns = np.empty(size, np.uint8), np.empty(size, np.uint32), np.zeros(size, np.uint8)
        lengths, points, errors = columns
        count, end = self._automaton.decode(units, columns)
        if final and end < size:
            lengths[count], points[count], errors[count] = size - end, REPLACEMENT_CHARACTER, ErrorKind.INCOMPLETE
            count += 1
        for column in columns:
            column.resize(count, refcheck=False)  # In place; there are no other references yet.
        items = ItemArrays(self._offset, *columns)
        if final:
            self.reset()
        else:
            self._open, self._offset = tuple(units[end:].tolist()), self._offset + end
        return items


def decode_array(data: Iterable[int], table: EncodingTable = TABLE_3_7) -> ItemArrays:
    """The items of a whole text, equal to those of `decode`.

    Args:
        data: the code units of one text, as for `ArrayDecoder.decode`.
        table: the encoding form, within the limits of `ArrayDecoder`; default: UTF-8.

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
    return ArrayDecoder(table).decode(data, final=True)


class IncrementalArrayDecoder:
    """An `IncrementalDecoder` that returns arrays: for the same chunks the same items.

    Memory depends on the size of the chunks, not on the length of the text.

    Args:
        practice: the replacement practice, or its name; default: `MAXIMAL_SUBPARTS`.
        table: the encoding form, within the limits of `ArrayDecoder`; default: UTF-8.

    Raises:
        TableError: the table is outside these limits.
        ValueError: `practice` is unknown; or it is `MALFORMED_SEQUENCE` and the code units are not bytes.

    >>> decoder = IncrementalArrayDecoder(Practice.WHOLE_SUBSEQUENCE)
    >>> len(decoder.decode(b"\\xf0\\x80"))
    0
    >>> decoder.decode(b"\\x80A", final=True).lengths.tolist()
    [3, 1]
    """

    def __init__(self, practice: Practice | str = Practice.MAXIMAL_SUBPARTS, table: EncodingTable = TABLE_3_7) -> None:
        self.practice = Practice(practice)
        self.table = checked_for(self.practice, table)
        self.reset()

    def reset(self) -> None:
        """Discard the open sequence and the pending mark, and restart offsets at 0."""
        self._subparts = ArrayDecoder(self.table)
        self._taken = 0
        self._held = decode_array(b"", self.table)
        """The pending mark, which later units may extend."""
        self._units = np.empty(0, np.uint8)
        """For `MALFORMED_SEQUENCE`: the units from the pending mark on, or from the open sequence."""
        self._over = False
        """For `FIRST_ERROR`: whether there has been an error."""

    def decode(self, units: Iterable[int], final: bool = False) -> ItemArrays:
        """Decode one chunk of a text.

        Args:
            units: code units, as for `ArrayDecoder.decode`.
            final: the text ends after this chunk; the decoder is then reset.

        Returns:
            The items that this chunk determines.

        Raises:
            TypeError: `units` is a string, not iterable, or an array of another type than integers.
            ValueError: a code unit is outside the table's width, or an array is not one-dimensional.
                The decoder's state is unchanged.
        """
        chunk = _code_units(units, self.table, self._taken)
        items = self._filtered(self._subparts.decode(chunk, final), chunk, final)
        self._taken += len(chunk)
        if final:
            self.reset()
        return items

    def _filtered(self, items: ItemArrays, chunk: NDArray[Any], final: bool) -> ItemArrays:
        match self.practice:
            case Practice.EACH_UNIT:
                return _each_unit(items)
            case Practice.WHOLE_SUBSEQUENCE:
                return self._whole_subsequences(_joined(self._held, items), final)
            case Practice.MALFORMED_SEQUENCE:
                self._units = np.concatenate([self._units, chunk])
                return self._malformed_sequences(_joined(self._held, items), final)
            case Practice.FIRST_ERROR:
                return self._until_first_error(items)
            case _:
                return items

    def _whole_subsequences(self, items: ItemArrays, final: bool) -> ItemArrays:
        is_mark = items.errors != 0
        is_merged = np.zeros(len(items), bool)
        is_merged[1:] = is_mark[1:] & is_mark[:-1]
        return self._without_held(_merged(items, is_merged), bool(is_mark[-1:].any()) and not final)

    def _malformed_sequences(self, items: ItemArrays, final: bool) -> ItemArrays:
        if not len(items):
            return _merged(items, items.errors != 0)
        base = items.offsets[0]
        firsts = self._units.take(items.offsets - base)
        is_mark = items.errors != 0
        goes_on = is_mark & _GOES_ON.take(firsts)
        is_merged = np.zeros(len(items), bool)
        # All marks that may be extended are extended at once, by one item at each step.
        room = np.where(is_mark, _SIZES.take(firsts), 0) - items.lengths
        at = np.flatnonzero(room > 0)
        room = room.take(at)
        may_grow = False
        while len(at):
            at += 1
            if at[-1] == len(items):
                may_grow = True
                at, room = at[:-1], room[:-1]
            grows = goes_on.take(at)
            at, room = at[grows], room[grows]
            is_merged[at] = True
            room -= items.lengths.take(at)
            at, room = at[room > 0], room[room > 0]
        end = items.offsets[-1] + items.lengths[-1] - base
        following = self._units[end : end + 1]
        may_grow = may_grow and not final and bool(_GOES_ON.take(following).all())
        found = self._without_held(_merged(items, is_merged), may_grow)
        self._units = self._units[self._held.offsets[0] - base if may_grow else end :].copy()
        return found

    def _until_first_error(self, items: ItemArrays) -> ItemArrays:
        if self._over:
            return items[:0]
        marks = np.flatnonzero(items.errors)
        self._over = len(marks) > 0
        return items[: marks[0] + 1] if self._over else items

    def _without_held(self, items: ItemArrays, last_may_grow: bool) -> ItemArrays:
        count = len(items) - last_may_grow
        self._held = items[count:]
        return items[:count]


_GOES_ON = np.zeros(256, bool)
"""Whether a byte continues the sequences of RFC 2279; such a byte starts none and may follow any first byte."""
_GOES_ON[[byte for blocks in BLOCKS_BY_FIRST_BYTE.values() for block in blocks[1:] for byte in block]] = True

_SIZES = np.array([len(BLOCKS_BY_FIRST_BYTE.get(first, ())) for first in range(256)])
"""For each first byte the number of bytes of its sequence in RFC 2279, 0 where it starts none."""


class PacketDecoder:
    """A `BulkGolden` for packets of code units of 8 bits, under the practice of maximal subparts.

    A packet's end breaks an open sequence as a unit does that continues none. So all packets are decoded as one text
    in which a separator, a unit that is a sequence by itself, follows each packet. Without `causes` CPython decodes a
    text in UTF-8, unless it contains both U+FFFD and U+FFFF.

    Args:
        table: the encoding form; default: UTF-8.
        causes: the columns are `code_point`, `error` and `kind`; otherwise only the first two.

    Raises:
        TableError: see `ArrayDecoder`; or code units do not have 8 bits, or no unit is a sequence by itself.

    >>> decoder = PacketDecoder()
    >>> symbols = decoder.process(b"A\\xe2\\x82B\\xc3", [3])
    >>> symbols.columns["code_point"].tolist(), symbols.ends.tolist(), symbols.pending
    ([65, 65533, 66], [2], 1)
    """

    def __init__(self, table: EncodingTable = TABLE_3_7, *, causes: bool = False) -> None:
        self._decoder = ArrayDecoder(table)
        separators = [row for row in table.rows if len(row.units) == 1]
        if table.unit_width != 8 or not separators:
            raise TableError(f"{table.name}: packets require units of 8 bits, one of which is a sequence by itself")
        self._unit, self._point = separators[0].units[0].first, separators[0].code_points.first
        self._by_codec = table is TABLE_3_7 and not causes
        self._causes = causes
        self._rest = np.empty(0, np.uint8)

    def process(self, symbols: bytes, ends: Sequence[int]) -> BulkSymbols:
        """See `BulkGolden.process`."""
        units = np.frombuffer(symbols, np.uint8)
        at = np.asarray(ends, np.int64) + len(self._rest)
        if len(self._rest):
            units = np.concatenate([self._rest, units])
        separators = at + np.arange(len(at))
        text = np.insert(units, at, self._unit) if len(at) else units
        data = text.tobytes()
        by_codec = self._by_codec and (_MARK not in data or _OTHER not in data)
        columns, places, used = (
            self._by_codecs(data, text, separators) if by_codec else self._by_arrays(text, separators)
        )
        self._rest = text[used:]
        if len(places):
            columns = {name: np.delete(column, places) for name, column in columns.items()}
        return BulkSymbols(columns, places - np.arange(len(places)), len(self._rest))

    def _by_codecs(
        self, data: bytes, text: NDArray[np.uint8], separators: NDArray[np.int64]
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64], int]:
        """The columns, the indices of the separators in them, and the number of units used."""
        # A U+FFFD of the text, which is not an error, is another character meanwhile.
        decoded, used = codecs.utf_8_decode(data.replace(_MARK, _OTHER), "replace", False)
        points = np.frombuffer(decoded.encode("utf-32-le"), np.uint32)
        errors = points == REPLACEMENT_CHARACTER
        if _MARK in data:
            points = np.where(points == ord(_OTHER.decode()), REPLACEMENT_CHARACTER, points)
        # Each such unit is an item, so the indices of the units and of the items correspond.
        ranks = np.searchsorted(np.flatnonzero(text == self._unit), separators)
        places = np.flatnonzero(points == self._point)[ranks]
        return {"code_point": points, "error": errors}, places, used

    def _by_arrays(
        self, text: NDArray[np.uint8], separators: NDArray[np.int64]
    ) -> tuple[dict[str, NDArray[Any]], NDArray[np.int64], int]:
        self._decoder.reset()
        items = self._decoder.decode(text)
        places = np.searchsorted(items.offsets, separators)
        kinds = items.errors.copy()
        last = places[places > 0] - 1
        kinds[last[kinds[last] == ErrorKind.TRUNCATED]] = ErrorKind.INCOMPLETE
        columns: dict[str, NDArray[Any]] = {"code_point": items.code_points, "error": kinds != 0}
        if self._causes:
            columns["kind"] = kinds
        return columns, places, int(items.offsets[-1] + items.lengths[-1]) if len(items) else 0


_MARK, _OTHER = chr(REPLACEMENT_CHARACTER).encode(), "\uffff".encode()
"""U+FFFD, and a character of the same length that hardly any text contains."""


def _joined(first: ItemArrays, second: ItemArrays) -> ItemArrays:
    if not len(first):
        return second
    return ItemArrays(
        int(first.offsets[0]),
        np.concatenate([first.lengths, second.lengths]),
        np.concatenate([first.code_points, second.code_points]),
        np.concatenate([first.errors, second.errors]),
    )


def _merged(items: ItemArrays, is_merged: NDArray[np.bool_]) -> ItemArrays:
    """The items, each item of `is_merged` merged into the one before it."""
    end = items.offsets[-1:] + items.lengths[-1:]
    found = items[~is_merged]
    return ItemArrays(found.offsets, np.diff(found.offsets, append=end), found.code_points, found.errors)


def _each_unit(items: ItemArrays) -> ItemArrays:
    counts = np.where(items.errors, items.lengths, 1).astype(np.intp)
    first = int(items.offsets[0]) if len(items) else 0
    lengths: NDArray[np.uint8] = np.repeat(items.lengths, counts)
    errors = np.repeat(items.errors, counts)
    lengths[errors != 0] = 1
    return ItemArrays(first, lengths, np.repeat(items.code_points, counts), errors)


class Speed(NamedTuple):
    """The decoding speed for one text, in bytes per second of processor time.

    Attributes:
        text: the name of the text.
        bytes: its length.
        plain: the speed of `decode`.
        arrays: the speed of `decode_array`.
        codec: the speed of CPython's ``bytes.decode`` with ``errors="replace"``, which gives characters only.
        handler: its speed with an error handler that notes where the errors are.
    """

    text: str
    bytes: int
    plain: float
    arrays: float
    codec: float
    handler: float


def measure_speed(texts: Mapping[str, bytes]) -> list[Speed]:
    """Measure the speed for each of the texts, by name: the best of several runs, but of `decode` one run."""
    found = []
    for name, text in texts.items():
        plain = _seconds(lambda text: deque(decode(text), maxlen=0), text)
        arrays = min(_seconds(decode_array, text) for _ in range(5))
        codec = min(_seconds(lambda text: text.decode(errors="replace"), text) for _ in range(5))
        handler = min(_seconds(_decode_with_handler, text) for _ in range(5))
        found.append(Speed(name, len(text), *(len(text) / seconds for seconds in (plain, arrays, codec, handler))))
    return found


def _decode_with_handler(text: bytes) -> str:
    """The text as CPython decodes it with an error handler that notes the place of each error."""
    places = []

    def handler(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        places.append((error.start, error.end))
        return chr(REPLACEMENT_CHARACTER), error.end

    codecs.register_error("utf8fpga-places", handler)
    return text.decode(errors="utf8fpga-places")


def _seconds(work: Callable[[bytes], object], text: bytes) -> float:
    start = process_time()
    work(text)
    return process_time() - start


@lru_cache(maxsize=1)
def _compiled_loop() -> Callable[..., tuple[Any, Any]] | None:
    """The compiled loop; None without Numba."""
    try:
        from utf8fpga.model.array_loop import compiled_loop
    except ModuleNotFoundError as missing:
        if missing.name != "numba":
            raise
        return None
    return compiled_loop


def _code_units(data: Iterable[int], table: EncodingTable, offset: int) -> NDArray[Any]:
    """`data` as uint8 or uint16, copied only if it has another type; `offset` is the offset of the first unit."""
    kind = np.dtype(np.uint8 if table.unit_width <= 8 else np.uint16)
    try:
        units: NDArray[Any] = data if isinstance(data, np.ndarray) else np.asarray(memoryview(data))  # type: ignore[arg-type]  # it has a buffer
    except TypeError:
        if isinstance(data, str) or not isinstance(data, Iterable):
            raise not_code_units(data) from None
        return np.fromiter((checked_unit(table, unit, place) for place, unit in enumerate(data, offset)), kind)
    if units.dtype.kind not in "iu":
        raise TypeError(f"code units must be in an array of integers, not of {units.dtype}")
    if units.ndim != 1:
        raise InvalidArgumentError(f"code units must be in an array of one dimension, not {units.ndim}")
    top = (1 << table.unit_width) - 1
    if np.iinfo(units.dtype).min < 0 or np.iinfo(units.dtype).max > top:
        for place in np.flatnonzero((units < 0) | (units > top))[:1].tolist():
            checked_unit(table, int(units[place]), offset + place)  # Raises.
    return units.astype(kind, copy=False)


class _Automaton:
    """The automaton of a table as arrays.

    A state is a class of prefixes with the same continuations and the same causes of errors, which is
    finer than a state of the minimal DFA. The entry of `_after` at the sum of a state's number (0 for
    the start state) and a unit is the outcome: `OPEN` or above, the number of the next state; from 1
    to `OPEN` - 1, the cause of an ill-formed item; negative, the complement of an index in `_mappings`.

    `_code` classifies a unit in the start state: 0 for a complete sequence, the cause of an ill-formed
    item, or the number of a lead class. `_leads` maps the mappings of a unit's sequences to the number
    of its lead class.
    """

    def __init__(self, table: EncodingTable) -> None:
        pieces = unit_pieces(table)
        sizes = list(map(len, pieces))
        mappings = [_mapping_for(table, row) for row in table.rows]
        self._longest = table.longest
        self._mappings = list(dict.fromkeys(mappings))
        self._leads: dict[tuple[int, ...], int] = {}
        stride = max(1 << table.unit_width, OPEN)
        states: list[tuple[int, ...]] = [()]
        numbers: dict[object, int] = {}
        after: list[list[int]] = []
        codes: list[int] = []
        for prefix in states:
            after.append([])
            for unit in (piece.first for piece in pieces):
                sequence = (*prefix, unit)
                rows = [number for number, row in enumerate(table.rows) if starts(sequence, row.units)]
                ends = tuple(dict.fromkeys(self._mappings.index(mappings[number]) for number in rows))
                if not rows:
                    outcome = code = int(cause(table, prefix or sequence, unit))
                elif len(table.rows[rows[0]].units) == len(sequence):
                    outcome, code = ~ends[0], 0
                else:
                    key = (len(sequence), *rows, outlook(table, sequence))
                    outcome = numbers.setdefault(key, len(states) * stride)
                    if outcome == len(states) * stride:
                        states.append(sequence)
                    code = 0 if prefix else self._leads.setdefault(ends, OPEN + len(self._leads))
                after[-1].append(outcome)
                if not prefix:
                    codes.append(code)
        outcomes = np.repeat(np.array(after, np.intp), sizes, axis=1)
        self._after = np.pad(outcomes, ((0, 0), (0, stride - outcomes.shape[1]))).ravel()
        self._code = np.repeat(np.array(codes, np.min_scalar_type(max(codes))), sizes)
        self._point = np.full(1 << table.unit_width, REPLACEMENT_CHARACTER, np.uint32)
        for row in table.rows:
            if len(row.units) == 1:
                self._point[row.units[0].first : row.units[0].last + 1] = list(row.code_points)

    @staticmethod
    @lru_cache(maxsize=8)
    def of(table: EncodingTable) -> _Automaton:
        checked_table(table)
        if table.unit_width > WIDEST:
            raise TableError(f"{table.name}: code units of {table.unit_width} bits, but arrays take at most {WIDEST}")
        if table.longest > LONGEST:
            raise TableError(f"{table.name}: sequences of {table.longest} units, but arrays take at most {LONGEST}")
        return _Automaton(replace(table, self_synchronising=True))  # Raises TableError if it is not.

    def decode(self, units: NDArray[Any], columns: Columns) -> tuple[int, int]:
        """Write lengths, code points and errors of the items of `units` to `columns`, whose errors are 0 before.

        Returned are the number of items, and that of units in them: all but those of a sequence open at the end.
        """
        if len(units) >= COMPILED and (loop := _compiled_loop()):
            count, end = loop(units, *self._compiled, columns)
            return int(count), int(end)
        count = end = 0
        for after in range(BLOCK, len(units) + BLOCK, BLOCK):
            found, taken = self._decode_block(units[end:after], [column[count:] for column in columns])
            count, end = count + found, end + taken
        return count, end

    def _decode_block(self, units: NDArray[Any], columns: Sequence[NDArray[Any]]) -> tuple[int, int]:
        wide = units.astype(np.intp)  # The index type of `take`. Mode "clip" is faster than "raise"; no index clips.
        codes = self._code.take(wide, mode="clip")
        points = self._point.take(wide, mode="clip")
        end = self._end(units, codes)
        is_start = np.ones(end, bool)
        self._follow(wide, codes[:end], points, is_start)

        starts = np.flatnonzero(is_start)
        lengths, code_points, errors = (column[: len(starts)] for column in columns)
        edges = np.empty(len(starts) + 1, np.uint8)  # Modulo 256, which is sufficient for differences up to 255.
        edges[:-1], edges[-1] = starts, end % 256
        np.subtract(edges[1:], edges[:-1], out=lengths)
        points.take(starts, out=code_points, mode="clip")
        errors[:] = codes.take(starts, mode="clip")
        return len(starts), end

    @cached_property
    def _compiled(self) -> tuple[Any, ...]:
        """The arguments of the compiled loop between `units` and `columns`."""
        weights = np.zeros((len(self._mappings), self._longest), np.int64)
        for row, (values, _) in zip(weights, self._mappings, strict=True):
            row[: len(values)] = values
        constants = np.array([constant for _, constant in self._mappings], np.int64)
        return self._after, OPEN, self._code == 0, self._point, weights, constants, REPLACEMENT_CHARACTER

    def _end(self, units: NDArray[Any], codes: NDArray[Any]) -> int:
        """The start of the sequence that is open at the end of `units`; their number if none is open."""
        first = max(0, len(units) - self._longest + 1)
        leads = np.flatnonzero(codes[first:] >= OPEN)
        if not len(leads):
            return len(units)
        last = first + int(leads[-1])
        state = 0
        for unit in units[last:].tolist():
            state = int(self._after[state + unit])
            if state < OPEN:
                return len(units)
        return last

    def _follow(
        self, wide: NDArray[np.intp], codes: NDArray[Any], points: NDArray[np.uint32], is_start: NDArray[np.bool_]
    ) -> None:
        """Decode all sequences of more than one unit; those that may end with the same mapping together.

        At the start of a sequence `codes` is set to 0 or the cause, and `points` to the code point; at
        the units that continue it `is_start` is set to false.
        """
        leads = np.flatnonzero(codes >= OPEN)
        lead_codes = codes.take(leads, mode="clip")
        codes *= codes < OPEN
        for numbers, code in self._leads.items():
            chosen = leads.take(np.flatnonzero(lead_codes == code), mode="clip")
            for number in numbers if len(chosen) else ():
                weights, constant = self._mappings[number]
                at = chosen
                unit = wide.take(at, mode="clip")
                point = unit * weights[0] + constant
                state = self._after.take(unit, mode="clip")
                for step, weight in enumerate(weights[1:], 1):
                    unit = wide[step:].take(at, mode="clip")
                    point += unit * weight
                    state = self._after.take(state + unit, mode="clip")
                    goes_on = state == ~number if step == len(weights) - 1 else state >= OPEN
                    if not goes_on.all():
                        broken = np.flatnonzero((state > 0) & (state < OPEN))
                        codes[at.take(broken)] = state.take(broken)
                        kept = np.flatnonzero(goes_on)
                        at, point, state = (column.take(kept, mode="clip") for column in (at, point, state))
                    is_start[step:][at] = False
                points[at] = point.astype(np.uint32)


def _mapping_for(table: EncodingTable, row: Row) -> tuple[tuple[int, ...], int]:
    """The mapping of a row; the same for all rows of one length if they have a bit distribution."""
    try:
        pattern = table.patterns[len(row.units)]
    except TableError:
        return mapping_of(row)
    return mapping_of(Row(pattern.code_points, pattern.blocks))
