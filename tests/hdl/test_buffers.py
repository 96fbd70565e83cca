# SPDX-License-Identifier: BSD-2-Clause
"""The components of a parallel decoder, separately: the parts of their contracts that are not proved."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
from amaranth.hdl import ClockDomain
from amaranth.lib import data
from support.benches import run_benches

from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.decoder.pipeline import PipelineStages
from utf8fpga.hdl.fan_out import LateReset
from utf8fpga.hdl.memory_buffer import MemoryBuffer, RowBuffer
from utf8fpga.hdl.sliced_buffer import SlicedBuffer
from utf8fpga.model.forms import RFC_2279, TABLE_3_7


def run(component: Any, bench: Any) -> None:
    domain = ClockDomain("sync")
    run_benches(component, partial(bench, domain=domain), domain=domain)


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


@pytest.mark.parametrize(("kind", "lanes"), [(MemoryBuffer, 9), (SlicedBuffer, 9), (SlicedBuffer, 33)])
def test_a_memory_buffer_joins_rows_and_tails(kind: type[RowBuffer], lanes: int) -> None:
    """Each tail is entered a random time after its row, as for a beat that waits for the next one."""
    row_cycles = 2
    layout = data.StructLayout({"slots": data.ArrayLayout(7, lanes), "last": 1})
    buffer, rng = kind(layout, row_cycles=row_cycles), random.Random(4)
    given = [([rng.randrange(128) for _ in range(lanes)], rng.randrange(2)) for _ in range(200)]
    found: list[Any] = []
    held: list[int] = []

    async def bench(ctx: Any, domain: Any) -> None:
        coming: list[tuple[int, Any]] = []  # the cycle of a row, and its beat
        tails: list[tuple[int, Any]] = []
        left, inside = list(given), 0
        for cycle in range(1000):
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


@pytest.mark.parametrize("kind", [MemoryBuffer, SlicedBuffer])
def test_the_last_tail_before_a_reset_is_entered_before_a_buffer_must_be_drained(kind: type[RowBuffer]) -> None:
    layout = data.StructLayout({"slots": data.ArrayLayout(7, 9), "last": 1})
    for setting in ("area", "speed", "fastest"):
        stages = PipelineStages.of(TABLE_3_7, 4, setting)
        buffer = kind(layout, row_cycles=stages.row_cycles)
        # The last beat is accepted in the cycle of the reset, which is the one before cycle 0.
        assert stages.item_cycles - 1 <= buffer.reset.cycles - buffer.drained


def test_the_latency_of_all_settings() -> None:
    found = {
        lanes: [PipelineStages.of(TABLE_3_7, lanes, each) for each in ("area", "speed", "fastest")]
        for lanes in (2, 4, 32)
    }
    assert {stages[0].buffer: [each.latency for each in stages] for stages in found.values()} == {
        "registers": [3, 5, 8],
        "memory": [6, 8, 10],
        "slices": [6, 8, 10],
    }
    assert [each.row_cycles for each in found[4]] == [0, 2, 5]


def test_the_stages_that_a_decoder_has() -> None:
    sparse = partial(DecoderParameters, packed=False)
    expected = {2: (False, "registers"), 3: (False, "registers"), 4: (False, "memory"), 16: (False, "memory")}
    expected |= {17: (True, "memory"), 31: (True, "memory"), 32: (True, "slices")}
    assert {n: (sparse(lanes=n).stages.words, sparse(lanes=n).stages.buffer) for n in expected} == expected
    packed = {n: DecoderParameters(lanes=n).stages.words for n in (2, 8, 9, 16)}
    assert packed == {2: False, 8: False, 9: True, 16: True}
    assert sparse(table=RFC_2279, lanes=5).stages == PipelineStages(frozenset({"pairs", "ends"}), "registers")
    assert sparse(lanes=64, optimize="area").stages == PipelineStages(frozenset(), "slices")
