// SPDX-License-Identifier: BSD-2-Clause
// A correct decoder behind registers. A byte is written to the address 0; the address 1 has the status: bit 0 an output,
// bit 1 a mark, bit 2 the byte is to be written again, bit 7 busy. A write to it clears the output, whose code point is at
// the addresses 0, 2 and 3. Data are available one cycle after an access.
module bus (
  input clk, input rst_n,
  input select_n, input write, input [1:0] address, input [7:0] data_in, output reg [7:0] data_out
);
  wire accessed = !select_n && write;
  wire valid, error, again;
  wire [20:0] point;
  reg [20:0] code;
  reg [2:0] status, busy;
  resend decoder (clk, !rst_n, accessed && address == 0, data_in, valid, error, again, point);

  always @(posedge clk) begin
    if (valid) code <= point;
    busy <= {busy[1:0], accessed};
    status <= !rst_n || accessed ? 0 : status | {again, error, valid};
    if (!select_n)
      case (address)
        0: data_out <= code[7:0];
        1: data_out <= {|busy, 4'b0, status};
        2: data_out <= code[15:8];
        3: data_out <= code[20:16];
      endcase
  end
endmodule
