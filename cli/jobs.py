# SPDX-License-Identifier: BSD-2-Clause
"""Concurrent calls, in worker processes of this machine or on a Dask cluster.

Amaranth does not support threads, and much of the computation is in Python. A worker is a new process that imports the
functions that it calls; therefore functions belong to a module, and arguments and results can be pickled.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from utf8fpga.cli.process import prepare
from utf8fpga.hdl.toolchain import ToolError, stop_tools

CONNECT_SECONDS = 5.0
"""Upper bound on the time to connect to the scheduler of a cluster."""


@contextmanager
def job_executor(dask: str | None = None) -> Iterator[Executor]:
    """Where calls run until the end of the block, which ends those that are not finished.

    Args:
        dask: the address of the scheduler of a Dask cluster that runs them, where a call that has started is not ended;
            default: a process for each processor of this machine.

    Raises:
        ToolError: Dask is not installed, or there is no cluster.
    """
    if dask is not None:
        with _client(dask) as client:
            yield client.get_executor(pure=False)
        return
    with tempfile.TemporaryDirectory(prefix="utf8fpga-", ignore_cleanup_errors=True) as scratch:
        executor = _Processes(None, multiprocessing.get_context("spawn"), _begin, (scratch,))
        try:
            yield executor
        except BrokenExecutor:
            raise ToolError("a worker process has ended, perhaps for lack of memory: try again") from None
        finally:
            for worker in multiprocessing.active_children():
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


def _begin(scratch: str) -> None:
    """Prepare a worker, whose temporary files are in the folder `scratch`; SIGTERM ends it and its tools."""

    def end(*_signal: object) -> None:
        stop_tools()
        os._exit(1)

    prepare()
    tempfile.tempdir = scratch
    signal.signal(signal.SIGTERM, end)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """The client of a Dask cluster."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise ToolError("distributed is not installed: pip install -e '.[dask]'") from None
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ToolError(f"no Dask cluster at {address!r}: {reason or type(error).__name__}") from None
    with client:
        yield client
