# SPDX-License-Identifier: BSD-2-Clause
"""The recorded answers of proofs are of the current circuits and statements, and the page shows them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.tiers import tiered

from utf8fpga.cli.record import ANSWERS_FILE, PROVED_FILE, read_answers, record_proofs, with_block
from utf8fpga.formal import record, runner
from utf8fpga.formal.abc import Verdict
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, UNPROVED, Configuration
from utf8fpga.formal.report import Result
from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.toolchain import tool_error
from utf8fpga.model import InvalidArgumentError

CHECKOUT = Path(__file__).parents[2]
ANSWERS = read_answers(CHECKOUT)

SMALL = (
    *("serial-0", "encoder", "transcoder-utf-8-to-utf-8-pipeline-0", "remover-1", "validator-verdict"),
    *("refresh", "ports-decoder", "uart-receiver-4"),
)
"""A configuration of each kind of core or part."""

OPTIONS = (
    *("serial-2-full", "serial-0-full-rfc-2279", "serial-0-line-break", "serial-0-first-error", "serial-1-refresh"),
    *("serial-0-whole-subsequence", "serial-0-each-unit-surrogate-escape", "sanitizer-utf-8-question-mark"),
    *("parallel-1", "parallel-4", "parallel-4-registers", "parallel-4-slices"),
    *("packed-2", "packed-4", "packed-2-compact-input", "encoder-utf-16-le-2", "encoder-unescape-surrogate-escape"),
    *("transcoder-utf-8-to-utf-16-le-pipeline-0-bom-remove", "transcoder-utf-8-to-utf-16-le", "remover-2"),
    *("ports-decoder-statistics-wishbone", "ports-decoder-statistics-axi-lite", "ports-decoder-tid-2"),
    *("ports-validator-2-pass-through", "ports-registered-1", "uart-transmitter-4"),
)
"""With these each component is part of a configuration; of the others CI compares a sample."""


@pytest.mark.smoke
def test_the_page_shows_the_recorded_answers() -> None:
    page = (CHECKOUT / PROVED_FILE).read_text(encoding="utf-8")
    assert with_block(page, "proved", record.proved_table(ANSWERS)) == page
    assert with_block(page, "unproved", record.unproved_table()) == page


@pytest.mark.parametrize("name", tiered({name: name for name in ANSWERS}, (*SMALL, *OPTIONS), smoke=SMALL))
def test_the_answer_is_of_the_current_circuit_and_statement(name: str) -> None:
    found = record.digests(CONFIGURATIONS[name])
    assert {key: ANSWERS[name][key] for key in found} == found, f"the circuit has changed: {record.COMMAND}"


@pytest.mark.smoke
def test_an_answer_has_all_properties_but_those_proved_on_request() -> None:
    for name, answer in ANSWERS.items():
        tried = {*answer["proved"], *answer["open"]}
        assert tried == set(PROPERTIES) or (CONFIGURATIONS[name].on_request and tried < set(PROPERTIES)), name


def test_an_answer_of_another_circuit_or_statement_is_not_current(monkeypatch: pytest.MonkeyPatch) -> None:
    serial = CONFIGURATIONS["serial-0"]
    assert record.is_current(ANSWERS, serial, PROPERTIES)
    assert record.is_current(ANSWERS, CONFIGURATIONS["refresh"], PROPERTIES)  # Most are recorded as not proved.
    other = Configuration.of(DecoderParameters(replacement=False))
    assert not record.is_current(ANSWERS, replace(other, name="serial-0"), PROPERTIES)
    undecided = ANSWERS["serial-0"] | {"open": {"steady": "UNDECIDED"}}
    undecided["proved"] = {name: 1.0 for name in PROPERTIES if name != "steady"}
    assert record.is_current({"serial-0": undecided}, serial, ["stall", "latency"])
    assert not record.is_current({"serial-0": undecided}, serial, PROPERTIES)
    monkeypatch.setattr(record, "_STATED_FOR_ALL", ("helpers", "netlist", "properties"))
    assert not record.is_current(ANSWERS, serial, PROPERTIES)


def test_an_answer_is_not_current_if_the_core_promises_more(monkeypatch: pytest.MonkeyPatch) -> None:
    serial = CONFIGURATIONS["serial-1"]
    assert record.is_current(ANSWERS, serial, ["latency"])
    core = serial.build()
    core.latency -= 1
    monkeypatch.setattr(Configuration, "build", lambda _: core)
    assert not record.is_current(ANSWERS, serial, ["latency"])


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ('def f(a):\n    """Other."""\n    return g(a, 1)  # Other.\n', True),
        ("def f(a):\n    return g(\n        a,\n        1,\n    )\n", True),
        ("def f(a):\n    return g(a, 2)\n", False),
        ("def f(a):\n    pass\nreturn g(a, 1)\n", False),
        ('def f(a):\n    return g(a, "1")\n', False),
    ],
    ids=["comments", "lines", "value", "indentation", "string"],
)
def test_comments_and_lines_are_not_part_of_a_statement(other: str, is_same: bool) -> None:
    text = 'def f(a):\n    """One."""\n    # One.\n    return g(a, 1)\n'
    assert (record.source_lines(text) == record.source_lines(other)) is is_same


@pytest.mark.parametrize("parameters", UNPROVED, ids=lambda each: each.name)
def test_a_core_without_a_proof_is_refused(parameters: object) -> None:
    with pytest.raises(InvalidArgumentError, match="the proofs have no reference for"):
        Configuration.of(parameters)


@pytest.mark.parametrize("name", [*SMALL, "serial-0-full", "parallel-4", "packed-2"])
def test_written_verilog_is_compared_where_the_page_has_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for function in ("axi_rtlil", "axi_verilog"):
        monkeypatch.setattr(runner, function, lambda _: "")
    monkeypatch.setattr(runner, "equal_verilog", lambda *_: Verdict(True, 0))
    assert bool(runner.prove(CONFIGURATIONS[name], "verilog")) == ("verilog" in ANSWERS[name]["proved"])


def checkout(folder: Path) -> Path:
    for name in ("README.md", "docs"):
        copy = shutil.copytree if (CHECKOUT / name).is_dir() else shutil.copy
        copy(CHECKOUT / name, folder / name)
    return folder


def test_a_property_is_recorded_as_proved_only_if_all_its_results_are() -> None:
    results = [Result("serial-0", "cover", "trace", 1, 0.1, proved, "OVERLONG") for proved in (True, None)]
    answers: record.Answers = {}
    record.add_answers(answers, CONFIGURATIONS["serial-0"], ["cover"], results)
    assert (answers["serial-0"]["proved"], list(answers["serial-0"]["open"])) == ({}, ["cover"])


def test_a_result_replaces_the_former_one_and_all_answers_of_another_circuit() -> None:
    serial, former = CONFIGURATIONS["serial-0"], ANSWERS["serial-0"]
    failed = Result("serial-0", "steady", "trace", 1, 0.1, False)
    answers: record.Answers = {"serial-0": former}
    record.add_answers(answers, serial, ["steady"], [failed])
    assert answers["serial-0"]["proved"].keys() == former["proved"].keys() - {"steady"}
    assert answers["serial-0"]["open"].keys() == former["open"].keys() | {"steady"}
    answers["serial-0"] = former | {"circuit": "another"}
    record.add_answers(answers, serial, ["steady"], [failed])
    assert (answers["serial-0"]["proved"], list(answers["serial-0"]["open"])) == ({}, ["steady"])


def test_proofs_are_recorded_once(tmp_path: Path) -> None:
    command = ["prove", "serial-0", "--property", "steady", "--record", str(checkout(tmp_path)), "--jobs", "1"]
    (tmp_path / ANSWERS_FILE).parent.mkdir(parents=True)
    assert b"1 of 1 hold" in utf8fpga(*command).stdout
    answers = json.loads((tmp_path / ANSWERS_FILE).read_text(encoding="utf-8"))["answers"]
    assert list(answers) == ["serial-0"]
    assert list(answers["serial-0"]["proved"]) == ["steady"]
    assert "`steady`" in (tmp_path / PROVED_FILE).read_text(encoding="utf-8")
    again = utf8fpga(*command)
    assert (again.stdout, again.returncode) == (b"", 0)
    assert again.stderr == b"all of these are recorded of the circuits and the statements as they are\n"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_damaged_file_of_answers_is_rejected(text: str, tmp_path: Path) -> None:
    file = checkout(tmp_path) / ANSWERS_FILE
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    done = utf8fpga("prove", "serial-0", "--record", str(tmp_path))
    message = f"utf8fpga: '{file}' has no answers of proofs: restore it, or delete it\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", message)
    assert file.read_text(encoding="utf-8") == text


def test_what_has_no_proof_is_recorded_as_such(tmp_path: Path) -> None:
    (checkout(tmp_path) / ANSWERS_FILE).parent.mkdir(parents=True)
    names = ["refresh", "remover-1"]
    utf8fpga("prove", *names, "--property", "steady", "--record", str(tmp_path), "--jobs", "1")
    answers = read_answers(tmp_path)
    assert {name: answers[name]["open"] for name in names} == {"refresh": {"steady": "no proof"}, "remover-1": {}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lanes", "5"], "--record records what --list prints, not packed-5"),
    ],
)
def test_other_options_are_rejected(arguments: list[str], message: str) -> None:
    done = utf8fpga("prove", *arguments, "--record", str(CHECKOUT))
    assert (done.returncode, done.stderr) == (2, f"utf8fpga: {message}\n".encode())


@pytest.mark.parametrize("has_record", [False, True])
def test_what_is_recorded_is_proved_again_without_its_name(has_record: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[str] = []
    monkeypatch.setattr(
        "utf8fpga.cli.prove.run_proofs", lambda configurations, *_, **__: chosen.extend(c.name for c in configurations)
    )
    assert utf8fpga("prove", *(["--record", CHECKOUT] if has_record else [])).returncode == 0
    assert "serial-0" in chosen
    assert ("packed-3" in chosen) == ("packed-3" in ANSWERS and has_record)
    assert set(chosen) < CONFIGURATIONS.keys()


@pytest.mark.parametrize(
    ("wanted", "part"), [("steady", "_prove"), ("netlist-ice40", "_prove_netlist"), ("verilog", "_prove_verilog")]
)
def test_a_property_for_which_a_tool_fails_is_undecided(
    wanted: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise tool_error("yosys", 1, "ERROR: call stack exhausted")

    monkeypatch.setattr(runner, part, fail)
    (result,) = runner.prove(CONFIGURATIONS["serial-0"], wanted)
    assert (result.proved, result.note) == (None, "yosys failed with status 1: ERROR: call stack exhausted")


def test_answers_that_another_run_records_meanwhile_remain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = checkout(tmp_path)
    (folder / ANSWERS_FILE).parent.mkdir(parents=True)

    def prove_meanwhile(*_: object, **__: object) -> Iterator[Result]:
        record_proofs({"serial-1": ANSWERS["serial-1"]}, folder)
        yield Result("serial-0", "steady", "reachability", 0, 0.0, True)

    monkeypatch.setattr("utf8fpga.cli.prove.prove_all", prove_meanwhile)
    assert utf8fpga("prove", "serial-0", "--property", "steady", "--record", folder).returncode == 0
    assert set(read_answers(folder)) == {"serial-0", "serial-1"}
