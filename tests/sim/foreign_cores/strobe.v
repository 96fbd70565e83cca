// SPDX-License-Identifier: BSD-2-Clause
// A correct decoder without back-pressure. Each byte has a slot for one item, which is emitted with the next byte or
// the flush: a completed code point, or a mark if the byte is the last one of an ill-formed sequence.
module strobe (
  input clk, input rst_n,
  input strobe, input [7:0] data, input flush,
  output reg valid, output reg error, output reg [20:0] code_point
);
  reg [1:0] left;
  reg full, wrong;
  reg [20:0] code;
  reg [7:0] low, high;
  wire continues = left != 0 && data >= low && data <= high;
  wire leads = data >= 8'hC2 && data <= 8'hF4;

  always @(posedge clk or negedge rst_n)
    if (!rst_n) begin
      {valid, error, full, wrong, left} <= 0;
    end else begin
      valid <= 0;
      if (flush || strobe) begin
        valid <= full || left != 0 && !continues || flush && left != 0;
        error <= wrong || !full;
        code_point <= full && !wrong ? code : 21'hFFFD;
        full <= 0;
        wrong <= 0;
        left <= 0;
      end
      if (strobe) begin
        low <= 8'h80;
        high <= 8'hBF;
        if (continues) begin
          left <= left - 1;
          full <= left == 1;
          code <= {code[14:0], data[5:0]};
        end else if (leads) begin
          left <= data < 8'hE0 ? 1 : data < 8'hF0 ? 2 : 3;
          code <= data < 8'hE0 ? data[4:0] : data < 8'hF0 ? data[3:0] : data[2:0];
          case (data)
            8'hE0: low <= 8'hA0;
            8'hED: high <= 8'h9F;
            8'hF0: low <= 8'h90;
            8'hF4: high <= 8'h8F;
          endcase
        end else begin
          full <= 1;
          wrong <= data[7];
          code <= data;
        end
      end
    end
endmodule
