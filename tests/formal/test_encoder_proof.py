# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of encoders."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from support.faults import delay_bounds, lose_flags
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import EncoderParameters
from utf8fpga.hdl.encoder.encoder import Encoder

ENCODERS = [name for name, each in CONFIGURATIONS.items() if name.startswith("encoder") and not each.on_request]
WANTED = (Property.STEADY, Property.STALL, Property.LATENCY, Property.INDEPENDENCE)


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("name", tiered({name: name for name in ENCODERS}, 1, tier=pytest.mark.proof))
def test_the_contract_of_the_stream(name: str, wanted: Property) -> None:
    found = prove(CONFIGURATIONS[name], wanted)
    assert all(result.proved for result in found)
    assert len(found) == (wanted is not Property.STALL or "narrow" not in name)


@pytest.mark.slow
def test_a_latency_that_is_too_low_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = EncoderParameters()
    monkeypatch.setattr(Encoder, "latency", parameters.build().latency - 1)
    (result,) = prove(Configuration.of(parameters), Property.LATENCY)
    assert result.proved is False


a_late_bound = partial(delay_bounds, bounds=(0x800, 0x10000))
"""The first code point of three bytes, or of a surrogate pair, is encoded like the one before."""

QUICK = ("encoder-utf-16-le", "encoder-utf-16-be-narrow")
"""One of each kind."""


@pytest.mark.smoke
@pytest.mark.parametrize("wanted", [Property.EQUIVALENCE, pytest.param(Property.POWER_UP, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", tiered({name: name for name in ENCODERS}, QUICK, tier=pytest.mark.proof))
def test_the_units_are_those_of_the_rows(name: str, wanted: Property) -> None:
    (result,) = prove(CONFIGURATIONS[name], wanted)
    assert result.proved, result.note


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("fault", "narrow"),
    [
        (a_late_bound, False),
        *(
            pytest.param(*case, marks=pytest.mark.proof)
            for case in ((a_late_bound, True), (lose_flags, False), (lose_flags, True))
        ),
    ],
)
def test_faults_are_refuted(fault: Callable[..., None], narrow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    (result,) = prove(Configuration.of(EncoderParameters(to="utf-16-le", narrow=narrow)), Property.EQUIVALENCE)
    assert result.proved is False
    assert result.counterexample is not None
    assert result.counterexample.reproduced


@pytest.mark.parametrize("given", [{"lanes": 2, "narrow": True}, {"lanes": 2, "packed": False}])
def test_of_other_outputs_it_is_left_to_simulation(given: dict[str, Any]) -> None:
    assert prove(Configuration.of(EncoderParameters(**given)), Property.EQUIVALENCE) == []
