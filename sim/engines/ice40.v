// SPDX-License-Identifier: BSD-2-Clause
// The cells of iCE40 that occur in netlists of this project, after synthesis (SB_*) and after routing (ICESTORM_*, with
// the pads and buffers SB_IO and SB_GB).
//
// Every bit is 0 or 1. Flip-flops and the outputs of memories are 0 at the start, as after the configuration of the
// device. An input without a connection has the value given here. Cells that do not occur are missing on purpose: a
// netlist with one is rejected.

module SB_LUT4(input I0 = 0, input I1 = 0, input I2 = 0, input I3 = 0, output O);
  parameter [15:0] LUT_INIT = 0;
  assign O = LUT_INIT[{I3, I2, I1, I0}];
endmodule

module SB_CARRY(input CI = 0, input I0 = 0, input I1 = 0, output CO);
  wire [1:0] sum = {1'b0, CI} + {1'b0, I0} + {1'b0, I1};
  assign CO = sum[1];
endmodule

module SB_DFF(input C, input D, output reg Q);
  initial Q = 0;
  always @(posedge C) Q <= D;
endmodule

module SB_DFFE(input C, input E = 1, input D, output reg Q);
  initial Q = 0;
  always @(posedge C) if (E) Q <= D;
endmodule

// A synchronous set or reset has no effect without the enable, if there is one.
module SB_DFFSR(input C, input R = 0, input D, output reg Q);
  initial Q = 0;
  always @(posedge C) Q <= D & ~R;
endmodule

module SB_DFFSS(input C, input S = 0, input D, output reg Q);
  initial Q = 0;
  always @(posedge C) Q <= D | S;
endmodule

module SB_DFFESR(input C, input E = 1, input R = 0, input D, output reg Q);
  initial Q = 0;
  always @(posedge C) if (E) Q <= D & ~R;
endmodule

module SB_DFFESS(input C, input E = 1, input S = 0, input D, output reg Q);
  initial Q = 0;
  always @(posedge C) if (E) Q <= D | S;
endmodule

// 256 rows of 16 bits. In mode M, 2**M words share a row, and the upper bits of the address select one: bit B of word W
// is bit B * 2**M + W of the row. Its pin is bit B * 2**M of the data, plus 0, 0, 1 or 3 in mode 0, 1, 2 or 3.
module SB_RAM40_4K(
  input RCLK, input RCLKE = 1, input RE = 0, input [10:0] RADDR, output reg [15:0] RDATA,
  input WCLK, input WCLKE = 1, input WE = 0, input [10:0] WADDR, input [15:0] WDATA, input [15:0] MASK = 0
);
  parameter [1:0] READ_MODE = 0;
  parameter [1:0] WRITE_MODE = 0;
  parameter NEG_CLK_R = 0;
  parameter NEG_CLK_W = 0;
  parameter [255:0] INIT_0 = 0;
  parameter [255:0] INIT_1 = 0;
  parameter [255:0] INIT_2 = 0;
  parameter [255:0] INIT_3 = 0;
  parameter [255:0] INIT_4 = 0;
  parameter [255:0] INIT_5 = 0;
  parameter [255:0] INIT_6 = 0;
  parameter [255:0] INIT_7 = 0;
  parameter [255:0] INIT_8 = 0;
  parameter [255:0] INIT_9 = 0;
  parameter [255:0] INIT_A = 0;
  parameter [255:0] INIT_B = 0;
  parameter [255:0] INIT_C = 0;
  parameter [255:0] INIT_D = 0;
  parameter [255:0] INIT_E = 0;
  parameter [255:0] INIT_F = 0;
  localparam [4095:0] INIT = {
    INIT_F, INIT_E, INIT_D, INIT_C, INIT_B, INIT_A, INIT_9, INIT_8,
    INIT_7, INIT_6, INIT_5, INIT_4, INIT_3, INIT_2, INIT_1, INIT_0
  };
  localparam READ_SHARE = 1 << READ_MODE;
  localparam WRITE_SHARE = 1 << WRITE_MODE;
  localparam READ_PIN = READ_MODE ? READ_SHARE / 2 - 1 : 0;
  localparam WRITE_PIN = WRITE_MODE ? WRITE_SHARE / 2 - 1 : 0;

  reg [15:0] rows [0:255];
  integer row;
  initial begin
    RDATA = 0;
    for (row = 0; row < 256; row = row + 1) rows[row] = INIT[16 * row +: 16];
  end

  wire [15:0] changed, new_bits, found, read;
  wire [2:0] read_word = RADDR[10:8] & (READ_SHARE - 1);
  wire [2:0] write_word = WADDR[10:8] & (WRITE_SHARE - 1);
  assign found = rows[RADDR[7:0]];
  genvar n;
  generate
    for (n = 0; n < 16; n = n + 1) begin : bits
      assign changed[n] = WRITE_MODE ? write_word == n % WRITE_SHARE : ~MASK[n];
      assign new_bits[n] = WDATA[n - n % WRITE_SHARE + WRITE_PIN];
      if (n % READ_SHARE == READ_PIN) begin
        wire [READ_SHARE - 1:0] words = found[n - READ_PIN +: READ_SHARE];
        assign read[n] = words[read_word];
      end else begin
        assign read[n] = 0;
      end
    end
  endgenerate

  wire read_rises = NEG_CLK_R ? ~RCLK : RCLK;
  wire write_rises = NEG_CLK_W ? ~WCLK : WCLK;
  always @(posedge read_rises) if (RE & RCLKE) RDATA <= read;
  always @(posedge write_rises) if (WE & WCLKE) rows[WADDR[7:0]] <= (rows[WADDR[7:0]] & ~changed) | (new_bits & changed);
endmodule

// A logic cell: LUT, carry and flip-flop.
module ICESTORM_LC(
  input I0 = 0, input I1 = 0, input I2 = 0, input I3 = 0, input CIN = 0, input CLK, input CEN = 1, input SR = 0,
  output LO, output O, output COUT
);
  parameter [15:0] LUT_INIT = 0;
  parameter CARRY_ENABLE = 0;
  parameter DFF_ENABLE = 0;
  parameter SET_NORESET = 0;
  parameter ASYNC_SR = 0;
  parameter NEG_CLK = 0;
  parameter CIN_CONST = 0;
  parameter CIN_SET = 0;

  SB_LUT4 #(.LUT_INIT(LUT_INIT)) lut(.I0(I0), .I1(I1), .I2(I2), .I3(I3), .O(LO));
  wire rises;
  assign rises = NEG_CLK ? ~CLK : CLK;
  generate
    if (CARRY_ENABLE) begin
      SB_CARRY carry(.CI(CIN_CONST ? CIN_SET : CIN), .I0(I1), .I1(I2), .CO(COUT));
    end else begin
      assign COUT = 0;
    end
    if (DFF_ENABLE) begin
      reg stored;
      initial stored = 0;
      if (ASYNC_SR) begin
        always @(posedge rises, posedge SR) if (SR) stored <= SET_NORESET; else if (CEN) stored <= LO;
      end else begin
        always @(posedge rises) if (CEN) stored <= SR ? SET_NORESET : LO;
      end
      assign O = stored;
    end else begin
      assign O = LO;
    end
  endgenerate
endmodule

// A pad without registers. One that is not driven is 1, as with a pull-up.
module SB_IO(
  inout PACKAGE_PIN, input D_OUT_0 = 0, input D_OUT_1, input OUTPUT_ENABLE = 1, input OUTPUT_CLK, input INPUT_CLK,
  input CLOCK_ENABLE, input LATCH_INPUT_VALUE, output D_IN_0, output D_IN_1
);
  parameter [5:0] PIN_TYPE = 0;
  parameter PULLUP = 0;
  parameter NEG_TRIGGER = 0;
  parameter IO_STANDARD = "";
  generate
    if (PIN_TYPE[5:2] == 4'b0110) begin
      assign PACKAGE_PIN = D_OUT_0;
    end else if (PIN_TYPE[5:2] == 4'b1010) begin
      assign PACKAGE_PIN = D_OUT_0 | ~OUTPUT_ENABLE;
    end else if (PIN_TYPE != 6'b000001) begin
      (* keep *) SB_IO_with_a_register unknown();
    end
  endgenerate
  assign D_IN_0 = PACKAGE_PIN;
  assign D_IN_1 = 0;
endmodule

module SB_GB(input USER_SIGNAL_TO_GLOBAL_BUFFER, output GLOBAL_BUFFER_OUTPUT);
  assign GLOBAL_BUFFER_OUTPUT = USER_SIGNAL_TO_GLOBAL_BUFFER;
endmodule
