// SPDX-License-Identifier: BSD-2-Clause
// The single-port memory of an iCE40UP in simulation: its contents are arbitrary at first.
module SB_SPRAM256KA(
    input CLOCK, WREN, CHIPSELECT, STANDBY, SLEEP, POWEROFF,
    input [13:0] ADDRESS,
    input [15:0] DATAIN,
    input [3:0] MASKWREN,
    output reg [15:0] DATAOUT
);
  reg [15:0] words [0:16383];
  wire [15:0] mask = {{4{MASKWREN[3]}}, {4{MASKWREN[2]}}, {4{MASKWREN[1]}}, {4{MASKWREN[0]}}};
  integer n;
  initial for (n = 0; n < 16384; n = n + 1) words[n] = 16'h5A5A;
  always @(posedge CLOCK)
    if (CHIPSELECT && WREN) words[ADDRESS] <= words[ADDRESS] & ~mask | DATAIN & mask;
    else if (CHIPSELECT) DATAOUT <= words[ADDRESS];
  wire unused = &{STANDBY, SLEEP, POWEROFF};
endmodule
