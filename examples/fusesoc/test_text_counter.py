# SPDX-License-Identifier: BSD-2-Clause
"""The core file for FuseSoC: its files and targets, and that its bench passes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

HERE = Path(__file__).parent
CORE = yaml.safe_load((HERE / "text_counter.core").read_text(encoding="utf-8").removeprefix("CAPI=2:\n"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the example with the generated decoder."""
    shutil.copytree(HERE, tmp_path, dirs_exist_ok=True)
    words = ["generate", "--lanes", "1", "--name", "text_decoder", "-o", tmp_path / "text_decoder.v"]
    subprocess.run([sys.executable, "-m", "utf8fpga", *words], check=True)
    return tmp_path


def test_the_files_of_the_core_exist(folder: Path) -> None:
    assert CORE["name"].startswith("utf8fpga:examples:text_counter:")
    for fileset in CORE["filesets"].values():
        assert all((folder / name).is_file() for name in fileset["files"])
    for target in CORE["targets"].values():
        assert set(target["filesets"]) <= set(CORE["filesets"])


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
def test_the_bench_passes(folder: Path) -> None:
    target = CORE["targets"]["sim"]
    files = [name for fileset in target["filesets"] for name in CORE["filesets"][fileset]["files"]]
    options = [*target["flow_options"]["iverilog_options"], "-s", target["toplevel"]]
    subprocess.run(["iverilog", *options, "-o", "bench.vvp", *files], cwd=folder, check=True)
    done = subprocess.run(["vvp", "-n", "bench.vvp"], cwd=folder, capture_output=True, text=True, check=True)
    assert "PASS: 4 characters, 1 error" in done.stdout
