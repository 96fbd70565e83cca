# SPDX-License-Identifier: BSD-2-Clause
"""Invalid arguments are reported in one line, defects with a traceback; the two are distinguished."""

from __future__ import annotations

import ast
import errno
import sys
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.processes import run

from utf8fpga.cli import process

CHECKOUT = Path(__file__).parents[2]


def test_a_defect_has_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("utf8fpga.cli.table.render", lambda _table, _form: {}["row"])
    done = utf8fpga("table")
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (1, b"")
    assert (lines[0], lines[-1]) == ("Traceback (most recent call last):", "KeyError: 'row'")


@pytest.mark.parametrize("name", ["ENOSPC", "EMFILE"])
def test_condition_of_the_system_is_one_line(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        raise OSError(getattr(errno, name), "the reason", "file")

    assert process.run(command) == 2
    assert capfd.readouterr().err == "utf8fpga: 'file': the reason\n"


IGNORED = """
import ctypes, os, signal
from utf8fpga.cli.process import run

def callback():
    os.kill(os.getpid(), signal.SIGINT)

def command():
    ctypes.CFUNCTYPE(None)(callback)()
    raise RuntimeError("no compiled object yet")

print(run(command))
"""


def test_an_interrupt_that_makes_compiled_code_fail_is_no_defect() -> None:
    done = run([sys.executable, "-c", IGNORED], capture_output=True, text=True)
    assert (done.stdout, done.stderr.splitlines()[-1]) == ("130\n", "utf8fpga: interrupted")


CUT_OFF = """
from amaranth.hdl import Module
from utf8fpga.cli.main import main
from utf8fpga.hdl.decoder.serial import SerialSpeedDecoder

def elaborate(self, platform):
    m = Module()
    {statement}

SerialSpeedDecoder.elaborate = elaborate
main(["simulate", "--hex", "41"])
"""


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("raise KeyboardInterrupt", "utf8fpga: interrupted"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "utf8fpga: interrupted"),
        ("raise MemoryError", "MemoryError"),
    ],
)
def test_interrupted_elaboration_does_not_warn_of_unused_circuits(statement: str, said: str) -> None:
    done = run([sys.executable, "-c", CUT_OFF.format(statement=statement)], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == said
    assert "Unused" not in done.stderr


INTERNAL = {"hdl/minimise.py", "boards/flows.py", "cli/output.py"}
"""Files with a `ValueError` that is not reported to the user: its cause is internal, or it is caught in the file."""


@pytest.mark.parametrize("folder", ["model", "hdl", "sim", "boards", "cli"])
def test_errors_of_arguments_are_user_errors(folder: str) -> None:
    for path in sorted((CHECKOUT / folder).glob("**/*.py")):
        if str(path.relative_to(CHECKOUT)) in INTERNAL:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                assert node.exc.func.id not in ("ValueError", "RuntimeError", "OSError"), f"{path}:{node.lineno}"
