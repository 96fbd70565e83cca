# SPDX-License-Identifier: BSD-2-Clause
"""Test benches in Amaranth's simulator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.sim import Simulator


def run_benches(design: Any, *benches: Any, background: Iterable[Any] = ()) -> None:
    """Simulate a design with one clock until all test benches have ended, except for those in the background."""
    simulator = Simulator(design)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    for bench in background:
        simulator.add_testbench(bench, background=True)
    simulator.run()
