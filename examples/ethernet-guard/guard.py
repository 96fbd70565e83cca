# SPDX-License-Identifier: BSD-2-Clause
"""A guard for datagrams of text, whose UTF-8 is repaired: one U+FFFD for each maximal subpart (D93b).

It knows nothing of Ethernet. A transcoder from UTF-8 to UTF-8 repairs the text, and a memory holds each datagram until
its length is known, since a repaired text may be up to three times as long.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl import RemoverParameters, TranscoderParameters, build

LANES = 4
"""Bytes of a beat at both sides."""
WORD = 4 * LANES
"""Bytes of a word of the memory: what a beat may become."""
MOST = 1472
"""Bytes of a repaired datagram, at most: UDP in one frame of 1518 bytes."""
COUNTERS = ("received", "sent", "ill_formed", "too_long", "damaged", "lost")

BEAT = {"bytes": data.ArrayLayout(8, LANES), "keep": LANES, "last": 1, "port": 16}
ABOUT = data.StructLayout({"length": 16, "port": 16})


class Guard(wiring.Component):
    """Datagrams of text in; the same out, repaired, in the same order.

    Datagrams that are damaged, that are longer than `MOST` after repair, or for which there is no room in the memory
    are not output, but counted. A datagram may be empty: one beat with `last` and without a byte.

    Throughput: a beat per cycle, at both sides. The input never waits, except for a cycle after the reset.

    Args:
        words: words of 12 bytes that the memory holds, a power of two. A datagram begins with a new word.

    Ports:
        input: beats of which all but the last one of a datagram are full. `port` and `damaged` count with the last one.
        output: the same with the `length` of the datagram in bytes.
        count_received, count_sent and so on: datagrams since the reset, in 32 bits, for each of `COUNTERS`. Those that
            are received are sent, too long, damaged or lost.
    """

    def __init__(self, words: int = 1024) -> None:
        self._words = words
        super().__init__(
            {
                "input": In(stream.Signature(data.StructLayout({**BEAT, "damaged": 1}))),
                "output": Out(stream.Signature(data.StructLayout({**BEAT, "length": 16}))),
                **{f"count_{name}": Out(32) for name in COUNTERS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = store = memory.Memory(shape=8 * WORD, depth=self._words, init=[])
        m.submodules.packets = packets = fifo.SyncFIFOBuffered(width=ABOUT.size, depth=self._words // 4)
        # Positions have one bit more than addresses, which tells a full memory from an empty one.
        write, read = Signal(range(2 * self._words)), Signal(range(2 * self._words))
        has_room = (write - read)[: len(write)] != self._words
        events = self._write(m, store.write_port(), packets, write, has_room)
        self._read(m, store.read_port(), packets, read)
        events["sent"] = self.output.valid & self.output.ready & self.output.payload.last
        for name, event in events.items():
            counter = getattr(self, f"count_{name}")
            m.d.sync += counter.eq(counter + event)
        return m

    def _write(self, m: Module, port: Any, packets: Any, write: Signal, has_room: Value) -> dict[str, Value]:
        """Repair, and write to the memory. A datagram that is not output is overwritten by the next one."""
        m.submodules.transcoder = transcoder = build(TranscoderParameters(lanes=LANES))
        m.submodules.beside = beside = fifo.SyncFIFOBuffered(width=17, depth=64)
        given, text = self.input.payload, transcoder.input
        # Between the beats of the transcoder there may be gaps, between those of the remover there are none.
        m.submodules.remover = remover = build(RemoverParameters(lanes=WORD, width=9))
        repaired, valid = remover.output.payload, remover.output.valid
        m.d.comb += [
            *(text.payload.symbols[lane].eq(given.bytes[lane]) for lane in range(LANES)),
            *(text.payload.keep.eq(given.keep), text.payload.last.eq(given.last), text.valid.eq(self.input.valid)),
            self.input.ready.eq(text.ready),
            Value.cast(remover.input.payload).eq(Value.cast(transcoder.output.payload)),
            *(remover.input.valid.eq(transcoder.output.valid), transcoder.output.ready.eq(remover.input.ready)),
            remover.output.ready.eq(1),
            beside.w_data.eq(Cat(given.port, given.damaged)),
            beside.w_en.eq(self.input.valid & self.input.ready & given.last),
        ]
        first, before = Signal.like(write), Signal(16)
        """The position of the datagram's first word, and the length before this beat."""
        length, is_over, overflows, is_ill_formed, was_ill_formed = Signal(16), Signal(), Signal(), Signal(), Signal()
        ends, is_too_long, is_damaged = valid & repaired.last, length > MOST, beside.r_data[16]
        errors = Cat(repaired.keep[lane] & repaired.symbols[lane][8] for lane in range(WORD))
        about = data.View(ABOUT, packets.w_data)
        m.d.comb += [
            length.eq(before + sum(repaired.keep[lane] for lane in range(WORD))),
            overflows.eq(is_over | (repaired.keep[0] & ~has_room)),
            is_ill_formed.eq(was_ill_formed | errors.any()),
            *(port.addr.eq(write), port.data.eq(Cat(repaired.symbols[lane][:8] for lane in range(WORD)))),
            *(port.en.eq(valid & repaired.keep[0] & has_room), beside.r_en.eq(ends)),
            *(about.length.eq(length), about.port.eq(beside.r_data)),
            packets.w_en.eq(ends & ~is_damaged & ~is_too_long & ~overflows),
        ]
        is_kept = packets.w_en & packets.w_rdy
        with m.If(valid):
            m.d.sync += [write.eq(write + port.en), before.eq(length), is_over.eq(overflows)]
            m.d.sync += was_ill_formed.eq(is_ill_formed)
        with m.If(ends):
            m.d.sync += [before.eq(0), is_over.eq(0), was_ill_formed.eq(0), write.eq(first)]
            with m.If(is_kept):
                m.d.sync += [first.eq(write + port.en), write.eq(write + port.en)]
        return {
            "received": ends,
            "damaged": ends & is_damaged,
            "ill_formed": ends & ~is_damaged & is_ill_formed,
            "too_long": ends & ~is_damaged & is_too_long,
            "lost": ends & ~is_damaged & ~is_too_long & ~is_kept,
        }

    def _read(self, m: Module, port: Any, packets: Any, read: Signal) -> None:
        """Output the quarters of words, with what is known of the datagram."""
        output, beat = self.output, self.output.payload
        left, about, quarter = Signal(16), Signal(ABOUT), Signal(range(4))
        takes = output.valid & output.ready
        loads = ~output.valid | (takes & beat.last)
        is_at_end = (quarter == 3) | beat.last
        ends_word = takes & beat.keep[0] & is_at_end
        # The word at the position is read in each cycle, so that it is there when its datagram is.
        m.d.comb += [
            Value.cast(beat.bytes).eq(port.data.word_select(quarter, 8 * LANES)),
            beat.keep.eq(Cat(left > lane for lane in range(LANES))),
            beat.last.eq(left <= LANES),
            *(beat.length.eq(about.length), beat.port.eq(about.port)),
            port.addr.eq(read + ends_word),
            packets.r_en.eq(loads),
        ]
        with m.If(takes):
            m.d.sync += [read.eq(read + ends_word), left.eq(left - LANES), quarter.eq(Mux(is_at_end, 0, quarter + 1))]
        with m.If(loads):
            loaded = data.View(ABOUT, packets.r_data)
            m.d.sync += [output.valid.eq(packets.r_rdy), about.eq(loaded), left.eq(loaded.length)]
