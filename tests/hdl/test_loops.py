# SPDX-License-Identifier: BSD-2-Clause
"""Wires of the generated Verilog: none depends on itself, even if some of its bits depend on others."""

from __future__ import annotations

import json
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from utf8fpga.formal.netlist import equal_verilog
from utf8fpga.hdl import EncoderParameters, axi_verilog
from utf8fpga.hdl.toolchain import run_tool
from utf8fpga.hdl.verilog import loops

CIRCLES = """
module part(input [2:0] a, output [2:0] y);
  assign y = ~a;
endmodule
module top(input clk, input s, input [2:0] b, output reg q);
  wire [2:0] x, y;
  part part(.a(x), .y(y));
  assign x = ~{y[0], b[1:0]};
  wire [3:0] one, v_7_4, w;
  assign one = {s ^ b[0], b[2] & one[3], ~y[2:1]};
  assign v_7_4 = s ? {w[0], b} : one;
  assign w = v_7_4 & {b[1], b};
  initial q = 0;
  always @(posedge clk) q <= ^{one, w};
endmodule
"""
"""A circle through a module, one of a wire with itself, and one of two wires."""


def check_circles(verilog: str) -> None:
    """Check that the wires of each module can be assigned one after the other, each as a whole.

    Raises:
        CycleError: they cannot.
    """
    for module in verilog.split("endmodule"):
        wires: dict[str, set[str]] = {}
        for target, value in re.findall(r"^  assign (\w+)[^=]*= ([^;]+);", module, re.MULTILINE):
            wires.setdefault(target, set()).update(re.findall(r"[A-Za-z_]\w*", value))
        TopologicalSorter(wires).prepare()


def test_wires_in_circles_are_divided_into_few_parts(tmp_path: Path) -> None:
    (tmp_path / "first.v").write_text(CIRCLES, encoding="utf-8")
    script = "read_verilog first.v; proc; opt_clean -purge; write_rtlil x.il; write_json x.json"
    run_tool("yosys", ["-q", "-p", script], directory=tmp_path)
    design = loops.without_loops_of_wires(json.loads((tmp_path / "x.json").read_text(encoding="utf-8")))
    (tmp_path / "x.json").write_text(json.dumps(design), encoding="utf-8")
    run_tool("yosys", ["-q", "-p", "read_json x.json; write_verilog -noattr x.v"], directory=tmp_path)
    verilog = (tmp_path / "x.v").read_text(encoding="utf-8")
    design = design["modules"]
    assert equal_verilog((tmp_path / "x.il").read_text(encoding="utf-8"), verilog, "top").proved is True
    check_circles(verilog)
    wires = {name: sorted(wire for wire in module["netnames"] if wire[0] != "$") for name, module in design.items()}
    assert wires["part"] == ["a_1_0", "a_2", "y_1_0", "y_2"]
    assert wires["top"] == sorted(
        ["clk", "s", "b", "q", "x_1_0", "x_2", "y_1_0", "y_2", "one_2_0", "one_3", "v_6_4", "v_7", "w_2_0", "w_3"]
    )


def test_the_wires_of_a_core_are_in_no_circle() -> None:
    check_circles(axi_verilog(EncoderParameters(narrow=True).build()))


def test_circles_are_found() -> None:
    with pytest.raises(CycleError):
        check_circles(CIRCLES)
