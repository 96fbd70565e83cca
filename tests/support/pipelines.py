# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of a part of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from amaranth.hdl import ClockDomain, Module, Signal

from support.benches import run_benches
from utf8fpga.hdl.pipeline import Pipeline, Staged, latest


def outcomes_of(
    build: Callable[[Pipeline, list[Staged]], Sequence[Staged]], words: Sequence[int], width: int
) -> list[list[int]]:
    """The results of a part of a pipeline for the bits of each word, one word per cycle."""
    word, pipeline = Signal(width), Pipeline()
    results = build(pipeline, [Staged(word[bit], 0) for bit in range(width)])
    stage = latest(results)
    values = [pipeline.at(result, stage) for result in results]
    m = Module()
    m.domains.sync = ClockDomain("sync")
    pipeline.connect(m)
    found: list[list[int]] = []

    async def bench(ctx: Any) -> None:
        for value in [*words, *[0] * stage]:
            ctx.set(word, value)
            found.append([ctx.get(each) for each in values])
            await ctx.tick()

    run_benches(m, bench)
    return found[stage:]
