# SPDX-License-Identifier: BSD-2-Clause
"""A core connected to a UART: bytes in, and what the core outputs, out."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from utf8fpga.boards.forms import FORMS, form_of
from utf8fpga.boards.protocol import DLE, ENQ, EOT, WINDOW
from utf8fpga.boards.record import Record, RecordForm
from utf8fpga.hdl import CoreParameters, build
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.hdl.uart import UartReceiver, UartTransmitter, uart_divisor
from utf8fpga.model.exceptions import InvalidArgumentError

_LED_SECONDS = 0.05
"""Upper bound on the time in seconds for which an event is shown."""

_LED_TICKS = 8
"""Ticks of the LEDs' common timer in that time, including the one during which the event occurs."""

_MINIMUM_DEPTH = 4


class _Mark(IntEnum):
    """The markers in the buffer, which take the place of a byte."""

    END = 0
    LOST = 1
    REQUEST = 2
    """An answer was requested."""


_ENTRY_LAYOUT = data.StructLayout({"data": 8, "is_mark": 1})
"""An entry of the buffer: nine bits, which is the width of the block RAMs of many devices."""


class UartCore(wiring.Component):
    """A core with UART input and output: UTF-8 in, 8N1; what the core outputs, out, in its form, see `FORMS`.

    `utf8fpga.boards.protocol` describes the commands in the input: EOT or a break condition ends the text, ENQ requests
    an answer, and DLE makes a byte of them. Answers, ends of texts and lost bytes are sent in order with what the
    core outputs:

    - The end of a text: an open sequence gives an ill-formed item, then END is sent.
    - A damaged frame, and a byte that is received while the buffer is full, are lost: the text ends
      at this point, so that no sequence extends across the gap, and LOST is sent instead of END.
    - A request is answered when everything that the bytes before it determine has been sent.

    Throughput: the output may be longer than the input. Input without pauses then fills the buffer, unless the host
    waits for answers as the protocol says. Bytes are then lost until the buffer is half empty, which gives one LOST. An
    end of the text that is received during a full buffer is stored and ends the text as soon as an entry is free; if a
    further frame is received before that, the end is part of the gap.

    Latency: in the form words, the start bit of a word begins at most 7 cycles plus the core's latency after the
    middle of the stop bit of the byte that determines the item, if the transmitter is idle.

    Args:
        baud: bits per second of both lines; see `uart_divisor` for the limits.
        core: the parameters of a decoder, or a transcoder to UTF-8: one lane and code units of 8 bits; default: the
            smallest decoder of UTF-8.
        depth: the number of entries in the buffer, at least 4; each byte or marker needs one. The protocol needs 1024.

    Ports:
        rx: the input line; high while idle.
        tx: the output line; high while idle.
        activity: high for 44 to 50 ms after a frame was received.
        error: high for 44 to 50 ms after an ill-formed symbol left the core or a damaged frame was received.
        overflow: high from the first loss due to a full buffer until reset.

    Raises:
        InvalidArgumentError: the baud rate is not possible with the clock, `depth` is less than 4, or see `form_of`.
        TableError: the core's architecture does not support the table.
    """

    def __init__(
        self, clock_hz: float, baud: float, core: CoreParameters | None = None, *, depth: int = 2 * WINDOW
    ) -> None:
        self.divisor = uart_divisor(clock_hz, baud)
        if depth < _MINIMUM_DEPTH:
            raise InvalidArgumentError(f"buffer depth {depth} is less than {_MINIMUM_DEPTH} entries")
        self.core = core or FORMS["words"].core
        self.form = form_of(self.core)
        self.depth = depth
        self._tick_clocks = max(1, round(clock_hz * _LED_SECONDS / _LED_TICKS))
        self._circuit: Any = build(self.core)
        super().__init__({"rx": In(1), "tx": Out(1, init=1), "activity": Out(1), "error": Out(1), "overflow": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(self.divisor)
        m.submodules.buffer = buffer = SyncFIFOBuffered(width=_ENTRY_LAYOUT.size, depth=self.depth)
        m.submodules.core = core = self._circuit
        m.submodules.form = form = self.form.circuit(symbol_shape(core.output))
        m.submodules.transmitter = transmitter = UartTransmitter(self.divisor)
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]
        wiring.connect(m, form.data, transmitter.data)

        self._fill(m, receiver, buffer)
        self._process(m, buffer, core, form)

        frame = receiver.frames
        output = core.output
        ill_formed = output.valid & output.ready & output.payload.keep & output.payload.symbols[0].error
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
            mark = Mux(frame.damaged, _Mark.LOST, Mux(is_end, _Mark.END, _Mark.REQUEST))
            m.d.comb += [
                entry.is_mark.eq(frame.damaged | is_end | is_request),
                entry.data.eq(Mux(entry.is_mark, mark, frame.data)),
                buffer.w_en.eq(arrived),
            ]
        with m.If(arrived & (lost | ended | ~buffer.w_rdy)):
            with m.If(is_end & ~ended):
                m.d.sync += ended.eq(1)
            with m.Else():
                # LOST also ends the text, so it replaces a pending END.
                m.d.sync += [lost.eq(1), ended.eq(0), self.overflow.eq(1)]

    def _process(self, m: Module, buffer: SyncFIFOBuffered, core: Any, form: RecordForm) -> None:
        """Send the entries of the buffer to the core, and its symbols, the markers and the answers to the form."""
        source, output, records = core.input, core.output, form.records
        entry = data.View(_ENTRY_LAYOUT, buffer.r_data)
        ending = Signal()
        """A marker is in the core as the end of a text; no further unit is transferred until it leaves."""
        lost = Signal()
        """Whether that marker is LOST, else END."""
        is_request = entry.is_mark & (entry.data == _Mark.REQUEST)
        go = ~ending & ~is_request
        m.d.comb += [
            source.payload.symbols[0].eq(entry.data),
            source.payload.keep.eq(~entry.is_mark),
            source.payload.last.eq(entry.is_mark),
            source.valid.eq(buffer.r_rdy & go),
        ]
        transferred = source.valid & source.ready
        with m.If(transferred & entry.is_mark):
            m.d.sync += [ending.eq(1), lost.eq(entry.data == _Mark.LOST)]

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
            m.d.comb += records.payload.record.eq(Mux(lost, Record.LOST, Record.END))
        with m.If(output.valid & records.ready):
            m.d.sync += symbol_sent.eq(sends_symbol & last)
            with m.If(last & ~sends_symbol):
                m.d.sync += ending.eq(0)
