# SPDX-License-Identifier: BSD-2-Clause
"""The sparse decoder: several code units per cycle, as a window and a FIFO."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.commented import named
from utf8fpga.hdl.fifo import CreditFifo
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.hdl.window import window_cuts
from utf8fpga.model import EncodingTable


def symbol_of(items: Items, lane: int, layout: data.StructLayout) -> Value:
    """The item of a lane with the fields of an `item_layout`."""
    error = items.errors[lane]
    fields = [items.words[lane], error]
    if "kind" in layout.members:
        kind = Value.cast(items.kinds[lane])
        fields.append(kind & error.replicate(len(kind)))
    return Cat(*fields)


class ParallelDecoder(wiring.Component):
    """Beats of several code units in, at most as many items out, one U+FFFD per maximal subpart (D93b).

    An item is in the lane of its last unit, so the words of a beat are in order and may have gaps between them
    (*sparse*). A beat without an item is dropped unless its packet ends with it.

    Throughput: a beat per cycle, or what the consumer accepts. Back-to-back packets need no gap and no reset.

    Latency: `latency` cycles from the beat that determines an item. That is the beat of its last unit or, if more units
    of the sequence may follow, the next one.

    Structure: `Items`, which never pauses, and a `CreditFifo`. There is no combinational path from an input port to an
    output port.

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
    reset_cycles = 0
    stall_cycles = 3

    def __init__(self, table: EncodingTable, lanes: int, optimize: str = "speed", kind: bool = False) -> None:
        self.lanes, self.item = lanes, item_layout(table, kind=kind)
        self.items = Items(table, lanes, window_cuts(lanes, optimize))
        slot_size = self.item.size + 1
        self.fifo = CreditFifo(lanes * slot_size + 1, slot_size)
        self.latency = self.items.latency + self.fifo.latency
        self.drain_cycles = self.fifo.depth - 1
        self.has_empty_beats = lanes < table.longest
        super().__init__(stage_ports(table.unit_width, self.item, lanes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.beat_items, m.submodules.fifo = items, fifo = self.items, self.fifo
        beat, accepted = self.input.payload, Signal()
        m.d.comb += [
            self.input.ready.eq(fifo.ready),
            accepted.eq(is_effective(self.input) & fifo.ready),
            items.units.eq(Value.cast(beat.symbols)),
            items.keep.eq(beat.keep),
            items.last.eq(beat.last),
            items.valid.eq(accepted),
            fifo.accepted.eq(accepted),
        ]
        # With as many lanes as the longest sequence has units, each beat holds the end of an item.
        stored, dropped = items.leaves, Const(0, 1)
        if self.has_empty_beats:
            is_empty = named(m, "is_empty", ~items.items.any() & ~items.ends)
            stored, dropped = items.leaves & ~is_empty, items.leaves & is_empty
        slots = [Cat(symbol_of(items, lane, self.item), items.items[lane]) for lane in range(self.lanes)]
        m.d.comb += [
            fifo.entry.eq(Cat(*slots, items.ends)),
            fifo.stored.eq(stored),
            fifo.dropped.eq(dropped),
        ]
        self._output(m)
        return m

    def _output(self, m: Module) -> None:
        fifo, output = self.fifo, self.output
        m.d.comb += [
            output.valid.eq(fifo.output_valid),
            fifo.output_ready.eq(output.ready),
            output.payload.last.eq(fifo.output[-1]),
        ]
        for lane, symbol in enumerate(output.payload.symbols):
            slot = fifo.output.word_select(lane, self.item.size + 1)
            m.d.comb += [Value.cast(symbol).eq(slot[:-1]), output.payload.keep[lane].eq(slot[-1])]
