# SPDX-License-Identifier: BSD-2-Clause
"""The command `prove`: runs proofs, prints a table of results, and writes counterexamples."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from fnmatch import filter as matching
from pathlib import Path
from typing import Any

import click

from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import FOLDER, MAX_SEED, completion, json_option, one_of, reject_others
from utf8fpga.cli.output import CommandError, coloured, did_you_mean, echo, naming, progress, say
from utf8fpga.cli.process import ignore_unused_circuits
from utf8fpga.cli.record import check_pages, record_proofs
from utf8fpga.cli.scheduling import chosen_executor, dask_option
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.formal.report import Result
from utf8fpga.formal.runner import prove_all
from utf8fpga.hdl import CoreParameters
from utf8fpga.model.render import aligned


@core_command(optional=True)
@click.argument("names", nargs=-1, metavar="[CONFIG]...", shell_complete=completion(lambda: CONFIGURATIONS))
@click.option("--list", "listed", is_flag=True, help="List the configurations and the properties.")
@click.option(
    "--property",
    "wanted",
    multiple=True,
    **one_of(PROPERTIES, "Only this property; may be given several times."),
)
@click.option("--jobs", type=click.IntRange(min=1), help="Concurrent proofs; default: one per processor.")
@dask_option
@click.option(
    "--timeout", type=click.IntRange(1, MAX_SEED), default=600, show_default=True, help="Seconds for each proof."
)
@click.option(
    "--directory", type=FOLDER, default="build/proof", show_default=True, help="Folder for the counterexamples."
)
@click.option(
    "--record",
    type=FOLDER,
    help="Also write the table of what is proved into the docs of a checkout.",
)
@click.option("--traces", is_flag=True, help="Also write the waveform of each cover.")
@json_option
def prove(
    names: tuple[str, ...],
    parameters: CoreParameters | None,
    listed: bool,
    jobs: int | None,
    dask: str | None,
    timeout: int,
    record: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Prove that cores are correct on every input, or print an input for which one is not.

    CONFIG is a name that --list prints, or a pattern of names such as 'serial-?'; alternatively, options select one
    core. Default: the configurations that --list does not mark, in about ten minutes on two processors. Exit status 1
    if a property is not proved.
    """
    if listed:
        reject_others("--list", "listed", "as_json")
        every = [f"  {name}{' (on request)' if each.on_request else ''}" for name, each in CONFIGURATIONS.items()]
        text = "\n".join(["configurations", *every, "properties", *(f"  {name}" for name in PROPERTIES)])
        echo(text, {"configurations": list(CONFIGURATIONS), "properties": list(PROPERTIES)}, as_json=as_json)
        return
    default = [name for name, each in CONFIGURATIONS.items() if not each.on_request]
    chosen = _chosen(names, parameters, default)
    if record:
        check_pages(Path(record))  # Before proofs that may take hours.
    executor = chosen_executor(jobs, dask)
    run_proofs(chosen, executor, seconds=timeout, record=record, as_json=as_json, **options)


def run_proofs(
    chosen: Sequence[Configuration],
    executor: AbstractContextManager[Executor],
    *,
    wanted: Sequence[str],
    seconds: int,
    directory: str,
    record: str | None,
    traces: bool,
    as_json: bool,
) -> None:
    """Prove properties, print each result when it is available, and write the counterexamples.

    Args:
        wanted: names of properties; all if empty.
        directory: the folder for waveforms and regression tests.
        record: the checkout where the table of the results is written; None: nowhere.
        traces: also write the waveforms of covers.
    """
    properties = list(wanted or PROPERTIES)
    ignore_unused_circuits()
    results: list[Result] = []
    with (
        executor as workers,
        progress("proving", len(chosen) * len(properties)) as done,
    ):
        widths = [] if as_json else _widths([each.name for each in chosen], properties)
        if widths:
            print(aligned(_HEADS, widths), flush=True)
        for result in prove_all(chosen, properties, workers, seconds=seconds, done=done):
            results.append(result)
            _report(result, widths)
            _write_counterexample(result, Path(directory), traces=traces)
    if not results:
        of_all = ", ".join(each.name for each in chosen)
        raise CommandError(f"nothing to prove: {of_all} has no property {', '.join(wanted)}")
    if record:
        record_proofs(results, Path(record))
    _conclude(results, as_json=as_json)


def _conclude(results: Sequence[Result], *, as_json: bool) -> None:
    """Print how many properties hold, or all results as JSON; raise an error unless all hold."""
    held = sum(bool(result.proved) for result in results)
    text = f"{held} of {len(results)} hold, on inputs of any length; none is bounded."
    echo(text, [result.as_dict() for result in results], as_json=as_json)
    if failed := [result for result in results if not result.proved]:
        first = f"{failed[0].configuration} {failed[0].wanted}"
        if failed[0].proved is None and failed[0].note:
            first += f" ({failed[0].note})"
        raise CommandError(f"{len(failed)} of {len(results)} not proved, the first: {first}", status=1)


_HEADS = ("configuration", "property", "method", "depth", "seconds", "result")


def _widths(names: Sequence[str], properties: Sequence[str]) -> list[int]:
    """The widths of the columns, which must be known before the first line is printed."""
    longest = (*(max(map(len, column)) for column in (names, properties)), len("reachability"), 0, 0, 0)
    return [max(len(head), most) for head, most in zip(_HEADS, longest, strict=True)]


def _cells(result: Result) -> tuple[str, ...]:
    depth = str(result.depth or "-")
    verdict = coloured(result.verdict, "green" if result.proved else "red")
    return (result.configuration, result.wanted, result.method, depth, f"{result.seconds:.1f}", verdict)


def _report(result: Result, widths: Sequence[int]) -> None:
    """Print a line of the table, if it has widths."""
    if widths:
        print(aligned(_cells(result), widths), flush=True)


def _write_counterexample(result: Result, directory: Path, *, traces: bool) -> None:
    """Print and write the counterexample of a failed property; write the trace of a cover if `traces`."""
    if result.counterexample and (result.proved is False or traces):
        stem = "" if result.proved is False else result.note.lower()
        with naming(str(directory)):
            paths = result.counterexample.write(directory, stem)
        if result.proved is False:
            say("\n".join([*result.counterexample.lines(), *(f"  written: {path}" for path in paths)]))


def _chosen(names: Sequence[str], parameters: CoreParameters | None, default: Sequence[str]) -> list[Configuration]:
    """The configurations that are named, or the one that the options select, or else the default ones."""
    found = {name: matching(CONFIGURATIONS, name) for name in names}
    if unknown := [name for name, each in found.items() if not each]:
        near = did_you_mean(unknown[0], CONFIGURATIONS)
        raise CommandError(f"unknown configuration {unknown[0]!r}{near or ';'} utf8fpga prove --list prints them")
    if parameters is not None and names:
        raise CommandError(f"configuration {names[0]!r} is a whole decoder: leave out the options that choose one")
    if parameters is not None:
        return [Configuration.of(parameters)]
    each_once = dict.fromkeys(each for name in names for each in found[name])
    return [CONFIGURATIONS[name] for name in each_once or default]
