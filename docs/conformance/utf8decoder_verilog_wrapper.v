// SPDX-License-Identifier: BSD-2-Clause
// The decoder `UTF8Decoder` with a handshake at its input. Two cycles after each byte it states the status: 1 in progress,
// 2 a code point, 3 ill-formed. The byte that breaks a sequence must be sent again. At the end of a text, `finish` also
// gives the status 2 where no sequence is open, so that it is not used here.
module utf8decoder_verilog_wrapper (
  input wire clk, input wire rst,
  input wire [7:0] s_data, input wire s_valid, output wire s_ready,
  output wire [20:0] m_point, output wire m_error, output wire m_valid
);
  wire [20:0] point;
  wire [1:0] status;
  reg [1:0] phase = 2'd0;  // cycles since the byte; 2 at its status
  reg inside = 1'b0;  // whether a sequence is open
  wire answered = phase == 2'd2;
  wire again = status == 2'd3 && inside;

  assign s_ready = answered && !again;
  assign m_valid = answered && status[1];
  assign m_error = status == 2'd3;
  assign m_point = m_error ? 21'hFFFD : point;

  always @(posedge clk)
    if (rst) begin
      phase <= 2'd0;
      inside <= 1'b0;
    end else if (answered) begin
      phase <= 2'd0;
      inside <= !status[1];
    end else if (s_valid) begin
      phase <= phase + 2'd1;
    end

  UTF8Decoder decoder (
    .clock(clk), .reset(rst), .allow(s_valid && phase == 2'd0), .finish(1'b0), .byte(s_data),
    .code_point(point), .status(status)
  );
endmodule
