# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of ill-formed input, as a choice.

The standard fixes which code units are ill-formed (D84a), not how many marks stand for them
(section 3.9, "Constraints on Conversion Processes"). All practices here give the same items for
what is well-formed and cover the text without gaps; they differ in the marks alone.

All but one are filters over the items of `decode`: they split, merge or drop marks, and keep at most
one mark, so a text of any length passes through in bounded memory. `IncrementalDecoder` applies them
to a text that arrives in chunks, `decode_with` to a whole text.
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
    """How many marks stand for ill-formed code units.

    The value is the name for a command line.
    """

    MAXIMAL_SUBPARTS = "maximal-subparts"
    """One for each maximal subpart (D93b), the W3C Encoding practice: what `decode` does."""
    START_OF_A_SEQUENCE = "start-of-a-sequence"
    """The wording of L2/08-150: one for a unit that can start no minimal well-formed subsequence,
    else one for the longest sequence that is at the start of some. The same marks as
    `MAXIMAL_SUBPARTS`, found without the DFA."""
    EACH_UNIT = "each-unit"
    """One for each code unit of an ill-formed subsequence."""
    WHOLE_SUBSEQUENCE = "whole-subsequence"
    """One for each ill-formed subsequence (D84a), taken as long as it can be: all units between
    two minimal well-formed subsequences."""
    MALFORMED_SEQUENCE = "malformed-sequence"
    """One for each of Kuhn's "malformed sequences": see `malformed_sequences`."""
    FIRST_ERROR = "first-error"
    """One, for the first maximal subpart; nothing after it is decoded."""

    @classmethod
    def _missing_(cls, value: object) -> Practice:
        raise InvalidArgumentError(f"{value!r} is not a valid {cls.__name__}")


def decode_with(data: Iterable[int], practice: Practice, table: EncodingTable = TABLE_3_7) -> Iterator[Item]:
    """The items of a whole text under a practice, in order.

    `data` is read as the items are asked for, so it may be a stream. A mark that merges maximal
    subparts is an item longer than the table's longest sequence may be; its cause is that of the
    first of them, the one at which a converter first knows that something is wrong. A mark that
    is part of a maximal subpart has the cause of that subpart.

    Args:
        data: the code units of one text; for UTF-8 any bytes-like object.
        practice: which marks to make.
        table: the encoding form.

    Raises:
        TypeError: `data` is text or no iterable at all.
        ValueError: `practice` is none; a code unit is outside the table's width; or malformed
            sequences are asked for and the code units are not bytes.

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
    """A `Decoder` for any practice: `decode_with` for a text that arrives in chunks.

    However the text is divided into chunks, the items are those of `decode_with`. Each is returned with
    the first chunk whose units determine it; a mark that the units after it may make longer is not
    determined yet. Under `FIRST_ERROR` no item follows the first mark until the text ends.

    Args:
        practice: which marks to make.
        table: the encoding form.

    Raises:
        TypeError: `table` is no table.
        ValueError: `practice` is none; or malformed sequences are specified and the code units are
            not bytes.

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
        """Forget the open sequence and the mark that may still grow, and count offsets from 0 again."""
        self._marks = _marks(self.practice, self.table)
        self._taken = 0

    def decode(self, units: Iterable[int], final: bool = False) -> list[Item]:
        """The items that this chunk determines.

        Args:
            units: code units, each of the table's width; for UTF-8 any bytes-like object.
            final: the text ends after this chunk; the decoder then starts anew.

        Raises:
            TypeError: `units` is text or no iterable at all.
            ValueError: a code unit is outside the table's width. The decoder is as it was before.
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
    """The items with one mark for each ill-formed code unit; each has the cause of the mark it was in."""
    for item in items:
        if item.error is None:
            yield item
        else:
            for offset in range(item.offset, item.offset + item.length):
                yield _item((offset, 1, item.code_point, item.error))


def whole_subsequences(items: Iterable[Item]) -> Iterator[Item]:
    """The items with adjacent marks merged into one, which has the cause of the first.

    A mark comes out when the next well-formed item, or the end, has shown how long it is.
    """
    return _Merger().merged(items, final=True)


def until_first_error(items: Iterable[Item]) -> Iterator[Item]:
    """The items up to the first mark, with it."""
    for item in items:
        yield item
        if item.error is not None:
            return


def malformed_sequences(items: Iterable[Item], units: Iterable[int]) -> Iterator[Item]:
    """The items with one mark for each of Kuhn's "malformed sequences", which has the cause of its first mark.

    Andersen's comment in L2/08-150 says that an overlong sequence, one for a surrogate and one
    beyond U+10FFFF is a single malformed sequence. What that comment leaves open follows the
    stress test of Kuhn that it names. A first byte of the bit distribution of RFC 2279, shortest
    or not, opens a sequence of its one to six bytes, and:

    - complete but in no row of the table: one mark (F0 80 80 80, ED A0 80, FC 80 80 80 80 80);
    - cut off by the end of the text or broken by a byte that is no continuation byte: one mark for
      the bytes that are there (E0 80, F8 88 80 before 41), and the breaking byte starts anew;
    - a surrogate pair as six bytes is two malformed sequences, one for each surrogate;
    - a continuation byte beyond those the first byte asks for, or with none open, is one mark;
    - FE and FF open nothing: one mark each.

    Args:
        items: the items of a text of bytes, with a mark for each maximal subpart.
        units: the bytes of the same text; no more than the items cover is taken from it.
    """
    return _Kuhn().merged(items, units, final=True)


_BLOCKS: dict[int, tuple[Range, ...]] = {
    lead: pattern.blocks for pattern in RFC_2279.patterns.values() for lead in pattern.blocks[0]
}
"""By first byte the bit distribution of a sequence of one to six bytes: the bytes at each place of it."""


class _Merger:
    """`whole_subsequences` of items that come in parts."""

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
    """`malformed_sequences` of items that come in parts, with units that may go on after the items."""

    def __init__(self) -> None:
        self._held: Item | None = None
        self._length = 0
        self._blocks: Sequence[Range] = ()
        """What continues the mark that is held; it is longer than the mark."""

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
        """The items that the next units determine, each as soon as it is; `final` if no others follow."""


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
    """The two bullets of L2/08-150, with no more than the rows: no DFA, and nothing of `Decoder`."""

    def __init__(self, table: EncodingTable) -> None:
        self._table = table
        self._start: tuple[int, ...] = ()
        """What is at the start of some sequence, and is none."""
        self._rows: Sequence[_RowOfRanges] = ()
        """The rows of those sequences."""
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
            if len(ranges) == len(start):  # no sequence starts another, so no other row goes on
                yield _item((offset, len(start), sum(map(mul, weights, start), constant), None))
                offset += len(start)
                start = ()
        if final and start:
            yield Item(offset, len(start), REPLACEMENT_CHARACTER, error_of(start, None))
        self._start, self._rows, self._offset = start, rows, offset


_RowOfRanges = tuple[tuple[range, ...], tuple[tuple[int, ...], int]]
"""The code units of a row and its mapping to code points, in a form that is quick to apply."""


@lru_cache(maxsize=32)
def _rows_by_first_unit(table: EncodingTable) -> Callable[[int], tuple[_RowOfRanges, ...]]:
    """The rows with sequences that a unit starts."""
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
    Decoder(table)  # rejects what is no table
    return _MARKS[Practice(practice)](table)
