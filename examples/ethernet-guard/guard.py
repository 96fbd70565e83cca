# SPDX-License-Identifier: BSD-2-Clause
"""A guard for datagrams of text: their UTF-8 is repaired, or ill-formed datagrams are dropped, or marked.

It knows nothing of Ethernet: datagrams are packets of beats of four bytes, and what else belongs to one, such as its
addresses, is a number beside it. Chain: a store that loses whole datagrams only, a core, a store that knows the length.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, enum, fifo, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl import CoreParameters, RemoverParameters, TranscoderParameters, ValidatorParameters
from utf8fpga.hdl.beats import beat_layout, lanes_of

LANES = 4
MAX_WORDS = 8192
"""A length has 16 bits, so that a memory holds less than 65,536 bytes."""
COUNTERS = ("received", "sent", "ill_formed", "cut", "damaged", "lost")


class Policy(enum.Enum, shape=2):  # type: ignore[call-arg]  # amaranth's metaclass takes the shape
    """What becomes of a datagram whose text is ill-formed."""

    REPAIR = 0
    """One U+FFFD for each maximal subpart of an ill-formed subsequence (D93b). The text may become longer."""
    DROP = 1
    """It is not output."""
    MARK = 2
    """It is output as it is, with `ill_formed`."""

    def core(self) -> CoreParameters:
        """The core that the text passes."""
        if self is Policy.REPAIR:
            return TranscoderParameters(lanes=LANES, narrow=True)
        return ValidatorParameters(lanes=LANES, pass_through=True, report="verdict")


def text_stream(extra: ShapeLike) -> stream.Signature:
    """Beats of four bytes as those of cores, all with the same value of `extra` within a packet."""
    bytes_ = beat_layout(8, LANES).members
    return stream.Signature(data.StructLayout({**bytes_, "extra": extra}))


class Store(wiring.Component):
    """A memory of whole packets, each of which is output with its length when its last beat has arrived.

    Throughput: a beat per cycle, at both sides. A packet may be empty: one beat with `last` and without a byte.

    Args:
        words: beats that the memory holds, a power of two.
        packets: packets that it holds.
        extra: the number beside a packet, which is read with its last input beat.
        limit: longer packets are cut to so many bytes, a multiple of four, or fewer, so that no well-formed sequence
            is torn; None: no packet is cut.
        loses: the input never waits. A packet for which there is no room is lost. Default: the input waits; then the
            memory must hold a packet of `limit` bytes.

    Ports:
        input: beats of which all but the last one of a packet are full.
        discard: with the last input beat, the packet is not output.
        output: `extra` and the length in bytes, with beats of which all but the last one are full.
        ends, keeps, cuts: in the cycle in which the last beat of a packet is accepted; the packet will be output; it
            is cut.
    """

    def __init__(
        self, words: int, packets: int, extra: ShapeLike, *, limit: int | None = None, loses: bool = False
    ) -> None:
        self.words, self.packets, self.limit, self.loses = words, packets, limit, loses
        self.about = data.StructLayout({"length": 16, "extra": extra})
        super().__init__(
            {
                "input": In(text_stream(extra)),
                "discard": In(1),
                "output": Out(text_stream(self.about)),
                **{name: Out(1) for name in ("ends", "keeps", "cuts")},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = store = memory.Memory(shape=8 * LANES, depth=self.words, init=[])
        m.submodules.packets = packets = fifo.SyncFIFOBuffered(width=self.about.size, depth=self.packets)
        # Positions have one bit more than addresses, which tells a full memory from an empty one.
        first, write, read = (Signal(range(2 * self.words), name=name) for name in ("first", "write", "read"))
        self._write(m, store.write_port(), packets, first, write, read)
        self._read(m, store.read_port(), packets, read)
        return m

    def _write(self, m: Module, port: Any, packets: Any, first: Signal, write: Signal, read: Signal) -> None:
        beat, ready = self.input.payload, self.input.ready
        has_room = (write - read)[: len(write)] != self.words
        length, torn = Signal(16), Signal(range(LANES))
        overflows, cut = Signal(), Signal()
        beyond = length == self.limit if self.limit is not None else Const(0)
        fits = Signal()
        accepts = self.input.valid & ready
        bytes_ = Mux(beat.keep[3], 4, Mux(beat.keep[2], 3, Mux(beat.keep[1], 2, beat.keep[0])))
        m.d.comb += [
            ready.eq(1 if self.loses else packets.w_rdy & (has_room | beyond)),
            fits.eq(beat.keep[0] & has_room & ~beyond),
            port.addr.eq(write),
            port.data.eq(Value.cast(beat.symbols)),
            port.en.eq(accepts & fits),
            self.ends.eq(accepts & beat.last),
        ]
        lost = overflows | (beat.keep[0] & ~has_room & ~beyond)
        kept = length + Mux(fits, bytes_, 0)
        about = data.View(self.about, packets.w_data)
        m.d.comb += [
            self.keeps.eq(self.ends & ~self.discard & ~lost & packets.w_rdy),
            packets.w_en.eq(self.keeps),
            about.extra.eq(beat.extra),
            about.length.eq(kept),
        ]
        if self.limit is not None:
            # The bytes before the limit that belong to a sequence which goes on after it.
            continues = [Value.cast(byte)[6:8] == 0b10 for byte in beat.symbols]
            tail = Signal(LANES - 2)
            begins_after = cut | (beyond & beat.keep[0])
            back = Mux(cut, torn, Mux(continues[0], Mux(~tail[1], 1, Mux(~tail[0], 2, 3)), 0))
            m.d.comb += [self.cuts.eq(self.keeps & begins_after), about.length.eq(kept - Mux(begins_after, back, 0))]
            with m.If(accepts & ~beyond):
                m.d.sync += tail.eq(Cat(continues[2], continues[3]))
            with m.If(accepts & beyond & beat.keep[0]):
                m.d.sync += [cut.eq(1), torn.eq(back)]
        with m.If(accepts):
            m.d.sync += [write.eq(write + fits), length.eq(kept), overflows.eq(lost)]
        with m.If(self.ends):
            m.d.sync += [length.eq(0), overflows.eq(0), cut.eq(0)]
            with m.If(self.keeps):
                m.d.sync += first.eq(write + fits)
            with m.Else():
                m.d.sync += write.eq(first)

    def _read(self, m: Module, port: Any, packets: Any, read: Signal) -> None:
        beat, left, about = self.output.payload, Signal(16), Signal(self.about)
        loads = ~self.output.valid | (self.output.ready & beat.last)
        # The word at the position is read in each cycle, so that it is there when its packet is.
        m.d.comb += [
            Value.cast(beat.symbols).eq(port.data),
            beat.keep.eq(Cat(left > lane for lane in range(LANES))),
            beat.last.eq(left <= LANES),
            beat.extra.eq(about),
            port.addr.eq(read),
            packets.r_en.eq(loads),
        ]
        with m.If(self.output.valid & self.output.ready):
            m.d.comb += port.addr.eq(read + beat.keep[0])
            m.d.sync += [read.eq(read + beat.keep[0]), left.eq(left - LANES)]
        # What is known of a packet is in registers, since the output of a memory is late.
        with m.If(loads):
            loaded = data.View(self.about, packets.r_data)
            m.d.sync += [self.output.valid.eq(packets.r_rdy), about.eq(loaded), left.eq(loaded.length)]


class Guard(wiring.Component):
    """Datagrams of text in; the same out, in the same order, without those that are dropped, damaged or lost.

    The input never waits. A datagram for which there is no room is lost as a whole, and counted.

    Args:
        policy: what becomes of ill-formed text.
        limit: bytes of an output datagram, at most, a multiple of four; longer ones are cut after a character.
        words: words of four bytes that each of the two memories holds, a power of two.
        extra: bits of the number that accompanies a datagram.
        core: the core, with four lanes at both sides; default: that of the policy. Its output units have a value and a
            flag `error`.

    Ports:
        input: beats with `extra`; that of the last beat counts.
        damaged: with the last input beat, the datagram is discarded.
        output: beats with `extra.length`, the bytes of the datagram, `extra.extra.ill_formed` and
            `extra.extra.extra`, the number beside it.
        count_received, count_sent and so on: datagrams since the reset, in 32 bits, for each of `COUNTERS`. Those that
            are received are sent, damaged, lost, or with `Policy.DROP` ill-formed.
    """

    def __init__(
        self,
        policy: Policy = Policy.REPAIR,
        *,
        limit: int = 1472,
        words: int = 4096,
        extra: int = 16,
        core: CoreParameters | None = None,
    ) -> None:
        if words not in (1 << bits for bits in range(4, MAX_WORDS.bit_length())):
            raise ValueError(f"words {words} is not a power of two in 16..{MAX_WORDS}")
        if limit not in range(LANES, LANES * words + 1, LANES):
            raise ValueError(f"limit {limit} is not a multiple of {LANES} in {LANES}..{LANES * words}")
        self.policy, self.core = policy, core or policy.core()
        self._core = self.core.build()
        if (sides := (lanes_of(self._core.input), lanes_of(self._core.output))) != (LANES, LANES):
            raise ValueError(f"core {self.core.name} has {sides[0]} lanes in and {sides[1]} out, not {LANES}")
        packets = words // 16
        self.front = Store(words, packets, extra, loses=True)
        about = data.StructLayout({"ill_formed": 1, "extra": extra})
        self.back = Store(words, packets, about, limit=limit)
        super().__init__(
            {
                "input": In(text_stream(extra)),
                "damaged": In(1),
                "output": Out(text_stream(self.back.about)),
                **{f"count_{name}": Out(32) for name in COUNTERS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.front, m.submodules.back = front, back = self.front, self.back
        m.submodules.core = core = self._core
        # Output beats of the core need not be full.
        m.submodules.remover = remover = RemoverParameters(lanes=LANES, user=1).build()
        m.submodules.extras = extras = fifo.SyncFIFOBuffered(width=len(Value.cast(self.input.payload.extra)), depth=64)
        wiring.connect(m, wiring.flipped(self.input), front.input)
        wiring.connect(m, back.output, wiring.flipped(self.output))

        given, text = front.output.payload, core.input.payload
        passes = front.output.valid & extras.w_rdy
        m.d.comb += [
            front.discard.eq(self.damaged),
            text.symbols.eq(given.symbols),
            text.keep.eq(given.keep),
            text.last.eq(given.last),
            core.input.valid.eq(passes),
            front.output.ready.eq(core.input.ready & extras.w_rdy),
            extras.w_data.eq(given.extra.extra),
            extras.w_en.eq(passes & core.input.ready & given.last),
            Value.cast(remover.input.payload).eq(Value.cast(core.output.payload)),
            remover.input.valid.eq(core.output.valid),
            core.output.ready.eq(remover.input.ready),
        ]

        units, beat = remover.output.payload, back.input.payload
        may_end = extras.r_rdy | ~units.last
        flagged, ill_formed = Signal(), Signal()
        m.d.comb += [
            flagged.eq(ill_formed | Cat(units.keep[lane] & units.symbols[lane].user for lane in range(LANES)).any()),
            *(beat.symbols[lane].eq(units.symbols[lane].data) for lane in range(LANES)),
            beat.keep.eq(units.keep),
            beat.last.eq(units.last),
            beat.extra.ill_formed.eq(flagged),
            beat.extra.extra.eq(extras.r_data),
            back.input.valid.eq(remover.output.valid & may_end),
            remover.output.ready.eq(back.input.ready & may_end),
            back.discard.eq(flagged if self.policy is Policy.DROP else 0),
            extras.r_en.eq(back.ends),
        ]
        with m.If(back.input.valid & back.input.ready):
            m.d.sync += ill_formed.eq(flagged & ~units.last)

        events = {
            "received": front.ends,
            "damaged": front.ends & self.damaged,
            "lost": front.ends & ~self.damaged & ~front.keeps,
            "ill_formed": back.ends & flagged,
            "cut": back.cuts,
            "sent": self.output.valid & self.output.ready & self.output.payload.last,
        }
        for name, event in events.items():
            counter = getattr(self, f"count_{name}")
            m.d.sync += counter.eq(counter + event)
        return m
