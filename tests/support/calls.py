# SPDX-License-Identifier: BSD-2-Clause
"""The functions that workers call in the tests, in a module of their own, which each worker imports."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from utf8fpga.hdl.toolchain import ToolError, run_tool


def where(_call: int) -> tuple[int, bool]:
    """The number of the process, and whether this is its main thread."""
    return os.getpid(), threading.current_thread() is threading.main_thread()


def fail(how: str) -> None:
    if how == "plain":
        raise ToolError("yosys is not at home")
    os._exit(3)


def use_tool(folder: Path) -> str:
    return run_tool("yosys", [], directory=folder)


def call_or_use_tool(folder: Path | None) -> str:
    return "" if folder is None else use_tool(folder)
