# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a sparse decoder: `Items`, and a FIFO of whole beats."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal

from utf8fpga.formal.beat_claims import BeatClaims
from utf8fpga.model import EncodingTable


class SparseProof(BeatClaims):
    """A sparse decoder."""

    def __init__(self, core: Any, table: EncodingTable | None = None) -> None:
        super().__init__(core, table or core.items.table)
        self.latency = core.items.window.latency + 2 + core.fifo.latency

    def specify(self, m: Module) -> None:
        self.follow_items(m, self.core.items)
        stored = Signal(name="stored")
        m.d.comb += stored.eq(self.leaves & (self.row.keep.any() | self.row.last))
        self.claim_fifo(m, self.core.fifo, self.row, stored, self.leaves & ~stored)
