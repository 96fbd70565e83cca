# SPDX-License-Identifier: BSD-2-Clause
"""The packer: beats with gaps in, rows whose words are contiguous from lane 0 out.

Prefix sums count the words in front of each lane. So each word knows its place behind the words of the open row, and
finds its way there through a network of switches, a reverse banyan network. A memory for each lane holds the rows.
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.commented import register
from utf8fpga.hdl.fifo import Credits
from utf8fpga.hdl.minimise import minimised_word
from utf8fpga.hdl.packer.network import Fold, Network
from utf8fpga.hdl.packer.places import OpenRow, Ranks, place_bits
from utf8fpga.hdl.packer.rows import BANKS, Rows
from utf8fpga.hdl.registers import delayed, delayed_duplicate

_COUNTED = 3
"""Rows that `Credits` leaves unused at the full rate: one is always free, and a count is two cycles late."""


class Packer(wiring.Component):
    """Beats with gaps in, rows without gaps out: the same words of each packet in the same order.

    A row is output when it is full, when its packet ends, or with `closes`. The pipeline
    never pauses: its beats have credits.

    Throughput: a beat per cycle, or what the consumer accepts. Latency: `latency` cycles from the beat that closes a
    row. A reset discards all words; beats that were accepted before must not arrive after it.

    Args:
        width: bits of a word.
        lanes: words of a beat and of a row.
        in_front: cycles from `accepted` to the beat at the input.

    Ports:
        ready: register, a beat may be accepted.
        accepted: a beat is accepted, and arrives `in_front` cycles later.
        words, keep, last, valid: a beat, with words in any lanes; `last` only with `valid`.
        closes: the open row is closed. With `valid`: behind the words of the beat; it must equal `last`. Without
            `valid`: at once, since the input pauses.
        output, output_keep, output_last, output_valid, output_ready: the rows.
    """

    def __init__(self, width: int, lanes: int, in_front: int) -> None:
        self.width, self.lanes = width, lanes
        self.ranks, self.open_row = Ranks(lanes), OpenRow(lanes)
        self.network = Network(width, 1 << place_bits(lanes))
        self.fold = Fold(width, lanes) if self.network.lanes != lanes else None
        to_rows = self.ranks.latency + 1 + self.network.latency + (self.fold is not None)
        # A credit returns two cycles per bank behind the rows, and one more if the next beat closes the row.
        latest = in_front + to_rows + 1 + _COUNTED
        self.depth = next(depth for depth, banks in BANKS.items() if latest + 2 * banks <= depth)
        self.rows = Rows(width, lanes, self.depth)
        self.latency = to_rows + self.rows.latency
        words = data.ArrayLayout(width, lanes)
        super().__init__(
            {
                "ready": Out(1),
                "accepted": In(1),
                "words": In(words),
                "keep": In(lanes),
                "last": In(1),
                "valid": In(1),
                "closes": In(1),
                "output": Out(words),
                "output_keep": Out(lanes),
                "output_last": Out(1),
                "output_valid": Out(1),
                "output_ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.credits = counter = Credits(self.depth)
        m.submodules.rows = rows = self.rows
        open_row, words = self._place(m)
        self._route(m, open_row, words)
        m.d.comb += [
            self.ready.eq(counter.ready),
            counter.accepted.eq(self.accepted),
            counter.dropped.eq(open_row.begins_none),
            counter.left.eq(rows.left),
            self.output.eq(rows.output),
            self.output_keep.eq(rows.output_keep),
            self.output_last.eq(rows.output_last),
            self.output_valid.eq(rows.output_valid),
            rows.output_ready.eq(self.output_ready),
        ]
        return m

    def _place(self, m: Module) -> tuple[OpenRow, Value]:
        """The place of each word, and later the words, as the network needs them."""
        m.submodules.ranks, m.submodules.open_row = ranks, open_row = self.ranks, self.open_row
        keep, last, valid, closes, words = self.keep, self.last, self.valid, self.closes, self.words
        for cycle in range(ranks.latency):
            keep = delayed(m, keep, f"keep_{cycle}")
            last = delayed(m, last, f"last_{cycle}", reset_less=False)
            valid = delayed(m, valid, f"valid_{cycle}", reset_less=False)
            closes = delayed(m, closes, f"closes_{cycle}", reset_less=False)
            words = delayed(m, words, f"words_{cycle}")
        m.d.comb += [
            ranks.keep.eq(self.keep),
            ranks.valid.eq(self.valid),
            open_row.keep.eq(keep),
            open_row.ranks.eq(ranks.ranks),
            open_row.total.eq(ranks.total),
            open_row.last.eq(last),
            open_row.valid.eq(valid),
            open_row.closes.eq(closes),
        ]
        for cycle in range(2):
            words = delayed(m, words, f"words_waiting_{cycle}")
        return open_row, words

    def _route(self, m: Module, open_row: OpenRow, words: Value) -> None:
        """Through the network to the rows. What is known of the rows of a beat is delayed as long.

        In cycles after `open_row.out_keep`: what is known of the rows 1, `network.out_keep` and the last of `marks`
        `network.latency`, the words 1 more; a `Fold` delays all of them by 1.
        """
        rows, fold, lanes = self.rows, self.fold, self.lanes
        m.submodules.network = network = self.network
        m.d.comb += [network.keep.eq(open_row.out_keep)]
        for lane in range(lanes):
            m.d.comb += [network.places[lane].eq(open_row.places[lane]), network.words[lane].eq(words[lane])]
        # The lanes of the last row of the beat that have a word.
        fronts = {size: (1 << size) - 1 for size in range(lanes)}
        rest = minimised_word(fronts, lanes, len(open_row.size))(open_row.size)
        groups = len(rows.groups)
        full, ends = open_row.full.replicate(groups), open_row.ends.replicate(groups)
        marks = {"rest": rest, "last": open_row.out_last, "full": full, "ends": ends}
        for step in range(1, network.latency):
            marks = self._marks_behind(m, marks, str(step))
        # The words of a beat begin where those of the beat before end. Lanes in front get words of the next row;
        # the last lane never does, since the open row is not full.
        in_front = delayed(m, (marks["rest"] & ~marks["ends"][0].replicate(lanes))[:-1], "is_in_front")
        wrapped: Value = Cat(in_front, Const(0, network.lanes - lanes + 1))
        keep, words = network.out_keep, network.out_words
        if fold:
            m.submodules.fold = fold
            m.d.comb += [fold.keep.eq(keep), fold.wrapped.eq(wrapped), fold.words.eq(words)]
            keep, words, wrapped = fold.out_keep, fold.out_words, delayed(m, wrapped, "wrapped_folded")
            marks = self._marks_behind(m, marks, "folded")
        m.d.comb += [rows.keep.eq(keep), rows.words.eq(words), rows.wrapped.eq(wrapped[:lanes])]
        m.d.comb += [getattr(rows, name).eq(value) for name, value in marks.items()]

    @staticmethod
    def _marks_behind(m: Module, marks: dict[str, Value], name: str) -> dict[str, Value]:
        """What is known of the rows of a beat, a cycle later. Each group of lanes has its own flags."""
        behind: dict[str, Value] = {mark: delayed(m, marks[mark], f"{mark}_{name}") for mark in ("rest", "last")}
        for mark in ("full", "ends"):
            flags = [delayed_duplicate(m, flag, f"{mark}_{name}_{group}") for group, flag in enumerate(marks[mark])]
            behind[mark] = Cat(flags)
        return behind


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
    reset_cycles = 0
    waits_for_words = False

    def __init__(self, given: ShapeLike, made: ShapeLike, lanes: int, out_lanes: int, cycles: int) -> None:
        self.lanes, self.cycles = lanes, cycles
        super().__init__(stage_ports(given, made, lanes, out_lanes))
        symbol = Value.cast(self.output.payload.symbols[0])
        self.packer = Packer(len(symbol), out_lanes, cycles)
        # Of two rows that a beat closes the second is output a cycle later.
        self.latency = cycles + self.packer.latency + 1
        self.drain_cycles = self.packer.depth - 1
        # A credit is counted later where rows are in several banks.
        self.stall_cycles = 2 + self.packer.rows.banks

    def pipeline(self, m: Module, accepted: Value) -> Sparse:
        """The beats from the input, `cycles` cycles after they were accepted."""
        raise NotImplementedError

    def offered(self) -> Value:
        """Whether there is a beat at the input that enters the pipeline."""
        return is_effective(self.input)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.packer = packer = self.packer
        accepted, last = Signal(name="accepted"), Signal(name="last")
        beat = self.pipeline(m, accepted)
        pauses = register(
            "pauses",
            "Cycles in which no beat came, although it would have been accepted, the last one first.",
            self.cycles,
            init=0,
        )
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
        self._output(m)
        return m

    def _output(self, m: Module) -> None:
        packer, output = self.packer, self.output
        m.d.comb += [
            output.valid.eq(packer.output_valid),
            packer.output_ready.eq(output.ready),
            output.payload.keep.eq(packer.output_keep),
            output.payload.last.eq(packer.output_last),
        ]
        for lane, symbol in enumerate(output.payload.symbols):
            m.d.comb += Value.cast(symbol).eq(packer.output[lane])
            if isinstance(symbol, data.View) and "error" in symbol.shape().members:
                # Where a row has no word in this lane, there is an older one.
                m.d.comb += symbol.error.eq(
                    packer.output[lane][symbol.shape()["error"].offset] & packer.output_keep[lane]
                )
