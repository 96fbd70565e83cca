# SPDX-License-Identifier: BSD-2-Clause
"""Writes a core as Verilog-2005 with AXI4-Stream ports."""

from __future__ import annotations

import re

from amaranth.back import rtlil

from utf8fpga.hdl.axi_stream import AxiStreamCore
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.verilog.header import header
from utf8fpga.hdl.verilog.interface import Interface, module_name
from utf8fpga.hdl.verilog.live import Hierarchy
from utf8fpga.hdl.verilog.modules import circuits_of
from utf8fpga.hdl.verilog.text import modules_text

_WAIVER = """
// One file has all modules, so only the top can have the name of the file. Not all bits of all signals are needed.
/* verilator lint_off DECLFILENAME */
/* verilator lint_off UNUSEDSIGNAL */

"""


def axi_rtlil(core: Core, name: str | None = None, *, reset_low: bool = False) -> str:
    """`AxiStreamCore` in Yosys's RTLIL.

    Args:
        name: the name of the top module; default: see `module_name`.
        reset_low: the reset port is ``rst_n``, active low.
    """
    component = AxiStreamCore(core, reset_low=reset_low)
    return _ELEMENTS.sub("", rtlil.convert(component, name=name or module_name(core), emit_src=False))


_ELEMENTS = re.compile(r"^connect \\\S+\] .*\n|^(?:  attribute .*\n)*  wire width \d+ \\\S+\]\n\n", re.MULTILINE)
"""The wires that only give a name to an element of an array: Yosys 0.70 gives the same name to a bit of the array, when
it has mapped a netlist, and fails."""


def axi_verilog(core: Core, name: str | None = None, *, reset_low: bool = False) -> str:
    """`AxiStreamCore` as one self-contained Verilog-2005 file, the same byte for byte each time.

    Each component is a module, whose name begins with that of the top.

    Args:
        core: the core; its symbols have data and, at the output, an error flag, see `SymbolPorts`.
        name: the name of the top module, a plain Verilog identifier and not a keyword; default: see `module_name`.
        reset_low: the reset port is ``rst_n``, active low.

    Raises:
        InvalidArgumentError: `name` is not valid, see `check_module_name`; or a symbol has other fields.
    """
    interface = Interface.of(core, name, reset_low=reset_low)
    hierarchy = Hierarchy(circuits_of(AxiStreamCore(core, reset_low=reset_low), interface.name), interface.name)
    comment = header(core, interface, hierarchy.combinational_paths())
    return comment + _WAIVER + modules_text(hierarchy.live_circuits())
