# SPDX-License-Identifier: BSD-2-Clause
"""A decoder as a Verilog-2005 module with AXI4-Stream ports."""

from __future__ import annotations

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, ClockSignal, Module, ResetSignal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.serial import SerialDecoder

__all__ = ["AxiStreamDecoder", "axi_rtlil"]


class AxiStreamDecoder(wiring.Component):
    """`SerialDecoder` behind AXI4-Stream names: bytes in, UTF-32 words out.

    Args:
        decoder: the decoder, with 8-bit units and neither `kind` nor `length`.

    Ports: as the project's Verilog has them, ``s_axis_*`` in and ``m_axis_*`` out; the word of
    an item lies in 32 bits, ``m_axis_tuser`` is its error flag.
    """

    def __init__(self, decoder: SerialDecoder) -> None:
        self._decoder = decoder
        super().__init__(
            {
                "clk": In(1),
                "rst": In(1),
                "s_axis_tdata": In(decoder.table.unit_width),
                "s_axis_tkeep": In(1),
                "s_axis_tlast": In(1),
                "s_axis_tvalid": In(1),
                "s_axis_tready": Out(1),
                "m_axis_tdata": Out(32),
                "m_axis_tkeep": Out(4),
                "m_axis_tuser": Out(1),
                "m_axis_tlast": Out(1),
                "m_axis_tvalid": Out(1),
                "m_axis_tready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains += ClockDomain("sync")
        m.submodules.decoder = decoder = self._decoder
        units, items = decoder.units, decoder.items
        m.d.comb += [
            ClockSignal().eq(self.clk),
            ResetSignal().eq(self.rst),
            units.payload.unit.eq(self.s_axis_tdata),
            units.payload.keep.eq(self.s_axis_tkeep),
            units.payload.last.eq(self.s_axis_tlast),
            units.valid.eq(self.s_axis_tvalid),
            self.s_axis_tready.eq(units.ready),
            self.m_axis_tdata.eq(items.payload.code_point),
            self.m_axis_tkeep.eq(items.payload.keep.replicate(4)),
            self.m_axis_tuser.eq(items.payload.error),
            self.m_axis_tlast.eq(items.payload.last),
            self.m_axis_tvalid.eq(items.valid),
            items.ready.eq(self.m_axis_tready),
        ]
        return m


def axi_rtlil(decoder: SerialDecoder, name: str = "utf8_decoder") -> str:
    """`AxiStreamDecoder` in Yosys's RTLIL, with `name` as its top module."""
    return rtlil.convert(AxiStreamDecoder(decoder), name=name, emit_src=False)
