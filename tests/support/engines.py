# SPDX-License-Identifier: BSD-2-Clause
"""The engine of simulations that do not depend on which one it is, and the mark of tests of the faster one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings

from support.strategies import stream_patterns, texts
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.sim import HAS_GRAPH, ContractError, Run, Simulation

ENGINE = "graph" if HAS_GRAPH else "python"
"""The faster one; both are compared with each other in `tests/sim/test_engines.py`."""

requires_graph = pytest.mark.skipif(not HAS_GRAPH, reason="requires the extra 'fast'")


def soaked(simulation: Simulation, symbols: int, seed: int = 0) -> tuple[Any, Any]:
    """The totals of a long simulation of so many symbols, and the first difference."""
    from utf8fpga.sim.soak import soak

    return next(each for each in soak(simulation, seed) if each[1] or each[0].symbols >= symbols)


def _outcome(simulation: Simulation, given: Sequence[Sequence[int]], patterns: dict[str, Any]) -> Run | str:
    """The result of a run, or the message of its error."""
    try:
        return simulation.run(given, **patterns)
    except (ContractError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def assert_equal_runs(one: Simulation, other: Simulation, examples: int, table: EncodingTable = TABLE_3_7) -> None:
    """Check that two engines agree in every cycle, and in the errors, for texts of a table and any pauses."""

    @settings(max_examples=examples)
    @given(given=texts(table), patterns=stream_patterns())
    def check(given: list[tuple[int, ...]], patterns: dict[str, list[bool]]) -> None:
        assert _outcome(other, given, patterns) == _outcome(one, given, patterns)

    check()
