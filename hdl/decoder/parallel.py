# SPDX-License-Identifier: BSD-2-Clause
"""The sparse decoder: several code units per cycle, as a window and a FIFO."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.fifo import CreditFifo
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.model import EncodingTable

_FEW = 16
"""Lanes up to which three register stages in the window suffice for the speed of a device's clock network."""


def window_cuts(lanes: int, optimize: str) -> tuple[str, ...]:
    """The steps of the window with registers behind them, see `Window`."""
    if optimize == "area":
        return ()
    return ("features", "pairs", "ends") if lanes <= _FEW else ("features", "pairs", "thirds", "ends")


def slot_layout(item: data.StructLayout) -> data.StructLayout:
    """An item as it is stored: the fields of `item_layout`, and `keep`, whether there is one."""
    return data.StructLayout({**{str(name): field.shape for name, field in item}, "keep": 1})


def slot_of(items: Items, lane: int, layout: data.StructLayout) -> Value:
    """The item of a lane in a `slot_layout`."""
    error = items.errors[lane]
    fields = {"code_point": items.words[lane], "error": error, "keep": items.items[lane]}
    if "kind" in layout.members:
        kind = Value.cast(items.kinds[lane])
        fields["kind"] = kind & error.replicate(len(kind))
    return Cat(fields[name] for name in layout.members)


class ParallelDecoder(wiring.Component):
    """Beats of several code units in, at most as many items out, one U+FFFD per maximal subpart (D93b).

    An item is in the lane of its last unit, so the words of a beat are in order and may have gaps between them
    (*sparse*; `PackedDecoder` closes the gaps). A beat without an item is dropped unless its packet ends with it.

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
        self.lanes, item = lanes, item_layout(table, kind=kind)
        self.items = Items(table, lanes, window_cuts(lanes, optimize))
        self.slot = slot_layout(item)
        self.fifo = CreditFifo(lanes * self.slot.size + 1, self.slot.size)
        self.latency = self.items.latency + 1
        self.drain_cycles = self.fifo.depth + self.latency
        self.has_empty_beats = lanes < table.longest
        super().__init__(stage_ports(table.unit_width, item, lanes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.items, m.submodules.fifo = items, fifo = self.items, self.fifo
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
        is_empty = Signal()
        if self.has_empty_beats:
            m.d.comb += is_empty.eq(~items.items.any() & ~items.ends)
        m.d.comb += [
            fifo.entry.eq(Cat(*(slot_of(items, lane, self.slot) for lane in range(self.lanes)), items.ends)),
            fifo.stored.eq(items.leaves & ~is_empty),
            fifo.dropped.eq(items.leaves & is_empty),
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
        for lane in range(self.lanes):
            slot = self.slot(fifo.output.word_select(lane, self.slot.size))
            symbol = output.payload.symbols[lane]
            m.d.comb += [symbol[name].eq(slot[name]) for name, _ in symbol.shape()]
            m.d.comb += output.payload.keep[lane].eq(slot.keep)
