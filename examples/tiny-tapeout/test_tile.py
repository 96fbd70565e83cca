# SPDX-License-Identifier: BSD-2-Clause
"""The project for Tiny Tapeout: complete, with a test that passes and that sees faults."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cocotb", reason="requires the extra 'cocotb'")
pytestmark = pytest.mark.skipif(not shutil.which("iverilog"), reason="Icarus Verilog is not installed")

HERE = Path(__file__).parent

FAULTS = {
    "code_point[20:16]": "code_point[19:16]",
    ".s_axis_tkeep(~empty)": ".s_axis_tkeep(1'b1)",
}
"""Changes of `project.v`, each of which its test must notice."""


@pytest.fixture
def tile(tmp_path: Path) -> Path:
    """A new folder with the project."""
    folder = tmp_path / "tile"
    subprocess.run([sys.executable, HERE / "make.py", folder], check=True)
    return folder


def passes(folder: Path) -> bool:
    """Whether the test of the project passes."""
    # The Makefile starts the tools of cocotb by their names.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["make", "-C", folder / "test"], env=os.environ | {"PATH": path}, capture_output=True)
    return done.returncode == 0


def test_its_test_passes(tile: Path) -> None:
    assert passes(tile)


@pytest.mark.parametrize("before", FAULTS)
def test_its_test_notices_a_fault(tile: Path, before: str) -> None:
    project = tile / "src" / "project.v"
    text = project.read_text(encoding="utf-8")
    assert before in text
    project.write_text(text.replace(before, FAULTS[before]), encoding="utf-8")
    assert not passes(tile)
