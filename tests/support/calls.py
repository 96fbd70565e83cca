# SPDX-License-Identifier: BSD-2-Clause
"""The functions that workers call in the tests, in a module of their own, which each worker imports."""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path

from support.processes import LIMIT_SECONDS
from utf8fpga.hdl.toolchain import ToolError, run_tool


def where(_call: int) -> tuple[int, bool]:
    """The number of the process, and whether this is its main thread."""
    return os.getpid(), threading.current_thread() is threading.main_thread()


def wait_for(path: Path) -> str:
    end = time.monotonic() + LIMIT_SECONDS
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    return path.name


def meet(mine: Path, other: Path) -> str:
    """Wait for the file of another call, which exists only if both calls run at the same time."""
    mine.touch()
    return wait_for(other)


def fail(how: str) -> None:
    if how == "plain":
        raise ToolError("yosys is not at home")
    os._exit(3)


def say(message: str) -> None:
    logging.getLogger("utf8fpga.test").info("%s", message)


def use_tool(folder: Path) -> str:
    return run_tool("yosys", [], directory=folder)


def call_or_use_tool(folder: Path | None) -> str:
    return "" if folder is None else use_tool(folder)
