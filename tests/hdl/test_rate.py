# SPDX-License-Identifier: BSD-2-Clause
"""A consumer that stalls now and then loses no part of its rate."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.benches import run_benches
from support.tiers import tiered

from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    SanitizerParameters,
    TranscoderParameters,
    build,
)

CORES: list[CoreParameters] = [
    DecoderParameters(),
    DecoderParameters(lanes=4, packed=False),
    DecoderParameters(lanes=4),
    SanitizerParameters(lanes=4),
    RemoverParameters(lanes=4),
    *(DecoderParameters(lanes=lanes) for lanes in (2, 3, 5, 6, 7, 8, 16, 32)),
    DecoderParameters(lanes=64, packed=False),
    EncoderParameters(lanes=2),
    TranscoderParameters(to="utf-16-le", lanes=4),
    TranscoderParameters(to="utf-16-le", lanes=8),
    TranscoderParameters(lanes=2),
]
IN_EVERY_RUN = 5
WARM_UP, CYCLES = 60, 1000


@pytest.mark.smoke
@pytest.mark.parametrize("parameters", tiered({each.name: each for each in CORES}, IN_EVERY_RUN))
def test_a_consumer_that_stalls_at_random_keeps_its_rate(parameters: Any) -> None:
    """Each beat is a packet, so that there is an output beat for each."""
    core = build(parameters)
    rates: dict[float, float] = {}

    async def bench(ctx: Any) -> None:
        payload, rng = core.input.payload, random.Random(1)
        for symbol in payload.symbols:
            ctx.set(symbol, 0x41)
        ctx.set(payload.keep, (1 << core.lanes) - 1)
        ctx.set(payload.last, 1)
        ctx.set(core.input.valid, 1)
        for share in (0.95, 0.8):
            offered = transferred = 0
            for cycle in range(WARM_UP + CYCLES):
                ready = rng.random() < share
                ctx.set(core.output.ready, ready)
                if cycle >= WARM_UP and ready:
                    offered += 1
                    transferred += ctx.get(core.output.valid)
                await ctx.tick()
            rates[share] = transferred / offered

    run_benches(core, bench)
    assert min(rates.values()) >= 0.99, rates
