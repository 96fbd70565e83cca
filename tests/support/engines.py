# SPDX-License-Identifier: BSD-2-Clause
"""The engine of simulations that do not depend on which one it is, and the mark of tests of the compiled one."""

from __future__ import annotations

import pytest

from utf8fpga.sim.engines import has_compiler

__all__ = ["ENGINE", "requires_compiler"]

ENGINE = "compiled" if has_compiler() else "python"
"""The faster one; both are compared with each other in `tests/sim/test_compiled.py`."""

requires_compiler = pytest.mark.skipif(not has_compiler(), reason="no C compiler is installed")
