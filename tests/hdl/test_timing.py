# SPDX-License-Identifier: BSD-2-Clause
"""The timing contract that every core states, measured in simulation with random pauses."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator
from support.tiers import tiered

from utf8fpga.hdl import Core, Decoder, Refresh, RefreshedDecoder
from utf8fpga.model import decode
from utf8fpga.model.practices import Practice
from utf8fpga.sim.beats import beat_payload, text_beats

DECODERS: dict[str, dict[str, Any]] = {
    "serial": {},
    "serial-pipeline-2": {"pipeline": 2},
    "each-unit": {"practice": Practice.EACH_UNIT},
    "parallel-2": {"lanes": 2},
    "parallel-4": {"lanes": 4},
    "parallel-4-registers": {"lanes": 4, "buffer": "registers", "pipeline": 0},
    "packed-2": {"lanes": 2, "packed": True},
    "packed-5": {"lanes": 5, "packed": True},
}
CYCLES = 1500


def core_of(name: str) -> Core:
    if name == "refreshed":
        decoder: Any = Decoder(lanes=4)
        return RefreshedDecoder(decoder, Refresh(60))
    return Decoder(**DECODERS[name])


def play(core: Core, seed: int) -> tuple[int, int]:
    """The longest time for which the input was not ready although no beat waited, and the longest time of draining.

    Packets are sent in bursts; after each burst the input stays idle until the output has been quiet for long.
    """
    rng = random.Random(seed)
    longest = drained = 0

    async def bench(ctx: Any) -> None:
        nonlocal longest, drained
        source, output = core.input, core.output
        payload = Value.cast(source.payload)
        low = quiet = since = items = 0
        due, beats = 0, []
        for _ in range(CYCLES):
            if not beats and quiet > 2 * core.drain_cycles + 4:
                for _ in range(rng.randrange(1, 12)):
                    text = rng.choices(b"A\xc3\xa9\xe2\x82\xac\xff", k=rng.randrange(12))
                    due += len(list(decode(text)))
                    beats += text_beats(text, core.lanes)
                quiet = 0
            if beats:
                ctx.set(payload, beat_payload(core, beats[0]))
            ctx.set(source.valid, bool(beats))
            # Long pauses fill every buffer.
            ready = rng.random() < (0.1 if beats and len(beats) % 7 < 4 else 0.9)
            ctx.set(output.ready, ready)
            waits = ctx.get(output.valid) and not ready
            moves = ctx.get(source.ready) and bool(beats)
            low = 0 if waits or ctx.get(source.ready) else low + 1
            longest = max(longest, low)
            since = 0 if moves or waits else since + 1
            if ctx.get(output.valid) and ready:
                items += 1
                drained = max(drained, since)
            quiet = 0 if beats or ctx.get(output.valid) else quiet + 1
            if moves:
                beats.pop(0)
            await ctx.tick()
        assert items > 20

    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return longest, drained


@pytest.mark.parametrize(
    "name",
    tiered(
        {name: name for name in (*DECODERS, "refreshed")},
        # One decoder of each kind. Without registers in the window, the simulator takes ten times as long.
        ["serial", "each-unit", "parallel-2", "parallel-4", "packed-5"],
    ),
)
def test_the_input_is_ready_and_the_output_drains_within_the_stated_cycles(name: str) -> None:
    core = core_of(name)
    for seed in range(2):
        longest, drained = play(core_of(name), seed)
        assert longest <= core.stall_cycles
        assert drained <= core.drain_cycles
    assert drained > 0


def test_a_periodic_reset_pauses_the_input_for_longer_than_its_decoder_does() -> None:
    core = core_of("refreshed")
    longest, _ = play(core_of("refreshed"), 1)
    assert core_of("parallel-4").stall_cycles < longest <= core.stall_cycles
