# SPDX-License-Identifier: BSD-2-Clause
"""Differences between a design and its netlist, or Verilog, are detected."""

from __future__ import annotations

import pytest
from support.tiers import tiered

from utf8fpga.formal import runner
from utf8fpga.formal.catalogue import CONFIGURATIONS
from utf8fpga.formal.netlist import equal_netlist, equal_verilog
from utf8fpga.hdl import axi_rtlil, axi_verilog, decoder_core, module_name
from utf8fpga.hdl.toolchain import run_yosys
from utf8fpga.sim.aiger import CELLS


@pytest.mark.parametrize("family", tiered({name: name for name in CELLS}, ["ecp5"], tier=pytest.mark.proof))
def test_one_changed_cell_of_a_netlist_is_detected(family: str) -> None:
    design = axi_rtlil(decoder_core())
    change = "cd gate; mutate -list 1 -seed 2 -mode inv -o change.ys; script change.ys; cd ..;"
    assert equal_netlist(design, family, change=change).proved is False


@pytest.mark.proof
@pytest.mark.parametrize("family", CELLS)
def test_an_unconnected_bit_of_a_netlist_is_arbitrary(family: str) -> None:
    """The bit is 0 in the design, and an unconnected one would often be 0 as well."""
    design = axi_rtlil(decoder_core())
    change = "cd gate; connect -set m_axis_tdata[31] 1'x; cd ..;"
    assert equal_netlist(design, family, change=change).proved is False


@pytest.mark.parametrize("family", tiered({name: name for name in CELLS}, ["ice40"], tier=pytest.mark.proof))
@pytest.mark.parametrize("change", ["setparam -set CLK_POLARITY 0 t:$dff", r"connect -port \F3 \CLK \s_axis_tvalid"])
def test_another_clock_in_a_netlist_is_detected(family: str, change: str) -> None:
    """The engine has only one clock."""
    change = f"cd gate; rename -enumerate -pattern F% t:$dff; {change}; cd ..;"
    assert equal_netlist(axi_rtlil(decoder_core()), family, change=change).proved is False


@pytest.mark.smoke
def test_a_difference_of_the_verilog_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # An operand of the first conjunction is inverted.
    monkeypatch.setattr(runner, "axi_verilog", lambda core: axi_verilog(core).replace(" & ", " & ~", 1))
    (result,) = runner.prove(CONFIGURATIONS["serial-area"], "verilog")
    assert result.proved is False


@pytest.mark.smoke
def test_bits_of_the_verilog_that_float_are_not_zero() -> None:
    core = decoder_core(optimize="area")
    verilog = axi_verilog(core).replace("{11'h000,", "{11'hz,")
    assert verilog != axi_verilog(core)
    assert equal_verilog(axi_rtlil(core), verilog, module_name(core)).proved is False


MEMORY = """module top(input clk, input place, input given, output reg kept);
  reg rows [0:1];
  initial begin kept = 0; rows[0] = 0; rows[1] = 0; end
  always @(posedge clk) rows[place] <= given;
  always @(posedge clk) kept <= rows[place];
endmodule
"""


@pytest.mark.parametrize(
    ("clock", "is_equal"), [("posedge clk", True), ("negedge clk", False), ("posedge given", False)]
)
def test_another_clock_of_a_memory_in_verilog_is_detected(clock: str, is_equal: bool) -> None:
    script = "read_verilog top.v; hierarchy -top top; proc; write_rtlil top.il"
    (design,) = run_yosys(script, {"top.v": MEMORY}, "top.il")
    assert (
        equal_verilog(design.decode(), MEMORY.replace("posedge clk) rows", f"{clock}) rows"), "top").proved is is_equal
    )
