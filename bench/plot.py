# SPDX-License-Identifier: BSD-2-Clause
"""The plot of the figures over the number of lanes."""

from __future__ import annotations

import hashlib
import io
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from utf8fpga.bench.jobs import DEVICES
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model.render import DARK_STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class PlotError(ToolError):
    """A plot cannot be drawn; the message is one line with the reason."""


class _Reference(NamedTuple):
    """The throughput of a software decoder on one processor core: the lowest and the highest of its texts, in GB/s."""

    lowest: float
    highest: float
    text: str


_STYLE: Any = {
    # For reproducible output: no random names, and letters as outlines, which need no font.
    "svg.hashsalt": "utf8fpga",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}
_COLOURS = ("#0b62a4", "#c4501b", "#2f8f4e", "#7a4fa3", "#8a6d1c", "#3f3f3f", "#c2478a", "#2b8c8c", "#7c7c2a")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_DEVICE_STYLES: tuple[Any, ...] = (
    {"linestyle": ":", "fillstyle": "left"},
    {"linestyle": "-.", "fillstyle": "right"},
    {"linestyle": "-", "fillstyle": "full"},
    {"linestyle": "--", "fillstyle": "none"},
)
"""How the lines of each device in `DEVICES` are drawn; colour and marker are those of the core."""
_QUIET = "#777777"
_TITLE = "Throughput at the usable clock, and area per lane, over the number of lanes"


def drawn_digest(figures: dict[str, Any], software: dict[str, Any] | None = None) -> str:
    """A digest of the data that `scaling_plot` draws, which is stored in its file.

    It identifies the figures on any machine. The bytes of the file do not, because the last digits of
    coordinates differ between processors.
    """
    drawn = [list(_series(figures).items()), _references(software)]
    return hashlib.sha256(json.dumps(drawn).encode()).hexdigest()


def plot_tools() -> dict[str, str]:
    """The version of matplotlib, in the form of `tool_versions`."""
    try:
        import matplotlib
    except ImportError:
        raise PlotError("matplotlib is not installed: pip install 'utf8fpga[plots]'") from None
    return {"matplotlib": matplotlib.__version__}


def scaling_plot(figures: dict[str, Any], software: dict[str, Any] | None = None) -> bytes:
    """A plot of throughput at the usable clock and area per lane over lanes, as SVG described by `drawn_digest`.

    The output is determined by the figures and the version of matplotlib, except for the last digits of
    coordinates, which may differ between processors.

    Args:
        figures: the result of `figures_as_dict`; rows without lanes and rows that failed are omitted.
        software: the recorded figures of `software_table`, drawn beside; default: none.
    """
    figure, file = draw_scaling(figures, software), io.BytesIO()
    from matplotlib import rc_context

    with rc_context(_STYLE):
        metadata = {"Date": None, "Creator": "utf8fpga bench", "Description": drawn_digest(figures, software)}
        figure.savefig(file, format="svg", metadata=metadata | {"Title": _TITLE})
    # matplotlib leaves trailing spaces in some lines.
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    return b"\n".join(lines).replace(b"</style>", f"{DARK_STYLE}</style>".encode(), 1) + b"\n"


def draw_scaling(figures: dict[str, Any], software: dict[str, Any] | None = None) -> Figure:
    """The plots of `scaling_plot` as a matplotlib figure: throughput at the left, area per lane at the right.

    Args:
        figures: as for `scaling_plot`.
        software: as for `scaling_plot`.
    """
    plot_tools()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    series = _series(figures)
    if not series:
        raise PlotError("nothing to plot: no figure has lanes, area and GB/s")
    with rc_context(_STYLE):
        figure = Figure(figsize=(10, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for axes, what, title in (
            (left, 1, "throughput at the usable clock, GB/s"),
            (right, 2, "area per lane, LUT4"),
        ):
            _draw(axes, series, what)
            axes.set_title(title, loc="left", fontweight="bold")
            axes.set_xlabel("lanes (bytes per cycle)")
        _draw_proportion(left, max(series.values(), key=len))
        _draw_software(left, _references(software))
        lowest, highest = left.get_ylim()
        left.set_ylim(lowest * 0.7, max(highest * 1.3, lowest * 20))
        right.set_ylim(0, right.get_ylim()[1])
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)))
    return figure


_Series = dict[tuple[str, str], list[tuple[int, float, float]]]
"""For each core and device the points: lanes, GB/s and LUT4 per lane."""


def _series(figures: dict[str, Any]) -> _Series:
    series: dict[tuple[str, str], dict[int, tuple[int, float, float]]] = {}
    sparse = {(row["series"], row["device"]) for row in figures["figures"] if row["packed"] is False}
    for row in figures["figures"]:
        if not row["lanes"] or row["gigabytes_per_second"] is None or not row["area"]:
            continue
        core = row["series"] or row["title"]
        # The words of one lane are always contiguous.
        is_either = (row["series"], row["device"]) in sparse
        words = ", packed" if is_either and row["packed"] and row["lanes"] > 1 else ""
        lanes, area = row["lanes"], row["area"]["luts"] / row["lanes"]
        # With other settings of the pipeline there are several rows, of which the fastest is the first.
        points = series.setdefault((f"{core}{words}", row["device"]), {})
        points.setdefault(lanes, (lanes, row["gigabytes_per_second"], area))
    return {line: sorted(points.values()) for line, points in series.items()}


def _references(software: dict[str, Any] | None) -> list[_Reference]:
    if software is None:
        return []
    found = []
    for name, title in (("codec", "CPython"), ("arrays", "decode_array")):
        speeds = [row[name] / 1e9 for row in software["software"]]
        found.append(_Reference(min(speeds), max(speeds), f"{title}, one core"))
    return found


def _draw(axes: Axes, series: _Series, what: int) -> None:
    most = max(lanes for points in series.values() for lanes, _, _ in points)
    cores = list(dict.fromkeys(core for core, _ in series))
    for (core, device), points in series.items():
        number = cores.index(core)
        style: Any = {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number % len(_MARKERS)]}
        style |= _DEVICE_STYLES[list(DEVICES).index(device) % len(_DEVICE_STYLES)]
        label = f"{core}, {DEVICES[device].title}"
        axes.plot([p[0] for p in points], [p[what] for p in points], label=label, markersize=5, linewidth=1.6, **style)
    axes.set_xscale("log", base=2)
    ticks = [1 << power for power in range(most.bit_length())]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlim(0.8, max(most, 2) * 1.25)
    _label_ticks(axes)
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _label_ticks(axes: Axes) -> None:
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _draw_proportion(axes: Axes, points: list[tuple[int, float, float]]) -> None:
    """A logarithmic axis with a line in proportion to the lanes, through the point with the most lanes."""
    axes.set_yscale("log")
    _label_ticks(axes)  # Those of the new scale.
    (least, *_), (most, reached, _) = points[0], points[-1]
    if least != most:
        axes.plot(
            [least, most],
            [reached * least / most, reached],
            color=_QUIET,
            linestyle=(0, (4, 3)),
            linewidth=1,
            zorder=1,
            label="in proportion to the lanes",
        )


def _draw_software(axes: Axes, references: list[_Reference]) -> None:
    """Horizontal bands between the lowest and the highest throughput of software, labelled at the right end."""
    lowest, highest = axes.get_ylim()
    axes.set_ylim(min(lowest, *(each.lowest / 2 for each in references), 0.15), max(highest, 8))
    _, end = axes.get_xlim()
    for reference in references:
        axes.axhspan(reference.lowest, reference.highest, color=_QUIET, alpha=0.18, linewidth=0, zorder=0)
        # Bands may overlap: the label of the lowest is below it, the others are above them.
        is_above = reference != min(references, key=lambda each: each.lowest)
        axes.annotate(
            f"{reference.text}: {reference.lowest:.2g} to {reference.highest:.2g}",
            (end, reference.highest if is_above else reference.lowest),
            xytext=(-2, 2 if is_above else -2),
            textcoords="offset points",
            ha="right",
            va="bottom" if is_above else "top",
            fontsize=8,
            color="#444444",
        )
