# SPDX-License-Identifier: BSD-2-Clause
"""Stimulus that is biased to the bounds of the ranges of a table, near which errors are most likely."""

from __future__ import annotations

from functools import cache
from itertools import product

from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.table import EncodingTable

__all__ = ["boundary_sequences", "boundary_units", "near"]


def boundary_units(table: EncodingTable = TABLE_3_7) -> list[int]:
    """Every bound of the table's ranges, the units next to it, the lowest and the highest unit, ascending."""
    bounds = [bound for row in table.rows for allowed in row.units for bound in (allowed.first, allowed.last)]
    top = (1 << table.unit_width) - 1
    return sorted({0, *near(bounds, table), top})


def near(bounds: list[int], table: EncodingTable) -> list[int]:
    """The bounds and the units next to them, ascending."""
    found = {unit for bound in bounds for unit in (bound - 1, bound, bound + 1)}
    return sorted(unit for unit in found if 0 <= unit < 1 << table.unit_width)


@cache
def boundary_sequences(table: EncodingTable = TABLE_3_7) -> list[tuple[int, ...]]:
    """For each row the combinations of the bounds of its ranges and the units next to them, and their prefixes."""
    found: dict[tuple[int, ...], None] = {}
    for row in table.rows:
        units = [near([each.first, each.last], table) for each in row.units]
        for length in range(1, len(units) + 1):
            found.update(dict.fromkeys(product(*units[:length])))
    return list(found)
