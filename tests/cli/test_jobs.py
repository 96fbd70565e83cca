# SPDX-License-Identifier: BSD-2-Clause
"""Concurrent calls in separate processes, which end with the executor or by a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor, wait
from pathlib import Path

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


def test_a_worker_runs_calls_in_its_main_thread_and_reports_their_errors() -> None:
    with job_executor() as executor:
        calls = [executor.submit(where, number) for number in range(4)]
        failed, ended = executor.submit(fail, "plain"), executor.submit(fail, "end")
        wait([*calls, failed, ended])
    # Amaranth is not thread-safe.
    assert all(is_main and process != os.getpid() for process, is_main in (call.result() for call in calls))
    assert (type(failed.exception()), str(failed.exception())) == (ToolError, "yosys is not at home")
    assert isinstance(ended.exception(), BrokenExecutor)
    with pytest.raises(ToolError, match="a worker process has ended, perhaps for lack"), job_executor() as executor:
        executor.submit(fail, "end").result()


@posix
def test_the_end_of_the_block_ends_workers_and_tools(tool: Path, tmp_path: Path) -> None:
    with job_executor() as executor:
        ended, *_ = [executor.submit(call_or_use_tool, folder) for folder in (None, tmp_path, tmp_path)]
        assert ended.result() == ""
        wait_until(lambda: len(at_work(tool)) == 4, expected="start of two tools")
        processes = at_work(tool)
    assert_gone(processes)


PROVE = [sys.executable, "-m", "utf8fpga", "prove", "--property", "steady"]


@posix
@pytest.mark.parametrize(
    "how",
    tiered(
        {how: how for how in ("SIGINT to the process", "SIGINT to its group", "SIGTERM")},
        ["SIGTERM"],
    ),
)
def test_a_signal_ends_workers_and_tools(how: str, tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Immediately, without a traceback, and without temporary files that remain."""
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setenv("TMPDIR", str(files))
    with started(PROVE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: len(list(tool.glob("[0-9]*"))) >= 1, process, expected="start of the tools")
        wait_until(lambda: not list(tool.glob("*.new")), process, expected="start of the tools")
        processes = at_work(tool)
        name, _, where = how.partition(" to ")
        (os.killpg if where == "its group" else os.kill)(process.pid, signal.Signals[name])
        out, err = process.communicate(timeout=LIMIT_SECONDS)
        assert_gone(processes)
    assert "Traceback" not in out + err
    assert (err, process.returncode) == ("utf8fpga: interrupted\n", 130)
    wait_until(lambda: not list(files.iterdir()), expected="removal of the files")
