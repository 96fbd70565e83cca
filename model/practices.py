# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of ill-formed input, as a choice.

The standard fixes which code units are ill-formed (D84a), not how many marks stand for them
(section 3.9, "Constraints on Conversion Processes"). All practices here give the same items for
what is well-formed and cover the text without gaps; they differ in the marks alone.

All but one are filters over the items of `decode`: they split, merge or drop marks. They take
any iterator of items and keep one item and at most a sequence of units, so a text of any length
passes through in bounded memory; chunks are joined with `itertools.chain.from_iterable`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice, takewhile, tee

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Item, _code_units, decode
from utf8fpga.model.forms import RFC_2279, TABLE_3_7
from utf8fpga.model.kinds import cause
from utf8fpga.model.table import BitPattern, EncodingTable

__all__ = ["Practice", "decode_with", "each_unit", "malformed_sequences", "until_first_error", "whole_subsequences"]


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
    match Practice(practice):
        case Practice.MAXIMAL_SUBPARTS:
            return decode(data, table)
        case Practice.START_OF_A_SEQUENCE:
            return _starts_of_sequences(_code_units(data, table, 0), table)
        case Practice.EACH_UNIT:
            return each_unit(decode(data, table))
        case Practice.WHOLE_SUBSEQUENCE:
            return whole_subsequences(decode(data, table))
        case Practice.MALFORMED_SEQUENCE:
            if table.unit_width != 8:
                raise ValueError(
                    f"{table.name} has code units of {table.unit_width} bits: malformed sequences are of bytes"
                )
            units, same_units = tee(_code_units(data, table, 0))
            return malformed_sequences(decode(units, table), same_units)
        case Practice.FIRST_ERROR:
            return until_first_error(decode(data, table))


def each_unit(items: Iterable[Item]) -> Iterator[Item]:
    """The items with one mark for each ill-formed code unit; each has the cause of the mark it was in."""
    for item in items:
        if item.error is None:
            yield item
        else:
            yield from (item._replace(offset=item.offset + n, length=1) for n in range(item.length))


def whole_subsequences(items: Iterable[Item]) -> Iterator[Item]:
    """The items with adjacent marks merged into one, which has the cause of the first.

    A mark comes out when the next well-formed item, or the end, has shown how long it is.
    """
    held: Item | None = None
    for item in items:
        if item.error is None:
            if held:
                yield held
                held = None
            yield item
        else:
            held = held._replace(length=held.length + item.length) if held else item
    if held:
        yield held


def until_first_error(items: Iterable[Item]) -> Iterator[Item]:
    """The items up to the first mark, with it."""
    for item in items:
        yield item
        if item.error is not None:
            return


_PATTERNS: dict[int, BitPattern] = {
    lead: pattern for pattern in RFC_2279.patterns.values() for lead in pattern.blocks[0]
}
"""By first byte the bit distribution of a sequence of one to six bytes."""


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
    source = iter(units)
    held: Item | None = None
    pattern: BitPattern | None = None
    for item in items:
        first, *_ = islice(source, item.length)
        if item.error is None:
            if held:
                yield held
                held = None
            yield item
        elif held and pattern and held.length < len(pattern.blocks) and first in pattern.blocks[held.length]:
            held = held._replace(length=held.length + item.length)
        else:
            if held:
                yield held
            held, pattern = item, _PATTERNS.get(first)
    if held:
        yield held


def _starts_of_sequences(units: Iterable[int], table: EncodingTable) -> Iterator[Item]:
    """The two bullets of L2/08-150, with no more than the rows and a window of the longest sequence."""
    source, offset = iter(units), 0
    window = list(islice(source, table.longest))
    while window:
        item = _first_item(window, offset, table)
        yield item
        offset += item.length
        window = [*window[item.length :], *islice(source, item.length)]


def _first_item(window: Sequence[int], offset: int, table: EncodingTable) -> Item:
    for row in table.rows:
        units = window[: len(row.units)]
        if row.matches(units):
            return Item(offset, len(units), row.code_point(units), None)
    if any(window[0] in row.units[0] for row in table.rows):
        length = max(_at_the_start(window, row.units) for row in table.rows)
    else:
        length = 1
    following = window[length] if length < len(window) else None
    return Item(offset, length, REPLACEMENT_CHARACTER, cause(table, window[:length], following))


def _at_the_start(window: Sequence[int], row: Sequence[Iterable[int]]) -> int:
    """How many units of the window are at the start of some sequence of the row."""
    return len(list(takewhile(lambda pair: pair[0] in pair[1], zip(window, row, strict=False))))
