# SPDX-License-Identifier: BSD-2-Clause
"""The command `bench`: which points are measured, where their jobs run, and what is written."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from utf8fpga.boards import (
    COMMAND,
    DEVICES,
    SETTINGS,
    Cache,
    CacheError,
    Core,
    Device,
    Figure,
    Point,
    chosen_core,
    default_cache,
    figures_as_dict,
    figures_table,
    foreign_core,
    picture_tools,
    points_table,
    read_ports,
    scaling_picture,
    scaling_points,
    setting_points,
    sweep,
    tool_versions,
)
from utf8fpga.hdl.tools import stop_tools
from utf8fpga.output import CommandError, job_progress, write_bytes
from utf8fpga.record import record

__all__ = ["Bench", "measure"]


_CONNECT_SECONDS = 5


@dataclass(frozen=True)
class Bench:
    """What `utf8fpga bench` is asked for.

    Attributes:
        devices: their names; all if empty.
        lanes, architectures, packed, pipeline: of the decoders; the serial decoder's settings if
            none of them is given.
        seeds: nextpnr's.
        jobs: how many run at once here; as many as there are cores if None.
        cache: the folder of kept results; the user's if None.
        dask: the address of a Dask cluster's scheduler, which then runs the jobs.
        against: the files of another core.
        top: its module.
        ports: a file that describes its ports.
        picture: a file for the picture.
        record: the checkout to write the figures into.
        as_json: print JSON.
    """

    devices: tuple[str, ...] = ()
    lanes: tuple[int, ...] = ()
    architectures: tuple[str, ...] = ()
    packed: bool | None = None
    pipeline: int | None = None
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    jobs: int | None = None
    cache: str | None = None
    dask: str | None = None
    against: tuple[str, ...] = ()
    top: str | None = None
    ports: str | None = None
    picture: str | None = None
    record: str | None = None
    as_json: bool = False

    @property
    def is_of_settings(self) -> bool:
        """No decoder is chosen."""
        return not (self.lanes or self.architectures or self.packed is not None or self.pipeline is not None)


def measure(bench: Bench) -> None:
    """Measure, print and write what is asked for.

    Raises:
        CommandError: a wrong word, a folder that cannot be written, or a point that failed.
        ValueError: there is no such decoder, or another core is not as it is described.
        ToolError: a tool is missing.
    """
    devices = _devices(bench)
    if bench.picture or bench.record:
        picture_tools()
    if bench.record:
        _refuse_choices(bench)
    elif not bench.against and (bench.top or bench.ports):
        raise CommandError(f"--{'top' if bench.top else 'ports'} describes the core of --against, which is not given")
    if bench.dask and bench.jobs:
        raise CommandError("--jobs is for this machine, and with --dask the cluster has its own: leave it out")
    try:
        cache = Cache(Path(bench.cache) if bench.cache else default_cache())
        tool_versions(devices)  # a missing tool is found at once
        if bench.record:
            _record(bench, cache, Path(bench.record))
            return
        points = _points(bench, devices, cache)
        figures = figures_as_dict(_run(bench, points, cache), _command(bench))
    except CacheError as error:
        raise CommandError(str(error)) from None
    if bench.picture:
        write_bytes(bench.picture, scaling_picture(figures))
    of_settings = bench.is_of_settings and not bench.against
    _print(bench, figures, figures_table if of_settings else points_table)
    _refuse_failures(figures)


def _devices(bench: Bench) -> list[Device]:
    if unknown := [name for name in bench.devices if name not in DEVICES]:
        raise CommandError(f"unknown device {unknown[0]!r} (known: {', '.join(DEVICES)})")
    return [DEVICES[name] for name in dict.fromkeys(bench.devices)] or list(DEVICES.values())


def _refuse_choices(bench: Bench) -> None:
    if bench.devices:
        raise CommandError("--record wants the figures of all devices: leave out --device")
    if bench.against or not bench.is_of_settings:
        raise CommandError("--record measures what the README shows: leave out the choice of cores")
    if bench.picture:
        raise CommandError("--record writes its own picture: leave out --picture")


def _points(bench: Bench, devices: Sequence[Device], cache: Cache) -> list[Point]:
    if bench.is_of_settings and not bench.against:
        return setting_points(devices, bench.seeds, cache)
    others = []
    if bench.against:
        ports = read_ports(Path(bench.ports)) if bench.ports else None
        others.append(foreign_core([Path(file) for file in bench.against], bench.top, ports))
    if bench.is_of_settings:
        cores = [chosen_core(parameters, cache, title) for title, parameters in SETTINGS]
    else:
        cores = _decoders(bench, cache)
    return [Point(core, device, bench.seeds) for core in [*cores, *others] for device in devices]


def _decoders(bench: Bench, cache: Cache) -> list[Core]:
    cores: list[Core] = []
    for lanes in bench.lanes or (1,):
        for architecture in bench.architectures or (None,):
            if architecture == "serial" and lanes > 1 and len(bench.architectures) > 1:
                continue  # asked for beside another, which goes on where one lane ends
            parameters: dict[str, Any] = {
                "lanes": lanes,
                "architecture": architecture,
                "pipeline": bench.pipeline,
                "packed": bool(bench.packed),
            }
            cores.append(chosen_core(parameters, cache))
    return cores


def _run(bench: Bench, points: Sequence[Point], cache: Cache) -> list[Figure]:
    with _executor(bench) as executor, job_progress("measuring") as show:
        return sweep(
            points,
            executor=executor,
            cache=cache,
            on_progress=lambda now: show(now.done, now.total, now.running),
        )


@contextmanager
def _executor(bench: Bench) -> Iterator[Executor]:
    if bench.dask is None:
        with ThreadPoolExecutor(bench.jobs or os.cpu_count()) as threads:
            try:
                yield threads
            except BaseException:
                stop_tools()  # which the threads would wait for
                raise
        return
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise CommandError("distributed is not installed: pip install 'utf8fpga[dask]'", status=1) from None
    try:
        client = distributed.Client(bench.dask, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise CommandError(f"no Dask cluster at {bench.dask!r}: {reason or type(error).__name__}", status=1) from None
    with client:
        yield client.get_executor()


def _record(bench: Bench, cache: Cache, checkout: Path) -> None:
    points, scaling = setting_points(list(DEVICES.values()), bench.seeds, cache), scaling_points(cache)
    measured = _run(bench, [*points, *scaling], cache)
    figures = figures_as_dict(measured[: len(points)], COMMAND)
    over_lanes = figures_as_dict(measured[len(points) :], COMMAND)
    over_lanes["tools"] |= picture_tools()
    # A README with holes is worth less than the one before.
    _refuse_failures(figures)
    _refuse_failures(over_lanes)
    record(figures, over_lanes, checkout)
    _print(
        bench, figures | {"scaling": over_lanes}, lambda both: f"{figures_table(both)}\n\n{points_table(over_lanes)}"
    )


def _print(bench: Bench, figures: dict[str, Any], table: Callable[[dict[str, Any]], str]) -> None:
    click.echo(json.dumps(figures, indent=2) if bench.as_json else table(figures))


def _refuse_failures(figures: dict[str, Any]) -> None:
    failed = [row for row in figures["figures"] if row["error"]]
    if failed:
        row = failed[0]
        raise CommandError(
            f"{len(failed)} of {len(figures['figures'])} points failed, "
            f"the first {row['title']} on {row['device']}: {row['error']}",
            status=1,
        )


def _command(bench: Bench) -> str:
    """What was asked for, without what does not change the figures."""
    words = ["utf8fpga bench"]
    words += [f"--device {name}" for name in bench.devices]
    words += [f"--lanes {','.join(map(str, bench.lanes))}"] * bool(bench.lanes)
    words += [f"--architecture {name}" for name in bench.architectures]
    words += [] if bench.packed is None else ["--packed" if bench.packed else "--sparse"]
    words += [] if bench.pipeline is None else [f"--pipeline {bench.pipeline}"]
    if bench.seeds != Bench.seeds:
        first, last = bench.seeds[0], bench.seeds[-1]
        words.append(f"--seeds {last if first == 1 else f'{first}-{last}'}")
    words += [f"--against {Path(file).name}" for file in bench.against]
    words += [f"--top {bench.top}"] * bool(bench.top) + [f"--ports {Path(bench.ports or '').name}"] * bool(bench.ports)
    return " ".join(words)
