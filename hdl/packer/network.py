# SPDX-License-Identifier: BSD-2-Clause
"""Moves each word to its lane: a reverse banyan network."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import named
from utf8fpga.hdl.packer.places import front_lanes, middles, place_bits
from utf8fpga.hdl.registers import delayed_by, delayed_duplicate


class Network(wiring.Component):
    """A reverse banyan network: each word goes to the lane that is its place, modulo `out_lanes`.

    Step k settles bit k of the places: in each block of 2 << k lanes it may exchange the words of two lanes at the
    distance 1 << k. Words whose places are consecutive never collide. Those of the upper half of a block have
    consecutive places, from that of the first word behind the middle of the block. So this place tells which lanes
    exchange their words: those that get a word from the upper half, whether or not there is one.

    Example: in a block of 4 lanes the upper half begins with place 3, modulo 4. So its words, with the places 3 and 0,
    go to lanes 3 and 0. Before this step the word of place 0 is in lane 2, so lanes 0 and 2 exchange their words.

    Latency: `latency` cycles from the words to `out_words`: one for each step but the last one, which is logic only.

    Args:
        width: bits of a word.
        lanes: lanes with words at the input. The network has `out_lanes`, the next power of two.

    Ports:
        middles_0, middles_1, ...: see `Places`; `middles_0` is there one cycle before the words.
        words: the words.
        out_words: the words in the lanes of their places.
    """

    def __init__(self, width: int, lanes: int) -> None:
        self.steps = range(place_bits(lanes))
        self.latency = len(self.steps) - 1
        self.lanes, self.out_lanes = lanes, 1 << len(self.steps)
        words = {"words": In(data.ArrayLayout(width, lanes)), "out_words": Out(data.ArrayLayout(width, self.out_lanes))}
        super().__init__(middles(lanes, In) | words)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = Signal(self.out_words.shape())
        m.d.comb += words.eq(self.words)
        for step in self.steps:
            half = 1 << step
            moved = Signal(words.shape(), name=f"words_after_{step}", reset_less=True)
            domain = m.d.sync if step < len(self.steps) - 1 else m.d.comb
            domain += moved.eq(words)
            for number, middle in enumerate(getattr(self, f"middles_{step}")):
                first = 2 * half * number
                cycles = int(step > 0)
                front = delayed_by(m, cycles, front_lanes(middle[:-1], half), f"front_{step}_{number}")
                top = delayed_by(m, cycles, middle[-1], f"top_{step}_{number}")
                exchanges = named(m, f"exchanges_{step}_{number}", ~(front ^ top.replicate(half)))
                for low in range(first, first + half):
                    for lane, other in ((low, low + half), (low + half, low)):
                        name = f"exchange_{step}_{lane}"
                        exchange = delayed_duplicate(m, exchanges[low - first], name, reset_less=True)
                        domain += moved[lane].eq(Mux(exchange, words[other], words[lane]))
            words = moved
        m.d.comb += self.out_words.eq(words)
        return m
