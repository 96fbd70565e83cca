# SPDX-License-Identifier: BSD-2-Clause
"""Makes the tile of gates and runs its test on them: ``python examples/tiny-tapeout/gates.py FOLDER``.

The cells are those of the open library of Debian's package qflow-tech-osu018 (0.18 um). Icarus Verilog runs the test,
and OpenSTA finds the longest path. Prints the cells, their area and the clock, without wires.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from cocotb_tools.runner import get_results, get_runner

from utf8fpga.hdl.toolchain import ToolError, run_tool

LIBRARY = Path("/usr/share/qflow/tech/osu018")
TOP = "tt_um_utf8fpga"

SYNTHESIS = f"""
read_verilog src/project.v src/utf8_decoder.v
synth -flatten -top {TOP}
dfflibmap -liberty gates/cells.lib
abc -liberty gates/cells.lib -D 2000
setundef -zero
opt_clean -purge
tee -o gates/cells.txt stat -liberty gates/cells.lib
write_verilog -noattr gates/gates.v
"""

TIMING = f"""
read_liberty cells.lib
read_verilog gates.v
link_design {TOP}
create_clock -period 100 clk
report_worst_slack
exit
"""


def main(folder: Path) -> int:
    """Synthesise, measure and test the tile in a folder that `make.py` wrote; the exit status."""
    if not LIBRARY.exists() or shutil.which("sta") is None:
        return _fail("it needs Debian's qflow-tech-osu018 and opensta: apt-get install qflow-tech-osu018 opensta")
    gates = folder / "gates"
    gates.mkdir(exist_ok=True)
    shutil.copy(LIBRARY / "osu018_stdcells.lib", gates / "cells.lib")
    (gates / "synthesis.ys").write_text(SYNTHESIS)
    (gates / "timing.tcl").write_text(TIMING)
    try:
        run_tool("yosys", ["-q", "gates/synthesis.ys"], directory=folder)
    except ToolError as error:
        return _fail(str(error))
    timing = subprocess.run(["sta", "-no_splash", "timing.tcl"], cwd=gates, capture_output=True, text=True, check=True)
    slack = re.search(r"worst slack (?:max )?(\S+)", timing.stdout)
    counts = (gates / "cells.txt").read_text()
    cells, area = re.search(r"(\d+) +\S+ cells$", counts, re.MULTILINE), re.search(r"Chip area .*: (\S+)", counts)
    if not slack or not cells or not area:
        return _fail(f"no figures in {gates}/cells.txt, or in what sta printed: {timing.stdout.strip()!r}")
    runner = get_runner("icarus")
    sources = [gates / "gates.v", LIBRARY / "osu018_stdcells.v", folder / "test" / "tb.v"]
    runner.build(sources=sources, hdl_toplevel="tb", build_dir=gates / "sim", timescale=("1ns", "1ps"))
    results = runner.test(test_module="test", hdl_toplevel="tb", build_dir=gates / "sim", test_dir=folder / "test")
    tests, failed = get_results(results)
    print(f"{cells[1]} cells, {float(area[1]):,.0f} um2, {1000 / (100 - float(slack[1])):.0f} MHz without wires")
    print(f"the test {'passes' if tests and not failed else 'fails'} on the gates")
    return int(failed > 0 or tests == 0)


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FOLDER")
    sys.exit(main(Path(sys.argv[1]).resolve()))
