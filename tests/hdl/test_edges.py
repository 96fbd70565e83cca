# SPDX-License-Identifier: BSD-2-Clause
"""Options at the edges of the generated Verilog: fields and place of user bits, registers, reset, checks."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from support.command import utf8fpga
from support.icarus import requires_icarus, run_icarus
from support.lint import requires_linters, warnings_of
from support.oracle import refusal

from utf8fpga.hdl import (
    AxiStreamCore,
    DecoderParameters,
    PortOptions,
    RemoverParameters,
    axi_verilog,
    decoder_core,
)
from utf8fpga.model import InvalidArgumentError


@pytest.mark.parametrize("pipeline", [0, 1, 2])
def test_registers_at_the_output_leave_no_path_between_the_streams(pipeline: int) -> None:
    core = DecoderParameters(pipeline=pipeline).build()
    verilog = axi_verilog(core, options=PortOptions(registered=True, reset_low=True))
    header = verilog[: verilog.index("module ")]
    assert f"Latency: at most {core.latency + 1} cycles" in header
    paths = re.findall(r"^//   (.*) -> (.*)$", header, re.MULTILINE)
    for inputs, outputs in paths:
        sides = {name.strip()[0] for name in f"{inputs}, {outputs}".split(",")}
        assert sides == {"s"}, "a path from one stream to the other"
    plain = axi_verilog(core)
    assert re.search(r"^//   .*m_axis_tready -> s_axis_tready$", plain[: plain.index("module ")], re.MULTILINE)


def violating_bench(lanes: int, beats: str) -> str:
    return f"""
    module bench; reg clk = 0, rst = 1; reg [{8 * lanes - 1}:0] data = 0; reg [{lanes - 1}:0] keep = 0;
    reg last = 0, valid = 0, ready_in = 1; wire ready;
    always #5 clk = ~clk;
    utf8_decoder dut(.clk(clk), .rst(rst), .s_axis_tdata(data), .s_axis_tkeep(keep), .s_axis_tlast(last),
      .s_axis_tvalid(valid), .s_axis_tready(ready), .m_axis_tdata(), .m_axis_tkeep(), .m_axis_tuser(), .m_axis_tlast(),
      .m_axis_tvalid(), .m_axis_tready(ready_in));
    initial begin repeat (2) @(posedge clk); #1 rst = 0; repeat (40) @(posedge clk); #1 ; {beats} $finish; end
    endmodule
    """


VIOLATIONS = {
    "hole": (3, "valid = 1; last = 1; data = 0; keep = 3'b101;", "s_axis_tkeep is not contiguous from bit 0"),
    "partial": (3, "valid = 1; data = 0; keep = 3'b011;", "a partial beat without s_axis_tlast"),
    "unknown keep": (3, "valid = 1; data = 0; keep = 3'b01x;", "s_axis_tkeep or s_axis_tlast is unknown"),
    "unknown data": (3, "valid = 1; data = 24'hxx; keep = 3'b111;", "byte 0 of s_axis_tdata is unknown"),
    "unknown valid": (1, "valid = 1'bx;", "s_axis_tvalid x or m_axis_tready 1 is unknown"),
    "unknown ready": (1, "ready_in = 1'bx;", "s_axis_tvalid 0 or m_axis_tready x is unknown"),
    "data changed": (
        1,
        "ready_in = 0; keep = 1; valid = 1; while (ready) @(posedge clk); #1 ; @(posedge clk); #1 data = 5;",
        "the input changed while s_axis_tready was low",
    ),
    "withdrawn": (
        1,
        "ready_in = 0; keep = 1; valid = 1; while (ready) @(posedge clk); #1 ; @(posedge clk); #1 valid = 0;",
        "the input changed while s_axis_tready was low",
    ),
}


@cache
def checked(lanes: int) -> str:
    return axi_verilog(decoder_core(lanes=lanes, packed=False), checks=True)


@requires_icarus
@pytest.mark.parametrize(("lanes", "beats", "message"), VIOLATIONS.values(), ids=VIOLATIONS)
def test_each_violation_is_reported(lanes: int, beats: str, message: str, tmp_path: Path) -> None:
    bench = violating_bench(lanes, f"{beats} @(posedge clk); #1 ;")
    (tmp_path / "dut.v").write_text(checked(lanes) + bench, encoding="utf-8")
    for define, wanted in (([], True), (["-DSYNTHESIS"], False)):
        printed = run_icarus(tmp_path, ["dut.v"], *define).stdout
        assert (f"bench.dut: {message}" in printed) == wanted, printed


@requires_linters
@pytest.mark.parametrize(
    "options",
    [
        "--lanes 1 --registered --reset-low --checks --kind --length --flags byte",
        "--lanes 1 --checks --tid 3 --tuser 2 --statistics axi-lite",
        "--lanes 2 --sparse --checks --kind --flags word --tdest 64 --statistics wishbone",
        pytest.param("--lanes 3 --checks --kind --flags word", marks=pytest.mark.slow),
        pytest.param("--lanes 4 --sparse --checks --length --reset-low --flags byte", marks=pytest.mark.slow),
    ],
)
def test_no_warnings_with_options_at_the_edges(options: str, tmp_path: Path) -> None:
    made = utf8fpga("generate", *options.split())
    assert made.returncode == 0, made.stderr
    text = made.stdout.decode()
    assert f"// Command: utf8fpga generate {' '.join(options.split()[:2]).replace('--lanes 1', '')}".rstrip() in text
    assert warnings_of(text, tmp_path) == []
    command = re.search(r"^// Command: utf8fpga (.*)$", text, re.MULTILINE)
    assert command
    assert utf8fpga(*command[1].split()).stdout.decode() == text


def test_the_header_of_a_core_has_the_options_of_its_ports() -> None:
    text = axi_verilog(
        DecoderParameters(kind=True, length=True).build(), options=PortOptions(flags="byte", reset_low=True)
    )
    assert "// Command: utf8fpga generate --kind --length --reset-low --flags byte\n" in text
    assert "//                 bits 3 to 1: the cause of the error: 1 UNEXPECTED_CONTINUATION" in text
    assert "//                 bits 6 to 4: the number of code units of the item\n" in text
    assert "// clk, rst_n      rising edge; synchronous, active low\n" in text


def test_wrong_options() -> None:
    assert "flags 'bit' is not one of item, word, byte" in refusal(ValueError, PortOptions, flags="bit")
    assert "statistics 'apb' is not one of wishbone, axi-lite" in refusal(ValueError, PortOptions, statistics="apb")
    assert "registered 'no' is not True or False" in refusal(ValueError, PortOptions, registered="no")
    with pytest.raises(InvalidArgumentError, match="flags word is for symbols with an error flag"):
        AxiStreamCore(RemoverParameters().build(), PortOptions(flags="word"))
