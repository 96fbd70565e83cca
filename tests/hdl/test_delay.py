# SPDX-License-Identifier: BSD-2-Clause
"""Words that wait in a small memory."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.benches import run_benches

from utf8fpga.hdl.delay import DelayMemory


@pytest.mark.parametrize("cycles", [3, 4, 5, 8, 9, 10, 17])
def test_each_word_is_output_after_the_stated_number_of_cycles(cycles: int) -> None:
    """From any value of the pointer, also one that is not the number of a row: one cycle later it is."""
    rng = random.Random(cycles)
    words = [rng.getrandbits(8) for _ in range(4 * cycles)]
    for start in range(1 << (cycles - 2).bit_length()):
        delay = DelayMemory(8, cycles, rng.randrange(20))
        found: list[int] = []

        async def bench(ctx: Any, delay: DelayMemory = delay, start: int = start, found: list[int] = found) -> None:
            ctx.set(delay.pointer, start)
            await ctx.tick()
            for word in words:
                ctx.set(delay.entry, word)
                found.append(ctx.get(delay.output))
                await ctx.tick()

        run_benches(delay, bench)
        assert found[cycles:] == words[:-cycles]
