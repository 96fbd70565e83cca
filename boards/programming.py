# SPDX-License-Identifier: BSD-2-Clause
"""Loads a bitstream into a board, with the command of its platform in amaranth-boards."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from amaranth.build.run import BuildProducts

from utf8fpga.hdl.toolchain import ToolError

__all__ = ["program_board", "programming_command"]


class _Bitstream(BuildProducts):
    """The products of a build, of which a platform requests the bitstream only."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @contextmanager
    def extract(self, *names: str) -> Iterator[Any]:
        """The name of the file in place of a copy."""
        yield str(self._file) if len(names) == 1 else [str(self._file)] * len(names)

    def get(self, filename: str, mode: str = "b") -> bytes | str:
        """The contents of the bitstream."""
        del filename
        return self._file.read_bytes() if mode == "b" else self._file.read_text(encoding="utf-8")


_patching = threading.Lock()


def _commands(platform: Any, bitstream: Path) -> list[list[str]]:
    """The commands that the platform runs to program its board; it has no other way to tell."""
    recorded: list[list[str]] = []

    def record(command: Sequence[str], *_arguments: Any, **_options: Any) -> None:
        recorded.append([str(word) for word in command])

    method = getattr(platform, "toolchain_program", None)
    module = sys.modules.get(getattr(method, "__module__", ""))
    if method is None or not hasattr(module, "subprocess"):
        return []
    with _patching:
        real = module.subprocess
        module.subprocess = SimpleNamespace(check_call=record, run=record)
        try:
            method(_Bitstream(bitstream), "top")
        finally:
            module.subprocess = real
    return recorded


def programming_command(platform: Any, bitstream: Path) -> str:
    """The command line that programs a board; empty where the platform has none.

    Args:
        platform: the platform of the board.
        bitstream: the file of the bitstream.
    """
    return " && ".join(shlex.join(command) for command in _commands(platform, bitstream))


def program_board(platform: Any, bitstream: Path) -> None:
    """Program a board.

    Args:
        platform: the platform of the board.
        bitstream: the file of the bitstream.

    Raises:
        ToolError: the platform has no command, or the program is not installed or fails.
    """
    commands = _commands(platform, bitstream)
    if not commands:
        raise ToolError(f"the platform {type(platform).__name__} has no command that programs the board")
    for command in commands:
        line = shlex.join(command)
        if shutil.which(command[0]) is None:
            raise ToolError(f"{command[0]} is not installed: install it, then run {line}")
        status = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
        if status:
            raise ToolError(f"{line} failed with status {status}: check that the board is connected")
