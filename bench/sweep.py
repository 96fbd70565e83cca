# SPDX-License-Identifier: BSD-2-Clause
"""Area and clock frequency of many cores on many devices, from the reports of the place and route tools.

The area is that of the core without wrapper after packing. For the clock frequency the core has a
flip-flop on every input and output, connected to shift registers, so that pins and external logic have
no influence; the figure is the median over several seeds. Both are measured with and without carry
chains, and the better result is used.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import asdict, dataclass
from typing import Any

from utf8fpga.bench.cache import Cache
from utf8fpga.bench.design import Design
from utf8fpga.bench.jobs import (
    Area,
    Device,
    Job,
    Netlist,
    Packing,
    Routing,
    Speed,
    Synthesis,
    decoded,
    encoded,
    pack,
    route,
    synthesise,
)
from utf8fpga.hdl.toolchain import ToolError, present_version


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
            **{name: getattr(core, name) for name in _RECORDED},
            "area": self.area and asdict(self.area),
            "speed": self.speed
            and asdict(self.speed) | {"by_seed": {str(s): f for s, f in self.speed.by_seed.items()}},
            "usable_mhz": self.usable_mhz,
            "gigabytes_per_second": self.gigabytes_per_second,
            "error": self.error,
        }


_RECORDED = ("expression", "series", "lanes", "packed", "latency", "bytes_per_clock", "design")
"""The attributes of a core in a figure for JSON."""


def sweep(
    points: Sequence[Point],
    executor: Executor,
    *,
    cache: Cache | None = None,
    on_progress: Callable[[int, int, Sequence[str]], None] = lambda _done, _total, _running: None,
) -> list[Figure]:
    """Measure points with concurrent jobs.

    Args:
        points: the points.
        executor: runs the jobs in threads, processes or a cluster, see `job_executor`. The tools must have the same
            versions where the jobs run as here.
        cache: a cache of results, which an interrupted sweep can continue from; default: none.
        on_progress: called after each job and once per second with the jobs that have a result, their total, which
            grows where carry chains make a difference, and descriptions of those that run.

    Returns:
        A figure for each point, in order. The error of a failed job is in its figure; the other jobs
        are not affected.

    Raises:
        ToolError: a tool is missing here.
        CacheError: the cache cannot be written.
    """
    return _Sweep(executor, cache).run(points, on_progress)


Steps = Generator[Sequence[Job], list[Any], Any]
"""A generator that yields jobs that may run concurrently, receives their results, and returns the measurement."""


def _netlists(
    point: Point, sources: tuple[tuple[str, str], ...], top: str
) -> Generator[Sequence[Job], list[Any], list[tuple[str, Netlist]]]:
    """The netlists with and without carry chains, with the options of synthesis; only the first if they are equal."""
    options, yosys = ("", point.device.no_carry), present_version("yosys")
    netlists = yield [Synthesis(sources, top, point.device.family, each, yosys) for each in options]
    first, second = zip(options, netlists, strict=True)
    return [first] if first[1].cells == second[1].cells else [first, second]


def _area(point: Point) -> Generator[Sequence[Job], list[Any], Area]:
    netlists = yield from _netlists(point, *point.core.alone)
    device, version = point.device, present_version(point.device.router)
    cells = yield [Packing(netlist, device.router, version, device.options, device.cell) for _, netlist in netlists]
    return min(
        (
            Area(number, netlist.luts, netlist.flip_flops, options)
            for number, (options, netlist) in zip(cells, netlists, strict=True)
        ),
        key=lambda area: area.cells,
    )


def _speed(point: Point) -> Generator[Sequence[Job], list[Any], Speed]:
    netlists = yield from _netlists(point, *point.core.between_registers)
    device, version = point.device, present_version(point.device.router)
    routed = yield [
        Routing(netlist, device.router, version, device.options, seed)
        for _, netlist in netlists
        for seed in point.seeds
    ]
    speeds = []
    for options, _ in netlists:
        mine, routed = routed[: len(point.seeds)], routed[len(point.seeds) :]
        speeds.append(Speed(statistics.median(mine), dict(zip(point.seeds, mine, strict=True)), options))
    return max(speeds, key=lambda speed: speed.mhz)


@dataclass
class _Measurement:
    """One measurement and its jobs.

    Attributes:
        point: the point that it is for.
        steps: its steps.
        expected: the number of jobs known so far.
        before: the number of jobs of the steps before the current one.
        jobs: those of the current step.
        done: the number of jobs that have ended.
        result, error: what is known at its end.
    """

    point: Point
    steps: Steps
    expected: int
    before: int = 0
    jobs: Sequence[Job] = ()
    done: int = 0
    result: Any = None
    error: str | None = None


@dataclass(frozen=True)
class _Outcome:
    """How a job ended: `error` is empty if it has a result."""

    result: Any
    error: str = ""


class _Sweep:
    """The jobs of a sweep, which its measurements share."""

    def __init__(self, executor: Executor, cache: Cache | None) -> None:
        self._executor, self._cache = executor, cache
        self._pending: dict[Future[Any], tuple[Point, Job]] = {}
        """The submitted jobs that have not ended, each with the first point that needs it."""
        self._outcomes: dict[str, _Outcome | None] = {}
        """How each job that was needed so far has ended, by key; None while it is pending."""

    def run(self, points: Sequence[Point], on_progress: Callable[[int, int, Sequence[str]], None]) -> list[Figure]:
        areas = [_Measurement(point, _area(point), 3) for point in points]
        speeds = [_Measurement(point, _speed(point), 2 + len(point.seeds)) for point in points]
        measurements = [each for pair in zip(areas, speeds, strict=True) for each in pair]
        try:
            while True:
                for each in measurements:
                    self._advance(each)
                done, expected = (sum(getattr(each, name) for each in measurements) for name in ("done", "expected"))
                running = [f"{point}: {job}" for future, (point, job) in self._pending.items() if future.running()]
                on_progress(done, expected, running)
                if not self._pending:
                    break
                for future in wait(self._pending, timeout=1, return_when=FIRST_COMPLETED).done:
                    self._collect(future)
        except BaseException:
            for future in self._pending:
                future.cancel()
            raise
        return [
            Figure(area.point, area.result, speed.result, area.error or speed.error)
            for area, speed in zip(areas, speeds, strict=True)
        ]

    def _advance(self, measurement: _Measurement) -> None:
        """Begin the next steps, up to one with a job that is pending."""
        while measurement.result is None and measurement.error is None:
            ended = [outcome for job in measurement.jobs if (outcome := self._outcome(measurement.point, job))]
            measurement.done = measurement.before + len(ended)
            if len(ended) < len(measurement.jobs):
                return
            measurement.before = measurement.done
            if errors := [outcome.error for outcome in ended if outcome.error]:
                measurement.error, measurement.expected = errors[0], measurement.done
                return
            try:
                results = [outcome.result for outcome in ended]
                measurement.jobs = measurement.steps.send(results or None)  # type: ignore[arg-type]  # None starts it
            except StopIteration as finished:
                measurement.result, measurement.expected = finished.value, measurement.done
                return
            measurement.expected = max(measurement.expected, measurement.before + len(measurement.jobs))

    def _outcome(self, point: Point, job: Job) -> _Outcome | None:
        """How a job has ended; one that no measurement needed before is begun, unless its result is cached."""
        if job.key not in self._outcomes:
            self._outcomes[job.key] = self._cached(job)
            if self._outcomes[job.key] is None:
                try:
                    self._pending[self._executor.submit(_FUNCTIONS[type(job)], job)] = point, job
                except Exception as error:  # The executor accepts no more jobs.
                    self._outcomes[job.key] = _failure(job, error)
        return self._outcomes[job.key]

    def _collect(self, future: Future[Any]) -> None:
        """Store the outcome of a job that has ended."""
        _, job = self._pending.pop(future)
        try:
            result = future.result()
        except Exception as error:  # Any error of a tool, a worker or its connection.
            self._outcomes[job.key] = _failure(job, error)
            return
        if self._cache:
            self._cache.put(job.key, encoded(result))
        self._outcomes[job.key] = _Outcome(result)

    def _cached(self, job: Job) -> _Outcome | None:
        content = self._cache and self._cache.get(job.key)
        return _Outcome(decoded(content)) if content else None


_FUNCTIONS: dict[type, Callable[..., Any]] = {Synthesis: synthesise, Packing: pack, Routing: route}


def _failure(job: Job, error: Exception) -> _Outcome:
    text = str(error) if isinstance(error, ToolError) else f"{type(error).__name__}: {error}"
    return _Outcome(None, f"{job}: {' '.join(text.split())}")
