# SPDX-License-Identifier: BSD-2-Clause
"""The tests test the checkout, not a copy of it that is installed elsewhere, in which no fault of it is seen."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from support.processes import run

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.smoke
def test_a_run_that_imports_another_copy_of_the_package_stops(tmp_path: Path) -> None:
    copy = tmp_path / "utf8fpga"
    shutil.copytree(CHECKOUT / "package", copy)
    for folder in ("model", "hdl", "sim", "formal", "bench", "boards", "cli"):
        shutil.copytree(CHECKOUT / folder, copy / folder)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", "tests/model/test_table.py"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"utf8fpga is imported from {copy}, not from {CHECKOUT}: pip install -e '.[test]'" in done.stderr
