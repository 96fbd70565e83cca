# SPDX-License-Identifier: BSD-2-Clause
"""The output of items and their counts as text."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from utf8fpga.cli.output import CommandError, coloured
from utf8fpga.model import TABLE_3_7, Composition, EncodingTable, ErrorKind, IncrementalDecoder, Item, Practice, decode
from utf8fpga.model.decoder import ComposedDecoder, new_item
from utf8fpga.model.golden import BulkSymbols
from utf8fpga.model.render import columns, counted
from utf8fpga.model.table import spell

if TYPE_CHECKING:
    from utf8fpga.hdl import CoreEntry


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


def symbol_table(symbols: Iterable[Any], core: CoreEntry[Any], units: Sequence[int]) -> list[str]:
    """Output symbols of a core as lines of a table, with the input symbols that each belongs to."""
    rows, offset = [], 0
    for symbol in symbols:
        belonging = units[offset : offset + symbol.length]
        rows.append([str(offset), " ".join(map(core.input_label, belonging)), core.label(symbol)])
        offset += symbol.length
    return columns(rows, ["offset", f"{core.input_noun}s", "output"])


def json_line(item: Item) -> str:
    """An item as one line of JSON."""
    offset, length, point, error = item[:4]
    name = "null" if error is None else f'"{error.name}"'
    return f'{{"offset": {offset}, "length": {length}, "code_point": {point}, "error": {name}}}'


class SymbolTally(Tally):
    """Counts of the symbols of any golden function, for items by cause; `units` are the input symbols."""

    def __init__(self) -> None:
        super().__init__()
        self._outputs = 0

    @property
    def noun(self) -> str:
        """What the symbols are called."""
        return "symbol" if self._outputs else "item"

    def add_symbol(self, symbol: Any) -> None:
        """Count a symbol."""
        if isinstance(symbol, Item):
            self.add([symbol])
        else:
            self.units += symbol.length
            self._outputs += 1

    def add_columns(self, symbols: BulkSymbols, inputs: int) -> None:
        """Count many symbols, for which there are so many new inputs; items have the column `kind`."""
        if "kind" not in symbols.columns:
            self.units += inputs
            self._outputs += len(next(iter(symbols.columns.values())))
            return
        kinds = symbols.columns["kind"]
        self.count(inputs, len(kinds), {kind: int((kinds == kind).sum()) for kind in ErrorKind})

    def lines(self) -> list[str]:
        """The counts as lines of text."""
        if self._outputs:
            return [f"{counted(self.units, 'symbol')} in, {counted(self._outputs, 'symbol')} out"]
        return super().lines()


def symbol_json(symbol: Any) -> str:
    """A symbol of any golden function as one line of JSON."""
    if isinstance(symbol, Item):
        return json_line(symbol)
    fields = symbol._asdict()
    if hasattr(value := fields.get("value"), "_asdict"):
        fields["value"] = value._asdict()
    return json.dumps(fields)


def decoder_of(practice: Practice, table: EncodingTable | Composition) -> IncrementalDecoder | ComposedDecoder:
    """The decoder of a text in chunks."""
    if not isinstance(table, Composition):
        return IncrementalDecoder(practice, table)
    if practice is not Practice.MAXIMAL_SUBPARTS:
        raise CommandError(f"--practice {practice} is for tables only, and {table.name} is a composition: leave it out")
    return ComposedDecoder(table)


class _WholeTextDecoder:
    """A decoder of bytes in chunks by `decode`, which is faster than `Decoder`."""

    def __init__(self, table: EncodingTable | Composition) -> None:
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
        form: ``text``, ``json`` or ``summary``. The counts at the end of a summary are in `tally`.
        table: the encoding of the text, whose code points are scalar values; default: UTF-8.

    Attributes:
        tally: the counts of the items so far.
    """

    def __init__(self, form: str, practice: Practice, table: EncodingTable | Composition = TABLE_3_7) -> None:
        self.tally = Tally()
        by_pattern = practice is Practice.MAXIMAL_SUBPARTS and isinstance(table, EncodingTable)
        self._decoder = _WholeTextDecoder(table) if by_pattern else decoder_of(practice, table)
        self._form = {"text": self._text, "json": self._json, "summary": self._spans}[form]
        self._units = bytearray()
        """For a summary: the bytes after the last item."""

    def pieces(self, chunk: bytes, final: bool = False) -> Iterator[bytes]:
        """The output for the next bytes of the text; `final` at its end."""
        for first in range(0, max(len(chunk), 1), TOGETHER):
            part = chunk[first : first + TOGETHER]
            items = self._decoder.decode(part, final and first + TOGETHER >= len(chunk))
            self.tally.add(items)
            yield self._form(items, part).encode()

    def _text(self, items: Sequence[Item], _part: bytes) -> str:
        return "".join(map(chr, map(itemgetter(2), items)))

    def _json(self, items: Sequence[Item], _part: bytes) -> str:
        return "".join(f"{json_line(item)}\n" for item in items)

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
