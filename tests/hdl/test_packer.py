# SPDX-License-Identifier: BSD-2-Clause
"""The packer, without a decoder."""

from __future__ import annotations

from typing import Any

import pytest
from support.benches import run_benches

from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.model import TABLE_3_7

ACCEPTED = {2: 17, 3: 17, 8: 19, 64: 25}
"""By lanes the number of beats."""


@pytest.mark.parametrize("words", [1, None], ids=["one_word", "full_beats"])
@pytest.mark.parametrize("lanes", [2, 3, 8, pytest.param(64, marks=pytest.mark.slow)])
def test_a_stalled_packer_accepts_beats_up_to_its_capacity(lanes: int, words: int | None) -> None:
    """All of them are transferred at the output, in order, once the consumer is ready."""
    packer = Packer(item_layout(TABLE_3_7), lanes)
    words = words or lanes
    accepted = 0
    found = []

    async def bench(ctx: Any) -> None:
        nonlocal accepted
        sparse, packed = packer.sparse, packer.packed
        ctx.set(sparse.valid, 1)
        ctx.set(sparse.payload.last, words < lanes)
        ctx.set(sparse.payload.keep, (1 << lanes) - (1 << lanes - words))
        for _ in range(100):
            for lane in range(lanes - words, lanes):
                ctx.set(sparse.payload.symbols[lane].code_point, accepted * words + lane - (lanes - words))
            accepted += ctx.get(sparse.ready)
            await ctx.tick()
        assert not ctx.get(sparse.ready)
        ctx.set(sparse.valid, 0)
        ctx.set(packed.ready, 1)
        for _ in range(100):
            if ctx.get(packed.valid):
                beat = ctx.get(packed.payload)
                found.append([beat.symbols[lane].code_point for lane in range(lanes) if beat.keep >> lane & 1])
            await ctx.tick()

    run_benches(packer, bench)
    assert accepted == ACCEPTED[lanes] <= packer.capacity
    assert found == [list(range(beat * words, (beat + 1) * words)) for beat in range(accepted)]


def test_duplicates_that_hold_the_complement_start_as_complements() -> None:
    """So a packer of many lanes is in a consistent state at power-up, too."""
    initial: dict[str, int] = {}
    for each in Packer(item_layout(TABLE_3_7), 32).pipeline.registers:
        # Each name ends with its stage; the registers of later stages hold the value itself.
        initial.setdefault(each.value.name.rpartition("_")[0], each.value.init)
    complements = [name for name in initial if name.startswith("not_")]
    assert "not_valid" in complements
    assert [name for name in complements if initial[name] == initial[name.removeprefix("not_")]] == []
