# SPDX-License-Identifier: BSD-2-Clause
"""The command `check`: its table, its JSON and its exit statuses."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.engines import requires_graph
from support.foreign_cores import CORES, FOLDER, use_few_texts
from support.processes import run

pytestmark = requires_graph


def arguments(name: str) -> list[str]:
    return [str(FOLDER / f"{name}.v"), "--top", name, "--ports", str(FOLDER / CORES[name])]


@pytest.fixture(autouse=True)
def few_texts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of `test_foreign.py` and that of the smoke tier have all texts."""
    if not request.node.get_closest_marker("smoke"):
        use_few_texts(monkeypatch)


def test_correct_core() -> None:
    done = utf8fpga("check", *arguments("validator"))
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines[:2] == ["conforms", ""]
    assert lines[2].split() == ["cause", "runs"]
    assert any(line.startswith("no runs, for want of a port or of a correct text: empty text") for line in lines)


def test_errors_of_the_verilog_have_the_names_of_its_files(tmp_path: Path) -> None:
    correct, wrong = tmp_path / "correct.v", tmp_path / "wrong.v"
    correct.write_text("module correct(input a, output b); assign b = a; endmodule\n")
    wrong.write_text("module wrong(input clk,\n output q);\n assign q = ;\nendmodule\n")
    for sources in ([wrong], [correct, wrong]):
        done = utf8fpga("check", *sources)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode().startswith(f"utf8fpga: {wrong}:3: ERROR: syntax error")


@pytest.mark.smoke
def test_faulty_core_as_json() -> None:
    done = utf8fpga("check", *arguments("leaky"), "--json")
    assert done.returncode == 1
    assert done.stderr == b"utf8fpga: leaky differs from the model: back-to-back texts\n"
    found = json.loads(done.stdout)
    schema = json.loads(files("utf8fpga.cli").joinpath("check.schema.json").read_text(encoding="utf-8"))
    jsonschema = pytest.importorskip("jsonschema", reason="requires the extra 'dev'")
    jsonschema.Draft202012Validator(schema).validate(found)
    assert [found[key] for key in ("module", "practice", "accepted")] == ["leaky", "maximal-subparts", []]
    (row,) = (row for row in found["causes"] if row["differ"])
    (defect,) = found["defects"]
    assert (row["name"], defect["name"]) == ("back-to-back texts", "leaks state into the next text")
    assert row["shortest"] == defect["shortest"]
    assert defect["shortest"] == {
        "texts": ["C2", "00"],
        "pauses": ["0", "0"],
        "expected": ["!FFFD", "0000"],
        "given": ["!FFFD", "!FFFD", "0000"],
        "marks": [1, 2],
        "reason": "",
        "is_correct": False,
    }


def test_without_numba_the_extra_is_named() -> None:
    code = 'import sys; sys.modules["numba"] = None; from utf8fpga.cli.main import main; main()'
    done = run([sys.executable, "-c", code, "check", *map(str, arguments("leaky"))], capture_output=True)
    assert done.returncode == 2
    assert done.stderr.startswith(b"utf8fpga: check requires numba: ")
    assert done.stderr.endswith(b"pip install -e '.[fast]'\n")
