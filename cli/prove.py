# SPDX-License-Identifier: BSD-2-Clause
"""The command `prove`: runs proofs, prints a table of results, and writes counterexamples."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import filter as matching
from pathlib import Path

import click

from utf8fpga.cli.core_command import chosen_executor, core_command, dask_option, jobs_option
from utf8fpga.cli.options import FOLDER, directory_option, json_option, one_of, reject_others
from utf8fpga.cli.output import CommandError, coloured, echo, naming, print_above, progress, say
from utf8fpga.cli.record import check_pages, record_proofs
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.formal.report import Result
from utf8fpga.formal.runner import jobs as planned
from utf8fpga.formal.runner import prove_all
from utf8fpga.hdl import CoreParameters
from utf8fpga.model.exceptions import did_you_mean

PROOF_SECONDS = 600
"""Upper bound on the time for each proof."""


@core_command("prove serial-area --property steady", "prove --lanes 2 --sparse", optional=True)
@click.argument("names", nargs=-1, metavar="[CONFIG]...")
@click.option("--list", "listed", is_flag=True, help="List the configurations and the properties.")
@click.option("--property", "wanted", multiple=True, **one_of(PROPERTIES, "Only this property, may be repeated."))
@jobs_option
@dask_option
@directory_option
@click.option("--record", "checkout", type=FOLDER, help="Write what is proved into this checkout.")
@json_option
def prove(
    names: tuple[str, ...],
    parameters: CoreParameters | None,
    listed: bool,
    wanted: tuple[str, ...],
    jobs: int | None,
    dask: str | None,
    directory: str,
    checkout: str | None,
    as_json: bool,
) -> None:
    """Prove that cores are correct on every input, or print a counterexample.

    CONFIG is a name that --list prints, or a pattern of names such as 'serial-?'; alternatively, options select one
    core. Default: the configurations that --list does not mark, in about six minutes on two processors. Exit status 1
    if a property is not proved.
    """
    if listed:
        reject_others("--list", "listed", "as_json")
        every = [f"  {name}{' (on request)' if each.on_request else ''}" for name, each in CONFIGURATIONS.items()]
        text = "\n".join(["configurations", *every, "properties", *(f"  {name}" for name in PROPERTIES)])
        echo(text, {"configurations": list(CONFIGURATIONS), "properties": list(PROPERTIES)}, as_json=as_json)
        return
    chosen, properties = _chosen(names, parameters), list(wanted or PROPERTIES)
    if checkout:
        check_pages(Path(checkout))  # Before proofs that may take hours.
    results: list[Result] = []
    with chosen_executor(jobs, dask) as workers, progress("proving", len(planned(chosen, properties))) as done:
        for result in prove_all(chosen, properties, workers, seconds=PROOF_SECONDS, done=done):
            if not as_json and not results:
                print_above(_ROW.format("configuration", "property", "method", "depth", "seconds", "result"))
            if not as_json:
                print_above(_line(result))
            results.append(result)
            if result.counterexample and result.proved is False:
                with naming(directory):
                    paths = result.counterexample.write(Path(directory))
                say("\n".join([*result.counterexample.lines(), *(f"  written: {path}" for path in paths)]))
    if not results:
        what = f"property {', '.join(wanted)}" if wanted else "property"
        of_all = ", ".join(each.name for each in chosen)
        raise CommandError(f"no {what} of {of_all} has a proof: simulate --soak compares a core with the model")
    if checkout:
        record_proofs(results, Path(checkout))
    failed = [result for result in results if not result.proved]
    text = f"{len(results) - len(failed)} of {len(results)} hold, on inputs of any length; none is bounded."
    echo(text, [result.as_dict() for result in results], as_json=as_json)
    if failed:
        note = f" ({failed[0].note})" if failed[0].proved is None and failed[0].note else ""
        first = f"{failed[0].configuration} {failed[0].wanted}{note}"
        raise CommandError(f"{len(failed)} of {len(results)} not proved, the first: {first}", status=1)


_ROW = "{:28}  {:13}  {:12}  {:>5}  {:>7}  {}"
"""A line of the table."""


def _line(result: Result) -> str:
    verdict = coloured(result.verdict, "green" if result.proved else "red")
    depth, seconds = str(result.depth or "-"), f"{result.seconds:.1f}"
    return _ROW.format(result.configuration, result.wanted, result.method, depth, seconds, verdict)


def _chosen(names: Sequence[str], parameters: CoreParameters | None) -> list[Configuration]:
    """The configurations that are named, or the one that the options select, or else the default ones."""
    found = {name: matching(CONFIGURATIONS, name) for name in names}
    if unknown := [name for name, each in found.items() if not each]:
        near = did_you_mean(unknown[0], CONFIGURATIONS)
        raise CommandError(f"there is no configuration {unknown[0]!r}{near or '; prove --list lists them'}")
    if parameters is not None and names:
        raise CommandError(f"configuration {names[0]!r} is a whole core: leave out the options that choose one")
    if parameters is not None:
        return [Configuration.of(parameters)]
    default = [name for name, each in CONFIGURATIONS.items() if not each.on_request]
    each_once = dict.fromkeys(each for name in names for each in found[name])
    return [CONFIGURATIONS[name] for name in each_once or default]
