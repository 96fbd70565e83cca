# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of encoders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Const
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import EncoderParameters
from utf8fpga.hdl.encoder import logic, stages, unit_queue
from utf8fpga.hdl.encoder.encoder import Encoder

ENCODERS = [name for name, each in CONFIGURATIONS.items() if name.startswith("encoder") and not each.on_request]
WANTED = (Property.STEADY, Property.STALL, Property.LATENCY, Property.INDEPENDENCE)


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("name", tiered({name: name for name in ENCODERS}, 1, tier=pytest.mark.proof))
def test_the_contract_of_the_stream(name: str, wanted: Property) -> None:
    found = prove(CONFIGURATIONS[name], wanted)
    assert all(result.proved for result in found)
    assert len(found) == (wanted is not Property.STALL or "narrow" not in name)


def test_a_latency_that_is_too_low_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "latency", 3)
    (result,) = prove(Configuration.of(EncoderParameters(narrow=True)), Property.LATENCY)
    assert result.proved is False


QUICK = ("encoder-utf-16-le", "encoder-utf-16-be-narrow")
"""One of each kind."""


@pytest.mark.smoke
@pytest.mark.parametrize("wanted", [Property.EQUIVALENCE, pytest.param(Property.POWER_UP, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", tiered({name: name for name in ENCODERS}, QUICK, tier=pytest.mark.proof))
def test_the_units_are_those_of_the_rows(name: str, wanted: Property) -> None:
    (result,) = prove(CONFIGURATIONS[name], wanted)
    assert result.proved, result.note


def a_late_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first code point of three bytes, or of a surrogate pair, is encoded like the one before."""
    at_least = logic._at_least
    late = (0x800, 0x10000)
    monkeypatch.setattr(logic, "_at_least", lambda number, bound: at_least(number, bound + (bound in late)))


def flags_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """U+FFFD in place of what is no scalar value has no flag."""
    classes = stages.symbol_classes
    for module in (stages, unit_queue):
        monkeypatch.setattr(
            module, "symbol_classes", lambda *given: (classes(*given)[0], Const(0, 1), classes(*given)[2])
        )


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("fault", "narrow"),
    [
        (a_late_bound, False),
        pytest.param(a_late_bound, True, marks=pytest.mark.proof),
        pytest.param(flags_are_lost, False, marks=pytest.mark.proof),
        pytest.param(flags_are_lost, True, marks=pytest.mark.proof),
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
