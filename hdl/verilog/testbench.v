// SPDX-License-Identifier: BSD-2-Clause
// Test bench for $product: sends the packets of a vector file with pseudo-random
// pauses, compares the output, and prints "PASS: ..." or the first difference.
// Command: $command
//
// The vectors:    $vectors
// With Icarus:    iverilog -g2005 -s ${name}_bench -o bench.vvp ${name}.v THIS_FILE && vvp -N bench.vvp
// With Verilator: verilator --binary --timing -CFLAGS -std=c++20 --top ${name}_bench ${name}.v THIS_FILE && obj_dir/V${name}_bench
// A failure ends with $$stop: the exit status is not 0 with Verilator and with vvp -N; with vvp -n it is 0.
// A simulation may set +vectors=FILE, +seed=NUMBER, +pause_in=PERCENT and +pause_out=PERCENT.

module ${name}_bench;
  parameter ENTRIES = $entries;  // of the vector file
  localparam LANES = $lanes, SIZE = $size, USER = $user;  // symbols per input beat, bytes and user bits of each
  localparam OUT_LANES = $out_lanes, OUT_SIZE = $out_size;
  localparam GAPS = 1'b$gaps;  // whether lanes of an input beat are left out
  localparam TAP = 1'b$tap;  // whether there is no output stream, but only reports
  localparam WIDTH = $width;  // of the data of an entry
  // Entries of the vector file: a tag of four bits and WIDTH bits of data. Tags of input are below 8: 1 is a symbol, 3 the
  // last symbol of its packet, 2 an end without a symbol. Tags of output: 8 is a symbol, plus 2 with the error flag, plus
  // 1 if it is the last one; C is an end without a symbol, D a report of a tap. F is the end of the file.
  reg [WIDTH+3:0] entries [0:ENTRIES-1];
  reg [WIDTH+3+8*SIZE:0] entry;  // that is sent, with room for the bits of tdata above its data
  reg [8*128-1:0] file;

  reg clk = 1'b0;
  reg rst = 1'b1;
  reg [8*SIZE*LANES-1:0] s_data = 0;
  reg [SIZE*LANES-1:0] s_keep = 0;
  reg [USER*LANES-1:0] s_user = 0;
  reg s_last = 1'b0;
  reg s_valid = 1'b0;
  wire s_ready;
  wire [8*OUT_SIZE*OUT_LANES-1:0] m_data;
  wire [OUT_SIZE*OUT_LANES-1:0] m_keep;
  wire [$out_user-1:0] m_user;
  wire [OUT_LANES-1:0] m_error;
  wire m_last;
  wire m_valid;
  reg m_ready = 1'b0;
  wire [$report_bits-1:0] report;
  wire [(9*OUT_SIZE)*OUT_LANES+$out_user+$report_bits:0] shown;
  reg [(9*OUT_SIZE)*OUT_LANES+$out_user+$report_bits:0] held = 0;

  integer from = 0;  // the entry that is sent next
  integer at = 0;  // the entry that is expected next
  integer seed, pause_in, pause_out, lane;
  integer cycle = 0, waited = 0, packets = 0, words = 0;
  reg taken = 1'b0, stalled = 1'b0, received = 1'b0, over = 1'b0, is_present, is_empty;

  always #5 clk = ~clk;

  $name dut (
    .clk(clk),
    $reset_port,
$connections
  );
$absent  assign shown = {m_last, m_keep, m_user, m_data, report};

  genvar number;
  generate
    for (number = 0; number < OUT_LANES; number = number + 1) begin : flags
      assign m_error[number] = $error;
    end
  endgenerate

  task stop;  // with what is wrong, at the entry that is expected
    begin
      $$display("  cycle %0d, packet %0d (from 0), entry %0d of the vectors", cycle, packets, at);
      over = 1'b1;
      $$stop;
      $$finish;  // if a user continues
    end
  endtask

  task fill;  // the next input beat
    begin
      while (entries[from][WIDTH+3] && entries[from][WIDTH +: 4] != 4'hF) from = from + 1;
      if (entries[from][WIDTH +: 4] != 4'hF) begin
        s_valid = 1'b1;
        s_keep = 0;
        s_last = 1'b0;
        for (lane = 0; lane < LANES; lane = lane + 1) begin
          is_present = !s_last && !entries[from][WIDTH+3];
          if (GAPS) is_present = is_present && $$unsigned($$random(seed)) % 4 != 0;
          if (is_present) begin
            entry = {{8*SIZE{1'b0}}, entries[from]};
            s_data[8*SIZE*lane +: 8*SIZE] = entry[8*SIZE-1:0];
            s_user[USER*lane +: USER] = entry[$bits +: USER];
            s_keep[SIZE*lane +: SIZE] = {SIZE{entry[WIDTH]}};
            s_last = entry[WIDTH+1];
            from = from + 1;
          end else s_data[8*SIZE*lane +: 8*SIZE] = {SIZE{cycle[7:0]}};  // without keep: ignored
        end
      end
    end
  endtask

  task expect_entry(input [3:0] tag, input [WIDTH-1:0] data, input judge);  // judge: whether the data is compared
    begin
      while (!entries[at][WIDTH+3]) at = at + 1;
      if (!over && (tag !== entries[at][WIDTH +: 4] || (judge && data !== entries[at][WIDTH-1:0]))) begin
        $$display("FAIL: tag and data %h %h, expected %h %h", tag, data,
                 entries[at][WIDTH +: 4], entries[at][WIDTH-1:0]);
        stop;
      end
      if (tag[0] || tag == 4'hC) packets = packets + 1;
      if (tag != 4'hC) words = words + 1;
      at = at + 1;
    end
  endtask

  task compare;  // the symbols of an output beat; the last one has the end of the packet
    begin
      is_empty = 1'b1;
      for (lane = OUT_LANES - 1; lane >= 0; lane = lane - 1)
        if (m_keep[OUT_SIZE*lane +: OUT_SIZE] !== {OUT_SIZE{m_keep[OUT_SIZE*lane]}}) begin
          $$display("FAIL: m_axis_tkeep %h", m_keep);
          stop;
        end
      for (lane = 0; lane < OUT_LANES; lane = lane + 1)
        if (m_keep[OUT_SIZE*lane]) begin
          is_empty = 1'b0;
          expect_entry({2'b10, m_error[lane], m_last && !(|(m_keep >> (OUT_SIZE*lane + OUT_SIZE)))}, $data,
                       1'b1);
        end
      if (is_empty) begin
        if (m_last) expect_entry(4'hC, {WIDTH{1'b0}}, 1'b0);
        else begin
          $$display("FAIL: a beat with neither a symbol nor m_axis_tlast");
          stop;
        end
      end
    end
  endtask

  initial begin
    if (!$$value$$plusargs("seed=%d", seed)) seed = 1;
    if (!$$value$$plusargs("pause_in=%d", pause_in)) pause_in = 30;
    if (!$$value$$plusargs("pause_out=%d", pause_out)) pause_out = 30;
    entries[0] = {4'hF, {WIDTH{1'b0}}};
    entries[ENTRIES-1] = {4'hF, {WIDTH{1'b0}}};
    if ($$value$$plusargs("vectors=%s", file)) $$readmemh(file, entries);
    else $$readmemh("$vectors_file", entries);
    at = 0;
    if (entries[0][WIDTH +: 4] == 4'hF) begin
      $$display("FAIL: no vectors; write them with: $vectors_shown");
      over = 1'b1;
      $$stop;
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
        $$display("FAIL: $valid %b, s_axis_tready %b", m_valid, s_ready);
        stop;
      end else if (stalled && (!m_valid || held !== shown)) begin
        $$display("FAIL: the output changed while m_axis_tready was low");
        stop;
      end
      held = shown;
      received = m_valid && (TAP || m_ready);
      stalled = m_valid && !received;
      if (!over && received) begin
        if (TAP) expect_entry(4'hD, $reported, 1'b1);
        else compare;
      end
      taken = s_valid && s_ready;
      waited = taken || received ? 0 : waited + 1;
      while (!over && !entries[at][WIDTH+3]) at = at + 1;
      if (!over && entries[at][WIDTH +: 4] == 4'hF && !s_valid && waited > 300) begin
        $$display("PASS: %0d packets, %0d ${noun}s in %0d cycles", packets, words, cycle);
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
