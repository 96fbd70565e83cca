# SPDX-License-Identifier: BSD-2-Clause
"""What a chain promises follows from its stages by one rule; that the rule holds for real ones, `test_timing` shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl import CORES
from utf8fpga.hdl.beats import beat_stream
from utf8fpga.hdl.chain import Chain


def stage(latency: int, reset: int, stall: int, drain: int, **others: Any) -> Any:
    return SimpleNamespace(
        latency=latency, reset_cycles=reset, stall_cycles=stall, drain_cycles=drain, **{"beat_cycles": 1, **others}
    )


FIRST = stage(2, 1, 3, 5)
PASSAGE = stage(0, 0, 0, 0)
SECOND = stage(4, 9, 6, 7)
NARROW = stage(4, 9, 6, 7, beat_cycles=3, is_narrow=True)
SLOW = stage(4, 9, 6, 7, beat_cycles=2)

CHAINS = {
    "one stage": ([FIRST], (2, 1, 3, 5)),
    "two stages": ([FIRST, SECOND], (2 + 4, 1, 3 + 6, 5 + 7)),
    "the other order": ([SECOND, FIRST], (4 + 2, 9, 6 + 3, 7 + 5)),
    "the first has no registers": ([PASSAGE, SECOND], (4, 9, 6, 7)),
    "beats wait in front of a narrow stage": ([FIRST, NARROW], (3 * 5 + 4, 1, 3 + 6, 3 * 5 + 7)),
    "nothing waits in front of the first": ([NARROW, FIRST], (4 + 2, 9, 6 + 3, 7 + 5)),
    "beats take two cycles, but not on average": ([FIRST, SLOW], (2 + 4, 1, 3 + 6, 2 * 5 + 7)),
    "three stages": ([FIRST, SECOND, NARROW], (3 * (5 + 7) + 4, 1, 3 + 6 + 6, 3 * (5 + 7) + 7)),
}


@pytest.mark.parametrize(("stages", "expected"), CHAINS.values(), ids=list(CHAINS))
def test_the_timing_of_a_chain(stages: list[Any], expected: tuple[int, ...]) -> None:
    ports = {"input": In(beat_stream(8, 2)), "output": Out(beat_stream(8, 2))}
    chain = Chain(None, {f"stage_{n}": each for n, each in enumerate(stages)}, ports)
    assert (chain.latency, chain.reset_cycles, chain.stall_cycles, chain.drain_cycles) == expected
    assert chain.lanes == 2


GAPS = [("decoder", {"lanes": 2}), ("encoder", {}), ("remover", {})]


@pytest.mark.parametrize(("kind", "given"), GAPS, ids=str)
def test_a_circuit_accepts_gaps_if_its_parameters_say_so(kind: str, given: dict[str, Any]) -> None:
    """The environment of the proofs reads it from the circuit, which may be a stage."""
    parameters = CORES[kind](**given)
    assert getattr(parameters.build(), "accepts_gaps", False) == parameters.accepts_gaps
