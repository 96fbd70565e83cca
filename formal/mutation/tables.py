# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from utf8fpga.model import EncodingTable, Range, Row, TableError


def table_mutants(table: EncodingTable) -> Iterator[tuple[str, EncodingTable | TableError]]:
    """Tables with one bound of one position moved by one, or one row fewer; or the error, if there is no such table.

    The range of code points is changed accordingly: those that a moved bound adds or removes are at the same end of
    the row.
    """
    for index, row in enumerate(table.rows):
        before, after = table.rows[:index], table.rows[index + 1 :]
        name = f"row {index + 1} ({row})"
        yield f"without {name}", _table(table, (*before, *after))
        for position, allowed in enumerate(row.units):
            for low, high in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                bound = f"from {allowed.first + low:02X}" if low else f"to {allowed.last + high:02X}"
                changed = _moved(row, position, low, high)
                made = changed if isinstance(changed, TableError) else _table(table, (*before, changed, *after))
                yield f"{name}: unit {position + 1} {bound}", made


def _moved(row: Row, position: int, low: int, high: int) -> Row | TableError:
    units, span = list(row.units), row.code_points
    try:
        units[position] = Range(units[position].first + low, units[position].last + high)
        points = prod(map(len, units))
        span = Range(span.last + 1 - points, span.last) if low else Range(span.first, span.first + points - 1)
        return replace(row, code_points=span, units=tuple(units))
    except TableError as error:
        return error


def _table(table: EncodingTable, rows: tuple[Row, ...]) -> EncodingTable | TableError:
    try:
        return replace(table, rows=rows)
    except TableError as error:
        return error
