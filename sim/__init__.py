# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of the decoders and comparison with the golden model."""

from __future__ import annotations

from utf8fpga.sim.check import Mismatch, compare
from utf8fpga.sim.simulation import ContractError, Run, Simulation, Word, simulate

__all__ = ["ContractError", "Mismatch", "Run", "Simulation", "Word", "compare", "simulate"]
