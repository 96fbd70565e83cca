# SPDX-License-Identifier: BSD-2-Clause
"""The proofs of removers, and of decoders whose input may have gaps."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from support.tiers import tiered

from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.formal.properties import JUDGES
from utf8fpga.formal.runner import prove
from utf8fpga.hdl import RemoverParameters
from utf8fpga.hdl import remover as module

OF_PARTS = ("remover-2",)
"""Proved by the proofs of their parts."""

PROVED = {f"remover-1-{wanted}": ("remover-1", wanted) for wanted in PROPERTIES}
PROVED |= {f"{name}-{wanted}": (name, wanted) for name, wanted in product(OF_PARTS, (*JUDGES, "independence"))}


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("name", "wanted"),
    tiered(PROVED, [f"remover-1-{wanted}" for wanted in (*JUDGES, "independence")], tier=pytest.mark.proof),
)
def test_proved(name: str, wanted: str) -> None:
    results = prove(CONFIGURATIONS[name], wanted)
    assert [result.verdict for result in results if not result.proved] == []
    assert results


def null_beats_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_effective", lambda source: source.valid)


def ends_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_effective", lambda source: source.valid & source.payload.keep[0])


@pytest.mark.smoke
@pytest.mark.parametrize("fault", [null_beats_pass, ends_are_lost])
def test_faults_are_refuted(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    (result,) = prove(Configuration.of(RemoverParameters(lanes=1)), "equivalence")
    assert result.proved is False
    assert result.counterexample is not None
    # If no packet follows, a simulation ends before the null beat is at the output.
    assert result.counterexample.reproduced or fault is null_beats_pass
