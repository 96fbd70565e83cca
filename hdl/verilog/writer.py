# SPDX-License-Identifier: BSD-2-Clause
"""Writes a core as Verilog-2005 with AXI4-Stream ports."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from amaranth.back import rtlil
from amaranth.lib.wiring import In

from utf8fpga.hdl.axi_stream import PortOptions, SymbolPorts, axi_component, axi_signature
from utf8fpga.hdl.core import Core
from utf8fpga.hdl.cores import command_words, parameters_of
from utf8fpga.hdl.toolchain import find_tool, run_tool
from utf8fpga.hdl.verilog.attributes import PORT_ATTRIBUTES
from utf8fpga.hdl.verilog.checks import contract_checks
from utf8fpga.hdl.verilog.header import header
from utf8fpga.hdl.verilog.identifiers import check_module_name, check_ram_style
from utf8fpga.hdl.verilog.loops import without_loops_of_wires
from utf8fpga.hdl.verilog.netlist import tidy
from utf8fpga.hdl.verilog.text import polished, with_port_attributes, with_ram_style
from utf8fpga.model import InvalidArgumentError

__all__ = ["axi_rtlil", "axi_verilog", "edge_words", "module_name"]

_SIMPLIFY = """
    hierarchy -top {top}; delete t:$meminit*; proc; memory_collect;
    setattr -mod -set keep_hierarchy 1 {top}.core.*; flatten -separator .; setattr -mod -unset keep_hierarchy *;
    write_json first.json;
    opt -fine -nodffe -nosdff; opt_hier; opt -fine -nodffe -nosdff;
    splitcells t:$and t:$or t:$xor t:$not t:$mux; opt_clean;
    opt_hier; opt_clean; opt_hier; opt_clean; opt_hier; opt_clean; opt_hier; opt_clean;
    wreduce t:$add t:$sub; opt_clean;
"""
"""Makes the netlist smaller, but for the order of its operations. Synthesis infers enables and resets of registers.

The core itself is made a part of the top; its components remain modules. So a core without components is one module,
and its area after synthesis is that of the netlist without hierarchy.
"""

_TRACE = """
    flatten; memory_unpack; select -set clocked t:$memrd* r:CLK_ENABLE=1 %i;
    delete t:$*dff* t:$memwr* @clocked; opt_clean; simplemap; splitnets;
"""
"""Leaves the logic between input and output ports that has no register in it, in cells of one bit."""

_WAIVER = """
// One file has all modules, so only the top can have the name of the file.
/* verilator lint_off DECLFILENAME */

"""


def module_name(core: Core) -> str:
    """The default name of the top module, such as ``utf8_decoder``."""
    return f"utf8_{parameters_of(core).core.replace('-', '_')}"


def axi_rtlil(core: Core, name: str | None = None, *, options: PortOptions | None = None) -> str:
    """`AxiStreamCore` in Yosys's RTLIL.

    Args:
        core: the core.
        name: the name of the top module; default: see `module_name`.
        options: the options of the ports; default: none.
    """
    made = axi_component(core, options or PortOptions())
    return str(rtlil.convert(made, name=name or module_name(core), emit_src=False))


def axi_verilog(
    core: Core,
    name: str | None = None,
    *,
    options: PortOptions | None = None,
    checks: bool = False,
    ram_style: str | None = None,
    attributes: str | None = None,
    command: Sequence[str] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """`AxiStreamCore` as one self-contained Verilog-2005 file, the same byte for byte each time.

    Each component is a module, whose name begins with that of the top.

    Args:
        core: the core; its symbols have data and, at the output, an error flag, see `SymbolPorts`.
        name: the name of the top module, a plain Verilog identifier and not a keyword; default: see `module_name`.
        options: the options of the ports; default: none.
        checks: violations of the contract at the input ports are reported in simulation.
        ram_style: the attribute that each memory has, and its value, such as ``ram_style=distributed``; default: none.
        attributes: the tool for which ports have attributes, one of `PORT_ATTRIBUTES`; default: none.
        command: the arguments of ``utf8fpga generate`` that the header states; default: those that select the core, and
            the other arguments of this function.
        notes: further lines of the header.

    Raises:
        InvalidArgumentError: `name` or `ram_style` is not valid, see `check_module_name` and `check_ram_style`; or a
            symbol has other fields.
        ToolError: Yosys is missing or failed.
    """
    options = options or PortOptions()
    if command is None:
        given = {
            "--name": None if name == module_name(core) else name,
            "--ram-style": ram_style,
            "--attributes": attributes,
        }
        chosen = [word for option, value in given.items() if value is not None for word in (option, value)]
        command = [*command_words(parameters_of(core)), *chosen, *edge_words(core, options, checks=checks)]
    name = module_name(core) if name is None else name
    check_module_name(name)
    if ram_style is not None:
        check_ram_style(ram_style)
    tool = find_tool("yosys")
    if hasattr(core, "tap") and (checks or attributes is not None):
        raise InvalidArgumentError(
            f"{'checks' if checks else f'attributes {attributes}'} is for cores with an input stream, which a tap only"
            " watches"
        )
    members = axi_signature(core, options).members
    ports = {port: ("input" if member.flow is In else "output", member.shape) for port, member in members.items()}
    written = _written(axi_rtlil(core, name, options=options), name, tuple(ports), tool, Path(tool).stat().st_mtime_ns)
    modules = written.modules if ram_style is None else with_ram_style(written.modules, ram_style)
    if attributes is not None:
        modules = with_port_attributes(modules, PORT_ATTRIBUTES[attributes](ports))
    if checks:
        reset, source = "!rst_n" if options.reset_low else "rst", SymbolPorts.of(core.input)
        gaps = parameters_of(core).accepts_gaps
        text = contract_checks(ports, reset, accepts_gaps=gaps, symbol_bytes=source.size)
        modules = modules.replace("endmodule\n", f"{text}endmodule\n", 1)
    return header(core, name, ports, written.paths, command, notes, options) + _WAIVER + modules


def edge_words(core: Core, options: PortOptions, *, checks: bool = False) -> list[str]:
    """The options of `utf8fpga generate` for fields of items and ports, which no other command has."""
    flags = {
        "--kind": getattr(core.parameters, "kind", False),
        "--length": getattr(core.parameters, "length", False),
        "--registered": options.registered,
        "--reset-low": options.reset_low,
        "--checks": checks,
    }
    place = [] if options.flags == "item" else ["--flags", options.flags]
    return [*(flag for flag, is_set in flags.items() if is_set), *place]


@dataclass(frozen=True)
class _Written:
    """The result of Yosys.

    Attributes:
        modules: the modules in Verilog.
        paths: for each port that is an output the inputs from which there is a combinational path to it.
    """

    modules: str
    paths: Mapping[str, Sequence[str]]


@lru_cache(maxsize=16)
def _written(design: str, name: str, ports: tuple[str, ...], tool: str, changed: int) -> _Written:
    """The modules of a design in RTLIL in Verilog, kept by the design and the program that writes them."""
    del tool, changed  # They identify the program in the cache.
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "top.il").write_text(design, encoding="utf-8")
        traced = "".join(f"tee -q -o {port}.paths select -list o:{port} %ci* i:* %i; " for port in ports)
        script = f"read_rtlil top.il; {_SIMPLIFY.format(top=name)} write_json top.json; {_TRACE} {traced}"
        run_tool("yosys", ["-q", "-p", script], directory=directory)
        found = json.loads((directory / "top.json").read_text(encoding="utf-8"))
        first = json.loads((directory / "first.json").read_text(encoding="utf-8"))
        (directory / "tidy.json").write_text(
            json.dumps(without_loops_of_wires(tidy(found, name, ports, first))), encoding="utf-8"
        )
        write = "read_json tidy.json; write_verilog -noattr top.v"
        run_tool("yosys", ["-q", "-p", write], directory=directory)
        paths = {port: (directory / f"{port}.paths").read_text(encoding="utf-8").split() for port in ports}
        return _Written(
            polished((directory / "top.v").read_text(encoding="utf-8")),
            {port: [line.partition("/")[2] for line in lines] for port, lines in paths.items()},
        )
