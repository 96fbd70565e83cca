# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a sparse decoder: equivalence with the DFA, and the contract of its streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value

from utf8fpga.formal.accepted import Accepted
from utf8fpga.formal.claims import Claims
from utf8fpga.formal.fifo_claims import FifoClaims
from utf8fpga.formal.helpers import how_many
from utf8fpga.formal.reference import Slot
from utf8fpga.hdl.beats import is_effective
from utf8fpga.model import EncodingTable


class SparseProof(Claims):
    """A sparse decoder beside the beats that it has accepted, and their items by the DFA.

    Args:
        table: the table that it is compared with; default: its own.
    """

    def __init__(self, core: Any, table: EncodingTable | None = None) -> None:
        super().__init__(core)
        self._table = table or core.items.table
        self.pick = Signal()
        self.latency = core.items.window.latency + 3

    def specify(self, m: Module) -> None:
        core, source = self.core, self.core.input
        accepted = Accepted(self, m, self._table, core.items.window, "beat_items.")
        payload = source.payload
        effective = is_effective(source) & source.ready
        accepted.follow(Value.cast(payload.symbols), payload.keep, payload.last, effective)
        accepted.claim_held()
        held, newest, slots = accepted.held, accepted.beats[-1], accepted.slots()
        settled = held.last | ~slots[-1].open
        leaves = held.valid & (newest.valid | settled)
        expected = self._expected(m, slots, held.last)
        is_empty = ~expected.keep.any() & ~expected.last
        row, stored, dropped = Signal.like(expected, name="row", reset_less=True), Signal(), Signal()
        m.d.sync += [
            held.valid.eq(newest.valid | (held.valid & ~settled)),
            row.eq(expected),
            stored.eq(leaves & ~is_empty),
            dropped.eq(leaves & is_empty),
        ]
        self.holds("waiting", self.inside["beat_items.waiting"], held.valid)
        self.holds("is_leaving", self.inside["beat_items.is_leaving"], stored | dropped)
        self.claim("stored or dropped", ~stored | ~dropped)
        in_flight = how_many([*(beat.valid for beat in accepted.beats[1:]), held.valid, stored, dropped])
        FifoClaims(self, m, core.fifo, row, stored, dropped, in_flight)

    def _expected(self, m: Module, slots: list[Slot], last: Value) -> Any:
        """The beat of the items, with 0 in lanes without an item."""
        beat: Any = Signal(self.core.output.payload.shape(), name="expected")
        m.d.comb += beat.last.eq(last)
        for lane, slot in enumerate(slots):
            symbol, word = beat.symbols[lane], slot.word
            m.d.comb += beat.keep[lane].eq(slot.valid)
            with m.If(slot.valid):
                m.d.comb += [symbol.error.eq(word.error), symbol.code_point.eq(word.code_point)]
                if "kind" in symbol.shape().members:
                    m.d.comb += Value.cast(symbol.kind).eq(word.kind)
        return beat
