# SPDX-License-Identifier: BSD-2-Clause
"""The golden decoder over NumPy arrays, for texts of many megabytes. Needs the extra ``arrays``.

In a self-synchronising form no unit both starts a sequence and continues one, so a sequence can be
followed from the unit that opens it without knowing what came before. All are followed at once, one
unit a step; every unit that none of them took is an item of its own.

>>> from utf8fpga.model.arrays import decode_array
>>> decode_array(b"\\xe1\\x80A").offsets.tolist()
[0, 2]
"""

from __future__ import annotations

import codecs
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from time import process_time
from typing import Any, NamedTuple

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Decoder, Item, _mapping, decode
from utf8fpga.model.dfa import checked_unit
from utf8fpga.model.errors import ErrorKind, cause
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.practices import _BLOCKS, IncrementalDecoder, Practice
from utf8fpga.model.table import (
    BitPattern,
    EncodingTable,
    Range,
    Row,
    TableError,
    checked_table,
)

try:
    import numpy as np
    from numpy.typing import NDArray
except ModuleNotFoundError as missing:
    if missing.name != "numpy":
        raise
    raise ModuleNotFoundError("numpy is not installed: pip install 'utf8fpga[arrays]'", name="numpy") from None

__all__ = ["ArrayDecoder", "IncrementalArrayDecoder", "ItemArrays", "Speed", "decode_array", "measure_speed"]

WIDEST = 16
"""Bits in a code unit, so that a state can have an entry for each."""
LONGEST = (1 << 8) - 1
"""Code units in a sequence, so that a length fits in a byte."""
BLOCK = 1 << 18
"""Code units looked at together: few enough for what is made of them to stay in the cache."""
LAST_OFFSET = (1 << 63) - 1
"""Of the items, in code units."""
OPEN = max(ErrorKind) + 1
"""The least number of a state in which a sequence is open; below it are the codes of the causes."""


@dataclass(frozen=True, eq=False, slots=True)
class ItemArrays:
    """Items in order, one array for each attribute of `Item`.

    ``len`` is the number of items, and iterating gives them one by one, equal to those of `decode`.

    Attributes:
        offsets: int64; where the item starts, in code units from the start of the text.
        lengths: uint8; its code units. int64 where marks are merged.
        code_points: uint32; its code point, U+FFFD where ill-formed.
        errors: uint8; the code of its `ErrorKind`, 0 for none.
    """

    offsets: NDArray[np.int64]
    lengths: NDArray[np.uint8] | NDArray[np.int64]
    code_points: NDArray[np.uint32]
    errors: NDArray[np.uint8]

    @classmethod
    def _empty(cls, size: int) -> ItemArrays:
        return cls(
            np.empty(size, np.int64), np.empty(size, np.uint8), np.empty(size, np.uint32), np.empty(size, np.uint8)
        )

    @property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.offsets, self.lengths, self.code_points, self.errors

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, which: slice | NDArray[Any]) -> ItemArrays:
        """Some of the items: a slice, those at an array of places, or those where an array of bool is true."""
        return ItemArrays(*(column[which] for column in self._columns))

    def __iter__(self) -> Iterator[Item]:
        for first in range(0, len(self), BLOCK):
            part = (column[first : first + BLOCK].tolist() for column in self._columns)
            for offset, length, point, code in zip(*part, strict=True):
                yield Item(offset, length, point, ErrorKind(code) if code else None)


class ArrayDecoder:
    """A `Decoder` that gives arrays: for the same chunks the same items.

    Memory does not grow with the text: 14 bytes for each code unit of the chunk, given back down to
    its items, and some megabytes besides. So a file of any size is decoded in chunks of a mebibyte.

    Args:
        table: the encoding form, UTF-8 unless given: self-synchronising, with code units of at
            most 16 bits and sequences of at most 255 units.

    Raises:
        TableError: the table is outside these limits.

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
        """Forget the open sequence and count offsets from 0 again."""
        self._open: tuple[int, ...] = ()
        self._offset = 0

    def getstate(self) -> tuple[tuple[int, ...], int]:
        """The code units of the open sequence, and the offset of the first of them, as `Decoder.getstate`."""
        return self._open, self._offset

    def setstate(self, state: tuple[Iterable[int], int]) -> None:
        """Go on from what `getstate` gave, here or in a `Decoder`.

        Raises:
            ValueError: the units do not start a sequence of the table, or the offset is negative or
                does not fit in 63 bits.
        """
        checked = Decoder(self.table)
        checked.setstate(state)
        units, offset = checked.getstate()
        if offset > LAST_OFFSET:
            raise InvalidArgumentError(
                f"offset {offset} in the state is above {LAST_OFFSET}, the last that arrays hold"
            )
        self._open, self._offset = units, offset

    def decode(self, data: Iterable[int], final: bool = False) -> ItemArrays:
        """The items that this chunk completes.

        Args:
            data: code units, each of the table's width: any bytes-like object, or an array of any
                integers in one dimension. Any other iterable will do, but is read one by one.
            final: the text ends after this chunk; the decoder then starts anew.

        Raises:
            TypeError: `data` is text, no iterable at all, or an array of something else.
            ValueError: a code unit is outside the table's width, an array has not one dimension, or
                the text goes on to an offset that does not fit in 63 bits. The decoder is as it was
                before.
        """
        units = _code_units(data, self.table, self._offset + len(self._open))
        if (last := self._offset + len(self._open) + len(units) - 1) > LAST_OFFSET:
            raise InvalidArgumentError(
                f"the text goes on to offset {last}, above {LAST_OFFSET}, the last that arrays hold"
            )
        if self._open:
            units = np.concatenate([np.array(self._open, units.dtype), units])
        items = ItemArrays._empty(len(units))  # no text has more items than units
        count = end = 0
        for after in range(BLOCK, len(units) + BLOCK, BLOCK):
            found, taken = self._automaton.decode(units[end:after], self._offset + end, items, count)
            count, end = count + found, end + taken
        if final and end < len(units):
            for column, value in zip(
                items._columns,
                (self._offset + end, len(units) - end, REPLACEMENT_CHARACTER, ErrorKind.INCOMPLETE),
                strict=True,
            ):
                column[count] = value
            count += 1
        for column in items._columns:
            column.resize(count, refcheck=False)  # no copy, and nobody else has seen them yet
        if final:
            self.reset()
        else:
            self._open, self._offset = tuple(units[end:].tolist()), self._offset + end
        return items


def decode_array(data: Iterable[int], table: EncodingTable = TABLE_3_7) -> ItemArrays:
    """The items of a whole text, the same as those of `decode`.

    Args:
        data: the code units of one text, as for `ArrayDecoder.decode`.
        table: the encoding form, within the limits of `ArrayDecoder`.

    Raises:
        TableError: the table is outside these limits.
        TypeError: `data` is text, no iterable at all, or an array of something else than integers.
        ValueError: a code unit is outside the table's width, or an array has not one dimension.

    >>> items = decode_array(b"n\\xc3\\xa9\\xff")
    >>> items.code_points.tolist() == [0x6E, 0xE9, 0xFFFD]
    True
    >>> items.errors.tolist()
    [0, 0, 2]
    """
    return ArrayDecoder(table).decode(data, final=True)


class IncrementalArrayDecoder:
    """An `IncrementalDecoder` that gives arrays: for the same chunks the same items.

    All practices are computed over whole arrays except `START_OF_A_SEQUENCE`, which has the speed of
    `IncrementalDecoder`. Memory does not grow with the text.

    Args:
        practice: which marks to make.
        table: the encoding form, within the limits of `ArrayDecoder`.

    Raises:
        TableError: the table is outside these limits.
        ValueError: `practice` is none; or malformed sequences are specified and the code units are
            not bytes.

    >>> decoder = IncrementalArrayDecoder(Practice.WHOLE_SUBSEQUENCE)
    >>> len(decoder.decode(b"\\xf0\\x80"))
    0
    >>> decoder.decode(b"\\x80A", final=True).lengths.tolist()
    [3, 1]
    """

    def __init__(self, practice: Practice = Practice.MAXIMAL_SUBPARTS, table: EncodingTable = TABLE_3_7) -> None:
        self.practice = Practice(practice)
        self.table = table
        self.reset()

    def reset(self) -> None:
        """Forget the open sequence and the mark that may still grow, and count offsets from 0 again."""
        self._plain = IncrementalDecoder(self.practice, self.table)
        self._subparts = ArrayDecoder(self.table)
        self._taken = 0
        self._held = _arrays([])
        """The mark that may still grow."""
        self._units = np.empty(0, np.uint8)
        """For `MALFORMED_SEQUENCE`: the units from that mark on, or from the open sequence."""
        self._over = False
        """For `FIRST_ERROR`: there was one."""

    def decode(self, units: Iterable[int], final: bool = False) -> ItemArrays:
        """The items that this chunk determines.

        Args:
            units: code units, as for `ArrayDecoder.decode`.
            final: the text ends after this chunk; the decoder then starts anew.

        Raises:
            TypeError: `units` is text, no iterable at all, or an array of something else.
            ValueError: a code unit is outside the table's width, or an array has not one dimension.
                The decoder is as it was before.
        """
        chunk = _code_units(units, self.table, self._taken)
        if self.practice is Practice.START_OF_A_SEQUENCE:
            items = self._starts_of_sequences(chunk, final)
        else:
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

    def _starts_of_sequences(self, chunk: NDArray[Any], final: bool) -> ItemArrays:
        units = chunk.tobytes() if chunk.dtype == np.uint8 else chunk.tolist()
        parts = []  # since an `Item` takes ten times the memory of its place in the arrays
        for first in range(0, max(len(units), 1), _PLAIN):
            last = first + _PLAIN >= len(units)
            parts.append(_arrays(self._plain.decode(units[first : first + _PLAIN], final and last))._columns)
        return ItemArrays(*map(np.concatenate, zip(*parts, strict=True)))

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
        # All marks with room for more grow at once, a mark a step.
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


_PLAIN = 1 << 14
"""Code units decoded at once by `IncrementalDecoder`."""

_GOES_ON = np.zeros(256, bool)
"""Whether a byte continues some sequence of RFC 2279. A byte that does starts none, and continues all alike."""
_GOES_ON[[byte for blocks in _BLOCKS.values() for block in blocks[1:] for byte in block]] = True

_SIZES = np.array([len(_BLOCKS.get(first, ())) for first in range(256)])
"""By first byte the number of bytes of such a sequence."""


def _arrays(items: Sequence[Item]) -> ItemArrays:
    columns = [np.fromiter(map(itemgetter(place), items), np.int64, len(items)) for place in range(3)]
    errors = np.fromiter((item.error or 0 for item in items), np.uint8, len(items))
    return ItemArrays(columns[0], columns[1].astype(np.uint8), columns[2].astype(np.uint32), errors)


def _joined(first: ItemArrays, second: ItemArrays) -> ItemArrays:
    pairs = zip(first._columns, second._columns, strict=True)
    return ItemArrays(*map(np.concatenate, pairs)) if len(first) else second


def _merged(items: ItemArrays, is_merged: NDArray[np.bool_]) -> ItemArrays:
    """The items, each with those after it that are merged into it."""
    end = items.offsets[-1:] + items.lengths[-1:]
    found = items[~is_merged]
    return ItemArrays(found.offsets, np.diff(found.offsets, append=end), found.code_points, found.errors)


def _each_unit(items: ItemArrays) -> ItemArrays:
    counts = np.where(items.errors, items.lengths, 1).astype(np.intp)
    found = items[np.repeat(np.arange(len(items)), counts)]
    # In an item that is repeated: how many of it came before.
    found.offsets[:] += np.arange(len(found)) - np.repeat(np.cumsum(counts) - counts, counts)
    found.lengths[found.errors != 0] = 1
    return found


class Speed(NamedTuple):
    """How fast one text was decoded, in code units a second of processor time.

    Attributes:
        text: what the text is.
        plain: `decode`.
        arrays: `decode_array`.
        codec: ``bytes.decode`` with an error handler that notes where each ill-formed item is.
    """

    text: str
    plain: float
    arrays: float
    codec: float

    def __str__(self) -> str:
        return (
            f"{self.text}: {self.arrays / 1e6:.0f} MB/s, {self.arrays / self.plain:.0f} times decode, "
            f"{self.arrays / self.codec:.1f} times bytes.decode"
        )


MIXED = "Many scripts, one text: naïve Ελλάδα, мир и 漢字, שלום, 日本語 한국어, 𐍈 😀 ✓. "
"""More than half of it ASCII, and sequences of every length: what mixed text is drawn from."""


def measure_speed(size: int = 10_000_000) -> list[Speed]:
    """Measure on `size` bytes of mixed text and of noise, always the same (a quarter of a minute for ten million)."""
    draw = random.Random(0)
    texts = {"mixed": "".join(draw.choices(MIXED, k=size)).encode()[:size], "noise": draw.randbytes(size)}
    spans: list[tuple[int, int]] = []

    def note(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        spans.append((error.start, error.end))
        return chr(REPLACEMENT_CHARACTER), error.end

    def by_codec(text: bytes) -> str:
        spans.clear()
        return text.decode("utf-8", "utf8fpga.note")

    codecs.register_error("utf8fpga.note", note)
    found = []
    for name, text in texts.items():
        plain = _seconds(lambda text: deque(decode(text), maxlen=0), text)
        arrays = min(_seconds(decode_array, text) for _ in range(5))
        codec = min(_seconds(by_codec, text) for _ in range(2))
        found.append(Speed(name, size / plain, size / arrays, size / codec))
    return found


def _seconds(work: Callable[[bytes], object], text: bytes) -> float:
    start = process_time()
    work(text)
    return process_time() - start


def _code_units(data: Iterable[int], table: EncodingTable, offset: int) -> NDArray[Any]:
    """`data` as uint8 or uint16, not copied if it is that already; `offset` is that of the first unit."""
    wanted = np.dtype(np.uint8 if table.unit_width <= 8 else np.uint16)
    try:
        units: NDArray[Any] = data if isinstance(data, np.ndarray) else np.asarray(memoryview(data))  # type: ignore[arg-type]  # it has a buffer
    except TypeError:
        if isinstance(data, str) or not isinstance(data, Iterable):
            kind = type(data).__name__
            raise TypeError(f"code units are wanted, such as bytes, not {kind}: encode makes them of text") from None
        return np.fromiter((checked_unit(table, unit, place) for place, unit in enumerate(data, offset)), wanted)
    if units.dtype.kind not in "iu":
        raise TypeError(f"code units are wanted in an array of integers, not of {units.dtype}")
    if units.ndim != 1:
        raise InvalidArgumentError(f"code units are wanted in an array of one dimension, not {units.ndim}")
    top = (1 << table.unit_width) - 1
    if np.iinfo(units.dtype).min < 0 or np.iinfo(units.dtype).max > top:
        for place in np.flatnonzero((units < 0) | (units > top))[:1].tolist():
            checked_unit(table, int(units[place]), offset + place)  # raises
    return units.astype(wanted, copy=False)


class _Automaton:
    """Rows → arrays.

    The states are prefixes of sequences, told apart by what may follow and by the causes that it
    would have: more than the minimal DFA knows. In `_after`, at the sum of a state's number (0 at
    the start) and a unit, stands what comes of it: from `OPEN` on the number of the next state;
    above 0 the cause of an ill-formed item; below 0 the complement of the place in `_mappings`.

    `_code` says what a unit is at the start: 0 complete, the cause of an item of its own, or the
    number of its kind of lead; `_leads` gives that number for the mappings that its sequences have.
    """

    def __init__(self, table: EncodingTable) -> None:
        pieces = _Pieces(table)
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
            for unit in pieces.firsts:
                sequence = (*prefix, unit)
                rows = [number for number, row in enumerate(table.rows) if _starts(sequence, row.units)]
                ends = tuple(dict.fromkeys(self._mappings.index(mappings[number]) for number in rows))
                if not rows:
                    outcome = code = int(cause(table, prefix or sequence, unit))
                elif len(table.rows[rows[0]].units) == len(sequence):
                    outcome, code = ~ends[0], 0
                else:
                    outcome = numbers.setdefault(pieces.future(sequence), len(states) * stride)
                    if outcome == len(states) * stride:
                        states.append(sequence)
                    code = 0 if prefix else self._leads.setdefault(ends, OPEN + len(self._leads))
                after[-1].append(outcome)
                if not prefix:
                    codes.append(code)
        outcomes = np.repeat(np.array(after, np.intp), pieces.sizes, axis=1)
        self._after = np.pad(outcomes, ((0, 0), (0, stride - outcomes.shape[1]))).ravel()
        self._code = np.repeat(np.array(codes, np.min_scalar_type(max(codes))), pieces.sizes)
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
        return _Automaton(replace(table, self_synchronising=True))  # checks it

    def decode(self, units: NDArray[Any], base: int, items: ItemArrays, count: int) -> tuple[int, int]:
        """Write the items of `units`, the first at `base` in the text, from place `count` on.

        Returns:
            How many items, and of how many units: all but those of a sequence open at the end.
        """
        wide = units.astype(np.intp)  # what `take` wants; "clip" clips nothing, but "raise" is slower
        codes = self._code.take(wide, mode="clip")
        points = self._point.take(wide, mode="clip")
        end = self._end(units, codes)
        is_start = np.ones(end, bool)
        self._follow(wide, codes[:end], points, is_start)

        starts = np.flatnonzero(is_start)
        places = slice(count, count + len(starts))
        np.add(starts, base, out=items.offsets[places])
        edges = np.empty(len(starts) + 1, np.uint8)  # modulo 256, and so are the differences, which are smaller
        edges[:-1], edges[-1] = starts, end % 256
        np.subtract(edges[1:], edges[:-1], out=items.lengths[places])
        points.take(starts, out=items.code_points[places], mode="clip")
        items.errors[places] = codes.take(starts, mode="clip")
        return len(starts), end

    def _end(self, units: NDArray[Any], codes: NDArray[Any]) -> int:
        """Where the sequence starts that is open at the end, or the end."""
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
        """Follow all sequences, those that may end with the same mapping together, and put down what comes of them.

        `codes` becomes 0 or the cause, and `points` the code point, where a sequence starts;
        `is_start` becomes false where it goes on.
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


class _Pieces:
    """Code units that neither rows nor causes tell apart, as ranges from each of `firsts` to the next.

    A cause depends on where the code points that a prefix leads to lie among the bounds of the rows
    and of the bit distributions, so the units of those bounds are pieces of their own.
    """

    def __init__(self, table: EncodingTable) -> None:
        self._table = table
        self._patterns = _patterns(table).values()
        known = [row.code_points for row in table.rows] + [pattern.code_points for pattern in self._patterns]
        self._bounds = sorted({bound for points in known for bound in (points.first, points.last + 1)})
        ranges = [allowed for row in table.rows for allowed in row.units]
        for pattern in self._patterns:
            ranges += pattern.blocks
            for bound in self._bounds:
                if bound in pattern.code_points:
                    ranges += _units_of(pattern, bound)
        edges = sorted({0, 1 << table.unit_width}.union(*((r.first, r.last + 1) for r in ranges)))
        self.firsts = edges[:-1]
        self.sizes = np.diff(edges)

    def future(self, prefix: tuple[int, ...]) -> object:
        """Equal for prefixes that the same units continue, complete and break, for the same causes."""
        rows = [number for number, row in enumerate(self._table.rows) if _starts(prefix, row.units)]
        places = [self._place(p.reachable(prefix)) if p.matches(prefix) else None for p in self._patterns]
        return len(prefix), *rows, *places

    def _place(self, points: Range) -> tuple[int, int]:
        first, last = bisect_right(self._bounds, points.first), bisect_right(self._bounds, points.last)
        return (first, last) if first == last else (points.first, points.last)


def _starts(prefix: tuple[int, ...], units: tuple[Range, ...]) -> bool:
    return len(prefix) <= len(units) and all(unit in allowed for unit, allowed in zip(prefix, units, strict=False))


def _patterns(table: EncodingTable) -> dict[int, BitPattern]:
    try:
        return table.patterns
    except TableError:
        return {}


def _mapping_for(table: EncodingTable, row: Row) -> tuple[tuple[int, ...], int]:
    """The mapping of a row, and the same for all rows of its length if these have a bit distribution."""
    pattern = _patterns(table).get(len(row.units))
    return _mapping(Row(pattern.code_points, pattern.blocks) if pattern else row)


def _units_of(pattern: BitPattern, point: int) -> list[Range]:
    payload, units = point - pattern.base, []
    for block in reversed(pattern.blocks):
        payload, digit = divmod(payload, len(block))
        units.append(Range(block.first + digit, block.first + digit))
    return units
