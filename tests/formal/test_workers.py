# SPDX-License-Identifier: BSD-2-Clause
"""Workers: concurrent calls in separate processes, which end with the iterator or by a signal."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.calls import alone, call_or_use_tool, fail, meet, process_of, say, square, wait_for, where
from support.processes import LIMIT_SECONDS, run, started, wait_until
from support.tiers import tiered

from utf8fpga.formal import runner as module
from utf8fpga.formal.catalogue import CONFIGURATIONS, PROPERTIES, Configuration
from utf8fpga.formal.report import Result
from utf8fpga.formal.runner import prove_all
from utf8fpga.formal.workers import run_each
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


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A process that has ended, but whose parent has not waited for it, counts as ended.
    state = run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True)
    return not state.stdout.startswith("Z") and state.returncode == 0


def assert_gone(processes: set[int]) -> None:
    wait_until(lambda: not any(map(is_running, processes)), expected="end of workers and tools")


# Outcomes.


def outcomes(function: Any, *calls: tuple[Any, ...], jobs: int = 1) -> list[Any]:
    with closing(run_each(function, calls, jobs=jobs)) as found:
        return [outcome.result() for _, outcome in sorted(found, key=lambda each: each[0])]


def test_results_are_those_of_the_calls() -> None:
    assert outcomes(square, (3,), (4,), (5,), jobs=2) == [9, 16, 25]
    assert outcomes(square) == []


def test_as_many_calls_as_jobs_run_at_the_same_time(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert outcomes(meet, (one, two), (two, one), jobs=2) == ["two", "one"]


def test_no_more_calls_than_jobs_run_at_the_same_time_and_a_worker_runs_several(tmp_path: Path) -> None:
    assert outcomes(alone, *[(tmp_path,)] * 3, jobs=1) == [True] * 3
    ((process, is_main),) = set(outcomes(where, *[(n,) for n in range(4)], jobs=1))
    assert process != os.getpid()
    # Amaranth is not thread-safe.
    assert is_main


def test_an_outcome_does_not_wait_for_an_earlier_call(tmp_path: Path) -> None:
    with closing(run_each(wait_for, [(tmp_path / "later",), (tmp_path,)], jobs=2)) as found:
        number, outcome = next(found)
        assert (number, outcome.result()) == (1, tmp_path.name)
        (tmp_path / "later").touch()
        number, outcome = next(found)
        assert (number, outcome.result()) == (0, "later")


def test_an_exception_is_the_outcome_of_its_call_alone() -> None:
    calls = [("plain",), ("odd",), ("end",), ("plain",)]
    found = dict(run_each(fail, calls, jobs=1))
    assert [type(found[n].exception()) for n in range(4)] == [ToolError, RuntimeError, RuntimeError, ToolError]
    assert str(found[0].exception()) == "yosys is not at home"
    assert "in fail\n" in str(found[0].exception().__cause__)
    assert str(found[1].exception()) == "TwoArgumentsError: not picklable"
    assert str(found[2].exception()) == "a worker ended unexpectedly, with status 3"


def test_a_message_of_several_workers_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "utf8fpga"):
        outcomes(say, ("a tool compiles itself",), ("a tool compiles itself",), ("another",), jobs=2)
    assert sorted(caplog.messages) == ["a tool compiles itself", "another"]


# Proofs.


def test_results_of_proofs_are_in_order_and_not_delayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third proof ends first, then the first one."""
    shown: list[str] = []

    def backwards(_function: Any, calls: Any, *, jobs: int, group: Any) -> Any:
        assert jobs == 3
        assert {group(call) for call in calls} == {"serial-0"}
        for number in (2, 0, 1):
            outcome: Future[list[Result]] = Future()
            configuration, wanted, _seconds = calls[number]
            outcome.set_result([Result(configuration.name, wanted, "", 0, 0, True)])
            shown.append(f"proved {wanted}")
            yield number, outcome

    monkeypatch.setattr(module, "run_each", backwards)
    wanted, done = ["steady", "stall", "latency"], list[int]()
    for result in prove_all([CONFIGURATIONS["serial-0"]], wanted, jobs=3, done=done.append):
        shown.append(f"result {result.wanted}")
    assert shown == [
        *("proved latency", "proved steady", "result steady"),
        *("proved stall", "result stall", "result latency"),
    ]
    assert done == [1, 2, 3]


@pytest.mark.parametrize("configuration", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_every_configuration_can_be_sent_to_a_worker(configuration: Configuration) -> None:
    there = pickle.loads(pickle.dumps(configuration))
    assert (there.name, there.table, there.right) == (configuration.name, configuration.table, configuration.right)
    assert repr(there.build_from) == repr(configuration.build_from)


# Ends.


@posix
def test_closing_the_iterator_ends_workers_and_tools(tool: Path, tmp_path: Path) -> None:
    with closing(run_each(call_or_use_tool, [(None,), (tmp_path,), (tmp_path,)], jobs=2)) as found:
        assert next(found)[0] == 0
        wait_until(lambda: len(at_work(tool)) == 4, expected="start of two tools")
        processes = at_work(tool)
    assert_gone(processes)


PROVE = [sys.executable, "-m", "utf8fpga", "prove", "serial-0", "--property", "steady", "--property", "stall"]


@posix
@pytest.mark.parametrize(
    ("how", "command"),
    tiered(
        {
            f"{how}-{name}": (how, command)
            for how in ("SIGINT to the process", "SIGINT to its group", "SIGTERM", "SIGKILL")
            for name, command in {"prove": PROVE, "mutate": [*PROVE[:5], "--mutate", "1"]}.items()
        },
        ["SIGINT to its group-mutate", "SIGTERM-prove", "SIGKILL-prove"],
    ),
)
def test_a_signal_ends_workers_and_tools(
    how: str, command: list[str], tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Immediately, without a traceback, and without temporary files that remain."""
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setenv("TMPDIR", str(files))
    tools = 1 if "--mutate" in command else 2
    with started([*command, "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: len(list(tool.glob("[0-9]*"))) >= tools, process, expected="start of the tools")
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


STARTING = """\
import pathlib, sys, time
if "--multiprocessing-fork" in sys.argv:
    pathlib.Path({folder!r}, "starting").touch()
    time.sleep({seconds})
"""


@posix
def test_an_interrupt_while_a_worker_starts_leaves_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default Python would print one."""
    (tmp_path / "sitecustomize.py").write_text(STARTING.format(folder=str(tmp_path), seconds=LIMIT_SECONDS))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with started(PROVE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until((tmp_path / "starting").exists, process, expected="start of a worker")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert (err, process.returncode) == ("utf8fpga: interrupted\n", 130)
    assert out.split() == ["configuration", "property", "method", "depth", "seconds", "result"]


def test_the_properties_that_are_proved_here_exist() -> None:
    assert {"steady", "stall", "latency"} <= set(PROPERTIES)


def test_a_worker_prefers_the_calls_of_its_group(tmp_path: Path) -> None:
    # Each call of a group waits for that of the other group with its number.
    calls = [(one, tmp_path / f"{one}{n}", tmp_path / f"{other}{n}") for one, other in ("ab", "ba") for n in "123"]
    found = {
        number: outcome.result() for number, outcome in run_each(process_of, calls, jobs=2, group=lambda call: call[0])
    }
    first, second = ({found[number] for number in numbers} for numbers in (range(3), range(3, 6)))
    assert len(first) == len(second) == 1
    assert first != second


def test_calls_of_one_group_are_divided_among_idle_workers(tmp_path: Path) -> None:
    calls = [("a", tmp_path / mine, tmp_path / other) for mine, other in ("01", "10")]
    found = {outcome.result() for _, outcome in run_each(process_of, calls, jobs=2, group=lambda call: call[0])}
    assert len(found) == 2
