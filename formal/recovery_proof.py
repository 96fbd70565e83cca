# SPDX-License-Identifier: BSD-2-Clause
"""The proof that a parallel decoder recovers: what was in its registers before does not matter any more.

Up to the buffer: two decoders with any register contents whatever are given the same beats. The items of those that
are taken once the longest sequence's units or the end of a text have been taken are the same of both. One of the two
may be a decoder that was reset, of which `windows` proves that its items are right.

Of the buffer `buffers` has the rest: in registers, its invariant holds as soon as the consumer was ready, or was
shown nothing. In memory it has pointers for each few lanes, and where they have come apart they stay so until a reset.
"""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.helpers import how_many, keep_of
from utf8fpga.hdl import ParallelDecoder
from utf8fpga.hdl.decoder.window import CUTS
from utf8fpga.hdl.payloads import items_layout, offers

__all__ = ["WindowRecovery"]


class _Twins(Elaboratable):
    """Two decoders up to their buffers, which are given the same.

    Attributes:
        arrives: a beat is taken.
        run: of decoders with a buffer in registers: everything moves on.
        fresh: the beat.
        differs: what they put into their buffers does.
    """

    def __init__(self, build: Callable[[], ParallelDecoder]) -> None:
        self._decoders = build(), build()
        self._like = like = self._decoders[0]
        self.arrives, self.run, self.differs = Signal(), Signal(), Signal()
        self.fresh = Signal.like(Value.cast(like.units.payload), name="fresh")

    def _part(self, m: Module, decoder: ParallelDecoder) -> list[Value]:
        """The beats that one of them gives: 0 where there is none."""
        m.d.comb += [Value.cast(decoder.units.payload).eq(self.fresh), decoder.units.valid.eq(self.arrives)]
        if decoder.buffer == "memory":
            rows = decoder.write(m, offers(decoder.units), decoder.late_reset(m))
            here = rows.advances[0]
            items = [Mux(here, self._defined(item), 0) for item in rows.items]
            tail = Mux(rows.leaves, Cat(self._defined(rows.tail[:-1]), rows.tail[-1]), 0)
            return [*rows.advances, *items, rows.leaves, tail]
        offered = Signal()
        merged = decoder.merge(m, self.run, lambda: self.run, offered)
        width = merged.width
        words = [merged.word[lane * width : (lane + 1) * width] for lane in range(decoder.lanes)]
        return [offered, *(Mux(offered, word, 0) for word in [*map(self._defined, words), merged.word[-1]])]

    def _defined(self, item: Value) -> Value:
        """The bits of an item that say something."""
        like = self._like
        layout = items_layout(like.table, like.lanes, kind=like.kind, length=like.length)
        found = data.View(layout["items"].shape.elem_shape, item)
        code_point = Mux(found.error & Const(not like.replacement, 1), 0, found.code_point)
        rest = item[len(found.code_point) :]
        return Cat(found.error, Mux(found.keep, Cat(code_point, rest), 0))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = Module(), Module()
        one, other = (self._part(*each) for each in zip(parts, self._decoders, strict=True))
        m.submodules.one, m.submodules.other = parts
        m.d.comb += self.differs.eq(Cat(value != like for value, like in zip(one, other, strict=True)).any())
        return m


class WindowRecovery(Elaboratable):
    """The question up to the buffer, as a bit that must stay 0.

    Args:
        build: makes the decoder, whatever its buffer.
        units: how many are taken before it counts; the longest sequence's unless given.

    Attributes:
        bad: the bit.
    """

    def __init__(self, build: Callable[[], ParallelDecoder], *, units: int | None = None) -> None:
        self._like = like = build()
        self._twins = _Twins(build)
        self._payload = Signal(like.units.payload.shape())
        self._wanted = like.table.longest if units is None else units
        # Clocks from the first beat that counts to its items.
        self._rows = len(CUTS[like.pipeline] - ({"words"} if like.buffer == "memory" else set())) + 2
        self.clk = Signal(name="clk")
        self.offer, self.run = Signal(name="offer"), Signal(name="run")
        self.fresh = Signal.like(self._twins.fresh, name="any_beat")
        self.bad = Signal(name="bad")

    @property
    def ports(self) -> list[Signal]:
        """The ports of the top module."""
        return [self.clk, self.offer, self.run, self.fresh, self.bad]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        like = self._like
        m.domains.sync = domain = ClockDomain("sync")
        m.submodules.dut = twins = self._twins
        beat = Signal.like(self._payload)
        keep = keep_of(self._payload)
        m.d.comb += [
            domain.clk.eq(self.clk),
            domain.rst.eq(0),
            Value.cast(self._payload).eq(self.fresh),
            beat.eq(self._payload),
            Value.cast(beat.keep).eq(keep),
            twins.fresh.eq(beat),
            twins.arrives.eq(self.offer),
            twins.run.eq(self.run),
        ]
        # Before a memory nothing ever holds still.
        moves = self.run | Const(like.buffer == "memory", 1)
        # A late reset may be under way at first.
        settled = Signal(range(like.resetting + 1))
        units, ended = Signal(range(self._wanted + 1)), Signal()
        clocks = Signal(range(self._rows + 1))
        taken = self.offer & (keep[0] | self._payload.last) & moves & (settled == like.resetting)
        total = units + how_many(keep)
        known = ended | (units == self._wanted)
        with m.If(settled != like.resetting):
            m.d.sync += settled.eq(settled + 1)
        with m.If(taken):
            m.d.sync += [units.eq(Mux(total > self._wanted, self._wanted, total)), ended.eq(ended | self._payload.last)]
        with m.If(moves & ((taken & known) | (clocks != 0)) & (clocks != self._rows)):
            m.d.sync += clocks.eq(clocks + 1)
        m.d.comb += self.bad.eq((clocks == self._rows) & twins.differs)
        return m
