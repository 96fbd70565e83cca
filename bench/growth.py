# SPDX-License-Identifier: BSD-2-Clause
"""How packed decoders grow with the number of lanes, beyond those that are measured.

Each item passes a network with log2 n steps, so that a lane has a constant part and one for each step: the counts per
lane are lines over log2 n. The longest wires of the network lead past half of the lanes: the period of the clock is a
line over n. All are fitted to the measured points by least squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from utf8fpga.bench.jobs import DEVICES
from utf8fpga.bench.tables import COMMAND
from utf8fpga.model.render import markdown

_DEVICE = DEVICES["ecp5-85k"]

_LEAST = 4
"""Lanes from which on a packed decoder has all parts of its network."""

_BEYOND = (64, 128, 256)
"""Lanes for which the fit is shown even without a measurement."""

_COUNTS = {"cells": "cells", "luts": "LUT4", "flip_flops": "flip-flops"}
"""The counts of an area, and their titles."""


class Chip(NamedTuple):
    """A device that may be large enough.

    Attributes:
        cells: its look-up tables, of four inputs or more.
        source: where the numbers are from.
    """

    title: str
    cells: int
    flip_flops: int
    source: str


CHIPS = (
    Chip("Lattice ECP5-85F", 83_640, 83_640, "nextpnr-ecp5"),
    Chip("AMD Artix-7 XC7A200T", 134_600, 269_200, "DS180; from memory, not checked"),
    Chip("AMD Kintex-7 XC7K325T", 203_800, 407_600, "DS180; from memory, not checked"),
)
"""Devices by size."""


class _Law(NamedTuple):
    """A line over a function of the number of lanes, a key of `_FUNCTIONS`."""

    function: str
    constant: float
    step: float

    @staticmethod
    def fitted(function: str, points: dict[int, float], weights: Iterable[int]) -> _Law:
        """The line with the least squares of the weighted distances."""
        from numpy import polyfit  # Of the extra `arrays`, which other commands do without.

        step, constant = polyfit([*map(_FUNCTIONS[function], points)], [*points.values()], 1, w=[*weights])
        # The last digits depend on the processor.
        return _Law(function, round(float(constant), 9), round(float(step), 9))

    def at(self, lanes: int) -> float:
        return self.constant + self.step * _FUNCTIONS[self.function](lanes)

    def __str__(self) -> str:
        return f"{self.constant:.3g} {'-' if self.step < 0 else '+'} {abs(self.step):.3g} {self.function}"


_FUNCTIONS: dict[str, Callable[[float], float]] = {"log2 n": math.log2, "n": float}


def growth_block(scaling: dict[str, Any]) -> str:
    """The measured points and the fit as Markdown, and what the largest decoder needs.

    Args:
        scaling: the figures of `scaling_points`.
    """
    rows = {
        row["lanes"]: row
        # Of several settings of the pipeline the fastest is the first, which remains.
        for row in reversed(scaling["figures"])
        if row["device"] == _DEVICE.name and row["packed"] and row["lanes"] >= _LEAST and row["speed"]
    }
    # With the lanes as weights the squares are those of whole decoders.
    counts = {
        count: _Law.fitted("log2 n", {lanes: row["area"][count] / lanes for lanes, row in rows.items()}, rows)
        for count in _COUNTS
    }
    period = _Law.fitted("n", {lanes: 1000 / row["speed"]["mhz"] for lanes, row in rows.items()}, [1] * len(rows))
    heading = ["lanes", *_COUNTS.values(), "fabric MHz"]
    lines, errors = _fitted_lines(rows, counts, period)
    most = _BEYOND[-1]
    needed = {count: most * counts[count].at(most) for count in ("cells", "flip_flops")}
    chips = [
        [
            chip.title,
            *(f"{each:,}" for each in chip[1:3]),
            f"{max(needed['cells'] / chip.cells, needed['flip_flops'] / chip.flip_flops):.0%}",
            chip.source,
        ]
        for chip in CHIPS
    ]
    usable = min(1000 / period.at(most), _DEVICE.limit.mhz)
    return "\n\n".join(
        [
            markdown(heading, lines, left=()),
            f"Measured on {_DEVICE.title}, the fit in parentheses; without measurement only the fit. Per lane:"
            f" {'; '.join(f'{title} {counts[count]}' for count, title in _COUNTS.items())}. Period: {period} ns."
            f" Largest error: {', '.join(map('{} {:.0%}'.format, heading[1:], errors))}."
            f" Written by `{COMMAND}`.",
            f"By these laws {most} lanes need {needed['cells']:,.0f} cells and {needed['flip_flops']:,.0f} flip-flops."
            f" The fabric of an {_DEVICE.title} would reach {1000 / period.at(most):.0f} MHz, which are"
            f" {most * usable / 1000:.1f} GB/s.",
            markdown(
                ["chip", "look-up tables", "flip-flops", f"share that {most} lanes need", "source"], chips, left=(0, 4)
            ),
        ]
    )


def _fitted_lines(
    rows: Mapping[int, dict[str, Any]], counts: Mapping[str, _Law], period: _Law
) -> tuple[list[list[str]], list[float]]:
    """The lines of the table, and the largest error of each column."""
    lines, errors = [], [0.0] * (len(counts) + 1)
    for lanes in sorted({*rows, *_BEYOND}):
        fits = [*(lanes * law.at(lanes) for law in counts.values()), 1000 / period.at(lanes)]
        if row := rows.get(lanes):
            measured = [*(row["area"][count] for count in counts), row["speed"]["mhz"]]
            pairs = list(zip(measured, fits, strict=True))
            errors = [max(error, abs(fit / value - 1)) for error, (value, fit) in zip(errors, pairs, strict=True)]
            lines.append([f"{lanes}", *(f"{value:,.0f} ({fit:,.0f})" for value, fit in pairs)])
        else:
            lines.append([f"{lanes}", *(f"({fit:,.0f})" for fit in fits)])
    return lines, errors
