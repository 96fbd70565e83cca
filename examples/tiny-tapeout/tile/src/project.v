// SPDX-License-Identifier: BSD-2-Clause
// A UTF-8 decoder behind the pins of a Tiny Tapeout tile.
//
// Both sides have a handshake of four phases, so that the host needs neither the clock of the tile nor its speed:
//   a byte:  the host asserts send, waits for done, deasserts send, and waits until done is deasserted;
//   an item: the host waits for valid, reads uo_out for each value of select, asserts next, waits until valid is
//            deasserted, and deasserts next.
// done comes at once if all items have been read, and otherwise perhaps only after the next one has been. ui_in, last and
// empty are steady while send is asserted.
// Throughput: one byte in at least 6 cycles of clk. Latency: valid is asserted at most 5 cycles after send.

`default_nettype none

module tt_um_utf8fpga (
  input  wire [7:0] ui_in,    // a byte
  output reg  [7:0] uo_out,   // a byte of the item, see select
  input  wire [7:0] uio_in,   // 0 send, 1 last, 2 empty, 3 next, 5:4 select
  output wire [7:0] uio_out,  // 6 done, 7 valid
  output wire [7:0] uio_oe,   // 1 for an output
  input  wire       ena,      // always 1 while the tile is powered
  input  wire       clk,      // rising edge
  input  wire       rst_n     // synchronous, active low
);
  localparam CODE_POINT_LOW = 2'd0, CODE_POINT_MIDDLE = 2'd1, CODE_POINT_HIGH = 2'd2, FLAGS = 2'd3;

  wire       last = uio_in[1];      // the text ends after this byte
  wire       empty = uio_in[2];     // there is no byte: with last, the text ends
  wire [1:0] select = uio_in[5:4];  // the byte of the item at uo_out

  // The host has another clock: two flip-flops for each strobe.
  reg [1:0] send, next;
  reg       next_before;  // next in the preceding cycle
  reg       done;         // the byte of this send has been transferred

  wire        byte_ready, item_valid, item_last;
  wire [31:0] code_point;
  wire  [3:0] item_keep, cause_and_error;
  wire        byte_valid = send[1] & ~done;

  always @(posedge clk) begin
    if (!rst_n) begin
      {send, next, next_before, done} <= 0;
    end else begin
      send <= {send[0], uio_in[0]};
      next <= {next[0], uio_in[3]};
      next_before <= next[1];
      done <= send[1] & (done | byte_ready);
    end
  end

  utf8_decoder decoder (
    .clk(clk),
    .rst(~rst_n),
    .s_axis_tdata(ui_in),
    .s_axis_tkeep(~empty),
    .s_axis_tlast(last),
    .s_axis_tvalid(byte_valid),
    .s_axis_tready(byte_ready),
    .m_axis_tdata(code_point),
    .m_axis_tkeep(item_keep),
    .m_axis_tuser(cause_and_error),
    .m_axis_tlast(item_last),
    .m_axis_tvalid(item_valid),
    .m_axis_tready(next[1] & ~next_before)
  );

  always @* begin
    case (select)
      CODE_POINT_LOW: uo_out = code_point[7:0];
      CODE_POINT_MIDDLE: uo_out = code_point[15:8];
      CODE_POINT_HIGH: uo_out = {3'b000, code_point[20:16]};
      FLAGS: uo_out = {2'b00, item_last, item_keep[0], cause_and_error};
    endcase
  end

  assign uio_out = {item_valid & ~next[1], done, 6'b000000};
  assign uio_oe = 8'b11000000;

  wire unused = &{ena, uio_in[7:6], code_point[31:21], item_keep[3:1]};
endmodule
