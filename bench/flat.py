# SPDX-License-Identifier: BSD-2-Clause
"""A core as one Verilog module, in the form from which the recorded figures were measured."""

from __future__ import annotations

import tempfile
from pathlib import Path

from utf8fpga.hdl.toolchain import run_tool


def flat_verilog(rtlil: str, top: str) -> str:
    """A design as one module with numbered wires, so that results depend on no name but those of the ports.

    Args:
        rtlil: the design in Yosys's RTLIL.
        top: the name of its top module.
    """
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "top.il").write_text(rtlil, encoding="utf-8")
        script = f"hierarchy -top {top}; proc; flatten -separator _; opt_clean; rename -hide; rename -enumerate"
        run_tool(
            "yosys", ["-q", "-p", f"read_rtlil top.il; {script}; write_verilog -noattr top.v"], directory=directory
        )
        text = (directory / "top.v").read_text(encoding="utf-8")
    # The header that Yosys writes, with the build of Yosys, is omitted.
    return text[text.index("module ") :]
