# SPDX-License-Identifier: BSD-2-Clause
"""The tests test the checkout, not a copy of it that is installed elsewhere, and a fault in it is seen."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support.processes import run

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package whose folders `model` and `hdl` are its own; a test run imports it, not the checkout."""
    copy = tmp_path / "utf8fpga"
    shutil.copytree(CHECKOUT / "package", copy)
    for folder in ("model", "hdl"):
        shutil.copytree(CHECKOUT / folder, copy / folder)
    for folder in ("sim", "formal", "bench", "boards", "cli"):
        (copy / folder).symlink_to(CHECKOUT / folder)
    return copy


def run_with(copy: Path) -> Any:
    return run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", "tests/model/test_table.py"],
        cwd=CHECKOUT,
        env=os.environ | {"PYTHONPATH": str(copy.parent)},
        capture_output=True,
        text=True,
    )


@pytest.mark.smoke
def test_a_run_that_imports_another_copy_of_the_package_stops(copy: Path) -> None:
    done = run_with(copy)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"utf8fpga is imported from {copy}, not from {CHECKOUT}: pip install -e '.[test]'" in done.stderr
