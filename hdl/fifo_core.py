# SPDX-License-Identifier: BSD-2-Clause
"""What all cores without a packer have in common: a pipeline that never pauses, and a FIFO with credits."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Shape, ShapeLike, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.commented import named
from utf8fpga.hdl.fifo import CreditFifo
from utf8fpga.hdl.packer.packer import Sparse


class FifoCore(wiring.Component):
    """A pipeline that never pauses, and a `CreditFifo` of its beats. A subclass has the pipeline.

    Throughput: a beat per cycle, or what the consumer accepts. Back-to-back packets need no gap and no reset. There is
    no combinational path from an input port to an output port.

    Args:
        given, made: the shapes of the symbols at the input and at the output.
        lanes, out_lanes: their numbers.
        cycles: cycles from the input to the end of the pipeline.

    Attributes:
        depth: rows of the FIFO.
        drops: the pipeline may have beats without a symbol, which are dropped unless their packet ends.
    """

    packed = True
    stall_cycles = 3
    depth = 16
    drops = False

    def __init__(self, given: ShapeLike, made: ShapeLike, lanes: int, out_lanes: int, cycles: int) -> None:
        self.lanes = lanes
        self._slot = Shape.cast(made).width + 1
        self.fifo = CreditFifo(out_lanes * self._slot + 1, self._slot, self.depth)
        self.latency = cycles + self.fifo.latency
        self.drain_cycles = self.depth - 1
        super().__init__(stage_ports(given, made, lanes, out_lanes))

    def pipeline(self, m: Module, accepted: Value) -> Sparse:
        """The beats from the input; see `PackedCore.pipeline`."""
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        m, fifo, accepted = Module(), self.fifo, Signal()
        m.d.comb += [self.input.ready.eq(fifo.ready), accepted.eq(is_effective(self.input) & fifo.ready)]
        beat = self.pipeline(m, accepted)
        m.submodules.fifo = fifo
        stored, output = beat.valid, self.output
        if self.drops:
            is_empty = named(m, "is_empty", ~beat.keep.any() & ~beat.last)
            stored = beat.valid & ~is_empty
            m.d.comb += fifo.dropped.eq(beat.valid & is_empty)
        slots = [Cat(word, keep) for word, keep in zip(beat.words, beat.keep, strict=True)]
        m.d.comb += [fifo.accepted.eq(accepted), fifo.entry.eq(Cat(*slots, beat.last)), fifo.stored.eq(stored)]
        m.d.comb += [output.valid.eq(fifo.output_valid), fifo.output_ready.eq(output.ready)]
        m.d.comb += output.payload.last.eq(fifo.output[-1])
        for lane, symbol in enumerate(output.payload.symbols):
            slot = fifo.output.word_select(lane, self._slot)
            m.d.comb += [Value.cast(symbol).eq(slot[:-1]), output.payload.keep[lane].eq(slot[-1])]
        return m
