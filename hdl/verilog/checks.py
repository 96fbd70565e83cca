# SPDX-License-Identifier: BSD-2-Clause
"""Checks of the surroundings of a core in simulation, as a part of its top module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def contract_checks(ports: Mapping[str, tuple[str, int]], reset: str, *, accepts_gaps: bool, symbol_bytes: int) -> str:
    """Verilog that reports each violation of the contract at the input ports, which synthesis omits.

    Args:
        ports: the direction and the width of each port of the module.
        reset: an expression that is 1 while the reset is asserted.
        accepts_gaps: the symbols of a beat may be in any lanes.
        symbol_bytes: the bytes of a symbol at the input.
    """
    payload = [name for name in ports if name.startswith("s_axis_t") and name not in ("s_axis_tvalid", "s_axis_tready")]
    held = ", ".join(payload)
    size = ports["s_axis_tdata"][1] // 8
    body = "".join(
        f'        if ({condition})\n          $display("%m: {message}, at %0t", $time);\n'
        for condition, message in _reports(size, symbol_bytes, accepts_gaps)
    )
    return f"""
`ifndef SYNTHESIS
  // Reports violations of the contract at the input ports.
  reg check_waits;
  reg [{sum(ports[name][1] for name in payload) - 1}:0] check_held;
  wire [{size}:0] check_keep = {{1'b0, s_axis_tkeep}};
  integer check_byte;
  initial check_waits = 1'b0;
  always @(posedge clk) begin
    check_waits <= s_axis_tvalid && !s_axis_tready && !({reset});
    check_held <= {{{held}}};
    if (!({reset})) begin
      if ((^{{s_axis_tvalid, m_axis_tready}}) === 1'bx)
        $display("%m: s_axis_tvalid %b or m_axis_tready %b is unknown, at %0t", s_axis_tvalid, m_axis_tready, $time);
      if (check_waits && (!s_axis_tvalid || check_held !== {{{held}}}))
        $display("%m: the input changed while s_axis_tready was low, at %0t", $time);
      if (s_axis_tvalid) begin
{body}        for (check_byte = 0; check_byte < {size}; check_byte = check_byte + 1)
          if (check_keep[check_byte] && (^s_axis_tdata[8*check_byte +: 8]) === 1'bx)
            $display("%m: byte %0d of s_axis_tdata is unknown, at %0t", check_byte, $time);
      end
    end
  end
`endif
"""


def _reports(size: int, symbol_bytes: int, accepts_gaps: bool) -> Iterator[tuple[str, str]]:
    """Conditions on a valid beat, and what they mean."""
    yield "(^{s_axis_tkeep, s_axis_tlast}) === 1'bx", "s_axis_tkeep or s_axis_tlast is unknown"
    if accepts_gaps or size == symbol_bytes:
        return
    yield f"|(s_axis_tkeep & (s_axis_tkeep + {size}'d1))", "s_axis_tkeep is not contiguous from bit 0"
    yield "!s_axis_tlast && |s_axis_tkeep && !(&s_axis_tkeep)", "a partial beat without s_axis_tlast"
