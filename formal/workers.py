# SPDX-License-Identifier: BSD-2-Clause
"""Parallel calls in worker processes, which end with the process that started them.

Amaranth does not support threads, and much of the computation is in Python. A worker is a new process that imports the
functions that it calls; therefore functions belong to a module, and arguments and results can be pickled. A worker and
the tools that it started are one process group: they end together, when the results are no longer needed, or when the
process that started the worker ends for any reason.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import shutil
import signal
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from amaranth.hdl import UnusedElaboratable

from utf8fpga.hdl.toolchain import stop_tools

__all__ = ["run_each", "shared_folder"]

_context = multiprocessing.get_context("spawn")

_LEFT_SECONDS = 5
"""Time for which a worker whose connection is closed waits until it is ended."""

_LOGGER = "utf8fpga"
"""The logger whose messages a worker forwards."""


def run_each(
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    *,
    jobs: int = 1,
    group: Callable[[tuple[Any, ...]], Hashable] = lambda _: None,
) -> Generator[tuple[int, Future[Any]], None, None]:
    """Call a function with each of some arguments, and yield each outcome as soon as it is known.

    The workers end when the iterator is closed or exhausted. As `multiprocessing` requires, a script guards its
    call with ``if __name__ == "__main__"``.

    Args:
        function: a function of a module, or another callable that `pickle` accepts.
        calls: the arguments of each call.
        jobs: upper bound on the number of workers.
        group: of the arguments of a call; a worker prefers calls of the group of its last one, and then of a group
            that no other worker has, so that it can store what the calls of a group share.

    Yields:
        the number of the call, and its result or exception.
    """
    with tempfile.TemporaryDirectory(prefix="utf8fpga-", ignore_cleanup_errors=True) as scratch:
        pool = _Pool(function, calls, [group(call) for call in calls], jobs, scratch)
        try:
            pool.begin()
            while pool.busy:
                found = pool.collect()
                pool.begin()
                yield from found
        finally:
            pool.end()


class _Pool:
    """The workers of `run_each`, and the calls that have not started.

    Attributes:
        busy: by its connection each worker that has a call, and the number of the call.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        calls: Sequence[tuple[Any, ...]],
        groups: Sequence[Hashable],
        jobs: int,
        scratch: str,
    ) -> None:
        self._function, self._jobs, self._scratch = function, jobs, scratch
        self._calls, self._groups = calls, groups
        self._todo = list(range(len(calls)))
        self._workers: list[_Worker] = []
        self.busy: dict[Any, tuple[_Worker, int]] = {}
        self._said: set[str] = set()

    def begin(self) -> None:
        """Start calls until all have started or the upper bound on workers is reached."""
        while self._todo and len(self.busy) < self._jobs:
            if len(self._workers) == len(self.busy):
                with _no_interrupt():
                    self._workers.append(_Worker(self._scratch))
            worker = next(worker for worker in self._workers if worker.connection not in self.busy)
            number = self._next_for(worker)
            self._todo.remove(number)
            worker.group = self._groups[number]
            self.busy[worker.connection] = worker, number
            worker.give(pickle.dumps((self._function, self._calls[number])))

    def _next_for(self, worker: _Worker) -> int:
        """The first call of the group of the worker's last one, or of a group without a worker, or of any."""
        others = {self._groups[number] for _, number in self.busy.values()}
        wanted = (lambda group: group == worker.group, lambda group: group not in others, lambda _: True)
        return next(number for suits in wanted for number in self._todo if suits(self._groups[number]))

    def collect(self) -> list[tuple[int, Future[Any]]]:
        """Wait until a worker sends a message, and return the outcomes."""
        found = []
        for connection in wait(list(self.busy)):
            worker, number = self.busy[connection]
            outcome = worker.receive(self._said)
            if outcome is None:
                continue
            found.append((number, outcome))
            del self.busy[connection]
            if worker.failed:
                self._workers.remove(worker)
                worker.close()
        return found

    def end(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.close()


class _Worker:
    """A worker process, as an object of the process that started it.

    Args:
        scratch: the folder of its temporary files.

    Attributes:
        connection: the connection to the process.
        failed: the process has ended unexpectedly.
        group: the group of its last call; None before the first.
    """

    def __init__(self, scratch: str) -> None:
        self.connection, theirs = _context.Pipe()
        level = logging.getLogger(_LOGGER).getEffectiveLevel()
        self._process = _context.Process(target=_work, args=(theirs, scratch, level), daemon=True)
        self._process.start()
        theirs.close()
        self.failed = False
        self.group: Hashable = None

    def give(self, call: bytes) -> None:
        """Send a call to the process."""
        # If it has ended unexpectedly, `receive` reports that.
        with suppress(OSError):
            self.connection.send_bytes(call)

    def receive(self, said: set[str]) -> Future[Any] | None:
        """An outcome, or None for a log message, which is forwarded unless it is one of `said`."""
        outcome: Future[Any] = Future()
        try:
            what, value = self.connection.recv()
        except (EOFError, OSError):
            self.failed = True
            self.kill()
            self._process.join()
            outcome.set_exception(RuntimeError(f"a worker ended unexpectedly, with status {self._process.exitcode}"))
            return outcome
        if what == "log":
            if value.getMessage() not in said:
                said.add(value.getMessage())
                logging.getLogger(value.name).handle(value)
            return None
        if what == "error":
            error, where = value
            error.__cause__ = RuntimeError(f"in a worker:\n{where}")
            outcome.set_exception(error)
        else:
            outcome.set_result(value)
        return outcome

    def kill(self) -> None:
        """End the process, and the tools that it started."""
        self._process.kill()
        # The process has not been waited for, so no other process has its number.
        if hasattr(os, "killpg") and self._process.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Wait until the process has ended, and release its resources."""
        self._process.join()
        self._process.close()
        self.connection.close()


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Defer Ctrl-C; processes that are started meanwhile have it blocked."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # The start of a worker would start the tracker, too, which unblocks the signal.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# The functions below run in a worker.


def shared_folder() -> Path | None:
    """The folder of temporary files that the workers of one `run_each` share; None outside of a worker."""
    return Path(tempfile.gettempdir()) if multiprocessing.parent_process() is not None else None


def _work(connection: Connection[Any, Any], scratch: str, level: int) -> None:
    # Ctrl-C is handled by the process that started the workers, which ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    tempfile.tempdir = scratch
    watch = threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True)
    watch.start()
    # Amaranth warns of components that are not elaborated, but of some decoders only the attributes are used.
    warnings.simplefilter("ignore", UnusedElaboratable)
    logger = logging.getLogger(_LOGGER)
    logger.setLevel(level)
    logger.addHandler(QueueHandler(_Forward(connection)))  # type: ignore[arg-type]  # only `put_nowait` is called
    while True:
        try:
            connection.send_bytes(_answer(connection.recv_bytes()))
        except (EOFError, OSError):
            # The parent has ended, after which `watch` ends this process, or it has closed the connection.
            watch.join(_LEFT_SECONDS)
            return


def _answer(call: bytes) -> bytes:
    """The outcome of a call."""
    try:
        function, arguments = pickle.loads(call)
        return pickle.dumps(("result", function(*arguments)))
    except Exception as error:
        where = traceback.format_exc()
        try:
            found = pickle.dumps(("error", (error, where)))
            pickle.loads(found)
        except Exception:
            return pickle.dumps(("error", (RuntimeError(f"{type(error).__name__}: {error}"), where)))
        return found


class _Forward:
    """Forwards the log records of a worker."""

    def __init__(self, connection: Connection[Any, Any]) -> None:
        self._connection = connection

    def put_nowait(self, record: logging.LogRecord) -> None:
        """Forward one record."""
        self._connection.send(("log", record))


def _end_with_parent(scratch: str) -> None:
    """Wait until the parent has ended, and end this process, its tools and their files."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    stop_tools()
    shutil.rmtree(scratch, ignore_errors=True)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
