// SPDX-License-Identifier: BSD-2-Clause
`default_nettype none
`timescale 1ns / 1ps

// The tile for cocotb, with a waveform.
module tb;
  reg clk, rst_n, ena;
  reg [7:0] ui_in, uio_in;
  wire [7:0] uo_out, uio_out, uio_oe;

  initial begin
    $dumpfile("tb.vcd");
    $dumpvars(0, tb);
  end

`ifdef GL_TEST
  wire VPWR = 1'b1;
  wire VGND = 1'b0;
`endif

  tt_um_utf8fpga tile (
`ifdef GL_TEST
    .VPWR(VPWR),
    .VGND(VGND),
`endif
    .ui_in(ui_in),
    .uo_out(uo_out),
    .uio_in(uio_in),
    .uio_out(uio_out),
    .uio_oe(uio_oe),
    .ena(ena),
    .clk(clk),
    .rst_n(rst_n)
  );
endmodule
