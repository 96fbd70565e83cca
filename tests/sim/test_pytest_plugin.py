# SPDX-License-Identifier: BSD-2-Clause
"""The plugin of pytest, in scratch projects as its users have them, and the check of components in Amaranth."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from support.engines import requires_graph
from support.foreign_cores import CORES, FOLDER, use_few_texts

from utf8fpga.model import ErrorKind

pytest_plugins = "pytester"
HOME = os.environ.get("HOME", "")
few_texts = pytest.fixture(use_few_texts)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project. Compiled tools are in the cache of the user's home."""
    monkeypatch.setenv("HOME", HOME)
    # The tests run in a worker of pytest-xdist, the project does not.
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    return pytester


def of_core(project: pytest.Pytester, name: str) -> list[str]:
    """The options for a core, whose files are in the project."""
    shutil.copy(FOLDER / f"{name}.v", project.path)
    shutil.copy(FOLDER / CORES[name], project.path)
    return ["--utf8-core", f"{name}.v", "--utf8-top", name, "--utf8-ports", CORES[name]]


FAULTY = {
    "surrogates": (
        "SURROGATE",
        [
            "SURROGATE: 58 of 58 runs differ",
            "  shortest input: ED A0",
            "  expected:       !FFFD !FFFD (2 marks)",
            "  given:          !FFFD (1 mark)",
            "  (! is a word with the error flag)",
            "  accepted:       ED A0 80 as D800 (12 ill-formed texts alike)",
        ],
    ),
    "leaky": (
        "back-to-back-texts",
        [
            "  shortest input: C2 | 00",
            "  expected:       !FFFD 0000 (1 mark)",
            "  given:          !FFFD !FFFD 0000 (2 marks)",
            "  (! is a word with the error flag)",
        ],
    ),
}
"""By core the only test that fails, and lines of its report.

Of the few texts, ED A0, ED BF, and one of them before or after one of 14 other bytes differ in the first core.
"""


@requires_graph
@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("name", FAULTY)
def test_faulty_core_fails_in_the_test_of_its_cause_only(name: str, project: pytest.Pytester) -> None:
    test, lines = FAULTY[name]
    done = project.runpytest_inprocess("-v", *of_core(project, name))
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.assert_outcomes(passed=16, failed=1, skipped=1)
    assert "\n".join(lines) in done.stdout.str()
    done.stdout.fnmatch_lines([f"FAILED utf8-core::{name}::{test} - *"])
    assert "Traceback" not in done.stdout.str()
    assert ".py:" not in done.stdout.str()
    for kind in ErrorKind:
        outcome = "FAILED" if kind.name == test else "PASSED"
        done.stdout.fnmatch_lines([f"*utf8-core::{name}::{kind.name} {outcome}*"])
    done.stdout.fnmatch_lines([f"*utf8-core::{name}::empty-text SKIPPED (the ports cannot send one)*"])


COUNTING = f"""
import sys
sys.path.append({str(Path(__file__).parents[1])!r})
import pytest
from support.foreign_cores import use_few_texts
import utf8fpga.sim.pytest_suite as suite
use_few_texts(pytest.MonkeyPatch())
check = suite.check_foreign_core
def counted(*words):
    with open("checks", "a") as file:
        file.write("x")
    return check(*words)
suite.check_foreign_core = counted
"""


@requires_graph
def test_correct_core_is_checked_once_by_two_workers_beside_other_tests(project: pytest.Pytester) -> None:
    project.makeconftest(COUNTING)
    project.makepyfile("def test_other(): pass")
    done = project.runpytest_subprocess("-n", "2", *of_core(project, "validator"))
    done.assert_outcomes(passed=17, skipped=2)
    assert Path("checks").read_text() == "x"


@requires_graph
def test_tests_are_selected_by_their_names(project: pytest.Pytester) -> None:
    project.makepyfile("def test_other(): pass")
    words = of_core(project, "validator")
    done = project.runpytest_inprocess("--collect-only", "-q", *words, "utf8-core")
    lines = done.stdout.str().splitlines()
    assert lines[0] == "utf8-core::validator::empty-text"
    assert lines[15:17] == ["utf8-core::validator::back-pressure", "utf8-core::validator::long-texts"]
    assert lines[19].startswith("18 tests collected")
    for name in ("utf8-core::validator::OVERLONG", "../utf8-core::validator::OVERLONG", "-k=OVERLONG"):
        done = project.runpytest_inprocess("--collect-only", "-q", *words, name)
        assert done.stdout.str().splitlines()[0] == "utf8-core::validator::OVERLONG"


PORTS = 'input = { byte = "no", valid = "s_valid" }\nprotocol = "strobe"\n'
PORTS += 'output = { error = "m_wrong", valid = "m_valid" }\n'
PORTS += 'kind = "validator"\n'
BAD_USE = {
    "missing file": (["--utf8-core", "none.v"], "--utf8-core: cannot read 'none.v': No such file or directory"),
    "missing ports": (
        ["--utf8-core", "validator.v", "--utf8-ports", "none.toml"],
        "--utf8-core: cannot read 'none.toml': No such file or directory",
    ),
    "wrong port": (
        ["--utf8-core", "validator.v", "--utf8-ports", "wrong.toml"],
        "--utf8-core: validator.v: validator has no input 'no' for input.byte (inputs: *)",
    ),
    "top": (["--utf8-core", "validator.v", "--utf8-top", "none"], "--utf8-core: *none*"),
    "practice": (["--utf8-core", "validator.v", "--utf8-practice", "all"], "--utf8-practice: 'all' is not one of *"),
    "no core": (["--utf8-ports", "validator.toml"], "--utf8-ports requires --utf8-core FILE"),
    "unknown test": (
        ["--utf8-core", "validator.v", "--utf8-ports", "validator.toml", "utf8-core::validator::ALL"],
        "not found: utf8-core::validator::ALL",
    ),
}


@requires_graph
@pytest.mark.parametrize(("words", "message"), BAD_USE.values(), ids=BAD_USE)
def test_bad_use_is_one_line(words: list[str], message: str, project: pytest.Pytester) -> None:
    of_core(project, "validator")
    (project.path / "wrong.toml").write_text(PORTS)
    done = project.runpytest_inprocess(*words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in done.errlines if line)
    done.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert line.startswith("ERROR: ")


def test_options_need_the_extra(project: pytest.Pytester) -> None:
    without = 'import sys, pytest; sys.modules["amaranth"] = None; sys.exit(pytest.main(sys.argv[1:]))'
    done = project.runpython_c(without + "\n")
    assert done.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    script = project.makepyfile(run=without)
    done = project.run(sys.executable, script, "--utf8-core", "core.v")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: --utf8-core: amaranth is not installed: pip install 'utf8fpga[[]hdl]'"])


def test_a_run_without_the_options_imports_the_plugin_alone(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import sys
        def test_modules():
            found = {name for name in sys.modules if name.partition(".")[0] in ("utf8fpga", "amaranth", "filelock")}
            assert found == {"utf8fpga", "utf8fpga.pytest_plugin"}
        """
    )
    project.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=1)


# The fixture.


@requires_graph
@pytest.mark.slow
def test_fixture_takes_files(project: pytest.Pytester) -> None:
    of_core(project, "validator"), of_core(project, "leaky")
    project.makepyfile(
        """
        def test_correct(assert_utf8_core):
            assert_utf8_core("validator.v", ports="validator.toml")

        def test_faulty(assert_utf8_core):
            assert_utf8_core(["leaky.v"], top="leaky", ports="handshake.toml")
        """
    )
    done = project.runpytest_subprocess()
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["E * leaky differs from the model", "E * back-to-back texts: *"])
