# SPDX-License-Identifier: BSD-2-Clause
"""Child processes of the tests, with default signal handling, which end with the test.

Every test that starts a process uses `run` or `started`. A shell starts background jobs with SIGINT
ignored, which a child process inherits; and the children of a process continue to run after it ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

LIMIT_SECONDS = 600
"""Upper bound on a wait, so that every test run ends. No test may depend on it, even on a busy machine."""

_WITH_DEFAULT_SIGNALS = """
import os, signal, sys
for number in signal.valid_signals():
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())
os.execvp(sys.argv[1], sys.argv[1:])
"""


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    input: Any = None,  # noqa: A002  (the name that subprocess.run has for it)
    capture_output: bool = False,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """`subprocess.run` with default signal handling, which also ends the child's process group.

    Standard input is empty by default; `input` or `stdin` specify it.
    """
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with started(command, **options) as process:
        out, err = process.communicate(input)
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


@contextmanager
def started(
    command: Sequence[str | os.PathLike[str]], *, inherits_signals: bool = False, **options: Any
) -> Iterator[subprocess.Popen[Any]]:
    """A child whose whole process group is killed at the end of the block, or after `LIMIT_SECONDS`.

    Args:
        command: the program and its arguments.
        inherits_signals: the child inherits ignored signals; default: all signals have their default handling.
        options: options of `subprocess.Popen`; default for `stdin`: an empty input.
    """
    words = [os.fspath(word) for word in command]
    if os.name == "posix" and not inherits_signals and _signals_differ():
        words = [sys.executable, "-I", "-S", "-c", _WITH_DEFAULT_SIGNALS, *words]
    options.setdefault("stdin", subprocess.DEVNULL)
    with subprocess.Popen(words, start_new_session=True, **options) as process:
        limit = threading.Timer(LIMIT_SECONDS, _kill_group, [process])
        limit.daemon = True
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            _kill_group(process)


def wait_until(condition: Callable[[], object], process: subprocess.Popen[Any] | None = None, *, expected: str) -> None:
    """Wait for a condition while the process that must meet it runs.

    Raises:
        AssertionError: the process ended first, or `LIMIT_SECONDS` passed.
    """
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if process is not None and process.poll() is not None:
            # The condition may have been met just before the process ended.
            assert condition(), f"the process ended with status {process.returncode} before {expected}"
        assert time.monotonic() < end, f"no {expected} in {LIMIT_SECONDS} s"
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether the process with a number runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A process that has ended, but whose parent has not waited for it, counts as ended.
    state = run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True)
    return not state.stdout.startswith("Z") and state.returncode == 0


def _signals_differ() -> bool:
    """Whether a child would inherit an ignored or a blocked signal."""
    ignored = (signal.getsignal(number) for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP))
    return signal.SIG_IGN in ignored or bool(signal.pthread_sigmask(signal.SIG_BLOCK, ()))


def _kill_group(process: subprocess.Popen[Any]) -> None:
    if os.name != "posix":
        process.kill()
        return
    # The group exists while one of its members does, also after the child itself has ended.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
