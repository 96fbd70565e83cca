# SPDX-License-Identifier: BSD-2-Clause
"""The core file for FuseSoC: its bench passes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

HERE = Path(__file__).parent
CORE = yaml.safe_load((HERE / "text_counter.core").read_text(encoding="utf-8").removeprefix("CAPI=2:\n"))


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
def test_the_bench_passes(tmp_path: Path) -> None:
    shutil.copytree(HERE, tmp_path, dirs_exist_ok=True)
    words = ["generate", "--lanes", "1", "--name", "text_decoder", "-o", tmp_path / "text_decoder.v"]
    subprocess.run([sys.executable, "-m", "utf8fpga", *words], check=True)
    target = CORE["targets"]["sim"]
    files = [name for fileset in target["filesets"] for name in CORE["filesets"][fileset]["files"]]
    options = [*target["flow_options"]["iverilog_options"], "-s", target["toplevel"]]
    subprocess.run(["iverilog", *options, "-o", "bench.vvp", *files], cwd=tmp_path, check=True)
    done = subprocess.run(["vvp", "-n", "bench.vvp"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "PASS: 4 characters, 1 error" in done.stdout
