# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of any core and comparison with its golden function."""

from __future__ import annotations

import utf8fpga.hdl  # noqa: F401 - it names the extra if Amaranth is missing
from utf8fpga.sim.beats import StreamOptions
from utf8fpga.sim.check import Mismatch, compare
from utf8fpga.sim.contract import ContractError
from utf8fpga.sim.simulation import HAS_GRAPH, NETLISTS, Run, Simulation, simulate

__all__ = ["HAS_GRAPH", "NETLISTS", "ContractError", "Mismatch", "Run", "Simulation"]
__all__ += ["StreamOptions", "compare", "simulate"]
