# SPDX-License-Identifier: BSD-2-Clause
"""Test benches in Amaranth's simulator."""

from __future__ import annotations

from typing import Any

from amaranth.sim import Simulator


def run_benches(design: Any, *benches: Any) -> None:
    """Simulate a design with one clock until all test benches have ended."""
    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()
