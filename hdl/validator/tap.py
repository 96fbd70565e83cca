# SPDX-License-Identifier: BSD-2-Clause
"""The tap: a validator that watches the transfers of a stream."""

from __future__ import annotations

from amaranth.hdl import Module, Value
from amaranth.lib import wiring

from utf8fpga.hdl.items import Items
from utf8fpga.hdl.validator.report import report_layout, tap_ports
from utf8fpga.hdl.validator.summary import BeatSummary
from utf8fpga.hdl.validator.totals import PacketTotals
from utf8fpga.hdl.window import window_cuts
from utf8fpga.model import EncodingTable


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
        super().__init__(tap_ports(table.unit_width, lanes, report_layout()))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.items, m.submodules.summary, m.submodules.totals = self.items, self.summary, self.totals
        beat, items, summary, totals = self.payload, self.items, self.summary, self.totals
        m.d.comb += [
            items.units.eq(Value.cast(beat.symbols)),
            items.keep.eq(beat.keep),
            items.last.eq(beat.last),
            items.valid.eq(self.valid & self.ready & (beat.keep[0] | beat.last)),
            *(
                getattr(summary, name).eq(getattr(items, name))
                for name in ("present", "items", "errors", "kinds", "backs", "ends", "leaves")
            ),
            totals.group.eq(summary.group),
            totals.last.eq(summary.last),
            totals.valid.eq(summary.valid),
            self.report.eq(totals.report),
            self.report_valid.eq(totals.report_valid),
        ]
        return m
