# SPDX-License-Identifier: BSD-2-Clause
"""Long simulations of a core in its harness, whose monitors are watched. Requires the extra ``fast``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from utf8fpga.sim.check import Mismatch
from utf8fpga.sim.graph import RUNS, Graph, Words
from utf8fpga.sim.harness import Harness, Property
from utf8fpga.sim.simulation import Simulation
from utf8fpga.sim.stimulus import stimulus_bounds
from utf8fpga.sim.trace import mismatch_of

PROPERTIES = (Property.EQUIVALENCE, Property.STEADY, Property.STALL, Property.LATENCY)
"""The properties that are watched."""

_CYCLES = 4096
"""The cycles of a round."""

_POOL = 1024
"""The symbols for each run of which a round draws those that it sends."""

_NARROW = np.uint64(0xFFFF)
"""The greatest one of a fourth of the symbols that are drawn."""

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


def soak(
    simulation: Simulation,
    *,
    seed: int = 0,
    seconds: float | None = None,
    symbols: int | None = None,
    on_round: Callable[[Totals], None] = lambda _: None,
) -> tuple[Totals, Mismatch | None]:
    """Step a core with random texts, pauses, null beats and resets, which the seed determines, and watch its monitors.

    Round n, counted from 0, has the seed `seed` + n, so it can be repeated without those before it.

    Args:
        seed: the seed of the first round, not negative.
        seconds: the time after which no further round begins.
        symbols: the number of input symbols after which no further round begins.

    Returns:
        What was processed, and the first difference, replayed and reduced as by `compare`; None where there is none.
    """
    totals, begun, play = Totals(), monotonic(), Soak(simulation)
    while True:
        packets, sent, mismatch = play(seed + totals.rounds)
        totals.rounds += 1
        totals.packets += packets
        totals.symbols += sent
        totals.cycles += RUNS * _CYCLES
        totals.seconds = monotonic() - begun
        on_round(totals)
        is_late = seconds is not None and totals.seconds >= seconds
        if mismatch or is_late or (symbols is not None and totals.symbols >= symbols):
            return totals, mismatch


class Soak:
    """A core in its harness as a graph; a call is a round with a seed."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        harness = Harness(simulation.core, *PROPERTIES, entry=simulation.entry)
        self._graph = Graph.from_rtlil(harness.rtlil())

    def __call__(self, seed: int) -> tuple[int, int, Mismatch | None]:
        """The packets and the symbols that were sent, and the first difference."""
        inputs, graph = self._drawn(seed), self._graph
        found = graph.step(graph.start(RUNS), inputs, ["bad", "accepted"])
        accepted = np.bitwise_count(found["accepted"]).sum(axis=0, dtype=np.int64)
        mismatch = None
        if found["bad"].any():
            cycle, number = (int(place) for place in np.argwhere(found["bad"])[0])
            runs = int(found["bad"][cycle, number])
            # The monitors are registers, so the difference is in the cycle before.
            trace = self._trace(inputs, (runs & -runs).bit_length() - 1, cycle)
            mismatch = mismatch_of(self._simulation, trace, f"the property {PROPERTIES[number]} does not hold")
        return int(accepted[-1]), int(accepted[:-1].sum()), mismatch

    def _drawn(self, seed: int) -> dict[str, Words]:
        """The inputs of all cycles and runs."""
        draw, inputs = np.random.default_rng(seed), self._graph.inputs
        names = [name for name in inputs if name != "clk"]
        found = {name: draw.integers(1 << 64, size=(_CYCLES, len(inputs[name])), dtype=np.uint64) for name in names}
        for name in ("offer", "ready", "reset"):
            found[name][:, 0] = _chances(draw, _SHARES[name])
        lanes, layout = self._simulation.core.lanes, self._simulation.core.input.payload.shape()
        fresh = found["fresh"]
        for lane in range(lanes):
            fresh[:, layout["keep"].offset + lane] = _chances(draw, _SHARES["keep"])
        fresh[:, layout["last"].offset] = _chances(draw, _SHARES["last"])
        if bounds := stimulus_bounds(self._simulation.entry):
            width = layout["symbols"].width // lanes
            chosen = _symbols(draw, bounds, width)[draw.integers(_POOL, size=(_CYCLES, lanes))]
            fresh[:, layout["symbols"].offset :][:, : lanes * width] = chosen.reshape(_CYCLES, -1)
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


def _symbols(draw: np.random.Generator, bounds: list[int], width: int) -> Any:
    """Words of the bits of `_POOL` symbols, of which a half is near a bound of the rows and a fourth is small."""
    shape = _POOL, RUNS
    any_symbol, kind = draw.integers(1 << width, size=shape, dtype=np.uint64), draw.integers(4, size=shape)
    near = draw.choice(np.array(bounds, np.uint64), size=shape)
    symbols = np.select([kind < 2, kind == 2], [near, any_symbol & _NARROW], any_symbol)
    bits = symbols[:, :, None] >> np.arange(width, dtype=np.uint64) & np.uint64(1)
    return (bits << np.arange(RUNS, dtype=np.uint64)[:, None]).sum(axis=1, dtype=np.uint64)


def _chances(draw: np.random.Generator, shares: tuple[float, ...]) -> Words:
    """For each cycle a word; each run has a share of ones for some time, then another one."""
    chosen = draw.choice(shares, size=(-(-_CYCLES // _PERIOD), RUNS))
    limits = np.repeat(np.round(256 * chosen).astype(np.uint16), _PERIOD, axis=0)[:_CYCLES]
    bits = draw.integers(256, size=(_CYCLES, RUNS), dtype=np.uint8) < limits
    found: Words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)[:, 0]
    return found
