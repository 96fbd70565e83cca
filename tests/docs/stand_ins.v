// SPDX-License-Identifier: BSD-2-Clause
// Correct decoders with the ports and the protocols of the cores that docs/conformance compares, for tests of its
// wrappers. All of them are this one, which requests the byte that breaks a sequence again, behind other ports.
module resend (
  input clk, input rst,
  input strobe, input [7:0] data,
  output reg valid, output reg error, output reg again, output reg [20:0] code_point
);
  reg [1:0] left;
  reg [14:0] code;
  reg [7:0] low, high;
  wire [1:0] more = data < 8'hC2 || data > 8'hF4 ? 0 : data < 8'hE0 ? 1 : data < 8'hF0 ? 2 : 3;

  always @(posedge clk) begin
    {valid, error, again} <= 0;
    if (rst) left <= 0;
    else if (strobe) begin
      low <= data == 8'hE0 ? 8'hA0 : data == 8'hF0 ? 8'h90 : 8'h80;
      high <= data == 8'hED ? 8'h9F : data == 8'hF4 ? 8'h8F : 8'hBF;
      if (left != 0 && (data < low || data > high)) begin
        left <= 0;
        {valid, error, again} <= 3'b111;
      end else if (left != 0) begin
        left <= left - 1;
        code <= {code[8:0], data[5:0]};
        valid <= left == 1;
        code_point <= {code, data[5:0]};
      end else begin
        left <= more;
        code <= more == 1 ? data[4:0] : more == 2 ? data[3:0] : data[2:0];
        valid <= more == 0;
        error <= more == 0 && data[7];
        code_point <= data;
      end
    end
  end
endmodule

module utf8decoder (
  input clock, input reset, input enable, input [7:0] octet, output [2:0] status, output [20:0] codepoint
);
  wire valid, error, again;
  resend decoder (clock, reset, enable, octet, valid, error, again, codepoint);
  assign status = !valid ? 1 : again ? 4 : error ? 3 : 2;
endmodule

module UTF8Decoder (
  input clock, input reset, input allow, input finish, input [7:0] byte, output [20:0] code_point, output [1:0] status
);
  wire valid, error, again;
  reg later;
  reg [7:0] data;
  always @(posedge clock) {later, data} <= {allow && !reset, byte};
  resend decoder (clock, reset, later, data, valid, error, again, code_point);
  assign status = !valid ? 1 : error ? 3 : 2;
endmodule

module hardware_utf8 (
  input [7:0] din, output reg [7:0] dout, input chk_range, input cbe, input cin, input cout, input bin, input bout,
  input uin, input uout, output ready, output retry, output error, input rst_in, input rst_out, input clk
);
  wire valid;
  wire [20:0] point;
  reg [1:0] part;
  resend decoder (clk, !rst_in, !bin, din, valid, error, retry, point);
  assign ready = valid && !error;
  always @(posedge clk)
    if (!rst_in) part <= 0;
    else if (!cout) begin
      dout <= point >> (8 * part);
      part <= part + 1;
    end
endmodule

module tqvp_rebeccargb_hardware_utf8 (
  input clk, input rst_n, input [7:0] ui_in, output [7:0] uo_out,
  input [3:0] address, input data_write, input [7:0] data_in, output [7:0] data_out
);
  wire valid, error, again;
  wire [20:0] point;
  wire clears = data_write && address == 0;
  resend decoder (clk, !rst_n || clears, data_write && address == 3, data_in, valid, error, again, point);
  assign uo_out = 0;
  assign data_out = address[3] ? point >> (8 * (11 - address)) : {2'b0, error, 3'b0, again, valid && !error};
endmodule
