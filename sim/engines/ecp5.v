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
  input DIA0, input DIA1, input DIA2, input DIA3, input DIA4, input DIA5, input DIA6, input DIA7, input DIA8,
  input DIA9, input DIA10, input DIA11, input DIA12, input DIA13, input DIA14, input DIA15, input DIA16, input DIA17,
  input ADA0, input ADA1, input ADA2, input ADA3, input ADA4, input ADA5, input ADA6, input ADA7, input ADA8,
  input ADA9, input ADA10, input ADA11, input ADA12, input ADA13, input CEA, input OCEA, input CLKA, input WEA,
  input RSTA, input CSA0, input CSA1, input CSA2, output DOA0, output DOA1, output DOA2, output DOA3, output DOA4,
  output DOA5, output DOA6, output DOA7, output DOA8, output DOA9, output DOA10, output DOA11, output DOA12,
  output DOA13, output DOA14, output DOA15, output DOA16, output DOA17,
  input DIB0, input DIB1, input DIB2, input DIB3, input DIB4, input DIB5, input DIB6, input DIB7, input DIB8,
  input DIB9, input DIB10, input DIB11, input DIB12, input DIB13, input DIB14, input DIB15, input DIB16, input DIB17,
  input ADB0, input ADB1, input ADB2, input ADB3, input ADB4, input ADB5, input ADB6, input ADB7, input ADB8,
  input ADB9, input ADB10, input ADB11, input ADB12, input ADB13, input CEB, input OCEB, input CLKB, input WEB,
  input RSTB, input CSB0, input CSB1, input CSB2, output DOB0, output DOB1, output DOB2, output DOB3, output DOB4,
  output DOB5, output DOB6, output DOB7, output DOB8, output DOB9, output DOB10, output DOB11, output DOB12,
  output DOB13, output DOB14, output DOB15, output DOB16, output DOB17
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
  parameter [319:0] INITVAL_00 = 0;
  parameter [319:0] INITVAL_01 = 0;
  parameter [319:0] INITVAL_02 = 0;
  parameter [319:0] INITVAL_03 = 0;
  parameter [319:0] INITVAL_04 = 0;
  parameter [319:0] INITVAL_05 = 0;
  parameter [319:0] INITVAL_06 = 0;
  parameter [319:0] INITVAL_07 = 0;
  parameter [319:0] INITVAL_08 = 0;
  parameter [319:0] INITVAL_09 = 0;
  parameter [319:0] INITVAL_0A = 0;
  parameter [319:0] INITVAL_0B = 0;
  parameter [319:0] INITVAL_0C = 0;
  parameter [319:0] INITVAL_0D = 0;
  parameter [319:0] INITVAL_0E = 0;
  parameter [319:0] INITVAL_0F = 0;
  parameter [319:0] INITVAL_10 = 0;
  parameter [319:0] INITVAL_11 = 0;
  parameter [319:0] INITVAL_12 = 0;
  parameter [319:0] INITVAL_13 = 0;
  parameter [319:0] INITVAL_14 = 0;
  parameter [319:0] INITVAL_15 = 0;
  parameter [319:0] INITVAL_16 = 0;
  parameter [319:0] INITVAL_17 = 0;
  parameter [319:0] INITVAL_18 = 0;
  parameter [319:0] INITVAL_19 = 0;
  parameter [319:0] INITVAL_1A = 0;
  parameter [319:0] INITVAL_1B = 0;
  parameter [319:0] INITVAL_1C = 0;
  parameter [319:0] INITVAL_1D = 0;
  parameter [319:0] INITVAL_1E = 0;
  parameter [319:0] INITVAL_1F = 0;
  parameter [319:0] INITVAL_20 = 0;
  parameter [319:0] INITVAL_21 = 0;
  parameter [319:0] INITVAL_22 = 0;
  parameter [319:0] INITVAL_23 = 0;
  parameter [319:0] INITVAL_24 = 0;
  parameter [319:0] INITVAL_25 = 0;
  parameter [319:0] INITVAL_26 = 0;
  parameter [319:0] INITVAL_27 = 0;
  parameter [319:0] INITVAL_28 = 0;
  parameter [319:0] INITVAL_29 = 0;
  parameter [319:0] INITVAL_2A = 0;
  parameter [319:0] INITVAL_2B = 0;
  parameter [319:0] INITVAL_2C = 0;
  parameter [319:0] INITVAL_2D = 0;
  parameter [319:0] INITVAL_2E = 0;
  parameter [319:0] INITVAL_2F = 0;
  parameter [319:0] INITVAL_30 = 0;
  parameter [319:0] INITVAL_31 = 0;
  parameter [319:0] INITVAL_32 = 0;
  parameter [319:0] INITVAL_33 = 0;
  parameter [319:0] INITVAL_34 = 0;
  parameter [319:0] INITVAL_35 = 0;
  parameter [319:0] INITVAL_36 = 0;
  parameter [319:0] INITVAL_37 = 0;
  parameter [319:0] INITVAL_38 = 0;
  parameter [319:0] INITVAL_39 = 0;
  parameter [319:0] INITVAL_3A = 0;
  parameter [319:0] INITVAL_3B = 0;
  parameter [319:0] INITVAL_3C = 0;
  parameter [319:0] INITVAL_3D = 0;
  parameter [319:0] INITVAL_3E = 0;
  parameter [319:0] INITVAL_3F = 0;
  localparam HAS_VALUES = |(INITVAL_00 | INITVAL_01 | INITVAL_02 | INITVAL_03 | INITVAL_04 | INITVAL_05 |
    INITVAL_06 | INITVAL_07 | INITVAL_08 | INITVAL_09 | INITVAL_0A | INITVAL_0B |
    INITVAL_0C | INITVAL_0D | INITVAL_0E | INITVAL_0F | INITVAL_10 | INITVAL_11 |
    INITVAL_12 | INITVAL_13 | INITVAL_14 | INITVAL_15 | INITVAL_16 | INITVAL_17 |
    INITVAL_18 | INITVAL_19 | INITVAL_1A | INITVAL_1B | INITVAL_1C | INITVAL_1D |
    INITVAL_1E | INITVAL_1F | INITVAL_20 | INITVAL_21 | INITVAL_22 | INITVAL_23 |
    INITVAL_24 | INITVAL_25 | INITVAL_26 | INITVAL_27 | INITVAL_28 | INITVAL_29 |
    INITVAL_2A | INITVAL_2B | INITVAL_2C | INITVAL_2D | INITVAL_2E | INITVAL_2F |
    INITVAL_30 | INITVAL_31 | INITVAL_32 | INITVAL_33 | INITVAL_34 | INITVAL_35 |
    INITVAL_36 | INITVAL_37 | INITVAL_38 | INITVAL_39 | INITVAL_3A | INITVAL_3B |
    INITVAL_3C | INITVAL_3D | INITVAL_3E | INITVAL_3F);
  localparam IS_PLAIN = REGMODE_A == "NOREG" && REGMODE_B == "NOREG" && CSDECODE_A == "0b000" &&
    CSDECODE_B == "0b000" && CLKAMUX == "CLKA" && CLKBMUX == "CLKB" && !HAS_VALUES;
  localparam IS_NARROW = IS_PLAIN && DATA_WIDTH_A == 9 && DATA_WIDTH_B == 9 && WRITEMODE_A == "READBEFOREWRITE" &&
    WRITEMODE_B == "READBEFOREWRITE";
  localparam IS_WIDE = IS_PLAIN && DATA_WIDTH_A == 36 && DATA_WIDTH_B == 36;
  wire selected_A = CEA & ~CSA2 & ~CSA1 & ~CSA0;
  wire selected_B = CEB & ~CSB2 & ~CSB1 & ~CSB0;
  wire [35:0] entry = {
    DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
    DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0
  };
  wire [35:0] read;
  assign {
    DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0,
    DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0
  } = read;
  integer row;
  genvar part;
  generate
    if (IS_NARROW) begin
      reg [8:0] rows [0:2047];
      initial for (row = 0; row < 2048; row = row + 1) rows[row] = 0;
      wire [10:0] place_A = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3};
      wire [10:0] place_B = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3};
      reg [8:0] read_A, read_B;
      initial read_A = 0;
      initial read_B = 0;
      always @(posedge CLKA) if (RSTA) read_A <= 0; else if (selected_A) read_A <= rows[place_A];
      always @(posedge CLKA) if (selected_A & WEA) rows[place_A] <= entry[8:0];
      always @(posedge CLKB) if (RSTB) read_B <= 0; else if (selected_B) read_B <= rows[place_B];
      always @(posedge CLKB) if (selected_B & WEB) rows[place_B] <= entry[26:18];
      assign read = {9'd0, read_B, 9'd0, read_A};
    end else if (IS_WIDE) begin
      wire [8:0] place_A = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5};
      wire [8:0] place_B = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5};
      wire [3:0] enables = {ADA3, ADA2, ADA1, ADA0};
      // In this mode only the output of port B can be reset.
      for (part = 0; part < 4; part = part + 1) begin
        reg [8:0] rows [0:511];
        initial for (row = 0; row < 512; row = row + 1) rows[row] = 0;
        reg [8:0] read_B;
        initial read_B = 0;
        always @(posedge CLKA) if (selected_A & WEA & enables[part]) rows[place_A] <= entry[9 * part +: 9];
        always @(posedge CLKB) if (RSTB) read_B <= 0; else if (selected_B) read_B <= rows[place_B];
        assign read[9 * part +: 9] = read_B;
      end
    end else begin
      (* keep *) DP16KD_in_another_mode unknown();
      assign read = 0;
    end
  endgenerate
endmodule
