# SPDX-License-Identifier: BSD-2-Clause
"""Area and speed of a decoder, as the place and route tools report them.

Area is that of the bare core after packing. For speed the core stands between flip-flops, one on
every input and output, fed by a shift register and read by another, so that neither pins nor
logic outside count; several seeds, and their median.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from amaranth.lib.wiring import In

from utf8fpga.hdl import SerialDecoder, axi_rtlil, axi_signature, axi_verilog
from utf8fpga.hdl.tools import ToolError, run_tool, tool_version

__all__ = [
    "DEVICES",
    "SETTINGS",
    "Area",
    "Device",
    "Speed",
    "design_digest",
    "figures_table",
    "measure_all",
    "measure_area",
    "measure_speed",
    "tool_versions",
]

TARGET_MHZ = 400
"""The clock that nextpnr is asked for; it stops improving where it is met."""


@dataclass(frozen=True)
class Device:
    """A device that figures are given for.

    Attributes:
        name: as on the command line.
        title: as people know it.
        family: Yosys's name, in ``synth_ice40`` and ``synth_ecp5``.
        router: the nextpnr program.
        options: what tells it the device, package and speed grade.
        no_carry: the synthesis option that leaves carry chains out.
        cell: what nextpnr calls a logic cell.
    """

    name: str
    title: str
    family: str
    router: str
    options: tuple[str, ...]
    no_carry: str
    cell: str


def _ice40(name: str, title: str, package: str) -> Device:
    options = (f"--{name}", "--package", package)
    return Device(name, title, "ice40", "nextpnr-ice40", options, "-nocarry", "ICESTORM_LC")


def _ecp5(name: str, title: str, package: str) -> Device:
    options = (f"--{name.removeprefix('ecp5-')}", "--package", package, "--speed", "6")
    return Device(name, title, "ecp5", "nextpnr-ecp5", options, "-noccu2", "TRELLIS_COMB")


DEVICES = {
    device.name: device
    for device in (
        _ice40("hx8k", "iCE40 HX8K", "ct256"),
        _ice40("up5k", "iCE40 UP5K", "sg48"),
        _ecp5("ecp5-85k", "ECP5-85F speed 6", "CABGA756"),
    )
}
"""By name, the devices that can be measured."""


@dataclass(frozen=True)
class Area:
    """What a bare core takes.

    Attributes:
        cells: logic cells after packing.
        luts: LUT4 after synthesis.
        flip_flops: flip-flops after synthesis.
        options: the synthesis options that gave the fewest cells.
    """

    cells: int
    luts: int
    flip_flops: int
    options: str


@dataclass(frozen=True)
class Speed:
    """How fast a core runs between flip-flops.

    Attributes:
        mhz: the median over the seeds.
        by_seed: per seed the clock in MHz.
        options: the synthesis options that gave the highest median.
    """

    mhz: float
    by_seed: dict[int, float]
    options: str


def tool_versions(devices: Iterable[Device]) -> dict[str, str]:
    """The versions of what figures for `devices` depend on."""
    tools = ["yosys", *sorted({device.router for device in devices})]
    return {"amaranth": version("amaranth"), **{tool: tool_version(tool) for tool in tools}}


def measure_area(decoder: SerialDecoder, device: Device) -> Area:
    """The area of the bare core, with the synthesis options that give the fewest cells.

    Raises:
        ToolError: a tool is missing or failed.
    """
    with _netlists({"core.v": axi_verilog(decoder)}, "utf8_decoder", device) as netlists:
        return min((_area(netlist, device) for netlist in netlists), key=lambda area: area.cells)


def _area(netlist: _Netlist, device: Device) -> Area:
    arguments = [*device.options, "--json", netlist.file, "--pack-only"]
    packed = run_tool(device.router, arguments, directory=netlist.directory)
    cells = re.search(rf"{device.cell}:\s+(\d+)", packed)
    if not cells:
        raise ToolError(f"{device.router} reported no {device.cell}")
    counted = Counter(cell["type"] for cell in netlist.cells)
    luts = counted["SB_LUT4"] + counted["LUT4"]
    flip_flops = sum(number for cell, number in counted.items() if cell.startswith(("SB_DFF", "TRELLIS_FF")))
    return Area(int(cells[1]), luts, flip_flops, netlist.options)


def measure_speed(
    decoder: SerialDecoder,
    device: Device,
    seeds: Sequence[int],
    *,
    executor: Executor | None = None,
) -> Speed:
    """The clock that the core reaches between flip-flops: the median over `seeds`.

    Args:
        decoder: the core.
        device: the device.
        seeds: nextpnr's seeds, at least one.
        executor: runs the seeds side by side; one after the other without it.

    Raises:
        ToolError: a tool is missing or failed.
    """
    files = {"core.v": axi_verilog(decoder), "wrapper.v": _wrapper(decoder)}
    with _netlists(files, "wrapper", device) as netlists:
        return max((_speed(netlist, device, seeds, executor) for netlist in netlists), key=lambda speed: speed.mhz)


def _speed(netlist: _Netlist, device: Device, seeds: Sequence[int], executor: Executor | None) -> Speed:
    jobs = [(netlist, device, seed) for seed in seeds]
    clocks = list(executor.map(_route, jobs) if executor else map(_route, jobs))
    return Speed(statistics.median(clocks), dict(zip(seeds, clocks, strict=True)), netlist.options)


def _route(job: tuple[_Netlist, Device, int]) -> float:
    netlist, device, seed = job
    arguments = ["--json", netlist.file, "--freq", str(TARGET_MHZ), "--seed", str(seed), "--timing-allow-fail"]
    printed = run_tool(device.router, [*device.options, *arguments], directory=netlist.directory)
    found = re.findall(r"Max frequency for clock\s+'[^']*':\s+([\d.]+) MHz", printed)
    if not found:
        raise ToolError(f"{device.router} reported no clock frequency")
    return float(found[-1])


@dataclass(frozen=True)
class _Netlist:
    directory: Path
    file: str
    options: str
    cells: list[dict[str, str]]


@contextmanager
def _netlists(files: dict[str, str], top: str, device: Device) -> Iterator[list[_Netlist]]:
    """The design synthesised with and without carry chains; once where that makes no difference."""
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        for name, text in files.items():
            (directory / name).write_text(text, encoding="utf-8")
        netlists: list[_Netlist] = []
        for options in ("", device.no_carry):
            name = f"netlist{options}.json"
            reads = "".join(f"read_verilog {file}; " for file in files)
            script = f"{reads}synth_{device.family} -top {top} {options} -json {name}"
            run_tool("yosys", ["-q", "-p", script], directory=directory)
            module = json.loads((directory / name).read_text(encoding="utf-8"))["modules"][top]
            cells = list(module["cells"].values())
            if not any(cells == other.cells for other in netlists):
                netlists.append(_Netlist(directory, name, options, cells))
        yield netlists


def _wrapper(decoder: SerialDecoder) -> str:
    """A Verilog module with the core between registers, and a handful of pins."""
    inputs: list[tuple[str, int]] = []
    outputs: list[tuple[str, int]] = []
    for name, member in axi_signature(decoder.table).members.items():
        if name not in ("clk", "rst"):
            (inputs if member.flow is In else outputs).append((name, member.shape))
    fed, read = (sum(width for _, width in ports) for ports in (inputs, outputs))
    connections = [".clk(clk)", ".rst(reset)"]
    for ports, register in ((inputs, "given"), (outputs, "result")):
        at = 0
        for name, width in ports:
            connections.append(f".{name}({register}[{at + width - 1}:{at}])")
            at += width
    return f"""
module wrapper(input clk, input rst, input feed, input load, output read);
  reg reset;
  reg [{fed - 1}:0] feeding, given;
  wire [{read - 1}:0] result;
  reg [{read - 1}:0] taken, reading;
  assign read = reading[0];
  always @(posedge clk) begin
    reset <= rst;
    feeding <= {{feeding[{fed - 2}:0], feed}};
    given <= feeding;
    taken <= result;
    reading <= load ? taken : {{1'b0, reading[{read - 1}:1]}};
  end
  utf8_decoder core({", ".join(connections)});
endmodule
"""


SETTINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("smallest", {"pipeline": 0}),
    ("smallest, no U+FFFD in the data", {"pipeline": 0, "replacement": False}),
    ("output registered", {"pipeline": 1}),
    ("pipelined", {"pipeline": 2}),
)
"""The settings of the decoder that figures are given for."""

COMMAND = "utf8fpga bench --record ."
"""What writes the figures into a checkout."""


def measure_all(
    devices: Sequence[Device], seeds: Sequence[int], *, on_figure: Callable[[int], None] = lambda _: None
) -> dict[str, Any]:
    """Area and speed of all `SETTINGS` on `devices`, as JSON has it.

    Args:
        devices: the devices.
        seeds: nextpnr's seeds.
        on_figure: called with the number of settings and devices measured so far.

    Raises:
        ToolError: a tool is missing or failed.
    """
    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        for setting, parameters in SETTINGS:
            decoder = SerialDecoder(**parameters)
            for device in devices:
                area = measure_area(decoder, device)
                speed = measure_speed(decoder, device, seeds, executor=executor)
                figures = {"area": asdict(area), "speed": asdict(speed)}
                rows.append({"setting": setting, "latency": decoder.latency, "device": device.name, **figures})
                on_figure(len(rows))
    return {"command": COMMAND, "tools": tool_versions(devices), "design": design_digest(), "figures": rows}


def design_digest() -> str:
    """A digest of the designs that figures are given for; it changes when a decoder's logic does."""
    digest = hashlib.sha256()
    for _, parameters in SETTINGS:
        digest.update(axi_rtlil(SerialDecoder(**parameters)).encode())
    return digest.hexdigest()


def figures_table(figures: dict[str, Any]) -> str:
    """The figures of `measure_all` as a Markdown table, with tool versions and the command."""
    names = list(dict.fromkeys(row["device"] for row in figures["figures"]))
    heading = ["setting", "latency"]
    for name in names:
        heading += [f"{DEVICES[name].title}, cells", "MHz"]
    lines: dict[str, list[str]] = {}
    for row in figures["figures"]:
        cells = lines.setdefault(row["setting"], [row["setting"], f"{row['latency']}"])
        cells += [str(row["area"]["cells"]), f"{row['speed']['mhz']:.0f}"]
    seeds = len(figures["figures"][0]["speed"]["by_seed"])
    tools = ", ".join(f"{tool} {number}" for tool, number in figures["tools"].items())
    table = [heading, ["---"] * 2 + ["---:"] * (len(heading) - 2), *lines.values()]
    note = (
        f"Median of {seeds} seeds; one byte a clock, so MHz are also MB/s. {tools}; written by `{figures['command']}`."
    )
    return "\n".join([*("| " + " | ".join(cells) + " |" for cells in table), "", note])
