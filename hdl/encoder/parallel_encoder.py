# SPDX-License-Identifier: BSD-2-Clause
"""The parallel encoder: beats of code points in, beats of code units out."""

from __future__ import annotations

from amaranth.hdl import Module, ShapeLike
from amaranth.lib import wiring

from utf8fpga.hdl.beats import beat_layout, stage_ports
from utf8fpga.hdl.encoder.logic import EncoderLogic
from utf8fpga.hdl.encoder.narrower import Narrower
from utf8fpga.hdl.encoder.stages import EncoderStages
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.hdl.shift_queue import ShiftQueue
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable

_LANES_PER_COPY = 4
"""Lanes that move on with the same duplicate of a register."""


def slots_for(logic: EncoderLogic, source: EncodingTable | None = None) -> int:
    """The output lanes that each lane needs.

    Args:
        source: the form of the decoder in front. An item of several units has the lane before its own to itself, too.
            Default: each code point has one lane.
    """
    if source is None:
        return logic.longest
    # The shortest ill-formed item has one unit.
    needed = [len(logic.table.encode(REPLACEMENT_CHARACTER))]
    for row in source.rows:
        for each, ranges in logic.ranges.items():
            if any(row.code_points.overlaps(points) for points in ranges):
                needed.append(-(-logic.units_of(each) // min(2, len(row.units))))
    return max(needed)


class ParallelEncoder(wiring.Component):
    """`EncoderStages` with an output stream, whose units are packed.

    Throughput: with one lane a unit per cycle; with several lanes a beat per cycle.

    Args:
        symbol: the shape of a code point: a number, or an item of a decoder.
        slots: output lanes per lane, see `EncoderStages`. With one lane the stages have lanes for all units, and for
            the output it is only the upper bound on the average. A source with at least as many cycles for a code
            point as it has units never waits.
        collides: see `EncoderStages`.

    Attributes:
        stages, packer, narrower, buffer: the components; None where there is none: a narrower and a buffer with one
            lane, a packer with several.

    Ports:
        input: stream of `beat_layout`. Null beats must not be `valid`.
        output: stream of `beat_layout` with symbols of `unit_layout`.
    """

    accepts_null_beats = False
    packed = True

    def __init__(
        self, logic: EncoderLogic, lanes: int, symbol: ShapeLike, slots: int, *, collides: bool = False
    ) -> None:
        narrows = lanes == 1
        self.is_narrow = narrows and slots > 1
        if narrows:
            slots = logic.longest
        units, wide = unit_layout(logic.table.unit_width), lanes * slots
        # A pipeline in front of a packer never pauses, unless a beat may have to wait in it.
        self.pauses = collides or narrows
        copies = 2 if narrows else -(-lanes // _LANES_PER_COPY) if self.pauses else 1
        self.stages = EncoderStages(
            logic, lanes, symbol, slots, collides=collides, copies=copies, pauses=self.pauses, compares=narrows
        )
        self.packer: Packer | None = None
        self.narrower: Narrower | None = None
        self.buffer: ShiftQueue | None = None
        if narrows:
            self.narrower = Narrower(units, wide, lanes)
            # While the units of a code point are output, the source may have one of one unit in each cycle. A beat
            # more has room until it is known that the first of these has left.
            self.buffer = ShiftQueue(beat_layout(units, wide), logic.longest + 1, copies)
        else:
            ahead = 0 if self.pauses else self.stages.latency
            self.packer = Packer(units, wide, ahead=ahead, lends=self.stages.borrows and not self.pauses)
        self._set_timing()
        super().__init__(stage_ports(symbol, units, lanes, lanes if narrows else wide))

    def _set_timing(self) -> None:
        """Set the attributes of a `Stage`, which follow from the components."""
        stages, packer, narrower, buffer = self.stages, self.packer, self.narrower, self.buffer
        if packer:
            parts, self.latency = 1, stages.latency + packer.latency
            drained, self.reset_cycles = packer.capacity + self.latency, packer.reset_cycles
            stalls = max(packer.stall_cycles, packer.reset_cycles)
        else:
            assert narrower is not None
            assert buffer is not None
            parts = narrower.parts
            drained = parts * (stages.latency + buffer.capacity + 1) + narrower.buffer.latency
            self.latency = max(stages.latency + buffer.latency + narrower.latency, drained)
            self.reset_cycles = buffer.reset_cycles
            stalls = buffer.stall_cycles + narrower.stall_cycles
        self.beat_cycles = parts + stages.stall_cycles
        self.drain_cycles = drained + stages.stall_cycles + 1
        self.stall_cycles = stages.stall_cycles + stalls

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.stages = stages = self.stages
        output = self.output
        if self.pauses:
            wiring.connect(m, wiring.flipped(self.input), stages.input)
        elif self.packer:
            m.d.comb += [
                stages.input.payload.eq(self.input.payload),
                stages.input.valid.eq(self.input.valid & self.packer.sparse.ready),
                self.input.ready.eq(self.packer.sparse.ready),
            ]
        beat, valid, run = stages.entry, stages.entry_valid, stages.run
        if self.packer:
            m.submodules.packer = packer = self.packer
            m.d.comb += [
                packer.sparse.payload.eq(beat),
                packer.sparse.valid.eq(valid),
                # The register of the packer does not depend on whether there is a beat.
                run.eq(packer.sparse.ready.replicate(len(run)) if self.pauses else ~0),
            ]
            made = packer.packed
        else:
            buffer, narrower = self.buffer, self.narrower
            assert narrower is not None
            assert buffer is not None
            m.submodules.buffer, m.submodules.narrower = buffer, narrower
            m.d.comb += [buffer.entry.eq(beat), buffer.entry_valid.eq(valid), run.eq(buffer.run)]
            wiring.connect(m, buffer.output, narrower.input)
            made = narrower.output
        wiring.connect(m, wiring.flipped(output), made)
        return m
