
// Yosys and Icarus Verilog have no bind.
`ifdef YOSYS
`define ${name}_wrapped
`endif
`ifdef __ICARUS__
`define ${name}_wrapped
`endif
`ifdef ${name}_wrapped
module ${name}_checked (
$ports
);
  $name core (
$connections
  );
  ${name}_contract contract (
$connections
  );
endmodule
`else
bind $name ${name}_contract contract (
$connections
);
`endif
