# SPDX-License-Identifier: BSD-2-Clause
"""The practices in hardware; `test_parallel.py` has what all decoders promise."""

from __future__ import annotations

from itertools import product

import pytest
from support.engines import ENGINE
from support.tiers import tiered

from utf8fpga.hdl import MARK_PRACTICES, PIPELINES, PracticeDecoder, decoder_core
from utf8fpga.model.practices import Practice
from utf8fpga.sim import Simulation

MERGING = (Practice.WHOLE_SUBSEQUENCE, Practice.MALFORMED_SEQUENCE)


def build(practice: Practice, pipeline: int) -> PracticeDecoder:
    return decoder_core(practice=practice, pipeline=pipeline, kind=True, length=practice not in MERGING)


BUILDS = {
    f"{practice}-pipeline{pipeline}": (practice, pipeline) for practice, pipeline in product(MARK_PRACTICES, PIPELINES)
}
IN_EVERY_RUN = {f"{practice}-pipeline{n % len(PIPELINES)}" for n, practice in enumerate(MARK_PRACTICES)} | {
    f"{MARK_PRACTICES[1]}-pipeline{pipeline}" for pipeline in PIPELINES
}
"""Each practice with one pipeline, and one practice with each."""


@pytest.fixture(scope="module", params=tiered({name: (build,) for name, build in BUILDS.items()}, IN_EVERY_RUN))
def simulation(request: pytest.FixtureRequest) -> Simulation:
    return Simulation(build(*request.param), engine=ENGINE)


@pytest.mark.smoke
def test_expected_is_the_practice_and_not_the_default(simulation: Simulation) -> None:
    text = b"\xf0\x90\x80\xff\xffA\xff"
    marks = {
        Practice.MAXIMAL_SUBPARTS: [1, 1, 1, 0, 1],
        Practice.EACH_UNIT: [1, 1, 1, 1, 1, 0, 1],
        Practice.WHOLE_SUBSEQUENCE: [1, 0, 1],
        Practice.MALFORMED_SEQUENCE: [1, 1, 1, 0, 1],
        Practice.FIRST_ERROR: [1],
    }
    practice = simulation.core.parameters.practice
    assert [bool(item.error) for item in simulation.run([text]).texts[0]] == marks[practice]
    assert [bool(item.error) for item in simulation.expected(text)] == marks[practice]


def test_malformed_sequences_of_up_to_six_bytes() -> None:
    simulation = Simulation(decoder_core(practice=Practice.MALFORMED_SEQUENCE))
    pieces = ["FC 80 80 80 80 80", "F8 80 80 80 80", "F7 BF BF BF", "F0 80 80 80", "ED A0 80", "C0 80", "FE FF"]
    for piece, marks in zip(pieces, [1, 1, 1, 1, 1, 1, 2], strict=True):
        for text in (bytes.fromhex(piece), bytes.fromhex(piece) + b"\x80", b"A" + bytes.fromhex(piece) * 2 + b"Z"):
            run = simulation.run([text, text])
            assert run.texts == [simulation.expected(text)] * 2
        assert len(simulation.expected(bytes.fromhex(piece))) == marks
