  // A report is valid for one cycle, this number of cycles after the last beat of its packet.
  localparam LATENCY = $latency;
  reg [LATENCY:0] ended = 0;  // bit k: k + 1 cycles ago

  always @(posedge clk) begin
    ended <= reset ? {LATENCY+1{1'b0}} : {ended[LATENCY-1:0], received && s_axis_tlast};
    if (started && !reset) begin : one_report_after_each_packet
      assert (report_tvalid == ended[LATENCY-1]);
    end
`ifndef YOSYS
    if (started && !reset && s_axis_tvalid !== 1'bx && s_axis_tready !== 1'bx) begin : reports_are_known
      assert (report_tvalid !== 1'bx && (!report_tvalid || ^{report_well_formed} !== 1'bx));
    end
`endif
  end
endmodule
