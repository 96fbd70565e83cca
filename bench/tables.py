# SPDX-License-Identifier: BSD-2-Clause
"""The figures in the README and the docs: their points, and their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from utf8fpga.bench.cache import Cache
from utf8fpga.bench.design import Design, measured_core
from utf8fpga.bench.jobs import DEVICES, FORMAT, Area, Device, Speed, tool_versions
from utf8fpga.bench.sweep import Figure, Point
from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
)
from utf8fpga.hdl.remover import RemoverParameters
from utf8fpga.hdl.transcoder.parameters import TranscoderParameters
from utf8fpga.model.render import markdown

SETTINGS: tuple[tuple[str, DecoderParameters], ...] = (
    ("smallest", DecoderParameters(optimize="area")),
    ("pipelined", DecoderParameters()),
)
"""The settings of the serial decoder in the table of figures, with their titles."""


class Scaling(NamedTuple):
    """A point of the figures over the number of lanes.

    Attributes:
        device: the name of the device.
        parameters: the parameters of the core.
        seeds: the number of seeds.
    """

    device: str
    parameters: CoreParameters
    seeds: int


def _points(device: str, *cores: CoreParameters, seeds: int = 5) -> tuple[Scaling, ...]:
    """Points on a device with so many seeds; fewer for wide cores, whose place and route takes long."""
    lanes = [getattr(each, "lanes", 1) for each in cores]
    most = [seeds if number < 64 else min(3, seeds) if number < 256 else 1 for number in lanes]
    return tuple(Scaling(device, *point) for point in zip(cores, most, strict=True))


def _sparse(*lanes: int) -> list[CoreParameters]:
    return [DecoderParameters(lanes=each, packed=False) for each in lanes]


def _packed(*lanes: int) -> list[CoreParameters]:
    return [DecoderParameters(lanes=each) for each in lanes]


SCALING: tuple[Scaling, ...] = (
    *_points("hx8k", DecoderParameters()),
    *_points("ecp5-85k", DecoderParameters(), *_sparse(64, 4, 16), *_packed(16, 32, 2, 4, 8)),
    *_points("ecp5-85k", *_packed(64), seeds=1),
    *_points("ecp5-85k-8", DecoderParameters(), *_sparse(64), *_packed(4, 16)),
)
"""The points that `utf8fpga bench --record` measures for area and speed over the number of lanes."""

CORES_MEASURED: tuple[Scaling, ...] = (
    *_points("hx8k", TranscoderParameters(to="utf-16-le", optimize="area")),
    *_points(
        "ecp5-85k",
        *(TranscoderParameters(to="utf-16-le", lanes=lanes) for lanes in (1, 4, 16)),
        *(TranscoderParameters(lanes=lanes) for lanes in (1, 16)),
        *(TranscoderParameters(to=to, optimize="area") for to in ("utf-8", "utf-16-le")),
        *(RemoverParameters(lanes=lanes) for lanes in (16, 64)),
    ),
    *_points("ecp5-85k", TranscoderParameters(to="utf-16-le", lanes=64), seeds=1),
)
"""The points of the other cores that `utf8fpga bench --record` measures."""

COMMAND = "utf8fpga bench --record ."
"""The command that writes the figures into a checkout."""


def setting_points(devices: Sequence[Device], seeds: Sequence[int], cache: Cache | None = None) -> list[Point]:
    """The points of all `SETTINGS` on each of the devices."""
    cores = [measured_core(parameters, title, cache=cache) for title, parameters in SETTINGS]
    return [Point(core, device, tuple(seeds)) for core in cores for device in devices]


def scaling_points(rows: Iterable[Scaling] = SCALING, cache: Cache | None = None) -> list[Point]:
    """The points of `SCALING` or `CORES_MEASURED`."""
    cores: dict[CoreParameters, Design] = {}
    for row in rows:
        if row.parameters not in cores:
            cores[row.parameters] = measured_core(row.parameters, cache=cache)
    return [Point(cores[row.parameters], DEVICES[row.device], tuple(range(1, row.seeds + 1))) for row in rows]


def figures_as_dict(figures: Sequence[Figure], command: str) -> dict[str, Any]:
    """Figures as a dictionary for JSON, with command, versions of the tools, and limits of the clock networks."""
    devices = {figure.point.device.name: figure.point.device for figure in figures}
    limits = {name: asdict(device.limit) for name, device in devices.items()}
    rows = [figure.as_dict() for figure in figures]
    tools = tool_versions(devices.values())
    return {"command": command, "format": FORMAT, "tools": tools, "clock_limits": limits, "figures": rows}


def kept_figure(point: Point, recorded: Iterable[dict[str, Any]]) -> Figure | None:
    """The figure of a point from earlier results; None unless the circuit, the seeds and the tools are the same.

    Args:
        point: the point.
        recorded: results of `figures_as_dict`.
    """
    tools = tool_versions([point.device])
    for figures in recorded:
        if figures.get("format", 1) != FORMAT or not tools.items() <= figures["tools"].items():
            continue
        for row in figures["figures"]:
            if row["design"] == point.core.design and row["device"] == point.device.name and row["error"] is None:
                speed = row["speed"] | {"by_seed": {int(seed): mhz for seed, mhz in row["speed"]["by_seed"].items()}}
                if tuple(speed["by_seed"]) == point.seeds:
                    return Figure(point, Area(**row["area"]), Speed(**speed), None)
    return None


def figures_table(figures: dict[str, Any]) -> str:
    """The figures of `setting_points` as a Markdown table with one line per setting."""
    heading = ["setting", "latency"]
    for name in dict.fromkeys(row["device"] for row in figures["figures"]):
        heading += [f"{DEVICES[name].title}, cells", "MHz (fabric)"]
    lines: dict[str, list[str]] = {}
    for row in figures["figures"]:
        cells = lines.setdefault(row["title"], [row["title"], f"{row['latency']}"])
        cells += [_number(_of(row, "area", "cells")), _usable_and_fabric(row)]
    table = markdown(heading, lines.values(), left=(0, 1))
    return _with_note(table, figures, "those of the fabric in parentheses; one byte per cycle, so MHz are also MB/s")


def points_table(figures: dict[str, Any]) -> str:
    """Figures of any points as a Markdown table with one line per point."""
    heading = ["device", "core", "lanes", "words", "latency", "cells", "LUT4", "flip-flops", "LUT4 per lane"]
    heading += ["MHz", "fabric MHz (lowest..highest)", "GB/s"]
    lines = []
    for row in figures["figures"]:
        lanes, luts = row["lanes"], _of(row, "area", "luts")
        rate = row["gigabytes_per_second"]
        lines.append(
            [
                DEVICES[row["device"]].title,
                row["title"],
                _number(lanes),
                {True: "packed", False: "sparse", None: "-"}[row["packed"]],
                _number(row["latency"]),
                _number(_of(row, "area", "cells")),
                _number(luts),
                _number(_of(row, "area", "flip_flops")),
                _number(luts / lanes if luts and lanes else None),
                _number(row["usable_mhz"]),
                _clocks(row["speed"]),
                "-" if rate is None else f"{rate:.2f}",
            ]
        )
    return _with_note(markdown(heading, lines, left=(0, 1, 3)), figures, "GB/s on the worst input")


SOFTWARE = {
    "codec": "CPython `bytes.decode`",
    "handler": "with an error handler",
    "arrays": "`decode_array`",
    "plain": "`decode`",
}
"""The software decoders of `bench --software`: the names of their speeds, and their titles."""

SUMMARY = (
    ("serial, smallest", "hx8k", {"title": "smallest"}),
    ("serial, fastest", "hx8k", {"title": "pipelined"}),
    ("parallel, 4 lanes, sparse", "ecp5-85k", {"title": "parallel, 4 lanes, sparse"}),
    ("parallel, 64 lanes, sparse", "ecp5-85k", {"lanes": 64, "packed": False}),
    ("parallel, 64 lanes, sparse", "ecp5-85k-8", {"lanes": 64, "packed": False}),
    ("parallel, 16 lanes, packed", "ecp5-85k", {"lanes": 16, "packed": True}),
)
"""The rows of `summary_table`: a title, the device, and the values that select the figure."""


def summary_table(figures: dict[str, Any], scaling: dict[str, Any]) -> str:
    """Selected figures of `setting_points` and `scaling_points` as a Markdown table."""
    heading = ["decoder", "device", "logic cells", "flip-flops", "MHz (fabric)", "GB/s", "latency, cycles"]
    lines = []
    for title, device, selection in SUMMARY:
        every = [*figures["figures"], *scaling["figures"]]
        row = next(row for row in every if row["device"] == device and selection.items() <= row.items())
        area = [_number(_of(row, "area", part)) for part in ("cells", "flip_flops")]
        rate = f"{row['gigabytes_per_second']:.2f}"
        lines.append([title, DEVICES[device].title, *area, _usable_and_fabric(row), rate, f"{row['latency']}"])
    table = markdown(heading, lines, left=(0, 1))
    return _with_note(table, scaling, "those of the fabric in parentheses; GB/s on the worst input")


def _with_note(table: str, figures: dict[str, Any], remark: str) -> str:
    counts = sorted({len(row["speed"]["by_seed"]) for row in figures["figures"] if row["speed"]})
    seeds = "1 seed" if counts == [1] else f"{' or '.join(map(str, counts)) or 'no'} seeds"
    tools = ", ".join(f"{tool} {number}" for tool, number in figures["tools"].items())
    devices = dict.fromkeys(DEVICES[row["device"]] for row in figures["figures"])
    unchecked = ", ".join(device.title for device in devices if not device.limit.is_checked)
    limit = f"MHz at most those of the clock network{f' (not checked: {unchecked})' if unchecked else ''}"
    note = f"Median of {seeds}; {limit}; {remark}. {tools}; written by `{figures['command']}`."
    failed = [
        f"- {row['title']} on {row['device']} failed: {row['error']}" for row in figures["figures"] if row["error"]
    ]
    return "\n".join([table, "", note, *([""] if failed else []), *failed])


def _of(row: dict[str, Any], part: str, what: str) -> Any:
    return row[part] and row[part][what]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _usable_and_fabric(row: dict[str, Any]) -> str:
    return "-" if row["speed"] is None else f"{row['usable_mhz']:.0f} ({row['speed']['mhz']:.0f})"


def _clocks(speed: dict[str, Any] | None) -> str:
    if speed is None:
        return "-"
    clocks: Iterable[float] = speed["by_seed"].values()
    return f"{speed['mhz']:.0f} ({min(clocks):.0f}..{max(clocks):.0f})"


def limits_table() -> str:
    """The limits of the devices' clock networks, as a Markdown table."""
    rows = []
    for device in DEVICES.values():
        limit = device.limit
        source = limit.document if limit.is_checked else f"{limit.document}; from memory, not checked"
        rows.append([device.title, f"{limit.mhz:g}", source])
    return markdown(["device", "clock network, MHz", "source"], rows, left=(0, 2))


def software_table(figures: dict[str, Any]) -> str:
    """The throughput of the software decoders, as a Markdown table with processor, texts and versions.

    Args:
        figures: those of the command `bench --software`: `command`, `processor`, `tools` and `software`.
    """
    rows = [
        [row["text"], f"{row['bytes'] / 1e6:.1f}", *(f"{row[name] / 1e9:.3f}" for name in SOFTWARE)]
        for row in figures["software"]
    ]
    table = markdown(["text", "MB", *(f"{title}, GB/s" for title in SOFTWARE.values())], rows, left=(0,))
    tools = ", ".join(f"{name} {version}" for name, version in figures["tools"].items())
    runs = "best of five runs, of `decode` one"
    note = f"One core of {figures['processor']}, {tools}; {runs}; written by `{figures['command']}`."
    return f"{table}\n\n{note}"
