// SPDX-License-Identifier: BSD-2-Clause
// A correct decoder that stops at the first error, which it signals until the next reset.
module sticky (
  input clk, input rst,
  input strobe, input [7:0] data,
  output valid, output error, output [20:0] code_point
);
  wire any, wrong, again;
  reg stopped;
  resend decoder (clk, rst, strobe, data, any, wrong, again, code_point);
  assign error = stopped || any && wrong;
  assign valid = any && !error;

  always @(posedge clk) stopped <= !rst && error;
endmodule
