# SPDX-License-Identifier: BSD-2-Clause
"""What a mark becomes: U+FFFD, another character, or an escape from which the encoder makes the bytes again.

An escape maps each ill-formed byte 80..FF to one of 128 code points, in order. Decoding followed by encoding is the
identity on all byte strings, for two reasons:

- A well-formed sequence never is one of these code points: their sequences, if the table has any, are removed from it,
  so that their bytes are ill-formed and escaped one by one.
- The rows map sequences to code points one to one, and a mark is a single byte.

So the encoder can tell which of both a code point stands for. The converse is not true: code points of an escape, the
bytes of which happen to be a well-formed sequence, become a character when they are encoded and decoded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, encode
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.table import EncodingTable, Range, Row, checked_table


class Replacement(StrEnum):
    """What a mark becomes in the output. All but the first require the practice `Practice.EACH_UNIT`.

    The value is the name on the command line.
    """

    REPLACEMENT_CHARACTER = "replacement-character"
    """U+FFFD."""
    QUESTION_MARK = "question-mark"
    """U+003F, so that in UTF-8 the text keeps its length."""
    SUBSTITUTE = "substitute"
    """U+001A, the control character for this purpose; the text keeps its length, too."""
    SURROGATE_ESCAPE = "surrogate-escape"
    """Byte 80+n is U+DC80+n, as with ``errors="surrogateescape"`` of Python (PEP 383). Encodings other than the escape
    have no sequence for it."""
    PRIVATE_USE_ESCAPE = "private-use-escape"
    """Byte 80+n is U+EF80+n, a character for private use. The sequences of these 128 characters in the input are
    escaped, too, with the cause `ErrorKind.SURROGATE` for the first byte: as surrogates, they are reserved."""

    @classmethod
    def _missing_(cls, value: object) -> Replacement:
        raise InvalidArgumentError(f"{value!r} is not one of {', '.join(cls)}")

    @property
    def code_points(self) -> Range:
        """The code points that a mark may become."""
        first = _FIRST[self]
        return Range(first, first | 0x7F) if self in ESCAPES else Range(first, first)

    @property
    def shown(self) -> str:
        """These code points in the notation of the standard."""
        first, last = f"U+{self.code_points.first:04X}", f"U+{self.code_points.last:04X}"
        return first if first == last else f"{first}..{last}"

    def code_point(self, unit: int) -> int:
        """The code point of the mark for a code unit."""
        points = self.code_points
        return points.first + unit % len(points)

    def without_escapes(self, table: EncodingTable) -> EncodingTable:
        """The table without the sequences of the code points of an escape.

        Raises:
            InvalidArgumentError: the ill-formed units of the table are not bytes from 80 to FF.

        >>> print(*Replacement.PRIVATE_USE_ESCAPE.without_escapes(TABLE_3_7).rows[5:7], sep=", ")
        U+E000..U+EF7F as EE 80..BD 80..BF, U+F000..U+FFFF as EF 80..BF 80..BF
        """
        return _without_escapes(self, checked_table(table)) if self in ESCAPES else table


_FIRST = {
    Replacement.REPLACEMENT_CHARACTER: REPLACEMENT_CHARACTER,
    Replacement.QUESTION_MARK: 0x3F,
    Replacement.SUBSTITUTE: 0x1A,
    Replacement.SURROGATE_ESCAPE: 0xDC80,
    Replacement.PRIVATE_USE_ESCAPE: 0xEF80,
}

ESCAPES = (Replacement.SURROGATE_ESCAPE, Replacement.PRIVATE_USE_ESCAPE)
"""The replacements that can be undone."""


@lru_cache(maxsize=32)
def _without_escapes(escape: Replacement, table: EncodingTable) -> EncodingTable:
    others = range(len(escape.code_points))
    if table.unit_width != 8 or not all(any(row.matches([unit]) for row in table.rows) for unit in others):
        raise InvalidArgumentError(f"{escape} is for ill-formed bytes 80..FF, but not all of {table.name} are")
    rows = tuple(part for row in table.rows for part in _without(row, escape.code_points))
    if rows == table.rows:
        return table
    return EncodingTable(f"{table.name} without {escape.shown}", table.source, table.unit_width, rows)


def _without(row: Row, block: Range) -> Iterator[Row]:
    points = row.code_points
    if not points.overlaps(block):
        yield row
        return
    if points.first < block.first:
        yield from row.within(points.first, block.first - 1)
    if block.last < points.last:
        yield from row.within(block.last + 1, points.last)


def encode_escaped(
    code_points: str | Iterable[int], escape: Replacement | str, table: EncodingTable = TABLE_3_7
) -> bytes:
    """The bytes of code points, some of which are escaped bytes: the inverse of decoding with the escape.

    Args:
        code_points: integers, or a string.
        escape: the escape, or its name.
        table: the encoding form; default: UTF-8.

    Raises:
        TypeError: `code_points` is neither a string nor iterable, or `table` is not an `EncodingTable`.
        ValueError: a code point has no sequence; or `escape` is none of `ESCAPES`.

    >>> encode_escaped("n\\udcc3\\uef80", "surrogate-escape").hex(" ")
    '6e c3 ee be 80'
    >>> encode_escaped("n\\uef80", "private-use-escape").hex(" ")
    '6e 80'
    """
    chosen = checked_escape(escape)
    reduced, block = chosen.without_escapes(table), chosen.code_points
    points = map(ord, code_points) if isinstance(code_points, str) else code_points
    if not isinstance(points, Iterable):
        return encode(points)  # Raises.
    return b"".join(bytes([point % 256]) if point in block else encode([point], reduced) for point in points)


def checked_escape(escape: Replacement | str) -> Replacement:
    """The escape of a name.

    Raises:
        InvalidArgumentError: there is none.
    """
    if escape not in ESCAPES:
        raise InvalidArgumentError(f"{str(escape)!r} is no escape: use {' or '.join(ESCAPES)}")
    return Replacement(escape)
