# SPDX-License-Identifier: BSD-2-Clause
"""The terminal: bytes from a UART in, pixels out."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped
from controls import Controls
from glyphs import FLASH, GlyphReader
from screen import Screen
from uart import UartReceiver
from unifont import LOST
from video import PIXEL, ScreenMemory, Video

from utf8fpga.hdl import DecoderParameters, build

DIVISOR = 25
"""The cycles of a bit of the UART: 1,000,000 baud at 25 MHz."""

DEPTH = 1024
"""The bytes that the buffer holds."""

FLASH_BASE = 0x400000
"""The address of the font in the flash, behind the bitstreams."""

_ENTRY = data.StructLayout({"byte": 8, "ends": 1})
"""An entry of the buffer: a byte, or an end of the text, where bytes were lost if `byte` is not 0."""


class Terminal(wiring.Component):
    """UTF-8 from a UART, 8N1, on a screen.

    A break condition ends the text, which shows an open sequence at once. A damaged frame, and bytes that are received
    while the buffer is full, end the text, too, and leave the sign of lost bytes.

    Args:
        memory: the glyphs in the block RAM, see `ascii_memory`.

    Ports:
        rx: the line of the UART.
        flash: see `GlyphReader`.
        pixel: see `Video`.
    """

    def __init__(self, memory: bytes) -> None:
        self._memory = memory
        super().__init__({"rx": In(1), "flash": Out(FLASH), "pixel": Out(PIXEL)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(DIVISOR)
        m.submodules.reader = reader = GlyphReader(self._memory, FLASH_BASE)
        m.submodules.video = video = Video()
        m.submodules.buffer = buffer = SyncFIFOBuffered(width=_ENTRY.size, depth=DEPTH)
        m.submodules.decoder = decoder = build(DecoderParameters(optimize="area", kind=True))
        m.submodules.controls = controls = Controls()
        m.submodules.screen = screen = Screen()
        m.submodules.memory = memory = ScreenMemory()
        connect(m, controls.commands, screen.commands)
        connect(m, screen.glyph, reader.glyph)
        connect(m, reader.bytes, screen.bytes)
        connect(m, reader.flash, flipped(self.flash))
        connect(m, screen.writes, memory.writes)
        connect(m, screen.view, video.view)
        connect(m, video.read, memory.read)
        m.d.comb += [receiver.rx.eq(self.rx), self.pixel.eq(video.pixel)]
        self._fill(m, receiver, buffer)
        self._decode(m, buffer, decoder, controls)
        return m

    def _fill(self, m: Module, receiver: UartReceiver, buffer: SyncFIFOBuffered) -> None:
        """Write frames to the buffer. From a frame that is lost on, all are, until the buffer is half empty."""
        frame, entry = receiver, data.View(_ENTRY, buffer.w_data)
        is_losing = Signal()
        with m.If(is_losing):
            m.d.comb += [entry.byte.eq(1), entry.ends.eq(1), buffer.w_en.eq(buffer.w_level <= DEPTH // 2)]
            m.d.sync += is_losing.eq(~buffer.w_en)
        with m.Elif(frame.valid):
            ends = frame.broken | frame.damaged
            # A break condition has the byte 0, a damaged frame has another one.
            m.d.comb += [entry.byte.eq(frame.data), entry.ends.eq(ends), buffer.w_en.eq(1)]
            m.d.sync += is_losing.eq(~buffer.w_rdy)

    def _decode(self, m: Module, buffer: SyncFIFOBuffered, decoder: wiring.Component, controls: Controls) -> None:
        """Send the entries to the decoder, and its items, and the signs of lost bytes, to the controls."""
        source, output, entry = decoder.input, decoder.output, data.View(_ENTRY, buffer.r_data)
        is_ending, is_lost = Signal(), Signal()
        """The end of a text is in the decoder; the sign of lost bytes is next."""
        m.d.comb += [
            source.payload.symbols[0].eq(entry.byte),
            source.payload.keep.eq(~entry.ends),
            source.payload.last.eq(entry.ends),
            source.valid.eq(buffer.r_rdy & ~is_ending),
            buffer.r_en.eq(source.ready & ~is_ending),
        ]
        loses, was_losing = Signal(), Signal()
        """Whether bytes were lost at this end, which may leave the decoder in the cycle in which it arrives."""
        m.d.comb += loses.eq(Mux(is_ending, was_losing, entry.byte != 0))
        m.d.sync += was_losing.eq(loses)
        with m.If(source.valid & source.ready & entry.ends):
            m.d.sync += is_ending.eq(1)
        # The register in front of the controls has room in every other cycle, which shortens the paths.
        item, symbol, is_held = controls.items.payload, output.payload.symbols[0], controls.items.valid
        with m.If(is_held):
            m.d.sync += is_held.eq(~controls.items.ready)
        with m.Elif(is_lost):
            m.d.sync += [item.cause.eq(LOST), is_held.eq(1), is_lost.eq(0), is_ending.eq(0)]
        with m.Else():
            m.d.comb += output.ready.eq(1)
            m.d.sync += [
                item.code_point.eq(symbol.code_point),
                item.cause.eq(symbol.kind),
                is_held.eq(output.valid & output.payload.keep),
            ]
            with m.If(output.valid & output.payload.last):
                m.d.sync += [is_lost.eq(loses), is_ending.eq(loses)]
