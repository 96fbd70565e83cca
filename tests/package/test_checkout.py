# SPDX-License-Identifier: BSD-2-Clause
"""The tests test the checkout, not a copy of it that is installed elsewhere, and a fault in it is seen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package whose folder `model` is its own; a test run imports it instead of the checkout."""
    copy = tmp_path / "utf8fpga"
    shutil.copytree(CHECKOUT / "package", copy)
    shutil.copytree(CHECKOUT / "model", copy / "model")
    for folder in ("hdl", "sim", "formal", "bench", "boards", "cli"):
        (copy / folder).symlink_to(CHECKOUT / folder)
    return copy


def run_with(copy: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", "tests/model/test_table.py"],
        cwd=CHECKOUT,
        env=os.environ | {"PYTHONPATH": str(copy.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.smoke
def test_a_run_that_imports_another_copy_of_the_package_stops(copy: Path) -> None:
    run = run_with(copy)
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"utf8fpga is imported from {copy}, not from {CHECKOUT}: pip install -e '.[test]'" in run.stderr


@pytest.mark.smoke
def test_a_module_that_ends_python_fails_the_run(copy: Path) -> None:
    module = copy / "model" / "decoder.py"
    start = "from __future__ import annotations\n"
    module.write_text(module.read_text(encoding="utf-8").replace(start, f"{start}raise SystemExit\n", 1), "utf-8")
    run = run_with(copy)
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "a module of the checkout ends Python when it is imported: SystemExit()" in run.stdout + run.stderr
