// SPDX-License-Identifier: BSD-2-Clause
// The converter `hardware_utf8` as a decoder with a handshake at its input. It is a byte bus, active low: `bin` writes a
// byte, then `ready`, `error` and `retry` state what it was; `cout` reads the code point in four bytes, the low one first;
// `rst_in` begins the next character. With `retry` the byte broke a sequence and must be written again.
module hardware_utf8_wrapper (
  input wire clk, input wire rst,
  input wire [7:0] s_data, input wire s_valid, output wire s_ready,
  output wire [31:0] m_point, output wire m_error, output wire m_valid
);
  localparam WRITE = 3'd0, STATUS = 3'd1, READ = 3'd2, EMIT = 3'd3, CLEAR = 3'd4;
  reg [2:0] state = WRITE;
  reg [1:0] part = 2'd0;
  reg failed = 1'b0, again = 1'b0;
  reg [31:0] point = 32'd0;
  wire [7:0] dout;
  wire ready, retry, error;

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
        // A byte that is read is at `dout` in the next cycle.
        READ: begin
          part <= part + 2'd1;
          point <= {dout, point[31:8]};
          if (part == 2'd3) state <= EMIT;
        end
        EMIT: state <= CLEAR;
        default: state <= WRITE;
      endcase

  hardware_utf8 converter (
    .clk(clk), .rst_in(!rst && state != CLEAR), .rst_out(1'b1), .chk_range(1'b1), .cbe(1'b0),
    .din(s_data), .dout(dout), .bin(!(state == WRITE && s_valid)), .bout(1'b1),
    .cin(1'b1), .cout(state != READ && !(state == STATUS && (ready || error))), .uin(1'b1), .uout(1'b1),
    .ready(ready), .retry(retry), .error(error)
  );
endmodule
