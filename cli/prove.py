# SPDX-License-Identifier: BSD-2-Clause
"""The command `prove`: runs proofs and mutants, prints a table of results, and writes counterexamples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from fnmatch import filter as matching
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import click

from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import FOLDER, MAX_SEED, SEED, completion, json_option, one_of, reject_others
from utf8fpga.cli.output import CommandError, coloured, did_you_mean, echo, naming, progress, say
from utf8fpga.cli.process import ignore_unused_circuits
from utf8fpga.cli.record import check_pages, read_answers, record_proofs
from utf8fpga.cli.scheduling import chosen_executor, dask_option
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.formal.mutation.score import Outcome, Score
from utf8fpga.formal.record import add_answers, is_current
from utf8fpga.formal.report import Result
from utf8fpga.formal.runner import prove_all
from utf8fpga.hdl import CoreParameters, DecoderParameters
from utf8fpga.hdl.jobs import JobExecutor
from utf8fpga.model.render import aligned, columns, counted

MUTATED = (
    *("serial-0", "serial-1", "serial-2", "serial-0-full"),
    *("parallel-1-pipeline-0", "parallel-1", "parallel-2", "parallel-4"),
)
"""The default configurations for `--mutate`."""


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
    help="Write the answers, and the table of what is proved, into a checkout. What is proved there of the same "
    "circuits and statements is not proved again.",
)
@click.option("--traces", is_flag=True, help="Also write the waveform of each cover.")
@click.option(
    "--mutate",
    type=click.IntRange(min=1),
    metavar="N",
    help="Instead, check that proofs and simulation detect N mutants of each netlist and all mutants of each table; "
    "of another core than a decoder, that the comparison with its golden function detects N mutants of its gates; "
    "default for CONFIG: some decoders.",
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the selection of mutants.")
@json_option
def prove(
    names: tuple[str, ...],
    parameters: CoreParameters | None,
    listed: bool,
    jobs: int | None,
    dask: str | None,
    timeout: int,
    record: str | None,
    mutate: int | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Prove that cores are correct on every input, or print an input for which one is not.

    CONFIG is a name that --list prints, or a pattern of names such as 'serial-?'; alternatively, options select one
    core. Default: the configurations that --list does not mark, in about ten minutes on two processors; with --record
    also those that are recorded there. Exit status 1 if a property is not proved.
    """
    if listed:
        reject_others("--list", "listed", "as_json")
        every = [f"  {name}{' (on request)' if each.on_request else ''}" for name, each in CONFIGURATIONS.items()]
        text = "\n".join(["configurations", *every, "properties", *(f"  {name}" for name in PROPERTIES)])
        echo(text, {"configurations": list(CONFIGURATIONS), "properties": list(PROPERTIES)}, as_json=as_json)
        return
    if mutate:
        reject_others(f"--mutate {mutate}", others=("wanted", "traces", "directory"))
    if mutate and parameters is not None and not (names or isinstance(parameters, DecoderParameters)):
        reject_others("--mutate of another core than a decoder", others=("jobs", "dask", "record"))
        run_mutants(
            [parameters], mutate, chosen_executor(1, None), seed=seed, seconds=min(timeout, 20), as_json=as_json
        )
        return
    recorded = () if record is None or mutate else read_answers(Path(record))
    default = [name for name, each in CONFIGURATIONS.items() if not each.on_request or name in recorded]
    chosen = _chosen(names, parameters, MUTATED if mutate else default)
    _reject_unrecorded(chosen, record, mutate)
    executor = chosen_executor(jobs, dask)
    if mutate:
        run_mutants(chosen, mutate, executor, seed=seed, seconds=timeout, as_json=as_json)
    else:
        run_proofs(chosen, executor, seconds=timeout, record=record, as_json=as_json, **options)


def _reject_unrecorded(chosen: Sequence[Configuration], record: str | None, mutate: int | None) -> None:
    """Reject options that contradict `--record`."""
    if record and mutate:
        raise CommandError(f"--record records proofs: leave out --mutate {mutate}")
    if record and (unnamed := [each.name for each in chosen if each.name not in CONFIGURATIONS]):
        raise CommandError(f"--record records what --list prints, not {unnamed[0]}")
    if record:
        check_pages(Path(record))  # Before proofs that may take hours.


def run_proofs(
    chosen: Sequence[Configuration],
    executor: AbstractContextManager[JobExecutor],
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
        record: the checkout where the results are recorded; None: nowhere.
        traces: also write the waveforms of covers.
    """
    properties, checkout = list(wanted or PROPERTIES), Path(record) if record else None
    ignore_unused_circuits()
    if checkout:
        answers = read_answers(checkout)
        chosen = [each for each in chosen if not is_current(answers, each, properties)]
        if not chosen:
            record_proofs(answers, checkout)
            say("all of these are recorded of the circuits and the statements as they are")
            return
    results: list[Result] = []
    with (
        executor as workers,
        progress("proving", len(chosen) * len(properties)) as done,
    ):
        widths = [] if as_json else _widths([each.name for each in chosen], properties)
        if widths:
            print(aligned(_HEADS, widths), flush=True)
        found = prove_all(chosen, properties, workers, seconds=seconds, done=done)
        for name, of_one in groupby(found, attrgetter("configuration")):
            first = len(results)
            for result in of_one:
                results.append(result)
                _report(result, widths)
                _write_counterexample(result, Path(directory), traces=traces)
            if checkout:
                _record(checkout, [CONFIGURATIONS[name]], properties, results[first:])
    if checkout:
        names = {result.configuration for result in results}
        _record(checkout, [each for each in chosen if each.name not in names], properties, [])
    if not results:
        of_all = ", ".join(each.name for each in chosen)
        raise CommandError(f"nothing to prove: {of_all} has no property {', '.join(wanted)}")
    _conclude(results, as_json=as_json)


def _record(
    checkout: Path,
    configurations: Iterable[Configuration],
    properties: Collection[str],
    results: Sequence[Result],
) -> None:
    """Record the results of some properties of configurations; none of a configuration without results is proved."""
    answers = read_answers(checkout)  # Another run may have recorded some meanwhile.
    for each in configurations:
        add_answers(answers, each, properties, results)
    record_proofs(answers, checkout)


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


def run_mutants(
    subjects: Sequence[CoreParameters | Configuration],
    count: int,
    executor: AbstractContextManager[JobExecutor],
    *,
    seed: int,
    seconds: int,
    as_json: bool,
) -> None:
    """Check that mutants of netlists are detected, and of configurations by proofs, too, as those of tables.

    Args:
        subjects: either configurations, or the parameters of one core.
        count: the number of mutants of each netlist; of a table all mutants are used.
    """
    try:
        from utf8fpga.formal.mutation.judge import judge_all
    except ModuleNotFoundError as error:
        raise CommandError(f"--mutate requires {error.name}: pip install 'utf8fpga[arrays]'", status=1) from None
    ignore_unused_circuits()
    with progress(f"mutants of {', '.join(each.name for each in subjects)}", None) as done, executor as workers:
        scores = judge_all(subjects, count, workers, seed=seed, seconds=seconds, done=done)
    if all(isinstance(each, CoreParameters) for each in subjects):
        _report_core(scores[0], as_json=as_json)
    else:
        _report_proofs(scores, as_json=as_json)


def _report_core(score: Score, *, as_json: bool) -> None:
    """Report mutants that only the comparison with the golden function has to detect."""
    outcomes = [each for each in Outcome if each is not Outcome.INVALID]
    mutants = [{"name": each.name, "outcome": each.outcome, "reason": each.reason} for each in score.mutants]
    row = [score.core, *(str(len(each)) for each in (score.mutants, *(score.having(one) for one in outcomes)))]
    table = columns([row], ["core", "mutants", *outcomes])
    echo("\n".join(table), {"core": score.core, "mutants": mutants}, as_json=as_json)
    for mutant in score.having(Outcome.TIMING, Outcome.SURVIVED, Outcome.UNDECIDED):
        say(f"{mutant.outcome}: {mutant.name}{mutant.reason and ', '}{mutant.reason}")
    if survivors := score.having(Outcome.SURVIVED):
        raise CommandError(
            f"{len(survivors)} of {counted(len(score.mutants), 'mutant')} survive: see the list above", status=1
        )


def _counts(score: Score) -> list[str]:
    """The cells of a score in the table."""
    numbers = map(len, (score.mutants, score.having(Outcome.INVALID), score.having(Outcome.EQUIVALENT), score.counted))
    found = score.by_proof if score.monitored else "-"
    return [score.core, score.source, *map(str, (*numbers, found, score.by_simulation))]


def _report_proofs(scores: Sequence[Score], *, as_json: bool) -> None:
    """Report mutants that both proofs and simulation have to detect."""
    heads = ["configuration", "mutants of", "made", "invalid", "equivalent", "counted", "by proof", "by simulation"]
    echo("\n".join(columns(map(_counts, scores), heads)), list(map(_as_dict, scores)), as_json=as_json)
    for score in scores:
        for mutant in score.survivors:
            noticed = f"proof {mutant.proof or 'none'}, simulation {mutant.simulation or 'none'}"
            say("\n".join([f"{score.core}: {mutant.name}: {noticed}", *(f"  {x}" for x in mutant.apart)]))
    total, by_simulation = (sum(map(each, scores)) for each in (lambda x: len(x.counted), lambda x: x.by_simulation))
    by_proof = sum(score.by_proof for score in scores)
    say(f"{counted(total, 'mutant')}: {by_proof} refuted by proof, {by_simulation} detected by simulation")
    missed = any(score.monitored and score.by_proof < len(score.counted) for score in scores)
    if missed or by_simulation < 0.99 * total:
        raise CommandError("mutants were not detected, or reported by mistake: see the list above", status=1)


def _as_dict(score: Score) -> dict[str, Any]:
    mutants = [
        {
            "name": mutant.name,
            "simulation": mutant.simulation,
            "proof": mutant.proof,
            "undecided": mutant.outcome is Outcome.UNDECIDED,
            "invalid": mutant.reason if mutant.outcome is Outcome.INVALID else "",
            "apart": mutant.apart,
        }
        for mutant in score.mutants
    ]
    return {"configuration": score.core, "source": score.source, "mutants": mutants}


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
