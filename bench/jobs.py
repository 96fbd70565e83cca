# SPDX-License-Identifier: BSD-2-Clause
"""The jobs of which measurements are made: pure functions of what they are given, wherever they run.

A job needs no file of the caller's and leaves none; a worker on another host does as well as a
thread here. The tools must be of the versions that the job names, so that equal jobs give equal
results.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from utf8fpga.bench.design import read_script
from utf8fpga.hdl.toolchain import ToolError, present_version, run_tool, tool_error

__all__ = [
    "DEVICES",
    "Area",
    "Device",
    "Netlist",
    "Packing",
    "Routing",
    "Speed",
    "Synthesis",
    "pack",
    "route",
    "synthesise",
    "tool_versions",
]

TARGET_MHZ = 400
"""The clock that nextpnr is asked for; it stops improving where it is met."""

FORMAT = 1
"""Of what the jobs give; another number makes every result that was kept one of the past."""


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
    return {"amaranth": version("amaranth"), **{tool: present_version(tool) for tool in tools}}


@dataclass(frozen=True)
class Synthesis:
    """A netlist to be made.

    Attributes:
        sources: file names and their texts.
        top: the module.
        family: the device's.
        options: of synthesis.
        yosys: its version.
    """

    sources: tuple[tuple[str, str], ...]
    top: str
    family: str
    options: str
    yosys: str

    def __str__(self) -> str:
        return f"synthesis for {self.family}{' ' if self.options else ''}{self.options}"

    @property
    def key(self) -> str:
        """A digest of all that the result depends on."""
        return _key(self)


@dataclass(frozen=True)
class Netlist:
    """What synthesis gives.

    Attributes:
        digest: of the netlist's text.
        cells: a digest of its cells, whatever they are called.
        luts: LUT4.
        flip_flops: flip-flops.
        content_digest: of `content`.
        content: the netlist as JSON, compressed with gzip.
    """

    digest: str
    cells: str
    luts: int
    flip_flops: int
    content_digest: str
    content: bytes


@dataclass(frozen=True)
class Packing:
    """A netlist whose logic cells are to be counted.

    Attributes:
        netlist: its digest.
        router: the nextpnr program.
        version: of the router.
        options: what tells it the device.
        cell: what it calls a logic cell.
    """

    netlist: str
    router: str
    version: str
    options: tuple[str, ...]
    cell: str

    def __str__(self) -> str:
        return "packing"

    @property
    def key(self) -> str:
        """A digest of all that the result depends on."""
        return _key(self)


@dataclass(frozen=True)
class Routing:
    """A netlist whose clock is to be found.

    Attributes:
        netlist: its digest.
        router: the nextpnr program.
        version: of the router.
        options: what tells it the device.
        seed: of place and route.
        target_mhz: the clock that is asked for.
    """

    netlist: str
    router: str
    version: str
    options: tuple[str, ...]
    seed: int
    target_mhz: int = TARGET_MHZ

    def __str__(self) -> str:
        return f"place and route, seed {self.seed}"

    @property
    def key(self) -> str:
        """A digest of all that the result depends on."""
        return _key(self)


def _key(job: Synthesis | Packing | Routing) -> str:
    text = json.dumps([FORMAT, type(job).__name__, asdict(job)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def synthesise(job: Synthesis) -> Netlist:
    """Make a netlist with Yosys.

    Raises:
        ToolError: Yosys is missing, of another version, or failed.
    """
    _require("yosys", job.yosys)
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        for name, text in job.sources:
            (directory / name).write_text(text, encoding="utf-8")
        script = f"{read_script(job.sources)}synth_{job.family} -top {job.top} {job.options} -json netlist.json"
        try:
            run_tool("yosys", ["-q", "-L", "yosys.log", "-p", script], directory=directory)
        except ToolError as error:
            # After its mapper has run, what YoWASP's Yosys prints is lost; what it logs is not.
            log = directory / "yosys.log"
            said = re.findall(r"^ERROR: .*", log.read_text(encoding="utf-8"), re.M) if log.exists() else []
            raise (tool_error("yosys", 1, said[-1]) if said else error) from None
        written = (directory / "netlist.json").read_bytes()
    cells = list(json.loads(written)["modules"][job.top]["cells"].values())
    counted = Counter(cell["type"] for cell in cells)
    content = gzip.compress(written, compresslevel=6, mtime=0)
    return Netlist(
        digest=hashlib.sha256(written).hexdigest(),
        cells=hashlib.sha256(json.dumps(cells).encode()).hexdigest(),
        luts=counted["SB_LUT4"] + counted["LUT4"],
        flip_flops=sum(number for cell, number in counted.items() if cell.startswith(("SB_DFF", "TRELLIS_FF"))),
        content_digest=hashlib.sha256(content).hexdigest(),
        content=content,
    )


def pack(job: Packing, content: bytes) -> int:
    """The logic cells that a netlist takes after packing.

    Raises:
        ToolError: nextpnr is missing, of another version, or failed.
    """
    printed = _nextpnr(job, content, ["--pack-only"])
    cells = re.search(rf"{job.cell}:\s+(\d+)", printed)
    if not cells:
        raise ToolError(f"{job.router} reported no {job.cell}")
    return int(cells[1])


def route(job: Routing, content: bytes) -> float:
    """The clock in MHz that a netlist reaches after place and route.

    Raises:
        ToolError: nextpnr is missing, of another version, or failed.
    """
    arguments = ["--freq", str(job.target_mhz), "--seed", str(job.seed), "--timing-allow-fail"]
    printed = _nextpnr(job, content, arguments)
    found = re.findall(r"Max frequency for clock\s+'[^']*':\s+([\d.]+) MHz", printed)
    if not found:
        raise ToolError(f"{job.router} reported no clock frequency")
    return float(found[-1])


def _nextpnr(job: Packing | Routing, content: bytes, arguments: list[str]) -> str:
    _require(job.router, job.version)
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        (Path(folder) / "netlist.json").write_bytes(gzip.decompress(content))
        arguments = [*job.options, "--json", "netlist.json", *arguments]
        return run_tool(job.router, arguments, directory=Path(folder))


def _require(tool: str, wanted: str) -> None:
    found = present_version(tool)
    if found != wanted:
        raise ToolError(f"{tool} is {found} where this job runs, and {wanted} is wanted")
