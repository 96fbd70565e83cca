# SPDX-License-Identifier: BSD-2-Clause
"""A decoder connected to a UART: bytes in, UTF-32 words out."""

from __future__ import annotations

from enum import IntEnum, IntFlag

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from utf8fpga.boards.uart import UartReceiver, UartTransmitter, uart_divisor
from utf8fpga.hdl import AnyDecoder, DecoderParameters
from utf8fpga.model.exceptions import InvalidArgumentError

__all__ = ["BYTES_PER_WORD", "UartDecoder", "WordFlag"]

BYTES_PER_WORD = 4
"""The number of bytes in which a word is sent, the least significant one first."""

_LED_SECONDS = 0.05
"""Upper bound on the time in seconds for which an event is shown."""

_LED_TICKS = 8
"""Ticks of the LEDs' common timer in that time, including the one during which the event occurs."""

_MINIMUM_DEPTH = 4


class WordFlag(IntFlag):
    """The flags of a word; a word without a flag is a well-formed item.

    A word with END or LOST is a marker, not an item, and has no other bit set.
    """

    END = 1 << 29
    """The end of a text."""
    LOST = 1 << 30
    """The end of a text at which at least one received byte was lost."""
    ERROR = 1 << 31
    """The item is ill-formed; its code point is U+FFFD."""


class _Mark(IntEnum):
    """The markers in the buffer, which take the place of a byte."""

    END = 0
    LOST = 1


_ENTRY_LAYOUT = data.StructLayout({"data": 8, "is_mark": 1})
"""An entry of the buffer: nine bits, which is the width of the block RAMs of many devices."""


class UartDecoder(wiring.Component):
    """A decoder with UART input and output: UTF-8 in, code points out, 8N1, each item as a word of 4 bytes.

    A word has the code point in bits 20..0 and `WordFlag` in bits 31..29. Break conditions and lost
    bytes are sent as words of their own, in order with the items:

    - A break condition ends the text: an open sequence gives an ill-formed item, then END is sent.
    - A damaged frame, and a byte that is received while the buffer is full, are lost: the text ends
      at this point, so that no sequence extends across the gap, and LOST is sent instead of END.

    Throughput: an item has one to four bytes at the input and always four bytes at the output, both at
    the same rate. Input without pauses therefore fills the buffer, unless all sequences have four
    bytes. Bytes are then lost until the buffer is half empty, which gives one LOST. A break condition
    during a full buffer is stored and ends the text as soon as an entry is free; if a further frame is
    received before that, the break is part of the gap.

    Latency: the start bit of a word begins at most 7 cycles plus the decoder's latency after the middle of the stop
    bit of the byte that determines the item, if the transmitter is idle.

    Args:
        clock_hz: the clock frequency in Hz.
        baud: bits per second of both lines; see `uart_divisor` for the limits.
        core: the decoder's parameters: one lane, code units of 8 bits, neither `kind` nor `length`; default: the
            smallest decoder of UTF-8.
        depth: the number of entries in the buffer, at least 4; each byte or marker needs one.

    Ports:
        rx: the input line; high while idle.
        tx: the output line; high while idle.
        activity: high for 44 to 50 ms after a frame was received.
        error: high for 44 to 50 ms after an ill-formed item left the decoder or a damaged frame was received.
        overflow: high from the first loss due to a full buffer until reset.

    Raises:
        InvalidArgumentError: the baud rate is not possible with the clock, `depth` is less than 4, or the decoder has
            several lanes, code units that are not bytes, or code points beyond 21 bits.
        TableError: the decoder's architecture does not support the table.
    """

    def __init__(
        self,
        clock_hz: float,
        baud: float,
        core: DecoderParameters | None = None,
        *,
        depth: int = 2048,
    ) -> None:
        self.divisor = uart_divisor(clock_hz, baud)
        if depth < _MINIMUM_DEPTH:
            raise InvalidArgumentError(f"buffer depth {depth} is less than {_MINIMUM_DEPTH} entries")
        self.core = core = DecoderParameters() if core is None else core
        table = core.table
        if table.unit_width != 8:
            raise InvalidArgumentError(f"{table.name} has code units of {table.unit_width} bits: a UART transfers 8")
        if core.lanes != 1:
            raise InvalidArgumentError(f"lanes is {core.lanes}, but a UART transfers one byte at a time: use 1")
        if table.last_code_point >= 1 << 21:
            raise InvalidArgumentError(
                f"{table.name} has code points up to {table.last_code_point:X}: a word has code points up to 1FFFFF"
            )
        self.depth = depth
        self._tick_clocks = max(1, round(clock_hz * _LED_SECONDS / _LED_TICKS))
        self._decoder = core.build()
        super().__init__({"rx": In(1), "tx": Out(1, init=1), "activity": Out(1), "error": Out(1), "overflow": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(self.divisor)
        m.submodules.buffer = buffer = SyncFIFOBuffered(width=_ENTRY_LAYOUT.size, depth=self.depth)
        m.submodules.decoder = decoder = self._decoder
        m.submodules.transmitter = transmitter = UartTransmitter(self.divisor)
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]

        self._fill(m, receiver, buffer)
        self._decode(m, buffer, decoder, transmitter)

        frame = receiver.frames
        output = decoder.output
        item = output.payload.symbols[0]
        ill_formed = output.valid & output.ready & output.payload.keep & item.error
        timer = Signal(range(self._tick_clocks))
        tick = timer == 0
        m.d.sync += timer.eq(Mux(tick, self._tick_clocks - 1, timer - 1))
        for led, event in (
            (self.activity, frame.valid),
            (self.error, ill_formed | (frame.valid & frame.payload.damaged)),
        ):
            ticks_left = Signal(range(_LED_TICKS + 1))
            m.d.comb += led.eq(ticks_left != 0)
            with m.If(event):
                m.d.sync += ticks_left.eq(_LED_TICKS)
            with m.Elif(tick & led):
                m.d.sync += ticks_left.eq(ticks_left - 1)
        return m

    def _fill(self, m: Module, receiver: UartReceiver, buffer: SyncFIFOBuffered) -> None:
        """Write frames to the buffer, in order; frames received while it is full become a pending marker."""
        frame = receiver.frames.payload
        arrived = receiver.frames.valid
        # Named, since the name that Amaranth finds in such an assignment depends on the version of Python.
        lost, ended = Signal(), Signal(name="ended")
        """The pending markers LOST and END, written in this order."""
        entry = data.View(_ENTRY_LAYOUT, buffer.w_data)
        with m.If(lost):
            # Wait until the buffer is half empty; otherwise every other entry would be a marker.
            m.d.comb += [
                entry.is_mark.eq(1),
                entry.data.eq(_Mark.LOST),
                buffer.w_en.eq(buffer.w_level <= self.depth // 2),
            ]
            m.d.sync += lost.eq(~buffer.w_en)
        with m.Elif(ended):
            m.d.comb += [entry.is_mark.eq(1), entry.data.eq(_Mark.END), buffer.w_en.eq(1)]
            m.d.sync += ended.eq(~buffer.w_rdy)
        with m.Else():
            m.d.comb += [
                entry.is_mark.eq(frame.broken | frame.damaged),
                entry.data.eq(Mux(frame.broken, _Mark.END, Mux(frame.damaged, _Mark.LOST, frame.data))),
                buffer.w_en.eq(arrived),
            ]
        with m.If(arrived & (lost | ended | ~buffer.w_rdy)):
            with m.If(frame.broken & ~ended):
                m.d.sync += ended.eq(1)
            with m.Else():
                # LOST also ends the text, so it replaces a pending END.
                m.d.sync += [lost.eq(1), ended.eq(0), self.overflow.eq(1)]

    def _decode(self, m: Module, buffer: SyncFIFOBuffered, decoder: AnyDecoder, transmitter: UartTransmitter) -> None:
        """Send the entries of the buffer to the decoder, and its items and the markers as words."""
        source, output = decoder.input, decoder.output
        entry = data.View(_ENTRY_LAYOUT, buffer.r_data)
        ending = Signal()
        """A marker is in the decoder as the end of a text; no further unit is transferred until it leaves."""
        lost = Signal()
        """Whether that marker is LOST, else END."""
        m.d.comb += [
            source.payload.symbols[0].eq(entry.data),
            source.payload.keep.eq(~entry.is_mark),
            source.payload.last.eq(entry.is_mark),
            source.valid.eq(buffer.r_rdy & ~ending),
            buffer.r_en.eq(source.ready & ~ending),
        ]
        with m.If(source.valid & source.ready & entry.is_mark):
            m.d.sync += [ending.eq(1), lost.eq(entry.data == _Mark.LOST)]

        word = Signal(8 * BYTES_PER_WORD)
        bytes_left = Signal(range(BYTES_PER_WORD + 1))
        item = output.payload.symbols[0]
        item_word = Cat(item.code_point, Const(0, 31 - len(item.code_point)), item.error)
        mark_word = Mux(lost, Const(WordFlag.LOST, 32), Const(WordFlag.END, 32))
        m.d.comb += [
            output.ready.eq(bytes_left == 0),
            transmitter.data.valid.eq(bytes_left != 0),
            transmitter.data.payload.eq(word[:8]),
        ]
        with m.If(output.valid & output.ready):
            m.d.sync += [word.eq(Mux(output.payload.keep, item_word, mark_word)), bytes_left.eq(BYTES_PER_WORD)]
            with m.If(output.payload.last):
                m.d.sync += ending.eq(0)
        with m.Elif(transmitter.data.valid & transmitter.data.ready):
            m.d.sync += [word.eq(word >> 8), bytes_left.eq(bytes_left - 1)]
