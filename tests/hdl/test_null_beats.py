# SPDX-License-Identifier: BSD-2-Clause
"""Null beats, with neither a unit nor the end of a text: every decoder drops them, and they have no other effect."""

from __future__ import annotations

import random
from typing import Any

import pytest
from support.icarus import requires_icarus, run_verilog, split_texts
from support.tiers import tiered

from utf8fpga.hdl import axi_verilog, decoder_core
from utf8fpga.model.practices import Practice
from utf8fpga.sim import Simulation
from utf8fpga.sim.boundaries import boundary_units

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
    decoder = decoder_core(**choice, refresh=refresh)
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
        assert "a beat with neither a code unit nor s_axis_tlast has no effect" in axi_verilog(decoder_core(**choice))
