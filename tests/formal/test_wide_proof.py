# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of encoders and transcoders with several lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Module
from support.faults import delay_bounds, lose_flags
from support.tiers import tiered

from utf8fpga.formal import item_lanes
from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.item_lanes import prove_item_lanes
from utf8fpga.formal.packer_proof import prove_packer
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.formal.transcoder_proof import TRANSCODER_PROPERTIES
from utf8fpga.formal.wide_proof import is_wide, prove_joints, prove_units
from utf8fpga.hdl import CoreParameters, EncoderParameters, Packer, TranscoderParameters
from utf8fpga.hdl.encoder import parallel_encoder
from utf8fpga.hdl.encoder.stages import EncoderStages
from utf8fpga.model import TABLE_3_7, UTF_16, EncodingTable

TO_UTF_16 = TranscoderParameters(to="utf-16-le", lanes=4)
"""Units are lent, and no beat waits."""
COLLIDES = TranscoderParameters(to="utf-16-le", lanes=2)
"""A beat waits where the last lane of the one before is not empty."""

STAGES = {
    each.name: each
    for each in (
        EncoderParameters(to="utf-16-le", lanes=2),
        EncoderParameters(to="utf-16-le", lanes=2, packed=False),
        EncoderParameters(lanes=4),
        EncoderParameters(to="cesu-8", lanes=2, items=True),
        TO_UTF_16,
        COLLIDES,
        TranscoderParameters(lanes=4),
        TranscoderParameters(to="utf-16-be", lanes=4, packed=False),
        TranscoderParameters(from_="utf-16-le", lanes=3),
        TranscoderParameters(to="utf-16-le", lanes=16),
    )
}


@pytest.mark.smoke
@pytest.mark.parametrize("given", tiered(STAGES, 1, tier=pytest.mark.proof))
def test_the_stages_make_the_units_of_the_rows(given: CoreParameters) -> None:
    assert prove_units(given.build, Property.POWER_UP) == (True, "")


def the_wrong_lane_lends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lane 1 of the beat itself lends its units to the last lane, in place of lane 0 of the next one."""
    encode = EncoderStages._encode

    def wrong(self: EncoderStages, m: Module, beat: Any, valid: Any, follows: Any, lends: Any) -> None:
        encode(self, m, beat, valid, beat.lanes[1], lends)

    monkeypatch.setattr(EncoderStages, "_encode", wrong)


def units_are_lent_to_the_wrong_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the lane before has to have is in the lane itself, and the other way round."""
    coded = EncoderStages._coded

    def wrong(self: EncoderStages, lane: Any, present: Any) -> Any:
        one, other, *rest = coded(self, lane, present)
        return [other, one, *rest]

    monkeypatch.setattr(EncoderStages, "_coded", wrong)


def absent_beats_have_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes of a beat that is not there are not emptied."""
    monkeypatch.setattr(EncoderStages, "_only_valid", lambda self, m, taken: taken)


def nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units are lent to a lane that is not empty, and to a packet that has ended."""
    elaborate = EncoderStages.elaborate

    def wrong(self: EncoderStages, platform: object) -> Module:
        collides, self.collides = self.collides, False
        m = elaborate(self, platform)
        self.collides = collides
        return m

    monkeypatch.setattr(EncoderStages, "elaborate", wrong)


FAULTS = {
    "class": (delay_bounds, TO_UTF_16, "any contents: output lane 0 in cycle 6"),
    "flags": (lose_flags, TO_UTF_16, "any contents: output lane 0 in cycle 6"),
    "wrong lane lends": (the_wrong_lane_lends, TO_UTF_16, "any contents: output lane 3 in cycle 6"),
    "lent to the wrong lane": (units_are_lent_to_the_wrong_lane, TO_UTF_16, "any contents: output lane 0 in cycle 6"),
    "absent beats": (absent_beats_have_lanes, TO_UTF_16, "any contents: output lane 0 in cycle 6"),
    "nothing waits": (nothing_waits, COLLIDES, "any contents: output lane 1 in cycle 4"),
}


@pytest.mark.parametrize(("fault", "given", "note"), tiered(FAULTS, 0))
def test_faults_of_the_stages_are_refuted(
    fault: Callable[..., None], given: CoreParameters, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    assert prove_units(given.build, Property.EQUIVALENCE) == (False, note)


@pytest.mark.parametrize("table", tiered({each.name: each for each in (UTF_16, TABLE_3_7)}, 1, tier=pytest.mark.proof))
def test_the_lane_before_an_item_of_several_units_is_empty(table: EncodingTable) -> None:
    assert prove_item_lanes(table) == (True, "")


def test_the_lane_before_other_items_may_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_lanes, "needs_two_lanes", lambda item, _: ~item.error)
    assert prove_item_lanes(UTF_16) == (False, "an item in the lane before")


@pytest.mark.parametrize("given", tiered({each.name: each for each in (COLLIDES, TO_UTF_16)}, 1))
def test_parts_are_joined(given: CoreParameters) -> None:
    assert is_wide(given.build())
    assert prove_joints(given.build) == (True, False)


class ShortPacker(Packer):
    """A packer for a pipeline in front that is one cycle shorter."""

    def __init__(self, *args: Any, ahead: int, **kwargs: Any) -> None:
        super().__init__(*args, ahead=ahead - 1, **kwargs)


def a_short_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_encoder, "Packer", ShortPacker)


def another_packer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_encoder, "Packer", lambda *args, **kwargs: Packer(*args, flushes=False, **kwargs))


JOINTS = {"short pipeline": a_short_pipeline, "another packer": another_packer}


@pytest.mark.parametrize("fault", tiered(JOINTS, 1, tier=pytest.mark.proof))
def test_parts_that_are_joined_in_another_way_are_rejected(
    fault: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    (result,) = prove(Configuration.of(COLLIDES), Property.EQUIVALENCE)
    assert (result.proved, result.note) == (None, "it is not its parts")


WIDE = [name for name, each in CONFIGURATIONS.items() if name.startswith(("encoder", "transcoder")) and each.on_request]


@pytest.mark.exhaustive
@pytest.mark.parametrize("wanted", [*TRANSCODER_PROPERTIES, Property.STALL])
@pytest.mark.parametrize("name", WIDE)
def test_proved(name: str, wanted: Property) -> None:
    found = prove(CONFIGURATIONS[name], wanted)
    assert len(found) == (wanted is not Property.STALL or name.startswith("encoder"))
    assert [result.note for result in found if not result.proved] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("wanted", [Property.STALL, Property.LATENCY])
def test_a_packer_behind_a_pipeline_that_lends(wanted: Property) -> None:
    (result,) = prove_packer(4, wanted, ahead=5, lends=True)
    assert result.proved, result.note
