# SPDX-License-Identifier: BSD-2-Clause
"""Test benches in Amaranth's simulator."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator, SimulatorContext


def run_benches(design: Any, *benches: Any, background: Iterable[Any] = (), domain: ClockDomain | None = None) -> None:
    """Simulate a design with one clock until all test benches have ended, except for those in the background.

    Args:
        design: the design.
        benches: the test benches.
        background: those that the simulation does not wait for.
        domain: the domain of the clock, if the test benches reset the design.
    """
    if domain:
        m = Module()
        m.domains += domain
        m.submodules += design
        design = m
    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    for bench in background:
        simulator.add_testbench(bench, background=True)
    simulator.run()


async def send_packets(ctx: SimulatorContext, ports: Any, packets: Iterable[bytes], choose: random.Random) -> None:
    """Send packets to AXI4-Stream ports, with random pauses; an empty packet is one beat."""
    lanes = len(ports.s_axis_tkeep)
    for packet in packets:
        for start in range(0, max(len(packet), 1), lanes):
            units = packet[start : start + lanes]
            while choose.random() < 0.3:
                await ctx.tick()
            ctx.set(ports.s_axis_tdata, int.from_bytes(units, "little"))
            ctx.set(ports.s_axis_tkeep, (1 << len(units)) - 1)
            ctx.set(ports.s_axis_tlast, start + lanes >= len(packet))
            ctx.set(ports.s_axis_tvalid, 1)
            await ctx.tick().until(ports.s_axis_tready)
            ctx.set(ports.s_axis_tvalid, 0)
