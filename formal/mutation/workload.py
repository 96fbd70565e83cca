# SPDX-License-Identifier: BSD-2-Clause
"""The input of simulations that must detect mutants of any core. Requires the extra ``arrays``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources

from utf8fpga.sim import Simulation
from utf8fpga.sim.beats import Beat, beat_of
from utf8fpga.sim.traffic import Traffic, traffic_for

_LATEST_CUT = 200
"""Upper bound on the cycles before a reset."""


@dataclass(frozen=True, eq=False)
class Round:
    """Input from a reset, or power-up, on.

    Attributes:
        beats: the input beats, of which the last one ends its packet.
        cut: the cycles after which the core is reset; None: the round ends when all packets have ended at the output.
    """

    beats: Sequence[Beat]
    input_pauses: Sequence[bool] = (False,)
    output_pauses: Sequence[bool] = (False,)
    cut: int | None = None

    @property
    def texts(self) -> list[list[int]]:
        """The symbols of each packet."""
        found: list[list[int]] = [[]]
        for slots, last in self.beats:
            found[-1] += [slot for slot in slots if slot is not None]
            if last:
                found.append([])
        return found[:-1]


def runs_of(simulation: Simulation, count: int, *, size: int = 300) -> list[list[Round]]:
    """The workload: parts of the packets and pauses of `utf8fpga simulate --soak`, in every other run with a reset.

    Args:
        size: upper bound on the input symbols of a run after the reset.
    """
    corpus = resources.files("utf8fpga").joinpath("texts", "torture.txt").read_bytes()
    found = []
    for seed in range(count):
        given = traffic_for(simulation.core, simulation.parameters, seed, 8 * size, corpus)
        beats, options = list(simulation.beats(_part(given, size, seed), given.options)), given.options
        whole = Round(beats, options.input_pauses, options.output_pauses)
        begun = replace(whole, cut=random.Random(seed).randrange(_LATEST_CUT))
        found.append([begun, whole] if seed % 2 else [whole])
    return found


def _part(given: Traffic, size: int, seed: int) -> list[list[int]]:
    """Consecutive packets of at most `size` symbols, from a place that the seed determines."""
    ends = given.ends.tolist()
    chosen: list[list[int]] = []
    for number in range(random.Random(seed).randrange(len(ends)), len(ends)):
        first = ends[number - 1] if number else 0
        packet = given.symbols[first : ends[number]].tolist()
        if chosen and len(packet) > size:
            break
        chosen.append(packet[:size])
        size -= len(chosen[-1])
    return chosen


def run_of(simulation: Simulation, cycles: Sequence[dict[str, int]]) -> list[Round]:
    """The input of a trace of an `Environment` around a core, until all packets have ended.

    Args:
        cycles: the values of its output ports.
    """
    resets = [n for n, values in enumerate(cycles) if values["see_reset"]]
    found = []
    for first, end in zip([0, *(n + 1 for n in resets)], [*resets, None], strict=True):
        part = cycles[first:end]
        beats = [
            beat_of(simulation.core, values["see_in_payload"])
            for values in part
            if values["see_in_valid"] and (values["see_in_ready"] or values is part[-1])
        ]
        given, taken = ([not values[name] for values in part] for name in ("see_in_valid", "see_out_ready"))
        found.append(Round([*beats, ((), True)], [*given, False], [*taken, False], end if end is None else end - first))
    return found
