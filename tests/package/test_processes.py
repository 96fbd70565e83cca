# SPDX-License-Identifier: BSD-2-Clause
"""The helpers with which tests start processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.processes import has_left_processes, run, started, wait_until

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups and signals are those of POSIX")

SLEEPER = "import signal, sys, time; print('ready', flush=True); time.sleep(600)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEPER!r}])"


@pytest.fixture(params=["default", "ignored", "blocked"])
def interrupts(request: pytest.FixtureRequest) -> Iterator[str]:
    """The handling of SIGINT in this process: default, ignored as in a background job, or blocked."""
    before = signal.getsignal(signal.SIGINT)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT] if request.param == "blocked" else [])
    signal.signal(signal.SIGINT, signal.SIG_IGN if request.param == "ignored" else signal.default_int_handler)
    yield request.param
    signal.signal(signal.SIGINT, before)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@pytest.mark.usefixtures("interrupts")
def test_child_process_can_be_interrupted_if_sigint_is_ignored_here() -> None:
    with started([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert said.endswith(b"KeyboardInterrupt\n")


@pytest.mark.parametrize("child_is_gone", [False, True])
def test_processes_of_a_child_end_with_the_block(child_is_gone: bool) -> None:
    with suppress(ZeroDivisionError), started([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        if child_is_gone:
            process.kill()
            process.wait()
        assert has_left_processes(process)
        raise ZeroDivisionError
    assert process.returncode == -signal.SIGKILL
    # The grandchild has been killed, but exists until its new parent has waited for it.
    wait_until(lambda: not has_left_processes(process), expected="the end of the group")


def test_run_is_equivalent_to_subprocess_run(tmp_path: Path) -> None:
    code = "import sys; print(sys.stdin.read().upper()); print('said', file=sys.stderr); sys.exit(3)"
    for arguments in ({"input": "text", "text": True}, {"input": "", "text": True, "cwd": tmp_path}):
        done = run([sys.executable, "-c", code], capture_output=True, **arguments)
        expected = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, **arguments)
        assert (done.returncode, done.stdout, done.stderr) == (3, expected.stdout, expected.stderr)
    with pytest.raises(subprocess.CalledProcessError):
        run([sys.executable, "-c", code], check=True, capture_output=True)
    assert run([sys.executable, "-c", code], capture_output=True).stdout == b"\n", "standard input is empty"


def test_waiting_for_a_process_that_ends_fails_immediately() -> None:
    with (
        started([sys.executable, "-c", ""]) as process,
        pytest.raises(AssertionError, match="ended with status 0 before the file"),
    ):
        wait_until(lambda: False, process, expected="the file")


def test_all_tests_start_processes_with_this_module() -> None:
    direct = re.compile(r"subprocess\.(run|Popen|call|check_call|check_output)\(|os\.(system|popen|fork|spawn\w*)\(")
    own = {"processes.py", "test_processes.py"}
    found = {
        f"{path.name}:{number}"
        for path in Path(__file__).parents[1].rglob("*.py")
        if path.name not in own
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if direct.search(text)
    }
    assert found == set()
