// SPDX-License-Identifier: BSD-2-Clause
// The peripheral `tqvp_rebeccargb_hardware_utf8` as a decoder with a handshake at its input. Its registers: 3 a byte of
// UTF-8; 0 the status, and the control, which also clears; 8 to 11 the code point, the high byte first. If the status
// states that the byte broke a sequence, it must be written again.
module tinyqv_hardware_utf8_wrapper (
  input wire clk, input wire rst,
  input wire [7:0] s_data, input wire s_valid, output wire s_ready,
  output wire [31:0] m_point, output wire m_error, output wire m_valid
);
  localparam WRITE = 3'd0, STATUS = 3'd1, READ = 3'd2, EMIT = 3'd3, CLEAR = 3'd4;
  localparam CONTROL = 8'd12;  // big endian, and only code points up to 10FFFF
  reg [2:0] state = WRITE;
  reg [1:0] part = 2'd0;
  reg failed = 1'b0, again = 1'b0;
  reg [31:0] point = 32'd0;
  wire [7:0] data_out;
  wire ready = data_out[0], retry = data_out[1], error = data_out[5];

  assign s_ready = state == STATUS ? !(ready || error) : state == CLEAR && !again;
  assign m_valid = state == EMIT;
  assign m_error = failed;
  assign m_point = failed ? 32'hFFFD : point;

  always @(posedge clk)
    if (rst) begin
      state <= WRITE;
      part <= 2'd0;
    end else
      case (state)
        WRITE: if (s_valid) state <= STATUS;
        STATUS: begin
          {failed, again} <= {error, retry};
          state <= ready || error ? READ : WRITE;
        end
        READ: begin
          part <= part + 2'd1;
          point <= {data_out, point[31:8]};
          if (part == 2'd3) state <= EMIT;
        end
        EMIT: state <= CLEAR;
        default: state <= WRITE;
      endcase

  tqvp_rebeccargb_hardware_utf8 peripheral (
    .clk(clk), .rst_n(!rst), .ui_in(8'd0), .uo_out(),
    .address(state == WRITE ? 4'd3 : state == READ ? 4'd11 - part : 4'd0),
    .data_write(state == WRITE ? s_valid : state == CLEAR), .data_in(state == CLEAR ? CONTROL : s_data),
    .data_out(data_out)
  );
endmodule
