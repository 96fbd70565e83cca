# SPDX-License-Identifier: BSD-2-Clause
"""A packed decoder without a buffer between window and packer."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring

from utf8fpga.hdl.decoder.pipeline import item_of, ports_of, stages_of
from utf8fpga.hdl.decoder.window import HeldWindow
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.parameters import DecoderParameters
from utf8fpga.hdl.payloads import beat_of_slots


class DirectPackedDecoder(wiring.Component):
    """A window that never pauses, and a `Packer` behind it, whose memories have room for the beats of the window too.

    It has no buffer of its own. So with 4 lanes it is smaller than a `PackedDecoder` and has less latency. The more
    lanes there are, the more beats are in flight: with lanes for which `Packer.depth` is 32, it is larger.

    Throughput: one beat per cycle on any input. Latency: that of the window and of the packer. Null beats have no
    effect.

    Args:
        parameters: the parameters, see `ParallelDecoder`; at least as many lanes as the longest sequence has units.

    Attributes:
        window, packer: the parts, in the order in which a beat passes them.

    Ports: those of `ParallelDecoder`.

    Raises:
        TableError: see `ParallelDecoder`.
    """

    packed = True

    def __init__(self, parameters: DecoderParameters) -> None:
        self.parameters, self.lanes = parameters, parameters.lanes
        self.stages = stages_of(parameters)
        self.window = HeldWindow(parameters, self.stages)
        self.packer = Packer(item_of(parameters), self.lanes, ahead=self.window.cycles, lends=True)
        self.latency = self.window.cycles + self.packer.latency
        self.reset_cycles = self.packer.reset_cycles
        self.stall_cycles = max(self.packer.stall_cycles, self.reset_cycles)
        self.drain_cycles = self.packer.capacity + self.latency + 2
        super().__init__(ports_of(parameters))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.window, m.submodules.packer = window, packer = self.window, self.packer
        m.d.comb += [
            window.input.payload.eq(self.input.payload),
            window.input.valid.eq(self.input.valid & packer.sparse.ready),
            self.input.ready.eq(packer.sparse.ready),
            window.late_reset.eq(packer.late_reset),
            *beat_of_slots(packer.sparse.payload, window.slots),
            packer.sparse.valid.eq(window.slots_valid),
        ]
        wiring.connect(m, packer.packed, wiring.flipped(self.output))
        return m
