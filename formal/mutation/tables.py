# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import prod

from utf8fpga.model import EncodingTable, Range


def table_mutants(table: EncodingTable) -> Iterator[tuple[str, Callable[[], EncodingTable]]]:
    """Functions that make tables with one bound of one position moved by one, or one row fewer, or raise `TableError`.

    The range of code points is changed accordingly: those that a moved bound adds or removes are at the same end of
    the row.
    """
    for index, row in enumerate(table.rows):
        name = f"row {index + 1} ({row})"
        yield f"without {name}", partial(replace, table, rows=(*table.rows[:index], *table.rows[index + 1 :]))
        for position, allowed in enumerate(row.units):
            for low, high in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                bound = f"from {allowed.first + low:02X}" if low else f"to {allowed.last + high:02X}"
                yield f"{name}: unit {position + 1} {bound}", partial(_moved, table, index, position, low, high)


def _moved(table: EncodingTable, index: int, position: int, low: int, high: int) -> EncodingTable:
    rows = [*table.rows]
    units, span = [*rows[index].units], rows[index].code_points
    units[position] = Range(units[position].first + low, units[position].last + high)
    points = prod(map(len, units))
    span = Range(span.last + 1 - points, span.last) if low else Range(span.first, span.first + points - 1)
    rows[index] = replace(rows[index], code_points=span, units=tuple(units))
    return replace(table, rows=tuple(rows))
