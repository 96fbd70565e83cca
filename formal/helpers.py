# SPDX-License-Identifier: BSD-2-Clause
"""Values that more than one proof refers to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amaranth.hdl import Const, Mux, Value


def how_many(bits: Iterable[Value]) -> Value:
    """The number of bits that are set, in as many bits as it needs."""
    total: Value = Const(0, 1)
    for bit in bits:
        total = total + bit
    return total


def selected(rows: Sequence[Value], index: Value) -> Value:
    """The row with a number; the last one for numbers that are too high."""
    chosen = rows[-1]
    for number in reversed(range(len(rows) - 1)):
        chosen = Mux(index == number, rows[number], chosen)
    return chosen
