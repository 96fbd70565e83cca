# SPDX-License-Identifier: BSD-2-Clause
"""The command `bench`: measures cores, and records the figures of the README and the docs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from utf8fpga.bench import tables
from utf8fpga.bench.design import foreign_core, measured_core
from utf8fpga.bench.measure import DEVICES, Figure, Point, measure
from utf8fpga.cli.core_command import core_command
from utf8fpga.cli.jobs import job_executor
from utf8fpga.cli.options import Number, dask_option, json_option, one_of, record_option, reject
from utf8fpga.cli.output import CommandError, echo, progress, write_bytes
from utf8fpga.cli.record import FIGURES_FILE, record_figures
from utf8fpga.hdl import CoreParameters
from utf8fpga.model.render import counted
from utf8fpga.sim.foreign_module import read_description


@core_command("bench --lanes 4 --device ecp5-85k", "bench --device hx8k --against theirs.v --ports ports.toml")
@click.option("--device", "devices", multiple=True, **one_of(DEVICES, "Default: all."))
@click.option("--seeds", type=Number(1, 100), default=5, help="Seeds of nextpnr; default: 5.")
@dask_option
@click.option("--against", metavar="FILE", multiple=True, help="A file of another core, may be repeated.")
@click.option("--top", metavar="NAME", help="Its top module; default: the one without parent.")
@click.option("--ports", metavar="FILE", help="Its ports, as TOML or JSON; default: all.")
@record_option
@json_option
def bench(
    parameters: CoreParameters,
    devices: tuple[str, ...],
    seeds: int,
    dask: str | None,
    against: tuple[str, ...],
    top: str | None,
    ports: str | None,
    checkout: str | None,
    as_json: bool,
) -> None:
    """Measure area, clock and GB/s of a core, or of another one beside it."""
    if checkout:
        reject("with --record", "devices", "seeds", "against", "top", "ports", "as_json", *parameters.options())
        _record(Path(checkout), dask)
        return
    cores = [measured_core(parameters)]
    if against:
        cores.append(foreign_core(list(map(Path, against)), top, read_description(Path(ports)) if ports else {}))
    else:
        reject("without --against", "top", "ports")
    chosen = dict.fromkeys(devices or DEVICES)
    points = [Point(core, DEVICES[name], seeds) for core in cores for name in chosen]
    failed: list[str] = []
    rows = [tables.row_of(figure) for figure in _figures(points, dask, failed)]
    if rows:
        echo(tables.figures_table(rows), rows, as_json=as_json)
    _raise_on_failures(failed, len(points))


def _figures(points: Sequence[Point], dask: str | None, failed: list[str]) -> Iterator[Figure]:
    """The figures of points; `failed` gets the errors of the others."""
    with job_executor(dask) as workers, progress("measuring, points", len(points)) as done:
        for number, found in enumerate(measure(points, workers), 1):
            done(number)
            if isinstance(found, Figure):
                yield found
            else:
                failed.append(found)


def _raise_on_failures(failed: Sequence[str], points: int) -> None:
    if failed:
        raise CommandError(f"{len(failed)} of {counted(points, 'point')} failed, the first {failed[0]}", status=1)


def _record(checkout: Path, dask: str | None) -> None:
    """Measure the recorded points whose figures are not current, and write all figures.

    The file of figures is written after each point, so that an interrupted run continues.
    """
    file = checkout / FIGURES_FILE
    known = tables.read_csv(file.read_text(encoding="utf-8"))
    points, failed = tables.recorded_points(), list[str]()
    rows = {point: row for point in points for row in known if tables.is_current(row, point)}
    for figure in _figures([point for point in points if point not in rows], dask, failed):
        rows[figure.point] = tables.row_of(figure)
        text = tables.csv_text([rows[point] for point in points if point in rows])
        write_bytes(str(file), text.encode())
    _raise_on_failures(failed, len(points))
    record_figures([rows[point] for point in points], checkout)
