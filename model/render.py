# SPDX-License-Identifier: BSD-2-Clause
"""Encoding tables and their DFAs as text, JSON and drawings; and tables of the command line and the pages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape

from utf8fpga.model.dfa import DFA, REJECT, START
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.named import AnyTable, checked_table
from utf8fpga.model.ranges import Range, joined
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


def _counts(dfa: DFA) -> str:
    return f"{len(dfa.states)} states that are not reject, {len(dfa.classes)} unit classes"


def _dfa_text(dfa: DFA) -> list[str]:
    """The states of a DFA with the units that each awaits, and the transition table, as lines."""
    names = {REJECT: "", START: "done"}
    states = [[str(number), state.name] for number, state in enumerate(dfa.states)]
    rows = [[str(n), *(names.get(to, str(to)) for to in state.transitions)] for n, state in enumerate(dfa.states)]
    heading = ["", *map(str, dfa.classes)]
    return [_counts(dfa), "", *columns(states, ["State", "awaits"]), "", *columns(rows, heading)]


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


def _edges(dfa: DFA) -> dict[tuple[int, int], str]:
    """For each pair of a state and its next state, the units of the transition."""
    edges: dict[tuple[int, int], str] = {}
    for number, state in enumerate(dfa.states):
        for target in sorted(set(state.transitions) - {REJECT}):
            classes = (each for each, to in zip(dfa.classes, state.transitions, strict=True) if to == target)
            ranges = joined(allowed for unit_class in classes for allowed in unit_class.ranges)
            edges[number, target] = " ".join(map(str, ranges))
    return edges


DARK_STYLE = "@media(prefers-color-scheme:dark){svg:root{filter:invert(.92) hue-rotate(180deg)}}"
"""The style of a drawing on white, for readers who prefer dark pages: light and dark change places, hues stay.

It has no effect on a drawing that is part of a page.
"""

_CELL = 8.4
"""Width in pixels of a monospace character with a height of 14 pixels."""
_BOX_HEIGHT, _ROW, _GAP = 34, 56, 76


def _as_svg(table: EncodingTable) -> str:
    """The DFA as a drawing: the start state at the left, then the states by the number of units they await.

    Each state has its own row, so that arrows from the start state do not cross other states. The group of a state has
    the attribute ``data-state``, its number or ``end``; that of an arrow ``data-edge``, the numbers of its two states.
    """
    dfa = DFA.of(table)
    edges = _edges(dfa)
    entered = Counter(to for source, to in edges if source != START)
    order = sorted(range(1, len(dfa.states)), key=lambda n: (dfa.states[n].remaining, entered[n], dfa.states[n].name))
    deepest = max((dfa.states[n].remaining[1] for n in order), default=0)
    # A box has the units that its state accepts next; the column says how many follow.
    names = {START: "start", **{n: dfa.states[n].name.split()[0] for n in order}}
    width = max(map(len, names.values())) * _CELL + 24
    lead = max((len(label) for (source, _), label in edges.items() if source == START), default=0) * _CELL + 60

    def place(number: int, row: int) -> _Point:
        remaining = dfa.states[number].remaining[1]
        return width + lead + (deepest - remaining) * (width + _GAP), row * _ROW

    at = {number: place(number, row) for row, number in enumerate(order, 1)}
    done = place(START, 0)
    start = (16.0, len(order) * _ROW / 2)
    parts = []
    for (source, to), label in edges.items():
        target = done if to == START else at[to]
        arrow = _way_in(start, target, width, label) if source == START else _way_on(at[source], target, width, label)
        parts.append(_group("edge", f"{source} {to}", arrow))
    parts.append(_group("state", START, _box(start, width, "start", corner=4)))
    parts += [_group("state", number, _box(at[number], width, names[number], corner=4)) for number in order]
    parts.append(_group("state", "end", _box(done, width, "done", corner=17)))
    note = f"{table.name}: {_counts(dfa)}; any other unit breaks the sequence"
    parts.append(f'<text x="16" y="{len(order) * _ROW + 62:.0f}">{escape(note)}</text>\n')
    size = f"{done[0] + width + 16:.0f}", f"{len(order) * _ROW + 94:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -16 {size[0]} {size[1]}" '
        f'width="{size[0]}" height="{size[1]}" font-family="monospace" font-size="14" role="img">\n'
        f"<title>The minimal DFA of {escape(table.name)}</title>\n<style>{DARK_STYLE}</style>\n"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#456"/></marker></defs>\n'
        f'<rect x="0" y="-16" width="100%" height="100%" fill="white"/>\n{"".join(parts)}</svg>\n'
    )


_Point = tuple[float, float]


def _group(kind: str, key: object, parts: str) -> str:
    return f'<g data-{kind}="{key}">\n{parts}</g>\n'


def _box(at: _Point, width: float, name: str, *, corner: int) -> str:
    return (
        f'<rect x="{at[0]:.0f}" y="{at[1]:.0f}" width="{width:.0f}" height="{_BOX_HEIGHT}" rx="{corner}" '
        f'fill="#eef2f8" stroke="#456"/>\n'
        f'<text x="{at[0] + width / 2:.0f}" y="{at[1] + 22:.0f}" text-anchor="middle">{escape(name)}</text>\n'
    )


def _way_in(start: _Point, to: _Point, width: float, label: str) -> str:
    """The arrow from the start state to the left side of a state."""
    x, y = start[0] + width, start[1] + _BOX_HEIGHT / 2
    bend, level = x + 50, to[1] + _BOX_HEIGHT / 2
    curve = f"M{x:.0f} {y:.0f}C{bend:.0f} {y:.0f} {x:.0f} {level:.0f} {bend:.0f} {level:.0f}L{to[0]:.0f} {level:.0f}"
    return _arrow(curve, (bend + 4, level - 5), label)


def _way_on(source: _Point, to: _Point, width: float, label: str) -> str:
    """The arrow from a state to the lower side of the next state."""
    x, y = source[0] + width, source[1] + _BOX_HEIGHT / 2
    across, up = to[0] + width / 2, to[1] + _BOX_HEIGHT
    curve = f"M{x:.0f} {y:.0f}C{across:.0f} {y:.0f} {across:.0f} {y:.0f} {across:.0f} {up:.0f}"
    return _arrow(curve, (x + 6, y - 5), label)


def _arrow(curve: str, where: _Point, label: str) -> str:
    return (
        f'<path d="{curve}" fill="none" stroke="#456" marker-end="url(#tip)"/>\n'
        f'<text x="{where[0]:.0f}" y="{where[1]:.0f}" fill="#234">{escape(label)}</text>\n'
    )


FORMATS: dict[str, Callable[[EncodingTable], str]] = {
    "text": _as_text,
    "json": _as_json,
    "svg": _as_svg,
}
"""The formats of `render`, by name."""


def render(table: AnyTable, form: str = "text") -> str:
    """The rows of a table and its minimal DFA in one of several formats.

    Args:
        table: the encoding form, or its name.
        form: ``text``, ``json`` or ``svg``, a drawing.

    Raises:
        TypeError: `table` is not an `EncodingTable`.
        ValueError: `form` is not in `FORMATS`.
    """
    if form not in FORMATS:
        raise InvalidArgumentError(f"format {form!r} is not one of {', '.join(FORMATS)}")
    return FORMATS[form](checked_table(table))
