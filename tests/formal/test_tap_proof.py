# SPDX-License-Identifier: BSD-2-Clause
"""The proof of taps."""

from __future__ import annotations

from typing import Any

import pytest
from support.oracle import refusal

from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import prove
from utf8fpga.formal.tap_proof import TAP_PROPERTIES, prove_tap
from utf8fpga.hdl import ValidatorParameters
from utf8fpga.hdl.validator.verdict import VerdictTap
from utf8fpga.model import TABLE_3_7
from utf8fpga.model.forms import GENERALISED_UTF_8


@pytest.mark.smoke
@pytest.mark.parametrize("wanted", [TAP_PROPERTIES[0], pytest.param(TAP_PROPERTIES[1], marks=pytest.mark.proof)])
def test_the_smallest_tap_is_equal_to_the_dfa(wanted: Property) -> None:
    (result,) = prove(CONFIGURATIONS["validator-verdict"], wanted)
    assert result.proved


@pytest.mark.smoke
def test_another_table_is_refuted() -> None:
    assert (
        prove_tap(
            lambda: VerdictTap(ValidatorParameters(table=GENERALISED_UTF_8, report="verdict")),
            TABLE_3_7,
            Property.EQUIVALENCE,
        ).proved
        is False
    )


def test_another_latency_is_refuted() -> None:
    class Later(VerdictTap):
        latency = 3

    assert (
        prove_tap(lambda: Later(ValidatorParameters(report="verdict")), TABLE_3_7, Property.EQUIVALENCE).proved is False
    )


def test_a_tap_has_no_properties_of_a_handshake() -> None:
    assert prove(CONFIGURATIONS["validator-verdict"], Property.STEADY) == []


@pytest.mark.parametrize("given", [{}, {"report": "offset"}])
def test_other_reports_have_no_reference(given: dict[str, Any]) -> None:
    parameters = ValidatorParameters(**given)
    assert refusal(ValueError, Configuration.of, parameters) == (
        f"the proofs have no reference for report {parameters.report} of a validator: use report verdict"
    )
