# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of cores that replace each ill-formed unit by something else than U+FFFD."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from amaranth.hdl import Const, Value
from support.faults import combinational, inject, promise, registered
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import CoreParameters, DecoderParameters, EncoderParameters, TranscoderParameters
from utf8fpga.hdl.decoder import each_unit
from utf8fpga.hdl.decoder.each_unit import MarkedDecoder, UnitMarker
from utf8fpga.hdl.encoder.logic import ESCAPED, EncoderLogic

SANITIZER = TranscoderParameters(replace_with="question-mark")
ESCAPE = DecoderParameters(practice="each-unit", replace_with="surrogate-escape")
NAMES = [name for name in CONFIGURATIONS if name.startswith(("serial-0-each-unit", "sanitizer"))]
WANTED = (Property.EQUIVALENCE, Property.POWER_UP, Property.STEADY, Property.LATENCY)
PROVED = {
    f"{name}-{wanted}": (name, wanted) for name in NAMES for wanted in (*WANTED, Property.STALL, Property.INDEPENDENCE)
}
QUICK = [f"sanitizer-utf-8-question-mark-{Property.POWER_UP}"]


@pytest.mark.smoke
@pytest.mark.parametrize(("name", "wanted"), tiered(PROVED, QUICK, tier=pytest.mark.proof))
def test_proved(name: str, wanted: Property) -> None:
    (result,) = prove(CONFIGURATIONS[name], wanted)
    assert result.proved, result.note


def test_every_replacement_is_in_the_catalogue() -> None:
    assert len(NAMES) == 5


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


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        pytest.param(ESCAPE, marks_of_other_units, marks=pytest.mark.slow),
        pytest.param(ESCAPE, marks_are_not_flagged, marks=pytest.mark.proof),
        (SANITIZER, a_break_completes),
        pytest.param(SANITIZER, ends_are_lost, marks=pytest.mark.slow),
        pytest.param(
            EncoderParameters(narrow=True, unescape="surrogate-escape"),
            escaped_bytes_are_below_80,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_faults_are_refuted(
    parameters: CoreParameters, fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    (result,) = prove(Configuration.of(parameters), Property.EQUIVALENCE)
    assert result.proved is False
    assert result.counterexample is not None
    assert result.counterexample.reproduced


@pytest.mark.slow
def test_a_latency_that_is_too_low_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    promise(monkeypatch, UnitMarker, latency=3)
    (result,) = prove(Configuration.of(SANITIZER), Property.LATENCY)
    assert result.proved is False
