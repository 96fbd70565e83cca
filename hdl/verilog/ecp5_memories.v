// SPDX-License-Identifier: BSD-2-Clause
// For Yosys, after synth_ecp5: techmap -map ecp5_memories.v
//
// A memory that is written in each cycle has no write enable: nextpnr-ecp5 would route a constant to each of them.
(* techmap_celltype = "TRELLIS_DPR16X4" *)
module ecp5_memory_always_written (input [3:0] DI, WAD, RAD, input WCK, WRE, output [3:0] DO);
  parameter WCKMUX = "WCK";
  parameter WREMUX = "WRE";
  parameter [63:0] INITVAL = 64'h0;
  parameter _TECHMAP_CONSTVAL_WRE_ = 1'bx;

  wire _TECHMAP_FAIL_ = WREMUX != "WRE" || _TECHMAP_CONSTVAL_WRE_ !== 1'b1;

  TRELLIS_DPR16X4 #(.WCKMUX(WCKMUX), .WREMUX("1"), .INITVAL(INITVAL)) _TECHMAP_REPLACE_ (
    .DI(DI), .WAD(WAD), .RAD(RAD), .WCK(WCK), .DO(DO)
  );
endmodule
