# SPDX-License-Identifier: BSD-2-Clause
"""A core connected to a UART: bytes in, and what the core outputs, out.

The host sends the bytes of a text. Three of the transmission control characters of ASCII (ISO 646) are commands:

- EOT, which a terminal sends for Ctrl-D, ends the text, as a break condition does.
- ENQ, Ctrl-E, requests an answer.
- DLE, Ctrl-P, before one of the three makes it a byte of the text; before any other byte it has no effect.

Flow control is by ENQ: the answer is sent when everything received before has been decoded and sent, so a host that
has `WINDOW` bytes or fewer in front of an answer that it waits for never overruns the board. This needs neither other
wires than RX and TX, nor a reaction within a time limit; RTS and CTS are not connected on most boards, and XON and XOFF
arrive too late behind a USB adapter, whose buffer holds more than the board's.
"""

from __future__ import annotations

import re
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from utf8fpga.boards.forms import Form, Mark, Words
from utf8fpga.hdl import build
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.hdl.uart import UartReceiver, UartTransmitter, uart_divisor

EOT, ENQ, DLE = 0x04, 0x05, 0x10

WINDOW = 1024
"""Upper bound on the bytes, without each DLE that precedes a byte, and commands that a host sends without an answer."""


def escaped(text: bytes) -> bytes:
    """A text with a DLE before each byte that is a command.

    >>> escaped(b"A\\x04\\x10").hex(" ")
    '41 10 04 10 10'
    """
    return re.sub(b"[\x04\x05\x10]", b"\x10\\g<0>", text)


class Record(enum.Enum, shape=2):  # type: ignore[call-arg]  # amaranth's metaclass takes the shape
    """What passes from the buffer to the transmitter: a byte or what the core makes of it, or a marker."""

    SYMBOL = 0
    END = 1
    LOST = 2
    ANSWER = 3


_ENTRY_LAYOUT = data.StructLayout({"data": 8, "is_mark": 1})
"""An entry of the buffer, a byte or a `Record`: nine bits, which is the width of the block RAMs of many devices."""


class Sender(wiring.Component):
    """Turns records into bytes, in a form.

    Latency: `data.valid` is asserted in the cycle after the transfer of a record.

    Args:
        symbol: the shape of the core's output symbols.

    Ports:
        records: stream of a `Record` and, if it is no marker, a symbol.
        data: stream of bytes to send.
    """

    def __init__(self, form: Form, symbol: Any) -> None:
        self._form = form
        record = data.StructLayout({"record": Record, "symbol": symbol})
        super().__init__({"records": In(stream.Signature(record)), "data": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        symbol = self._form.symbol_bytes(self.records.payload.symbol)
        marks = self._form.marks
        sizes = [len(symbol) // 8, *map(len, marks.values())]
        word, bytes_left = Signal(8 * max(sizes)), Signal(range(max(sizes) + 1))
        idle = bytes_left == 0
        m.d.comb += [self.records.ready.eq(idle), self.data.valid.eq(~idle), self.data.payload.eq(word[:8])]
        with m.If(self.records.valid & idle), m.Switch(self.records.payload.record):
            with m.Case(Record.SYMBOL):
                m.d.sync += [word.eq(symbol), bytes_left.eq(len(symbol) // 8)]
            for record, mark in ((Record.END, Mark.END), (Record.LOST, Mark.LOST), (Record.ANSWER, Mark.ANSWER)):
                with m.Case(record):
                    m.d.sync += [word.eq(int.from_bytes(marks[mark], "little")), bytes_left.eq(len(marks[mark]))]
        with m.Elif(~idle & self.data.ready):
            m.d.sync += [word.eq(word >> 8), bytes_left.eq(bytes_left - 1)]
        return m


class UartCore(wiring.Component):
    """A core with UART input and output: UTF-8 in, 8N1; what the core outputs, out, in a form.

    Answers, ends of texts and lost bytes are sent in order with what the core outputs:

    - The end of a text: an open sequence gives an ill-formed item, then END is sent.
    - A damaged frame, and a byte that is received while the buffer is full, are lost: the text ends
      at this point, so that no sequence extends across the gap, and LOST is sent instead of END.
    - A request is answered when everything that the bytes before it determine has been sent.

    Throughput: the output may be longer than the input. Input without pauses then fills the buffer, unless the host
    waits for answers. Bytes are then lost until the buffer is half empty, which gives one LOST.

    Latency: in the form words, the start bit of a word begins at most 7 cycles plus the core's latency after the
    middle of the stop bit of the byte that determines the item, if the transmitter is idle.

    Args:
        baud: bits per second of both lines; see `uart_divisor` for the limits.
        form: the form of the output, which determines the core.
        depth: the number of entries in the buffer, at least 4; each byte or marker needs one. The host expects 1024.

    Ports:
        rx: the input line; high while idle.
        tx: the output line; high while idle.
        activity: changes with each frame that is received.
        error: high from an ill-formed symbol, or a damaged frame, until the first byte of the next text.
        overflow: high from the first loss due to a full buffer until reset.

    Raises:
        InvalidArgumentError: the baud rate is not possible with the clock.
    """

    def __init__(self, clock_hz: float, baud: float, form: Form = Words, *, depth: int = 2 * WINDOW) -> None:
        self.divisor, self.form, self.depth = uart_divisor(clock_hz, baud), form, depth
        self._circuit: Any = build(form.core)
        super().__init__({"rx": In(1), "tx": Out(1, init=1), "activity": Out(1), "error": Out(1), "overflow": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(self.divisor)
        m.submodules.buffer = buffer = SyncFIFOBuffered(width=_ENTRY_LAYOUT.size, depth=self.depth)
        m.submodules.core = core = self._circuit
        m.submodules.sender = sender = Sender(self.form, symbol_shape(core.output))
        m.submodules.transmitter = transmitter = UartTransmitter(self.divisor)
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]
        wiring.connect(m, sender.data, transmitter.data)

        self._fill(m, receiver, buffer)
        self._process(m, buffer, core, sender.records)

        with m.If(receiver.frames.valid):
            m.d.sync += self.activity.eq(~self.activity)
        return m

    def _fill(self, m: Module, receiver: UartReceiver, buffer: SyncFIFOBuffered) -> None:
        """Write frames to the buffer, in order; frames received while it is full become a pending marker."""
        frame = receiver.frames.payload
        is_byte = ~frame.broken & ~frame.damaged
        escaped = Signal()
        """The byte before was a DLE, which is not stored."""
        prefix, is_end, is_request = Signal(), Signal(), Signal()
        m.d.comb += [
            prefix.eq(is_byte & ~escaped & (frame.data == DLE)),
            is_end.eq(frame.broken | (is_byte & ~escaped & (frame.data == EOT))),
            is_request.eq(is_byte & ~escaped & (frame.data == ENQ)),
        ]
        with m.If(receiver.frames.valid):
            m.d.sync += escaped.eq(prefix)
        arrived = receiver.frames.valid & ~prefix
        lost = Signal()
        """LOST is pending."""
        mark = Mux(frame.damaged, Record.LOST, Mux(is_end, Record.END, Record.ANSWER))
        entry = data.View(_ENTRY_LAYOUT, buffer.w_data)
        m.d.comb += [
            entry.is_mark.eq(lost | frame.damaged | is_end | is_request),
            entry.data.eq(Mux(lost, Record.LOST, Mux(entry.is_mark, mark, frame.data))),
            # A pending LOST waits until the buffer is half empty; otherwise every other entry would be one.
            buffer.w_en.eq(Mux(lost, buffer.w_level <= self.depth // 2, arrived)),
        ]
        with m.If(arrived & (lost | ~buffer.w_rdy)):
            m.d.sync += [lost.eq(1), self.overflow.eq(1)]
        with m.Elif(buffer.w_en):
            m.d.sync += lost.eq(0)

    def _process(self, m: Module, buffer: SyncFIFOBuffered, core: Any, records: Any) -> None:
        """Send the entries of the buffer to the core, and its symbols, the markers and the answers to the sender."""
        source, output = core.input, core.output
        entry = data.View(_ENTRY_LAYOUT, buffer.r_data)
        ending, marker = Signal(), Signal(Record)
        """Whether a marker is in the core as the end of a text, and which; no unit is transferred until it leaves."""
        is_request = entry.is_mark & (entry.data == Record.ANSWER)
        go = ~ending & ~is_request
        m.d.comb += [
            source.payload.symbols[0].eq(entry.data),
            source.payload.keep.eq(~entry.is_mark),
            source.payload.last.eq(entry.is_mark),
            source.valid.eq(buffer.r_rdy & go),
        ]
        begins = Signal(init=1)
        """The next byte is the first one of a text."""
        with m.If(source.valid & source.ready):
            m.d.sync += begins.eq(entry.is_mark)
            with m.If(entry.is_mark):
                m.d.sync += [
                    ending.eq(1),
                    marker.eq(entry.data),
                    self.error.eq(self.error | (entry.data == Record.LOST)),
                ]
            with m.Elif(begins):
                m.d.sync += self.error.eq(0)
        with m.If(output.valid & output.payload.keep & output.payload.symbols[0].error):
            m.d.sync += self.error.eq(1)

        patience = core.latency + core.drain_cycles + 1
        quiet = Signal(range(patience + 1))
        """The cycles without a symbol while a request waits; after them there is none that is determined."""
        waits = buffer.r_rdy & is_request & ~ending & ~output.valid
        with m.If(~waits):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != patience):
            m.d.sync += quiet.eq(quiet + 1)
        answers = waits & (quiet == patience)

        last = output.payload.last
        symbol_sent = Signal()
        """The symbol of a beat that also ends the text has been sent, and its marker has not."""
        sends_symbol = output.payload.keep & ~symbol_sent
        m.d.comb += [
            records.valid.eq(output.valid | answers),
            records.payload.symbol.eq(output.payload.symbols[0]),
            output.ready.eq(records.ready & ~answers & ~(sends_symbol & last)),
            buffer.r_en.eq((source.ready & go) | (answers & records.ready)),
        ]
        with m.If(answers):
            m.d.comb += records.payload.record.eq(Record.ANSWER)
        with m.Elif(~sends_symbol):
            m.d.comb += records.payload.record.eq(marker)
        with m.If(output.valid & records.ready):
            m.d.sync += symbol_sent.eq(sends_symbol & last)
            with m.If(last & ~sends_symbol):
                m.d.sync += ending.eq(0)
