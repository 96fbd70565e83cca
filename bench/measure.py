# SPDX-License-Identifier: BSD-2-Clause
"""Measures area and clock frequency of cores on devices, from the reports of the place and route tools.

The area is that of the core alone after packing. For the clock frequency the core has a flip-flop on every input and
output, connected to shift registers, so that pins and external logic have no influence. Both are measured with and
without carry chains, which only some cores benefit from, and the better result counts.

A measurement consists of jobs, which need no files of the caller and leave none: they may run in other processes or on
other hosts. The tools must have the same versions there, so that equal jobs have equal results.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from utf8fpga.bench.design import Design, Sources
from utf8fpga.hdl.toolchain import ToolError, present_version, run_tool, tool_error
from utf8fpga.sim.foreign_module import read_script

TARGET_MHZ = 400
"""The clock constraint of nextpnr, which stops optimising when it is met."""


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


@dataclass(frozen=True)
class Synthesis:
    """Synthesises a module; the result is the netlist as compressed JSON."""

    sources: Sources
    top: str
    device: Device
    tools: str
    option: str = ""

    def __str__(self) -> str:
        return f"synthesis {self.option}".rstrip()

    def run(self) -> bytes:
        """The result."""
        # With numbers in place of names, which the results would otherwise depend on.
        anonymous = f"hierarchy -top {self.top}; proc; flatten; opt_clean; rename -hide; rename -enumerate"
        synthesis = f"synth_{self.device.family} -top {self.top} {self.option} -json netlist.json"
        script = f"{read_script(self.sources)}{anonymous}; {synthesis}"
        with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
            directory = Path(folder)
            for name, text in self.sources:
                (directory / name).write_text(text, encoding="utf-8")
            try:
                run_tool("yosys", ["-q", "-L", "yosys.log", "-p", script], directory=directory)
            except ToolError as error:
                # YoWASP's Yosys loses its printed output after the mapper has run, but not its log.
                log = directory / "yosys.log"
                errors = re.findall("^ERROR: .*", log.read_text(encoding="utf-8"), re.M) if log.exists() else []
                raise (tool_error("yosys", 1, errors[-1]) if errors else error) from None
            return gzip.compress((directory / "netlist.json").read_bytes(), mtime=0)


@dataclass(frozen=True)
class Packing:
    """Packs a netlist; the result is the numbers of logic cells, LUT4 and flip-flops."""

    netlist: bytes
    device: Device
    tools: str

    def __str__(self) -> str:
        return "packing"

    def run(self) -> bytes:
        """The result."""
        found = re.search(rf"{self.device.cell}:\s+(\d+)", _nextpnr(self.netlist, self.device, "--pack-only"))
        if not found:
            raise ToolError(f"{self.device.router} reported no {self.device.cell}")
        modules = json.loads(gzip.decompress(self.netlist))["modules"].values()
        top = next(module for module in modules if "top" in module["attributes"])
        types = Counter(cell["type"] for cell in top["cells"].values())
        flip_flops = sum(number for cell, number in types.items() if cell.startswith(("SB_DFF", "TRELLIS_FF")))
        return json.dumps([int(found[1]), types["SB_LUT4"] + types["LUT4"], flip_flops]).encode()


@dataclass(frozen=True)
class Routing:
    """Places and routes a netlist with a seed; the result is the clock frequency of the fabric in MHz."""

    netlist: bytes
    device: Device
    tools: str
    seed: int

    def __str__(self) -> str:
        return f"place and route, seed {self.seed}"

    def run(self) -> bytes:
        """The result."""
        arguments = ["--freq", str(TARGET_MHZ), "--seed", str(self.seed), "--timing-allow-fail"]
        printed = _nextpnr(self.netlist, self.device, *arguments)
        reached = re.findall(r"Max frequency for clock\s+'[^']*':\s+([\d.]+) MHz", printed)
        if not reached:
            raise ToolError(f"{self.device.router} reported no clock frequency")
        return str(reached[-1]).encode()


def _nextpnr(netlist: bytes, device: Device, *arguments: str) -> str:
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        (Path(folder) / "netlist.json").write_bytes(gzip.decompress(netlist))
        given = [*device.options, "--json", "netlist.json", *arguments]
        return run_tool(device.router, given, directory=Path(folder))


Job: TypeAlias = Synthesis | Packing | Routing


def run_job(job: Job) -> bytes:
    """Run a job where the tools have the versions that it specifies."""
    present = tool_versions(job.device)
    if present != job.tools:
        raise ToolError(f"the tools are {present} where this job runs, but must be {job.tools}")
    return job.run()


class Cache:
    """The results of jobs in a folder, which several processes may use at once.

    Args:
        directory: the folder; created if it does not exist.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def _path(self, job: Job) -> Path:
        return self.directory / hashlib.sha256(repr(job).encode()).hexdigest()

    def get(self, job: Job) -> bytes | None:
        """The result of a job; None if it is missing."""
        return self._path(job).read_bytes() if self._path(job).exists() else None

    def put(self, job: Job, content: bytes) -> None:
        """Store the result of a job."""
        with tempfile.TemporaryDirectory(dir=self.directory, prefix=".") as folder:
            written = Path(folder) / "result"
            written.write_bytes(content)
            written.replace(self._path(job))


def measure(
    points: Sequence[Point], executor: Executor, cache: Cache, on_progress: Callable[[int], None] = lambda _done: None
) -> list[Figure | str]:
    """Measure points with concurrent jobs.

    Args:
        executor: runs the jobs in threads, processes or a cluster.
        cache: the results of earlier jobs, so that an interrupted measurement continues.
        on_progress: called with the number of jobs that have ended.

    Returns:
        For each point its figure, or in one line the error of its first job that failed.

    Raises:
        ToolError: a tool is missing here.
        OSError: the cache cannot be written.
    """
    tools = {device: tool_versions(device) for device in {point.device for point in points}}
    syntheses = {point: _syntheses(point, tools[point.device]) for point in points}
    results = _run(syntheses.values(), executor, cache, on_progress)
    variants: dict[Point, list[Job]] = {}
    for point, jobs in syntheses.items():
        netlists = [result for job in jobs if isinstance(result := results[job], bytes)]
        if len(netlists) == len(jobs):
            variants[point] = _after_synthesis(point, tools[point.device], netlists)
    before = len(results)
    results |= _run(variants.values(), executor, cache, lambda done: on_progress(before + done))
    return [_figure(point, syntheses[point], variants.get(point, []), results) for point in points]


def _syntheses(point: Point, tools: str) -> list[Job]:
    """The syntheses of the core alone and between registers, with carry chains and then without."""
    sources = point.core.bare(), point.core.between_registers()
    options = "", point.device.no_carry
    return [Synthesis(*each, point.device, tools, option) for option in options for each in sources]


def _after_synthesis(point: Point, tools: str, netlists: Sequence[bytes]) -> list[Job]:
    """For the netlists of `_syntheses` packing of the core alone, and place and route of the other with each seed."""
    jobs: list[Job] = []
    for bare, wrapped in (netlists[:2], netlists[2:]):
        jobs.append(Packing(bare, point.device, tools))
        jobs += [Routing(wrapped, point.device, tools, seed) for seed in range(1, point.seeds + 1)]
    return jobs


def _figure(
    point: Point, syntheses: Sequence[Job], variants: Sequence[Job], results: Mapping[Job, bytes | str]
) -> Figure | str:
    """The smaller area, and the higher clock frequency, from the results of the jobs; or the first error."""
    for job in (*syntheses, *variants):
        if isinstance(error := results[job], str):
            return f"{job}: {error}"
    values = [json.loads(results[job]) for job in variants]
    half = len(values) // 2
    (first, *clocks), (second, *other_clocks) = values[:half], values[half:]
    cells, luts, flip_flops = min(first, second)
    by_seed = max(clocks, other_clocks, key=statistics.median)
    return Figure(point, cells, luts, flip_flops, tuple(by_seed), syntheses[0].tools)


def _run(
    jobs: Iterable[Sequence[Job]], executor: Executor, cache: Cache, on_progress: Callable[[int], None]
) -> dict[Job, bytes | str]:
    """The results of jobs, or the errors of those that failed; equal jobs are run once."""
    every = dict.fromkeys(job for each in jobs for job in each)
    results: dict[Job, bytes | str] = {job: known for job in every if (known := cache.get(job)) is not None}
    pending = {executor.submit(run_job, job): job for job in every if job not in results}
    on_progress(len(results))
    try:
        for future in as_completed(pending):
            job = pending[future]
            if error := future.exception():  # Any error of a tool, a worker or its connection.
                kind = "" if isinstance(error, ToolError) else f"{type(error).__name__}: "
                results[job] = " ".join(f"{kind}{error}".split())
            else:
                results[job] = future.result()
                cache.put(job, future.result())
            on_progress(len(results))
    finally:
        for future in pending:
            future.cancel()
    return results
