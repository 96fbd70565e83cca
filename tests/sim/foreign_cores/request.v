// SPDX-License-Identifier: BSD-2-Clause
// A correct decoder that takes five cycles for a byte, and then asserts `done`.
module request (
  input clk, input rst,
  input start, input [7:0] data, input last, output done,
  output valid, output error, output [20:0] code_point
);
  reg [2:0] step;
  strobe decoder (clk, !rst, start, data, step == 3 && last, valid, error, code_point);
  assign done = step == 5;

  always @(posedge clk)
    if (rst) step <= 0;
    else if (start || step != 0) step <= done ? 0 : step + 1;
endmodule

// The same with a request that is asserted until the acknowledgement, which is deasserted after it.
module four_phase (
  input clk, input rst,
  input request, input [7:0] data, input last, output reg acknowledge,
  output valid, output error, output [20:0] code_point
);
  reg before;
  wire done;
  request decoder (clk, rst, request && !before, data, last, done, valid, error, code_point);

  always @(posedge clk) begin
    before <= request;
    acknowledge <= request && (acknowledge || done);
  end
endmodule
