// SPDX-License-Identifier: BSD-2-Clause
// Sends "né", a byte that is never valid, and U+1F600: four characters, one of which is an error.

module text_counter_bench;
  reg clk = 1'b0, rst = 1'b1, last = 1'b0, valid = 1'b0;
  reg [7:0] data = 8'h00;
  wire ready, done;
  wire [15:0] characters, errors;
  reg [63:0] text = {8'h80, 8'h98, 8'h9F, 8'hF0, 8'hFF, 8'hA9, 8'hC3, 8'h6E};
  integer sent = 0;

  always #5 clk = ~clk;

  text_counter dut (clk, rst, data, last, valid, ready, characters, errors, done);

  initial begin
    repeat (2) @(posedge clk);
    #1 rst = 1'b0;
    while (sent < 8) begin
      data = text[8*sent +: 8];
      last = sent == 7;
      valid = 1'b1;
      #1 if (ready) sent = sent + 1;
      @(posedge clk);
      #1 ;
    end
    valid = 1'b0;
    repeat (20) @(posedge clk);
    if (done && characters == 16'd4 && errors == 16'd1) $display("PASS: 4 characters, 1 error");
    else $display("FAIL: done %b, %0d characters, %0d errors", done, characters, errors);
    $finish;
  end
endmodule
