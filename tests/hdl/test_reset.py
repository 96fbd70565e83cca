# SPDX-License-Identifier: BSD-2-Clause
"""A reset during traffic discards everything inside."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal
from support.benches import run_benches

from utf8fpga.hdl import DecoderParameters, build

BUSY, QUIET = 30, 30
"""Cycles with a beat each before the reset, and without one after it."""


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("lanes", [1, 2, 3, 8, 16])
def test_nothing_is_output_after_a_reset(lanes: int, packed: bool) -> None:
    core, reset, found = build(DecoderParameters(lanes=lanes, packed=packed)), Signal(), []

    async def bench(ctx: Any) -> None:
        ctx.set(core.output.ready, 1)
        ctx.set(core.input.payload.keep, (1 << lanes) - 1)
        for cycle in range(BUSY + QUIET):
            ctx.set(core.input.payload.last, cycle % 2)
            ctx.set(core.input.valid, cycle < BUSY)
            ctx.set(reset, cycle == BUSY)
            found.append(ctx.get(core.output.valid))
            await ctx.tick()

    run_benches(ResetInserter(reset)(core), bench)
    assert any(found[:BUSY])
    assert not any(found[BUSY + 1 :])
