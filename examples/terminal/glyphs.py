# SPDX-License-Identifier: BSD-2-Clause
"""Reads glyphs from an SPI flash."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from unifont import ROWS, STRIDE

FLASH = wiring.Signature({"cs": Out(1), "sck": Out(1), "copi": Out(1), "cipo": In(1)})
"""The pins of a flash, SPI mode 0; `cs` is 1 while it is selected."""

_WAKE, _READ = 0xAB, 0x03
"""Commands of a flash: release from power-down, in which an iCE40 leaves it, and read."""


class GlyphReader(wiring.Component):
    """Sends the bytes of a glyph: the number of its columns, of which only bit 1 matters, and 16 for each.

    A bit of the flash takes two cycles. If `bytes.ready` is always asserted, a glyph takes 353 cycles with one column
    and 625 with two.

    Args:
        base: the address of the first glyph in the flash, see `flash_image`.

    Ports:
        glyph: stream of places of glyphs.
        bytes: stream of the bytes.
        flash: the pins of the flash.
    """

    def __init__(self, base: int) -> None:
        self._base = base
        super().__init__({"glyph": In(stream.Signature(16)), "bytes": Out(stream.Signature(8)), "flash": Out(FLASH)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sent, received = Signal(32, init=_WAKE << 24), Signal(8)
        bits, left = Signal(range(41), init=8), Signal(range(STRIDE))
        """The bits that are shifted, and the bytes that follow the one at the output."""
        is_width, is_awake, address = Signal(), Signal(), Signal(24)
        m.d.comb += [
            address.eq(self._base + self.glyph.payload + (self.glyph.payload << 5)),  # The stride is 33.
            *(self.flash.copi.eq(sent[-1]), self.bytes.payload.eq(received)),
        ]
        with m.FSM(init="SHIFT"):
            with m.State("IDLE"):
                m.d.comb += self.glyph.ready.eq(1)
                m.d.sync += [is_width.eq(1), sent.eq(Cat(address, Const(_READ, 8))), bits.eq(40)]
                with m.If(self.glyph.valid):
                    m.next = "SHIFT"
            with m.State("SHIFT"):
                m.d.comb += self.flash.cs.eq(1)
                m.d.sync += self.flash.sck.eq(~self.flash.sck)
                with m.If(~self.flash.sck):
                    m.d.sync += received.eq(Cat(self.flash.cipo, received))
                with m.Else():
                    m.d.sync += [sent.eq(sent << 1), bits.eq(bits - 1)]
                    with m.If(bits == 1):
                        m.d.sync += is_awake.eq(1)
                        m.next = "BYTE"
                        with m.If(~is_awake):
                            m.next = "IDLE"
            with m.State("BYTE"):
                m.d.comb += [self.flash.cs.eq(1), self.bytes.valid.eq(1)]
                with m.If(self.bytes.ready):
                    m.d.sync += [is_width.eq(0), bits.eq(8), left.eq(left - 1)]
                    m.next = "SHIFT"
                    with m.If(is_width):
                        m.d.sync += left.eq(Mux(received[1], 2 * ROWS, ROWS))
                    with m.Elif(left == 1):
                        m.next = "IDLE"
        return m
