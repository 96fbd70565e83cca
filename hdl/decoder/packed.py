# SPDX-License-Identifier: BSD-2-Clause
"""Packed decoders with a buffer of their own between window and packer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from utf8fpga.hdl.chain import Chain
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.packer.packer import Packer

if TYPE_CHECKING:
    from utf8fpga.hdl.decoder.parameters import DecoderParameters


class PackedDecoder(Chain):
    """A `ParallelDecoder` followed by a `Packer`.

    Throughput: one beat per cycle on any input. Null beats have no effect.

    Ports: those of `ParallelDecoder`.
    """

    packed = True

    def __init__(self, parameters: DecoderParameters) -> None:
        self.sparse = ParallelDecoder(replace(parameters, packed=False), keeps_empty=True)
        self.packer = Packer(parameters.item_layout, parameters.lanes)
        super().__init__(parameters, {"decoder": self.sparse, "packer": self.packer}, parameters.ports)

    @property
    def stall_cycles(self) -> int:
        """See `Core.stall_cycles`: the packer may still be in its reset."""
        return self.sparse.stall_cycles + max(self.packer.stall_cycles, self.packer.reset_cycles)

    @property
    def silent_cycles(self) -> int:
        """Upper bound on the cycles without a beat at the input and the output while items are pending."""
        # A packer without a row at its output is ready, so the items of the sparse decoder pass through it.
        return self.packer.stall_cycles + self.sparse.drain_cycles + self.packer.latency
