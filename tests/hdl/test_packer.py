# SPDX-License-Identifier: BSD-2-Clause
"""The packer, without a decoder."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import ClockDomain
from support.benches import run_benches

from utf8fpga.hdl.packer.egress import BufferedEgress
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


@pytest.mark.parametrize("ahead", [0, 3, 7, 13], ids=["direct", "direct_later", "buffered", "several_banks"])
def test_a_reset_discards_all_rows(ahead: int) -> None:
    packer = Packer(item_layout(TABLE_3_7), 4, ahead=ahead)
    assert isinstance(packer.egress, BufferedEgress) == (ahead >= 7)
    assert len(packer.store.mark_memories[0].banks) == 1 + (ahead > 7)
    domain, found = ClockDomain("sync"), list[list[int]]()

    async def bench(ctx: Any) -> None:
        sparse, packed = packer.sparse, packer.packed
        ctx.set(packed.ready, 1)
        for beats, cycles in ((9, 40), (21, 60), (70, 200)):
            found.append([])
            ready, sent = [0] * ahead, 0
            for _ in range(cycles):
                ready.append(ctx.get(sparse.ready))
                accepted = ready[-1 - ahead] and sent < beats
                ctx.set(sparse.valid, accepted)
                ctx.set(sparse.payload.keep, 0b0101)
                ctx.set(sparse.payload.last, sent % 5 == 4)  # Some rows have two words.
                for place in range(2):
                    ctx.set(sparse.payload.symbols[2 * place].code_point, 2 * sent + place)
                sent += accepted
                beat = ctx.get(packed.payload)
                if ctx.get(packed.valid):
                    found[-1] += [beat.symbols[lane].code_point for lane in range(4) if beat.keep >> lane & 1]
                await ctx.tick()
            ctx.set(domain.rst, 1)
            await ctx.tick()
            ctx.set(domain.rst, 0)

    run_benches(packer, bench, domain=domain)
    assert found == [list(range(len(each))) for each in found]
    assert len(found[-1]) == 140
