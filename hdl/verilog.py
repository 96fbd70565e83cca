# SPDX-License-Identifier: BSD-2-Clause
"""A core as a Verilog-2005 module with AXI4-Stream ports."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from amaranth.back import rtlil

from utf8fpga.hdl.axi_stream import AxiStreamCore, SymbolPorts
from utf8fpga.hdl.core import Core, CoreParameters
from utf8fpga.hdl.cores import command_words, parameters_of
from utf8fpga.hdl.toolchain import find_tool, run_tool
from utf8fpga.model.exceptions import InvalidArgumentError

__all__ = ["axi_rtlil", "axi_verilog", "check_module_name", "module_name"]

_RESERVED = """
    always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign default defparam
    design disable edge else end endcase endconfig endfunction endgenerate endmodule endprimitive endspecify
    endtable endtask event for force forever fork function generate genvar highz0 highz1 if ifnone incdir include
    initial inout input instance integer join large liblist library localparam macromodule medium module nand
    negedge nmos nor noshowcancelled not notif0 notif1 or output parameter pmos posedge primitive pull0 pull1
    pulldown pullup pulsestyle_ondetect pulsestyle_onevent rcmos real realtime reg release repeat rnmos rpmos rtran
    rtranif0 rtranif1 scalared showcancelled signed small specify specparam strong0 strong1 supply0 supply1 table
    task time tran tranif0 tranif1 tri tri0 tri1 triand trior trireg unsigned use uwire vectored wait wand weak0
    weak1 while wire wor xnor xor
"""
_RESERVED_SINCE = """
    accept_on alias always_comb always_ff always_latch assert assume before bind bins binsof bit break byte chandle
    checker class clocking const constraint context continue cover covergroup coverpoint cross dist do endchecker
    endclass endclocking endgroup endinterface endpackage endprogram endproperty endsequence enum eventually expect
    export extends extern final first_match foreach forkjoin global iff ignore_bins illegal_bins implements implies
    import inside int interconnect interface intersect join_any join_none let local logic longint matches modport
    nettype new nexttime null package packed priority program property protected pure rand randc randcase
    randsequence ref reject_on restrict return s_always s_eventually s_nexttime s_until s_until_with sequence
    shortint shortreal soft solve static string strong struct super sync_accept_on sync_reject_on tagged this
    throughout timeprecision timeunit type typedef union unique unique0 until until_with untyped var virtual void
    wait_order weak wildcard with within
"""
_KEYWORDS = frozenset((_RESERVED + _RESERVED_SINCE).split())
"""Reserved in IEEE Std 1364-2005, annex B, and in IEEE Std 1800-2017, annex B; they are case-sensitive."""

_LONGEST_NAME = 1024
"""The length of identifiers that every tool must accept (IEEE Std 1364-2005, 3.7.1)."""


def module_name(core: Core) -> str:
    """The default name of the top module, such as ``utf8_decoder``."""
    return f"utf8_{parameters_of(core).core.replace('-', '_')}"


def axi_rtlil(core: Core, name: str | None = None) -> str:
    """`AxiStreamCore` in Yosys's RTLIL.

    Args:
        core: the core.
        name: the name of the top module; default: see `module_name`.
    """
    return str(rtlil.convert(AxiStreamCore(core), name=name or module_name(core), emit_src=False))


def axi_verilog(core: Core, name: str | None = None) -> str:
    """`AxiStreamCore` as one self-contained Verilog-2005 file, the same byte for byte each time.

    Args:
        core: the core; its symbols have data and, at the output, an error flag, see `SymbolPorts`.
        name: the name of the top module, a plain Verilog identifier and not a keyword; default: see `module_name`.

    Raises:
        InvalidArgumentError: `name` is not valid, see `check_module_name`; or a symbol has other fields.
        ToolError: Yosys is missing or failed.
    """
    name = module_name(core) if name is None else name
    check_module_name(name)
    tool = find_tool("yosys")
    return _header(core) + _modules(axi_rtlil(core, name), name, tool, Path(tool).stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _modules(design: str, name: str, tool: str, changed: int) -> str:
    """The modules of a design in RTLIL in Verilog, kept by the design and the program that writes them."""
    del tool, changed  # They identify the program in the cache.
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "top.il").write_text(design, encoding="utf-8")
        script = f"read_rtlil top.il; hierarchy -top {name}; proc; flatten -separator _; opt_clean"
        run_tool("yosys", ["-q", "-p", f"{script}; write_verilog -noattr top.v"], directory=directory)
        text = (directory / "top.v").read_text(encoding="utf-8")
    # The header that Yosys writes, with the build of Yosys, is omitted.
    return text[text.index("module ") :]


def check_module_name(name: str) -> None:
    """Check that a name is valid for a module in Verilog and in SystemVerilog.

    Raises:
        InvalidArgumentError: it is not valid.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InvalidArgumentError(
            f"{name!r} is not a Verilog identifier: use letters, digits and _, not a digit first"
        )
    if len(name) > _LONGEST_NAME:
        raise InvalidArgumentError(
            f"{name[:20] + '...'!r} has {len(name)} characters, but a Verilog identifier may have {_LONGEST_NAME}"
        )
    if name in _KEYWORDS:
        raise InvalidArgumentError(f"{name!r} is a keyword of Verilog or SystemVerilog: choose another module name")


def _header(core: Core) -> str:
    parameters, lanes, made = parameters_of(core), core.lanes, SymbolPorts.of(core.output)
    source = SymbolPorts.of(core.input)
    given, wanted = parameters.input_noun, parameters.output_noun
    order = "contiguous from word 0" if core.packed else "in order, with gaps"
    lines = [
        *parameters.description(),
        f"Command: {shlex.join(['utf8fpga', 'generate', *command_words(parameters)])}",
        "",
        "clk, rst        rising edge; synchronous, active high",
        f"s_axis_tdata    {_several(lanes, given)}, the first in the low bits",
        *_keep_lines(parameters, source),
        *([f"s_axis_tuser    {_several(source.user_bits, 'bit')} per {given}"] if source.user else []),
        "s_axis_tlast    the packet ends after this beat",
        f"m_axis_tdata    {_several(lanes, wanted)}, {8 * made.size} bits each" + (f"; {order}" if lanes > 1 else ""),
        f"m_axis_tkeep    {'1' * made.size} for each {wanted} that is present",
    ]
    if made.user == "error":
        lines.append(f"m_axis_tuser    one bit per {wanted}: 1 for an ill-formed item; 0 if no {wanted} is present")
    elif made.user:
        lines.append(f"m_axis_tuser    {_several(made.user_bits, 'bit')} per {wanted}, those of s_axis_tuser")
    lines += [
        "m_axis_tlast    last beat of the packet",
        "",
        *_timing_lines(core, gathers=parameters.accepts_gaps),
        *parameters.notes(),
        "SPDX-License-Identifier: BSD-2-Clause",
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines) + "\n"


def _keep_lines(parameters: CoreParameters, source: SymbolPorts) -> Iterator[str]:
    given, ones = parameters.input_noun, "1" * source.size
    if parameters.accepts_gaps:
        yield f"s_axis_tkeep    {ones} for each {given} that is present, in any lanes of any beat;"
        yield f"                none with s_axis_tlast ends the packet without a {given};"
    else:
        yield f"s_axis_tkeep    {ones} for each {given} that is present, contiguous from bit 0;"
        yield f"                fewer than all {given}s only with s_axis_tlast;"
        yield f"                none with s_axis_tlast ends the packet without a {given};"
    yield f"                a beat with neither a {given} nor s_axis_tlast has no effect"


def _timing_lines(core: Core, *, gathers: bool) -> Iterator[str]:
    fills = ", and from the one that fills or ends its output beat," if core.packed and core.lanes > 1 else ""
    if gathers:
        fills = ", and from the one that fills or ends each beat with it,"
    yield f"Latency: at most {_several(core.latency, 'cycle')} from the beat that determines a symbol{fills}"
    yield "to the symbol, while m_axis_tready is high."
    low = f"low for {_several(core.reset_cycles, 'cycle')}" if core.reset_cycles else "high at once"
    yield "Reset: s_axis_tready may be high while rst is; a beat that is transferred then is lost."
    yield f"After rst, s_axis_tready is {low}."


def _several(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
