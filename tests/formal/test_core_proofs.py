# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of encoders, of practices that merge or drop marks, and of replacements other than U+FFFD."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from amaranth.hdl import Const, Value
from support.faults import combinational, delay_bounds, inject, lose_flags, promise, registered
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import CoreParameters, DecoderParameters, EncoderParameters, TranscoderParameters
from utf8fpga.hdl.decoder import each_unit
from utf8fpga.hdl.decoder.each_unit import MarkedDecoder, UnitMarker
from utf8fpga.hdl.decoder.practice import PracticeDecoder
from utf8fpga.hdl.encoder.encoder import Encoder
from utf8fpga.hdl.encoder.logic import ESCAPED, EncoderLogic

ENCODERS = [name for name, each in CONFIGURATIONS.items() if name.startswith("encoder") and not each.on_request]
REPLACEMENTS = [name for name in CONFIGURATIONS if name.startswith(("serial-0-each-unit", "sanitizer"))]
PRACTICES = [f"serial-0-{practice}" for practice in ("whole-subsequence", "first-error")]
CONTRACT = (Property.STEADY, Property.STALL, Property.INDEPENDENCE, Property.LATENCY)
PROVED = {
    f"{name}-{wanted}": (name, wanted)
    for names, properties in (
        (ENCODERS + REPLACEMENTS, (Property.EQUIVALENCE, Property.POWER_UP, *CONTRACT)),
        (PRACTICES, [Property.EQUIVALENCE]),
    )
    for name in names
    for wanted in properties
}
SMOKE = [
    *(f"{name}-{Property.EQUIVALENCE}" for name in ("encoder-utf-16-le", "encoder-utf-16-be-narrow")),
    f"sanitizer-utf-8-question-mark-{Property.POWER_UP}",
]
QUICK = [*SMOKE, *(f"encoder-{wanted}" for wanted in CONTRACT[:3]), f"{PRACTICES[0]}-{Property.EQUIVALENCE}"]


@pytest.mark.parametrize(("name", "wanted"), tiered(PROVED, QUICK, tier=pytest.mark.proof, smoke=SMOKE))
def test_proved(name: str, wanted: Property) -> None:
    found = prove(CONFIGURATIONS[name], wanted)
    assert [result.note for result in found if not result.proved] == []
    assert len(found) == (wanted is not Property.STALL or "narrow" not in name)


def test_every_replacement_is_in_the_catalogue() -> None:
    assert len(REPLACEMENTS) == 5


@pytest.mark.parametrize("given", [{"lanes": 2, "narrow": True}, {"lanes": 2, "packed": False}])
def test_of_other_outputs_it_is_left_to_simulation(given: dict[str, Any]) -> None:
    assert prove(Configuration.of(EncoderParameters(**given)), Property.EQUIVALENCE) == []


a_late_bound = partial(delay_bounds, bounds=(0x800, 0x10000))
"""The first code point of three bytes, or of a surrogate pair, is encoded like the one before."""


def marks_of_other_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(each_unit, "mark", lambda replacement, unit: Const(replacement.code_points.first))


def a_break_completes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A character of one unit makes the open sequence before it well-formed."""

    def when(marker: UnitMarker) -> Value:
        return marker.input.valid & ~marker.input.payload.symbols[0][7]

    inject(monkeypatch, UnitMarker, registered(lambda marker: marker.errors.eq(0), when=when))


def ends_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, UnitMarker, combinational(lambda marker: marker.output.payload.last.eq(0)))


def marks_are_not_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = combinational(lambda decoder: decoder.output.payload.symbols[0].error.eq(0))
    inject(monkeypatch, MarkedDecoder, fault)


def escaped_bytes_are_below_80(monkeypatch: pytest.MonkeyPatch) -> None:
    found = EncoderLogic._source

    def source(logic: EncoderLogic, each: int, place: int, bit: int) -> tuple[str, int, int]:
        return ("constant", 0, 0) if (each, bit) == (ESCAPED, 7) else found(logic, each, place, bit)

    monkeypatch.setattr(EncoderLogic, "_source", source)


def dropped_marks(wrong: Callable[[Value], Value]) -> Callable[[pytest.MonkeyPatch], None]:
    """Whether a mark is dropped is decided in another way."""
    dropped = PracticeDecoder._dropped
    return lambda monkeypatch: monkeypatch.setattr(PracticeDecoder, "_dropped", lambda self, m: wrong(dropped(self, m)))


ENCODER, NARROW = (EncoderParameters(to="utf-16-le", narrow=narrow) for narrow in (False, True))
SANITIZER = TranscoderParameters(replace_with="question-mark")
ESCAPE = DecoderParameters(practice="each-unit", replace_with="surrogate-escape")
NONE_DROPPED = dropped_marks(lambda dropped: Const(0, 1))
ALL_DROPPED = dropped_marks(lambda dropped: Const(1, 1))
FAULTS: dict[str, tuple[CoreParameters, Callable[[pytest.MonkeyPatch], None]]] = {
    "a late bound": (ENCODER, a_late_bound),
    "a break completes": (SANITIZER, a_break_completes),
    "nothing is dropped": (DecoderParameters(practice="first-error", pipeline=0), NONE_DROPPED),
    "marks are not merged": (DecoderParameters(practice="whole-subsequence", pipeline=0), NONE_DROPPED),
    "all marks are merged": (DecoderParameters(practice="malformed-sequence", pipeline=0), ALL_DROPPED),
    "a late bound, narrow": (NARROW, a_late_bound),
    "flags are lost": (ENCODER, lose_flags),
    "flags are lost, narrow": (NARROW, lose_flags),
    "marks of other units": (ESCAPE, marks_of_other_units),
    "marks are not flagged": (ESCAPE, marks_are_not_flagged),
    "ends are lost": (SANITIZER, ends_are_lost),
    "escaped bytes": (EncoderParameters(narrow=True, unescape="surrogate-escape"), escaped_bytes_are_below_80),
}


@pytest.mark.parametrize(("parameters", "fault"), tiered(FAULTS, 4, smoke=["a late bound"]))
def test_faults_are_refuted(
    parameters: CoreParameters, fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    (result,) = prove(Configuration.of(parameters), Property.EQUIVALENCE)
    assert result.proved is False
    assert result.counterexample is not None
    assert result.counterexample.reproduced


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "component"), [(EncoderParameters(narrow=True), Encoder), (SANITIZER, UnitMarker)]
)
def test_a_latency_that_is_too_low_is_refuted(
    parameters: CoreParameters, component: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    promise(monkeypatch, component, latency=3)
    (result,) = prove(Configuration.of(parameters), Property.LATENCY)
    assert result.proved is False
