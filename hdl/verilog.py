# SPDX-License-Identifier: BSD-2-Clause
"""A decoder as a Verilog-2005 module with AXI4-Stream ports."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, DomainRenamer, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.decoder import AnyDecoder
from utf8fpga.hdl.refresh import Refresh
from utf8fpga.hdl.tools import run_tool
from utf8fpga.model import EncodingTable

__all__ = ["AxiStreamDecoder", "axi_rtlil", "axi_signature", "axi_verilog"]

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
_KEYWORDS = frozenset(_RESERVED.split())
"""Reserved in IEEE Std 1364-2005, annex B."""


def axi_signature(table: EncodingTable, lanes: int = 1) -> wiring.Signature:
    """The ports of the generated Verilog, for `lanes` code units a clock."""
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
        refresh: clocks from one reset between texts to the next, see `Refresh`; none unless given.

    Raises:
        ValueError: the decoder is another, or `refresh` is not positive.

    Ports: those of `axi_signature`; the word of an item lies in the low bits of
    ``m_axis_tdata``, ``m_axis_tuser`` is its error flag.
    """

    def __init__(self, decoder: AnyDecoder, refresh: int | None = None) -> None:
        self._decoder = decoder
        self._refresh = None if refresh is None else Refresh(refresh)
        if decoder.kind or decoder.length or decoder.table.unit_width != 8:
            raise ValueError("AXI4-Stream ports are for a decoder of bytes without kind and length")
        super().__init__(axi_signature(decoder.table, decoder.lanes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # A domain of its own, so that a design around it keeps its clocks.
        m.domains += ClockDomain("axi", local=True)
        decoder = self._decoder
        m.submodules.decoder = DomainRenamer("axi")(decoder)
        units, items = decoder.units, decoder.items
        if "unit" in units.payload.shape().members:
            given, words = [units.payload.unit], [items.payload]
        else:
            given = [units.payload.units[lane] for lane in range(decoder.lanes)]
            words = [items.payload.items[lane] for lane in range(decoder.lanes)]
        reset, offered, ready = self.rst, self.s_axis_tvalid, units.ready
        if refresh := self._refresh:
            m.submodules.refresh = DomainRenamer("axi")(refresh)
            reset, offered, ready = reset | refresh.restart, offered & ~refresh.closed, ready & ~refresh.closed
            m.d.comb += [
                refresh.offered.eq(self.s_axis_tvalid),
                refresh.last.eq(self.s_axis_tlast),
                refresh.able.eq(units.ready),
                refresh.shows.eq(items.valid),
                refresh.wanted.eq(self.m_axis_tready),
            ]
        m.d.comb += [
            ClockSignal("axi").eq(self.clk),
            ResetSignal("axi").eq(reset),
            Cat(*given).eq(self.s_axis_tdata),
            units.payload.keep.eq(self.s_axis_tkeep),
            units.payload.last.eq(self.s_axis_tlast),
            units.valid.eq(offered),
            self.s_axis_tready.eq(ready),
            self.m_axis_tdata.eq(Cat(Cat(word.code_point, Const(0, 32 - len(word.code_point))) for word in words)),
            self.m_axis_tkeep.eq(Cat(word.keep.replicate(4) for word in words)),
            self.m_axis_tuser.eq(Cat(word.error for word in words)),
            self.m_axis_tlast.eq(items.payload.last),
            self.m_axis_tvalid.eq(items.valid),
            items.ready.eq(self.m_axis_tready),
        ]
        return m


def axi_rtlil(decoder: AnyDecoder, name: str = "utf8_decoder", *, refresh: int | None = None) -> str:
    """`AxiStreamDecoder` in Yosys's RTLIL, with `name` as its top module."""
    return str(rtlil.convert(AxiStreamDecoder(decoder, refresh), name=name, emit_src=False))


def axi_verilog(decoder: AnyDecoder, name: str = "utf8_decoder", *, refresh: int | None = None) -> str:
    """`AxiStreamDecoder` as one self-contained Verilog-2005 file, the same byte for byte each time.

    Args:
        decoder: the decoder, with 8-bit units and neither `kind` nor `length`.
        name: the top module, a plain Verilog identifier.
        refresh: see `AxiStreamDecoder`.

    Raises:
        ValueError: `refresh` is not positive, or `name` is no plain Verilog identifier, or a keyword of Verilog's.
        ToolError: Yosys is missing or failed.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"{name!r} is not a Verilog identifier: use letters, digits and _, not a digit first")
    if name in _KEYWORDS:
        raise ValueError(f"{name!r} is a keyword of Verilog: choose another module name")
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "top.il").write_text(axi_rtlil(decoder, name, refresh=refresh), encoding="utf-8")
        script = f"read_rtlil top.il; hierarchy -top {name}; proc; flatten -separator _; opt_clean"
        run_tool("yosys", ["-q", "-p", f"{script}; write_verilog -noattr top.v"], directory=directory)
        text = (directory / "top.v").read_text(encoding="utf-8")
    # Yosys's own header says where it was built, which is no one's concern here.
    return _header(decoder, refresh) + text[text.index("module ") :]


def _header(decoder: AnyDecoder, refresh: int | None) -> str:
    lanes, several = decoder.lanes, "s"[: decoder.lanes - 1]
    order = "contiguous from word 0" if decoder.packed else "in order, with gaps"
    replaced = "U+FFFD" if decoder.replacement else "undefined"
    lines = [
        f"{decoder.table.name} decoder, {lanes} code unit{several} a clock, "
        f"pipeline {decoder.pipeline}, {decoder.practice}.",
        f"Generated by utf8fpga from: {decoder.table.source}.",
        "",
        "clk, rst        rising edge; synchronous, active high",
        f"s_axis_tdata    {lanes} code unit{several}, the first in the low bits",
        "s_axis_tkeep    a bit for each unit that is there, from bit 0 on; fewer than all only with s_axis_tlast,",
        "                none with s_axis_tlast ends the text without one",
        "s_axis_tlast    the text ends after this beat",
        f"m_axis_tdata    {lanes} code point{several} (UTF-32), {replaced} for an ill-formed item"
        + (f"; {order}" if lanes > 1 else ""),
        "m_axis_tkeep    1111 for each word that is there",
        "m_axis_tuser    a bit for each word: it stands for an ill-formed item; 0 where there is no word",
        "m_axis_tlast    last beat of the text",
        f"An item follows the beat that determines it within {decoder.latency} clock{'s'[: decoder.latency - 1]}.",
        *(
            [f"Between texts it is reset every {refresh} clocks; then s_axis_tready is low for a while."]
            * bool(refresh)
        ),
        "SPDX-License-Identifier: BSD-2-Clause",
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines) + "\n"
