# SPDX-License-Identifier: BSD-2-Clause
"""Concurrent calls, in worker processes of this machine or on a Dask cluster.

Amaranth does not support threads, and much of the computation is in Python. A worker is a new process that imports the
functions that it calls; therefore functions belong to a module, and arguments and results can be pickled. A worker and
the tools that it started are one process group: they end together, when the results are no longer needed, or when the
process that started the worker ends for any reason.
"""

from __future__ import annotations

import importlib
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from functools import partial
from logging.handlers import QueueHandler
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from amaranth.hdl import UnusedElaboratable

from utf8fpga.hdl.toolchain import ToolError, stop_tools

CONNECT_SECONDS = 5.0
"""Upper bound on the time to connect to the scheduler of a cluster."""

_context = multiprocessing.get_context("spawn")

_LOGGER = "utf8fpga"
"""The logger whose messages a worker forwards."""


class JobExecutor(Executor):
    """Runs functions of modules elsewhere.

    Attributes:
        jobs: the number of calls that run at the same time.
    """

    jobs: int


@contextmanager
def job_executor(
    jobs: int | None = None, dask: str | None = None, *, only_tools: bool = False
) -> Iterator[JobExecutor]:
    """Where calls run until the end of the block, which ends those that are not finished.

    The error of a worker that ended unexpectedly is that of its call alone. As `multiprocessing` requires, a script
    guards its call with ``if __name__ == "__main__"``.

    Args:
        jobs: the number of processes on this machine, which start when they are needed; default: one per processor.
        dask: the address of the scheduler of a Dask cluster that runs the calls instead. A call that has started there
            is not ended.
        only_tools: the functions may run in several threads of a worker of the cluster, since they only start tools.

    Raises:
        ToolError: Dask is not installed, or there is no cluster.
    """
    if dask is not None:
        with _client(dask) as client:
            yield _Cluster(client, only_tools)
        return
    with (
        tempfile.TemporaryDirectory(prefix="utf8fpga-", ignore_cleanup_errors=True) as scratch,
        _Workers(jobs or os.cpu_count() or 1, scratch) as workers,
    ):
        yield workers


def run_each(
    executor: Executor, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, Future[Any]]]:
    """Call a function with each of some arguments; yields the number of a call and its outcome when that is known."""
    futures = {executor.submit(function, *call): number for number, call in enumerate(calls)}
    for future in as_completed(futures):
        yield futures[future], future


class _Workers(JobExecutor):
    """Worker processes, for each of which a thread waits; their temporary files are in the folder `scratch`."""

    def __init__(self, jobs: int, scratch: str) -> None:
        self.jobs, self._scratch = jobs, scratch
        # The first start of a worker would start the tracker, too, which unblocks Ctrl-C in that thread.
        resource_tracker.ensure_running()
        self._threads = ThreadPoolExecutor(jobs, initializer=_block_interrupt)
        self._lock = threading.Lock()
        """Held while workers start and end."""
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._has_ended = False
        self._logged: set[str] = set()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._threads.submit(self._run, partial(fn, *args, **kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all workers, and so the calls that are not finished."""
        with self._lock:
            self._has_ended = True
            for worker in self._workers:
                worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _run(self, call: Callable[[], Any]) -> Any:
        message = pickle.dumps(call)
        worker = self._ready_worker()
        try:
            worker.connection.send_bytes(message)
            while isinstance(answer := worker.connection.recv(), logging.LogRecord):
                if (text := answer.getMessage()) not in self._logged:
                    self._logged.add(text)
                    logging.getLogger(answer.name).handle(answer)
        except (EOFError, OSError):
            with self._lock:
                self._workers.remove(worker)
                worker.kill()
            raise BrokenExecutor(f"a worker ended unexpectedly, with status {worker.close()}") from None
        self._idle.append(worker)
        result, failure = answer
        if failure:
            error, where = failure
            raise error from RuntimeError(f"in a worker:\n{where}")
        return result

    def _ready_worker(self) -> _Worker:
        with self._lock:
            if self._has_ended:
                raise BrokenExecutor("the executor has ended")
            if self._idle:
                return self._idle.pop()
            worker = _Worker(self._scratch)
            self._workers.add(worker)
            return worker


def _block_interrupt() -> None:
    """Leave Ctrl-C to the main thread; the processes that this thread starts have it blocked."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


class _Worker:
    """A worker process, as an object of the process that started it; `connection` is the connection to it."""

    def __init__(self, scratch: str) -> None:
        self.connection, theirs = _context.Pipe()
        level = logging.getLogger(_LOGGER).getEffectiveLevel()
        self._process = _context.Process(target=_work, args=(theirs, scratch, level), daemon=True)
        self._process.start()
        theirs.close()

    def kill(self) -> None:
        """End the process, and the tools that it started."""
        self._process.kill()
        # The process has not been waited for, so no other process has its number.
        if hasattr(os, "killpg") and self._process.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> int | None:
        """Wait until the process has ended, and return its exit status."""
        self._process.join()
        self.connection.close()
        return self._process.exitcode


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """The client of a Dask cluster."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise ToolError("distributed is not installed: pip install 'utf8fpga[dask]'") from None
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ToolError(f"no Dask cluster at {address!r}: {reason or type(error).__name__}") from None
    with client:
        yield client


class _Cluster(JobExecutor):
    """The workers of a Dask cluster, each of which runs one call at a time unless the calls are `only_tools`."""

    def __init__(self, client: Any, only_tools: bool) -> None:
        threads = client.nthreads().values()
        self.jobs = max(1, sum(threads) if only_tools else len(threads))
        self._executor, self._only_tools = client.get_executor(pure=False), only_tools

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        words = (fn,) if self._only_tools else (_run_on_cluster, fn)
        future: Future[Any] = self._executor.submit(*words, *args, **kwargs)
        return future


# The functions below run in a worker.

_shared: Path | None = None

_turn = threading.Lock()
"""Held by the thread of a worker of a cluster that runs a call."""


def shared_folder() -> Path | None:
    """A folder of temporary files for the calls of a worker and those beside it; None outside of a worker."""
    return _shared


def _run_on_cluster(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function when no other thread of this worker does."""
    global _shared
    with _turn:
        warnings.simplefilter("ignore", UnusedElaboratable)
        _shared = Path(importlib.import_module("distributed").get_worker().local_directory)
        return function(*args, **kwargs)


def _work(connection: Connection[Any, Any], scratch: str, level: int) -> None:
    """Answer the calls of the process that started this one."""
    global _shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # That process ends this one.
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    tempfile.tempdir, _shared = scratch, Path(scratch)
    watch = threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True)
    watch.start()
    # Amaranth warns of components that are not elaborated, but of some decoders only the attributes are used.
    warnings.simplefilter("ignore", UnusedElaboratable)
    logger = logging.getLogger(_LOGGER)
    logger.setLevel(level)
    logger.addHandler(_Forwarding(connection))  # type: ignore[arg-type]  # the queue of `_Forwarding.enqueue`
    with suppress(EOFError, OSError):
        while True:
            connection.send_bytes(_answer(connection.recv_bytes()))
    watch.join()


def _answer(message: bytes) -> bytes:
    """The result of a call, or its error and the place of the error."""
    try:
        return pickle.dumps((pickle.loads(message)(), None))
    except Exception as error:
        where = traceback.format_exc()
        try:
            answer = pickle.dumps((None, (error, where)))
            pickle.loads(answer)
        except Exception:
            return pickle.dumps((None, (RuntimeError(f"{type(error).__name__}: {error}"), where)))
        return answer


class _Forwarding(QueueHandler):
    """Sends log records over a connection."""

    def enqueue(self, record: logging.LogRecord) -> None:
        self.queue.send(record)  # type: ignore[attr-defined]  # a connection


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
