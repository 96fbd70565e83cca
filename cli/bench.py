# SPDX-License-Identifier: BSD-2-Clause
"""The command `bench`: selects the points to measure and the executor of the jobs, and writes the figures."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

import click
import platformdirs

from utf8fpga.bench import tables
from utf8fpga.bench.cache import Cache
from utf8fpga.bench.design import foreign_core, measured_core
from utf8fpga.bench.jobs import DEVICES, Device, tool_versions
from utf8fpga.bench.plot import plot_tools, scaling_plot
from utf8fpga.bench.sweep import Figure, Point, sweep
from utf8fpga.cli.core_options import Choice, core_command
from utf8fpga.cli.demo import TEXTS, demo_text
from utf8fpga.cli.options import FILE, FOLDER, MODULE, json_option, one_of, reject_others
from utf8fpga.cli.output import (
    CommandError,
    check_writable,
    echo,
    is_standard_output,
    job_progress,
    write_bytes,
)
from utf8fpga.cli.process import ignore_unused_circuits, processor
from utf8fpga.cli.record import (
    CORES_FILE,
    FIGURES_FILE,
    SCALING_FILE,
    check_pages,
    record,
    record_software,
    recorded,
)
from utf8fpga.cli.scheduling import chosen_executor, dask_option
from utf8fpga.hdl import CORES
from utf8fpga.hdl.foreign_ports import read_description
from utf8fpga.model.render import counted

MAX_SEEDS = 100
"""Upper bound on the seeds of one run."""


SEEDS = "5"
"""The default of the seeds."""


@dataclass(frozen=True)
class _Bench:
    """The values of the options that select what is measured."""

    devices: tuple[str, ...]
    cores: Choice
    seeds: tuple[int, ...]
    against: tuple[str, ...]
    top: str | None
    ports: str | None
    plot: str | None
    record: str | None
    again: bool
    as_json: bool
    jobs: int | None
    cache: str | None
    dask: str | None

    @property
    def is_of_settings(self) -> bool:
        """Whether no core is selected, so that `SETTINGS` are measured."""
        return not self.cores.cores


def _seeds(_context: click.Context, _option: click.Parameter, value: str) -> tuple[int, ...]:
    found = re.fullmatch("(?:([0-9]{1,6})-)?([0-9]{1,6})", value)
    first, last = (int(found[1] or 1), int(found[2])) if found else (1, 0)
    if not 0 <= last - first < MAX_SEEDS:
        raise CommandError(f"--seeds {value!r} must be N or A-B, with 1 to {MAX_SEEDS} seeds")
    return tuple(range(first, last + 1))


@core_command(several=("lanes",))
@click.option(
    "--device",
    "devices",
    multiple=True,
    **one_of(DEVICES, "Device, may be repeated; default: all."),
)
@click.option(
    "--seeds",
    default=SEEDS,
    show_default=True,
    metavar="N or A-B",
    callback=_seeds,
    help="Seeds of place and route: 1 to N, or A to B.",
)
@click.option("--jobs", type=click.IntRange(1), help="Concurrent jobs; default: one per processor.")
@click.option("--cache", type=FOLDER, help="Folder of the cached results; default: the user's cache.")
@dask_option
@click.option("--against", type=FILE, multiple=True, help="A .v, .sv or .il file of another core; may be repeated.")
@click.option("--top", type=MODULE, help="Top module of the core of --against.")
@click.option("--ports", type=FILE, help="Its ports, as TOML or JSON: clock, reset, inputs, outputs, constants.")
@click.option("--plot", type=FILE, help="Write a plot of throughput and area per lane over lanes as SVG.")
@click.option("--software", is_flag=True, help="Measure the software decoders instead: CPython, decode_array, decode.")
@click.option(
    "--record",
    type=FOLDER,
    help="Write the figures into README.md and docs of a checkout, with --software into docs only. Cores "
    "whose circuits have not changed, nor the tools, are not measured again.",
)
@click.option("--again", is_flag=True, help="With --record, measure all cores.")
@json_option
def bench(software: bool, as_json: bool, parameters: Choice, **given: Any) -> None:
    """Measure area, clock frequency and GB/s with the place and route tools.

    Default: the settings of the serial decoder in the README. Results are cached, so that a run that was
    interrupted continues with the remaining jobs.
    """
    if given["again"] and not given["record"]:
        raise CommandError("--again requires --record")
    if software:
        reject_others("--software", "software", "record", "as_json")
        _bench_software(as_json, given["record"])
    else:
        _measure(_Bench(as_json=as_json, cores=parameters, **given))


_SOFTWARE_BYTES = 10_000_000
"""The demo's texts are repeated to at least this length for the software decoders; a measurement takes about 15 s."""


def _bench_software(as_json: bool, checkout: str | None) -> None:
    try:
        from utf8fpga.model.arrays import measure_speed
    except ImportError as error:
        raise CommandError(str(error), status=1) from None
    if checkout:
        plot_tools()
        check_pages(Path(checkout))
    texts = {name: demo_text(name) for name in TEXTS}
    speeds = measure_speed({name: text * -(-_SOFTWARE_BYTES // len(text)) for name, text in texts.items()})
    tools = {"python": platform.python_version(), **{name: metadata.version(name) for name in ("numpy", "numba")}}
    figures: dict[str, Any] = {"command": "utf8fpga bench --software --record .", "processor": processor()}
    figures |= {"tools": tools, "software": [speed._asdict() for speed in speeds]}
    if checkout:
        record_software(figures, Path(checkout))
    echo(tables.software_table(figures), figures, as_json=as_json)


def _measure(bench: _Bench) -> None:
    """Measure, print the figures and write the files."""
    ignore_unused_circuits()
    devices = _devices(bench)
    if bench.plot or bench.record:
        plot_tools()
    if bench.record:
        _reject_selection(bench)
    elif not bench.against and (bench.top or bench.ports):
        raise CommandError(f"--{'top' if bench.top else 'ports'} describes a core of --against: give --against FILE")
    executor = chosen_executor(bench.jobs, bench.dask)
    if is_standard_output(bench.plot):
        raise CommandError(f"--plot {bench.plot} is standard output, to which the figures are written: name a file")
    if bench.plot:
        check_writable(bench.plot)
    cache = Cache(Path(bench.cache) if bench.cache else platformdirs.user_cache_path("utf8fpga") / "bench")
    tool_versions(devices)  # Raises before the measurement if a tool is missing.

    def measured(points: Sequence[Point]) -> list[Figure]:
        with executor as workers, job_progress("measuring") as show:
            return sweep(points, workers, cache=cache, on_progress=show)

    if bench.record:
        _record(bench, cache, measured, Path(bench.record))
        return
    figures = tables.figures_as_dict(measured(_points(bench, devices, cache)), _command(bench))
    if bench.plot:
        write_bytes(bench.plot, scaling_plot(figures))
    of_settings = bench.is_of_settings and not bench.against
    _print(bench, figures, tables.figures_table if of_settings else tables.points_table)
    _raise_on_failures(figures)


def _devices(bench: _Bench) -> list[Device]:
    return [DEVICES[name] for name in dict.fromkeys(bench.devices)] or list(DEVICES.values())


def _reject_selection(bench: _Bench) -> None:
    if bench.devices:
        raise CommandError(f"--record requires the figures of all devices: leave out --device {bench.devices[0]}")
    if bench.against or not bench.is_of_settings:
        raise CommandError("--record measures the cores in the README: leave out the options that select a core")
    if bench.plot:
        raise CommandError(f"--record writes the plot in the checkout: leave out --plot {bench.plot}")
    check_pages(Path(bench.record or ""))  # Before a measurement that may take hours.


def _points(bench: _Bench, devices: Sequence[Device], cache: Cache) -> list[Point]:
    points = tables.setting_points(devices, bench.seeds, cache) if bench.is_of_settings else []
    cores = [measured_core(parameters, cache=cache) for parameters in bench.cores.cores]
    if bench.against:
        ports = read_description(Path(bench.ports)) if bench.ports else {}
        cores.append(foreign_core([Path(file) for file in bench.against], bench.top, ports))
    return points + [Point(core, device, bench.seeds) for core in cores for device in devices]


def _record(bench: _Bench, cache: Cache, measured: Callable[[Sequence[Point]], list[Figure]], checkout: Path) -> None:
    points = tables.setting_points(list(DEVICES.values()), bench.seeds, cache)
    scaling, others = tables.scaling_points(cache=cache), tables.scaling_points(tables.CORES_MEASURED, cache)
    every = [*points, *scaling, *others]
    files = [] if bench.again else [recorded(checkout / file) for file in (FIGURES_FILE, SCALING_FILE, CORES_FILE)]
    kept = [tables.kept_figure(point, [each for each in files if each]) for point in every]
    new = iter(measured([point for point, figure in zip(every, kept, strict=True) if figure is None]))
    all_figures = iter([figure or next(new) for figure in kept])
    parts = (list(islice(all_figures, len(each))) for each in (points, scaling, others))
    figures, over_lanes, cores = (tables.figures_as_dict(part, tables.COMMAND) for part in parts)
    for plotted in (over_lanes, cores):
        plotted["tools"] |= plot_tools()
    # An incomplete set of figures must not replace the recorded one.
    for each in (figures, over_lanes, cores):
        _raise_on_failures(each)
    record(figures, over_lanes, cores, checkout)
    _print(
        bench,
        figures | {"scaling": over_lanes, "cores": cores},
        lambda every: "\n\n".join(
            [tables.figures_table(every), tables.points_table(over_lanes), tables.points_table(cores)]
        ),
    )


def _print(bench: _Bench, figures: dict[str, Any], table: Callable[[dict[str, Any]], str]) -> None:
    echo(table(figures), figures, as_json=bench.as_json)


def _raise_on_failures(figures: dict[str, Any]) -> None:
    failed = [row for row in figures["figures"] if row["error"]]
    if failed:
        row = failed[0]
        raise CommandError(
            f"{len(failed)} of {counted(len(figures['figures']), 'point')} failed, "
            f"the first {row['title']} on {row['device']}: {row['error']}",
            status=1,
        )


def _command(bench: _Bench) -> str:
    """The command line without the options that do not affect the figures."""
    chosen = list(bench.cores.words)
    core = [chosen.pop(0)] if chosen and chosen[0] in CORES else []
    words = ["utf8fpga bench", *core]
    words += [f"--device {name}" for name in bench.devices]
    words += chosen
    first, last = bench.seeds[0], bench.seeds[-1]
    if (first, last) != (1, int(SEEDS)):
        words.append(f"--seeds {last if first == 1 else f'{first}-{last}'}")
    words += [f"--against {Path(file).name}" for file in bench.against]
    if bench.top:
        words.append(f"--top {bench.top}")
    if bench.ports:
        words.append(f"--ports {Path(bench.ports).name}")
    return " ".join(words)
