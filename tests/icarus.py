# SPDX-License-Identifier: BSD-2-Clause
"""Generated Verilog in Icarus, a simulator that shares nothing with the tools that wrote it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

requires_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog (iverilog) is not installed"
)

BENCH = r"""
`timescale 1ns/1ns
module bench;
  parameter SEED = 1, BUSY_IN = 0, BUSY_OUT = 0;
  reg clk = 0, rst = 1;
  reg [7:0] tdata; reg tkeep, tlast, tvalid = 0; wire tready;
  wire [31:0] mdata; wire [3:0] mkeep; wire muser, mlast, mvalid; reg mready = 0;
  utf8_decoder dut(.clk(clk), .rst(rst),
    .s_axis_tdata(tdata), .s_axis_tkeep(tkeep), .s_axis_tlast(tlast), .s_axis_tvalid(tvalid), .s_axis_tready(tready),
    .m_axis_tdata(mdata), .m_axis_tkeep(mkeep), .m_axis_tuser(muser), .m_axis_tlast(mlast), .m_axis_tvalid(mvalid),
    .m_axis_tready(mready));
  integer in, out, got, seed, idle = 0;
  reg [15:0] beat; reg more = 1; reg waiting = 0; reg [37:0] held; reg taken;
  always #5 clk = ~clk;
  initial begin
    seed = SEED;
    in = $fopen("beats.txt", "r"); out = $fopen("words.txt", "w");
    repeat (3) @(posedge clk);
    #1 rst = 0;
    while (more || tvalid || idle < 40) begin
      if (!tvalid && more && $unsigned($random(seed)) % 100 >= BUSY_IN) begin
        got = $fscanf(in, "%h", beat);
        if (got == 1) begin {tlast, tkeep, tdata} = beat; tvalid = 1; end else more = 0;
      end
      if (!tvalid) {tlast, tkeep, tdata} = 10'bx;
      mready = $unsigned($random(seed)) % 100 >= BUSY_OUT;
      #3;
      if (mvalid === 1'bx || tready === 1'bx) begin $fdisplay(out, "undefined handshake"); $finish; end
      if (waiting && (!mvalid || held !== {mdata, mkeep, muser, mlast})) begin
        $fdisplay(out, "payload changed while it waited"); $finish;
      end
      held = {mdata, mkeep, muser, mlast};
      waiting = mvalid && !mready;
      if (mvalid && mready) $fdisplay(out, "%h %h %h %h", mdata, mkeep, muser, mlast);
      idle = mvalid || tvalid || more ? 0 : idle + 1;
      taken = tvalid && tready;
      @(posedge clk); #1;
      if (taken) tvalid = 0;
    end
    $finish;
  end
endmodule
"""


RESET_BENCH = r"""
module bench;
  parameter FIRST = 8'h41, SECOND = 8'h41;
  reg clk = 0, rst = 1; reg [7:0] tdata = FIRST; reg tlast = 0, tvalid = 0, mready = 0;
  wire tready, muser, mlast, mvalid; wire [31:0] mdata; wire [3:0] mkeep;
  integer n;
  always #5 clk = ~clk;
  utf8_decoder dut(.clk(clk), .rst(rst),
    .s_axis_tdata(tdata), .s_axis_tkeep(1'b1), .s_axis_tlast(tlast), .s_axis_tvalid(tvalid), .s_axis_tready(tready),
    .m_axis_tdata(mdata), .m_axis_tkeep(mkeep), .m_axis_tuser(muser), .m_axis_tlast(mlast), .m_axis_tvalid(mvalid),
    .m_axis_tready(mready));
  initial begin
    @(posedge clk); #1 rst = 0; tvalid = 1;
    for (n = 0; n < 6; n = n + 1) begin @(posedge clk); #1 tdata = n & 1 ? FIRST : SECOND; end
    rst = 1; tvalid = 0; @(posedge clk); #1 rst = 0; mready = 1;
    for (n = 0; n < 6; n = n + 1) begin #1 if (mvalid) $display("%h %h", mdata, muser); @(posedge clk); #1; end
    $display("then");
    tdata = 8'h80; tlast = 1; tvalid = 1;
    for (n = 0; n < 6; n = n + 1) begin
      #1 if (mvalid) $display("%h %h", mdata, muser); @(posedge clk); #1 tvalid = 0;
    end
    $finish;
  end
endmodule
"""
"""Two bytes again and again into a stalled decoder, one clock of reset, silence, and then a stray byte."""


def run_reset(verilog: str, first: int, second: int, directory: Path) -> list[str]:
    """What `RESET_BENCH` prints: a line for each word shown, ``then`` before the stray byte."""
    (directory / "dut.v").write_text(verilog, encoding="utf-8")
    (directory / "bench.v").write_text(RESET_BENCH, encoding="utf-8")
    parameters = [f"-Pbench.FIRST={first}", f"-Pbench.SECOND={second}"]
    command = ["iverilog", "-g2005", "-s", "bench", *parameters, "-o", "bench.vvp", "dut.v", "bench.v"]
    subprocess.run(command, cwd=directory, check=True)
    done = subprocess.run(["vvp", "-n", "bench.vvp"], cwd=directory, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


class Beat(NamedTuple):
    """An output beat of the generated Verilog."""

    tdata: int
    tkeep: int
    tuser: int
    tlast: int


def run_verilog(
    verilog: str,
    texts: Iterable[bytes],
    directory: Path,
    *,
    separate_ends: Sequence[bool] = (False,),
    seed: int = 1,
    busy_in: int = 0,
    busy_out: int = 0,
) -> list[Beat]:
    """The output beats for `texts` sent back to back.

    `busy_in` and `busy_out` are the percentages of clocks in which the input pauses and the
    output is not ready; `seed` draws which.
    """
    (directory / "dut.v").write_text(verilog, encoding="utf-8")
    (directory / "bench.v").write_text(BENCH, encoding="utf-8")
    with (directory / "beats.txt").open("w", encoding="ascii") as file:
        file.writelines(f"{beat:03x}\n" for beat in _beats(texts, separate_ends))
    parameters = [f"-Pbench.SEED={seed}", f"-Pbench.BUSY_IN={busy_in}", f"-Pbench.BUSY_OUT={busy_out}"]
    compile_ = ["iverilog", "-g2005", "-Wall", "-Wno-timescale", "-s", "bench", *parameters, "-o", "bench.vvp"]
    done = subprocess.run([*compile_, "dut.v", "bench.v"], cwd=directory, capture_output=True, text=True, check=True)
    assert "dut.v" not in done.stderr, done.stderr
    subprocess.run(["vvp", "-n", "bench.vvp"], cwd=directory, capture_output=True, check=True)
    lines = (directory / "words.txt").read_text(encoding="ascii").splitlines()
    return [_output_beat(line) for line in lines]


def _beats(texts: Iterable[bytes], separate_ends: Sequence[bool]) -> Iterator[int]:
    for number, text in enumerate(texts):
        separate = separate_ends[number % len(separate_ends)] or not text
        for place, byte in enumerate(text, 1):
            yield (not separate and place == len(text)) << 9 | 1 << 8 | byte
        if separate:
            # What lies in a byte that is not there must not matter.
            yield 1 << 9 | (number * 37 & 0xFF)


def _output_beat(line: str) -> Beat:
    fields = line.split()
    assert len(fields) == 4, f"the test bench reports: {line}"
    tdata, tkeep, tuser, tlast = fields
    if tkeep == "0":
        assert tuser == "0", "the error flag without a word"
        return Beat(0, 0, 0, int(tlast, 16))
    return Beat(int(tdata, 16), int(tkeep, 16), int(tuser, 16), int(tlast, 16))


def split_texts(beats: Iterable[Beat]) -> list[list[Beat]]:
    """Per text the beats that hold a word."""
    texts: list[list[Beat]] = [[]]
    for beat in beats:
        if beat.tkeep:
            assert beat.tkeep == 0xF
            texts[-1].append(beat)
        else:
            assert beat.tlast, "a beat without a word must end a text"
        if beat.tlast:
            texts.append([])
    assert texts.pop() == [], "words after the last text's end"
    return texts
