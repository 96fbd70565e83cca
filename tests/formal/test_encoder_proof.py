# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of encoders."""

from __future__ import annotations

import pytest
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import EncoderParameters
from utf8fpga.hdl.encoder.encoder import Encoder

ENCODERS = [name for name in CONFIGURATIONS if name.startswith("encoder")]
WANTED = (Property.STEADY, Property.STALL, Property.LATENCY, Property.INDEPENDENCE)


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("name", tiered({name: name for name in ENCODERS}, 2, tier=pytest.mark.proof))
def test_the_contract_of_the_stream(name: str, wanted: Property) -> None:
    found = prove(CONFIGURATIONS[name], wanted)
    assert all(result.proved for result in found)
    assert len(found) == (wanted is not Property.STALL or "narrow" not in name)


def test_a_latency_that_is_too_low_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "latency", 3)
    (result,) = prove(Configuration.of(EncoderParameters(narrow=True)), Property.LATENCY)
    assert result.proved is False


def test_equivalence_is_left_to_simulation() -> None:
    assert prove(CONFIGURATIONS["encoder"], Property.EQUIVALENCE) == []
