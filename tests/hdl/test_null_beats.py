# SPDX-License-Identifier: BSD-2-Clause
"""Null beats, with neither a unit nor the end of a text: every decoder drops them, and they have no other effect."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.engines import ENGINE
from support.icarus import requires_icarus, run_verilog, split_texts
from support.tiers import tiered

from utf8fpga.hdl import MARK_PRACTICES, MERGING_PRACTICES, PIPELINES, Decoder, axi_verilog
from utf8fpga.model.practices import Practice
from utf8fpga.sim import Simulation
from utf8fpga.sim.boundaries import boundary_units

DECODERS: dict[str, dict[str, Any]] = {
    **{f"serial-pipeline{pipeline}": {"pipeline": pipeline} for pipeline in PIPELINES},
    "serial-no-replacement": {"replacement": False},
    **{f"practice-{practice}": {"practice": practice, "pipeline": 1} for practice in MARK_PRACTICES[1:]},
    "parallel-1": {"architecture": "parallel"},
    "parallel-1-pipeline0": {"architecture": "parallel", "pipeline": 0},
    "parallel-3": {"lanes": 3, "pipeline": 2, "packed": False},
    "parallel-4-memory": {"lanes": 4, "packed": False},
    "parallel-4-registers": {"lanes": 4, "buffer": "registers", "packed": False},
    "packed-2": {"lanes": 2, "packed": True},
    "packed-4-memory": {"lanes": 4, "packed": True},
}


LONGER = {
    "serial-pipeline1",
    "practice-whole-subsequence",
    "practice-malformed-sequence",
    "parallel-1",
    "parallel-4-memory",
}
"""Decoders of which others in the list have all parts."""


@pytest.fixture(scope="module", params=tiered(DECODERS, DECODERS.keys() - LONGER))
def simulation(request: pytest.FixtureRequest) -> Simulation:
    length = request.param.get("practice") not in MERGING_PRACTICES
    return Simulation(Decoder(**request.param, kind=True, length=length), engine=ENGINE)


TEXTS = [
    b"\xf0\x90\x80\x80\xf0\x90\x80",
    b"A",
    b"",
    b"\xe2\x82",
    b"\x82\xac\xc2\xc2\xa9\xff",
    "Text é€😀 and so on.".encode(),
    b"\xed\xa0\x80\xf4\x90\x80\x80\xe0\x80\xf0\x90AB",
]

PATTERNS = {"now and then": [False, True, False, False, True, True, True], "many": [True] * 40 + [False]}


@pytest.mark.parametrize("null_beats", PATTERNS.values(), ids=PATTERNS)
def test_items_are_the_same_with_null_beats(simulation: Simulation, null_beats: list[bool]) -> None:
    for output_pauses, ends in (([False], [True]), ([True, False, True], [False])):
        run = simulation.run(TEXTS, null_beats=null_beats, output_pauses=output_pauses, separate_ends=ends)
        assert run.texts == [simulation.expected(text) for text in TEXTS]


@pytest.mark.smoke
def test_a_long_run_of_null_beats_stalls_neither_side(simulation: Simulation) -> None:
    """A null beat in each cycle, more than any buffer holds, before, between and after the texts."""
    run = simulation.run([b"A" * simulation.core.lanes, b""], null_beats=[True] * 300 + [False])
    assert run.texts == [simulation.expected(b"A" * simulation.core.lanes), []]
    first, second = run.accepted
    assert second - first == 301


@pytest.mark.smoke
@pytest.mark.parametrize("decoder", [{"pipeline": 0}, {"lanes": 4, "packed": True}], ids=["serial", "packed"])
def test_null_beats_occupy_no_space_while_the_output_waits(decoder: dict[str, Any]) -> None:
    simulation = Simulation(Decoder(**decoder, kind=True, length=True))
    texts = [bytes(random.Random(seed).choices(boundary_units(), k=60)) for seed in range(4)]
    patience = [True] * 50 + [False] * 13
    run = simulation.run(texts, null_beats=[False, True, True], output_pauses=patience)
    assert run.texts == [simulation.expected(text) for text in texts]


VERILOG: dict[str, dict[str, Any]] = {
    "serial": {"pipeline": 1},
    "each-unit": {"practice": Practice.EACH_UNIT},
    "registers": {"lanes": 2, "packed": False},
    "memory": {"lanes": 5, "packed": False},
    "packed": {"lanes": 4, "packed": True},
}


@pytest.mark.smoke
@requires_icarus
@pytest.mark.parametrize("refresh", [None, 200])
@pytest.mark.parametrize("choice", tiered(VERILOG, 2))
def test_verilog_drops_null_beats(choice: dict[str, Any], refresh: int | None, tmp_path: Any) -> None:
    decoder = Decoder(**choice, refresh=refresh)
    rng = random.Random(9)
    pieces = [bytes(rng.choices(boundary_units(), k=rng.randrange(12))) for _ in range(200)]
    words = run_verilog(
        axi_verilog(decoder),
        pieces,
        tmp_path,
        separate_ends=[False, True],
        busy_in=20,
        busy_out=30,
        null_beats=40,
        lanes=decoder.lanes,
        packed=decoder.packed,
    )
    expected = Simulation(decoder)
    found = [[(beat.tdata, bool(beat.tuser)) for beat in text] for text in split_texts(words)]
    assert found == [[tuple(item) for item in expected.expected(piece)] for piece in pieces]


def test_the_header_says_what_a_null_beat_does() -> None:
    for choice in ({}, {"lanes": 2, "packed": True}):
        assert "a beat with neither a code unit nor s_axis_tlast has no effect" in axi_verilog(Decoder(**choice))
