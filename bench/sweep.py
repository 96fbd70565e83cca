# SPDX-License-Identifier: BSD-2-Clause
"""Area and clock frequency of many cores on many devices, from the reports of the place and route tools.

The area is that of the core without wrapper after packing. For the clock frequency the core has a
flip-flop on every input and output, connected to shift registers, so that pins and external logic have
no influence; the figure is the median over several seeds. Both are measured with and without carry
chains, and the better result is used.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import Any

from utf8fpga.bench.cache import Cache
from utf8fpga.bench.design import Design
from utf8fpga.bench.jobs import (
    Area,
    Device,
    Netlist,
    Packing,
    Routing,
    Speed,
    Synthesis,
    pack,
    route,
    synthesise,
)
from utf8fpga.hdl.toolchain import ToolError, present_version, stop_tools

__all__ = ["Figure", "Point", "Progress", "sweep"]

Job = Synthesis | Packing | Routing


@dataclass(frozen=True)
class Point:
    """A core on a device, to be measured.

    Attributes:
        core: the core.
        device: the device.
        seeds: the seeds of nextpnr, at least one.
    """

    core: Design
    device: Device
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.core.title} on {self.device.name}"


@dataclass(frozen=True)
class Figure:
    """The result for a point.

    Attributes:
        point: the point.
        area: the area; None if a job for it failed.
        speed: the clock frequency; None if a job for it failed.
        error: the first error, in one line; None if no job failed.
    """

    point: Point
    area: Area | None
    speed: Speed | None
    error: str | None

    @property
    def usable_mhz(self) -> float | None:
        """The median frequency of the fabric, or the limit of the clock network if that is lower."""
        return None if self.speed is None else min(self.speed.mhz, self.point.device.limit.mhz)

    @property
    def gigabytes_per_second(self) -> float | None:
        """Throughput on the worst input at the usable frequency; None where bytes per cycle are unknown."""
        each, mhz = self.point.core.bytes_per_clock, self.usable_mhz
        return None if each is None or mhz is None else each * mhz / 1000

    def as_dict(self) -> dict[str, Any]:
        """The figure as a dictionary for JSON."""
        core = self.point.core
        return {
            "title": core.title,
            "device": self.point.device.name,
            "series": core.series,
            "lanes": core.lanes,
            "packed": core.packed,
            "latency": core.latency,
            "bytes_per_clock": core.bytes_per_clock,
            "design": core.design,
            "area": self.area and asdict(self.area),
            "speed": self.speed
            and asdict(self.speed) | {"by_seed": {str(s): f for s, f in self.speed.by_seed.items()}},
            "usable_mhz": self.usable_mhz,
            "gigabytes_per_second": self.gigabytes_per_second,
            "error": self.error,
        }


@dataclass(frozen=True)
class Progress:
    """The progress of a sweep.

    Attributes:
        done: the number of jobs with a result, including cached ones.
        total: the number of jobs known so far; it grows where carry chains make a difference.
        running: descriptions of the running jobs.
    """

    done: int
    total: int
    running: tuple[str, ...]


def sweep(
    points: Sequence[Point],
    *,
    executor: Executor | None = None,
    cache: Cache | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> list[Figure]:
    """Measure points with concurrent jobs.

    Args:
        points: the points.
        executor: runs the jobs in threads, processes or a cluster; default: one thread per processor.
            The tools must have the same versions where the jobs run as here.
        cache: a cache of results, which an interrupted sweep can continue from; default: none.
        on_progress: called after each job and once per second.

    Returns:
        A figure for each point, in order. The error of a failed job is in its figure; the other jobs
        are not affected.

    Raises:
        ToolError: a tool is missing here.
        CacheError: the cache cannot be written.
    """
    if executor is not None:
        return _Sweep(points, executor, cache, on_progress).run()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        try:
            return _Sweep(points, threads, cache, on_progress).run()
        except BaseException:
            stop_tools()  # The threads would wait for them.
            raise


Steps = Generator[Sequence[Job], list[Any], Any]
"""A generator that yields jobs that may run concurrently, receives their results, and returns the measurement."""


def _area(point: Point) -> Generator[Sequence[Job], list[Any], Area]:
    syntheses = _syntheses(point, *point.core.alone)
    netlists: list[tuple[str, Netlist]] = _distinct(syntheses, (yield syntheses))
    device, version = point.device, present_version(point.device.router)
    cells: list[int] = yield [
        Packing(netlist.digest, device.router, version, device.options, device.cell) for _, netlist in netlists
    ]
    areas = [
        Area(number, netlist.luts, netlist.flip_flops, options)
        for number, (options, netlist) in zip(cells, netlists, strict=True)
    ]
    return min(areas, key=lambda area: area.cells)


def _speed(point: Point) -> Generator[Sequence[Job], list[Any], Speed]:
    syntheses = _syntheses(point, *point.core.between_registers)
    netlists: list[tuple[str, Netlist]] = _distinct(syntheses, (yield syntheses))
    device, version = point.device, present_version(point.device.router)
    clocks: list[float] = yield [
        Routing(netlist.digest, device.router, version, device.options, seed)
        for _, netlist in netlists
        for seed in point.seeds
    ]
    speeds = []
    for options, _ in netlists:
        mine, clocks = clocks[: len(point.seeds)], clocks[len(point.seeds) :]
        speeds.append(Speed(statistics.median(mine), dict(zip(point.seeds, mine, strict=True)), options))
    return max(speeds, key=lambda speed: speed.mhz)


def _syntheses(point: Point, sources: tuple[tuple[str, str], ...], top: str) -> list[Synthesis]:
    yosys = present_version("yosys")
    return [Synthesis(sources, top, point.device.family, options, yosys) for options in ("", point.device.no_carry)]


def _distinct(syntheses: Sequence[Synthesis], netlists: Sequence[Netlist]) -> list[tuple[str, Netlist]]:
    """Options and netlist of each synthesis; only the first if the netlists are equal."""
    first, second = netlists
    both = [(job.options, netlist) for job, netlist in zip(syntheses, netlists, strict=True)]
    return both[:1] if first.cells == second.cells else both


class _Task:
    """The steps of one measurement and the numbers of their jobs."""

    def __init__(self, point: Point, steps: Steps, expected: int) -> None:
        self.point, self.steps = point, steps
        self.expected = expected
        """The number of jobs known so far."""
        self.done = 0
        self.result: Any = None
        self.error: str | None = None
        self.waiting = 0
        """The number of jobs of the current step without a result."""
        self.results: list[Any] = []


class _Sweep:
    """The tasks of a sweep, their pending jobs, and the results that they share."""

    def __init__(
        self,
        points: Sequence[Point],
        executor: Executor,
        cache: Cache | None,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._points, self._executor, self._cache, self._on_progress = points, executor, cache, on_progress
        self._tasks: list[_Task] = []
        self._submitted: dict[str, tuple[Job, Future[Any]]] = {}
        """The submitted jobs without a result, by key."""
        self._waiters: dict[str, list[tuple[_Task, int]]] = {}
        """The tasks that wait for each job, with its index in their step, by key."""
        self._known: dict[str, Any] = {}
        """The results so far, by key."""
        self._contents: dict[str, bytes] = {}
        """The netlists so far, by digest."""

    def run(self) -> list[Figure]:
        for point in self._points:
            self._tasks.append(_Task(point, _area(point), 3))
            self._tasks.append(_Task(point, _speed(point), 2 + len(point.seeds)))
        try:
            for task in self._tasks:
                self._advance(task, None)
                self._tell()
            while self._submitted:
                self._collect()
                self._tell()
        except BaseException:
            for _, future in self._submitted.values():
                future.cancel()
            raise
        pairs = zip(self._tasks[::2], self._tasks[1::2], strict=True)
        return [Figure(area.point, area.result, speed.result, area.error or speed.error) for area, speed in pairs]

    def _advance(self, task: _Task, results: list[Any] | None) -> None:
        """Advance a task to the next step that has jobs without a known result."""
        while True:
            try:
                jobs = task.steps.send(results)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration as finished:
                task.result = finished.value
                task.expected = task.done
                return
            task.expected = max(task.expected, task.done + len(jobs))
            task.results, task.waiting = [None] * len(jobs), len(jobs)
            for place, job in enumerate(jobs):
                self._request(task, place, job)
            if task.waiting or task.error:
                return
            results = task.results

    def _request(self, task: _Task, place: int, job: Job) -> None:
        key = job.key
        if key not in self._known and key not in self._submitted and (kept := self._kept(job)) is not None:
            self._known[key] = kept
        if key in self._known:
            task.results[place] = self._known[key]
            task.waiting -= 1
            task.done += 1
            return
        self._waiters.setdefault(key, []).append((task, place))
        if key not in self._submitted:
            try:
                self._submitted[key] = job, self._submit(job)
            except Exception as error:  # The executor accepts no more jobs.
                self._failed(key, job, error)

    def _submit(self, job: Job) -> Future[Any]:
        if isinstance(job, Synthesis):
            return self._executor.submit(synthesise, job)
        content = self._contents[job.netlist]
        if isinstance(job, Packing):
            return self._executor.submit(pack, job, content)
        return self._executor.submit(route, job, content)

    def _collect(self) -> None:
        """Wait for results, at most one second, and pass them to their tasks."""
        wait([future for _, future in self._submitted.values()], timeout=1, return_when=FIRST_COMPLETED)
        for key, (job, future) in list(self._submitted.items()):
            if not future.done():
                continue
            del self._submitted[key]
            try:
                result = future.result()
            except Exception as error:  # Any error of a tool, a worker or its connection.
                self._failed(key, job, error)
                continue
            self._keep(job, result)
            self._known[key] = result
            for task, place in self._waiters.pop(key):
                task.results[place] = result
                task.waiting -= 1
                task.done += 1
                if not task.waiting and not task.error:
                    self._advance(task, task.results)

    def _failed(self, key: str, job: Job, error: Exception) -> None:
        text = str(error) if isinstance(error, ToolError) else f"{type(error).__name__}: {error}"
        for task, _ in self._waiters.pop(key):
            task.error = task.error or f"{job}: {' '.join(text.split())}"
            task.waiting -= 1
            task.done += 1
            task.expected = task.done + task.waiting  # The following steps are cancelled.

    def _kept(self, job: Job) -> Any:
        """The cached result of a job, or None."""
        if self._cache is None or (kept := self._cache.get(job.key)) is None:
            return None
        if not isinstance(job, Synthesis):
            return kept
        content = self._cache.content(kept["content_digest"])
        if content is None:
            return None
        self._contents[kept["digest"]] = content
        return Netlist(**kept, content=content)

    def _keep(self, job: Job, result: Any) -> None:
        if not isinstance(result, Netlist):
            if self._cache:
                self._cache.put(job.key, result)
            return
        self._contents[result.digest] = result.content
        if self._cache:
            self._cache.keep(result.content_digest, result.content)
            self._cache.put(job.key, {k: v for k, v in vars(result).items() if k != "content"})

    def _tell(self) -> None:
        done = sum(task.done for task in self._tasks)
        total = sum(task.expected for task in self._tasks)
        at_work = {key for key, (_, future) in self._submitted.items() if future.running()}
        self._on_progress(Progress(done, total, tuple(self._titles(at_work))))

    def _titles(self, keys: Iterable[str]) -> list[str]:
        return [
            f"{self._waiters[key][0][0].point}: {self._submitted[key][0]}" for key in self._submitted if key in keys
        ]
