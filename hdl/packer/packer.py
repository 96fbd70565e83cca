# SPDX-License-Identifier: BSD-2-Clause
"""The packer: beats with gaps in, rows whose words are contiguous from lane 0 out.

Prefix sums count the words in front of each lane. So each word knows its place behind the words of the open row, and
finds its way there through a network of switches, a reverse banyan network. A memory for each lane holds the rows.
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_stream, connected, is_effective, stage_ports
from utf8fpga.hdl.commented import register
from utf8fpga.hdl.fifo import Credits
from utf8fpga.hdl.minimise import minimised_bits
from utf8fpga.hdl.packer.network import Fold, Network
from utf8fpga.hdl.packer.places import Places, place_bits
from utf8fpga.hdl.packer.rows import FEW_ROWS, Rows, banks_of
from utf8fpga.hdl.registers import delayed


class Packer(wiring.Component):
    """Beats with gaps in, rows without gaps out: the same words of each packet in the same order.

    A row is output when it is full, when its packet ends, or with `closes`. The pipeline
    never pauses: its beats have credits.

    Throughput: a beat per cycle, or what the consumer accepts. Latency: `latency` cycles from the beat that closes a
    row. A reset discards all words; beats that were accepted before must not arrive after it.

    What is known of a beat with 16 lanes, by the cycles since it came:

    - 1 to 3: the words in each 4, 8 and 16 lanes.
    - 4: the place of each word, and of the beat which rows it closes and what is left in the open one.
    - 5 to 8: the places pass the network, and the words are a cycle behind them.
    - 8: which lanes of a row have a word, and which words belong to the next row.
    - 9: the words are written, and the marks of a row that is closed.
    - 11: the row is at the output, if there are two banks; with one bank it is there in cycle 10.

    Args:
        symbol: the shape of a word.
        lanes: words of a beat and of a row.
        input_latency: cycles from `accepted` to the beat at the input, at least; more only while the pipeline in front
            waits for the next beat, then one cycle less after that one.

    Ports:
        ready: register, a beat may be accepted.
        accepted: a beat is accepted, which arrives later, see `input_latency`.
        words, keep, last, valid: a beat, with words in any lanes; `last` only with `valid`.
        closes: the open row is closed. With `valid`: behind the words of the beat; it must equal `last`. Without
            `valid`: at once, since the input pauses.
        output: stream of `beat_layout`, the rows.
    """

    def __init__(self, symbol: ShapeLike, lanes: int, input_latency: int) -> None:
        self.lanes = lanes
        words = data.ArrayLayout(Shape.cast(symbol).width, lanes)
        self.places, self.network = Places(lanes), Network(words.elem_shape, 1 << place_bits(lanes))
        self.fold = Fold(words.elem_shape, lanes) if self.network.lanes != lanes else None
        to_rows = self.places.latency + self.network.latency + (self.fold is not None)
        # The beat that begins a row has a credit until the row leaves, for at most depth - 3 cycles, see `Credits`. One
        # cycle more if the next beat closes the row, or if it is the second row that a beat closes. The row is output
        # 1 + banks cycles later, and its credit is counted banks - 1 cycles after that.
        closed, self.depth = input_latency + to_rows + 1, FEW_ROWS
        while closed + (1 + banks_of(self.depth)) + (banks_of(self.depth) - 1) > self.depth - 3:
            self.depth *= 2
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
        words: Value = self.words
        for cycle in range(places.latency + 1):
            words = delayed(m, words, f"words_{cycle}")
        m.d.comb += [
            *connected(places, self, "keep", "last", "valid", "closes"),
            network.keep.eq(places.out_keep),
            *(network.places[lane].eq(places.places[lane]) for lane in range(self.lanes)),
            *(network.words[lane].eq(words[lane]) for lane in range(self.lanes)),
            self.ready.eq(counter.ready),
            counter.accepted.eq(self.accepted),
            counter.dropped.eq(places.begins_none),
            counter.left.eq(rows.left),
        ]
        self._fill_rows(m)
        wiring.connect(m, rows.output, wiring.flipped(self.output))
        return m

    def _fill_rows(self, m: Module) -> None:
        """From the network to the rows. What is known of the rows of a beat is delayed as long as its words."""
        places, network, fold, rows, lanes = self.places, self.network, self.fold, self.rows, self.lanes
        # The lanes of the last row of the beat that have a word.
        fronts = {size: (1 << size) - 1 for size in range(lanes)}
        open_lanes, last = minimised_bits(fronts, lanes, len(places.open_size))(places.open_size), places.out_last
        full, ends = places.full, places.ends
        for cycle in range(network.latency):
            # Rows need these one cycle before the rest.
            full_early, ends_early = full, ends
            open_lanes, last = delayed(m, open_lanes, f"open_lanes_{cycle}"), delayed(m, last, f"last_{cycle}")
            full = delayed(m, full, f"full_{cycle}", reset_less=False)
            ends = delayed(m, ends, f"ends_{cycle}", reset_less=False)
        # The words of a beat begin where those of the beat before end. Lanes in front get words of the next row;
        # the last lane never does, since the open row is not full.
        wraps = delayed(m, (open_lanes & ~ends.replicate(lanes))[:-1], "wraps")
        wrapped: Value = Cat(wraps, Const(0, network.lanes - lanes + 1))
        keep, words = network.out_keep, network.out_words
        if fold:
            m.submodules.fold = fold
            m.d.comb += [fold.keep.eq(keep), fold.wrapped.eq(wrapped), fold.words.eq(words)]
            keep, words, wrapped = fold.out_keep, fold.out_words, delayed(m, wrapped, "wrapped_folded")
            full_early, ends_early = full, ends
            open_lanes, last = delayed(m, open_lanes, "open_lanes_folded"), delayed(m, last, "last_folded")
        m.d.comb += [
            rows.keep.eq(keep),
            rows.words.eq(words),
            rows.wrapped.eq(wrapped[:lanes]),
            rows.open_lanes.eq(open_lanes),
            rows.last.eq(last),
            rows.full.eq(full_early),
            rows.ends.eq(ends_early),
        ]


class Sparse(NamedTuple):
    """A beat with gaps.

    Attributes:
        words: a symbol for each lane.
        keep: the lanes with a symbol.
        last: the packet ends.
        valid: there is a beat; all else is undefined without it.
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
        cycles: cycles from the input to the end of the pipeline.
    """

    packed = True
    waits_for_words = False

    def __init__(self, given: ShapeLike, made: ShapeLike, lanes: int, out_lanes: int, cycles: int) -> None:
        self.lanes, self.cycles = lanes, cycles
        super().__init__(stage_ports(given, made, lanes, out_lanes))
        self.packer = Packer(made, out_lanes, cycles)
        # Of two rows that a beat closes the second is output a cycle later. So is a row that the pause behind its last
        # word closes. Both cannot add up, since behind two closed rows none is open.
        self.latency = cycles + self.packer.latency + 1
        # A credit is counted later where rows are in several banks.
        self.stall_cycles = 2 + self.packer.rows.banks
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
        comment = "Cycles in which no beat came, although it would have been accepted, the last one first."
        pauses = register("pauses", comment, self.cycles, init=0)
        m.d.sync += pauses.eq(Cat(packer.ready & ~accepted, pauses))
        m.d.comb += [
            self.input.ready.eq(packer.ready),
            accepted.eq(self.offered() & packer.ready),
            packer.accepted.eq(accepted),
            last.eq(beat.valid & beat.last),
            packer.words.eq(Cat(beat.words)),
            packer.keep.eq(beat.keep),
            packer.last.eq(last),
            packer.valid.eq(beat.valid),
            packer.closes.eq(last if self.waits_for_words else Mux(beat.valid, beat.last, pauses[-1])),
        ]
        wiring.connect(m, packer.output, wiring.flipped(self.output))
        return m
