# SPDX-License-Identifier: BSD-2-Clause
"""Packers whose pipeline is longer than that of any core with few lanes, as behind that of a wide core."""

import pytest
from amaranth.sim import Simulator

from utf8fpga.hdl.packer.packer import Packer

pytestmark = pytest.mark.smoke

BEATS = 120

FULL = ((4, False),)
"""The words of each beat, and whether its packet ends with it; then from the start again."""

CLOSED_BY_THE_NEXT = ((3, False), (4, True))
"""A row that the next beat closes, and one that is the second that a beat closes: both return their credit later."""


@pytest.mark.parametrize("pattern", [FULL, CLOSED_BY_THE_NEXT], ids=["full", "closed-by-the-next"])
@pytest.mark.parametrize("input_latency", [*range(6, 13), *range(20, 27), 40])
def test_beats_never_wait_for_credits_of_a_long_pipeline(
    input_latency: int, pattern: tuple[tuple[int, bool], ...]
) -> None:
    packer = Packer(1, 4, input_latency)
    simulator = Simulator(packer)
    simulator.add_clock(1e-6)
    accepted: list[bool] = []

    async def beats(context):
        context.set(packer.output.ready, 1)
        for cycle in range(BEATS):
            arrives = accepted[-input_latency] if len(accepted) >= input_latency else False
            count, last = pattern[(cycle - input_latency) % len(pattern)]
            context.set(packer.valid, arrives)
            context.set(packer.keep, (1 << count) - 1 if arrives else 0)
            context.set(packer.last, arrives and last)
            context.set(packer.closes, arrives and last)
            accepted.append(bool(context.get(packer.ready)))
            context.set(packer.accepted, accepted[-1])
            await context.tick()

    simulator.add_testbench(beats)
    simulator.run()
    assert sum(accepted) == BEATS
