# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of encoders."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from support.engines import requires_solver
from support.faults import delay_bounds, lose_flags, promise
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import CoreParameters, EncoderParameters
from utf8fpga.hdl.encoder.encoder import Encoder

pytestmark = requires_solver

ENCODERS = [name for name, each in CONFIGURATIONS.items() if name.startswith("encoder") and not each.on_request]
CONTRACT = (Property.STEADY, Property.STALL, Property.INDEPENDENCE, Property.LATENCY)
PROVED = {
    f"{name}-{wanted}": (name, wanted)
    for name in ENCODERS
    for wanted in (Property.EQUIVALENCE, Property.POWER_UP, *CONTRACT)
}
QUICK = [f"encoder-utf-16-le-{Property.EQUIVALENCE}", *(f"encoder-{wanted}" for wanted in CONTRACT[:3])]


@pytest.mark.parametrize(("name", "wanted"), tiered(PROVED, QUICK, tier=pytest.mark.proof))
def test_proved(name: str, wanted: Property) -> None:
    found = prove(CONFIGURATIONS[name], wanted)
    assert [result.note for result in found if not result.proved] == []
    assert len(found) == (wanted is not Property.STALL)


def test_of_several_lanes_it_is_left_to_simulation() -> None:
    assert prove(Configuration.of(EncoderParameters(lanes=2)), Property.EQUIVALENCE) == []


a_late_bound = partial(delay_bounds, bounds=(0x800, 0x10000))
"""The first code point of three bytes, or of a surrogate pair, is encoded like the one before."""


ENCODER = EncoderParameters(to="utf-16-le")
FAULTS: dict[str, tuple[CoreParameters, Callable[[pytest.MonkeyPatch], None]]] = {
    "a late bound": (ENCODER, a_late_bound),
    "flags are lost": (ENCODER, lose_flags),
}


@pytest.mark.parametrize(("parameters", "fault"), tiered(FAULTS, 2))
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
    promise(monkeypatch, Encoder, latency=3)
    (result,) = prove(Configuration.of(EncoderParameters()), Property.LATENCY)
    assert result.proved is False
