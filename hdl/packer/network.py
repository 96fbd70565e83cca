# SPDX-License-Identifier: BSD-2-Clause
"""Moves each word to its lane: a butterfly network."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.packer.places import place_bits
from utf8fpga.hdl.registers import delayed, delayed_duplicate


class Network(wiring.Component):
    """A reverse banyan network: each word goes to the lane that is its place, modulo the lanes.

    Words with consecutive places never collide in it. Step k settles bit k of the place: a switch exchanges two
    lanes whose numbers differ in this bit. The words come one cycle after their places, so that registers set the
    switches.

    Latency: one cycle for each bit of a place, from `keep` to `out_keep`.

    Args:
        width: bits of a word.
        lanes: a power of two.

    Ports:
        keep, places: the lanes with a word, and where it goes.
        words: the words, one cycle later.
        out_keep, out_words: the lanes with a word, and one cycle later the words.
    """

    def __init__(self, width: int, lanes: int) -> None:
        self.lanes = lanes
        self.latency = place_bits(lanes)
        words, places = data.ArrayLayout(width, lanes), data.ArrayLayout(self.latency, lanes)
        given = {"keep": In(lanes), "places": In(places), "words": In(words)}
        super().__init__(given | {"out_keep": Out(lanes), "out_words": Out(words)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        keep, places, words = self.keep, self.places, self.words
        for step in range(self.latency):
            bits = data.ArrayLayout(self.latency - step - 1, self.lanes)
            next_keep = Signal(self.lanes, name=f"keep_after_{step}")
            next_places = Signal(bits, name=f"places_after_{step}", reset_less=True)
            next_words = Signal(words.shape(), name=f"words_after_{step}", reset_less=True)
            for low in range(self.lanes):
                high = low | 1 << step
                if low == high:
                    continue
                crosses = Signal(name=f"crosses_{step}_{low}")
                m.d.comb += crosses.eq(Mux(keep[low], places[low][0], ~places[high][0]))
                for lane, other in ((low, high), (high, low)):
                    crossed = delayed_duplicate(m, crosses, f"crossed_{step}_{lane}")
                    m.d.sync += [
                        next_keep[lane].eq(Mux(crosses, keep[other], keep[lane])),
                        next_places[lane].eq(Mux(crosses, places[other], places[lane])[1:]),
                        next_words[lane].eq(Mux(crossed, words[other], words[lane])),
                    ]
            keep, places, words = next_keep, next_places, next_words
        m.d.comb += [self.out_keep.eq(keep), self.out_words.eq(words)]
        return m


class Fold(wiring.Component):
    """From a network whose lanes are a power of two to rows of fewer lanes.

    A place below the number of lanes is a lane of the open row. Other places are lanes of the row behind it.
    Example: 5 lanes, 8 wide: place 5 is lane 5, lane 0 of the next row; place 8 is lane 0, `wrapped`, lane 3 of it.

    Latency: one cycle.

    Ports:
        keep, words: the output of the `Network`.
        wrapped: the place of a word here is the lane plus the lanes of the network.
        out_keep, out_words: the lanes of rows with a word, and one cycle later the words.
    """

    def __init__(self, width: int, lanes: int) -> None:
        self.lanes, self.wide = lanes, 1 << place_bits(lanes)
        given = {"keep": In(self.wide), "wrapped": In(self.wide), "words": In(data.ArrayLayout(width, self.wide))}
        super().__init__(given | {"out_keep": Out(lanes), "out_words": Out(data.ArrayLayout(width, lanes))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        keep = Signal(self.lanes, name="keep_folded")
        words = Signal(self.out_words.shape(), name="words_folded", reset_less=True)
        straight = self.keep & ~self.wrapped
        for lane in range(self.lanes):
            # The place lane + lanes is in this lane of the network.
            other = (lane + self.lanes) % self.wide
            folds = self.keep[other]
            if other < lane:
                folds &= self.wrapped[other]
            is_straight = delayed(m, straight[lane], f"is_straight_{lane}")
            m.d.sync += keep[lane].eq(straight[lane] | folds)
            m.d.sync += words[lane].eq(Mux(is_straight, self.words[lane], self.words[other]))
        m.d.comb += [self.out_keep.eq(keep), self.out_words.eq(words)]
        return m
