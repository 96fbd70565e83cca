# SPDX-License-Identifier: BSD-2-Clause
"""Writes a core as Verilog-2005 with AXI4-Stream ports."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from amaranth.back import rtlil
from amaranth.lib.wiring import In

from utf8fpga.hdl.axi_stream import axi_component, axi_signature, reset_name
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import command_words, parameters_of
from utf8fpga.hdl.verilog.header import header
from utf8fpga.hdl.verilog.identifiers import check_module_name
from utf8fpga.hdl.verilog.live import Hierarchy
from utf8fpga.hdl.verilog.modules import circuits_of
from utf8fpga.hdl.verilog.text import modules_text

_WAIVER = """
// One file has all modules, so only the top can have the name of the file. Not all bits of all signals are needed.
/* verilator lint_off DECLFILENAME */
/* verilator lint_off UNUSEDSIGNAL */

"""


def module_name(core: Core) -> str:
    """The default name of the top module, such as ``utf8_decoder``."""
    return f"utf8_{parameters_of(core).core.replace('-', '_')}"


class WrittenModule(NamedTuple):
    """The module that `axi_verilog` writes, for the texts that go with it.

    Attributes:
        ports: by name the direction, ``input`` or ``output``, and the width.
        words: the arguments of ``utf8fpga generate`` that select it.
    """

    name: str
    reset_low: bool
    ports: dict[str, tuple[str, int]]
    words: Sequence[str]

    @staticmethod
    def of(core: Core, name: str | None, reset_low: bool) -> WrittenModule:
        """The module for a core; `name` None is that of `module_name`."""
        default = module_name(core)
        name = default if name is None else name
        check_module_name(name)
        words = [*command_words(parameters_of(core)), *(["--name", name] if name != default else [])]
        words += ["--reset-low"] if reset_low else []
        members = axi_signature(core, reset_low=reset_low).members
        ports = {port: ("input" if each.flow is In else "output", each.shape) for port, each in members.items()}
        return WrittenModule(name, reset_low, ports, words)

    @property
    def command(self) -> str:
        """The command line that writes it."""
        return shlex.join(["utf8fpga", "generate", *self.words])

    @property
    def reset(self) -> str:
        """The name of the reset port."""
        return reset_name(self.reset_low)

    @property
    def resets(self) -> str:
        """The Verilog expression that is 1 while it is reset."""
        return "!rst_n" if self.reset_low else "rst"


def axi_rtlil(core: Core, name: str | None = None, *, reset_low: bool = False) -> str:
    """`AxiStreamCore` in Yosys's RTLIL.

    Args:
        name: the name of the top module; default: see `module_name`.
        reset_low: the reset port is ``rst_n``, active low.
    """
    made = axi_component(core, reset_low=reset_low)
    text = rtlil.convert(made, name=name or module_name(core), emit_src=False)
    return _ELEMENTS.sub("", str(text))


_ELEMENTS = re.compile(r"^connect \\\S+\] .*\n|^(?:  attribute .*\n)*  wire width \d+ \\\S+\]\n\n", re.MULTILINE)
"""The wires that only give a name to an element of an array: Yosys 0.70 gives the same name to a bit of the array, when
it has mapped a netlist, and fails."""


def axi_verilog(
    core: Core,
    name: str | None = None,
    *,
    reset_low: bool = False,
) -> str:
    """`AxiStreamCore` as one self-contained Verilog-2005 file, the same byte for byte each time.

    Each component is a module, whose name begins with that of the top.

    Args:
        core: the core; its symbols have data and, at the output, an error flag, see `SymbolPorts`.
        name: the name of the top module, a plain Verilog identifier and not a keyword; default: see `module_name`.
        reset_low: the reset port is ``rst_n``, active low.

    Raises:
        InvalidArgumentError: `name` is not valid, see `check_module_name`; or a symbol has other fields.
    """
    module = WrittenModule.of(core, name, reset_low)
    circuits = circuits_of(axi_component(core, reset_low=reset_low), module.name)
    hierarchy = Hierarchy(circuits, module.name)
    paths = hierarchy.combinational_paths()
    comment = header(core, module.name, module.ports, paths, module.words, module.reset)
    return comment + _WAIVER + modules_text(hierarchy.live_circuits())
