# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of the gates of cores: the comparison with the golden function detects them, or they are proved equal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from utf8fpga.cli.main import main
from utf8fpga.formal.aiger import Aig
from utf8fpga.formal.mutation.judge import refuting
from utf8fpga.formal.mutation.netlist_mutants import Outcome, Round, judge_core, rounds_of
from utf8fpga.formal.properties import JUDGES
from utf8fpga.hdl import CORES, CoreParameters, EncoderParameters
from utf8fpga.model import InvalidArgumentError
from utf8fpga.model.encoder import GoldenEncoder
from utf8fpga.sim import Simulation

SUBJECTS: dict[str, tuple[str, dict[str, Any], int]] = {
    "encoder": ("encoder", {}, 100),
    "encoder to UTF-16": ("encoder", {"to": "utf-16-le"}, 40),
    "transcoder": ("transcoder", {"to": "utf-16-le"}, 100),
    "sanitizer, narrow": ("transcoder", {"narrow": True}, 100),
    "verdict": ("validator", {"report": "verdict"}, 40),
    "remover": ("remover", {}, 40),
}
"""The cores, each with the number of mutants."""


def parameters_of(name: str) -> CoreParameters:
    kind, chosen, _ = SUBJECTS[name]
    return CORES[kind](**chosen)


def rounds(name: str, count: int, size: int = 300) -> list[Round]:
    parameters = parameters_of(name)
    return rounds_of(Simulation(parameters.build(), parameters), count, size=size)


@pytest.mark.parametrize(("name", "count", "number"), [("encoder", 30, 24), ("verdict", 20, 80)])
def test_a_few_mutants_are_killed_or_proved_equivalent(name: str, count: int, number: int) -> None:
    score = judge_core(parameters_of(name), count, workload=rounds(name, number, size=60))
    assert len(score.mutants) == count
    assert score.having(Outcome.SURVIVED) == []
    assert len(score.having(Outcome.KILLED)) > 0.8 * count


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_no_mutant_survives(name: str) -> None:
    score = judge_core(parameters_of(name), SUBJECTS[name][2], workload=rounds(name, 80), seconds=3)
    assert score.having(Outcome.SURVIVED) == []
    # Mutants of a buffer's room pause the input earlier, within the contract.
    assert len(score.having(Outcome.TIMING)) <= 0.1 * len(score.mutants)


def test_a_workload_of_ascii_lets_mutants_survive() -> None:
    ascii_only = [Round([*(((point,), False) for point in range(128)), ((), True)])]
    score = judge_core(parameters_of("encoder"), 12, workload=ascii_only)
    survivors = score.having(Outcome.SURVIVED)
    assert len(survivors) >= 2
    # The proof has an input with which the comparison detects the mutant.
    assert all(mutant.reason.startswith("with Round(beats=[") for mutant in survivors)


def test_the_core_itself_must_be_correct() -> None:
    class Wrong(EncoderParameters):
        def golden(self) -> GoldenEncoder:
            return EncoderParameters(to="utf-16-be").golden()

    workload = [Round([((0x1F600,), True)])]
    with pytest.raises(AssertionError, match=r"^encoder is itself rejected: packet 0: "):
        judge_core(Wrong(), 1, workload=workload)


def test_the_number_of_mutants_is_checked() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^0 mutants: specify at least 1$"):
        judge_core(parameters_of("encoder"), 0, workload=[])


def test_the_command_judges_the_mutants_of_a_core(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["prove", "encoder", "--narrow", "--mutate", "12", "--json"])
    assert ended.value.code == 0
    score = json.loads(capfd.readouterr().out)
    assert (score["core"], len(score["mutants"])) == ("encoder-narrow", 12)
    assert {mutant["outcome"] for mutant in score["mutants"]} <= {"killed", "equivalent", "timing", "undecided"}


def test_a_violation_in_the_last_cycle_of_a_run_is_seen() -> None:
    # The monitor of the first property raises its bit in the cycle after `offer`.
    outputs = [6, *[0] * (len(JUDGES) - 1)]
    aig = Aig(2, [4], outputs, [], {"pick": [0], "offer": [1]}, {"bad": [*range(len(outputs))]}, b"")
    found = refuting(aig, [{"offer": 0}, {"offer": 1}])
    assert found is not None
    wanted, frames = found
    assert wanted is JUDGES[0]
    assert [offer for _, offer in frames] == [0, 1, 0]
    assert refuting(aig, [{"offer": 0}]) is None
