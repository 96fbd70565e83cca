# SPDX-License-Identifier: BSD-2-Clause
"""A packed decoder without a buffer between window and packer."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.decoder.pipeline import PipelineStages
from utf8fpga.hdl.decoder.window import HeldWindow
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.payloads import HasItemOptions, ItemOptions, beat_of_slots
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.model.practices import Practice
from utf8fpga.model.table import checked_table

__all__ = ["DirectPackedDecoder"]


class DirectPackedDecoder(HasItemOptions, wiring.Component):
    """A window that never pauses, and a `Packer` behind it, whose memories have room for the beats of the window too.

    It has no buffer of its own, so it is smaller than a `PackedDecoder` and has less latency. The more lanes there are,
    the more beats are in flight: with lanes for which `Packer.depth` is 32, it is larger.

    Throughput: one beat per cycle on any input. Latency: that of the window and of the packer. Null beats have no
    effect.

    Args:
        table: the encoding form; default: UTF-8.
        lanes: code units per beat, at least as many as the longest sequence has.
        pipeline: see `ParallelDecoder`.
        options: those of `ItemOptions`.

    Attributes:
        stages: the stages of registers.
        window, packer: the parts, in the order in which a beat passes them.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout`, items of `item_layout`, its words contiguous from word 0.

    Raises:
        InvalidArgumentError, TableError: see `ParallelDecoder`.
    """

    practice = Practice.MAXIMAL_SUBPARTS
    packed = True
    buffer = "packer"

    def __init__(
        self, table: EncodingTable = TABLE_3_7, *, lanes: int, pipeline: int | None = None, **options: Any
    ) -> None:
        checked_table(table)
        self.stages = PipelineStages.of(table, lanes, pipeline, "memory")
        self.table, self.lanes, self.pipeline = table, lanes, self.stages.pipeline
        self.item_options = ItemOptions(**options)
        self.window = HeldWindow(table, lanes=lanes, stages=self.stages, options=self.item_options)
        if self.kind:
            self.window.control.serial.check_kinds()
        self.packer = Packer(self.item_options.layout(table), lanes, ahead=self.window.cycles, lends=True)
        super().__init__(
            {
                "input": In(stream.Signature(beat_layout(table.unit_width, lanes))),
                "output": Out(stream.Signature(beat_layout(self.item_options.layout(table), lanes))),
            }
        )

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from the beat that determines an item, and fills or ends its beat, to the item."""
        return self.window.cycles + self.packer.latency

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `input.ready` is deasserted."""
        return self.packer.reset_cycles

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is deasserted while no output beat waits."""
        return max(self.packer.stall_cycles, self.reset_cycles)

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all determined items have been transferred, while no beat waits."""
        return self.packer.capacity + self.latency + 2

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.window, m.submodules.packer = window, packer = self.window, self.packer
        m.d.comb += [
            window.input.payload.eq(self.input.payload),
            window.input.valid.eq(self.input.valid & packer.sparse.ready),
            self.input.ready.eq(packer.sparse.ready),
            window.late_reset.eq(packer.reset.copies[:2]),
            *beat_of_slots(packer.sparse.payload, window.slots),
            packer.sparse.valid.eq(window.slots_valid),
        ]
        wiring.connect(m, packer.packed, wiring.flipped(self.output))
        return m
