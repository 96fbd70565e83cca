# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of the generated Verilog in Icarus Verilog, which is independent of the tools that wrote it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.processes import run

requires_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog (iverilog) is not installed"
)


def run_icarus(
    directory: Path, files: Iterable[str], *options: str, top: str = "bench"
) -> subprocess.CompletedProcess[str]:
    """The exit status of a test bench in Icarus Verilog, and what it prints.

    Args:
        directory: the folder of the files.
        files: their names.
        options: further options of the compiler, which must not say anything of ``dut.v``.
        top: the module of the test bench.
    """
    command = ["iverilog", "-g2005", *options, "-s", top, "-o", "bench.vvp", *files]
    made = run(command, cwd=directory, capture_output=True, text=True, check=True)
    assert "dut.v" not in made.stderr, made.stderr
    return run(["vvp", "-N", "bench.vvp"], cwd=directory, capture_output=True, text=True)
