# SPDX-License-Identifier: BSD-2-Clause
"""The FIFO with credits: it is never full, keeps the order, and has the rate of any consumer."""

from __future__ import annotations

import random
from collections import deque
from itertools import count
from typing import Any

import pytest
from amaranth.hdl import ClockDomain
from support.benches import run_benches

from utf8fpga.hdl.fifo import CreditFifo

CYCLES = 1500
RNG = random.Random(1)
CONSUMERS = {
    "always": [True] * CYCLES,
    "often": [RNG.random() < 0.9 for _ in range(CYCLES)],
    "sometimes": [RNG.random() < 0.4 for _ in range(CYCLES)],
    "after long stalls": [cycle % 80 >= 40 for cycle in range(CYCLES)],
    "after short stalls": [cycle % 16 >= 3 for cycle in range(CYCLES)],
}


@pytest.mark.smoke
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_pipeline_of_eleven_cycles_keeps_the_rate_of_any_consumer(consumer: str) -> None:
    """Of the bound of the contract, `depth` - 5 = 11 cycles: once the first entry is there, none is missing."""
    fifo, cycles = CreditFifo(20, 2), 11
    pipeline = deque[int | None]([None] * cycles)
    found: list[int] = []
    misses = 0

    async def bench(ctx: Any) -> None:
        nonlocal misses
        numbers = count()
        for wants in CONSUMERS[consumer]:
            ready = ctx.get(fifo.ready)
            pipeline.append(next(numbers) if ready else None)
            entry = pipeline.popleft()
            ctx.set(fifo.accepted, ready)
            ctx.set(fifo.stored, entry is not None)
            ctx.set(fifo.entry, entry or 0)
            ctx.set(fifo.output_ready, wants)
            if wants and ctx.get(fifo.output_valid):
                found.append(ctx.get(fifo.output))
            elif wants and found:
                misses += 1
            await ctx.tick()

    run_benches(fifo, bench)
    assert found == list(range(len(found)))
    assert len(found) > 500
    assert misses == 0


@pytest.mark.smoke
def test_no_entry_is_lost_where_beats_are_dropped_and_a_reset_empties_it() -> None:
    """With random pauses on both sides; what waits is steady."""
    rng, fifo, domain = random.Random(3), CreditFifo(70, 8, depth=8), ClockDomain("sync")
    waiting, pipeline, held = deque[int](), deque[int | None]([None] * 3), -1

    async def bench(ctx: Any) -> None:
        nonlocal held
        fullest = 0
        for cycle in range(4000):
            moves = ctx.get(fifo.ready) and rng.random() < (cycle // 100 % 2 or 0.8)
            pipeline.append(rng.getrandbits(70) if moves else None)
            entry = pipeline.popleft()
            dropped = entry is not None and rng.random() < 0.2
            ctx.set(fifo.accepted, moves)
            ctx.set(fifo.dropped, dropped)
            ctx.set(fifo.stored, entry is not None and not dropped)
            ctx.set(fifo.entry, rng.getrandbits(70) if entry is None else entry)
            wants = rng.random() < (cycle // 200 % 2 or 0.2)
            ctx.set(fifo.output_ready, wants)
            valid, output = ctx.get(fifo.output_valid), ctx.get(fifo.output)
            assert valid == bool(waiting)
            if valid:
                assert output == waiting[0]
            if valid and wants:
                waiting.popleft()
            if entry is not None and not dropped:
                waiting.append(entry)
            fullest = max(fullest, len(waiting))
            resets = rng.random() < 0.004
            ctx.set(domain.rst, resets)
            await ctx.tick()
            if resets:
                waiting.clear()
                pipeline.extend([None] * 3)
                for _ in range(3):
                    pipeline.popleft()
        assert fullest == fifo.depth - 1

    run_benches(fifo, bench, domain=domain)
