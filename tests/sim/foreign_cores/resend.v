// SPDX-License-Identifier: BSD-2-Clause
// A correct decoder without back-pressure and without an end of the text, which requests the byte that breaks a sequence
// again.
module resend (
  input clk, input rst,
  input strobe, input [7:0] data,
  output reg valid, output reg error, output reg again, output reg [20:0] code_point
);
  reg [1:0] left;
  reg [14:0] code;
  reg [7:0] low, high;
  wire [1:0] more = data < 8'hC2 || data > 8'hF4 ? 0 : data < 8'hE0 ? 1 : data < 8'hF0 ? 2 : 3;

  always @(posedge clk) begin
    {valid, error, again} <= 0;
    if (rst) left <= 0;
    else if (strobe) begin
      low <= data == 8'hE0 ? 8'hA0 : data == 8'hF0 ? 8'h90 : 8'h80;
      high <= data == 8'hED ? 8'h9F : data == 8'hF4 ? 8'h8F : 8'hBF;
      if (left != 0 && (data < low || data > high)) begin
        left <= 0;
        {valid, error, again} <= 3'b111;
        code_point <= 21'hFFFD;
      end else if (left != 0) begin
        left <= left - 1;
        code <= {code[8:0], data[5:0]};
        valid <= left == 1;
        code_point <= {code, data[5:0]};
      end else begin
        left <= more;
        code <= more == 1 ? data[4:0] : more == 2 ? data[3:0] : data[2:0];
        valid <= more == 0;
        error <= more == 0 && data[7];
        code_point <= data[7] ? 21'hFFFD : data;
      end
    end
  end
endmodule
