# SPDX-License-Identifier: BSD-2-Clause
"""Packers whose pipeline is longer than that of any core with few lanes, as behind that of a wide core."""

import pytest
from amaranth.sim import Simulator

from utf8fpga.hdl.packer.packer import Packer

pytestmark = pytest.mark.smoke

BEATS = 120


@pytest.mark.parametrize("input_latency", [*range(6, 13), *range(20, 27), 40])
def test_full_beats_never_wait_for_credits_of_a_long_pipeline(input_latency: int) -> None:
    packer = Packer(1, 4, input_latency)
    simulator = Simulator(packer)
    simulator.add_clock(1e-6)
    accepted: list[bool] = []

    async def beats(context):
        context.set(packer.output.ready, 1)
        for _ in range(BEATS):
            arrives = accepted[-input_latency] if len(accepted) >= input_latency else False
            context.set(packer.valid, arrives)
            context.set(packer.keep, 15 if arrives else 0)
            accepted.append(bool(context.get(packer.ready)))
            context.set(packer.accepted, accepted[-1])
            await context.tick()

    simulator.add_testbench(beats)
    simulator.run()
    assert sum(accepted) == BEATS
