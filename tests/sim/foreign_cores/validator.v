// SPDX-License-Identifier: BSD-2-Clause
// A correct validator: after the last byte of a text one output, which states whether the text is ill-formed.
module validator (
  input clk, input rst,
  input [7:0] s_data, input s_last, input s_valid, output s_ready,
  output reg m_wrong, output reg m_valid, input m_ready
);
  reg [1:0] left;
  reg wrong;
  reg [7:0] low, high;
  wire continues = s_data >= low && s_data <= high;
  wire [1:0] after = left != 0 ? left - 1 : s_data < 8'hC2 || s_data > 8'hF4 ? 0 : s_data < 8'hE0 ? 1 : s_data < 8'hF0 ? 2 : 3;
  wire bad = wrong || (left != 0 ? !continues : s_data[7] && after == 0);
  assign s_ready = !m_valid || m_ready;

  always @(posedge clk)
    if (rst) begin
      {left, wrong, m_valid} <= 0;
    end else if (s_ready) begin
      m_valid <= s_valid && s_last;
      if (s_valid) begin
        low <= s_data == 8'hE0 ? 8'hA0 : s_data == 8'hF0 ? 8'h90 : 8'h80;
        high <= s_data == 8'hED ? 8'h9F : s_data == 8'hF4 ? 8'h8F : 8'hBF;
        left <= s_last ? 0 : after;
        wrong <= !s_last && bad;
        m_wrong <= bad || after != 0;
      end
    end
endmodule
