# SPDX-License-Identifier: BSD-2-Clause
"""Block RAM of an ECP5 in netlists: its output reset is a constant.

On real chips, a DP16KD whose output reset is driven by logic reads zero, as another project found in autumn 2026.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from utf8fpga.hdl import CORES, CoreParameters, axi_verilog, build
from utf8fpga.hdl.toolchain import run_tool

pytestmark = pytest.mark.build


def driven_resets(verilog: str, folder: Path) -> tuple[int, list[str]]:
    """The number of block RAMs in the netlist of a module `core`, and the names of those with a reset from logic."""
    (folder / "core.v").write_text(verilog, encoding="utf-8")
    script = "read_verilog core.v; synth_ecp5 -top core; write_json core.json"
    run_tool("yosys", ["-q", "-p", script], directory=folder)
    modules = json.loads((folder / "core.json").read_text(encoding="utf-8"))["modules"]
    cells = {name: cell for name, cell in modules["core"]["cells"].items() if cell["type"] == "DP16KD"}
    # A constant is a string in Yosys's JSON, the number of a wire is an integer.
    resets = {
        name: [bit for port in ("RSTA", "RSTB") for bit in cell["connections"][port]] for name, cell in cells.items()
    }
    return len(cells), [name for name, bits in resets.items() if any(isinstance(bit, int) for bit in bits)]


@pytest.mark.parametrize("kind", CORES.values(), ids=CORES)
def test_no_core_resets_the_output_of_a_block_ram(kind: type[CoreParameters], tmp_path: Path) -> None:
    assert driven_resets(axi_verilog(build(kind(lanes=4)), "core"), tmp_path)[1] == []


MEMORY = """
module core (input clk, rst, we, input [9:0] wa, ra, input [7:0] d, output reg [7:0] q);
  reg [7:0] memory [0:1023];
  always @(posedge clk) begin
    if (we) memory[wa] <= d;
    %s
  end
endmodule
"""


def test_a_reset_from_logic_is_found(tmp_path: Path) -> None:
    assert driven_resets(MEMORY % "q <= memory[ra];", tmp_path) == (1, [])
    count, driven = driven_resets(MEMORY % "if (rst) q <= 0; else q <= memory[ra];", tmp_path)
    assert count == len(driven) == 1
