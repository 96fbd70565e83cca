# SPDX-License-Identifier: BSD-2-Clause
"""The FuseSoC generator: the bench of each core passes in a design that generates it."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import pytest
from support.icarus import requires_icarus
from support.processes import run

pytest.importorskip("fusesoc", reason="fusesoc is not installed")

CHECKOUT = Path(__file__).parents[2]

DESIGN = """CAPI=2:
name: utf8fpga:tests:{core}

filesets:
  generator: {{depend: ["utf8fpga:cores:utf8fpga"]}}

generate:
  bench:
    generator: utf8fpga
    parameters: {{core: {core}, name: core, testbench: true, {parameters}}}

targets:
  default: {{filesets: [generator]}}
  sim:
    flow: sim
    flow_options: {{tool: icarus, iverilog_options: [-g2005]}}
    filesets: [generator]
    generate: [bench]
    toplevel: core_bench
"""


@requires_icarus
@pytest.mark.parametrize(
    ("core", "parameters", "packets"),
    [
        ("remover", "lanes: 2, user: 1, reset_low: true", 40),
        pytest.param("transcoder", "to: utf-16-le, lanes: 2", 151, marks=pytest.mark.slow),
        pytest.param("encoder", "to: utf-8", 12, marks=pytest.mark.slow),
        pytest.param("transcoder", "to: utf-8, lanes: 2, narrow: true", 151, marks=pytest.mark.slow),
        pytest.param("validator", "lanes: 2, report: offset", 149, marks=pytest.mark.slow),
    ],
)
def test_a_generated_bench_passes(core: str, parameters: str, packets: int, tmp_path: Path) -> None:
    (tmp_path / "design.core").write_text(DESIGN.format(core=core, parameters=parameters), encoding="utf-8")
    assert f"PASS: {packets} packets, " in simulate(f"utf8fpga:tests:{core}", tmp_path, CHECKOUT / "fusesoc")


@requires_icarus
@pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="this is no clone of the repository")
def test_an_index_with_a_provider_needs_one_more_line(tmp_path: Path) -> None:
    core = (CHECKOUT / "fusesoc" / "utf8fpga.core").read_text(encoding="utf-8")
    provider = f"\nprovider: {{name: git, repo: {CHECKOUT.as_uri()}}}\n"
    indexed = core.replace("command: generator.py", "command: fusesoc/generator.py") + provider
    (tmp_path / "utf8fpga.core").write_text(indexed, encoding="utf-8")
    (tmp_path / "fusesoc.conf").write_text(f"[main]\ncache_root = {tmp_path / 'cache'}\n", encoding="utf-8")
    assert "PASS: 149 packets, 455 words" in simulate("utf8fpga:cores:utf8fpga", tmp_path)


def simulate(core: str, folder: Path, *libraries: Path) -> str:
    """The output of the core's target `sim`, for which FuseSoC finds cores in the folder and the libraries."""
    path = os.pathsep.join([str(Path(sys.executable).parent), sysconfig.get_path("scripts"), os.environ["PATH"]])
    # XDG_CACHE_HOME stays: it has the compiled tools that write the Verilog.
    environment = os.environ | {"PATH": path, "XDG_CONFIG_HOME": str(folder)}
    roots = [word for root in (*libraries, folder) for word in ("--cores-root", str(root))]
    command = [sys.executable, "-m", "fusesoc.main", *roots, "run", "--target", "sim", core]
    done = run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout + done.stderr)
