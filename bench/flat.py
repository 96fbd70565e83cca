# SPDX-License-Identifier: BSD-2-Clause
"""A core as one Verilog module, in the form from which the recorded figures were measured."""

from __future__ import annotations

from utf8fpga.hdl.toolchain import run_yosys


def flat_verilog(rtlil: str, top: str) -> str:
    """A design as one module with numbered wires, so that results depend on no name but those of the ports."""
    script = f"hierarchy -top {top}; proc; flatten -separator _; opt_clean; rename -hide; rename -enumerate"
    (written,) = run_yosys(f"read_rtlil top.il; {script}; write_verilog -noattr top.v", {"top.il": rtlil}, "top.v")
    text = written.decode()
    # The header that Yosys writes, with the build of Yosys, is omitted.
    return text[text.index("module ") :]
