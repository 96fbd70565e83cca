# SPDX-License-Identifier: BSD-2-Clause
"""The packer, without a decoder."""

from __future__ import annotations

from typing import Any

import pytest
from support.benches import run_benches

from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.model import TABLE_3_7

ACCEPTED = {2: 15, 3: 15, 8: 15, 9: 15, 17: 26, 64: 25}
"""By lanes the number of beats."""


async def drained(ctx: Any, packer: Packer) -> list[list[int]]:
    """The words of each beat that a packer outputs once its producer has stopped."""
    packed, found = packer.packed, list[list[int]]()
    ctx.set(packer.sparse.valid, 0)
    ctx.set(packed.ready, 1)
    for _ in range(100):
        if ctx.get(packed.valid):
            beat = ctx.get(packed.payload)
            found.append([beat.symbols[lane].code_point for lane in range(packer.lanes) if beat.keep >> lane & 1])
        await ctx.tick()
    return found


@pytest.mark.parametrize("words", [1, None], ids=["one_word", "full_beats"])
@pytest.mark.parametrize("lanes", [2, 3, 8, 9, 17, pytest.param(64, marks=pytest.mark.slow)])
def test_a_stalled_packer_accepts_beats_up_to_its_capacity(lanes: int, words: int | None) -> None:
    """All of them are transferred at the output, in order, once the consumer is ready."""
    packer = Packer(item_layout(TABLE_3_7), lanes)
    words = words or lanes
    accepted = 0
    found = list[list[int]]()

    async def bench(ctx: Any) -> None:
        nonlocal accepted
        sparse = packer.sparse
        ctx.set(sparse.valid, 1)
        ctx.set(sparse.payload.last, words < lanes)
        ctx.set(sparse.payload.keep, (1 << lanes) - (1 << lanes - words))
        for _ in range(100):
            for lane in range(lanes - words, lanes):
                ctx.set(sparse.payload.symbols[lane].code_point, accepted * words + lane - (lanes - words))
            accepted += ctx.get(sparse.ready)
            await ctx.tick()
        assert not ctx.get(sparse.ready)
        found.extend(await drained(ctx, packer))

    run_benches(packer, bench)
    assert accepted == ACCEPTED[lanes] <= packer.capacity
    assert found == [list(range(beat * words, (beat + 1) * words)) for beat in range(accepted)]
