# SPDX-License-Identifier: BSD-2-Clause
"""The proof that a parallel decoder recovers: its output does not depend on the earlier contents of its flip-flops.

Of the window: two windows with arbitrary flip-flop contents receive the same beats. Once as many units as the longest
sequence has, or the end of a packet, have been accepted, both output the same items for later beats. One of the two may
be the window of a decoder that was reset, whose items are correct by `WindowProof`.

`BufferProof` has the rest: in registers, the invariant of the buffer holds as soon as the consumer was ready, or no
beat was at the output. A buffer in memory has pointers for each few lanes, and desynchronised pointers remain so until
a reset.
"""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.helpers import how_many, keep_of
from utf8fpga.formal.top import Top
from utf8fpga.hdl import ParallelDecoder
from utf8fpga.hdl.decoder.window import RowWindow
from utf8fpga.hdl.memory_buffer import RowBuffer


class _Twins(Elaboratable):
    """The windows of two decoders, which receive the same.

    Attributes:
        run: in front of registers: all stages move on.
    """

    def __init__(self, build: Callable[[], ParallelDecoder]) -> None:
        self._decoders = build(), build()
        self._like = like = self._decoders[0]
        self.arrives, self.run, self.differs = Signal(), Signal(), Signal()
        self.fresh = Signal.like(Value.cast(like.input.payload), name="fresh")

    def _part(self, m: Module, decoder: ParallelDecoder) -> list[Value]:
        """The beats at the output of the window of a decoder: 0 where there is none."""
        m.submodules.window = window = decoder.window
        m.d.comb += [Value.cast(window.input.payload).eq(self.fresh), window.input.valid.eq(self.arrives)]
        lanes = range(decoder.lanes)
        if isinstance(window, RowWindow):
            m.submodules.buffer = buffer = decoder.item_buffer
            assert isinstance(buffer, RowBuffer)
            m.d.comb += window.late_reset.eq(buffer.late_reset)
            row = [Mux(window.row_valid[0], self._defined(Value.cast(window.row[n])), 0) for n in lanes[:-1]]
            tail = Cat(self._defined(Value.cast(window.tail.item)), window.tail.last)
            return [window.row_valid, *row, window.tail_valid, Mux(window.tail_valid, tail, 0)]
        m.d.comb += window.run.eq(self.run.replicate(len(window.run)))
        items = [self._defined(Value.cast(window.slots.slots[n])) for n in lanes]
        return [window.slots_valid, *(Mux(window.slots_valid, value, 0) for value in [*items, window.slots.last])]

    def _defined(self, item: Value) -> Value:
        """The bits of an item that are defined; 0 for the others."""
        like = self._like
        layout = like.parameters.slots_layout
        found = data.View(layout["slots"].shape.elem_shape, item)
        code_point = Mux(found.error & Const(not like.parameters.replacement, 1), 0, found.code_point)
        rest = item[len(found.code_point) :]
        return Cat(found.error, Mux(found.keep, Cat(code_point, rest), 0))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = Module(), Module()
        one, other = (self._part(*each) for each in zip(parts, self._decoders, strict=True))
        m.submodules.one, m.submodules.other = parts
        m.d.comb += self.differs.eq(Cat(value != like for value, like in zip(one, other, strict=True)).any())
        return m


class WindowRecovery(Top):
    """The question about the window, as a bit that must stay 0.

    Args:
        units: units after which the outputs are compared; default: as many as the longest sequence has.
    """

    def __init__(self, build: Callable[[], ParallelDecoder], *, units: int | None = None) -> None:
        super().__init__()
        self._like = like = build()
        self._twins = _Twins(build)
        self._payload = Signal(like.input.payload.shape())
        self._wanted = like.parameters.table.longest if units is None else units
        # Cycles from the first beat that is compared to its items.
        self._rows = like.stages.item_cycles
        # Cycles for which a late reset may be in progress at first.
        self._resets = like.reset_cycles - 1
        self.offer, self.run = Signal(name="offer"), Signal(name="run")
        self.fresh = Signal.like(self._twins.fresh, name="any_beat")
        self.bad = Signal(name="bad")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        like = self._like
        self.clocked(m, Const(0, 1))
        m.submodules.dut = twins = self._twins
        beat = Signal.like(self._payload)
        keep = keep_of(self._payload)
        m.d.comb += [
            Value.cast(self._payload).eq(self.fresh),
            beat.eq(self._payload),
            Value.cast(beat.keep).eq(keep),
            twins.fresh.eq(beat),
            twins.arrives.eq(self.offer),
            twins.run.eq(self.run),
        ]
        # In front of a memory the stages always advance.
        moves = self.run | Const(like.parameters.buffer != "registers", 1)
        settled = Signal(range(self._resets + 1))
        units, ended = Signal(range(self._wanted + 1)), Signal()
        cycles = Signal(range(self._rows + 1))
        taken = self.offer & (keep[0] | self._payload.last) & moves & (settled == self._resets)
        total = units + how_many(keep)
        known = ended | (units == self._wanted)
        with m.If(settled != self._resets):
            m.d.sync += settled.eq(settled + 1)
        with m.If(taken):
            m.d.sync += [units.eq(Mux(total > self._wanted, self._wanted, total)), ended.eq(ended | self._payload.last)]
        with m.If(moves & ((taken & known) | (cycles != 0)) & (cycles != self._rows)):
            m.d.sync += cycles.eq(cycles + 1)
        m.d.comb += self.bad.eq((cycles == self._rows) & twins.differs)
        return m
