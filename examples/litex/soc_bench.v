// SPDX-License-Identifier: BSD-2-Clause
// Sends "né", a byte that is never valid, and U+1F600 through the SoC, and compares the words.

module soc_bench;
  reg clk = 1'b0, rst = 1'b1, last = 1'b0, valid = 1'b0;
  reg [31:0] text = 32'd0;
  wire ready, words_last, words_valid;
  wire [127:0] words;
  wire [15:0] keep;
  wire [3:0] errors;
  integer got = 0, wrong = 0, lane;
  reg [32:0] expected [0:3];

  always #5 clk = ~clk;

  soc dut (
    .clk(clk),
    .rst(rst),
    .text_tdata(text),
    .text_tkeep(4'b1111),
    .text_tid(1'b0),
    .text_tdest(1'b0),
    .text_tuser(1'b0),
    .text_tlast(last),
    .text_tvalid(valid),
    .text_tready(ready),
    .words_tdata(words),
    .words_tkeep(keep),
    .words_tuser(errors),
    .words_tlast(words_last),
    .words_tvalid(words_valid),
    .words_tready(1'b1)
  );

  always @(negedge clk)
    if (!rst && words_valid)
      for (lane = 0; lane < 4; lane = lane + 1)
        if (keep[4*lane]) begin
          if ({errors[lane], words[32*lane +: 32]} !== expected[got]) wrong = wrong + 1;
          got = got + 1;
        end

  initial begin
    expected[0] = 33'h00000006E;
    expected[1] = 33'h0000000E9;
    expected[2] = 33'h10000FFFD;
    expected[3] = 33'h00001F600;
    repeat (10) @(posedge clk);
    #1 rst = 1'b0;
    text = 32'hFFA9C36E;
    valid = 1'b1;
    while (!ready) @(negedge clk);
    @(posedge clk) #1 text = 32'h80989FF0;
    last = 1'b1;
    while (!ready) @(negedge clk);
    @(posedge clk) #1 valid = 1'b0;
    repeat (100) @(posedge clk);
    if (got == 4 && wrong == 0) $display("PASS: 4 words, 1 error");
    else $display("FAIL: %0d words, %0d of them wrong", got, wrong);
    $finish;
  end
endmodule
