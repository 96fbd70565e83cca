# SPDX-License-Identifier: BSD-2-Clause
"""The cores whose figures are recorded, and the tables of figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from utf8fpga.bench.design import measured_core
from utf8fpga.bench.measure import DEVICES, Figure, Point, tool_versions
from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    RemoverParameters,
    SanitizerParameters,
    TranscoderParameters,
    ValidatorParameters,
    command_words,
)
from utf8fpga.model.render import markdown

ON_README: tuple[tuple[str, CoreParameters], ...] = (
    ("hx8k", DecoderParameters(optimize="area")),
    ("hx8k", DecoderParameters()),
    ("ecp5-85k", DecoderParameters(lanes=4, packed=False)),
    ("ecp5-85k", DecoderParameters(lanes=64, packed=False)),
    ("ecp5-85k", DecoderParameters(lanes=4)),
    ("ecp5-85k", DecoderParameters(lanes=16)),
)
"""The figures in the README: the names of the devices, and the cores."""

ON_PAGE: tuple[tuple[str, CoreParameters], ...] = (
    *ON_README,
    ("ecp5-85k", DecoderParameters(lanes=64)),
    ("ecp5-85k", TranscoderParameters(to="utf-16-le", lanes=4)),
    ("ecp5-85k", TranscoderParameters(to="utf-16-le", lanes=16)),
    ("ecp5-85k", ValidatorParameters(lanes=16)),
    ("ecp5-85k", RemoverParameters(lanes=16)),
    ("ecp5-85k", SanitizerParameters(lanes=16)),
)
"""The figures on the page."""

RECORDED: tuple[tuple[str, CoreParameters], ...] = (
    *ON_PAGE,
    ("up5k", DecoderParameters(optimize="area")),
    ("up5k", DecoderParameters()),
    ("hx8k", TranscoderParameters(to="utf-16-le", optimize="area")),
    ("ecp5-85k", DecoderParameters(optimize="area")),
    ("ecp5-85k", DecoderParameters()),
    ("ecp5-85k", DecoderParameters(lanes=16, packed=False)),
    ("ecp5-85k", DecoderParameters(lanes=32)),
    ("ecp5-85k", TranscoderParameters(to="utf-16-le")),
    ("ecp5-85k", TranscoderParameters()),
    *(("ecp5-85k", ValidatorParameters(lanes=lanes)) for lanes in (1, 64, 256)),
    ("ecp5-85k", RemoverParameters(lanes=64)),
    *(("ecp5-85k", SanitizerParameters(lanes=lanes)) for lanes in (1, 64)),
    ("ecp5-85k-8", DecoderParameters(lanes=64, packed=False)),
    ("ecp5-85k-8", DecoderParameters(lanes=16)),
)
"""All figures that `utf8fpga bench --record` measures."""

SEEDS, SEEDS_WIDE, WIDE = 5, 3, 64
"""The number of seeds for recorded figures, and that for cores with so many lanes, which take long."""

Row = Mapping[str, Any]
"""A figure for JSON, for a line of the CSV file and for the tables."""


def recorded_points() -> list[Point]:
    """The points of `RECORDED`."""
    return [
        Point(measured_core(parameters), DEVICES[device], SEEDS_WIDE if parameters.lanes >= WIDE else SEEDS)
        for device, parameters in RECORDED
    ]


def selected(rows: Iterable[Row], points: Sequence[tuple[str, CoreParameters]]) -> list[Row]:
    """The rows of some of the points of `RECORDED`, in their order."""
    by_point = {(row["device"], row["core"]): row for row in rows}
    wanted = [(device, " ".join(command_words(parameters))) for device, parameters in points]
    return [by_point[point] for point in wanted if point in by_point]


def row_of(figure: Figure) -> Row:
    """A figure as a row; unknown values are None."""
    core = figure.point.core
    rate = figure.gigabytes_per_second
    return {
        "title": core.title,
        "device": figure.point.device.name,
        "lanes": core.lanes,
        "cells": figure.cells,
        "luts": figure.luts,
        "flip_flops": figure.flip_flops,
        "latency": core.latency,
        "usable_mhz": figure.usable_mhz,
        "fabric_mhz": figure.fabric_mhz,
        "seeds": figure.point.seeds,
        "fabric_mhz_by_seed": list(figure.by_seed),
        "bytes_per_clock": core.bytes_per_clock,
        "gigabytes_per_second": None if rate is None else round(rate, 5),
        "core": core.core,
        "tools": figure.tools,
        "digest": core.digest,
    }


def is_current(row: Row, point: Point) -> bool:
    """Whether a row of the CSV file is of the same circuit, device, seeds and tools as a point."""
    wanted = point.core.digest, point.device.name, str(point.seeds), tool_versions(point.device)
    return tuple(row[name] for name in ("digest", "device", "seeds", "tools")) == wanted


def csv_text(rows: Sequence[Row]) -> str:
    """Rows as a CSV file; an unknown value is empty."""
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "fabric_mhz_by_seed": " ".join(map(str, row["fabric_mhz_by_seed"]))})
    return file.getvalue()


def read_csv(text: str) -> list[Row]:
    """The rows of a CSV file; all values are texts, or a list of them."""
    rows = csv.DictReader(io.StringIO(text))
    return [{**row, "fabric_mhz_by_seed": row["fabric_mhz_by_seed"].split()} for row in rows]


CELLS_OF_ECP5_85F = 83640
"""The logic cells of the device, as nextpnr-ecp5 reports them."""


def claim(rows: Iterable[Row]) -> str:
    """The sentence on the widest and the smallest decoder at the top of the README."""
    small, wide = selected(rows, (ON_README[0], ON_README[3]))
    rate, share = float(wide["gigabytes_per_second"]), int(wide["cells"]) / CELLS_OF_ECP5_85F
    return (
        f"**The widest: {wide['lanes']} bytes per cycle, {rate:.1f} GB/s, in {100 * share:.0f} % of an ECP5-85F. The"
        f" smallest: a byte per cycle in {small['cells']} logic cells of an iCE40.**"
    )


_HEADING = ("core", "device", "cells", "flip-flops", "latency", "MHz (fabric)", "seeds", "GB/s")


def figures_table(rows: Sequence[Row]) -> str:
    """Figures as a Markdown table; the values may be those of a CSV file."""
    lines: list[list[str]] = []
    versions: dict[str, None] = {}
    for row in rows:
        usable, fabric = float(row["usable_mhz"]), float(row["fabric_mhz"])
        rate = row["gigabytes_per_second"]
        counts = [str(row[name] or "-") for name in ("cells", "flip_flops", "latency")]
        lines.append(
            [
                row["title"],
                DEVICES[row["device"]].title,
                *counts,
                f"{usable:.0f} ({fabric:.0f})",
                str(row["seeds"]),
                f"{float(rate):.2f}" if rate not in (None, "") else "-",
            ]
        )
        versions |= dict.fromkeys(row["tools"].split(", "))
    clocks = "MHz: the usable clock, and in parentheses nextpnr's estimate, the median of the seeds"
    note = f"Latency in cycles. {clocks}. {', '.join(versions)}."
    return f"{markdown(_HEADING, lines, left=(0, 1))}\n\n{note}"


def limits_table() -> str:
    """The limits of the devices' clock networks, as a Markdown table."""
    rows = [[device.title, f"{device.limit_mhz:g}", device.document] for device in DEVICES.values()]
    return markdown(["device", "clock network, MHz", "source"], rows, left=(0, 2))
