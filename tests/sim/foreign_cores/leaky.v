// SPDX-License-Identifier: BSD-2-Clause
// A decoder with a handshake and one register, which holds a byte back while it emits the mark of the sequence before.
// Its fault: a sequence that is open at the end of a text stays open in the next one.
module leaky (
  input clk, input rst,
  input [7:0] s_data, input s_last, input s_valid, output s_ready,
  output reg [20:0] m_point, output reg m_error, output reg m_last, output reg m_valid, input m_ready
);
  reg [1:0] left;
  reg [14:0] code;
  reg [7:0] low, high;
  wire free = !m_valid || m_ready;
  wire breaks = left != 0 && (s_data < low || s_data > high);
  wire leads = left == 0 && s_data >= 8'hC2 && s_data <= 8'hF4;
  assign s_ready = free && !breaks;

  always @(posedge clk)
    if (rst) begin
      left <= 0;
      m_valid <= 0;
    end else if (free) begin
      m_valid <= 0;
      m_error <= 0;
      m_last <= s_last && !breaks;
      if (s_valid && breaks) begin
        left <= 0;
        {m_valid, m_error, m_point} <= {2'b11, 21'hFFFD};
      end else if (s_valid) begin
        low <= s_data == 8'hE0 ? 8'hA0 : s_data == 8'hF0 ? 8'h90 : 8'h80;
        high <= s_data == 8'hED && left == 0 ? 8'h9F : s_data == 8'hF4 ? 8'h8F : 8'hBF;
        if (left == 1) begin
          {m_valid, m_point} <= {1'b1, code, s_data[5:0]};
          left <= 0;
        end else if (left != 0 || leads) begin
          left <= left != 0 ? left - 1 : s_data < 8'hE0 ? 1 : s_data < 8'hF0 ? 2 : 3;
          code <= left != 0 ? {code[8:0], s_data[5:0]} : s_data < 8'hE0 ? s_data[4:0] : s_data < 8'hF0 ? s_data[3:0] : s_data[2:0];
          {m_valid, m_error, m_point} <= {{2{s_last}}, 21'hFFFD};
        end else begin
          {m_valid, m_error, m_point} <= s_data < 8'h80 ? {2'b10, 13'b0, s_data} : {2'b11, 21'hFFFD};
        end
      end
    end
endmodule
