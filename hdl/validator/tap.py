# SPDX-License-Identifier: BSD-2-Clause
"""The validator: a tap, which watches the transfers of a stream, and its reports."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout, connected, fed
from utf8fpga.hdl.fifo_core import FifoCore
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.packer.packer import Sparse
from utf8fpga.hdl.validator.summary import INPUTS, BeatSummary
from utf8fpga.hdl.validator.totals import PacketTotals, report_layout
from utf8fpga.hdl.window import window_cuts
from utf8fpga.model import EncodingTable

_MOST = 5
"""Rows of the FIFO in addition to the reports in flight in the tap, so that packets of one beat are not delayed."""


class ValidatorTap(wiring.Component):
    """Watches a stream of code units, and outputs one report for each packet.

    All ports of the stream are inputs, and nothing is added to it: no cycle, no gate. A beat is transferred in a cycle
    in which `valid` and `ready` are asserted. Null beats have no effect. The payload must be one of `beat_layout` at an
    input: units contiguous from lane 0, and all lanes full unless the packet ends.

    Throughput: a beat per cycle on any input; also packets of one beat, or without a unit, back to back.

    Latency: `report_valid` is asserted for one cycle, exactly `latency` cycles after the last beat of the packet was
    transferred. There is no back-pressure; the report is undefined in other cycles. Reports are in the order of the
    packets. A reset discards the packet and all reports in flight.

    Structure: `Items` finds the items of a beat, `BeatSummary` counts them and selects the first error, and
    `PacketTotals` adds up the beats of a packet.

    Args:
        optimize: ``area``, a window without registers, or ``speed``.

    Ports:
        payload: a beat of `beat_layout`, code units.
        valid: `valid` of the watched stream.
        ready: `ready` of the watched stream.
        report: the report, of `report_layout`.
        report_valid: the report is valid in this cycle.

    Raises:
        TableError: see `WindowControl.of` and `WindowControl.kind_of_unit`.
    """

    def __init__(self, table: EncodingTable, lanes: int, optimize: str = "speed") -> None:
        self.lanes = lanes
        self.items = Items(table, lanes, window_cuts(lanes, optimize))
        self.summary = BeatSummary(self.items)
        self.totals = PacketTotals(self.summary.group.shape())
        self.latency = self.items.latency + self.summary.latency + self.totals.latency
        watched = {"payload": In(beat_layout(table.unit_width, lanes)), "valid": In(1), "ready": In(1)}
        super().__init__(watched | {"report": Out(report_layout()), "report_valid": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.items, m.submodules.summary, m.submodules.totals = self.items, self.summary, self.totals
        beat, items, summary, totals = self.payload, self.items, self.summary, self.totals
        m.d.comb += [
            *fed(items, Value.cast(beat.symbols), beat, self.valid & self.ready & (beat.keep[0] | beat.last)),
            *connected(summary, items, *INPUTS),
            *connected(totals, summary, "group", "last", "valid"),
            *connected(self, totals, "report", "report_valid"),
        ]
        return m


class TappedStream(FifoCore):
    """A tap behind a stream that ends here, with its reports as an output stream: one symbol per packet.

    So a tap fulfils the contract of a core, and what simulates, checks and measures cores applies to it. The Verilog is
    that of the tap by itself.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout` with one lane, reports of `report_layout`; each beat has `last`.
    """

    _MustUse__silence = True  # Where only the tap is needed, as in its Verilog, this is not elaborated.

    def __init__(self, table: EncodingTable, lanes: int, optimize: str = "speed") -> None:
        self.tap = tap = ValidatorTap(table, lanes, optimize)
        self.depth = 1 << (tap.latency + _MOST - 1).bit_length()
        super().__init__(table.unit_width, report_layout(), lanes, 1, tap.latency)

    def pipeline(self, m: Module, accepted: Value) -> Sparse:
        m.submodules.tap = tap = self.tap
        m.d.comb += [tap.payload.eq(self.input.payload), tap.valid.eq(accepted), tap.ready.eq(1)]
        # Only the last beat of a packet becomes a report.
        m.d.comb += self.fifo.dropped.eq(accepted & ~self.input.payload.last)
        return Sparse([Value.cast(tap.report)], Const(1, 1), Const(1, 1), tap.report_valid)
