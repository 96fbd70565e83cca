# SPDX-License-Identifier: BSD-2-Clause
"""The jobs of a measurement: synthesis, packing and routing, as pure functions.

A job needs no files of the caller and leaves none, so it may run in a thread or on another host. The
tools must have the versions that the job specifies, so that equal jobs have equal results.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from utf8fpga.hdl.foreign import read_script
from utf8fpga.hdl.toolchain import ToolError, present_version, run_tool, tool_error

TARGET_MHZ = 400
"""The clock constraint of nextpnr, which stops optimising when it is met."""

FORMAT = 1
"""The format of the results, and the way to measure; a change of it invalidates all cached and recorded results."""


@dataclass(frozen=True)
class ClockLimit:
    """The highest frequency of a device's clock network, which nextpnr does not report.

    Attributes:
        mhz: the frequency in MHz.
        document: the document and the parameter in its table of external switching characteristics.
        is_checked: whether the value has been compared with the document.
    """

    mhz: float
    document: str
    is_checked: bool = True


@dataclass(frozen=True)
class Device:
    """A device on which cores are measured.

    Attributes:
        name: its name on the command line.
        family: the family in the names of Yosys's commands, as in ``synth_ice40``.
        options: the options of nextpnr for device, package and speed grade.
        no_carry: the synthesis option that disables carry chains.
        cell: nextpnr's name of a logic cell.
        limit: the limit of its clock network.
    """

    name: str
    title: str
    family: str
    router: str
    options: tuple[str, ...]
    no_carry: str
    cell: str
    limit: ClockLimit


def _ice40(name: str, title: str, package: str, limit: ClockLimit) -> Device:
    options = (f"--{name}", "--package", package)
    return Device(name, title, "ice40", "nextpnr-ice40", options, "-nocarry", "ICESTORM_LC", limit)


def _ecp5(name: str, speed: int, mhz: float) -> Device:
    # Not --tmg-ripup: the medians of sparse and packed decoders with 16 lanes are the same with it.
    options = ("--85k", "--package", "CABGA756", "--speed", f"{speed}")
    limit = ClockLimit(mhz, "ECP5 Family Data Sheet FPGA-DS-02012, fMAX_PRI", is_checked=False)
    return Device(name, f"ECP5-85F speed {speed}", "ecp5", "nextpnr-ecp5", options, "-noccu2", "TRELLIS_COMB", limit)


_ICE40_HX = ClockLimit(275, "iCE40 LP/HX Family Data Sheet FPGA-DS-02029, fMAX_GBUF")
_ULTRAPLUS = ClockLimit(185, "iCE40 UltraPlus Family Data Sheet FPGA-DS-02008, fMAX_GBUF")

DEVICES = {
    device.name: device
    for device in (
        _ice40("hx8k", "iCE40 HX8K", "ct256", _ICE40_HX),
        _ice40("up5k", "iCE40 UP5K", "sg48", _ULTRAPLUS),
        _ecp5("ecp5-85k", 6, 257),
        _ecp5("ecp5-85k-8", 8, 370),
    )
}
"""The supported devices, by name."""


@dataclass(frozen=True)
class Area:
    """The area of a core without wrapper.

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
    """The clock frequency of a core between flip-flops, as the fabric allows; the clock network has a limit of its own.

    Attributes:
        mhz: the median over the seeds, in MHz.
        by_seed: for each seed the frequency in MHz.
        options: the synthesis options that gave the highest median.
    """

    mhz: float
    by_seed: dict[int, float]
    options: str


def tool_versions(devices: Iterable[Device]) -> dict[str, str]:
    """The versions of the tools that figures for `devices` depend on."""
    tools = ["yosys", *sorted({device.router for device in devices})]
    return {"amaranth": version("amaranth"), **{tool: present_version(tool) for tool in tools}}


@dataclass(frozen=True)
class Netlist:
    """The result of synthesis.

    Attributes:
        digest: the digest of the netlist's text.
        cells: a digest of its cells without their names.
        luts: the number of LUT4.
        flip_flops: the number of flip-flops.
        content: the netlist as JSON, compressed with gzip.
    """

    digest: str
    cells: str
    luts: int
    flip_flops: int
    content: bytes


class _Job:
    """What all jobs have in common."""

    @cached_property
    def key(self) -> str:
        """A digest of all that the result depends on."""
        fields = {name: value.digest if name == "netlist" else value for name, value in vars(self).items()}
        return hashlib.sha256(json.dumps([FORMAT, type(self).__name__, fields], sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Synthesis(_Job):
    """A synthesis job.

    Attributes:
        sources: file names and contents.
        family: the family of the device.
    """

    sources: tuple[tuple[str, str], ...]
    top: str
    family: str
    options: str
    yosys: str

    def __str__(self) -> str:
        return f"synthesis for {self.family}{' ' if self.options else ''}{self.options}"


@dataclass(frozen=True)
class _OnNetlist(_Job):
    """A job of nextpnr, with its options for the device."""

    netlist: Netlist
    router: str
    version: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Packing(_OnNetlist):
    """A job that packs a netlist and counts its logic cells; `cell` is nextpnr's name of one."""

    cell: str

    def __str__(self) -> str:
        return "packing"


@dataclass(frozen=True)
class Routing(_OnNetlist):
    """A job that places and routes a netlist with a seed and determines its clock frequency."""

    seed: int
    target_mhz: int = TARGET_MHZ

    def __str__(self) -> str:
        return f"place and route, seed {self.seed}"


Job = Synthesis | Packing | Routing


def encoded(result: Netlist | float) -> bytes:
    """The result of a job as bytes: a line of JSON, and after it the content of a netlist."""
    if not isinstance(result, Netlist):
        return json.dumps(result).encode()
    fields = {name: value for name, value in vars(result).items() if name != "content"}
    return json.dumps(fields).encode() + b"\n" + result.content


def decoded(text: bytes) -> Any:
    """The result of which `encoded` made these bytes."""
    fields, _, content = text.partition(b"\n")
    result = json.loads(fields)
    if not isinstance(result, dict):
        return result
    # A frequency was once stored with the path that limits it.
    return Netlist(**result, content=content) if content else result["mhz"]


def synthesise(job: Synthesis) -> Netlist:
    """Synthesise a netlist with Yosys."""
    _require("yosys", job.yosys)
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        for name, text in job.sources:
            (directory / name).write_text(text, encoding="utf-8")
        script = f"{read_script(job.sources)}synth_{job.family} -top {job.top} {job.options} -json netlist.json"
        try:
            run_tool("yosys", ["-q", "-L", "yosys.log", "-p", script], directory=directory)
        except ToolError as error:
            # YoWASP's Yosys loses its printed output after the mapper has run, but not its log.
            log = directory / "yosys.log"
            said = re.findall(r"^ERROR: .*", log.read_text(encoding="utf-8"), re.M) if log.exists() else []
            raise (tool_error("yosys", 1, said[-1]) if said else error) from None
        written = (directory / "netlist.json").read_bytes()
    cells = list(json.loads(written)["modules"][job.top]["cells"].values())
    counted = Counter(cell["type"] for cell in cells)
    return Netlist(
        digest=hashlib.sha256(written).hexdigest(),
        cells=hashlib.sha256(json.dumps(cells).encode()).hexdigest(),
        luts=counted["SB_LUT4"] + counted["LUT4"],
        flip_flops=sum(number for cell, number in counted.items() if cell.startswith(("SB_DFF", "TRELLIS_FF"))),
        content=gzip.compress(written, compresslevel=6, mtime=0),
    )


def pack(job: Packing) -> int:
    """The number of logic cells of a netlist after packing."""
    printed = _nextpnr(job, ["--pack-only"])
    cells = re.search(rf"{job.cell}:\s+(\d+)", printed)
    if not cells:
        raise ToolError(f"{job.router} reported no {job.cell}")
    return int(cells[1])


def route(job: Routing) -> float:
    """The clock frequency of a netlist after place and route, in MHz, as the fabric allows."""
    arguments = ["--freq", str(job.target_mhz), "--seed", str(job.seed), "--timing-allow-fail"]
    printed = _nextpnr(job, arguments)
    found = re.findall(r"Max frequency for clock\s+'[^']*':\s+([\d.]+) MHz", printed)
    if not found:
        raise ToolError(f"{job.router} reported no clock frequency")
    return float(found[-1])


def _nextpnr(job: _OnNetlist, arguments: list[str]) -> str:
    _require(job.router, job.version)
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        (Path(folder) / "netlist.json").write_bytes(gzip.decompress(job.netlist.content))
        arguments = [*job.options, "--json", "netlist.json", *arguments]
        return run_tool(job.router, arguments, directory=Path(folder))


def _require(tool: str, wanted: str) -> None:
    found = present_version(tool)
    if found != wanted:
        raise ToolError(f"{tool} has version {found} where this job runs, but version {wanted} is required")
