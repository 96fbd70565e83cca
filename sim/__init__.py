# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of any core and comparison with its golden function."""

from __future__ import annotations

from utf8fpga.sim.check import Mismatch, compare
from utf8fpga.sim.simulation import ContractError, Run, Simulation, simulate

__all__ = ["ContractError", "Mismatch", "Run", "Simulation", "compare", "simulate"]
