# SPDX-License-Identifier: BSD-2-Clause
"""Loads a bitstream into a board, with the command of its platform in amaranth-boards."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from amaranth.build.run import BuildProducts

from utf8fpga.boards.catalog import Board
from utf8fpga.hdl.toolchain import ToolError


class _Files(BuildProducts):
    """The files of a build under their final names."""

    def __init__(self, bitstream: Path) -> None:
        self._bitstream = bitstream

    def _file(self, name: str) -> Path:
        # Logs and other files are in the folder of the board.
        is_bitstream = Path(name).suffix == self._bitstream.suffix
        return self._bitstream if is_bitstream else self._bitstream.parent / self._bitstream.stem / name

    @contextmanager
    def extract(self, *names: str) -> Iterator[Any]:
        """The names of the files in place of copies."""
        found = [str(self._file(name)) for name in names]
        yield found[0] if len(found) == 1 else found

    def get(self, filename: str, mode: str = "b") -> bytes | str:
        """The contents of a file."""
        file = self._file(filename)
        return file.read_bytes() if mode == "b" else file.read_text(encoding="utf-8")


_patching = threading.Lock()


def _commands(platform: Any, bitstream: Path) -> list[list[str]]:
    """The commands that the platform runs to program its board, which are recorded and not run."""
    recorded: list[list[str]] = []
    thread = threading.get_ident()

    def recording(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(command: Any, *arguments: Any, **options: Any) -> Any:
            if threading.get_ident() != thread:
                return real(command, *arguments, **options)
            recorded.append([str(word) for word in command])
            return None

        return call

    with ExitStack() as stack:
        stack.enter_context(_patching)
        for name in ("check_call", "run"):
            stack.enter_context(patch.object(subprocess, name, recording(getattr(subprocess, name))))
        with suppress(NotImplementedError):  # The platform has no method of its own.
            platform.toolchain_program(_Files(bitstream), "top")
    return recorded


def programming_command(platform: Any, bitstream: Path) -> str:
    """The command line that programs a board; empty where the platform has none."""
    return " && ".join(shlex.join(command) for command in _commands(platform, bitstream))


def require_programmer(board: Board) -> None:
    """Check, before a build, whether the program that loads a bitstream into a board is installed.

    Raises:
        ToolError: it is missing, or the platform has no command for it.
    """
    platform = board.create_platform()
    for command in _checked(platform, Path(f"{board.name}.bit")):
        if shutil.which(command[0]) is None:
            raise ToolError(f"{command[0]} is not installed, which loads bitstreams into {board.name}: install it")


def program_board(platform: Any, bitstream: Path) -> None:
    """Program a board."""
    for command in _checked(platform, bitstream):
        if status := subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode:
            line = shlex.join(command)
            raise ToolError(f"{line} failed with status {status}: check that the board is connected")


def _checked(platform: Any, bitstream: Path) -> list[list[str]]:
    if commands := _commands(platform, bitstream):
        return commands
    raise ToolError(f"the platform {type(platform).__name__} has no command that programs the board")
