// SPDX-License-Identifier: BSD-2-Clause
// A correct decoder whose output is a level that lasts until the next byte, with a status: 0 is no output, 1 a mark, 2 a
// code point. Its ports are parts of one input, whose strobe is active low, and of one output.
module level (input clk, input rst, input [8:0] in, output [23:0] out);
  wire valid, error, again;
  wire [20:0] point;
  reg sent;
  reg [23:0] held;
  resend decoder (clk, rst, !in[8], in[7:0], valid, error, again, point);
  assign out = sent ? {again, valid && !error, valid && error, point} : held;

  always @(posedge clk) begin
    sent <= !in[8];
    held <= rst ? 0 : out;
  end
endmodule
