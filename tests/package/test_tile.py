# SPDX-License-Identifier: BSD-2-Clause
"""The project for Tiny Tapeout: complete, with the figures on its page, and a test that sees faults."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.processes import run

CHECKOUT = Path(__file__).parents[2]
EXAMPLE = CHECKOUT / "examples" / "tiny-tapeout"

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
    assert run([sys.executable, EXAMPLE / "make.py", folder], cwd=tmp_path).returncode == 0
    return folder


def test_a_folder_that_exists_is_not_overwritten(tile: Path) -> None:
    done = run([sys.executable, EXAMPLE / "make.py", tile], capture_output=True)
    assert done.returncode == 1
    assert done.stderr.decode() == f"{tile} exists already: name a new folder\n"


def test_the_files_and_pins_of_the_project_agree(tile: Path) -> None:
    info = (tile / "info.yaml").read_text(encoding="utf-8")
    sources = re.findall(r'^    - "(.+)"$', info, re.MULTILINE)
    assert sorted(sources) == sorted(path.name for path in (tile / "src").glob("*.v"))
    for name in re.findall(r"`(\w+)`", (tile / "docs" / "info.md").read_text(encoding="utf-8")):
        assert name in info or name in ("ui_in", "uo_out")


def _runs(folder: Path) -> Callable[[], int]:
    for program in ("make", "iverilog"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if not importlib.util.find_spec("cocotb"):
        pytest.skip("cocotb is not installed")
    return lambda: run(["make", "-C", folder / "test"], capture_output=True).returncode


@pytest.mark.slow
@pytest.mark.parametrize("before", FAULTS)
def test_its_test_notices_a_fault(tile: Path, before: str) -> None:
    runs, project = _runs(tile), tile / "src" / "project.v"
    text = project.read_text(encoding="utf-8")
    assert before in text
    project.write_text(text.replace(before, FAULTS[before]), encoding="utf-8")
    assert runs() != 0


@pytest.mark.slow
def test_the_figures_of_the_page_are_those_of_the_gates(tile: Path) -> None:
    done = run([sys.executable, EXAMPLE / "gates.py", tile], capture_output=True)
    if done.stderr.startswith(b"it needs"):
        pytest.skip(done.stderr.decode().strip())
    printed = done.stdout.decode().splitlines()[-2:]
    page = (CHECKOUT / "docs" / "tiny-tapeout.md").read_text(encoding="utf-8")
    assert "\n".join(["```text", *printed, "```"]) in page
