# SPDX-License-Identifier: BSD-2-Clause
"""Measures area and clock frequency of cores on devices, from the reports of the place and route tools.

The area is that of the core alone after packing. For the clock frequency the core has a flip-flop on every input and
output, connected to shift registers, so that pins and external logic have no influence. Both are measured with and
without carry chains, which only some cores benefit from, and the better result counts.

A job measures one of the two. It needs no files of the caller and leaves none: it may run on another host.
"""

from __future__ import annotations

import json
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from utf8fpga.bench.design import Design, Sources
from utf8fpga.hdl.toolchain import ToolError, present_version, run_tool, run_yosys
from utf8fpga.sim.foreign_module import read_script

TARGET_MHZ = 400
"""The clock constraint of nextpnr, which stops optimising when it is met."""

TIMING_WEIGHT = 30
"""What timing counts in nextpnr's placement. With its default, 10, wide cores are about a tenth slower."""


@dataclass(frozen=True)
class Device:
    """A device on which cores are measured.

    Attributes:
        name: its name on the command line.
        family: the family in the names of the tools' commands, as in ``synth_ice40``.
        options: the options of nextpnr for device, package and speed grade.
        no_carry: the option of synthesis that disables carry chains.
        cell: nextpnr's name of a logic cell.
        limit_mhz: the highest frequency of its clock network, which nextpnr does not report.
        document: where that limit is stated.
    """

    name: str
    title: str
    family: str
    options: tuple[str, ...]
    no_carry: str
    cell: str
    limit_mhz: float
    document: str

    @property
    def router(self) -> str:
        """The place and route tool."""
        return f"nextpnr-{self.family}"


_ECP5_6 = "assumed: no public document states it for this speed grade"
_ECP5_8 = "ECP5 Family Data Sheet FPGA-DS-02012-1.9, table 3.22, fMAX_PRI"
_HX8K = "iCE40 LP/HX Family Data Sheet FPGA-DS-02029, fMAX_GBUF"
_UP5K = "iCE40 UltraPlus Family Data Sheet FPGA-DS-02008, fMAX_GBUF"
_85K = ("--85k", "--package", "CABGA756", "--speed")
DEVICES = {
    device.name: device
    for device in (
        Device("hx8k", "iCE40 HX8K", "ice40", ("--hx8k", "--package", "ct256"), "-nocarry", "ICESTORM_LC", 275, _HX8K),
        Device("up5k", "iCE40 UP5K", "ice40", ("--up5k", "--package", "sg48"), "-nocarry", "ICESTORM_LC", 185, _UP5K),
        Device("ecp5-85k", "ECP5-85F speed 6", "ecp5", (*_85K, "6"), "-noccu2", "TRELLIS_COMB", 257, _ECP5_6),
        Device("ecp5-85k-8", "ECP5-85F speed 8", "ecp5", (*_85K, "8"), "-noccu2", "TRELLIS_COMB", 370, _ECP5_8),
    )
}
"""The supported devices, by name."""


def tool_versions(device: Device) -> str:
    """The tools that figures for a device depend on, with their versions."""
    tools = {tool: present_version(tool) for tool in ("yosys", device.router)}
    return ", ".join(f"{tool} {number}" for tool, number in {"amaranth": version("amaranth"), **tools}.items())


@dataclass(frozen=True)
class Point:
    """A core on a device, to be measured with the seeds 1 to `seeds` of place and route."""

    core: Design
    device: Device
    seeds: int

    def __str__(self) -> str:
        return f"{self.core.title} on {self.device.name}"


@dataclass(frozen=True)
class Figure:
    """The result for a point.

    Attributes:
        cells: logic cells after packing.
        luts: LUT4 after synthesis.
        flip_flops: flip-flops after synthesis.
        by_seed: the clock frequency after place and route in MHz for each seed, as the fabric allows.
        tools: the versions of the tools.
    """

    point: Point
    cells: int
    luts: int
    flip_flops: int
    by_seed: tuple[float, ...]
    tools: str

    @property
    def fabric_mhz(self) -> float:
        """The median frequency of the fabric over the seeds."""
        return statistics.median(self.by_seed)

    @property
    def usable_mhz(self) -> float:
        """The median frequency of the fabric, or the limit of the clock network if that is lower."""
        return min(self.fabric_mhz, self.point.device.limit_mhz)

    @property
    def gigabytes_per_second(self) -> float | None:
        """Throughput on the worst input at the usable frequency; None where bytes per cycle are unknown."""
        each = self.point.core.bytes_per_clock
        return None if each is None else each * self.usable_mhz / 1000


def measure(points: Sequence[Point], executor: Executor) -> Iterator[Figure | str]:
    """Measure points side by side; yields the figure of each in their order, or in one line the error of a tool.

    Args:
        executor: runs the jobs, in processes or on a cluster.
    """
    jobs = {}
    for point in points:
        jobs[point] = [executor.submit(_measured, point, option) for option in ("", point.device.no_carry)]
    for point, variants in jobs.items():
        try:
            figures = [variant.result() for variant in variants]
        except ToolError as error:
            yield f"{point}: {error}"
            continue
        smallest = min(figures, key=lambda figure: (figure.cells, figure.luts, figure.flip_flops))
        yield replace(smallest, by_seed=max(figures, key=lambda figure: figure.fabric_mhz).by_seed)


def _measured(point: Point, option: str) -> Figure:
    """The figure of a point with an option of synthesis."""
    core, device = point.core, point.device
    tools = tool_versions(device)  # First, so that a missing tool is reported before minutes of synthesis.
    cells, luts, flip_flops = _area(_netlist(*core.bare(), device, option), device)
    netlist = _netlist(*core.between_registers(), device, option)
    by_seed = tuple(_fabric_mhz(netlist, device, seed) for seed in range(1, point.seeds + 1))
    return Figure(point, cells, luts, flip_flops, by_seed, tools)


def _netlist(sources: Sources, top: str, device: Device, option: str) -> bytes:
    """A module after synthesis."""
    # With numbers in place of names, which the results would otherwise depend on.
    anonymous = f"hierarchy -top {top}; proc; flatten; opt_clean; rename -hide; rename -enumerate"
    script = f"{read_script(sources)}{anonymous}; synth_{device.family} -top {top} {option} -json netlist.json"
    [netlist] = run_yosys(script, dict(sources), "netlist.json")
    return netlist


def _area(netlist: bytes, device: Device) -> tuple[int, int, int]:
    """The numbers of logic cells after packing, of LUT4 and of flip-flops."""
    found = re.search(rf"{device.cell}:\s+(\d+)", _nextpnr(netlist, device, "--pack-only"))
    if not found:
        raise ToolError(f"{device.router} reported no {device.cell}")
    modules = json.loads(netlist)["modules"].values()
    top = next(module for module in modules if "top" in module["attributes"])
    types = Counter(cell["type"] for cell in top["cells"].values())
    flip_flops = sum(number for cell, number in types.items() if cell.startswith(("SB_DFF", "TRELLIS_FF")))
    return int(found[1]), types["SB_LUT4"] + types["LUT4"], flip_flops


def _fabric_mhz(netlist: bytes, device: Device, seed: int) -> float:
    """The clock frequency after place and route."""
    clock = ("--freq", str(TARGET_MHZ), "--placer-heap-timingweight", str(TIMING_WEIGHT), "--timing-allow-fail")
    printed = _nextpnr(netlist, device, *clock, "--seed", str(seed))
    reached = re.findall(r"Max frequency for clock\s+'[^']*':\s+([\d.]+) MHz", printed)
    if not reached:
        raise ToolError(f"{device.router} reported no clock frequency")
    return float(reached[-1])


def _nextpnr(netlist: bytes, device: Device, *arguments: str) -> str:
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        (Path(folder) / "netlist.json").write_bytes(netlist)
        return run_tool(device.router, [*device.options, "--json", "netlist.json", *arguments], directory=Path(folder))
