# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of transcoders, and of encoders with several lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Module
from support.faults import combinational, delay_bounds, inject, lose_flags
from support.oracle import refusal
from support.tiers import tiered

from utf8fpga.formal import item_lanes, runner
from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.item_lanes import prove_item_lanes
from utf8fpga.formal.mark_proof import prove_marks
from utf8fpga.formal.packer_proof import PackerKind, prove_packer
from utf8fpga.formal.properties import Property
from utf8fpga.formal.report import Result
from utf8fpga.formal.runner import prove
from utf8fpga.formal.transcoder_proof import TRANSCODER_PROPERTIES, is_same_decoder, prove_encoder
from utf8fpga.formal.wide_proof import is_wide, prove_joints, prove_units
from utf8fpga.hdl import CoreParameters, DecoderParameters, EncoderParameters, Packer, Transcoder, TranscoderParameters
from utf8fpga.hdl.encoder import parallel_encoder
from utf8fpga.hdl.encoder.stages import EncoderStages
from utf8fpga.hdl.shift_queue import ShiftQueue
from utf8fpga.hdl.transcoder import transcoder
from utf8fpga.hdl.transcoder.byte_order_mark import MarkRemover
from utf8fpga.model import TABLE_3_7, UTF_16, EncodingTable
from utf8fpga.model.forms import GENERALISED_UTF_8

LENDS = TranscoderParameters(to="utf-16-le", lanes=4)
"""Units are lent, and no beat waits."""
COLLIDES = TranscoderParameters(to="utf-16-le", lanes=2)
"""A beat waits where the last lane of the one before is not empty."""

WIDE = [name for name, each in CONFIGURATIONS.items() if name.startswith(("encoder", "transcoder")) and each.on_request]
TRANSCODERS = [name for name, each in CONFIGURATIONS.items() if name.startswith("transcoder") and not each.on_request]
PROVED = {f"{name}-{wanted}": (name, wanted) for name in TRANSCODERS for wanted in TRANSCODER_PROPERTIES}
QUICK = ["transcoder-utf-8-to-utf-16-le-pipeline-0-steady"]


@pytest.mark.smoke
@pytest.mark.parametrize(("name", "wanted"), tiered(PROVED, QUICK, tier=pytest.mark.proof))
def test_proved(name: str, wanted: Property) -> None:
    (result,) = prove(CONFIGURATIONS[name], wanted)
    assert result.proved, result.note


def test_other_properties_are_not_proved() -> None:
    assert prove(CONFIGURATIONS[TRANSCODERS[0]], Property.STALL) == []


TO_UTF_16 = TranscoderParameters(to="utf-16-le", pipeline=0)


PIPELINED = TranscoderParameters(to="utf-16-le", pipeline=2)


def a_queue_is_full_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A beat that is entered into a full queue is lost."""
    inject(monkeypatch, ShiftQueue, combinational(lambda queue: queue.run.eq(~0)))


@pytest.mark.parametrize(
    ("fault", "given", "question"),
    [
        pytest.param(delay_bounds, TO_UTF_16, "step: monitor 0", marks=pytest.mark.smoke),
        pytest.param(lose_flags, TO_UTF_16, "step: monitor 0", marks=pytest.mark.proof),
        pytest.param(lose_flags, PIPELINED, "step: monitor", marks=[pytest.mark.slow, pytest.mark.proof]),
        pytest.param(a_queue_is_full_too_late, PIPELINED, "step: monitor", marks=pytest.mark.slow),
    ],
)
def test_an_encoder_with_a_fault_is_refuted(
    fault: Callable[..., None], given: TranscoderParameters, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    proved, note = prove_encoder(given.build, Property.EQUIVALENCE)
    assert proved is False
    assert note.startswith(question)


def ends_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last beat of a packet is not marked at the output."""
    inject(monkeypatch, Transcoder, combinational(lambda core: core.output.payload.last.eq(0)))


def bytes_are_not_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcoder, "in_byte_order", lambda unit, _: unit)


class ShortPacker(Packer):
    """A packer for a pipeline in front that is one cycle shorter."""

    def __init__(self, *args: Any, ahead: int, **kwargs: Any) -> None:
        super().__init__(*args, ahead=ahead - 1, **kwargs)


def a_short_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_encoder, "Packer", ShortPacker)


def another_packer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_encoder, "Packer", lambda *args, **kwargs: Packer(*args, flushes=False, **kwargs))


FROM_UTF_16 = TranscoderParameters(from_="utf-16-be", to="utf-8")
JOINTS = {
    "ends are lost": (ends_are_lost, FROM_UTF_16, "it is not its decoder and its encoder"),
    "short pipeline": (a_short_pipeline, COLLIDES, "it is not its parts"),
    "bytes are not swapped": (bytes_are_not_swapped, FROM_UTF_16, "it is not its decoder and its encoder"),
    "another packer": (another_packer, COLLIDES, "it is not its parts"),
}


@pytest.mark.parametrize(("fault", "given", "note"), tiered(JOINTS, 2))
def test_parts_that_are_joined_in_another_way_are_rejected(
    fault: Callable[..., None], given: CoreParameters, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    (result,) = prove(Configuration.of(given), Property.EQUIVALENCE)
    assert (result.proved, result.note) == (None, note)


DETECTING = TranscoderParameters(from_="utf-16-be", to="utf-8", bom="detect")


def marks_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(
        monkeypatch, MarkRemover, combinational(lambda stage: stage.output.payload.keep.eq(stage.input.payload.keep))
    )


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        (None, Property.EQUIVALENCE),
        (None, Property.POWER_UP),
        (marks_stay, Property.EQUIVALENCE),
        (marks_stay, Property.POWER_UP),
    ],
)
def test_stages_for_marks_are_proved_and_those_with_a_fault_are_refuted(
    fault: Callable[..., None] | None, wanted: Property, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault:
        fault(monkeypatch)
    proved, names = prove_marks(DETECTING.build(), wanted)
    assert (proved, names) == (fault is None, ["detector", "remover"])


def test_a_transcoder_is_not_proved_without_its_stages_for_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    marks_stay(monkeypatch)
    (result,) = prove(Configuration.of(TranscoderParameters(bom="remove")), Property.EQUIVALENCE)
    assert (result.proved, result.parts) == (False, ("remover",))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        *((TO_UTF_16, each) for each in TRANSCODER_PROPERTIES if each not in (Property.STEADY, Property.INDEPENDENCE)),
        (COLLIDES, Property.EQUIVALENCE),
        (COLLIDES, Property.POWER_UP),
    ],
    ids=lambda each: getattr(each, "name", None),
)
def test_without_a_proof_of_its_decoder_nothing_is_proved(
    given: TranscoderParameters, wanted: Property, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def undecided(configuration: Configuration, wanted: str, *, seconds: int) -> list[Result]:
        asked.append(wanted)
        return [Result(configuration.name, wanted, "induction", 0, 0.0, None)]

    monkeypatch.setattr(runner, "prove", undecided)
    monkeypatch.delattr(runner, "prove_units")
    (result,) = prove(Configuration.of(given), wanted)
    assert (result.proved, asked) == (None, [wanted])


@pytest.mark.parametrize("given", [TO_UTF_16, COLLIDES], ids=lambda each: each.name)
def test_with_another_decoder_nothing_is_proved(given: TranscoderParameters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "is_same_decoder", lambda _: False)
    for name in ("prove_encoder", "prove_packer"):  # They would take minutes.
        monkeypatch.delattr(runner, name)
    (result,) = prove(Configuration.of(given), Property.STEADY)
    assert (result.proved, result.method) == (None, "structure")


def test_a_decoder_of_another_table_is_rejected() -> None:
    core = TO_UTF_16.build()
    assert is_same_decoder(core)
    core.decoder = DecoderParameters(table=GENERALISED_UTF_8, replacement=False).build()
    assert not is_same_decoder(core)


@pytest.mark.parametrize(
    "given",
    [
        {"lanes": 2, "packed": False},
        {"lanes": 2, "narrow": True},
        {"lanes": 2, "bom": "remove"},
        {"lanes": 2, "from_": "cesu-8"},
        {"from_": "utf-32-le"},
    ],
)
def test_others_have_no_reference(given: dict[str, Any]) -> None:
    parameters = TranscoderParameters(**given)
    assert refusal(ValueError, Configuration.of, parameters) == (
        f"the proofs have no reference for {parameters.name}: use a source other than UTF-32; with several lanes"
        " also packed wide output beats, bom keep, and a source other than CESU-8 and Modified UTF-8"
    )


# Several lanes.


STAGES = {
    each.name: each
    for each in (
        EncoderParameters(to="utf-16-le", lanes=2),
        EncoderParameters(to="utf-16-le", lanes=2, packed=False),
        EncoderParameters(lanes=4),
        EncoderParameters(to="cesu-8", lanes=2, items=True),
        LENDS,
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
    monkeypatch.setattr(EncoderStages, "_only_valid", lambda self, m, taken, early: taken)


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
    "class": (delay_bounds, LENDS, "any contents: output lane 0 in cycle 6"),
    "flags": (lose_flags, LENDS, "any contents: output lane 0 in cycle 6"),
    "wrong lane lends": (the_wrong_lane_lends, LENDS, "any contents: output lane 3 in cycle 6"),
    "lent to the wrong lane": (units_are_lent_to_the_wrong_lane, LENDS, "any contents: output lane 0 in cycle 6"),
    "absent beats": (absent_beats_have_lanes, LENDS, "any contents: output lane 0 in cycle 6"),
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


@pytest.mark.parametrize("given", tiered({each.name: each for each in (COLLIDES, LENDS)}, 1))
def test_parts_are_joined(given: CoreParameters) -> None:
    assert is_wide(given.build())
    assert prove_joints(given.build) == (True, False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("wanted", [*TRANSCODER_PROPERTIES, Property.STALL])
@pytest.mark.parametrize("name", WIDE)
def test_wide_cores_are_proved(name: str, wanted: Property) -> None:
    found = prove(CONFIGURATIONS[name], wanted)
    assert len(found) == (wanted is not Property.STALL or name.startswith("encoder"))
    assert [result.note for result in found if not result.proved] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("wanted", [Property.STALL, Property.LATENCY])
def test_a_packer_behind_a_pipeline_that_lends(wanted: Property) -> None:
    (result,) = prove_packer(PackerKind(Packer, 4, ahead=5, lends=True), wanted)
    assert result.proved, result.note
