# SPDX-License-Identifier: BSD-2-Clause
"""Simulation engines for whole buffers of beats."""

from __future__ import annotations

from utf8fpga.sim.engines.compiled import CompiledModel, Session, Transfers

__all__ = ["CompiledModel", "Session", "Transfers"]
