# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a sparse decoder: `Items`, and a FIFO of whole beats."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.beat_claims import BeatClaims
from utf8fpga.formal.insides import rows_in
from utf8fpga.model import EncodingTable
from utf8fpga.sim.harness import how_many


class SparseProof(BeatClaims):
    """A sparse decoder. One entry of its FIFO, any, is watched from when it is stored until it is transferred.

    Attributes:
        pick: an input, which is arbitrary in a proof: whether an entry is watched.
    """

    def __init__(self, core: Any, table: EncodingTable | None = None) -> None:
        super().__init__(core, table)
        self.pick = Signal()
        self.latency = core.items.window.latency + 3

    def specify(self, m: Module) -> None:
        self.follow_items(m)
        fifo, output, row = self.core.fifo, self.core.output, self.row
        stored, out = Signal(), Signal()
        m.d.comb += [stored.eq(self.leaves & (row.keep.any() | row.last)), out.eq(output.valid & output.ready)]
        read, pending, total = Signal(range(fifo.depth)), Signal(8), Signal(8)
        m.d.sync += [read.eq(read + out), pending.eq(pending + stored - out)]
        m.d.comb += total.eq(pending + how_many(self.in_flight))
        self.claim("stored", fifo.stored == stored)
        self.claim("dropped", fifo.dropped == (self.leaves & ~stored))
        self.compare("entry", stored, self._beat(fifo.entry), row)
        self.claim("pending", pending <= total)
        self.claim_credits(m, "fifo.credits", fifo.depth, total)
        values = {"write": read + pending, "read": read, "following": read + 1, "is_valid": pending != 0}
        for path, register in self.inside.items():
            name = path.rpartition(".")[2].rstrip("_0123456789")
            if path.startswith("fifo.") and name in values:
                self.holds(path, register, values[name])
        # One entry is watched.
        watching, place, ahead = Signal(), Signal.like(read, reset_less=True), Signal.like(pending, reset_less=True)
        watched: Any = Signal.like(row, name="watched", reset_less=True)
        entry = Signal(fifo.width, name="watched_entry", reset_less=True)
        with m.If(~watching & stored & self.pick):
            m.d.sync += [watching.eq(1), place.eq(read + pending), ahead.eq(pending - out)]
            m.d.sync += [watched.eq(row), entry.eq(fifo.entry)]
        with m.Elif(watching & out):
            m.d.sync += [ahead.eq(ahead - 1), watching.eq(ahead != 0)]
        is_there = (ahead < pending) & (place == (read + ahead)[: len(place)])
        self.claim("a watched entry is in its row", ~watching | is_there)
        self.compare("watched", watching, self._beat(entry), watched)
        start = 0
        for rows in rows_in(self.circuit):
            part = entry[start : start + len(rows[0])]
            for number, each in enumerate(rows):
                self.holds(f"row {number} from bit {start}", each, part, watching & (place == number))
            start += len(part)
        self.claim_output(m, pending, watching & (ahead == 0), watched)

    def _beat(self, entry: Value) -> tuple[list[Any], Value, Value]:
        """The symbols, `keep` and `last` of an entry, which has the bits of a symbol and its `keep` for each lane."""
        payload = self.core.output.payload
        shape = payload.symbols.shape().elem_shape
        lanes = [entry.word_select(lane, shape.size + 1) for lane in range(len(payload.keep))]
        return [data.View(shape, lane[:-1]) for lane in lanes], Cat(lane[-1] for lane in lanes), entry[-1]
