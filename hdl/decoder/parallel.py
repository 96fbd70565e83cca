# SPDX-License-Identifier: BSD-2-Clause
"""The parallel decoders: several code units per cycle, sparse as a window and a FIFO, or packed."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import data

from utf8fpga.hdl.beats import fed
from utf8fpga.hdl.fifo_core import FifoCore
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.packer.packer import PackedCore, Sparse
from utf8fpga.hdl.packer.places import words_latency
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.hdl.window import window_cuts
from utf8fpga.model import EncodingTable


def decoded(m: Module, items: Items, core: FifoCore | PackedCore, item: data.StructLayout, accepted: Value) -> Sparse:
    """The items of the beats at the input of a core, with the fields of an `item_layout`."""
    m.submodules.beat_items = items
    m.d.comb += fed(items, Value.cast(core.input.payload.symbols), core.input.payload, accepted)
    words = []
    for lane in range(core.lanes):
        error = items.errors[lane]
        fields = [items.words[lane], error]
        if "kind" in item.members:
            kind = Value.cast(items.kinds[lane])
            fields.append(kind & error.replicate(len(kind)))
        words.append(Cat(*fields))
    return Sparse(words, items.items, items.ends, items.leaves)


class ParallelDecoder(FifoCore):
    """Beats of several code units in, at most as many items out, one U+FFFD per maximal subpart (Unicode D93b).

    An item is in the lane of its last unit, so the words of a beat are in order and may have gaps between them
    (*sparse*). A beat without an item is dropped unless its packet ends with it.

    Latency: `latency` cycles from the beat that determines an item. That is the beat of its last unit or, if more units
    of the sequence may follow, the next one.

    Structure: `Items`, which never pauses, and a `CreditFifo`.

    Args:
        table: the encoding form.
        lanes: code units per beat, at least 2.
        optimize: ``area`` or ``speed``, which has registers inside the window.
        kind: items have the cause of their error.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout`, items of `item_layout`.

    Raises:
        TableError: the table does not allow a parallel decoder, see `WindowControl.of`.
    """

    packed = False

    def __init__(self, table: EncodingTable, lanes: int, optimize: str = "speed", kind: bool = False) -> None:
        self.items, self.item = Items(table, lanes, window_cuts(lanes, optimize)), item_layout(table, kind=kind)
        # With as many lanes as the longest sequence has units, each beat holds the end of an item.
        self.drops = lanes < table.longest
        super().__init__(table.unit_width, self.item, lanes, lanes, self.items.latency)

    def pipeline(self, m: Module, accepted: Value) -> Sparse:
        return decoded(m, self.items, self, self.item, accepted)


class PackedDecoder(PackedCore):
    """Beats of several code units in, packed items out, one U+FFFD per maximal subpart.

    Latency: `latency` cycles from the beat that determines the items of a row.

    Structure: `Items`, which never pauses, and a `Packer`. There is no combinational path from an input port to an
    output port.

    Args:
        table, lanes, optimize, kind: those of a `ParallelDecoder`.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout`, items of `item_layout`, contiguous from lane 0.
    """

    def __init__(self, table: EncodingTable, lanes: int, optimize: str = "speed", kind: bool = False) -> None:
        self.late = words_latency(lanes)
        self.items = Items(table, lanes, window_cuts(lanes, optimize, packed=True), self.late)
        self.item = item_layout(table, kind=kind)
        super().__init__(table.unit_width, self.item, lanes, lanes, self.items.latency)

    def pipeline(self, m: Module, accepted: Value) -> Sparse:
        return decoded(m, self.items, self, self.item, accepted)
