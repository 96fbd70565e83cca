# SPDX-License-Identifier: BSD-2-Clause
"""Concurrent calls in separate processes, which end with the executor or by a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor, Future, wait
from pathlib import Path
from typing import Any

import pytest
from support.calls import call_or_use_tool, fail, where
from support.processes import LIMIT_SECONDS, is_running, started, wait_until
from support.tiers import tiered

from utf8fpga.cli.jobs import job_executor
from utf8fpga.hdl.toolchain import ToolError

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has other signals and no process groups")


TOOL = """\
#!{python}
import os, pathlib, sys, time
pathlib.Path({folder!r}, f"{{os.getpid()}}.new").write_text(str(os.getppid()))
pathlib.Path({folder!r}, f"{{os.getpid()}}.new").rename(pathlib.Path({folder!r}, str(os.getpid())))
time.sleep({seconds})
"""
"""A tool that records its parent process, and then sleeps."""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tool in place of Yosys, and the folder in which each start of it writes a file named by its process number."""
    folder = tmp_path / "started"
    folder.mkdir()
    program = tmp_path / "yosys"
    program.write_text(TOOL.format(python=sys.executable, folder=str(folder), seconds=LIMIT_SECONDS))
    program.chmod(0o755)
    monkeypatch.setenv("YOSYS", str(program))
    return folder


def at_work(folder: Path) -> set[int]:
    """The tools that have started, and the workers that started them."""
    tools = [path for path in folder.iterdir() if not path.suffix]
    return {int(path.name) for path in tools} | {int(path.read_text()) for path in tools}


def assert_gone(processes: set[int]) -> None:
    wait_until(lambda: not any(map(is_running, processes)), expected="end of workers and tools")


# Outcomes.


def outcomes(function: Any, *calls: tuple[Any, ...], jobs: int = 1) -> list[Future[Any]]:
    with job_executor(jobs) as executor:
        found = [executor.submit(function, *call) for call in calls]
        wait(found)
        return found


def test_a_worker_runs_several_calls_in_its_main_thread() -> None:
    ((process, is_main),) = {outcome.result() for outcome in outcomes(where, *[(n,) for n in range(4)])}
    assert process != os.getpid()
    # Amaranth is not thread-safe.
    assert is_main


def test_an_exception_is_the_outcome_of_its_call() -> None:
    found = [outcome.exception() for outcome in outcomes(fail, ("plain",), ("plain",), ("end",))]
    assert [(type(error), str(error)) for error in found[:2]] == [(ToolError, "yosys is not at home")] * 2
    assert found[0] is not None
    assert "in fail\n" in str(found[0].__cause__)
    assert isinstance(found[2], BrokenExecutor)


# Ends.


@posix
def test_the_end_of_the_block_ends_workers_and_tools(tool: Path, tmp_path: Path) -> None:
    with job_executor(2) as executor:
        ended, *_ = [executor.submit(call_or_use_tool, folder) for folder in (None, tmp_path, tmp_path)]
        assert ended.result() == ""
        wait_until(lambda: len(at_work(tool)) == 4, expected="start of two tools")
        processes = at_work(tool)
    assert_gone(processes)


PROVE = [sys.executable, "-m", "utf8fpga", "prove", "serial-area", "serial-speed", "--property", "steady"]


@posix
@pytest.mark.parametrize(
    "how",
    tiered(
        {how: how for how in ("SIGINT to the process", "SIGINT to its group", "SIGTERM", "SIGKILL")},
        ["SIGTERM"],
    ),
)
def test_a_signal_ends_workers_and_tools(how: str, tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Immediately, without a traceback, and without temporary files that remain."""
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setenv("TMPDIR", str(files))
    with started([*PROVE, "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: len(list(tool.glob("[0-9]*"))) >= 2, process, expected="start of the tools")
        wait_until(lambda: not list(tool.glob("*.new")), process, expected="start of the tools")
        processes = at_work(tool)
        name, _, where = how.partition(" to ")
        (os.killpg if where == "its group" else os.kill)(process.pid, signal.Signals[name])
        out, err = process.communicate(timeout=LIMIT_SECONDS)
        assert_gone(processes)
    assert "Traceback" not in out + err
    if name == "SIGINT":
        assert (err, process.returncode) == ("utf8fpga: interrupted\n", 130)
    wait_until(lambda: not list(files.iterdir()), expected="removal of the files")
