# SPDX-License-Identifier: BSD-2-Clause
"""The plot of the recorded figures over the number of lanes."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from utf8fpga.bench.tables import Row
from utf8fpga.hdl.toolchain import ToolError

TITLE = "Throughput at the usable clock over the number of lanes, ECP5-85F speed 6"

DARK_STYLE = "@media(prefers-color-scheme:dark){svg:root{filter:invert(.92) hue-rotate(180deg)}}"
"""For readers who prefer dark pages: light and dark change places, hues stay."""

_DEVICE = "ecp5-85k"
_MARKERS = "os^DvPX<>"
_STYLE: Any = {
    # For reproducible output: no random names, and letters as outlines, which need no font.
    "svg.hashsalt": "utf8fpga",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def plotted_lines(rows: Iterable[Row]) -> dict[str, list[tuple[int, float]]]:
    """For each kind of core the points, lanes and GB/s; kinds with one point are omitted."""
    lines: dict[str, dict[int, float]] = {}
    for row in rows:
        if row["device"] == _DEVICE and row["lanes"] and row["gigabytes_per_second"]:
            kind = re.sub(r", \d+ lanes?|, area", "", row["title"])
            lines.setdefault(kind, {})[int(row["lanes"])] = float(row["gigabytes_per_second"])
    return {kind: sorted(points.items()) for kind, points in lines.items() if len(points) > 1}


def drawn_digest(rows: Iterable[Row]) -> str:
    """A digest of what the plot shows, which its file contains: its bytes differ in the last digits of coordinates."""
    return hashlib.sha256(json.dumps(plotted_lines(rows)).encode()).hexdigest()


def lanes_plot(rows: Collection[Row]) -> bytes:
    """Throughput over lanes on logarithmic axes, as SVG described by `drawn_digest`."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise ToolError("matplotlib is not installed: pip install -e '.[plots]'") from None

    with rc_context(_STYLE):
        figure, file = Figure(figsize=(8, 5), layout="constrained"), io.BytesIO()
        axes = figure.subplots()
        lines = plotted_lines(rows)
        for (kind, points), marker in zip(lines.items(), _MARKERS, strict=False):
            axes.plot([lanes for lanes, _ in points], [rate for _, rate in points], marker=marker, label=kind)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_title(TITLE, loc="left", fontweight="bold", fontsize=10)
        axes.set_xlabel("lanes (bytes per cycle)")
        axes.set_ylabel("GB/s")
        axes.grid(visible=True, color="#dddddd", linewidth=0.6)
        axes.legend()
        described = {"Date": None, "Creator": "utf8fpga bench", "Title": TITLE, "Description": drawn_digest(rows)}
        figure.savefig(file, format="svg", metadata=described)
    # matplotlib leaves trailing spaces in some lines.
    text = "\n".join(line.rstrip() for line in file.getvalue().decode().splitlines())
    return (text.replace("</style>", f"{DARK_STYLE}</style>", 1) + "\n").encode()
