// SPDX-License-Identifier: BSD-2-Clause
// A correct encoder, which outputs the bytes of U+FFFD for a word that is no scalar value.
module encoder (
  input clk, input rst,
  input [31:0] point, input valid, input last, output ready,
  output reg [7:0] data, output reg error, output data_valid, output data_last, input data_ready
);
  reg [2:0] left;
  reg [17:0] rest;
  reg ends;
  wire wrong = point > 32'h10FFFF || point[31:11] == 21'h1B;
  wire [20:0] code = wrong ? 21'hFFFD : point;
  assign ready = left == 0 || left == 1 && data_ready;
  assign data_valid = left != 0;
  assign data_last = ends && left == 1;

  always @(posedge clk)
    if (rst) left <= 0;
    else if (ready) begin
      left <= !valid ? 0 : code < 'h80 ? 1 : code < 'h800 ? 2 : code < 'h10000 ? 3 : 4;
      rest <= code < 'h800 ? {code[5:0], 12'b0} : code < 'h10000 ? {code[11:0], 6'b0} : code[17:0];
      data <= code < 'h80 ? code : code < 'h800 ? {3'b110, code[10:6]} : code < 'h10000 ? {4'hE, code[15:12]} : {5'h1E, code[20:18]};
      error <= wrong;
      ends <= last;
    end else if (data_ready) begin
      left <= left - 1;
      data <= {2'b10, rest[17:12]};
      rest <= rest << 6;
    end
endmodule
