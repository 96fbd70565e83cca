# SPDX-License-Identifier: BSD-2-Clause
"""Replacement practices: how ill-formed code units are divided into items with U+FFFD.

A *mark* is an ill-formed item, which is one U+FFFD in the output. The standard defines which code
units are ill-formed (D84a), but not the number of marks for them (section 3.9, "Constraints on
Conversion Processes"). All practices give the same well-formed items and, except `FIRST_ERROR`,
cover the text without gaps; they differ only in the marks.

The practices are filters over the items of `decode`, which split, merge or drop marks. A filter
stores at most one mark, so memory is bounded for a text of any length.
`IncrementalDecoder` applies a practice to a text in chunks, `decode_with` to a whole text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain, islice, tee

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Decoder, Item, code_units, new_item
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import RFC_2279, TABLE_3_7
from utf8fpga.model.table import EncodingTable, Range, checked_table


class Practice(StrEnum):
    """The replacement practice: which ill-formed code units form one mark.

    The value is the name on the command line.
    """

    MAXIMAL_SUBPARTS = "maximal-subparts"
    """One mark for each maximal subpart (D93b), that of the WHATWG Encoding Standard; `decode` implements it."""
    START_OF_A_SEQUENCE = "start-of-a-sequence"
    """The wording of L2/08-150: one mark for a unit that cannot start a minimal well-formed
    subsequence, else one for the longest prefix of some such subsequence. These are the marks of
    `MAXIMAL_SUBPARTS`, for which the tests have a proof by enumeration."""
    EACH_UNIT = "each-unit"
    """One mark for each code unit of an ill-formed subsequence."""
    WHOLE_SUBSEQUENCE = "whole-subsequence"
    """One mark for each ill-formed subsequence (D84a) of maximal length: all units between two
    minimal well-formed subsequences."""
    MALFORMED_SEQUENCE = "malformed-sequence"
    """One mark for each of Kuhn's "malformed sequences", which has the cause of its first maximal subpart.

    According to Andersen's comment in L2/08-150 an overlong sequence, a sequence for a surrogate and
    one beyond U+10FFFF are a single malformed sequence each. For cases that the comment does not
    cover, the practice follows Kuhn's stress test, to which it refers. A first byte of the bit
    distribution of RFC 2279, shortest form or not, opens a sequence of one to six bytes:

    - A complete sequence that is in no row of the table is one mark (F0 80 80 80, ED A0 80,
      FC 80 80 80 80 80).
    - A sequence cut off by the end of the text, or by a byte that is not a continuation byte, is one
      mark for the bytes present (E0 80, F8 88 80 before 41); that byte is then processed by itself.
    - A surrogate pair as six bytes is two malformed sequences, one for each surrogate.
    - A continuation byte beyond the length that the first byte determines, or while no sequence is
      open, is one mark.
    - FE and FF do not open a sequence and are one mark each.
    """
    FIRST_ERROR = "first-error"
    """One mark, for the first maximal subpart; the rest of the text is not decoded."""

    @classmethod
    def _missing_(cls, value: object) -> Practice:
        raise InvalidArgumentError(f"{value!r} is not one of {', '.join(cls)}")


def decode_with(data: Iterable[int], practice: Practice | str, table: EncodingTable = TABLE_3_7) -> Iterator[Item]:
    """Decode a whole text with a replacement practice.

    `data` is read on demand, so it may be a stream. A mark that merges maximal subparts may be
    longer than the table's longest sequence; its cause is that of the first of them, at which a
    converter first detects the error. A mark that is part of a maximal subpart has the cause of
    that subpart.

    Args:
        data: the code units of one text; for UTF-8 any bytes-like object.
        practice: the replacement practice, or its name such as ``each-unit``.
        table: the encoding form; default: UTF-8.

    Returns:
        The items, in order.

    Raises:
        TypeError: `data` is a string or not iterable.
        ValueError: `practice` is unknown, or does not support the table; or a code unit is outside the table's width.

    >>> for practice in Practice:
    ...     print(" ".join(f"{item.code_point:04X}" for item in decode_with(b"\\xf0\\x80\\x80A\\xe1\\x80", practice)))
    FFFD FFFD FFFD 0041 FFFD
    FFFD FFFD FFFD 0041 FFFD
    FFFD FFFD FFFD 0041 FFFD FFFD
    FFFD 0041 FFFD
    FFFD 0041 FFFD
    FFFD
    """
    return _filter(practice, table).items(code_units(data, table, 0), final=True)


class IncrementalDecoder:
    """`decode_with` for a text in chunks.

    It is a `Decoder` for any practice, but without `Decoder.getstate` and `Decoder.setstate`.

    For any division of the text into chunks the items are those of `decode_with`. Each is returned with
    the first chunk whose units determine it; a mark that later units may extend is not yet determined.
    With `FIRST_ERROR` no item follows the first mark until the end of the text.

    Args:
        practice: the replacement practice, or its name; default: `MAXIMAL_SUBPARTS`.
        table: the encoding form; default: UTF-8.

    Raises:
        TypeError: `table` is not an `EncodingTable`.
        ValueError: `practice` is unknown, or does not support the table.

    >>> decoder = IncrementalDecoder(Practice.WHOLE_SUBSEQUENCE)
    >>> decoder.decode(b"\\xf0\\x80")
    []
    >>> [str(item) for item in decoder.decode(b"\\x80A")]
    ['0+3 U+FFFD OVERLONG', '3+1 U+0041']
    """

    def __init__(self, practice: Practice | str = Practice.MAXIMAL_SUBPARTS, table: EncodingTable = TABLE_3_7) -> None:
        self.practice = Practice(practice)
        self.table = table
        self.reset()

    def reset(self) -> None:
        """Discard the open sequence and the pending mark, and restart offsets at 0."""
        self._marks = _filter(self.practice, self.table)
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
        checked = code_units(units, self.table, self._taken)
        chunk = bytes(checked) if isinstance(checked, bytes | bytearray | memoryview) else tuple(checked)
        items = list(self._marks.items(chunk, final))
        self._taken += len(chunk)
        if final:
            self.reset()
        return items

    process = decode
    """As the golden function of a decoder: code units in, items out; see `Golden.process`."""


BLOCKS_BY_FIRST_BYTE: Mapping[int, tuple[Range, ...]] = {
    lead: pattern.blocks for pattern in RFC_2279.patterns.values() for lead in pattern.blocks[0]
}
"""For each first byte of RFC 2279's bit distribution the ranges of the bytes of its sequence, one per position."""


class _Subparts:
    """The items of a text under `MAXIMAL_SUBPARTS`; the other practices split, merge or drop their marks."""

    def __init__(self, table: EncodingTable) -> None:
        self._decoder = Decoder(table)

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        """Yield each item as soon as the next units determine it; `final` at the end of the text."""
        return self._decoder.items(units, final)


class _EachUnit(_Subparts):
    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        for item in super().items(units, final):
            if item.error is None:
                yield item
            else:
                for offset in range(item.offset, item.offset + item.length):
                    yield new_item((offset, 1, REPLACEMENT_CHARACTER, item.error))


class _FirstError(_Subparts):
    _is_over = False

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        if not self._is_over:
            for item in super().items(units, final):
                self._is_over = item.error is not None
                yield item
                if self._is_over:
                    return


class _WholeSubsequences(_Subparts):
    _mark: Item | None = None
    """The mark that later items may extend."""

    def _extended_by(self, item: Item) -> Item:
        self._mark = item if self._mark is None else self._mark._replace(length=self._mark.length + item.length)
        return self._mark

    def _end_of_mark(self) -> Iterator[Item]:
        if self._mark:
            yield self._mark
            self._mark = None

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        for item in super().items(units, final):
            if item.error is None:
                yield from self._end_of_mark()
                yield item
            else:
                self._extended_by(item)
        if final:
            yield from self._end_of_mark()


class _MalformedSequences(_WholeSubsequences):
    _blocks: Sequence[Range] = ()
    """The ranges of the sequence that the pending mark starts; more of them than the mark has units."""

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        open_units, _ = self._decoder.getstate()
        units, same_units = tee(units)
        source = chain(open_units, same_units)
        for item in _Subparts.items(self, units, final):
            first = next(source)
            if item.length > 1:
                deque(islice(source, item.length - 1), maxlen=0)
            if item.error is None:
                yield from self._end_of_mark()
                yield item
                continue
            if self._mark and first not in self._blocks[self._mark.length]:
                yield from self._end_of_mark()
            if not self._mark:
                self._blocks = BLOCKS_BY_FIRST_BYTE.get(first, ())
            if self._extended_by(item).length >= len(self._blocks):
                yield from self._end_of_mark()
        if self._mark:
            following = next(source, None)
            if final or (following is not None and following not in self._blocks[self._mark.length]):
                yield from self._end_of_mark()


_PRACTICES: Mapping[Practice, Callable[[EncodingTable], _Subparts]] = {
    Practice.MAXIMAL_SUBPARTS: _Subparts,
    Practice.START_OF_A_SEQUENCE: _Subparts,
    Practice.EACH_UNIT: _EachUnit,
    Practice.WHOLE_SUBSEQUENCE: _WholeSubsequences,
    Practice.MALFORMED_SEQUENCE: _MalformedSequences,
    Practice.FIRST_ERROR: _FirstError,
}


def _filter(practice: Practice | str, table: EncodingTable) -> _Subparts:
    """The filter of a new text."""
    chosen = Practice(practice)
    return _PRACTICES[chosen](checked_for(chosen, table))


def checked_for(practice: Practice, table: EncodingTable) -> EncodingTable:
    """`table` if it is a table that the practice supports; otherwise an error."""
    if checked_table(table).unit_width != 8 and practice is Practice.MALFORMED_SEQUENCE:
        raise InvalidArgumentError(
            f"{table.name} has code units of {table.unit_width} bits: malformed sequences are of bytes"
        )
    return table
