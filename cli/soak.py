# SPDX-License-Identifier: BSD-2-Clause
"""The option `--soak` of the command `simulate`: random packets and pauses for a time."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import nullcontext
from dataclasses import asdict

from utf8fpga.cli.core_command import chosen_executor
from utf8fpga.cli.output import CommandError, coloured, progress
from utf8fpga.hdl import CoreParameters, build, command_words
from utf8fpga.model.render import counted
from utf8fpga.sim import Simulation

_TIMES = {"s": 1, "m": 60, "h": 3600}
_AMOUNTS = {"kB": 10**3, "MB": 10**6, "GB": 10**9}


def soak_limit(text: str) -> tuple[float | None, int | None]:
    """The seconds or the number of bytes that a value of ``--soak`` denotes."""
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([a-zA-Z]{1,2})", text)
    if found and found[2] in {**_TIMES, **_AMOUNTS} and float(found[1]) == 0:
        raise CommandError(f"--soak {text!r} compares nothing: give more than 0")
    if found and found[2] in _TIMES:
        return float(found[1]) * _TIMES[found[2]], None
    if found and found[2] in _AMOUNTS:
        return None, round(float(found[1]) * _AMOUNTS[found[2]])
    raise CommandError(f"--soak {text!r} is neither a time such as 10m nor an amount such as 5GB")


def soak_core(parameters: CoreParameters, limit: str, *, seed: int, dask: str | None, as_json: bool) -> None:
    """Simulate a core with random packets and pauses, compare with the golden function and print the totals.

    Args:
        limit: see `soak_limit`.
        seed: the seed of the first round.
        dask: the scheduler of the cluster that runs the rounds; None: this process.
    """
    seconds, symbols = soak_limit(limit)
    simulation = Simulation(build(parameters), engine="graph")
    # Numba is optional: the line before reports that it is not installed.
    from utf8fpga.sim.soak import soak

    total = symbols or round(seconds or 0)
    with (
        chosen_executor(None, dask) if dask else nullcontext() as executor,
        progress("simulating, seconds" if seconds else "simulating", total, rate=not seconds) as done,
    ):
        totals, mismatch = soak(
            simulation,
            seed=seed,
            seconds=seconds,
            symbols=symbols,
            on_round=lambda totals: done(int(totals.seconds) if seconds else totals.symbols),
            executor=executor,
        )
    if as_json:
        print(json.dumps({"core": parameters.name, "seed": seed, **asdict(totals)}))
    else:
        rate = totals.symbols / max(totals.seconds, 1e-9)
        print(
            f"{counted(totals.symbols, simulation.entry.input_noun)} in {counted(totals.packets, 'packet')},"
            f" {counted(totals.cycles, 'cycle')}, {counted(totals.rounds, 'round')} from seed {seed} on,"
            f" {totals.seconds:.1f} s, {rate / 1e6:.3f} million per second"
        )
    if mismatch:
        last = str(seed + totals.rounds - 1)
        again = shlex.join(["utf8fpga", "simulate", *command_words(parameters), "--soak", "1s", "--seed", last])
        raise CommandError(f"{mismatch}\n  its round: {again}", status=1)
    if not as_json:
        noun = f"{simulation.entry.output_noun}s"
        print(coloured(f"the simulated {parameters.core} gave exactly the model's {noun}", "green"))
