# SPDX-License-Identifier: BSD-2-Clause
"""The components of a parallel decoder, separately: the parts of their contracts that are not proved."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.lib import data
from amaranth.sim import Simulator

from utf8fpga.hdl import BUFFERS, PARALLEL_PIPELINES
from utf8fpga.hdl.decoder.pipeline import PipelineStages
from utf8fpga.hdl.fan_out import FanOut, LateReset
from utf8fpga.hdl.memory_buffer import MemoryBuffer
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.model import TABLE_3_7
from utf8fpga.model.forms import RFC_2279


def run(component: Any, bench: Any) -> None:
    m, domain = Module(), ClockDomain("sync")
    m.domains += domain
    m.submodules.dut = component
    simulator = Simulator(m)
    simulator.add_clock(1e-6)

    async def process(ctx: Any) -> None:
        await bench(ctx, domain)

    simulator.add_testbench(process)
    simulator.run()


@pytest.mark.parametrize("stages", range(6))
def test_all_duplicates_are_the_value_delayed_by_the_stages(stages: int) -> None:
    fan_out, rng = FanOut(stages), random.Random(stages)
    copies = [1, 1, 2, 4, 8, 16][stages]
    values = [rng.randrange(2) for _ in range(100)]
    found = []

    async def bench(ctx: Any, domain: Any) -> None:
        ctx.set(domain.rst, 1)  # has no effect: its registers are not reset
        for value in values:
            ctx.set(fan_out.value, value)
            found.append(ctx.get(fan_out.copies))
            await ctx.tick()

    run(fan_out, bench)
    assert FanOut.copies_after(stages) == copies == len(fan_out.copies)
    assert found[stages:] == [value * ((1 << copies) - 1) for value in values[: len(values) - stages]]


@pytest.mark.parametrize(("places", "flight"), [(2, 3), (2, 9), (8, 20), (32, 4)])
def test_the_late_reset_of_all_duplicates_ends_before_busy(places: int, flight: int) -> None:
    reset = LateReset(places, flight)
    assert len(reset.copies) >= 2 * places
    seen = []

    async def bench(ctx: Any, domain: Any) -> None:
        ctx.set(domain.rst, 1)
        await ctx.tick()
        ctx.set(domain.rst, 0)
        for _ in range(reset.cycles + 3):
            seen.append((ctx.get(reset.busy), ctx.get(reset.copies), any(map(ctx.get, reset.active))))
            await ctx.tick()

    run(reset, bench)
    every = (1 << len(reset.copies)) - 1
    assert [busy for busy, *_ in seen] == [1] * reset.cycles + [0] * 3
    assert {copies for _, copies, _ in seen} == {0, every}
    last = max(cycle for cycle, (_, copies, _) in enumerate(seen) if copies)
    # The registers have their initial values once the reset has ended, and not before.
    assert last >= flight - 1
    assert [active for *_, active in seen] == [True] * reset.cycles + [False] * 3
    assert last == reset.cycles - 1


def test_a_register_buffer_holds_payloads_of_any_shape() -> None:
    buffer, rng = RegisterBuffer(data.StructLayout({"a": 5, "b": 1}), 3), random.Random(3)
    given = [{"a": rng.randrange(32), "b": rng.randrange(2)} for _ in range(200)]
    found: list[dict[str, int]] = []

    async def bench(ctx: Any, domain: Any) -> None:
        left, waited = list(given), 0
        for _ in range(2000):
            offered = bool(left) and rng.random() < 0.7
            ready = rng.random() < 0.5
            ctx.set(buffer.entry_valid, offered)
            ctx.set(buffer.entry, left[0] if offered else {"a": 0, "b": 0})
            ctx.set(buffer.output.ready, ready)
            assert ctx.get(buffer.run) in (0, 7)
            runs, valid = ctx.get(buffer.run) == 7, ctx.get(buffer.output.valid)
            if waited > buffer.stall_cycles:
                assert runs
            if valid and ready:
                payload = ctx.get(buffer.output.payload)
                found.append({"a": payload.a, "b": payload.b})
            waited = 0 if valid and not ready else waited + 1
            await ctx.tick()
            if offered and runs:
                left.pop(0)

    run(buffer, bench)
    assert found == given


def test_a_memory_buffer_joins_rows_and_tails() -> None:
    """Each tail is entered a random time after its row, as for a beat that waits for the next one."""
    lanes, row_cycles = 9, 2
    layout = data.StructLayout({"slots": data.ArrayLayout(7, lanes), "last": 1})
    buffer, rng = MemoryBuffer(layout, row_cycles=row_cycles, row_copies=2), random.Random(4)
    given = [([rng.randrange(128) for _ in range(lanes)], rng.randrange(2)) for _ in range(200)]
    found: list[Any] = []
    held: list[int] = []

    async def bench(ctx: Any, domain: Any) -> None:
        coming: list[tuple[int, Any]] = []  # the cycle of a row, and its beat
        tails: list[tuple[int, Any]] = []
        left, inside = list(given), 0
        for cycle in range(4000):
            accepts = bool(left) and ctx.get(buffer.ready) and rng.random() < 0.8
            ctx.set(buffer.accepted, accepts)
            if accepts:
                beat = left.pop(0)
                coming.append((cycle + row_cycles, beat))
                after = max(cycle + row_cycles, tails[-1][0] + 1 if tails else 0)
                tails.append((after + rng.choice((0, 0, 1, 3)), beat))
            is_row, is_tail = (bool(queue) and queue[0][0] <= cycle for queue in (coming, tails))
            row = coming.pop(0)[1][0][:-1] if is_row else [rng.randrange(128) for _ in range(lanes - 1)]
            (*_, item), last = tails.pop(0)[1] if is_tail else ([rng.randrange(128)], 1)
            ctx.set(buffer.row, row)
            ctx.set(buffer.row_valid, 3 * is_row)
            ctx.set(buffer.tail, {"item": item, "last": last})
            ctx.set(buffer.tail_valid, is_tail)
            ready = rng.random() < 0.6 and not cycle % 200 < 60
            ctx.set(buffer.output.ready, ready)
            taken = ctx.get(buffer.output.valid) and ready
            if taken:
                payload = ctx.get(buffer.output.payload)
                found.append(([payload.slots[lane] for lane in range(lanes)], payload.last))
            inside += accepts - taken
            held.append(inside)
            await ctx.tick()

    run(buffer, bench)
    assert found == given
    assert buffer.capacity - 3 < max(held) <= buffer.capacity


def test_the_latency_of_all_settings() -> None:
    stages = {buffer: [PipelineStages(n, buffer) for n in PARALLEL_PIPELINES] for buffer in BUFFERS}
    assert {buffer: [each.latency for each in found] for buffer, found in stages.items()} == {
        "registers": [3, 4, 5, 6, 7, 8, 9],
        "memory": [6, 7, 8, 9, 10, 10, 11],
    }
    assert [each.row_cycles for each in stages["memory"]] == [0, 1, 2, 3, 4, 5, 6]


def test_the_stages_that_a_decoder_has_by_default() -> None:
    assert PipelineStages.of(TABLE_3_7, 1) == PipelineStages(6, "registers")
    assert PipelineStages.of(TABLE_3_7, 2) == PipelineStages(5, "registers")
    assert PipelineStages.of(TABLE_3_7, 3) == PipelineStages(5, "registers")
    assert PipelineStages.of(TABLE_3_7, 4) == PipelineStages(5, "memory")
    assert PipelineStages.of(RFC_2279, 5, pipeline=0) == PipelineStages(0, "registers")
    assert PipelineStages.of(TABLE_3_7, 16, buffer="registers") == PipelineStages(5, "registers")


@pytest.mark.parametrize("lanes", [1, 3])
def test_a_memory_for_too_few_lanes_is_rejected(lanes: int) -> None:
    message = rf"^a buffer in memory is for 4 lanes or more, not {lanes}: use registers$"
    with pytest.raises(ValueError, match=message):
        PipelineStages.of(TABLE_3_7, lanes, buffer="memory")
