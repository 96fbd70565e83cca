# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of decoders under practices that merge or drop marks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from amaranth.hdl import Const, Value
from support.tiers import tiered

from utf8fpga.formal.catalogue import Configuration
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.decoder.practice import PracticeDecoder

FAULTS: dict[str, tuple[str, Callable[[Value], Value]]] = {
    "nothing is dropped": ("first-error", lambda dropped: Const(0, 1)),
    "marks are not merged": ("whole-subsequence", lambda dropped: Const(0, 1)),
    "all marks are merged": ("malformed-sequence", lambda dropped: Const(1, 1)),
}


@pytest.mark.parametrize("practice", ["whole-subsequence", pytest.param("first-error", marks=pytest.mark.slow)])
def test_a_practice_is_proved(practice: str) -> None:
    (result,) = prove(Configuration.of(DecoderParameters(practice=practice)), Property.EQUIVALENCE)
    assert result.proved


@pytest.mark.parametrize(("practice", "fault"), tiered(FAULTS, 2))
def test_other_marks_are_refuted(
    practice: str, fault: Callable[[Value], Value], monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped = PracticeDecoder._dropped
    monkeypatch.setattr(PracticeDecoder, "_dropped", lambda self, m: fault(dropped(self, m)))
    (result,) = prove(Configuration.of(DecoderParameters(practice=practice)), Property.EQUIVALENCE)
    assert result.proved is False
    assert result.counterexample is not None
    assert result.counterexample.reproduced
