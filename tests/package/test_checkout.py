# SPDX-License-Identifier: BSD-2-Clause
"""The tests test the checkout, not a copy of it that is installed elsewhere."""

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
    shutil.copytree(CHECKOUT / "model", copy / "model")
    for folder in ("hdl", "sim", "formal", "bench", "boards", "cli"):
        (copy / folder).symlink_to(CHECKOUT / folder)
    done = run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", "tests/model/test_table.py"],
        cwd=CHECKOUT,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"utf8fpga is imported from {copy}, not from {CHECKOUT}: pip install -e '.[test]'" in done.stderr
