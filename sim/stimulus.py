# SPDX-License-Identifier: BSD-2-Clause
"""Stimulus that is biased to the bounds of the ranges of a table, near which errors are most likely."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

from amaranth.hdl import Module, Signal, Value

from utf8fpga.hdl import CoreEntry
from utf8fpga.model import TABLE_3_7, EncodingTable


def boundary_units(table: EncodingTable = TABLE_3_7) -> list[int]:
    """Every bound of the table's ranges, the units next to it, the lowest and the highest unit, ascending."""
    bounds = [bound for row in table.rows for allowed in row.units for bound in (allowed.first, allowed.last)]
    top = (1 << table.unit_width) - 1
    return sorted({0, *_near(bounds, table), top})


def _near(bounds: list[int], table: EncodingTable) -> list[int]:
    """The bounds and the units next to them, ascending."""
    near = {unit for bound in bounds for unit in (bound - 1, bound, bound + 1)}
    return sorted(unit for unit in near if 0 <= unit < 1 << table.unit_width)


@cache
def boundary_sequences(table: EncodingTable = TABLE_3_7) -> list[tuple[int, ...]]:
    """For each row the combinations of the bounds of its ranges and the units next to them, and their prefixes."""
    found: dict[tuple[int, ...], None] = {}
    for row in table.rows:
        near = [_near([each.first, each.last], table) for each in row.units]
        for length in range(1, len(near) + 1):
            found.update(dict.fromkeys(product(*near[:length])))
    return list(found)


_NARROW = 16
"""The bits of some of the symbols that are drawn, if these have more."""

_CHOICE_BITS = 6
"""The random bits that select a symbol near a bound."""


def stimulus_bounds(entry: CoreEntry[Any]) -> list[int]:
    """The symbols near the bounds of the ranges of a core's input, and of the rows of its output if they are words."""
    table = entry.input_table
    if table is None:
        return [0]
    found = set(boundary_units(table))
    if table.unit_width > _NARROW:
        points = [row.code_points.last for form in entry.tables for row in form.rows]
        found |= {point + step for point in points for step in (0, 1)}
    return sorted(found)


def near_bounds(m: Module, bounds: Sequence[int], drawn: Value, bias: Value) -> Signal:
    """A symbol made of random bits: near a bound in two of four cases of `bias`, small in one, any in the other."""
    found, near = Signal(len(drawn)), Signal(len(drawn))
    with m.Switch(drawn[:_CHOICE_BITS]):
        for number in range(1 << _CHOICE_BITS):
            with m.Case(number):
                m.d.comb += near.eq(bounds[number * len(bounds) >> _CHOICE_BITS])
    with m.Switch(bias):
        with m.Case(0, 1):
            m.d.comb += found.eq(near)
        with m.Case(2):
            m.d.comb += found.eq(drawn[: min(len(drawn), _NARROW)])
        with m.Default():
            m.d.comb += found.eq(drawn)
    return found
