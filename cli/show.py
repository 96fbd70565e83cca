# SPDX-License-Identifier: BSD-2-Clause
"""Tables, automata and items as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from utf8fpga.model import DFA, REJECT, START, EncodingTable, ErrorKind, Item

__all__ = ["Tally", "columns", "dfa_text", "json_line", "table_text"]


def columns(rows: Iterable[Sequence[str]], heading: Sequence[str]) -> list[str]:
    """Lines with `rows` in columns under a heading."""
    cells = [tuple(heading), *(tuple(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heading))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def table_text(table: EncodingTable) -> list[str]:
    """The rows of a table, as the standard prints them."""
    heading = ["Code points", *(f"Unit {n}" for n in range(1, table.longest + 1))]
    rows = []
    for row in table.rows:
        points = f"U+{row.code_points.first:04X}..U+{row.code_points.last:04X}"
        units = [str(allowed) for allowed in row.units]
        rows.append([points, *units, *[""] * (table.longest - len(units))])
    return columns(rows, heading)


def dfa_text(dfa: DFA) -> list[str]:
    """The states of a DFA with what each awaits, and where each unit class leads."""
    heading = ["", *(str(unit_class) for unit_class in dfa.classes)]
    rows = []
    for number, state in enumerate(dfa.states):
        named = {REJECT: "", START: "done"}
        rows.append([str(number), *(named.get(target, str(target)) for target in state.transitions)])
    states = columns([[str(n), state.name] for n, state in enumerate(dfa.states)], ["State", "awaits"])
    return [*states, "", *columns(rows, heading)]


class Tally:
    """Counts of items."""

    def __init__(self) -> None:
        self.units = 0
        self.items = 0
        self.causes = dict.fromkeys(ErrorKind, 0)

    @property
    def ill_formed(self) -> int:
        """How many items are ill-formed."""
        return sum(self.causes.values())

    def add(self, items: Iterable[Item]) -> None:
        """Count items."""
        for item in items:
            self.units += item.length
            self.items += 1
            if item.error is not None:
                self.causes[item.error] += 1

    def lines(self) -> list[str]:
        """The counts for a person to read."""
        causes = [f"  {number} {kind.name}" for kind, number in self.causes.items() if number]
        return [f"{self.units} bytes, {self.items} items, {self.ill_formed} ill-formed", *causes]


def json_line(item: Item) -> str:
    """An item as one line of JSON."""
    error = None if item.error is None else item.error.name
    return json.dumps({"offset": item.offset, "length": item.length, "code_point": item.code_point, "error": error})
