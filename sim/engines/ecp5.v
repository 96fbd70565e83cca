// SPDX-License-Identifier: BSD-2-Clause
// The cells of ECP5 that occur in netlists of this project after synthesis.
//
// Every bit is 0 or 1. A flip-flop has its set or reset value at the start, as after the configuration of the device.
// Cells that do not occur are missing on purpose: a netlist with one is rejected.

module LUT4(input A, input B, input C, input D, output Z);
  parameter [15:0] INIT = 0;
  assign Z = INIT[{D, C, B, A}];
endmodule

module PFUMX(input ALUT, input BLUT, input C0, output Z);
  assign Z = C0 ? ALUT : BLUT;
endmodule

module L6MUX21(input D0, input D1, input SD, output Z);
  assign Z = SD ? D1 : D0;
endmodule

// Two LUTs with a carry. With INJECT1 the carry out of a half is its LUT and its carry in, and does not enter the sum;
// otherwise the LUT selects between the carry in and, from A and B alone, the lowest quarter of itself.
module CCU2C_half(input CIN, input A, input B, input C, input D, output S, output COUT);
  parameter [15:0] INIT = 0;
  parameter INJECT1 = "YES";
  wire propagates = INIT[{D, C, B, A}];
  wire generates = INIT[{2'b00, B, A}];
  assign S = INJECT1 == "YES" ? propagates : propagates ^ CIN;
  assign COUT = propagates ? CIN : INJECT1 == "YES" ? 1'b0 : generates;
endmodule

module CCU2C(
  input CIN, input A0, input B0, input C0, input D0, input A1, input B1, input C1, input D1,
  output S0, output S1, output COUT
);
  parameter [15:0] INIT0 = 0;
  parameter [15:0] INIT1 = 0;
  parameter INJECT1_0 = "YES";
  parameter INJECT1_1 = "YES";
  wire carry;
  CCU2C_half #(.INIT(INIT0), .INJECT1(INJECT1_0)) low(
    .CIN(CIN), .A(A0), .B(B0), .C(C0), .D(D0), .S(S0), .COUT(carry)
  );
  CCU2C_half #(.INIT(INIT1), .INJECT1(INJECT1_1)) high(
    .CIN(carry), .A(A1), .B(B1), .C(C1), .D(D1), .S(S1), .COUT(COUT)
  );
endmodule

// The set or reset is independent of the enable.
module TRELLIS_FF(input CLK, input LSR = 0, input CE = 1, input DI, output reg Q);
  parameter GSR = "ENABLED";
  parameter CEMUX = "1";
  parameter CLKMUX = "CLK";
  parameter LSRMUX = "LSR";
  parameter LSRMODE = "LSR";
  parameter SRMODE = "LSR_OVER_CE";
  parameter REGSET = "RESET";
  localparam VALUE = REGSET == "SET";
  wire enabled = CEMUX == "1" | (CEMUX == "0" ? 1'b0 : CEMUX == "INV" ? ~CE : CE);
  wire resets = LSRMUX == "INV" ? ~LSR : LSR;
  wire rises = CLKMUX == "INV" ? ~CLK : CLK;
  initial Q = VALUE;
  generate
    if (LSRMODE != "LSR") begin
      (* keep *) TRELLIS_FF_with_a_preload unknown();
    end
    if (SRMODE == "ASYNC") begin
      always @(posedge rises, posedge resets) if (resets) Q <= VALUE; else if (enabled) Q <= DI;
    end else begin
      always @(posedge rises) if (resets) Q <= VALUE; else if (enabled) Q <= DI;
    end
  endgenerate
endmodule

module TRELLIS_DPR16X4(
  input [3:0] DI, input [3:0] WAD, input WRE, input WCK, input [3:0] RAD, output [3:0] DO
);
  parameter WCKMUX = "WCK";
  parameter WREMUX = "WRE";
  parameter [63:0] INITVAL = 0;
  reg [3:0] rows [0:15];
  integer row;
  initial for (row = 0; row < 16; row = row + 1) rows[row] = INITVAL[4 * row +: 4];
  wire rises = WCKMUX == "INV" ? ~WCK : WCK;
  wire enabled = WREMUX == "1" | (WREMUX == "0" ? 1'b0 : WREMUX == "INV" ? ~WRE : WRE);
  always @(posedge rises) if (enabled) rows[WAD] <= DI;
  assign DO = rows[RAD];
endmodule

// A block RAM that is initially 0, in two modes: 2048 rows of 9 bits, whose two ports read before they write, and 512
// rows of 36 bits, which port A writes, with an enable per 9 bits, and port B reads. If a port reads the row that the
// other one writes in the same cycle, it reads the former value, which the device does not guarantee.
module DP16KD(
  input [17:0] DIA, input [13:0] ADA, input CEA, input OCEA, input CLKA, input WEA, input RSTA, input [2:0] CSA,
  output [17:0] DOA,
  input [17:0] DIB, input [13:0] ADB, input CEB, input OCEB, input CLKB, input WEB, input RSTB, input [2:0] CSB,
  output [17:0] DOB
);
  parameter DATA_WIDTH_A = 18;
  parameter DATA_WIDTH_B = 18;
  parameter REGMODE_A = "NOREG";
  parameter REGMODE_B = "NOREG";
  parameter RESETMODE = "SYNC";
  parameter ASYNC_RESET_RELEASE = "SYNC";
  parameter CSDECODE_A = "0b000";
  parameter CSDECODE_B = "0b000";
  parameter WRITEMODE_A = "NORMAL";
  parameter WRITEMODE_B = "NORMAL";
  parameter CLKAMUX = "CLKA";
  parameter CLKBMUX = "CLKB";
  parameter GSR = "ENABLED";
  localparam IS_PLAIN = REGMODE_A == "NOREG" && REGMODE_B == "NOREG" && CSDECODE_A == "0b000" &&
    CSDECODE_B == "0b000" && CLKAMUX == "CLKA" && CLKBMUX == "CLKB";
  localparam IS_NARROW = IS_PLAIN && DATA_WIDTH_A == 9 && DATA_WIDTH_B == 9 && WRITEMODE_A == "READBEFOREWRITE" &&
    WRITEMODE_B == "READBEFOREWRITE";
  localparam IS_WIDE = IS_PLAIN && DATA_WIDTH_A == 36 && DATA_WIDTH_B == 36;
  wire selected_A = CEA & CSA == 0;
  wire selected_B = CEB & CSB == 0;
  wire [35:0] entry = {DIB, DIA};
  wire [35:0] read;
  assign {DOB, DOA} = read;
  integer row;
  genvar part;
  generate
    if (IS_NARROW) begin
      reg [8:0] rows [0:2047];
      initial for (row = 0; row < 2048; row = row + 1) rows[row] = 0;
      wire [10:0] place_A = ADA[13:3];
      wire [10:0] place_B = ADB[13:3];
      reg [8:0] read_A, read_B;
      initial read_A = 0;
      initial read_B = 0;
      always @(posedge CLKA) if (RSTA) read_A <= 0; else if (selected_A) read_A <= rows[place_A];
      always @(posedge CLKA) if (selected_A & WEA) rows[place_A] <= entry[8:0];
      always @(posedge CLKB) if (RSTB) read_B <= 0; else if (selected_B) read_B <= rows[place_B];
      always @(posedge CLKB) if (selected_B & WEB) rows[place_B] <= entry[26:18];
      assign read = {9'd0, read_B, 9'd0, read_A};
    end else if (IS_WIDE) begin
      wire [8:0] place_A = ADA[13:5];
      wire [8:0] place_B = ADB[13:5];
      // In this mode only the output of port B can be reset.
      for (part = 0; part < 4; part = part + 1) begin
        reg [8:0] rows [0:511];
        initial for (row = 0; row < 512; row = row + 1) rows[row] = 0;
        reg [8:0] read_B;
        initial read_B = 0;
        always @(posedge CLKA) if (selected_A & WEA & ADA[part]) rows[place_A] <= entry[9 * part +: 9];
        always @(posedge CLKB) if (RSTB) read_B <= 0; else if (selected_B) read_B <= rows[place_B];
        assign read[9 * part +: 9] = read_B;
      end
    end else begin
      (* keep *) DP16KD_in_another_mode unknown();
      assign read = 0;
    end
  endgenerate
endmodule
