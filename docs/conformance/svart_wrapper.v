// SPDX-License-Identifier: BSD-2-Clause
// The decoder `utf8decoder` of svart with a handshake at its input. After each byte it states the status: 1 in progress,
// 2 a code point, 3 an ill-formed byte, 4 the byte breaks a sequence and must be sent again.
module svart_wrapper (
  input wire clk, input wire rst,
  input wire [7:0] s_data, input wire s_valid, output wire s_ready,
  output wire [20:0] m_point, output wire m_error, output wire m_valid
);
  wire [20:0] point;
  wire [2:0] status;
  reg answered = 1'b0;  // whether the status is that of a byte, which is accepted unless it must be sent again
  wire again = answered && status == 3'd4;

  assign s_ready = answered && !again;
  assign m_valid = answered && status != 3'd1;
  assign m_error = status != 3'd2;
  assign m_point = m_error ? 21'hFFFD : point;

  always @(posedge clk) answered <= !rst && s_valid && !answered;

  utf8decoder decoder (
    .clock(clk), .reset(rst), .enable(s_valid && !answered), .octet(s_data), .status(status), .codepoint(point)
  );
endmodule
