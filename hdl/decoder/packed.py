# SPDX-License-Identifier: BSD-2-Clause
"""Packed decoders with a buffer of their own between window and packer."""

from __future__ import annotations

from dataclasses import replace

from utf8fpga.hdl.chain import Chain
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.decoder.pipeline import item_of, ports_of, stages_of
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.hdl.parameters import DecoderParameters


class PackedDecoder(Chain):
    """A `ParallelDecoder` followed by a `Packer`.

    Throughput: one beat per cycle on any input. Null beats have no effect.

    Ports: those of `ParallelDecoder`.
    """

    packed = True

    def __init__(self, parameters: DecoderParameters) -> None:
        self.sparse = ParallelDecoder(replace(parameters, packed=False), stages_of(parameters), keeps_empty=True)
        self.packer = Packer(item_of(parameters), parameters.lanes)
        super().__init__(parameters, {"decoder": self.sparse, "packer": self.packer}, ports_of(parameters))

    @property
    def stall_cycles(self) -> int:
        """See `Core.stall_cycles`: the packer may still be in its reset."""
        return int(self.sparse.stall_cycles + max(self.packer.stall_cycles, self.packer.reset_cycles))
