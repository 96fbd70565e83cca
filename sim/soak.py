# SPDX-License-Identifier: BSD-2-Clause
"""Long simulations of a core in its harness, whose monitors are watched. Requires the extra ``fast``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, fields
from functools import lru_cache, partial
from time import monotonic
from typing import Any, TypeAlias

import numpy as np

from utf8fpga.hdl import CoreParameters, build
from utf8fpga.sim.check import Mismatch
from utf8fpga.sim.graph import RUNS, Graph, Words
from utf8fpga.sim.harness import Harness, Property
from utf8fpga.sim.simulation import Simulation
from utf8fpga.sim.trace import mismatch_of

PROPERTIES = (Property.EQUIVALENCE, Property.STEADY, Property.STALL, Property.LATENCY)
"""The properties that are watched."""

_CYCLES = 4096
"""The cycles of a round."""

_PERIOD = 47
"""Cycles for which a run keeps its shares of pauses and ends; no power of two, since depths of memories are."""

_SHARES: dict[str, tuple[float, ...]] = {
    "offer": (0, 0.1, 0.5, 0.9, 1, 1, 1, 1, 1),
    "ready": (0, 0.1, 0.5, 0.9, 1, 1, 1, 1, 1),
    "keep": (0.5, 0.9, 1, 1, 1, 1),
    "last": (0, 0.01, 0.2, 0.9),
    "reset": (*[0] * 15, 0.05),
}
"""By input the shares of cycles in which it is 1, of which each run has one at a time; the others are 1 in a half."""

_ROUNDS_AHEAD = 32
"""The rounds that begin elsewhere before the result of the first one is collected."""


@dataclass
class Totals:
    """What a long simulation has processed.

    Attributes:
        rounds: the rounds, each of which has a seed of its own, and 64 runs of the core.
        symbols: the input symbols sent.
    """

    rounds: int = 0
    packets: int = 0
    symbols: int = 0
    cycles: int = 0
    seconds: float = 0.0

    def add(self, others: Totals) -> None:
        """Add what another run has processed, but for its time."""
        for each in fields(others):
            if each.name != "seconds":
                setattr(self, each.name, getattr(self, each.name) + getattr(others, each.name))


Outcome: TypeAlias = tuple[Totals, Mismatch | None]
"""What was processed, and the first difference; None where there is none."""


def soak(
    simulation: Simulation,
    *,
    seed: int = 0,
    seconds: float | None = None,
    symbols: int | None = None,
    on_round: Callable[[Totals], None] | None = None,
    executor: Executor | None = None,
) -> Outcome:
    """Step a core with random texts, pauses, null beats and resets, which the seed determines, and watch its monitors.

    Round n, counted from 0, has the seed `seed` + n, so it can be repeated without those before it.

    Args:
        seed: the seed of the first round, not negative.
        seconds: the time after which no further round begins.
        symbols: the number of input symbols after which no further round begins.
        executor: runs the rounds, of the core that the parameters of the simulation build; default: this process.

    Returns:
        What was processed, and the first difference, replayed and reduced as by `compare`; None where there is none.
    """
    # Results are collected in order.
    limit = _ROUNDS_AHEAD if executor else 1
    begin = _start(simulation, executor)
    totals, begun, following, size = Totals(), monotonic(), seed, 1
    pending: deque[Callable[[], Outcome]] = deque()
    while True:
        while (
            len(pending) < limit
            and (seconds is None or monotonic() - begun < seconds)
            and (symbols is None or totals.symbols + len(pending) * size < symbols)
        ):
            pending.append(begin(following))
            following += 1
        if not pending:
            return totals, None
        processed, mismatch = pending.popleft()()
        totals.add(processed)
        totals.seconds, size = monotonic() - begun, processed.symbols
        if on_round:
            on_round(totals)
        if mismatch or (symbols is not None and totals.symbols >= symbols):
            # The rounds that have begun elsewhere are not those of a process that runs one after another.
            return totals, mismatch


def _start(simulation: Simulation, executor: Executor | None) -> Callable[[int], Callable[[], Outcome]]:
    """A function that begins the round with a seed, and returns another one that waits for its result."""
    if executor is None:
        here = SoakRound(simulation)
        return lambda seed: partial(here, seed)
    parameters = simulation.entry.parameters
    return lambda seed: executor.submit(_built_round, parameters, seed).result


@lru_cache(maxsize=1)
def _round_of(parameters: CoreParameters) -> SoakRound:
    return SoakRound(Simulation(build(parameters)))


def _built_round(parameters: CoreParameters, seed: int) -> Outcome:
    return _round_of(parameters)(seed)


class SoakRound:
    """A core in its harness as a graph; a call is a round with a seed."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        harness = Harness(simulation.core, *PROPERTIES, entry=simulation.entry, is_biased=True)
        self._graph = Graph.from_rtlil(harness.rtlil(), is_minimised=True)
        layout: Any = simulation.core.input.payload.shape()
        first = layout["keep"].offset
        self._names = {first + lane: "keep" for lane in range(simulation.core.lanes)} | {layout["last"].offset: "last"}

    def __call__(self, seed: int) -> Outcome:
        """What was processed, and the first difference."""
        inputs, graph = self._drawn(seed), self._graph
        found = graph.step(graph.start(RUNS), inputs, ["bad", "accepted"])
        accepted = np.bitwise_count(found["accepted"]).sum(axis=0, dtype=np.int64)
        totals = Totals(1, int(accepted[-1]), int(accepted[:-1].sum()), RUNS * _CYCLES)
        if not found["bad"].any():
            return totals, None
        cycle, number = (int(place) for place in np.argwhere(found["bad"])[0])
        runs = int(found["bad"][cycle, number])
        # The monitors are registers, so the difference is in the cycle before.
        trace = self._trace(inputs, (runs & -runs).bit_length() - 1, cycle)
        return totals, mismatch_of(self._simulation, trace, f"the property {PROPERTIES[number]} does not hold")

    def _drawn(self, seed: int) -> dict[str, Words]:
        """The inputs of all cycles and runs."""
        draw = np.random.default_rng(seed)
        found = {}
        for name, literals in self._graph.inputs.items():
            if name == "clk":
                continue
            shape = _CYCLES, len(literals)
            found[name] = draw.integers(1 << 64, size=shape, dtype=np.uint64)
            names = self._names if name == "fresh" else {0: name} if name in _SHARES else {}
            for bit, kind in names.items():
                found[name][:, bit] = _chances(draw, _SHARES[kind])
        return found

    def _trace(self, inputs: dict[str, Words], run: int, cycles: int) -> list[dict[str, int]]:
        """The values of the streams of a run in its first cycles."""
        graph = self._graph
        names = [name for name in graph.outputs if name.startswith("see_")]
        some = {name: words[:cycles] for name, words in inputs.items()}
        found = graph.step(graph.start(RUNS), some, names)
        bits = {name: words >> np.uint64(run) & np.uint64(1) for name, words in found.items()}
        return [
            {name: int("".join(map(str, words[at, ::-1])) or "0", 2) for name, words in bits.items()}
            for at in range(cycles)
        ]


def _chances(draw: np.random.Generator, shares: tuple[float, ...]) -> Words:
    """For each cycle a word; each run has a share of ones for some time, then another one."""
    chosen = draw.choice(shares, size=(-(-_CYCLES // _PERIOD), RUNS))
    limits = np.repeat(np.round(256 * chosen).astype(np.uint16), _PERIOD, axis=0)[:_CYCLES]
    bits = draw.integers(256, size=(_CYCLES, RUNS), dtype=np.uint8) < limits
    found: Words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)[:, 0]
    return found
