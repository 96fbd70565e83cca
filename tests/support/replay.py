# SPDX-License-Identifier: BSD-2-Clause
"""Replays the trace of a proof port by port in Amaranth's simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amaranth.hdl import ClockDomain, Value

from support.benches import run_benches


def assert_replays(core: Any, cycles: Sequence[Mapping[str, int]]) -> None:
    """The core does in each cycle what the trace says, from power-up or from the last reset on."""
    domain = ClockDomain("sync")
    resets = [number for number, cycle in enumerate(cycles) if cycle["see_reset"]]

    async def bench(ctx: Any) -> None:
        for number, cycle in enumerate(cycles):
            ctx.set(Value.cast(core.input.payload), cycle["see_in_payload"])
            ctx.set(core.input.valid, cycle["see_in_valid"])
            ctx.set(core.output.ready, cycle["see_out_ready"])
            ctx.set(domain.rst, cycle["see_reset"])
            if number > max(resets, default=-1):
                assert ctx.get(core.input.ready) == cycle["see_in_ready"], f"cycle {number}"
                assert ctx.get(core.output.valid) == cycle["see_out_valid"], f"cycle {number}"
                if cycle["see_out_valid"]:
                    assert ctx.get(Value.cast(core.output.payload)) == cycle["see_out_payload"], f"cycle {number}"
            await ctx.tick()

    run_benches(core, bench, domain=domain)
