# SPDX-License-Identifier: BSD-2-Clause
"""A decoder whose input may have gaps."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring

from utf8fpga.hdl.decoder.types import PlainDecoder
from utf8fpga.hdl.payloads import HasItemOptions
from utf8fpga.hdl.remover import Remover

__all__ = ["CompactDecoder"]


class CompactDecoder(HasItemOptions, wiring.Component):
    """A `Remover` of code units, followed by a decoder of several lanes.

    Units may be in any lanes of any beat: beats with gaps, partial beats within a packet and null beats are accepted.
    Units wait in the remover until there are as many as lanes, or until the packet ends.

    Throughput: a beat per cycle. Latency: the sum of both.

    Args:
        decoder: the decoder.

    Attributes:
        remover, decoder: the components.
        table, lanes, pipeline, packed, practice, item_options: those of the decoder.

    Ports:
        input: stream of `beat_layout`, code units with any `keep`.
        output: as of the decoder.
    """

    def __init__(self, decoder: PlainDecoder) -> None:
        self.decoder = decoder
        self.table, self.lanes, self.pipeline = decoder.table, decoder.lanes, decoder.pipeline
        self.packed, self.practice = decoder.packed, decoder.practice
        self.item_options = decoder.item_options
        self.remover = Remover(decoder.table.unit_width, decoder.lanes)
        super().__init__(dict(decoder.signature.members))

    accepts_gaps = True
    """An input beat may have gaps."""

    @property
    def latency(self) -> int:
        """Upper bound on the cycles to an item from the beat that determines it and fills or ends its beats."""
        return int(self.remover.latency + self.decoder.latency)

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `input.ready` is deasserted."""
        return self.remover.reset_cycles

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is deasserted while no output beat waits."""
        return int(self.remover.stall_cycles + self.decoder.stall_cycles)

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all determined items have been transferred, while no beat waits."""
        return int(self.remover.drain_cycles + self.decoder.stall_cycles + self.decoder.drain_cycles)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.remover, m.submodules.decoder = self.remover, self.decoder
        wiring.connect(m, wiring.flipped(self.input), self.remover.input)
        wiring.connect(m, self.remover.output, self.decoder.input)
        wiring.connect(m, wiring.flipped(self.output), self.decoder.output)
        return m
