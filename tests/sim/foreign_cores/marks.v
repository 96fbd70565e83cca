// SPDX-License-Identifier: BSD-2-Clause
// A decoder without back-pressure and without an end of the text, which requests the byte that breaks a sequence again.
// Its fault: it looks at the value when the sequence is complete, and then emits one mark for all its bytes.
module marks (
  input clk, input rst,
  input strobe, input [7:0] data,
  output reg valid, output reg error, output reg again, output reg [20:0] code_point
);
  reg [1:0] left, size;
  reg [14:0] code;
  wire [20:0] value = {code, data[5:0]};
  wire continues = data[7:6] == 2'b10;
  wire bad = size == 1 ? value < 'h80 : size == 2 ? value < 'h800 || value[20:11] == 'h1B : value < 'h10000 || value > 'h10FFFF;

  always @(posedge clk) begin
    {valid, error, again} <= 0;
    if (rst) left <= 0;
    else if (strobe) begin
      if (left != 0 && !continues) begin
        left <= 0;
        {valid, error, again} <= 3'b111;
        code_point <= 21'hFFFD;
      end else if (left == 1) begin
        left <= 0;
        valid <= 1;
        error <= bad;
        code_point <= bad ? 21'hFFFD : value;
      end else if (left != 0) begin
        left <= left - 1;
        code <= {code[8:0], data[5:0]};
      end else if (data >= 8'hC0 && data < 8'hF8) begin
        left <= data < 8'hE0 ? 1 : data < 8'hF0 ? 2 : 3;
        size <= data < 8'hE0 ? 1 : data < 8'hF0 ? 2 : 3;
        code <= data < 8'hE0 ? data[4:0] : data < 8'hF0 ? data[3:0] : data[2:0];
      end else begin
        valid <= 1;
        error <= data[7];
        code_point <= data[7] ? 21'hFFFD : data;
      end
    end
  end
endmodule
