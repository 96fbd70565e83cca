# SPDX-License-Identifier: BSD-2-Clause
"""A decoder as a Verilog-2005 module with AXI4-Stream ports."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, DomainRenamer, Module, ResetSignal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.decoder.parameters import AnyDecoder, decoder_parameters
from utf8fpga.hdl.periodic_reset import RefreshedDecoder
from utf8fpga.hdl.toolchain import run_tool
from utf8fpga.model import EncodingTable
from utf8fpga.model.exceptions import InvalidArgumentError

__all__ = ["AxiStreamDecoder", "axi_rtlil", "axi_signature", "axi_verilog", "check_module_name"]

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
"""Characters of an identifier that every tool must accept (IEEE Std 1364-2005, 3.7.1)."""


def axi_signature(table: EncodingTable, lanes: int = 1) -> wiring.Signature:
    """The ports of the generated Verilog, for `lanes` code units per cycle."""
    return wiring.Signature(
        {
            "clk": In(1),
            "rst": In(1),
            "s_axis_tdata": In(table.unit_width * lanes),
            "s_axis_tkeep": In(lanes),
            "s_axis_tlast": In(1),
            "s_axis_tvalid": In(1),
            "s_axis_tready": Out(1),
            "m_axis_tdata": Out(32 * lanes),
            "m_axis_tkeep": Out(4 * lanes),
            "m_axis_tuser": Out(lanes),
            "m_axis_tlast": Out(1),
            "m_axis_tvalid": Out(1),
            "m_axis_tready": In(1),
        }
    )


class AxiStreamDecoder(wiring.Component):
    """A decoder behind AXI4-Stream names: bytes in, UTF-32 words out.

    Args:
        decoder: the decoder, with 8-bit units and neither `kind` nor `length`.

    Raises:
        InvalidArgumentError: the decoder is another.

    Ports: those of `axi_signature`; the word of an item lies in the low bits of
    ``m_axis_tdata``, ``m_axis_tuser`` is its error flag.
    """

    def __init__(self, decoder: AnyDecoder) -> None:
        self._decoder = decoder
        if decoder.kind or decoder.length or decoder.table.unit_width != 8:
            raise InvalidArgumentError("AXI4-Stream ports are for a decoder of bytes without kind and length")
        super().__init__(axi_signature(decoder.table, decoder.lanes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A domain of its own, so that a design around it keeps its clocks.
        m.domains += ClockDomain("axi", local=True)
        decoder = self._decoder
        m.submodules.decoder = DomainRenamer("axi")(decoder)
        source, output = decoder.input, decoder.output
        words, keep = [output.payload.symbols[lane] for lane in range(decoder.lanes)], Value.cast(output.payload.keep)
        m.d.comb += [
            ClockSignal("axi").eq(self.clk),
            ResetSignal("axi").eq(self.rst),
            Value.cast(source.payload.symbols).eq(self.s_axis_tdata),
            source.payload.keep.eq(self.s_axis_tkeep),
            source.payload.last.eq(self.s_axis_tlast),
            source.valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(source.ready),
            self.m_axis_tdata.eq(Cat(Cat(word.code_point, Const(0, 32 - len(word.code_point))) for word in words)),
            self.m_axis_tkeep.eq(Cat(bit.replicate(4) for bit in keep)),
            self.m_axis_tuser.eq(Cat(word.error for word in words)),
            self.m_axis_tlast.eq(output.payload.last),
            self.m_axis_tvalid.eq(output.valid),
            output.ready.eq(self.m_axis_tready),
        ]
        return m


def axi_rtlil(decoder: AnyDecoder, name: str = "utf8_decoder") -> str:
    """`AxiStreamDecoder` in Yosys's RTLIL, with `name` as its top module."""
    return str(rtlil.convert(AxiStreamDecoder(decoder), name=name, emit_src=False))


def axi_verilog(decoder: AnyDecoder, name: str = "utf8_decoder") -> str:
    """`AxiStreamDecoder` as one self-contained Verilog-2005 file, the same byte for byte each time.

    Args:
        decoder: the decoder, with 8-bit units and neither `kind` nor `length`.
        name: the top module, a plain Verilog identifier and no keyword.

    Raises:
        InvalidArgumentError: `name` cannot be a module's, see `check_module_name`.
        ToolError: Yosys is missing or failed.
    """
    check_module_name(name)
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "top.il").write_text(axi_rtlil(decoder, name), encoding="utf-8")
        script = f"read_rtlil top.il; hierarchy -top {name}; proc; flatten -separator _; opt_clean"
        run_tool("yosys", ["-q", "-p", f"{script}; write_verilog -noattr top.v"], directory=directory)
        text = (directory / "top.v").read_text(encoding="utf-8")
    # Yosys's own header says where it was built, which is no one's concern here.
    return _header(decoder) + text[text.index("module ") :]


def check_module_name(name: str) -> None:
    """Make sure that a module can have this name in Verilog and in SystemVerilog.

    Raises:
        ValueError: it cannot.
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


def _header(decoder: AnyDecoder) -> str:
    lanes, parameters = decoder.lanes, decoder_parameters(decoder)
    units, points = _several(lanes, "code unit"), _several(lanes, "code point")
    order = "contiguous from word 0" if decoder.packed else "in order, with gaps"
    replaced = "U+FFFD" if decoder.replacement else "undefined"
    lines = [
        f"{decoder.table.name} decoder, {parameters.architecture}, {units} per cycle, {decoder.practice};",
        f"pipeline {parameters.pipeline}, buffer {parameters.buffer or 'none'}, "
        f"refresh {parameters.refresh or 'none'}.",
        f"Generated from: {decoder.table.source}.",
        f"Command: {shlex.join(['utf8fpga', 'generate', *parameters.arguments()])}",
        "",
        "clk, rst        rising edge; synchronous, active high",
        f"s_axis_tdata    {units}, the first in the low bits",
        "s_axis_tkeep    one bit per code unit, contiguous from bit 0; fewer than all only with s_axis_tlast;",
        "                none with s_axis_tlast ends the text without a code unit;",
        "                a beat with neither a byte nor s_axis_tlast has no effect",
        "s_axis_tlast    the text ends after this beat",
        f"m_axis_tdata    {points} (UTF-32), {replaced} for an ill-formed item" + (f"; {order}" if lanes > 1 else ""),
        "m_axis_tkeep    1111 for each word that is present",
        "m_axis_tuser    one bit per word: it stands for an ill-formed item; 0 where no word is present",
        "m_axis_tlast    last beat of the text",
        "",
        *_timing_lines(decoder),
        *_refresh_lines(decoder),
        "SPDX-License-Identifier: BSD-2-Clause",
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines) + "\n"


def _timing_lines(decoder: AnyDecoder) -> Iterator[str]:
    fills = ", and from the one that fills or ends its output beat," if decoder.packed and decoder.lanes > 1 else ""
    yield f"Latency: at most {_several(decoder.latency, 'cycle')} from the beat that determines an item{fills}"
    yield "to the item, while m_axis_tready is high. A sequence that may go on is determined by the next beat."
    low = f"low for {_several(decoder.reset_cycles, 'cycle')}" if decoder.reset_cycles else "high at once"
    yield "Reset: s_axis_tready may be high while rst is; a beat that is transferred then is lost."
    yield f"After rst, s_axis_tready is {low}."


def _several(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"


def _refresh_lines(decoder: AnyDecoder) -> list[str]:
    if not isinstance(decoder, RefreshedDecoder):
        return []
    every = decoder.refresh.every
    return [f"Between texts it is reset, at least {every} cycles apart; then s_axis_tready is low for a while."]
