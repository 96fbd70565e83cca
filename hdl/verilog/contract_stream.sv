  localparam OUT_LANES = $out_lanes, OUT_SIZE = $out_size;  // symbols per output beat, bytes of each
  localparam PACKED = 1'b$packed;  // whether the symbols of an output beat are contiguous from symbol 0
  localparam FULL = 1'b$full;  // whether all output beats but the last one of a packet are full
  localparam STALL = $stall;  // upper bound on the cycles in a row without s_axis_tready, while no output beat waits
  localparam DRAIN = $drain;  // upper bound on the cycles until the output is idle, without input while no beat waits

  wire [OUT_SIZE*OUT_LANES-1:0] present;  // the bytes of symbols of which the lowest byte is present
  wire [OUT_LANES-1:0] symbols, flags, unknown;
  genvar lane;
  generate
    for (lane = 0; lane < OUT_LANES; lane = lane + 1) begin : output_lanes
      assign symbols[lane] = m_axis_tkeep[OUT_SIZE*lane];
      assign present[OUT_SIZE*lane +: OUT_SIZE] = {OUT_SIZE{symbols[lane]}};
      assign flags[lane] = $error;
`ifdef YOSYS
      assign unknown[lane] = 1'b0;
`else
      assign unknown[lane] = symbols[lane] &&
        (^{m_axis_tdata[8*OUT_SIZE*lane +: 8*OUT_SIZE]$user}) === 1'bx;
`endif
    end
  endgenerate
  wire [OUT_LANES:0] counted = {1'b0, symbols};
  wire output_waits = m_axis_tvalid && !m_axis_tready;
  wire [$out_bits-1:0] payload = {$out_payload};
  reg waited = 1'b0;  // an output beat, in the cycle before
  reg [$out_bits-1:0] held = 0;
  reg [15:0] stalled = 0;  // cycles in a row before this one
  reg [15:0] quiet = 0;  // cycles in a row before this one, without an input beat and without an output beat that waits
  reg [15:0] packets = 0;  // whose end has been received and not been sent
  wire input_end = received && s_axis_tlast;
  wire output_end = m_axis_tvalid && m_axis_tready && m_axis_tlast;

  always @(posedge clk) begin
    waited <= output_waits && !reset;
    held <= payload;
    stalled <= reset || s_axis_tready || output_waits ? 16'd0 : stalled + 16'd1;
    quiet <= reset || received || output_waits ? 16'd0 : quiet < DRAIN ? quiet + 16'd1 : quiet;
    packets <= reset ? 16'd0 : packets + {15'd0, input_end} - {15'd0, output_end};
    if (started && !reset && waited) begin : output_waits_until_it_is_transferred
      assert (m_axis_tvalid);
      assert (held === payload);
    end
    if (started && !reset && m_axis_tvalid) begin : output_symbols_are_well_placed
      assert (m_axis_tkeep == present);
      assert (m_axis_tlast || |symbols);
      assert (!PACKED || (counted & (counted + 1'b1)) == 0);
      assert (!FULL || m_axis_tlast || &symbols);
      assert ((flags & ~symbols) == 0);
    end
    if (started && was_reset && reset && !s_axis_tvalid) begin : output_is_idle_in_reset
      assert (!m_axis_tvalid);
    end
    if (started && !reset && !s_axis_tready && !output_waits) begin : input_is_accepted_in_time
      assert (stalled + 1 <= STALL);
    end
    if (started && !reset && quiet >= DRAIN && !s_axis_tvalid) begin : output_is_complete_in_time
      assert (!m_axis_tvalid);
      assert (packets == 0);
    end
    if (started && !reset && output_end) begin : each_end_of_a_packet_has_been_received
      assert (packets != 0 || input_end);
    end
`ifndef YOSYS
    if (started && !reset && s_axis_tvalid !== 1'bx && m_axis_tready !== 1'bx) begin : output_is_known
      assert (m_axis_tvalid !== 1'bx && s_axis_tready !== 1'bx);
      assert (!m_axis_tvalid || ^{m_axis_tkeep, m_axis_tlast, unknown} !== 1'bx);
      assert (!m_axis_tvalid || unknown == 0);
    end
`endif
  end
endmodule
