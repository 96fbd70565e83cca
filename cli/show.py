# SPDX-License-Identifier: BSD-2-Clause
"""The output of items and their counts, as text and as JSON."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from utf8fpga.cli.output import CommandError, coloured
from utf8fpga.model import TABLE_3_7, Composition, EncodingTable, ErrorKind, IncrementalDecoder, Item, Practice, decode
from utf8fpga.model.decoder import ComposedDecoder, new_item
from utf8fpga.model.render import columns, counted
from utf8fpga.model.table import spell


class Tally:
    """Counts of items."""

    def __init__(self) -> None:
        self.units = 0
        self.items = 0
        self.causes = dict.fromkeys(ErrorKind, 0)

    @property
    def ill_formed(self) -> int:
        """The number of ill-formed items."""
        return sum(self.causes.values())

    def add(self, items: Iterable[Item]) -> None:
        """Count items."""
        found = list(items)
        causes = Counter(map(itemgetter(3), found))
        del causes[None]
        self.count(sum(map(itemgetter(1), found)), len(found), causes)

    def count(self, units: int, items: int, causes: Mapping[ErrorKind, int]) -> None:
        """Add counts of units, of items, and of ill-formed items by cause."""
        self.units += units
        self.items += items
        for kind, number in causes.items():
            self.causes[kind] += number

    def lines(self) -> list[str]:
        """The counts as lines of text."""
        causes = [f"  {number} {kind.name}" for kind, number in self.causes.items() if number]
        return [f"{counted(self.units, 'byte')}, {counted(self.items, 'item')}, {self.ill_formed} ill-formed", *causes]

    def json_line(self) -> str:
        """The counts as one line of JSON."""
        causes = {kind.name: number for kind, number in self.causes.items() if number}
        return json.dumps({"bytes": self.units, "items": self.items, "ill_formed": self.ill_formed, "causes": causes})


def described(code_point: int) -> str:
    """The character of a code point, if it is printable, and its name."""
    character = chr(code_point) if code_point <= sys.maxunicode else ""
    is_printable = bool(character) and unicodedata.category(character)[0] not in "CZM"
    return f"{character if is_printable else ' '}  {unicodedata.name(character, '') if character else ''}"


def item_table(items: Iterable[Item], units: Sequence[int], width: int = 8) -> list[str]:
    """Items as lines of a table, with the code units of the text."""
    rows = []
    for item in items:
        offset, length, point, error = item[:4]
        last = described(point) if error is None else coloured(error.name, "red")
        spelled = spell(units[offset : offset + length], width)
        rows.append([str(offset), spelled, f"U+{point:04X}", last])
    return columns(rows, ["offset", "bytes" if width == 8 else "code units", "code point", "character or cause"])


def json_line(item: Item) -> str:
    """An item as one line of JSON."""
    offset, length, point, error = item[:4]
    name = "null" if error is None else f'"{error.name}"'
    return f'{{"offset": {offset}, "length": {length}, "code_point": {point}, "error": {name}}}'


def decoder_of(practice: Practice, table: EncodingTable | Composition) -> IncrementalDecoder | ComposedDecoder:
    """The decoder of a text in chunks."""
    if not isinstance(table, Composition):
        return IncrementalDecoder(practice, table)
    if practice is not Practice.MAXIMAL_SUBPARTS:
        raise CommandError(f"--practice {practice} is for tables only, and {table.name} is a composition: leave it out")
    return ComposedDecoder(table)


class _WholeTextDecoder:
    """A decoder of bytes in chunks by `decode`, which is faster than `Decoder`."""

    def __init__(self, table: EncodingTable) -> None:
        self._table, self._offset, self._open = table, 0, b""

    def decode(self, data: bytes, final: bool = False) -> list[Item]:
        """See `Decoder.decode`."""
        text, first = self._open + data, self._offset
        items = list(decode(text, self._table))
        is_open = not final and bool(items) and items[-1].error is ErrorKind.INCOMPLETE
        end = items.pop().offset if is_open else len(text)
        self._open, self._offset = text[end:], first + end
        return [new_item((first + offset, length, point, error)) for offset, length, point, error in items]


class PlainOutput:
    """The output of the command `decode` for a text in chunks.

    Args:
        table: the encoding of the text, whose code points are scalar values; default: UTF-8.
        as_json: write JSON lines in place of text.
        summary: write only ill-formed items, and at the end the counts.

    Attributes:
        tally: the counts of the items so far.
    """

    def __init__(
        self,
        practice: Practice,
        table: EncodingTable | Composition = TABLE_3_7,
        *,
        as_json: bool = False,
        summary: bool = False,
    ) -> None:
        self.tally = Tally()
        if practice is Practice.MAXIMAL_SUBPARTS and isinstance(table, EncodingTable):
            self._decoder: Any = _WholeTextDecoder(table)
        else:
            self._decoder = decoder_of(practice, table)
        self._practice, self._as_json, self._summary = practice, as_json, summary
        self._units = bytearray()
        """For a summary: the bytes after the last item."""

    @property
    def has_ended(self) -> bool:
        """Whether the practice ends the text at the first error, which has been found."""
        return self._practice is Practice.FIRST_ERROR and bool(self.tally.ill_formed)

    def pieces(self, chunk: bytes, final: bool = False) -> Iterator[bytes]:
        """The output for the next bytes of the text; `final` at its end."""
        for first in range(0, max(len(chunk), 1), TOGETHER):
            part = chunk[first : first + TOGETHER]
            items = self._decoder.decode(part, final and first + TOGETHER >= len(chunk))
            self.tally.add(items)
            yield self._output(items, part).encode()

    def end(self) -> bytes:
        """The output after the text: the counts of a summary."""
        if not self._summary:
            return b""
        lines = [self.tally.json_line()] if self._as_json else self.tally.lines()
        return "".join(f"{line}\n" for line in lines).encode()

    def _output(self, items: Sequence[Item], part: bytes) -> str:
        if self._as_json:
            shown = [item for item in items if item[3] is not None] if self._summary else items
            return "".join(f"{json_line(item)}\n" for item in shown)
        return self._spans(items, part) if self._summary else "".join(map(chr, map(itemgetter(2), items)))

    def _spans(self, items: Sequence[Item], part: bytes) -> str:
        self._units += part
        if not items:
            return ""
        lines, base = [], items[0].offset
        for offset, length, _, error in items:
            if error is not None:
                units = self._units[offset - base : offset - base + length].hex(" ").upper()
                lines.append(f"offset {offset}: {units} {error.name}\n")
        del self._units[: offset + length - base]
        return "".join(lines)


TOGETHER = 1 << 14
"""Bytes decoded at once, whose items need some megabytes."""
