# SPDX-License-Identifier: BSD-2-Clause
"""The processes of a run share their answers, and no question is asked twice."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.processes import started

from utf8fpga.formal import abc, parallel_proof, runner
from utf8fpga.formal.answers import Answers, kept, once, shared_answers
from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.parallel_proof import HALVES, Induction, prove_direct, prove_halves
from utf8fpga.formal.properties import Property
from utf8fpga.formal.runner import harness_aig
from utf8fpga.hdl import DecoderParameters, ParallelDecoder
from utf8fpga.model import TABLE_3_7
from utf8fpga.model.forms import RFC_2279

KEYS = [b"first", b"second", b"third"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with shared_answers(tmp_path):
        yield tmp_path


@pytest.mark.usefixtures("folder")
def test_processes_ask_different_questions_and_share_all_answers() -> None:
    one, other = Answers(), Answers()
    assert one.claim(KEYS, 2) == [b"first", b"second"]
    assert other.claim(KEYS, 2) == [b"third"]
    assert other.claim(KEYS, 2) == []
    one.settle([b"first", b"second"], {b"first": 1, b"second": 2})
    other.settle([b"third"], {b"third": 3})
    assert one.find(KEYS) == other.find(KEYS) == {b"first": 1, b"second": 2, b"third": 3}


@pytest.mark.usefixtures("folder")
def test_a_question_without_an_answer_may_be_asked_again() -> None:
    one, other = Answers(), Answers()
    assert one.claim(KEYS, 3) == KEYS
    one.settle(KEYS, {b"second": 2})
    assert other.find(KEYS) == {b"second": 2}
    assert other.claim(KEYS[::2], 3) == KEYS[::2]


CLAIMING = """
import pathlib, sys
from utf8fpga.formal.answers import Answers, shared_answers
with shared_answers(pathlib.Path(sys.argv[1])):
    one = Answers()
    print(one.claim([b"first"], 1), flush=True)
    sys.stdin.read()
"""


def test_a_claim_holds_until_its_process_ends(folder: Path) -> None:
    words = [sys.executable, "-c", CLAIMING, str(folder)]
    with started(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "[b'first']\n"
        assert Answers().claim([b"first"], 1) == []
        process.kill()
        process.wait()
        assert Answers().claim([b"first"], 1) == [b"first"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_folder_that_cannot_be_written_does_not_stop_the_work(when: str, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    if when == "before":
        folder.touch()
    with shared_answers(tmp_path):
        if when == "after":
            shutil.rmtree(folder)
            folder.touch()
        one = Answers()
        assert one.claim(KEYS, 3) == KEYS
        one.settle(KEYS, {b"first": 1})
        assert one.find(KEYS) == {b"first": 1}
        assert kept("key", lambda: 2) == 2
        assert Answers().find(KEYS) == {}


@pytest.mark.usefixtures("folder")
def test_a_damaged_answer_counts_as_missing(folder: Path) -> None:
    one = Answers()
    one.settle(KEYS, {b"first": 1, b"second": "another"})
    for path in (folder / "answers").iterdir():
        content = bytearray(path.read_bytes())
        content[-3] ^= 1
        path.write_bytes(content)
    assert Answers().find(KEYS) == {}


def test_without_a_folder_a_process_keeps_its_own_answers() -> None:
    one = Answers()
    assert one.claim(KEYS, 3) == KEYS
    one.settle(KEYS, {b"first": 1})
    assert one.find(KEYS) == {b"first": 1}
    assert Answers().find(KEYS) == {}


@pytest.mark.usefixtures("folder")
def test_the_solver_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes share only the folder of answers."""
    aig = harness_aig(CONFIGURATIONS["serial-0"], Property.STEADY)
    asked: list[int] = []
    run = abc._run

    def counting(questions: Any, seconds: int) -> Any:
        asked.append(len(questions))
        return run(questions, seconds)

    monkeypatch.setattr(abc, "_run", counting)
    verdicts = []
    for _ in range(2):
        monkeypatch.setattr(abc, "_answers", Answers())
        (verdict,) = abc.hold_each(aig, {aig.output_bits["bad"][0]: 2})
        verdicts.append((verdict.proved, verdict.depth))
    assert asked == [1]
    assert verdicts[0] == verdicts[1]
    (longer,) = abc.hold_each(aig, {aig.output_bits["bad"][0]: 3})
    assert (longer.proved, asked) == (True, [1, 1])


def test_a_result_is_kept_in_one_run_only(tmp_path: Path) -> None:
    made = itertools.count()

    def make() -> int:
        return next(made)

    assert [kept("key", make), kept("key", make)] == [0, 1]  # outside of a run circuits may change
    with shared_answers(tmp_path / "one"):
        assert [kept("key", make), kept("other", make), kept("key", make)] == [2, 3, 2]
    with shared_answers(tmp_path / "two"):
        assert kept("key", make) == 4
    with shared_answers(tmp_path / "one"):
        assert kept("key", make) == 2
        assert [once(b"undecided", make, holds=lambda _: False) for _ in range(2)] == [5, 6]


def test_proofs_that_differ_have_different_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []

    def answered(answer: Any) -> Any:
        return lambda key, make, holds: keys.append(key) or answer

    monkeypatch.setattr(parallel_proof, "once", answered(Induction()))
    monkeypatch.setattr(runner, "once", answered((False, False)))
    one, two = (DecoderParameters(lanes=lanes, architecture="parallel", packed=False) for lanes in (1, 2))
    sparse = (one.build, two.build, lambda: ParallelDecoder(two, keeps_empty=True))
    for build, right, wanted in itertools.product(sparse, (TABLE_3_7, RFC_2279), HALVES):
        prove_halves(build, right, wanted)
    packed = (DecoderParameters(lanes=lanes).build for lanes in (4, 8))
    for build, right, wanted in itertools.product(packed, (TABLE_3_7, RFC_2279), HALVES[:2]):
        prove_direct(build, right, wanted)
    for lanes in (2, 4):
        runner.prove(Configuration.of(DecoderParameters(lanes=lanes, compact_input=True)), Property.INDEPENDENCE)
    assert len(keys) == len(set(keys)) == 3 * 2 * len(HALVES) + 2 * 2 * 2 + 2
