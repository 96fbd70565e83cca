# SPDX-License-Identifier: BSD-2-Clause
"""The output of items and their counts, as text and as JSON."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from utf8fpga.cli.output import coloured
from utf8fpga.model import ErrorKind, Item
from utf8fpga.model.render import columns, counted
from utf8fpga.model.table import spell


class Tally:
    """Counts of items."""

    def __init__(self) -> None:
        self.units = self.items = 0
        self.causes: Counter[ErrorKind] = Counter()

    @property
    def ill_formed(self) -> int:
        """The number of ill-formed items."""
        return self.causes.total()

    def add(self, items: Sequence[Item]) -> None:
        """Count items."""
        self.units += sum(item.length for item in items)
        self.items += len(items)
        self.causes.update(item.error for item in items if item.error is not None)

    def lines(self) -> list[str]:
        """The counts as lines of text."""
        causes = [f"  {number} {kind.name}" for kind, number in sorted(self.causes.items())]
        return [f"{counted(self.units, 'byte')}, {counted(self.items, 'item')}, {self.ill_formed} ill-formed", *causes]

    def json_line(self) -> str:
        """The counts as one line of JSON."""
        causes = {kind.name: number for kind, number in sorted(self.causes.items())}
        return json.dumps({"bytes": self.units, "items": self.items, "ill_formed": self.ill_formed, "causes": causes})


def item_table(items: Iterable[Item], units: Sequence[int], width: int = 8) -> list[str]:
    """Items as lines of a table, with the code units of the text."""
    rows = []
    for item in items:
        spelled = spell(units[item.offset : item.offset + item.length], width)
        last = _described(item.code_point) if item.error is None else coloured(item.error.name, "red")
        rows.append([str(item.offset), spelled, f"U+{item.code_point:04X}", last])
    return columns(rows, ["offset", "bytes" if width == 8 else "code units", "code point", "character or cause"])


def _described(code_point: int) -> str:
    """The character of a code point, if it is printable, and its name."""
    if code_point > sys.maxunicode:  # One of RFC 2279.
        return ""
    character = chr(code_point)
    is_printable = unicodedata.category(character)[0] not in "CZM"
    return f"{character if is_printable else ' '}  {unicodedata.name(character, '')}"


def json_line(item: Item) -> str:
    """An item as one line of JSON."""
    name = "null" if item.error is None else f'"{item.error.name}"'
    start = f'{{"offset": {item.offset}, "length": {item.length}, "code_point": {item.code_point}'
    return f'{start}, "error": {name}}}\n'


def summary_line(item: Item, units: bytes) -> str:
    """An ill-formed item with its bytes as one line."""
    assert item.error is not None
    return f"offset {item.offset}: {units.hex(' ').upper()} {item.error.name}\n"
