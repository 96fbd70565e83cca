# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of transcoders with one lane."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from support.engines import requires_solver
from support.faults import combinational, delay_bounds, inject, lose_flags
from support.tiers import tiered

from utf8fpga.formal import runner
from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.properties import Property
from utf8fpga.formal.report import Result
from utf8fpga.formal.runner import prove
from utf8fpga.formal.transcoder_proof import TRANSCODER_PROPERTIES, is_same_decoder, prove_encoder
from utf8fpga.hdl import SerialSpeedDecoder, TranscoderParameters, build
from utf8fpga.hdl.shift_queue import ShiftQueue
from utf8fpga.model.forms import GENERALISED_UTF_8

pytestmark = requires_solver

TRANSCODERS = [name for name, each in CONFIGURATIONS.items() if name.startswith("transcoder") and not each.on_request]
PROVED = {f"{name}-{wanted}": (name, wanted) for name in TRANSCODERS for wanted in TRANSCODER_PROPERTIES}
QUICK = ["transcoder-utf-8-to-utf-16-le-area-steady"]


@pytest.mark.parametrize(("name", "wanted"), tiered(PROVED, QUICK, tier=pytest.mark.proof))
def test_proved(name: str, wanted: Property) -> None:
    (result,) = prove(CONFIGURATIONS[name], wanted)
    assert result.proved, result.note


def test_other_properties_are_not_proved() -> None:
    assert prove(CONFIGURATIONS[TRANSCODERS[0]], Property.STALL) == []


TO_UTF_16 = TranscoderParameters(to="utf-16-le", optimize="area")


PIPELINED = TranscoderParameters(to="utf-16-le", optimize="speed")


def a_queue_is_full_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A beat that is entered into a full queue is lost."""
    inject(monkeypatch, ShiftQueue, combinational(lambda queue: queue.run.eq(~0)))


@pytest.mark.parametrize(
    ("fault", "given", "question"),
    [
        pytest.param(delay_bounds, TO_UTF_16, "step: monitor 0"),
        pytest.param(lose_flags, TO_UTF_16, "step: monitor 0", marks=pytest.mark.proof),
        pytest.param(lose_flags, PIPELINED, "step: monitor", marks=[pytest.mark.slow, pytest.mark.proof]),
        pytest.param(a_queue_is_full_too_late, PIPELINED, "step: monitor", marks=pytest.mark.slow),
    ],
)
def test_an_encoder_with_a_fault_is_refuted(
    fault: Callable[..., None], given: TranscoderParameters, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    proved, note = prove_encoder(partial(build, given), Property.EQUIVALENCE)
    assert proved is False
    assert note.startswith(question)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        *((TO_UTF_16, each) for each in TRANSCODER_PROPERTIES if each not in (Property.STEADY, Property.INDEPENDENCE)),
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
    (result,) = prove(Configuration.of(given), wanted)
    assert (result.proved, asked) == (None, [wanted])


def test_with_another_decoder_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "is_same_decoder", lambda _: False)
    for name in ("prove_encoder", "prove_packer"):  # They would take minutes.
        monkeypatch.delattr(runner, name)
    (result,) = prove(Configuration.of(TO_UTF_16), Property.STEADY)
    assert (result.proved, result.method) == (None, "structure")


def test_a_decoder_of_another_table_is_rejected() -> None:
    core = build(TO_UTF_16)
    assert is_same_decoder(core)
    core.decoder = SerialSpeedDecoder(GENERALISED_UTF_8, replacement=False)
    assert not is_same_decoder(core)
