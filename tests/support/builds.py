# SPDX-License-Identifier: BSD-2-Clause
"""Bitstreams for the tests: one for each board by the real tools, shared by all tests, and stand-ins for the tools."""

from __future__ import annotations

import os
import pickle
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from utf8fpga.boards.build import BuildReport, build_board, require_tools
from utf8fpga.boards.catalog import BOARDS
from utf8fpga.hdl.toolchain import ToolError

SUFFIX = {"ice40": "bin", "ecp5": "bit"}


def needs_tools(board: str) -> None:
    """Skip the test if the tools for the board are not installed."""
    try:
        require_tools(BOARDS[board])
    except ToolError as error:
        pytest.skip(str(error))


class Built:
    """A bitstream built by the real tools.

    Attributes:
        report: the report of the build.
        directory: the folder with its files.
        bitstream: the file of the bitstream.
    """

    def __init__(self, board: str, directory: Path) -> None:
        needs_tools(board)
        self.report: BuildReport = build_board(board, directory)
        self.directory = directory
        self.bitstream = directory / f"{board}.{SUFFIX[BOARDS[board].family]}"

    def work_file(self, name: str) -> str:
        """The text of a file that the tools read or wrote."""
        return (self.directory / self.report.board / name).read_text(encoding="utf-8")


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Any]) -> Any:
    """What a function makes, given a folder that does not exist yet: made once for the tests of all processes."""
    run = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent
    with (run / f"{name}.lock").open("ab") as lock:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        made = run / f"{name}.pickle"
        if not made.exists():
            made.write_bytes(pickle.dumps(make(run / f"{name}-files" / "not" / "there" / "yet")))
    return pickle.loads(made.read_bytes())


@pytest.fixture(scope="session")
def shared_build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Built]:
    """The bitstream of a board."""

    def build(board: str) -> Built:
        needs_tools(board)
        built: Built = made_once(tmp_path_factory, board, lambda folder: Built(board, folder))
        return built

    return build


_CELLS = '{"used": 1, "available": 2}'
STAND_INS = {
    "yosys": "true",
    "nextpnr-ice40": f"""
while [ "$1" != --seed ]; do shift; done
echo $2 > top.asc
echo "seed $2" > top.tim
grep -q divided_clock top.pcf 2> /dev/null && net=divided_clock_ || net=clk
echo '{{"fmax": {{"'$net'": {{"achieved": 50.0}}}},
  "utilization": {{"ICESTORM_LC": {_CELLS}}}}}' > top.report.json
""",
    "icepack": "cp top.asc top.bin",
}
"""Shell scripts that replace the tools for iCE40; the bitstream is the seed in decimal."""


def stand_in_tools(folder: Path, scripts: dict[str, str] | None = None) -> dict[str, str]:
    """Write programs that replace the tools.

    Args:
        folder: the folder for the programs.
        scripts: shell scripts by tool; default for each tool: that of `STAND_INS`.

    Returns:
        The environment variables that select these programs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    variables = {}
    for tool, script in (STAND_INS | (scripts or {})).items():
        program = folder / tool
        # With --version it runs in the current directory, which must not be modified.
        asked = f'[ "$1" = --version ] && echo {shlex.quote(tool)} 1.0 && exit'
        program.write_text(f"#!/bin/sh\n{asked}\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        variables[tool.upper().replace("-", "_")] = str(program)
    return variables
