// SPDX-License-Identifier: BSD-2-Clause
// The contract of the ports of $name, as immediate assertions for simulators and for formal tools.
// Command: $command
//
// With Verilator, and other simulators that have bind: verilator --assert ... $name.v THIS_FILE
//   Each instance of $name is checked.
// With Yosys or SymbiYosys: read_verilog -sv -formal $name.v THIS_FILE; prep -top ${name}_checked
//   The contract of the input is assumed, that of the output is to be proved.
// With Icarus Verilog: iverilog -g2012 ... $name.v THIS_FILE
//   The module ${name}_checked in place of $name is checked.

module ${name}_contract (
$inputs
);
  localparam LANES = $lanes, SIZE = $size;  // symbols per input beat, bytes of each
  localparam GAPS = 1'b$gaps;  // whether the symbols of an input beat may have gaps

  wire reset = $reset;
  reg was_reset = 1'b0;  // in the cycle before
  reg started = 1'b0;  // by a first reset, before which flip-flops are arbitrary
  wire received = s_axis_tvalid && s_axis_tready;

  // The contract of the input, for the surroundings of the core: a beat waits until it is transferred, its symbols are
  // contiguous from symbol 0, and a partial beat is the last one of its packet, or has no symbol.
  reg input_waits = 1'b0;
  reg [$payload_bits-1:0] input_held = 0;
  wire input_is_steady = !input_waits || (s_axis_tvalid && input_held === {$payload});
  wire [SIZE*LANES:0] input_keep = {1'b0, s_axis_tkeep};
  wire [LANES-1:0] input_present;
  genvar number;
  generate
    for (number = 0; number < LANES; number = number + 1) begin : input_lanes
      assign input_present[number] = &s_axis_tkeep[SIZE*number +: SIZE];
    end
  endgenerate
  wire input_is_contiguous =
    GAPS || !s_axis_tvalid ||
    ((input_keep & (input_keep + 1'b1)) == 0 && (|input_present || !(|s_axis_tkeep)) &&
     (&s_axis_tkeep || !(|s_axis_tkeep) || s_axis_tlast));

  always @(posedge clk) begin
    was_reset <= reset;
    started <= started || reset;
    input_waits <= s_axis_tvalid && !s_axis_tready && !reset;
    input_held <= {$payload};
`ifdef FORMAL
    assume (started || reset);
    if (!reset) begin
      assume (input_is_steady);
      assume (input_is_contiguous);
    end
`else
    if (started && !reset) begin
      if (1'b1) begin : input_waits_until_it_is_transferred
        assert (input_is_steady);
      end
      if (1'b1) begin : input_symbols_are_contiguous
        assert (input_is_contiguous);
      end
    end
`endif
  end

