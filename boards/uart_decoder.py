# SPDX-License-Identifier: BSD-2-Clause
"""The decoder between the two wires of a UART: bytes in, UTF-32 words out."""

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
"""A word leaves as this many bytes, the least significant one first."""

_LED_SECONDS = 0.05
"""How long one event is shown, at most."""

_LED_TICKS = 8
"""Ticks of the clock that the LEDs share in that time; one of them is where the event falls."""

_MINIMUM_DEPTH = 4


class WordFlag(IntFlag):
    """The bits of a word above its code point; a word without one is a well-formed item.

    END and LOST stand alone: such a word is a mark and no item.
    """

    END = 1 << 29
    """The text ended here."""
    LOST = 1 << 30
    """At least one byte received was lost here; the text ended here."""
    ERROR = 1 << 31
    """The item is ill-formed; its code point is U+FFFD."""


class _Mark(IntEnum):
    """What an entry of the buffer holds in place of a byte."""

    END = 0
    LOST = 1


_ENTRY_LAYOUT = data.StructLayout({"data": 8, "is_mark": 1})
"""Nine bits, since the block RAMs of many devices are nine wide."""


class UartDecoder(wiring.Component):
    """UTF-8 in, code points out, both over one UART: 8N1, every item as a word of 4 bytes.

    A word has the code point in bits 20..0 and `WordFlag` in bits 31..29. Line breaks and lost
    bytes have words of their own, in their places among the items:

    - A line break ends the text: an open sequence comes out as ill-formed, then END.
    - A damaged frame, and a byte that finds the buffer full, are lost: the text ends where they
      were, so that nothing is glued together across the gap, and LOST comes out in place of END.

    Throughput: an item is one to four bytes in and always four bytes out at the same rate, so a
    sender that never pauses fills the buffer sooner or later, unless all its sequences have four
    bytes. From then on bytes are lost until it is half empty; the gap has one LOST. A line break
    that finds no room is kept and ends the text once there is room; if more arrives before that,
    the break is part of the gap.

    Latency: the first byte of a word starts within 7 cycles more than the decoder's latency after the middle of
    the stop bit of the byte that determines the item, if nothing else is being sent.

    Args:
        clock_hz: the clock, Hz.
        baud: bits per second, both ways; at most a quarter of the clock (see `uart_divisor`).
        core: the decoder's parameters: one lane, code units of 8 bits, neither `kind` nor `length`; default: the
            smallest decoder of UTF-8.
        depth: entries of the buffer, at least 4: one for each byte or mark that waits.

    Ports:
        rx, tx: the line in and the line out; high while idle.
        activity: high for 44 to 50 ms after something was received.
        error: high for 44 to 50 ms after an ill-formed item left the decoder or a frame was damaged.
        overflow: high from the first loss to a full buffer until reset.

    Raises:
        InvalidArgumentError: the clock cannot make the baud rate, `depth` is less than 4, or the decoder has several
            lanes, code units that are not bytes, or code points beyond 21 bits.
        TableError: the table is not of a kind that the decoder is made for.
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
            raise InvalidArgumentError(f"{table.name} has code units of {table.unit_width} bits; a UART carries 8")
        if core.lanes != 1:
            raise InvalidArgumentError(f"a UART carries one byte at a time, so lanes is 1, not {core.lanes}")
        if table.last_code_point >= 1 << 21:
            raise InvalidArgumentError(
                f"{table.name} has code points up to {table.last_code_point:X}; a word has room to 1FFFFF"
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
        items = decoder.items
        item = items.payload.items[0]
        ill_formed = items.valid & items.ready & item.keep & item.error
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
        """Frames to entries, in order; what finds no room becomes a mark that waits for it."""
        frame = receiver.frames.payload
        arrived = receiver.frames.valid
        lost, ended = Signal(), Signal()
        """Marks that wait to be written, in this order."""
        entry = data.View(_ENTRY_LAYOUT, buffer.w_data)
        with m.If(lost):
            # Half empty first: else every slot that falls free would be taken by a mark.
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
                # The gap swallows an end that waits before it: LOST ends the text as well.
                m.d.sync += [lost.eq(1), ended.eq(0), self.overflow.eq(1)]

    def _decode(self, m: Module, buffer: SyncFIFOBuffered, decoder: AnyDecoder, transmitter: UartTransmitter) -> None:
        """Entries to units, and items and marks to words."""
        units, items = decoder.units, decoder.items
        entry = data.View(_ENTRY_LAYOUT, buffer.r_data)
        ending = Signal()
        """A mark is on its way through the decoder as the end of a text; nothing follows it in there."""
        lost = Signal()
        """That mark is LOST, not END."""
        m.d.comb += [
            units.payload.units[0].eq(entry.data),
            units.payload.keep.eq(~entry.is_mark),
            units.payload.last.eq(entry.is_mark),
            units.valid.eq(buffer.r_rdy & ~ending),
            buffer.r_en.eq(units.ready & ~ending),
        ]
        with m.If(units.valid & units.ready & entry.is_mark):
            m.d.sync += [ending.eq(1), lost.eq(entry.data == _Mark.LOST)]

        word = Signal(8 * BYTES_PER_WORD)
        bytes_left = Signal(range(BYTES_PER_WORD + 1))
        item = items.payload.items[0]
        item_word = Cat(item.code_point, Const(0, 31 - len(item.code_point)), item.error)
        mark_word = Mux(lost, Const(WordFlag.LOST, 32), Const(WordFlag.END, 32))
        m.d.comb += [
            items.ready.eq(bytes_left == 0),
            transmitter.data.valid.eq(bytes_left != 0),
            transmitter.data.payload.eq(word[:8]),
        ]
        with m.If(items.valid & items.ready):
            m.d.sync += [word.eq(Mux(item.keep, item_word, mark_word)), bytes_left.eq(BYTES_PER_WORD)]
            with m.If(items.payload.last):
                m.d.sync += ending.eq(0)
        with m.Elif(transmitter.data.valid & transmitter.data.ready):
            m.d.sync += [word.eq(word >> 8), bytes_left.eq(bytes_left - 1)]
