# SPDX-License-Identifier: BSD-2-Clause
"""The packed decoder: several code units per cycle, items without gaps."""

from __future__ import annotations

from amaranth.hdl import Module, Value

from utf8fpga.hdl.decoder.parallel import symbol_of
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.packer.packer import PackedCore, Sparse
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.hdl.window import window_cuts
from utf8fpga.model import EncodingTable


class PackedDecoder(PackedCore):
    """Beats of several code units in, packed items out, one U+FFFD per maximal subpart (D93b).

    Latency: `latency` cycles from the beat that determines the items of a row.

    Structure: `Items`, which never pauses, and a `Packer`. There is no combinational path from an input port to an
    output port.

    Args:
        table: the encoding form.
        lanes: code units per beat, at least 2.
        optimize: ``area`` or ``speed``, which has registers inside the window.
        kind: items have the cause of their error.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout`, items of `item_layout`, contiguous from lane 0.

    Raises:
        TableError: the table does not allow a parallel decoder, see `WindowControl.of`.
    """

    def __init__(self, table: EncodingTable, lanes: int, optimize: str = "speed", kind: bool = False) -> None:
        self.items, self.item = Items(table, lanes, window_cuts(lanes, optimize)), item_layout(table, kind=kind)
        super().__init__(table.unit_width, self.item, lanes, lanes, self.items.latency)

    def pipeline(self, m: Module, accepted: Value) -> Sparse:
        m.submodules.beat_items = items = self.items
        beat = self.input.payload
        m.d.comb += [
            items.units.eq(Value.cast(beat.symbols)),
            items.keep.eq(beat.keep),
            items.last.eq(beat.last),
            items.valid.eq(accepted),
        ]
        words = [symbol_of(items, lane, self.item) for lane in range(self.lanes)]
        return Sparse(words, items.items, items.ends, items.leaves)
