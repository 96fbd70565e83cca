# SPDX-License-Identifier: BSD-2-Clause
"""The command `bench`: measures cores, and records the figures of the README and the docs."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import platformdirs

from utf8fpga.bench import tables
from utf8fpga.bench.design import Design, foreign_core, measured_core
from utf8fpga.bench.measure import DEVICES, Cache, Figure, Point, measure, tool_versions
from utf8fpga.bench.plot import check_plots
from utf8fpga.cli.core_command import chosen_executor, core_command, dask_option, jobs_option
from utf8fpga.cli.demo import TEXTS, demo_text
from utf8fpga.cli.options import FILE, FOLDER, MODULE, Number, json_option, one_of, reject, reject_others
from utf8fpga.cli.output import CommandError, echo, naming, progress
from utf8fpga.cli.record import FIGURES_FILE, check_pages, record_figures, record_software
from utf8fpga.hdl import CoreParameters
from utf8fpga.model.render import counted
from utf8fpga.sim.foreign_ports import read_description

MAX_SEEDS = 100
"""Upper bound on the seeds of one run."""


@core_command("bench --lanes 4 --device ecp5-85k", "bench --device hx8k --against theirs.v --ports ports.toml")
@click.option("--device", "devices", multiple=True, **one_of(DEVICES, "Device, may be repeated; default: all."))
@click.option("--seeds", type=Number(1, MAX_SEEDS), help="Seeds of place and route; default: 5.")
@jobs_option
@dask_option
@click.option("--against", type=FILE, multiple=True, help="A file of another core, may be repeated.")
@click.option("--top", type=MODULE, help="Its top module; default: the one without parent.")
@click.option("--ports", type=FILE, help="Its ports, as TOML or JSON; default: all.")
@click.option("--software", is_flag=True, help="Measure CPython, decode_array and decode instead.")
@click.option("--record", "checkout", type=FOLDER, help="Write what has changed into this checkout.")
@json_option
def bench(
    parameters: CoreParameters,
    devices: tuple[str, ...],
    seeds: int | None,
    jobs: int | None,
    dask: str | None,
    against: tuple[str, ...],
    top: str | None,
    ports: str | None,
    software: bool,
    checkout: str | None,
    as_json: bool,
) -> None:
    """Measure area, clock frequency and GB/s with the place and route tools.

    Results are kept in the user's cache, so that a run that was interrupted continues with the remaining jobs. With
    --record, the cores of the README whose circuits or tools have changed are measured, and the figures written into
    README.md and docs of a checkout; with --software as well, those of the software decoders.
    """
    if checkout:
        check_plots()
        check_pages(Path(checkout))  # Before a measurement that may take hours.
    if software:
        reject_others("--software", "software", "checkout", "as_json")
        _bench_software(as_json, checkout)
        return
    chosen = [DEVICES[name] for name in devices or DEVICES]
    for device in chosen:
        tool_versions(device)  # Raises before the circuits are made if a tool is missing.
    if checkout:
        reject_others("--record", "checkout", "jobs", "dask", "as_json")
        rows = _record(checkout, jobs, dask)
        echo(tables.figures_table(rows), rows, as_json=as_json)
        return
    with progress("building the core"):
        cores = [measured_core(parameters), *_foreign(against, top, ports)]
    points = [Point(core, device, seeds or tables.SEEDS) for core in cores for device in chosen]
    figures = _measured(points, jobs, dask)
    rows = [tables.row_of(figure) for figure in figures if isinstance(figure, Figure)]
    if rows:
        echo(tables.figures_table(rows), rows, as_json=as_json)
    _raise_on_failures(points, figures)


def _foreign(against: Sequence[str], top: str | None, ports: str | None) -> list[Design]:
    """The core of others, if one is given."""
    if against:
        return [foreign_core(list(map(Path, against)), top, read_description(Path(ports)) if ports else {})]
    reject("without --against", "top", "ports")
    return []


def _measured(points: Sequence[Point], jobs: int | None, dask: str | None) -> list[Figure | str]:
    folder = platformdirs.user_cache_path("utf8fpga") / "measurements"
    with naming(str(folder)), chosen_executor(jobs, dask) as workers, progress("measuring, jobs") as show:
        return measure(points, workers, Cache(folder), show)


def _raise_on_failures(points: Sequence[Point], figures: Sequence[Figure | str]) -> None:
    failed = [f"{point}: {error}" for point, error in zip(points, figures, strict=True) if isinstance(error, str)]
    if failed:
        number = f"{len(failed)} of {counted(len(figures), 'point')} failed"
        raise CommandError(f"{number}, the first {failed[0]}", status=1)


def _record(checkout: str, jobs: int | None, dask: str | None) -> list[tables.Row]:
    """Measure the recorded points whose figures are not current, and write all figures; the rows of all."""
    file = Path(checkout) / FIGURES_FILE
    known = tables.read_csv(file.read_text(encoding="utf-8")) if file.exists() else []
    with progress("building the cores"):
        cores = {parameters: measured_core(parameters) for _, parameters in tables.RECORDED}
    points = tables.recorded_points(cores)
    figures: dict[Point, Figure | str] = {}
    for point in points:
        for row in known:
            if tables.is_current(row, point, tool_versions(point.device)):
                figures[point] = tables.figure_of(row, point)
    changed = [point for point in points if point not in figures]
    figures |= zip(changed, _measured(changed, jobs, dask), strict=True)
    # An incomplete set of figures must not replace the recorded one.
    _raise_on_failures(points, [figures[point] for point in points])
    rows = [tables.row_of(figure) for point in points if isinstance(figure := figures[point], Figure)]
    record_figures(rows, Path(checkout))
    return rows


_SOFTWARE_BYTES = 10_000_000
"""The demo's texts are repeated to at least this length for the software decoders; a measurement takes about 15 s."""


def processor() -> str:
    """The model of this machine's processor."""
    found = None
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def _bench_software(as_json: bool, checkout: str | None) -> None:
    try:
        from utf8fpga.bench.software import measure_speed
    except ImportError as error:
        raise CommandError(str(error), status=1) from None
    texts = {name: demo_text(name) for name in TEXTS}
    speeds = measure_speed({name: text * -(-_SOFTWARE_BYTES // len(text)) for name, text in texts.items()})
    tools = {"python": platform.python_version(), **{name: metadata.version(name) for name in ("numpy", "numba")}}
    figures: Mapping[str, Any] = {
        "processor": processor(),
        "tools": tools,
        "software": [speed._asdict() for speed in speeds],
    }
    if checkout:
        record_software(figures, Path(checkout))
    echo(tables.software_table(figures), figures, as_json=as_json)
