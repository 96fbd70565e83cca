// SPDX-License-Identifier: BSD-2-Clause
// A decoder with a handshake and one register, which holds a byte back while it emits the mark of the sequence before.
// Its fault: it looks at the value when the sequence is complete, and then emits one mark for all its bytes.
module marks (
  input clk, input rst,
  input [7:0] s_data, input s_last, input s_valid, output s_ready,
  output reg [20:0] m_point, output reg m_error, output reg m_last, output reg m_valid, input m_ready
);
  reg [1:0] left, size;
  reg [14:0] code;
  wire [20:0] value = {code, s_data[5:0]};
  wire free = !m_valid || m_ready;
  wire breaks = left != 0 && s_data[7:6] != 2'b10;
  wire leads = left == 0 && s_data >= 8'hC0 && s_data < 8'hF8;
  wire bad = size == 1 ? value < 'h80 : size == 2 ? value < 'h800 || value[20:11] == 'h1B : value < 'h10000 || value > 'h10FFFF;
  wire [1:0] more = s_data < 8'hE0 ? 1 : s_data < 8'hF0 ? 2 : 3;
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
        if (left == 1) begin
          {m_valid, m_error, m_point} <= {1'b1, bad, bad ? 21'hFFFD : value};
        end else if (left != 0 || leads) begin
          {m_valid, m_error, m_point} <= {{2{s_last}}, 21'hFFFD};
        end else begin
          {m_valid, m_error, m_point} <= s_data < 8'h80 ? {2'b10, 13'b0, s_data} : {2'b11, 21'hFFFD};
        end
        if (leads) size <= more;
        left <= s_last ? 0 : left != 0 ? left - 1 : leads ? more : 0;
        code <= left != 0 ? {code[8:0], s_data[5:0]} : s_data < 8'hE0 ? s_data[4:0] : s_data < 8'hF0 ? s_data[3:0] : s_data[2:0];
      end
    end
endmodule
