# SPDX-License-Identifier: BSD-2-Clause
"""Encoding tables and their DFAs as text and JSON; and tables of the command line and the pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence

from utf8fpga.model.dfa import DFA, REJECT, START
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.named import AnyTable, checked_table
from utf8fpga.model.ranges import Range
from utf8fpga.model.table import EncodingTable


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "item"), counted(2, "item")
    ('1 item', '2 items')
    """
    return f"{number} {noun}{'s' * (number != 1)}"


def aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """A line of cells, each padded to at least its width."""
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def columns(rows: Iterable[Sequence[str]], heading: Sequence[str]) -> list[str]:
    """Lines with `rows` in aligned columns under a heading."""
    cells = [tuple(heading), *(tuple(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heading))]
    return [aligned(row, widths) for row in cells]


def markdown(heading: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[int] | None = None) -> str:
    """A Markdown table; `left` are the numbers of the columns that are aligned at the left, by default all."""
    alignment = ["---" if left is None or number in left else "---:" for number in range(len(heading))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heading, alignment, *rows))


def table_text(table: EncodingTable) -> list[str]:
    """The rows of a table as lines, in the layout of Table 3-7."""
    heading = ["Code points", *(f"Unit {n}" for n in range(1, table.longest + 1))]
    rows = []
    for row in table.rows:
        points = f"U+{row.code_points.first:04X}..U+{row.code_points.last:04X}"
        units = [str(allowed) for allowed in row.units]
        rows.append([points, *units, *[""] * (table.longest - len(units))])
    return columns(rows, heading)


def _dfa_text(dfa: DFA) -> list[str]:
    """The states of a DFA with the units that each awaits, and the transition table, as lines."""
    names = {REJECT: "", START: "done"}
    states = [[str(number), state.name] for number, state in enumerate(dfa.states)]
    rows = [[str(n), *(names.get(to, str(to)) for to in state.transitions)] for n, state in enumerate(dfa.states)]
    heading = ["", *map(str, dfa.classes)]
    counts = f"{len(dfa.states)} states that are not reject, {len(dfa.classes)} unit classes"
    return [counts, "", *columns(states, ["State", "awaits"]), "", *columns(rows, heading)]


def _as_text(table: EncodingTable) -> str:
    return "\n".join([f"{table.name}: {table.source}", "", *table_text(table), "", *_dfa_text(DFA.of(table)), ""])


def _bounds(span: Range) -> list[int]:
    return [span.first, span.last]


def _as_json(table: EncodingTable) -> str:
    dfa = DFA.of(table)
    content = {
        "name": table.name,
        "source": table.source,
        "unit_width": table.unit_width,
        "rows": [
            {"code_points": _bounds(row.code_points), "units": list(map(_bounds, row.units))} for row in table.rows
        ],
        "classes": [list(map(_bounds, unit_class.ranges)) for unit_class in dfa.classes],
        "states": [
            {"awaits": state.name, "transitions": [None if to == REJECT else to for to in state.transitions]}
            for state in dfa.states
        ],
    }
    return json.dumps(content, indent=1) + "\n"


FORMATS: dict[str, Callable[[EncodingTable], str]] = {"text": _as_text, "json": _as_json}
"""The formats of `render`, by name."""


def render(table: AnyTable, form: str = "text") -> str:
    """The rows of a table and its minimal DFA in one of several formats.

    Args:
        table: the encoding form, or its name.
        form: ``text`` or ``json``.

    Raises:
        TypeError: `table` is not an `EncodingTable`.
        ValueError: `form` is not in `FORMATS`.
    """
    if form not in FORMATS:
        raise InvalidArgumentError(f"format {form!r} is not one of {', '.join(FORMATS)}")
    return FORMATS[form](checked_table(table))
