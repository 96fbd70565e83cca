// SPDX-License-Identifier: BSD-2-Clause
//
// What certificates of a UTF-8 decoder state: the outputs bad_* of this module are never 1, from power-up on and after
// any reset, whatever its inputs are. It is Verilog-2005 for synthesis, and is written for those who must believe it.
//
// The macros are what the header of the decoder's file promises:
//   LANES    code units per beat
//   LATENCY  cycles from the beat that determines a symbol to the symbol, while the consumer is ready
//   STALL    cycles after an output beat waited, in which the decoder may refuse beats
module statement (
  input wire clk,
  input wire reset,
  // The producer offers a beat. Its units and flags are arbitrary, except for what AXI4-Stream demands of it.
  input wire offer,
  input wire [8*`LANES-1:0] any_units,
  input wire [`LANES-1:0] any_keep,
  input wire any_last,
  // The consumer is ready.
  input wire ready,
  // Which event is watched, by its position among those of a beat.
  input wire [2*`LANES+1:0] pick,
  output wire valid,
  output wire [37*`LANES:0] beat,
  output wire bad_equivalence,
  output wire bad_steady,
  output wire bad_stall,
  output wire bad_latency
);
  localparam LANES = `LANES;
  localparam LATENCY = `LATENCY;
  localparam STALL = `STALL;
  // The events of a beat: for each unit the end of the sequence that it breaks, and its own item; then the sequence
  // that is open at the end of the packet, and the end.
  localparam EVENTS = 2*LANES + 2;
  // The width of the count of events in flight. If a count overflows, bad_equivalence is 1.
  localparam WIDTH = LANES == 1 ? 4 : 8;
  // An event: the end of a packet; an ill-formed item; a code point.
  localparam [22:0] END = {1'b1, 22'd0};
  localparam [22:0] ILL_FORMED = {2'b01, 21'hfffd};
  integer k;
  genvar lane;

  // The producer holds a beat until it is accepted. Units are contiguous from the first lane; a beat has fewer than all
  // units only if it is the last one of its packet, or none at all.
  reg waits = 1'b0;
  reg [9*LANES:0] held = 0;
  wire [9*LANES:0] offered = waits ? held : {any_last, any_keep, any_units};
  wire [8*LANES-1:0] units = offered[8*LANES-1:0];
  wire last = offered[9*LANES];
  wire [LANES-1:0] keep;
  assign keep[0] = offered[8*LANES];
  generate
    for (lane = 1; lane < LANES; lane = lane + 1) begin : contiguous
      assign keep[lane] = keep[lane - 1] & (offered[8*LANES + lane] | ~last);
    end
  endgenerate
  wire in_valid = offer | waits;
  wire in_ready, out_last;
  wire [LANES-1:0] error;
  wire [4*LANES-1:0] bytes;
  wire [32*LANES-1:0] words;
  utf8_decoder dut (
    .clk(clk), .rst(reset),
    .s_axis_tdata(units), .s_axis_tkeep(keep), .s_axis_tlast(last), .s_axis_tvalid(in_valid), .s_axis_tready(in_ready),
    .m_axis_tdata(words), .m_axis_tkeep(bytes), .m_axis_tuser(error), .m_axis_tlast(out_last),
    .m_axis_tvalid(valid), .m_axis_tready(ready)
  );
  assign beat = {out_last, error, bytes, words};
  // A null beat has no effect.
  wire accepted = in_valid & in_ready & ~reset & (keep[0] | last);
  wire delivered = valid & ready & ~reset;
  wire blocked = valid & ~ready;
  always @(posedge clk) begin
    waits <= in_valid & ~in_ready & ~reset;
    held <= offered;
  end

  // UTF-8, by the distribution of bits (Table 3-6) and the definition of D92: of all sequences with these bits those
  // are well-formed whose value is a scalar value that no shorter sequence has. So units are the beginning of a
  // well-formed sequence if there is such a value in the range of those that they can still become.
  function is_beginning(input [20:0] bits, input [1:0] missing, input [1:0] trailing);
    reg [20:0] lowest, highest, least;
    begin
      lowest = missing == 3 ? bits << 18 : missing == 2 ? bits << 12 : missing == 1 ? bits << 6 : bits;
      highest = lowest | (missing == 3 ? 21'h3ffff : missing == 2 ? 21'h00fff : missing == 1 ? 21'h0003f : 21'h0);
      least = trailing == 3 ? 21'h10000 : trailing == 2 ? 21'h00800 : 21'h00080;
      is_beginning = highest >= least && lowest <= 21'h10ffff && !(lowest >= 21'h0d800 && highest <= 21'h0dfff);
    end
  endfunction

  // The open sequence: its bits so far, the trailing units that are missing, and how many it has in all. One that
  // cannot go on is one ill-formed item, and the unit after it is looked at again (maximal subparts, D93b).
  reg [20:0] bits = 21'd0, next_bits;
  reg [1:0] missing = 2'd0, trailing = 2'd0, next_missing, next_trailing;
  reg [7:0] unit;
  reg [EVENTS-1:0] comes;
  reg [22:0] expected [0:EVENTS-1];
  always @* begin
    next_bits = bits;
    next_missing = missing;
    next_trailing = trailing;
    unit = 8'd0;
    comes = 0;
    for (k = 0; k < EVENTS; k = k + 1) expected[k] = ILL_FORMED;
    for (k = 0; k < LANES; k = k + 1) begin
      unit = units[8*k +: 8];
      if (keep[k]) begin
        if (next_missing != 0 && unit[7:6] == 2'b10
            && is_beginning({next_bits[14:0], unit[5:0]}, next_missing - 2'd1, next_trailing)) begin
          next_bits = {next_bits[14:0], unit[5:0]};
          next_missing = next_missing - 2'd1;
          comes[2*k + 1] = next_missing == 0;
          expected[2*k + 1] = {2'b00, next_bits};
        end else begin
          comes[2*k] = next_missing != 0;
          next_missing = unit[7:5] == 3'b110 ? 2'd1 : unit[7:4] == 4'b1110 ? 2'd2 : unit[7:3] == 5'b11110 ? 2'd3 : 2'd0;
          next_bits = next_missing == 1 ? unit[4:0] : next_missing == 2 ? unit[3:0] : unit[2:0];
          next_trailing = next_missing;
          if (!is_beginning(next_bits, next_missing, next_trailing)) next_missing = 2'd0;
          comes[2*k + 1] = next_missing == 0;
          if (!unit[7]) expected[2*k + 1] = {15'd0, unit};
        end
      end
    end
    if (last) begin
      comes[EVENTS - 2] = next_missing != 0;
      comes[EVENTS - 1] = 1'b1;
      expected[EVENTS - 1] = END;
      next_missing = 2'd0;
    end
    if (!accepted) comes = 0;
  end
  always @(posedge clk) begin
    if (accepted) begin
      bits <= next_bits;
      missing <= next_missing;
      trailing <= next_trailing;
    end
    if (reset) missing <= 2'd0;
  end

  // The events of the output beat. A beat has one; a word has all its bytes or none, and zeros above its code point.
  reg [LANES:0] goes;
  reg [22:0] found [0:LANES];
  reg malformed;
  always @* begin
    malformed = bytes == 0 & ~out_last;
    for (k = 0; k < LANES; k = k + 1) begin
      goes[k] = delivered & bytes[4*k];
      found[k] = {1'b0, error[k], words[32*k +: 21]};
      malformed = malformed | (error[k] & ~bytes[4*k]);
      malformed = malformed | bytes[4*k +: 4] != {4{bytes[4*k]}} | words[32*k + 21 +: 11] != 0;
    end
    goes[LANES] = delivered & out_last;
    found[LANES] = END;
  end

  // Equivalence. Events are counted, and one of them, any, is watched: the one in its place at the output is equal.
  reg [WIDTH-1:0] pending = 0, ahead = 0, now_ahead;
  reg [WIDTH:0] coming, going;
  reg [22:0] word = 23'd0, now_word;
  reg watching = 1'b0, watched = 1'b0, now_watching, wrong;
  wire [WIDTH+1:0] in_flight = pending + coming;
  always @* begin
    now_watching = watching;
    now_word = word;
    now_ahead = ahead;
    coming = 0;
    for (k = 0; k < EVENTS; k = k + 1) begin
      if (comes[k] & pick[k] & ~watched & ~now_watching) begin
        now_watching = 1'b1;
        now_word = expected[k];
        now_ahead = pending + coming;
      end
      coming = coming + comes[k];
    end
    wrong = 1'b0;
    going = 0;
    for (k = 0; k <= LANES; k = k + 1) begin
      if (goes[k] & now_watching & now_ahead == going & found[k] != now_word) wrong = 1'b1;
      going = going + goes[k];
    end
  end
  always @(posedge clk) begin
    pending <= in_flight - going;
    watching <= now_watching & now_ahead >= going;
    watched <= watched | now_watching;
    word <= now_word;
    ahead <= now_ahead - going;
    if (reset) begin
      pending <= 0;
      watching <= 1'b0;
      watched <= 1'b0;
    end
  end
  wire invented = going > in_flight;
  wire overflows = in_flight - going >= (1 << WIDTH);
  assign bad_equivalence = ~reset & (invented | overflows | wrong | (delivered & malformed));

  // A beat that waits does not change.
  reg waited = 1'b0;
  reg [37*LANES:0] earlier = 0;
  always @(posedge clk) begin
    waited <= blocked & ~reset;
    earlier <= beat;
  end
  assign bad_steady = ~reset & waited & (~valid | beat != earlier);

  // The decoder is ready for a beat, except while an output beat waits and for STALL cycles after that or a reset.
  reg [7:0] free = 8'd0;
  always @(posedge clk) free <= reset | blocked ? 8'd0 : free == STALL ? free : free + 8'd1;
  assign bad_stall = ~reset & ~blocked & ~in_ready & free == STALL;

  // While the consumer has been ready for LATENCY cycles, only events of as many cycles are in flight; their count
  // never overflows. With several lanes the promise has more conditions, which are not stated here: the output is 1.
  reg [7:0] willing = 8'd0;
  reg [(WIDTH+1)*LATENCY-1:0] recent = 0;
  reg [WIDTH+7:0] allowed;
  always @* begin
    allowed = coming;
    for (k = 0; k < LATENCY - 1; k = k + 1) allowed = allowed + recent[(WIDTH+1)*k +: WIDTH + 1];
  end
  always @(posedge clk) begin
    willing <= reset | ~ready ? 8'd0 : willing == LATENCY ? willing : willing + 8'd1;
    recent <= reset ? 0 : recent << (WIDTH + 1) | coming;
  end
  assign bad_latency = LANES != 1
    | (~reset & (overflows | (ready & willing == LATENCY & in_flight > going + allowed)));
endmodule
