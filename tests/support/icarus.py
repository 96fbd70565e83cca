# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of the generated Verilog in Icarus Verilog, which is independent of the tools that wrote it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from support.processes import run

requires_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="Icarus Verilog (iverilog) is not installed"
)

BENCH = r"""
`timescale 1ns/1ns
module bench;
  parameter LANES = 1, USER = LANES, BUSY_IN = 0, BUSY_OUT = 0;
  reg clk = 0, rst = 1;
  reg [8*LANES-1:0] tdata; reg [LANES-1:0] tkeep; reg tlast, tvalid = 0; wire tready;
  wire [32*LANES-1:0] mdata; wire [4*LANES-1:0] mkeep; wire [USER-1:0] muser; wire mlast, mvalid; reg mready = 0;
  utf8_decoder dut(.clk(clk), `RESET,
    .s_axis_tdata(tdata), .s_axis_tkeep(tkeep), .s_axis_tlast(tlast), .s_axis_tvalid(tvalid), .s_axis_tready(tready),
    .m_axis_tdata(mdata), .m_axis_tkeep(mkeep), `MUSER .m_axis_tlast(mlast), .m_axis_tvalid(mvalid),
    .m_axis_tready(mready));
  integer in, out, got, seed, idle = 0, stuck = 0;
  reg [9*LANES:0] beat; reg more = 1; reg waiting = 0; reg [36*LANES+USER:0] held; reg taken = 0;
  always #5 clk = ~clk;
  initial begin
    seed = 1;
    in = $fopen("beats.txt", "r"); out = $fopen("words.txt", "w");
    repeat (3) @(posedge clk);
    #1 rst = 0;
    while ((more || tvalid || idle < 40) && stuck < 1000) begin
      stuck = tvalid && !taken && !(mvalid && mready) ? stuck + 1 : 0;
      if (!tvalid && more && $unsigned($random(seed)) % 100 >= BUSY_IN) begin
        got = $fscanf(in, "%h", beat);
        if (got == 1) begin {tlast, tkeep, tdata} = beat; tvalid = 1; end else more = 0;
      end
      if (!tvalid) {tlast, tkeep, tdata} = {9*LANES+1{1'bx}};
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


def run_icarus(
    directory: Path, files: Iterable[str], *options: str, top: str = "bench"
) -> subprocess.CompletedProcess[str]:
    """The exit status of a test bench in Icarus Verilog, and what it prints.

    Args:
        directory: the folder of the files.
        files: their names.
        options: further options of the compiler, which must not say anything of ``dut.v``.
        top: the module of the test bench.
    """
    command = ["iverilog", "-g2005", *options, "-s", top, "-o", "bench.vvp", *files]
    made = run(command, cwd=directory, capture_output=True, text=True, check=True)
    assert "dut.v" not in made.stderr, made.stderr
    return run(["vvp", "-N", "bench.vvp"], cwd=directory, capture_output=True, text=True)


def defined(values: Mapping[str, int]) -> list[str]:
    """The options of Icarus for the parameters of a test bench."""
    return [f"-Pbench.{name}={value}" for name, value in values.items()]


def run_lines(
    verilog: str,
    beats: Iterable[int],
    directory: Path,
    *,
    busy_in: int = 0,
    busy_out: int = 0,
    lanes: int = 1,
    user: int | None = None,
) -> list[str]:
    """Simulate the generated Verilog on input beats.

    Args:
        verilog: the generated Verilog.
        beats: the numbers of the file `beats.txt`: last, keep and data of a beat.
        directory: the folder for the files of the simulation.
        busy_in: the percentage of cycles in which the input pauses.
        busy_out: the percentage of cycles in which the output is not ready.
        lanes: the number of lanes.
        user: the width of `m_axis_tuser`; default: `lanes`. 0: there is no such port.

    Returns:
        For each output beat its data, keep, user and last in hexadecimal; or what violates the stream contract.
    """
    reset = ".rst_n(!rst)" if "input wire rst_n" in verilog else ".rst(rst)"
    port = "" if user == 0 else ".m_axis_tuser(muser),"
    (directory / "dut.v").write_text(verilog, encoding="utf-8")
    (directory / "bench.v").write_text(BENCH.replace("`RESET", reset).replace("`MUSER", port), encoding="utf-8")
    (directory / "beats.txt").write_text("".join(f"{beat:x}\n" for beat in beats), encoding="ascii")
    given = {"LANES": lanes, "BUSY_IN": busy_in, "BUSY_OUT": busy_out}
    given |= {"USER": max(1, lanes if user is None else user)}
    done = run_icarus(directory, ["dut.v", "bench.v"], "-Wall", "-Wno-timescale", *defined(given))
    return [*done.stdout.splitlines(), *(directory / "words.txt").read_text(encoding="ascii").splitlines()]


def beats_of(texts: Iterable[bytes], separate_ends: Sequence[bool], lanes: int) -> Iterator[int]:
    """The input beats of texts: last, keep and data of each as one number."""
    for number, text in enumerate(texts):
        pieces = [text[start : start + lanes] for start in range(0, len(text), lanes)]
        full = not pieces or len(pieces[-1]) == lanes
        if full and (separate_ends[number % len(separate_ends)] or not text):
            pieces.append(b"")
        for place, piece in enumerate(pieces, 1):
            # Bytes without `tkeep` must be ignored.
            data = int.from_bytes(piece.ljust(lanes, bytes([number * 37 & 0xFF])), "little")
            yield (place == len(pieces)) << 9 * lanes | (1 << len(piece)) - 1 << 8 * lanes | data
