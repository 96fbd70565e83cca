# SPDX-License-Identifier: BSD-2-Clause
"""Public suites through the circuit: each case is a packet, and all follow each other without a reset."""

from __future__ import annotations

import pytest
from support.engines import ENGINE
from support.suites import NAMES, read_suite

from utf8fpga.hdl import DecoderParameters, build
from utf8fpga.sim import Simulation

CASES = [
    case
    for suite in map(read_suite, NAMES)
    if suite.practice == "maximal-subparts"
    for case in suite.cases
    if case.expected
]


@pytest.mark.parametrize("lanes", [1, 4])
def test_every_case_has_the_expected_code_points(lanes: int) -> None:
    parameters = DecoderParameters(lanes=lanes)
    run = Simulation(build(parameters), engine=ENGINE).run([case.units for case in CASES])
    found = [[symbol.code_point for symbol in symbols] for symbols in run.texts]
    assert found == [case.code_points for case in CASES]
    assert len(CASES) > 500
