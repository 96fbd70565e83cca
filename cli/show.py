# SPDX-License-Identifier: BSD-2-Clause
"""The output of items and their counts, as text and as JSON."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import itemgetter

from utf8fpga.cli.output import CommandError, coloured
from utf8fpga.model import Composition, Decoder, EncodingTable, ErrorKind, Item, Practice
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
        self.units += sum(map(itemgetter(1), found))
        self.items += len(found)
        for kind, number in Counter(map(itemgetter(3), found)).items():
            if kind is not None:
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
    return f'{{"offset": {offset}, "length": {length}, "code_point": {point}, "error": {name}}}\n'


def decoder_of(practice: Practice, table: EncodingTable | Composition) -> Decoder:
    """The decoder of a text in chunks."""
    if isinstance(table, Composition) and practice is not Practice.MAXIMAL_SUBPARTS:
        raise CommandError(f"--practice {practice} is for tables only, and {table.name} is a composition: leave it out")
    return Decoder(table, practice=practice)


def shown_items(items: Sequence[Item], units: bytes, *, as_json: bool, summary: bool) -> str:
    """The text that items stand for, or all items as lines of JSON.

    Args:
        units: the bytes of the items.
        as_json: write lines of JSON.
        summary: write the ill-formed items alone, each as a line.
    """
    if not summary:
        return "".join(map(json_line, items)) if as_json else "".join(map(chr, map(itemgetter(2), items)))
    base = items[0].offset if items else 0
    lines = []
    for item in items:
        if item[3] is not None:
            spelled = units[item.offset - base : item.offset + item.length - base].hex(" ").upper()
            lines.append(json_line(item) if as_json else f"offset {item.offset}: {spelled} {item[3].name}\n")
    return "".join(lines)
