# SPDX-License-Identifier: BSD-2-Clause
"""The terminal: bytes from a UART in, pixels out."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped
from controls import Controls
from glyphs import FLASH, GlyphReader
from screen import Screen
from video import PIXEL, ScreenMemory, Video

from utf8fpga.hdl import DecoderParameters, build
from utf8fpga.hdl.uart import UartReceiver

DIVISOR = 50
"""The cycles of a bit of the UART: 500,000 baud at 25 MHz."""
FLASH_BASE = 0x400000
"""The address of the font in the flash, behind the bitstreams."""


class Terminal(wiring.Component):
    """UTF-8 from a UART, 8N1, on a screen.

    A break condition or a damaged frame ends the text, which shows an open sequence at once. A glyph takes less time
    than its bytes, so the buffer only has to cover that of filling a line with blanks.

    Ports:
        rx: the line of the UART.
        flash: see `GlyphReader`.
        pixel: see `Video`.
    """

    def __init__(self) -> None:
        super().__init__({"rx": In(1), "flash": Out(FLASH), "pixel": Out(PIXEL)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(DIVISOR)
        m.submodules.buffer = buffer = SyncFIFOBuffered(width=9, depth=64)
        m.submodules.decoder = decoder = build(DecoderParameters(optimize="area", kind=True))
        m.submodules.controls = controls = Controls()
        m.submodules.screen = screen = Screen()
        m.submodules.reader = reader = GlyphReader(FLASH_BASE)
        m.submodules.memory = memory = ScreenMemory()
        m.submodules.video = video = Video()
        connect(m, controls.commands, screen.commands)
        connect(m, screen.glyph, reader.glyph)
        connect(m, reader.bytes, screen.bytes)
        connect(m, reader.flash, flipped(self.flash))
        connect(m, screen.writes, memory.writes)
        connect(m, screen.view, video.view)
        connect(m, video.read, memory.read)
        frames, source, output = receiver.frames, decoder.input, decoder.output
        ends = buffer.r_data[8]
        m.d.comb += [
            *(receiver.rx.eq(self.rx), self.pixel.eq(video.pixel)),
            buffer.w_data.eq(Cat(frames.payload.data, frames.payload.broken | frames.payload.damaged)),
            buffer.w_en.eq(frames.valid),
            source.payload.symbols[0].eq(buffer.r_data[:8]),
            *(source.payload.keep.eq(~ends), source.payload.last.eq(ends)),
            *(source.valid.eq(buffer.r_rdy), buffer.r_en.eq(source.ready)),
        ]
        # The register in front of the controls has room in every other cycle, which shortens the paths.
        item, symbol, is_held = controls.items.payload, output.payload.symbols[0], controls.items.valid
        with m.If(is_held):
            m.d.sync += is_held.eq(~controls.items.ready)
        with m.Else():
            m.d.comb += output.ready.eq(1)
            m.d.sync += [item.code_point.eq(symbol.code_point), item.cause.eq(symbol.kind)]
            m.d.sync += is_held.eq(output.valid & output.payload.keep)
        return m
