# SPDX-License-Identifier: BSD-2-Clause
"""Replacement practices: how ill-formed code units are divided into items with U+FFFD.

A *mark* is an ill-formed item, which is one U+FFFD in the output. The standard defines which code
units are ill-formed (D84a), but not the number of marks for them (section 3.9, "Constraints on
Conversion Processes"). All practices give the same well-formed items and, except `FIRST_ERROR`,
cover the text without gaps; they differ only in the marks.

All but `START_OF_A_SEQUENCE` are filters over the items of `decode`, which split, merge or drop
marks. A filter stores at most one mark, so memory is bounded for a text of any length.
`IncrementalDecoder` applies a practice to a text in chunks, `decode_with` to a whole text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import chain, islice, tee
from operator import mul
from typing import Protocol

from utf8fpga.model.decoder import (
    REPLACEMENT_CHARACTER,
    Decoder,
    Item,
    _causes,
    _code_units,
    _item,
    _mapping,
)
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import RFC_2279, TABLE_3_7
from utf8fpga.model.table import EncodingTable, Range

__all__ = [
    "IncrementalDecoder",
    "Practice",
    "decode_with",
    "each_unit",
    "malformed_sequences",
    "until_first_error",
    "whole_subsequences",
]


class Practice(StrEnum):
    """The replacement practice: which ill-formed code units form one mark.

    The value is the name on the command line.
    """

    MAXIMAL_SUBPARTS = "maximal-subparts"
    """One mark for each maximal subpart (D93b), the W3C Encoding practice; `decode` implements it."""
    START_OF_A_SEQUENCE = "start-of-a-sequence"
    """The wording of L2/08-150: one mark for a unit that cannot start a minimal well-formed
    subsequence, else one for the longest prefix of some such subsequence. The marks are those of
    `MAXIMAL_SUBPARTS`, determined without the DFA."""
    EACH_UNIT = "each-unit"
    """One mark for each code unit of an ill-formed subsequence."""
    WHOLE_SUBSEQUENCE = "whole-subsequence"
    """One mark for each ill-formed subsequence (D84a) of maximal length: all units between two
    minimal well-formed subsequences."""
    MALFORMED_SEQUENCE = "malformed-sequence"
    """One mark for each of Kuhn's "malformed sequences": see `malformed_sequences`."""
    FIRST_ERROR = "first-error"
    """One mark, for the first maximal subpart; the rest of the text is not decoded."""

    @classmethod
    def _missing_(cls, value: object) -> Practice:
        raise InvalidArgumentError(f"{value!r} is not one of {', '.join(cls)}")


def decode_with(data: Iterable[int], practice: Practice, table: EncodingTable = TABLE_3_7) -> Iterator[Item]:
    """Decode a whole text with a replacement practice.

    `data` is read on demand, so it may be a stream. A mark that merges maximal subparts may be
    longer than the table's longest sequence; its cause is that of the first of them, at which a
    converter first detects the error. A mark that is part of a maximal subpart has the cause of
    that subpart.

    Args:
        data: the code units of one text; for UTF-8 any bytes-like object.
        practice: the replacement practice.
        table: the encoding form; default: UTF-8.

    Returns:
        The items, in order.

    Raises:
        TypeError: `data` is a string or not iterable.
        ValueError: `practice` is not a `Practice`; a code unit is outside the table's width; or
            `practice` is `MALFORMED_SEQUENCE` and the code units are not bytes.

    >>> for practice in Practice:
    ...     print(" ".join(f"{item.code_point:04X}" for item in decode_with(b"\\xf0\\x80\\x80A\\xe1\\x80", practice)))
    FFFD FFFD FFFD 0041 FFFD
    FFFD FFFD FFFD 0041 FFFD
    FFFD FFFD FFFD 0041 FFFD FFFD
    FFFD 0041 FFFD
    FFFD 0041 FFFD
    FFFD
    """
    marks = _marks(practice, table)
    return marks.items(_code_units(data, table, 0), final=True)


class IncrementalDecoder:
    """A `Decoder` for any practice: `decode_with` for a text in chunks.

    For any division of the text into chunks the items are those of `decode_with`. Each is returned with
    the first chunk whose units determine it; a mark that later units may extend is not yet determined.
    With `FIRST_ERROR` no item follows the first mark until the end of the text.

    Args:
        practice: the replacement practice; default: `MAXIMAL_SUBPARTS`.
        table: the encoding form; default: UTF-8.

    Raises:
        TypeError: `table` is not an `EncodingTable`.
        ValueError: `practice` is not a `Practice`; or it is `MALFORMED_SEQUENCE` and the code units
            are not bytes.

    >>> decoder = IncrementalDecoder(Practice.WHOLE_SUBSEQUENCE)
    >>> decoder.decode(b"\\xf0\\x80")
    []
    >>> [str(item) for item in decoder.decode(b"\\x80A")]
    ['0+3 U+FFFD OVERLONG', '3+1 U+0041']
    """

    def __init__(self, practice: Practice = Practice.MAXIMAL_SUBPARTS, table: EncodingTable = TABLE_3_7) -> None:
        self.practice = Practice(practice)
        self.table = table
        self.reset()

    def reset(self) -> None:
        """Discard the open sequence and the pending mark, and restart offsets at 0."""
        self._marks = _marks(self.practice, self.table)
        self._taken = 0

    def decode(self, units: Iterable[int], final: bool = False) -> list[Item]:
        """Decode one chunk of a text.

        Args:
            units: code units, each of the table's width; for UTF-8 any bytes-like object.
            final: the text ends after this chunk; the decoder is then reset.

        Returns:
            The items that this chunk determines, in order.

        Raises:
            TypeError: `units` is a string or not iterable.
            ValueError: a code unit is outside the table's width. The decoder's state is unchanged.
        """
        checked = _code_units(units, self.table, self._taken)
        chunk = bytes(checked) if isinstance(checked, bytearray | memoryview) else checked
        if not isinstance(chunk, bytes):
            chunk = tuple(chunk)
        items = list(self._marks.items(chunk, final))
        self._taken += len(chunk)
        if final:
            self.reset()
        return items


def each_unit(items: Iterable[Item]) -> Iterator[Item]:
    """The items with each mark split into one per code unit, all with the cause of the original mark."""
    for item in items:
        if item.error is None:
            yield item
        else:
            for offset in range(item.offset, item.offset + item.length):
                yield _item((offset, 1, item.code_point, item.error))


def whole_subsequences(items: Iterable[Item]) -> Iterator[Item]:
    """The items with adjacent marks merged into one, which has the cause of the first.

    A mark is yielded when the next well-formed item or the end of the text determines its length.
    """
    return _Merger().merged(items, final=True)


def until_first_error(items: Iterable[Item]) -> Iterator[Item]:
    """The items up to and including the first mark."""
    for item in items:
        yield item
        if item.error is not None:
            return


def malformed_sequences(items: Iterable[Item], units: Iterable[int]) -> Iterator[Item]:
    """The items with one mark for each of Kuhn's "malformed sequences", which has the cause of its first mark.

    According to Andersen's comment in L2/08-150 an overlong sequence, a sequence for a surrogate and
    one beyond U+10FFFF are a single malformed sequence each. For cases that the comment does not
    cover, this function follows Kuhn's stress test, to which it refers. A first byte of the bit
    distribution of RFC 2279, shortest form or not, opens a sequence of one to six bytes:

    - A complete sequence that is in no row of the table is one mark (F0 80 80 80, ED A0 80,
      FC 80 80 80 80 80).
    - A sequence cut off by the end of the text, or by a byte that is not a continuation byte, is one
      mark for the bytes present (E0 80, F8 88 80 before 41); that byte is then processed by itself.
    - A surrogate pair as six bytes is two malformed sequences, one for each surrogate.
    - A continuation byte beyond the length that the first byte determines, or while no sequence is
      open, is one mark.
    - FE and FF do not open a sequence and are one mark each.

    Args:
        items: the items of a text of bytes, with a mark for each maximal subpart.
        units: the bytes of the same text; only the bytes that the items cover are read.
    """
    return _Kuhn().merged(items, units, final=True)


_BLOCKS: dict[int, tuple[Range, ...]] = {
    lead: pattern.blocks for pattern in RFC_2279.patterns.values() for lead in pattern.blocks[0]
}
"""For each first byte of RFC 2279's bit distribution the ranges of the bytes of its sequence, one per position."""


class _Merger:
    """`whole_subsequences` for items in several parts."""

    def __init__(self) -> None:
        self._held: Item | None = None
        self._length = 0

    def merged(self, items: Iterable[Item], final: bool) -> Iterator[Item]:
        for item in items:
            if item.error is None:
                if self._held:
                    yield self._mark(self._held)
                yield item
            elif self._held:
                self._length += item.length
            else:
                self._held, self._length = item, item.length
        if final and self._held:
            yield self._mark(self._held)

    def _mark(self, first: Item) -> Item:
        self._held = None
        return _item((first.offset, self._length, first.code_point, first.error))


class _Kuhn:
    """`malformed_sequences` for items in several parts; units may extend beyond the items."""

    def __init__(self) -> None:
        self._held: Item | None = None
        self._length = 0
        self._blocks: Sequence[Range] = ()
        """The ranges of the sequence that the pending mark starts; more of them than the mark has units."""

    def merged(self, items: Iterable[Item], units: Iterable[int], final: bool) -> Iterator[Item]:
        source = iter(units)
        for item in items:
            first = next(source)
            if item.length > 1:
                deque(islice(source, item.length - 1), maxlen=0)
            if item.error is None:
                if self._held:
                    yield self._mark(self._held)
                yield item
                continue
            if self._held and first in self._blocks[self._length]:
                self._length += item.length
            else:
                if self._held:
                    yield self._mark(self._held)
                self._held, self._length, self._blocks = item, item.length, _BLOCKS.get(first, ())
            if self._length >= len(self._blocks):
                yield self._mark(self._held)
        if self._held:
            following = next(source, None)
            if final or (following is not None and following not in self._blocks[self._length]):
                yield self._mark(self._held)

    def _mark(self, first: Item) -> Item:
        self._held = None
        return _item((first.offset, self._length, first.code_point, first.error))


class _Marks(Protocol):
    """The items of a text under a practice."""

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        """Yield each item as soon as the next units determine it; `final` at the end of the text."""


class _Subparts:
    def __init__(self, table: EncodingTable) -> None:
        self._decoder = Decoder(table)

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        return self._decoder._items(units, final)


class _EachUnit(_Subparts):
    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        return each_unit(super().items(units, final))


class _WholeSubsequences(_Subparts):
    def __init__(self, table: EncodingTable) -> None:
        super().__init__(table)
        self._merger = _Merger()

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        return self._merger.merged(super().items(units, final), final)


class _MalformedSequences(_Subparts):
    def __init__(self, table: EncodingTable) -> None:
        if table.unit_width != 8:
            raise InvalidArgumentError(
                f"{table.name} has code units of {table.unit_width} bits: malformed sequences are of bytes"
            )
        super().__init__(table)
        self._kuhn = _Kuhn()

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        open_units, _ = self._decoder.getstate()
        units, same_units = tee(units)
        return self._kuhn.merged(super().items(units, final), chain(open_units, same_units), final)


class _FirstError(_Subparts):
    def __init__(self, table: EncodingTable) -> None:
        super().__init__(table)
        self._over = False

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        for item in until_first_error(super().items(units, final) if not self._over else ()):
            self._over = item.error is not None
            yield item


class _StartsOfSequences:
    """The two rules of L2/08-150, evaluated on the rows, independently of the DFA and of `Decoder`."""

    def __init__(self, table: EncodingTable) -> None:
        self._table = table
        self._start: tuple[int, ...] = ()
        """The units of the open sequence: a proper prefix of some sequence."""
        self._rows: Sequence[_RowOfRanges] = ()
        """The rows with sequences of that prefix."""
        self._offset = 0

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        rows_of, error_of = _rows_by_first_unit(self._table), _causes(self._table)
        start, rows, offset = self._start, self._rows, self._offset
        for unit in units:
            if start:
                place = len(start)
                rows = [pair for pair in rows if unit in pair[0][place]]
                if not rows:
                    yield _item((offset, place, REPLACEMENT_CHARACTER, error_of(start, unit)))
                    offset += place
                    start = ()
            if not start:
                rows = rows_of(unit)
                if not rows:
                    yield _item((offset, 1, REPLACEMENT_CHARACTER, error_of((unit,), None)))
                    offset += 1
                    continue
            start += (unit,)
            ranges, (weights, constant) = rows[0]
            if len(ranges) == len(start):  # No sequence is a prefix of another, so no other row continues.
                yield _item((offset, len(start), sum(map(mul, weights, start), constant), None))
                offset += len(start)
                start = ()
        if final and start:
            yield Item(offset, len(start), REPLACEMENT_CHARACTER, error_of(start, None))
        self._start, self._rows, self._offset = start, rows, offset


_RowOfRanges = tuple[tuple[range, ...], tuple[tuple[int, ...], int]]
"""The code units of a row as ranges, and its mapping to code points as weights and a constant."""


@lru_cache(maxsize=32)
def _rows_by_first_unit(table: EncodingTable) -> Callable[[int], tuple[_RowOfRanges, ...]]:
    """A function from a unit to the rows whose sequences it starts."""
    rows = [
        (tuple(range(allowed.first, allowed.last + 1) for allowed in row.units), _mapping(row)) for row in table.rows
    ]
    return lru_cache(maxsize=1 << 16)(lambda unit: tuple(pair for pair in rows if unit in pair[0][0]))


_MARKS: Mapping[Practice, Callable[[EncodingTable], _Marks]] = {
    Practice.MAXIMAL_SUBPARTS: _Subparts,
    Practice.START_OF_A_SEQUENCE: _StartsOfSequences,
    Practice.EACH_UNIT: _EachUnit,
    Practice.WHOLE_SUBSEQUENCE: _WholeSubsequences,
    Practice.MALFORMED_SEQUENCE: _MalformedSequences,
    Practice.FIRST_ERROR: _FirstError,
}


def _marks(practice: Practice, table: EncodingTable) -> _Marks:
    Decoder(table)  # Raises TypeError for anything but an EncodingTable.
    return _MARKS[Practice(practice)](table)
