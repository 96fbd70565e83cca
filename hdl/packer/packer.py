# SPDX-License-Identifier: BSD-2-Clause
"""The packer: beats with gaps in, rows whose words are contiguous from lane 0 out.

Prefix sums count the words in front of each lane. So each word knows its place behind the words of the open row, and
finds its way there through a network of switches, a reverse banyan network. A memory for each lane holds the rows.
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_stream, connected, is_effective, stage_ports
from utf8fpga.hdl.commented import register
from utf8fpga.hdl.fifo import Credits
from utf8fpga.hdl.packer.network import Network
from utf8fpga.hdl.packer.places import Places, front_lanes, middles, words_latency
from utf8fpga.hdl.packer.rows import FEW_ROWS, Rows, banks_of
from utf8fpga.hdl.registers import delayed, delayed_by, delayed_duplicate


class Packer(wiring.Component):
    """Beats with gaps in, rows without gaps out: the same words of each packet in the same order.

    A row is output when it is full, when its packet ends, or with `closes`. The pipeline
    never pauses: its beats have credits.

    Throughput: a beat per cycle, or what the consumer accepts. Latency: `latency` cycles from the beat that closes a
    row. A reset discards all words; beats that were accepted before must not arrive after it, but late words may.

    What is known of a beat with 16 lanes, by the cycles since it came:

    - 1 to 3: the words in each 4, 8 and 16 lanes.
    - 4: the places for the first steps of the network, and of the beat which rows it closes and what is left in the
      open one.
    - 5: the words enter the network; `late` ones come only now.
    - 5 to 8: the words pass the steps of the network.
    - 8: the words are written, and the marks of a row that is closed; with two banks a cycle later.
    - 9: the row is at the output with one bank, with two banks in cycle 11.

    Args:
        symbol: the shape of a word.
        lanes: words of a beat and of a row, at least 2.
        input_latency: cycles from `accepted` to the beat at the input, at least; more only while the pipeline in front
            waits for the next beat, then one cycle less after that one.
        late: cycles by which `words` come after the other ports, at most `words_latency` of `lanes`.

    Ports:
        ready: register, a beat may be accepted.
        accepted: a beat is accepted, which arrives later, see `input_latency`.
        words, keep, last, valid: a beat, with words in any lanes; `last` only with `valid`.
        closes: the open row is closed. With `valid`: behind the words of the beat; it must equal `last`. Without
            `valid`: at once, since the input pauses.
        output: stream of `beat_layout`, the rows.
    """

    def __init__(self, symbol: ShapeLike, lanes: int, input_latency: int, late: int = 0) -> None:
        self.lanes = lanes
        words = data.ArrayLayout(Shape.cast(symbol).width, lanes)
        self.places, self.network = Places(lanes), Network(words.elem_shape, lanes)
        self.words_cycles = words_latency(lanes) - late
        # One more register behind the network: for the multiplexer if `lanes` is no power of two, and with two banks.
        self.depth, self.registered = FEW_ROWS, self.network.out_lanes > lanes
        to_rows = self.places.latency + self.network.latency + self.registered
        # For the full rate the beat that begins a row may have a credit for depth - 3 cycles, see `Credits`. Its words
        # are written `input_latency` + `to_rows` + 1 cycles after it; a cycle later if the next beat closes the row, or
        # if it is the second row that a beat closes. The row is output `banks` cycles after that, and its credit is
        # counted 2 (banks - 1) cycles later still.
        while input_latency + to_rows + 3 * banks_of(self.depth) > self.depth - 3:
            self.depth *= 2
            to_rows += not self.registered
            self.registered = True
        self.rows = Rows(symbol, lanes, self.depth)
        self.latency = to_rows + self.rows.latency
        credit = {"ready": Out(1), "accepted": In(1)}
        beat = {"words": In(words), "keep": In(lanes), "last": In(1), "valid": In(1), "closes": In(1)}
        super().__init__(credit | beat | {"output": Out(beat_stream(symbol, lanes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.credits = counter = Credits(self.depth)
        m.submodules.places = places = self.places
        m.submodules.network = network = self.network
        m.submodules.rows = rows = self.rows
        words = delayed_by(m, self.words_cycles, Value.cast(self.words), "words")
        m.d.comb += [
            *connected(places, self, "keep", "last", "valid", "closes"),
            *connected(network, places, *middles(self.lanes, In)),
            Value.cast(network.words).eq(words),
            self.ready.eq(counter.ready),
            counter.accepted.eq(self.accepted),
            counter.dropped.eq(places.begins_none),
            counter.left.eq(rows.left),
        ]
        self._fill_rows(m)
        wiring.connect(m, rows.output, wiring.flipped(self.output))
        return m

    def _fill_rows(self, m: Module) -> None:
        """From the network to the rows. What is known of the rows of a beat is delayed like its words."""
        places, rows, lanes = self.places, self.rows, self.lanes
        words = delayed_by(m, int(self.registered), self.network.out_words, "words_in_lanes")
        cycles = self.network.latency + places.extra_cycles + self.registered
        # Rows need these one cycle before the lanes, and two before the words.
        full = delayed_by(m, cycles - 1, places.full, "full", reset_less=False)
        ends = delayed_by(m, cycles - 1, places.ends, "ends", reset_less=False)
        # Of the open row the size, for each group of lanes, and in the last two cycles the lanes, since they are far
        # from one another.
        size_cycles = max(0, cycles - 2)
        sizes = [places.open_size] * len(rows.groups)
        for cycle in range(size_cycles):
            name = f"open_size_{cycle}"
            sizes = [delayed_duplicate(m, size, f"{name}_{n}", reset_less=True) for n, size in enumerate(sizes)]
        parts = zip(sizes, rows.groups, strict=True)
        early = Cat(front_lanes(size, lanes)[group.start : group.stop] for size, group in parts)
        open_lanes = delayed_by(m, cycles - size_cycles, early, "open_lanes", reset_less=False)
        # The lanes with a word in the row that is open in front of the beat. The words of the beat begin behind them,
        # so those that come to these lanes belong to the next row.
        has_ended = delayed(m, ends, "has_ended", reset_less=False)
        before = delayed(m, open_lanes & ~has_ended.replicate(lanes), "open_lanes_before")
        if self.network.out_lanes > lanes:
            # Word `lanes` + n of a row is word n of the next row.
            is_next = delayed(m, before, "is_next")
            others = [(lane + lanes) % self.network.out_lanes for lane in range(lanes)]
            words = Cat(Mux(is_next[lane], words[other], words[lane]) for lane, other in enumerate(others))
        m.d.comb += [
            Value.cast(rows.words).eq(words),
            rows.open_lanes_before.eq(before),
            rows.open_lanes.eq(open_lanes),
            rows.last.eq(delayed_by(m, cycles, places.out_last, "last")),
            rows.full.eq(full),
            rows.ends.eq(ends),
        ]


class Sparse(NamedTuple):
    """A beat with gaps.

    Attributes:
        words: a symbol for each lane.
        keep: the lanes with a symbol.
        last: the packet ends.
        valid: there is a beat; all else is undefined without it, and late words are those of a beat before.
    """

    words: list[Value]
    keep: Value
    last: Value
    valid: Value


class PackedCore(wiring.Component):
    """A pipeline that never pauses, and a `Packer`: what all cores with packed output have in common.

    A subclass has the pipeline. A word never waits for a beat that may not come: a cycle without an input beat closes
    the open row once it has passed the pipeline, unless `waits_for_words`.

    Throughput: a beat per cycle, or what the consumer accepts. Null beats have no effect. Back-to-back packets need no
    gap and no reset.

    Args:
        given, made: the shapes of the symbols at the input and at the output.
        lanes, out_lanes: their numbers.
        cycles: cycles from the input to the end of the pipeline; at least 1 unless `waits_for_words`.

    Attributes:
        late: see `Packer`.
    """

    packed = True
    waits_for_words, late = False, 0

    def __init__(self, given: ShapeLike, made: ShapeLike, lanes: int, out_lanes: int, cycles: int) -> None:
        self.lanes, self.cycles = lanes, cycles
        super().__init__(stage_ports(given, made, lanes, out_lanes))
        self.packer = Packer(made, out_lanes, cycles, self.late)
        # Of two rows that a beat closes the second is output a cycle later. So is a row that the pause behind its last
        # word closes. Both cannot add up, since behind two closed rows none is open.
        self.latency = cycles + self.packer.latency + 1
        # A credit is counted later where rows are in several banks.
        self.stall_cycles = 1 + 2 * self.packer.rows.banks
        # No pause, which closes the last row, enters while `ready` is deasserted. So the last word takes at most
        # stall_cycles + cycles + to_rows + 1 + banks, which the rule for the depth in `Packer` bounds by depth - 1.
        self.drain_cycles = self.packer.depth - 1

    def pipeline(self, m: Module, accepted: Value) -> Sparse:
        """The beats from the input, at least `cycles` cycles after they were accepted.

        They come later only while the pipeline waits for the next beat, then one cycle less after that one.
        """
        raise NotImplementedError

    def offered(self) -> Value:
        """Whether there is a beat at the input that enters the pipeline."""
        return is_effective(self.input)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.packer = packer = self.packer
        accepted, last = Signal(name="accepted"), Signal(name="last")
        beat = self.pipeline(m, accepted)
        closes = last
        if not self.waits_for_words:
            comment = "Cycles in which no beat came, although it would have been accepted, the last one first."
            pauses = register("pauses", comment, self.cycles, init=0)
            m.d.sync += pauses.eq(Cat(packer.ready & ~accepted, pauses))
            closes = Mux(beat.valid, beat.last, pauses[-1])
        m.d.comb += [
            self.input.ready.eq(packer.ready),
            accepted.eq(self.offered() & packer.ready),
            packer.accepted.eq(accepted),
            last.eq(beat.valid & beat.last),
            packer.words.eq(Cat(beat.words)),
            packer.keep.eq(beat.keep),
            packer.last.eq(last),
            packer.valid.eq(beat.valid),
            packer.closes.eq(closes),
        ]
        wiring.connect(m, packer.output, wiring.flipped(self.output))
        return m
