# SPDX-License-Identifier: BSD-2-Clause
"""The command `prove`: runs proofs, prints a table of results, and writes counterexamples."""

from __future__ import annotations

from pathlib import Path

import click

from utf8fpga.cli.core_command import core_command
from utf8fpga.cli.jobs import job_executor
from utf8fpga.cli.options import dask_option, directory_option, json_option, one_of, record_option, reject
from utf8fpga.cli.output import CommandError, coloured, echo, progress, say
from utf8fpga.cli.record import record_proofs
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.formal.report import Result
from utf8fpga.formal.runner import prove_all
from utf8fpga.hdl import CoreParameters

PROOF_SECONDS = 600
"""Upper bound on the time for each proof."""

_ROW = "{:38}  {:13}  {:12}  {:>5}  {:>7}  {}"
"""A line of the table."""


@core_command("prove --optimize area --property steady", "prove --all")
@click.option("--all", "every", is_flag=True, help="The cores of the page on verification instead.")
@click.option("--property", "wanted", multiple=True, **one_of(PROPERTIES, "Only this one, may be repeated."))
@dask_option
@directory_option
@record_option
@json_option
def prove(
    parameters: CoreParameters,
    every: bool,
    wanted: tuple[str, ...],
    dask: str | None,
    directory: str,
    checkout: str | None,
    as_json: bool,
) -> None:
    """Prove that a core is correct on every input, or print a counterexample."""
    chosen = [Configuration.of(parameters)]
    if every:
        reject("with --all", *parameters.options())
        chosen = [each for each in CONFIGURATIONS.values() if not each.on_request]
    results: list[Result] = []
    with job_executor(dask) as workers, progress("proving, jobs") as done:
        for result in prove_all(chosen, wanted or PROPERTIES, workers, seconds=PROOF_SECONDS, done=done):
            if not as_json:
                _print(result, is_first=not results)
            results.append(result)
            _write_counterexample(result, Path(directory))
    if not results:
        what = f"property {', '.join(wanted)}" if wanted else "property"
        raise CommandError(f"no {what} of {parameters.name} has a proof: simulate --soak compares it with the model")
    if checkout:
        record_proofs(results, Path(checkout))
    failed = [result for result in results if not result.proved]
    text = f"{len(results) - len(failed)} of {len(results)} hold, on inputs of any length; none is bounded."
    echo(text, [result.as_dict() for result in results], as_json=as_json)
    if failed:
        first = f"{failed[0].configuration} {failed[0].wanted}"
        raise CommandError(f"{len(failed)} of {len(results)} not proved, the first: {first}", status=1)


def _print(result: Result, *, is_first: bool) -> None:
    if is_first:
        say(_ROW.format("configuration", "property", "method", "depth", "seconds", "result"), err=False)
    verdict = coloured(result.verdict, "green" if result.proved else "red")
    depth, seconds = str(result.depth or "-"), f"{result.seconds:.1f}"
    say(_ROW.format(result.configuration, result.wanted, result.method, depth, seconds, verdict), err=False)


def _write_counterexample(result: Result, directory: Path) -> None:
    if result.counterexample and result.proved is False:
        paths = result.counterexample.write(directory)
        say("\n".join([*result.counterexample.lines(), *(f"  written: {path}" for path in paths)]))
