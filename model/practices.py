# SPDX-License-Identifier: BSD-2-Clause
"""The incremental decoder, and replacement practices: how ill-formed code units are divided into items with U+FFFD.

A *mark* is an ill-formed item, which is one U+FFFD in the output. The standard defines which code
units are ill-formed (D84a), but not the number of marks for them (section 3.9, "Constraints on
Conversion Processes"). All practices give the same well-formed items and, except `FIRST_ERROR`,
cover the text without gaps; they differ only in the marks.

The practices split, merge or drop the maximal subparts. Each stores at most one mark, so memory is bounded for a text
of any length. A mark that merges maximal subparts may be longer than the table's longest sequence; its cause is that of
the first of them, at which a converter first detects the error. A mark that is part of a maximal subpart has the cause
of that subpart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain, islice, tee
from typing import Any

from utf8fpga.model.composition import Composition
from utf8fpga.model.decoder import (
    REPLACEMENT_CHARACTER,
    ComposedSubparts,
    Item,
    Subparts,
    code_units,
    new_item,
)
from utf8fpga.model.exceptions import InvalidArgumentError, did_you_mean
from utf8fpga.model.forms import RFC_2279, TABLE_3_7
from utf8fpga.model.named import AnyForm, checked_form
from utf8fpga.model.ranges import Range
from utf8fpga.model.table import EncodingTable


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
        raise InvalidArgumentError(f"{value!r} is not one of {', '.join(cls)}{did_you_mean(str(value), cls)}")


class Decoder:
    """An incremental decoder with the interface of `codecs.IncrementalDecoder`.

    For any division of the text into chunks the items are those of `utf8fpga.model.decode`. Each is returned with the
    first chunk whose units determine it; a mark that later units may extend is not yet determined.

    Args:
        table: the encoding form or composition, or its name such as ``utf-16``; default: UTF-8.
        practice: the replacement practice, or its name; default: `Practice.MAXIMAL_SUBPARTS`.

    Raises:
        TypeError: `table` is no encoding form, or a composition with another practice than the default.
        ValueError: `table` or `practice` is unknown, or the practice does not support the table.

    >>> decoder = Decoder()
    >>> decoder.decode(b"\\xe1\\x80")
    []
    >>> [str(item) for item in decoder.decode(b"A", final=True)]
    ['0+2 U+FFFD TRUNCATED', '2+1 U+0041']
    >>> decoder = Decoder(practice="whole-subsequence")
    >>> [str(item) for item in decoder.decode(b"\\xf0\\x80\\x80A")]
    ['0+3 U+FFFD OVERLONG', '3+1 U+0041']
    """

    def __init__(self, table: AnyForm = TABLE_3_7, *, practice: Practice | str = Practice.MAXIMAL_SUBPARTS) -> None:
        self.table, self.practice = checked_form(table), Practice(practice)
        self.reset()

    def reset(self) -> None:
        """Discard the open sequence and the pending mark, and restart offsets at 0."""
        self._items = items_of(self.table, self.practice)

    def getstate(self) -> tuple[Any, ...]:
        """What the units so far determine of later items.

        The code units of the open sequence, and the offset of the first of them; for practices other than the default
        also the pending mark. Of a composition, the states of both tables.
        """
        return self._items.getstate()

    def setstate(self, state: tuple[Any, ...]) -> None:
        """Continue from a state that `getstate` of a decoder with the same arguments returned, also in another process.

        Raises:
            ValueError: the units do not start a sequence of the table.
        """
        self._items.setstate(state)

    def decode(self, data: Iterable[int], final: bool = False) -> list[Item]:
        """Decode one chunk of a text.

        Args:
            data: code units, each of the table's width; for UTF-8 any bytes-like object.
            final: the text ends after this chunk; the decoder is then reset.

        Returns:
            The items that this chunk determines, in order.

        Raises:
            TypeError: `data` is a string or not iterable.
            ValueError: a code unit is outside the table's width. The decoder's state is unchanged.
        """
        units = code_units(data, self._items.table, self._items.position)
        # All units are checked before the state changes.
        chunk = units if isinstance(units, bytes | bytearray | memoryview) else tuple(units)
        items = list(self._items.items(chunk, final))
        if final:
            self.reset()
        return items

    process = decode
    """As the golden function of a decoder: code units in, items out; see `Golden.process`."""


BLOCKS_BY_FIRST_BYTE: Mapping[int, tuple[Range, ...]] = {
    lead: pattern.blocks for pattern in RFC_2279.patterns.values() for lead in pattern.blocks[0]
}
"""For each first byte of RFC 2279's bit distribution the ranges of the bytes of its sequence, one per position."""


class _Marks(Subparts):
    """`Subparts` whose marks are split, merged or dropped; `pending` is what that needs to know of the units so far."""

    pending: Any = None

    def getstate(self) -> tuple[object, ...]:
        return *super().getstate(), self.pending

    def setstate(self, state: Any) -> None:
        *subparts, self.pending = state
        super().setstate(subparts)


class _EachUnit(Subparts):
    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        for item in super().items(units, final):
            if item.error is None:
                yield item
            else:
                for offset in range(item.offset, item.offset + item.length):
                    yield new_item((offset, 1, REPLACEMENT_CHARACTER, item.error))


class _FirstError(_Marks):
    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        for item in super().items(units, final):
            if not self.pending:
                self.pending = item.error is not None
                yield item
            if self.pending and final:
                return


class _WholeSubsequences(_Marks):
    """`pending` is the mark that later items may extend."""

    def _end_of_mark(self) -> Iterator[Item]:
        if self.pending:
            yield self.pending
        self.pending = None

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        for item in super().items(units, final):
            if item.error is None:
                yield from self._end_of_mark()
                yield item
            else:
                self.pending = _extended(self.pending, item)
        if final:
            yield from self._end_of_mark()


class _MalformedSequences(_Marks):
    """`pending` is the mark that later items may extend, and the ranges of its sequence, more than its units."""

    def _end_of_mark(self) -> Iterator[Item]:
        if self.pending:
            yield self.pending[0]
        self.pending = None

    def _continues_with(self, unit: int) -> bool:
        mark, blocks = self.pending
        return unit in blocks[mark.length]

    def items(self, units: Iterable[int], final: bool) -> Iterator[Item]:
        units, same_units = tee(units)
        source = chain(self._open, same_units)
        for item in super().items(units, final):
            first = next(source)
            if item.length > 1:
                deque(islice(source, item.length - 1), maxlen=0)
            if self.pending and (item.error is None or not self._continues_with(first)):
                yield from self._end_of_mark()
            if item.error is None:
                yield item
                continue
            mark, blocks = self.pending or (None, BLOCKS_BY_FIRST_BYTE.get(first, ()))
            self.pending = _extended(mark, item), blocks
            if self.pending[0].length >= len(blocks):
                yield from self._end_of_mark()
        following = next(source, None)
        if self.pending and (final or (following is not None and not self._continues_with(following))):
            yield from self._end_of_mark()


def _extended(mark: Item | None, item: Item) -> Item:
    return item if mark is None else mark._replace(length=mark.length + item.length)


_PRACTICES: Mapping[Practice, Callable[[EncodingTable], Subparts]] = {
    Practice.MAXIMAL_SUBPARTS: Subparts,
    Practice.START_OF_A_SEQUENCE: Subparts,
    Practice.EACH_UNIT: _EachUnit,
    Practice.WHOLE_SUBSEQUENCE: _WholeSubsequences,
    Practice.MALFORMED_SEQUENCE: _MalformedSequences,
    Practice.FIRST_ERROR: _FirstError,
}


def items_of(form: EncodingTable | Composition, practice: Practice) -> Subparts | ComposedSubparts:
    """The items of a new text of a form with a practice.

    Raises:
        InvalidArgumentError: the practice does not support the form.
        TypeError: the practice does not support compositions.
    """
    if isinstance(form, Composition) and practice is Practice.MAXIMAL_SUBPARTS:
        return ComposedSubparts(form)
    if isinstance(form, Composition):
        raise TypeError(f"{form.name} has no practices: {practice.value} is of a single table")
    if form.unit_width != 8 and practice is Practice.MALFORMED_SEQUENCE:
        raise InvalidArgumentError(
            f"{form.name} has code units of {form.unit_width} bits: malformed sequences are of bytes"
        )
    return _PRACTICES[practice](form)
