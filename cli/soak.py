# SPDX-License-Identifier: BSD-2-Clause
"""The option `--soak` of the command `simulate`: random packets and pauses for a time."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from time import monotonic

import click

from utf8fpga.cli.output import CommandError, coloured, progress
from utf8fpga.cli.replay import with_replay
from utf8fpga.hdl import CoreParameters, build, command_words
from utf8fpga.model.render import counted
from utf8fpga.sim import Simulation


def soak_core(parameters: CoreParameters, seconds: int, seed: int, *, as_json: bool) -> None:
    """Simulate a core with random packets and pauses, compare with the golden function and print the totals.

    Args:
        seed: the seed of the first round.
    """
    simulation = Simulation(build(parameters), engine="graph")
    # Numba is optional: the line before reports that it is not installed.
    from utf8fpga.sim.soak import soak

    rounds, begun, passed, mismatch = soak(simulation, seed), monotonic(), 0.0, None
    with progress("simulating, seconds", seconds) as done:
        while mismatch is None and passed < seconds:
            totals, mismatch = next(rounds)
            passed = monotonic() - begun
            done(int(passed))
    if as_json:
        click.echo(json.dumps({"core": parameters.name, "seed": seed, **asdict(totals), "seconds": passed}))
    else:
        entry = simulation.entry
        click.echo(
            f"{counted(totals.symbols, entry.input_noun)} in {counted(totals.packets, 'packet')},"
            f" {counted(totals.cycles, 'cycle')}, {counted(totals.rounds, 'round')} from seed {seed} on"
        )
    if mismatch:
        last = str(seed + totals.rounds - 1)
        again = shlex.join(["utf8fpga", "simulate", *command_words(parameters), "--soak", "1", "--seed", last])
        raise CommandError(f"{with_replay(mismatch)}\n  its round: {again}", status=1)
    if not as_json:
        click.echo(coloured(f"the simulated {parameters.core} gave exactly the model's {entry.output_noun}s", "green"))
