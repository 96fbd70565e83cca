# SPDX-License-Identifier: BSD-2-Clause
"""Proofs and mutants on the command line: a table of results, and counterexamples to read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from utf8fpga.model.render import columns
from utf8fpga.output import CommandError, progress, say
from utf8fpga.sim.prove import CONFIGURATIONS, PROPERTIES, Configuration, Result, prove_all

__all__ = ["list_proofs", "run_proofs"]


def list_proofs(*, as_json: bool) -> str:
    """The names of the configurations and the properties."""
    if as_json:
        return json.dumps({"configurations": list(CONFIGURATIONS), "properties": list(PROPERTIES)}, indent=2)
    lines = ["configurations", *(f"  {name}" for name in CONFIGURATIONS)]
    return "\n".join([*lines, "properties", *(f"  {name}" for name in PROPERTIES)])


def run_proofs(
    names: Sequence[str],
    wanted: Sequence[str],
    *,
    jobs: int,
    seconds: int,
    directory: Path,
    traces: bool,
    as_json: bool,
) -> None:
    """Prove, print a line for each result, and write the counterexamples.

    Args:
        names: configurations; all if none.
        wanted: properties; all if none.
        jobs: how many at a time.
        seconds: how long the engine may think about one question.
        directory: where waveforms and regression tests go.
        traces: write the waveforms of covers too.
        as_json: print JSON.

    Raises:
        CommandError: an unknown name, or something is not proved.
    """
    chosen = _chosen(names)
    if unknown := [name for name in wanted if name not in PROPERTIES]:
        raise CommandError(f"unknown property {unknown[0]!r} (known: {', '.join(PROPERTIES)})")
    properties = list(wanted) or list(PROPERTIES)
    with progress("proving", len(chosen) * len(properties)) as done:
        results = prove_all(chosen, properties, jobs=jobs, seconds=seconds, done=done)
    if as_json:
        click.echo(json.dumps([result.as_dict() for result in results], indent=2))
    else:
        click.echo("\n".join(_table(results)))
    for result in results:
        if result.counterexample and (result.proved is False or traces):
            stem = "" if result.proved is False else result.note.lower()
            paths = result.counterexample.write(directory, stem)
            if result.proved is False:
                say("\n".join([*result.counterexample.lines(), *(f"  written: {path}" for path in paths)]))
    failed = [result for result in results if not result.proved]
    if failed:
        first = f"{failed[0].configuration} {failed[0].wanted}"
        raise CommandError(f"{len(failed)} of {len(results)} not proved, the first: {first}", status=1)


def _chosen(names: Sequence[str]) -> list[Configuration]:
    if unknown := [name for name in names if name not in CONFIGURATIONS]:
        raise CommandError(f"unknown configuration {unknown[0]!r} (known: {', '.join(CONFIGURATIONS)})")
    return [CONFIGURATIONS[name] for name in names or CONFIGURATIONS]


def _table(results: Sequence[Result]) -> list[str]:
    rows = [[r.configuration, r.wanted, r.method, str(r.depth or "-"), f"{r.seconds:.1f}", r.verdict] for r in results]
    good = sum(bool(result.proved) for result in results)
    heads = ["configuration", "property", "method", "depth", "seconds", "result"]
    return [*columns(rows, heads), f"{good} of {len(results)} hold, on inputs of any length; none is bounded."]
