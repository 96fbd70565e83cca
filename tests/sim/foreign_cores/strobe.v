// SPDX-License-Identifier: BSD-2-Clause
// A correct decoder without back-pressure. Of its two words the first is the mark of the sequence that the byte breaks,
// the second the code point that the byte completes, or its own mark.
module strobe (
  input clk, input rst_n,
  input strobe, input [7:0] data, input last,
  output reg valid, output reg [1:0] keep, output reg [1:0] error, output reg [63:0] code_point
);
  reg [1:0] left;
  reg [14:0] code;
  reg [7:0] low, high;
  wire continues = left != 0 && data >= low && data <= high;
  wire breaks = left != 0 && !continues;
  wire leads = data >= 8'hC2 && data <= 8'hF4;
  wire [1:0] more = continues ? left - 1 : !leads ? 0 : data < 8'hE0 ? 1 : data < 8'hF0 ? 2 : 3;
  wire full = more == 0;
  wire ends = last && more != 0;
  wire wrong = !continues && data[7];
  wire [20:0] value =
    continues ? {code, data[5:0]} : !leads ? data : data < 8'hE0 ? data[4:0] : data < 8'hF0 ? data[3:0] : data[2:0];

  always @(posedge clk or negedge rst_n)
    if (!rst_n) begin
      {valid, left} <= 0;
    end else begin
      valid <= strobe;
      keep <= {full || ends, breaks};
      error <= {wrong || !full, 1'b1};
      code_point <= {11'b0, full && !wrong ? value : 21'hFFFD, 32'hFFFD};
      if (strobe) begin
        left <= last ? 0 : more;
        code <= value;
        low <= 8'h80;
        high <= 8'hBF;
        if (!continues)
          case (data)
            8'hE0: low <= 8'hA0;
            8'hED: high <= 8'h9F;
            8'hF0: low <= 8'h90;
            8'hF4: high <= 8'h8F;
          endcase
      end
    end
endmodule
