# SPDX-License-Identifier: BSD-2-Clause
"""The null-word remover: a stream with gaps becomes one without."""

from __future__ import annotations

from amaranth.hdl import Module, ShapeLike, Value
from amaranth.lib import data, wiring

from utf8fpga.hdl.beats import beat_layout, is_effective, stage_ports
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.register_buffer import RegisterBuffer


class Remover(wiring.Component):
    """Beats with any `keep` in, packed beats out: the same symbols of each packet in the same order.

    All output beats but the last one of a packet are full: symbols wait until their beat is full or
    the packet ends. Null beats, with neither a symbol nor `last`, have no effect. A packet without a symbol is one beat
    with `last` and no symbol; the end of a packet is such a beat, too, if the beat before it was full before `last`
    arrived.

    Throughput: a beat per cycle.

    Latency: a symbol is at the output at most `latency` cycles after the beat that closes its output
    beat, while no beat waits.

    Structure: a `Packer`; with one lane, where a beat with a symbol is full, a `RegisterBuffer` that null beats do not
    enter. There is no combinational path through it.

    Args:
        symbol: the shape of a symbol.

    Attributes:
        accepts_gaps: an input beat may have gaps.
        closer: the component that closes gaps.

    Ports:
        input: stream of `beat_layout`, with any `keep`.
        output: stream of `beat_layout`, the symbols contiguous from lane 0.
    """

    packed = True

    def __init__(self, symbol: ShapeLike, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(stage_ports(symbol, symbol, lanes))
        # A packer moves structures.
        moved = symbol if isinstance(symbol, data.StructLayout) else data.StructLayout({"value": symbol})
        self.closer: Packer | RegisterBuffer = (
            Packer(moved, lanes, flushes=False) if lanes > 1 else RegisterBuffer(beat_layout(symbol, 1), 1)
        )
        self.accepts_gaps = lanes > 1
        self.latency, self.reset_cycles = self.closer.latency, self.closer.reset_cycles
        self.stall_cycles = max(self.closer.stall_cycles, self.reset_cycles)
        # Not tight: the beats that are held are transferred while later ones pass through.
        self.drain_cycles = self.closer.capacity + self.latency

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.closer = closer = self.closer
        source, output = self.input, self.output
        if isinstance(closer, RegisterBuffer):
            m.d.comb += [
                closer.entry.eq(source.payload),
                closer.entry_valid.eq(is_effective(source) & closer.run),
                source.ready.eq(closer.run),
            ]
        else:
            m.d.comb += [
                Value.cast(closer.sparse.payload).eq(Value.cast(source.payload)),
                closer.sparse.valid.eq(source.valid),
                source.ready.eq(closer.sparse.ready),
            ]
        m.d.comb += [
            Value.cast(output.payload).eq(Value.cast(closer.output.payload)),
            output.valid.eq(closer.output.valid),
            closer.output.ready.eq(output.ready),
        ]
        return m
