# SPDX-License-Identifier: BSD-2-Clause
"""The components of a parallel decoder, separately: the parts of their contracts that are not proved."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.lib import data

from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.decoder.pipeline import PipelineStages, stages_of
from utf8fpga.hdl.memory_buffer import MemoryBuffer, RowBuffer
from utf8fpga.hdl.sliced_buffer import SlicedBuffer
from utf8fpga.model.forms import RFC_2279, TABLE_3_7


@pytest.mark.parametrize("kind", [MemoryBuffer, SlicedBuffer])
def test_the_last_tail_before_a_reset_is_entered_before_a_buffer_must_be_drained(kind: type[RowBuffer]) -> None:
    layout = data.StructLayout({"slots": data.ArrayLayout(7, 9), "last": 1})
    for setting in ("area", "speed", "fastest"):
        stages = PipelineStages.of(TABLE_3_7, 4, setting)
        buffer = kind(layout, row_cycles=stages.row_cycles)
        # The last beat is accepted in the cycle of the reset, which is the one before cycle 0.
        assert stages.item_cycles - 1 <= buffer.reset.cycles - buffer.drained


def test_the_latency_of_all_settings() -> None:
    found = {
        lanes: [PipelineStages.of(TABLE_3_7, lanes, each) for each in ("area", "speed", "fastest")]
        for lanes in (2, 4, 32)
    }
    assert {stages[0].buffer: [each.latency for each in stages] for stages in found.values()} == {
        "registers": [3, 5, 8],
        "memory": [6, 8, 10],
        "slices": [6, 8, 10],
    }
    assert [each.row_cycles for each in found[4]] == [0, 2, 5]


def test_the_stages_that_a_decoder_has() -> None:
    def sparse(**others: Any) -> PipelineStages:
        return stages_of(DecoderParameters(packed=False, **others))

    expected = {2: (False, "registers"), 3: (False, "registers"), 4: (False, "memory"), 16: (False, "memory")}
    expected |= {17: (True, "memory"), 31: (True, "memory"), 32: (True, "slices")}
    assert {n: (sparse(lanes=n).words, sparse(lanes=n).buffer) for n in expected} == expected
    packed = {n: stages_of(DecoderParameters(lanes=n)).words for n in (2, 8, 9, 16)}
    assert packed == {2: False, 8: False, 9: True, 16: True}
    assert sparse(table=RFC_2279, lanes=5) == PipelineStages(frozenset({"pairs", "ends"}), "registers")
    assert sparse(lanes=64, optimize="area") == PipelineStages(frozenset(), "slices")
