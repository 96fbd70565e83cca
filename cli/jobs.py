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
import shutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import Any

from amaranth.hdl import UnusedElaboratable

from utf8fpga.hdl.toolchain import ToolError, stop_tools

CONNECT_SECONDS = 5.0
"""Upper bound on the time to connect to the scheduler of a cluster."""


@contextmanager
def job_executor(jobs: int | None = None, dask: str | None = None) -> Iterator[Executor]:
    """Where calls run until the end of the block, which ends those that are not finished.

    As `multiprocessing` requires, a script guards its call with ``if __name__ == "__main__"``.

    Args:
        jobs: the number of processes on this machine, which start when they are needed; default: one per processor.
        dask: the address of the scheduler of a Dask cluster that runs the calls instead. A call that has started there
            is not ended.

    Raises:
        ToolError: Dask is not installed, or there is no cluster.
    """
    if dask is not None:
        with _client(dask) as client:
            yield client.get_executor(pure=False)
        return
    # The first start of a worker would start the tracker, too, which unblocks Ctrl-C in this thread.
    resource_tracker.ensure_running()
    others = set(multiprocessing.active_children())
    with tempfile.TemporaryDirectory(prefix="utf8fpga-", ignore_cleanup_errors=True) as scratch:
        context = multiprocessing.get_context("spawn")
        level = logging.getLogger("utf8fpga").getEffectiveLevel()
        executor = _Processes(jobs or os.cpu_count() or 1, context, _begin_worker, (scratch, level))
        try:
            yield executor
        finally:
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()
                # The process has not been waited for, so no other process has its number.
                if hasattr(os, "killpg") and worker.pid is not None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(worker.pid, signal.SIGKILL)
            executor.shutdown(cancel_futures=True)


class _Processes(ProcessPoolExecutor):
    """Worker processes that Ctrl-C does not reach, not even while they start."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if not hasattr(signal, "pthread_sigmask"):
            return super().submit(fn, *args, **kwargs)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


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


# The functions below run in a worker.


def _begin_worker(scratch: str, level: int) -> None:
    """Leave the end of this process to the one that started it; temporary files are in the folder `scratch`."""
    # A message that a tool compiles itself at its first start.
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("utf8fpga: %(message)s"))
    handler.addFilter(lambda record: getattr(record, "first_start", "") != "end")
    logger = logging.getLogger("utf8fpga")
    logger.addHandler(handler)
    logger.setLevel(level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    tempfile.tempdir = scratch
    # Amaranth warns of components that are not elaborated, but of some decoders only the attributes are used.
    warnings.simplefilter("ignore", UnusedElaboratable)
    threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True).start()


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
