# SPDX-License-Identifier: BSD-2-Clause
"""Long simulations of a core in its harness, whose monitors are watched. Requires the extra ``fast``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from utf8fpga.hdl import CoreEntry
from utf8fpga.model.bounds import boundary_units, near
from utf8fpga.sim.beats import Fields
from utf8fpga.sim.check import Mismatch, mismatch_of
from utf8fpga.sim.graph import RUNS, Graph, Words, numbers_of, words_of
from utf8fpga.sim.harness import Harness, Property
from utf8fpga.sim.simulation import Simulation

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


def soak(simulation: Simulation, seed: int = 0) -> Iterator[tuple[Totals, Mismatch | None]]:
    """Step a core with random texts, pauses, null beats and resets, which the seed determines, and watch its monitors.

    Round n, counted from 0, has the seed `seed` + n, so it can be repeated without those before it.

    Args:
        seed: the seed of the first round, not negative.

    Yields:
        After each round the totals, and the first difference, replayed and reduced as by `compare`, or None. The round
        with a difference is the last one.
    """
    harness = Harness(simulation.core, *PROPERTIES, entry=simulation.entry)
    graph, totals, mismatch = Graph.from_rtlil(harness.rtlil()), Totals(), None
    while mismatch is None:
        inputs = _drawn(simulation, graph, seed + totals.rounds)
        found = graph.step(graph.start(RUNS), inputs, ["bad", "accepted"])
        accepted = np.bitwise_count(found["accepted"]).sum(axis=0, dtype=np.int64)
        totals.rounds += 1
        totals.packets += int(accepted[-1])
        totals.symbols += int(accepted[:-1].sum())
        totals.cycles += RUNS * _CYCLES
        if found["bad"].any():
            cycle, number = (int(place) for place in np.argwhere(found["bad"])[0])
            run = int(found["bad"][cycle, number]).bit_length() - 1
            # The monitors are registers, so the difference is in the cycle before.
            trace = _trace(graph, {name: words[:cycle] for name, words in inputs.items()}, run)
            mismatch = mismatch_of(simulation, trace, f"the property {PROPERTIES[number]} does not hold")
        yield totals, mismatch


def _drawn(simulation: Simulation, graph: Graph, seed: int) -> dict[str, Words]:
    """The inputs of all cycles and runs."""
    draw, fields = np.random.default_rng(seed), Fields(simulation.core.input)
    sizes = {name: (_CYCLES, len(bits)) for name, bits in graph.inputs.items() if name != "clk"}
    found = {name: draw.integers(1 << 64, size=size, dtype=np.uint64) for name, size in sizes.items()}
    for name in ("offer", "ready", "reset"):
        found[name][:, 0] = _chances(draw, _SHARES[name])
    fresh = found["fresh"]
    for lane in range(fields.lanes):
        fresh[:, fields.keep + lane] = _chances(draw, _SHARES["keep"])
    fresh[:, fields.last] = _chances(draw, _SHARES["last"])
    if bounds := _bounds(simulation.entry):
        pool = _symbols(draw, bounds, fields.width)
        chosen = pool[draw.integers(_POOL, size=(_CYCLES, fields.lanes))].reshape(_CYCLES, -1)
        fresh[:, fields.symbols : fields.symbols + chosen.shape[1]] = chosen
    return found


def _bounds(entry: CoreEntry[Any]) -> list[int]:
    """The symbols near the bounds of a core's input, and of the rows of its output; or none."""
    if (table := entry.input_table) is None:
        return []
    points = [row.code_points.last for form in entry.tables for row in form.rows]
    return sorted({*boundary_units(table), *near(points, table)})


def _symbols(draw: np.random.Generator, bounds: list[int], width: int) -> Words:
    """Words of the bits of `_POOL` symbols, of which a half is near a bound of the rows and a fourth is small."""
    shape = _POOL, 1, RUNS
    any_symbol, kind = draw.integers(1 << width, size=shape, dtype=np.uint64), draw.integers(4, size=shape)
    near = draw.choice(np.array(bounds, np.uint64), size=shape)
    symbols = np.select([kind < 2, kind == 2], [near, any_symbol & _NARROW], any_symbol)
    return words_of(symbols >> np.arange(width, dtype=np.uint64)[:, None] & np.uint64(1))


def _chances(draw: np.random.Generator, shares: tuple[float, ...]) -> Words:
    """For each cycle a word; each run has a share of ones for some time, then another one."""
    chosen = draw.choice(shares, size=(-(-_CYCLES // _PERIOD), RUNS))
    limits = np.repeat(np.round(256 * chosen).astype(np.uint16), _PERIOD, axis=0)[:_CYCLES]
    return words_of(draw.integers(256, size=(_CYCLES, RUNS), dtype=np.uint8) < limits)


def _trace(graph: Graph, inputs: dict[str, Words], run: int) -> list[dict[str, Any]]:
    """The values of the streams of a run in each cycle."""
    names = [name for name in graph.outputs if name.startswith("see_")]
    found = graph.step(graph.start(RUNS), inputs, names)
    values = [numbers_of(words >> np.uint64(run) & np.uint64(1)) for words in found.values()]
    return [dict(zip(names, cycle, strict=True)) for cycle in zip(*values, strict=True)]
