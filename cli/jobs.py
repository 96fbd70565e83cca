# SPDX-License-Identifier: BSD-2-Clause
"""Concurrent calls, in worker processes of this machine or on a Dask cluster.

Amaranth does not support threads, and much of the computation is in Python. A worker is a new process that imports the
functions that it calls; therefore functions belong to a module, and arguments and results can be pickled.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from utf8fpga.cli.process import ignore_unused_circuits, show_log
from utf8fpga.hdl.toolchain import ToolError, stop_tools

CONNECT_SECONDS = 5.0
"""Upper bound on the time to connect to the scheduler of a cluster."""


@contextmanager
def job_executor(jobs: int | None = None, dask: str | None = None) -> Iterator[Executor]:
    """Where calls run until the end of the block, which ends those that are not finished.

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
    others = set(multiprocessing.active_children())
    with tempfile.TemporaryDirectory(prefix="utf8fpga-", ignore_cleanup_errors=True) as scratch:
        executor = _Processes(jobs or os.cpu_count() or 1, multiprocessing.get_context("spawn"), _begin, (scratch,))
        try:
            yield executor
        finally:
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            executor.shutdown(cancel_futures=True)


class _Processes(ProcessPoolExecutor):
    """Worker processes that Ctrl-C does not reach: they inherit that it is ignored."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            signal.signal(signal.SIGINT, before)


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


def _begin(scratch: str) -> None:
    """Prepare a worker, whose temporary files are in the folder `scratch`; it ends with the parent or at SIGTERM."""
    show_log()
    ignore_unused_circuits()
    tempfile.tempdir = scratch
    parent = multiprocessing.parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def end(*_signal: object) -> None:
        stop_tools()
        os._exit(1)

    def end_with_parent() -> None:
        wait([sentinel])
        shutil.rmtree(scratch, ignore_errors=True)
        end()

    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=end_with_parent, daemon=True).start()
