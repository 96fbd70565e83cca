# SPDX-License-Identifier: BSD-2-Clause
"""The project for Tiny Tapeout: complete, with a test that passes and that sees faults."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

FAULTS = {
    "done <= send[1] & (done | byte_ready)": "done <= send[1]",
    "code_point[20:16]": "code_point[19:16]",
    "{2'b00, item_last, item_keep[0], cause_and_error}": "{2'b00, item_last, item_keep[0], 3'd0, cause_and_error[0]}",
    ".s_axis_tkeep(~empty)": ".s_axis_tkeep(1'b1)",
}
"""Changes of `project.v`, each of which its test must notice."""


@pytest.fixture
def tile(tmp_path: Path) -> Path:
    """A new folder with the project."""
    folder = tmp_path / "tile"
    subprocess.run([sys.executable, HERE / "make.py", folder], check=True)
    return folder


def test_a_folder_that_exists_is_not_overwritten(tile: Path) -> None:
    done = subprocess.run([sys.executable, HERE / "make.py", tile], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"{tile} exists already: name a new folder\n")


def test_the_files_and_pins_of_the_project_agree(tile: Path) -> None:
    info = (tile / "info.yaml").read_text(encoding="utf-8")
    sources = re.findall(r'^    - "(.+)"$', info, re.MULTILINE)
    assert sorted(sources) == sorted(path.name for path in (tile / "src").glob("*.v"))
    for name in re.findall(r"`(\w+)`", (tile / "docs" / "info.md").read_text(encoding="utf-8")):
        assert name in info or name in ("ui_in", "uo_out")


def passes(folder: Path) -> bool:
    """Whether the test of the project passes."""
    for program in ("make", "iverilog"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if not importlib.util.find_spec("cocotb"):
        pytest.skip("cocotb is not installed: pip install 'utf8fpga[cocotb]'")
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
