// SPDX-License-Identifier: BSD-2-Clause
// Test bench for $product: sends the packets of a vector file with pseudo-random
// pauses, compares the words, and prints "PASS: ..." or the first difference.
// Command: $command
//
// The vectors:    utf8fpga vectors --format readmemh$practice -o vectors.hex
// With Icarus:    iverilog -g2005 -s ${name}_bench -o bench.vvp $name.v ${name}_bench.v && vvp -n bench.vvp
// With Verilator: verilator --binary --timing -CFLAGS -std=c++20 --top ${name}_bench $name.v ${name}_bench.v
// A simulation may set +vectors=FILE, +seed=NUMBER, +pause_in=PERCENT and +pause_out=PERCENT.

module ${name}_bench;
  parameter ENTRIES = $entries;  // of the vector file
  localparam LANES = $lanes;
  // Entries of the vector file: a tag of four bits and 32 bits of data. Tags of input are below 8: 1 is a byte, 3 the
  // last byte of its packet, 2 an end without a byte. Tags of output: 8 is a word, plus 2 with the error flag, plus 1 if
  // it is the last one; C is an end without a word. F is the end of the file.
  reg [35:0] entries [0:ENTRIES-1];
  reg [8*127:0] file;

  reg clk = 1'b0;
  reg rst = 1'b1;
  reg [8*LANES-1:0] s_data = 0;
  reg [LANES-1:0] s_keep = 0;
  reg s_last = 1'b0;
  reg s_valid = 1'b0;
  wire s_ready;
  wire [32*LANES-1:0] m_data;
  wire [4*LANES-1:0] m_keep;
  wire [LANES-1:0] m_error;
$user_wire  wire m_last;
  wire m_valid;
  reg m_ready = 1'b0;
  reg [$held-1:0] held = 0;

  integer from = 0;  // the entry that is sent next
  integer at = 0;  // the entry that is expected next
  integer seed, pause_in, pause_out, lane;
  integer cycle = 0, waited = 0, packets = 0, words = 0;
  reg taken = 1'b0, stalled = 1'b0, over = 1'b0, shown;

  always #5 clk = ~clk;

  $name dut (
    .clk(clk),
    $reset_port,
    .s_axis_tdata(s_data),
    .s_axis_tkeep(s_keep),
    .s_axis_tlast(s_last),
    .s_axis_tvalid(s_valid),
    .s_axis_tready(s_ready),
    .m_axis_tdata(m_data),
    .m_axis_tkeep(m_keep),
$user_port    .m_axis_tlast(m_last),
    .m_axis_tvalid(m_valid),
    .m_axis_tready(m_ready)
  );

  genvar number;
  generate
    for (number = 0; number < LANES; number = number + 1) begin : flags
      assign m_error[number] = $error;
    end
  endgenerate

  task stop;  // with what is wrong, at the entry that is expected
    begin
      $$display("  cycle %0d, packet %0d (from 0), entry %0d of the vectors", cycle, packets, at);
      $$finish;
      over = 1'b1;
    end
  endtask

  task fill;  // the next input beat
    begin
      while (entries[from][35] && entries[from][35:32] != 4'hF) from = from + 1;
      if (entries[from][35:32] != 4'hF) begin
        s_valid = 1'b1;
        s_keep = 0;
        s_last = 1'b0;
        for (lane = 0; lane < LANES; lane = lane + 1)
          if (!s_last && !entries[from][35]) begin
            s_data[8*lane +: 8] = entries[from][7:0];
            s_keep[lane] = entries[from][32];
            s_last = entries[from][33];
            from = from + 1;
          end else s_data[8*lane +: 8] = cycle[7:0];  // without keep: ignored
      end
    end
  endtask

  task expect_entry(input [35:0] found, input judge);  // judge: whether the data is compared
    begin
      while (!entries[at][35]) at = at + 1;
      if (!over && (found[35:32] != entries[at][35:32] || (judge && found[31:0] != entries[at][31:0]))) begin
        $$display("FAIL: tag and data %h %h, expected %h %h", found[35:32], found[31:0], entries[at][35:32],
                 entries[at][31:0]);
        stop;
      end
      packets = packets + (found[32] || found[35:32] == 4'hC);
      words = words + (found[35:32] != 4'hC);
      at = at + 1;
    end
  endtask

  task compare;  // the words of an output beat; the last one has the end of the packet
    begin
      shown = 1'b0;
      for (lane = LANES - 1; lane >= 0; lane = lane - 1)
        if (m_keep[4*lane +: 4] != 4'h0 && m_keep[4*lane +: 4] != 4'hF) begin
          $$display("FAIL: m_axis_tkeep %h", m_keep);
          stop;
        end
      for (lane = 0; lane < LANES; lane = lane + 1)
        if (m_keep[4*lane]) begin
          shown = 1'b1;
          expect_entry({2'b10, m_error[lane], m_last && !(|(m_keep >> (4*lane + 4))), $data},
                       $replacement || !m_error[lane]);
        end
      if (!shown) begin
        if (m_last) expect_entry({4'hC, 32'h0}, 1'b0);
        else begin
          $$display("FAIL: a beat with neither a word nor m_axis_tlast");
          stop;
        end
      end
    end
  endtask

  initial begin
    if (!$$value$$plusargs("seed=%d", seed)) seed = 1;
    if (!$$value$$plusargs("pause_in=%d", pause_in)) pause_in = 30;
    if (!$$value$$plusargs("pause_out=%d", pause_out)) pause_out = 30;
    entries[0] = {4'hF, 32'h0};
    entries[ENTRIES-1] = {4'hF, 32'h0};
    if ($$value$$plusargs("vectors=%s", file)) $$readmemh(file, entries);
    else $$readmemh("vectors.hex", entries);
    at = 0;
    if (entries[0][35:32] == 4'hF) begin
      $$display("FAIL: no vectors; write them with: utf8fpga vectors --format readmemh$practice -o vectors.hex");
      over = 1'b1;
      $$finish;
    end
    repeat (3) @(posedge clk);
    #1 rst = 1'b0;
    while (!over) begin
      // A beat that was not transferred stays as it is.
      if (!s_valid && $$unsigned($$random(seed)) % 100 >= pause_in) fill;
      m_ready = $$unsigned($$random(seed)) % 100 >= pause_out;
      #3;
      if ((^{m_valid, s_ready}) === 1'bx) begin
        $$display("FAIL: m_axis_tvalid %b, s_axis_tready %b", m_valid, s_ready);
        stop;
      end else if (stalled && (!m_valid || held !== $all)) begin
        $$display("FAIL: the output changed while m_axis_tready was low");
        stop;
      end
      held = $all;
      stalled = m_valid && !m_ready;
      if (!over && m_valid && m_ready) compare;
      taken = s_valid && s_ready;
      waited = taken || (m_valid && m_ready) ? 0 : waited + 1;
      while (!over && !entries[at][35]) at = at + 1;
      if (!over && entries[at][35:32] == 4'hF && !s_valid && waited > 300) begin
        $$display("PASS: %0d packets, %0d words in %0d cycles", packets, words, cycle);
        over = 1'b1;
        $$finish;
      end else if (!over && waited > 10000) begin
        $$display("FAIL: nothing was transferred for 10000 cycles");
        stop;
      end
      @(posedge clk);
      #1 cycle = cycle + 1;
      if (taken) s_valid = 1'b0;
    end
  end
endmodule
