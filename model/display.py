# SPDX-License-Identifier: BSD-2-Clause
"""Code units beside their items, for a notebook or a terminal."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from operator import index
from typing import NamedTuple

from utf8fpga.model.decoder import Item, decode, kept
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.practices import Practice, decode_with
from utf8fpga.model.render import columns
from utf8fpga.model.table import Composition, EncodingTable

SHOWN_UNITS = 256
"""Upper bound on the code units that `show` shows."""


class Span(NamedTuple):
    """What one practice makes of adjacent code units.

    Attributes:
        offset: the offset of the first code unit.
        length: the number of code units.
        text: the code point with its character or, where ill-formed, the cause; or ``not decoded``.
        is_ill_formed: whether it is an ill-formed item.
    """

    offset: int
    length: int
    text: str
    is_ill_formed: bool


@dataclass(frozen=True, repr=False)
class Display:
    """The result of `show`: a table in a notebook, aligned columns where it is printed.

    Attributes:
        units: the code units that are shown, as text.
        hidden: the number of code units after them.
        spans: by the name of a practice the spans that cover `units`.
    """

    units: tuple[str, ...]
    hidden: int
    spans: Mapping[str, Sequence[Span]]

    @property
    def heading(self) -> list[str]:
        """The names of the columns."""
        return ["offset", "unit", *self.spans]

    def _lines(self) -> Iterator[tuple[list[str], list[Span | None]]]:
        """For each code unit its offset and value, and per practice the span that starts there."""
        starting = [{span.offset: span for span in spans} for spans in self.spans.values()]
        for offset, unit in enumerate(self.units):
            yield [str(offset), unit], [found.get(offset) for found in starting]

    def __str__(self) -> str:
        rows = [[*left, *(span.text if span else "" for span in spans)] for left, spans in self._lines()]
        more = [f"and {self.hidden} more code units"] if self.hidden else []
        return "\n".join([*columns(rows, self.heading), *more])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = []
        for left, spans in self._lines():
            cells = [f"<td><code>{text}</code></td>" for text in left]
            for span in filter(None, spans):
                # The border separates adjacent ill-formed items.
                style = "text-align:left" + ";background:#b3261e;color:#fff;border:1px solid #fff" * span.is_ill_formed
                cells.append(f'<td rowspan="{span.length}" style="{style}">{escape(span.text)}</td>')
            lines.append(f"<tr>{''.join(cells)}</tr>\n")
        heading = "".join(f'<th scope="col" style="text-align:left">{name}</th>' for name in self.heading)
        more = f"<p>and {self.hidden} more code units</p>\n" if self.hidden else ""
        return f"<table>\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{''.join(lines)}</tbody>\n</table>\n{more}"


def show(
    data: Iterable[int],
    *practices: Practice | str,
    table: EncodingTable | Composition = TABLE_3_7,
) -> Display:
    """The code units of a text beside the items of one or several practices.

    A long text is cut: the units after the first `SHOWN_UNITS` are only counted.

    Args:
        data: the code units of one text; for UTF-8 any bytes-like object.
        practices: the replacement practices, one column for each; default: `MAXIMAL_SUBPARTS`.
        table: the encoding form, or with `MAXIMAL_SUBPARTS` a composition; default: UTF-8.

    Raises:
        TypeError: `data` is a string or not iterable.
        ValueError: a code unit is outside the table's width; or a practice is unknown or does not support the table.

    >>> show(b"\\xe1\\x80A", "maximal-subparts", "each-unit")
    offset  unit  maximal-subparts  each-unit
    0       E1    U+FFFD TRUNCATED  U+FFFD TRUNCATED
    1       80                      U+FFFD TRUNCATED
    2       41    U+0041 A          U+0041 A
    """
    units = kept(data)
    chosen = [Practice(practice) for practice in practices] or [Practice.MAXIMAL_SUBPARTS]
    items = {practice.value: _items(units, practice, table) for practice in chosen}
    shown, digits = min(len(units), SHOWN_UNITS), -(-table.unit_width // 4)
    spans = {name: tuple(_spans(each, shown)) for name, each in items.items()}  # Checks the units.
    return Display(tuple(f"{index(unit):0{digits}X}" for unit in units[:shown]), len(units) - shown, spans)


def _items(units: Iterable[int], practice: Practice, table: EncodingTable | Composition) -> Iterator[Item]:
    if practice is Practice.MAXIMAL_SUBPARTS:
        return decode(units, table)
    if isinstance(table, Composition):
        raise InvalidArgumentError(f"{table.name} is a composition, which has the practice maximal-subparts only")
    return decode_with(units, practice, table)


def _spans(items: Iterable[Item], shown: int) -> Iterator[Span]:
    """The spans of items that cover so many code units; the last one is cut there."""
    covered = 0
    for item in items:
        if covered == shown:
            return
        text = f"U+{item.code_point:04X} {item.error.name if item.error else _character(item.code_point)}"
        yield Span(covered, min(item.length, shown - covered), text.rstrip(), item.error is not None)
        covered = min(covered + item.length, shown)
    if covered < shown:
        yield Span(covered, shown - covered, "not decoded", False)


def _character(code_point: int) -> str:
    """The character if it is visible; a combining one on a dotted circle."""
    if code_point > sys.maxunicode or not chr(code_point).isprintable():
        return ""
    character = chr(code_point)
    return f"\N{DOTTED CIRCLE}{character}" if unicodedata.category(character).startswith("M") else character
