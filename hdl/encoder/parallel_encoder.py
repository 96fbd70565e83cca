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
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.hdl.shift_queue import ShiftQueue
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable

OUTPUTS = ("first", "sparse", "packed", "narrow")
"""How units are output: contiguous without a packer, with gaps, packed, or packed and as many per beat as inputs."""

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
    """`EncoderStages` with an output stream.

    Throughput: a beat per cycle; with the output ``narrow`` as many as its output beats have room.

    Args:
        symbol: the shape of a code point: a number, or an item of a decoder.
        slots: output lanes per lane, see `EncoderStages`. With one lane the stages have lanes for all units, and for
            the output it is only the upper bound on the average.
        output: one of `OUTPUTS`. ``first`` is for one lane, whose units are contiguous by themselves. With one lane and
            ``narrow`` a source with at least as many cycles for a code point as it has units never waits.
        collides, compares: see `EncoderStages`; with an output that is narrower than the units of a beat it always
            compares.

    Attributes:
        stages, packer, narrower, buffer: the components; None where there is none.

    Ports:
        input: stream of `beat_layout`. Null beats must not be `valid`.
        output: stream of `beat_layout` with symbols of `unit_layout`.
    """

    accepts_null_beats = False

    def __init__(
        self,
        logic: EncoderLogic,
        lanes: int,
        symbol: ShapeLike,
        slots: int,
        *,
        output: str,
        collides: bool = False,
        compares: bool = False,
    ) -> None:
        assert output in OUTPUTS
        self.is_narrow = output == "narrow" and slots > 1
        if lanes == 1:
            slots = logic.longest
        units, wide = unit_layout(logic.table.unit_width), lanes * slots
        packs = output in ("packed", "narrow") and lanes > 1 and wide > 1
        narrows = output == "narrow" and wide > lanes
        # A pipeline in front of a packer never pauses, unless a beat may have to wait in it.
        self.pauses = collides or not packs
        copies = 2 if narrows and not packs else -(-lanes // _LANES_PER_COPY) if self.pauses else 1
        self.stages = EncoderStages(
            logic,
            lanes,
            symbol,
            slots,
            collides=collides,
            copies=copies,
            pauses=self.pauses,
            compares=compares or narrows,
        )
        self.packed = output != "sparse"
        self.buffer: RegisterBuffer | ShiftQueue | None = None
        self.packer = None
        if packs:
            ahead = 0 if self.pauses else self.stages.latency
            self.packer = Packer(units, wide, ahead=ahead, lends=self.stages.borrows and not self.pauses)
        self.narrower = None
        if output == "sparse":
            self.buffer = RegisterBuffer(beat_layout(units, wide), copies)
        elif narrows:
            self.narrower = Narrower(units, wide, lanes, from_memory=packs)
            if not packs:
                # While the units of a code point are output, the source may have one of one unit in each cycle. A beat
                # more has room until it is known that the first of these has left.
                self.buffer = ShiftQueue(beat_layout(units, wide), logic.longest + 1, copies)
        self._set_timing()
        super().__init__(stage_ports(symbol, units, lanes, lanes if output == "narrow" else wide))

    def _set_timing(self) -> None:
        """Set the attributes of a `Stage`, which follow from the components."""
        stages, packer, narrower, buffer = self.stages, self.packer, self.narrower, self.buffer
        parts, narrowing = 1, 0
        if narrower:
            parts = narrower.parts
            # Before the narrower, and in it.
            held = packer.capacity + 2 if packer else stages.latency
            held += buffer.capacity if buffer else 0
            narrowing = parts * (held + 1) + narrower.buffer.latency
        behind = sum(each.latency for each in (buffer, packer, narrower) if each)
        self.latency = max(stages.latency + behind, narrowing)
        self.beat_cycles = parts + stages.stall_cycles
        held = packer.capacity if packer else RegisterBuffer.capacity if buffer else 0
        self.drain_cycles = (narrowing or held + self.latency) + stages.stall_cycles + 1
        if packer:
            self.reset_cycles = packer.reset_cycles
            # The input is ready again when the rows have been output that are too many, each in `parts` cycles.
            rows = (parts - 1) * (packer.overrun + 2) + (narrower.buffer.stall_cycles if narrower else 0)
            stalls = max(packer.stall_cycles + rows, packer.reset_cycles)
        else:
            self.reset_cycles = buffer.reset_cycles if buffer else 0
            stalls = sum(each.stall_cycles for each in (buffer, narrower) if each)
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
            beat, valid, run = made.payload, made.valid, made.ready
        if self.buffer:
            m.submodules.buffer = buffer = self.buffer
            m.d.comb += [buffer.entry.eq(beat), buffer.entry_valid.eq(valid), run.eq(buffer.run)]
            made = buffer.output
        elif self.packer is None:
            m.d.comb += [
                output.payload.eq(beat),
                output.valid.eq(valid),
                run.eq((output.ready | ~valid).replicate(len(run))),
            ]
            return m
        if self.narrower:
            m.submodules.narrower = narrower = self.narrower
            wiring.connect(m, made, narrower.input)
            made = narrower.output
        wiring.connect(m, wiring.flipped(output), made)
        return m
