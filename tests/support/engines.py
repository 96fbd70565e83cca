# SPDX-License-Identifier: BSD-2-Clause
"""The engine of simulations that do not depend on which one it is."""

from __future__ import annotations

from utf8fpga.sim.engines import has_compiler

__all__ = ["ENGINE"]

ENGINE = "compiled" if has_compiler() else "python"
"""The faster one; both are compared with each other in `tests/sim/test_compiled.py`."""
