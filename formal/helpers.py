# SPDX-License-Identifier: BSD-2-Clause
"""Values that more than one proof refers to."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Mux, Value


def selected(rows: Sequence[Value], index: Value) -> Value:
    """The row with a number; the last one for numbers that are too high."""
    chosen = rows[-1]
    for number in reversed(range(len(rows) - 1)):
        chosen = Mux(index == number, rows[number], chosen)
    return chosen
