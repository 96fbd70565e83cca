# SPDX-License-Identifier: BSD-2-Clause
"""Whether a synthesised netlist, or the Verilog that is written for it, is equivalent to its design."""

from __future__ import annotations

import re
from functools import lru_cache

from utf8fpga.formal.abc import Verdict, decide, is_always_zero
from utf8fpga.formal.gates import aig_of
from utf8fpga.hdl.toolchain import run_yosys
from utf8fpga.sim.aiger import CELLS

TOP = "utf8_decoder"
"""The name of the top module in a design that is compared."""

_COMPARE = (
    # Undefined bits are arbitrary, except the initial contents of memories: those are 0, as in bitstreams.
    "read_rtlil gate.il; rename {top} gate; setundef -anyseq gate; setundef -zero -params gate; memory_unpack; "
    "{cells} hierarchy -top gate; proc; flatten; {change} setundef -undriven -anyseq; "
    "opt_clean; design -stash gate; read_rtlil gold.il; hierarchy -top {top}; proc; flatten; "
    "opt_clean; rename {top} gold; design -stash gold; design -copy-from gold -as gold gold; "
    "design -copy-from gate -as gate gate; miter -equiv -flatten -make_outputs gold gate top; hierarchy -top top; "
    "async2sync; opt_expr; opt_clean; write_rtlil top.il"
)
"""The comparison, in a run of Yosys of its own, since after a run of its ABC Yosys prints no more messages."""


def equal_netlist(design: str, family: str, *, change: str = "") -> Verdict:
    """Whether a synthesised netlist is equal to its design in every cycle, from the initial values on.

    Args:
        design: the result of `axi_rtlil`.
        family: one of `CELLS`.
        change: Yosys commands, each with its semicolon, that change the netlist before the comparison, for a test
            that the difference is found.
    """
    cells = f"{CELLS[family]};"
    return _equal(design, _synthesised(design, family), cells=cells, change=change)


def equal_verilog(design: str, verilog: str, top: str = TOP) -> Verdict:
    """Whether Verilog is equal to the design that it was written for in every cycle, from the initial values on.

    Args:
        design: the result of `axi_rtlil`.
        verilog: the result of `axi_verilog`.
        top: the name of the top module of both.
    """
    script = f"read_verilog gate.v; hierarchy -top {top}; proc; flatten; memory_collect; write_rtlil gate.il"
    (made,) = run_yosys(script, {"gate.v": verilog}, "gate.il")
    if re.search(rb"^ *connect .*'[01x-]*z", made, re.MULTILINE):
        return Verdict(False, 0)  # Yosys takes a bit that nothing drives for 0.
    return _equal(design, made, top)


def _equal(design: str, made: bytes, top: str = TOP, cells: str = "", change: str = "") -> Verdict:
    script = _COMPARE.format(top=top, cells=cells, change=change)
    text = run_yosys(script, {"gold.il": design, "gate.il": made}, "top.il")[0].decode()
    if not _one_clock(text):
        return Verdict(False, 0)
    aig = aig_of(text)
    output = aig.output_bits["trigger"][0]
    # Of circuits as similar as these, merging corresponding signals leaves nothing, in a thirtieth of the time.
    if is_always_zero(aig, output):
        return Verdict(True, 0)
    return decide(aig, output)


@lru_cache(maxsize=8)
def _synthesised(design: str, family: str) -> bytes:
    """The netlist of a design."""
    synthesis = f"read_rtlil gold.il; synth_{family} -top {TOP}; write_rtlil gate.il"
    return run_yosys(synthesis, {"gold.il": design}, "gate.il")[0]


def _one_clock(design: str) -> bool:
    """Whether all flip-flops and memories have the rising edge of one input as their clock, which a graph omits."""
    if "cell $mem_v2 " in design:
        return False  # It has the clocks of all its ports in one parameter.
    clocks = set()
    for cell in re.findall(r"^  cell \$.*?^  end$", design, re.MULTILINE | re.DOTALL):
        clock = re.search(r"^    connect \\CLK (.*)$", cell, re.MULTILINE)
        if clock and not re.search(r"^    parameter \\CLK_ENABLE (?:1')?0$", cell, re.MULTILINE):
            rises = re.search(r"^    parameter \\CLK_POLARITY (?:1')?1$", cell, re.MULTILINE)
            clocks.add(clock[1] if rises else "")
    return clocks == {"\\in_clk"}
