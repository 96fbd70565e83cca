# SPDX-License-Identifier: BSD-2-Clause
"""Test benches in Amaranth's simulator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator


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
