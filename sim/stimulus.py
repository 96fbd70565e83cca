# SPDX-License-Identifier: BSD-2-Clause
"""Texts for long simulations: biased to the bounds of the ranges of a table, near which errors are most likely."""

from __future__ import annotations

from functools import cache
from itertools import product
from random import Random

from utf8fpga.model import TABLE_3_7, EncodingTable

_MOST_SEQUENCES = 6
"""Sequences in most texts; one in `_LONG` is as long as this to the third power."""

_LONG = 50


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


def random_text(draw: Random, table: EncodingTable | None, width: int) -> list[int]:
    """A text: sequences from bounds, well-formed ones, damaged ones, or noise, which may be empty.

    Args:
        table: the encoding form; None: noise.
        width: the bits of a symbol.
    """
    most = _MOST_SEQUENCES if draw.randrange(_LONG) else _MOST_SEQUENCES**3
    count = draw.randrange(most + 1)
    if table is None or not draw.randrange(5):
        # Of any magnitude.
        return [draw.getrandbits(draw.randint(1, width)) for _ in range(count)]
    kind = draw.randrange(3)
    found: list[int] = []
    for _ in range(count):
        if kind == 0 or (kind == 1 and not draw.randrange(4)):
            found += draw.choice(boundary_sequences(table))
        else:
            row = draw.choice(table.rows)
            found += row.encode(draw.randint(row.code_points.first, row.code_points.last))
    if kind == 2 and found and draw.randrange(2):
        _damage(draw, found, width)
    return found


def _damage(draw: Random, text: list[int], width: int) -> None:
    """Remove, duplicate or replace a symbol, or invert a bit of it."""
    place = draw.randrange(len(text))
    text[place : place + 1] = draw.choice(
        ([], [text[place]] * 2, [draw.getrandbits(width)], [text[place] ^ 1 << draw.randrange(width)])
    )
