# SPDX-License-Identifier: BSD-2-Clause
"""A tap as a core: its reports as a stream."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import fifo, wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.validator.tap import ValidatorTap
from utf8fpga.model import EncodingTable

_SLACK = 4
"""Reports that the buffer holds in addition to those in flight in the tap, so that packets of one beat are not
delayed."""


class TappedStream(wiring.Component):
    """A tap behind a stream that ends here, with its reports as an output stream: one symbol per packet.

    So a tap fulfils the contract of a core, and what simulates, checks and measures cores applies to it. The Verilog is
    that of the tap by itself.

    `input.ready` is a register: it is asserted while there is room for the reports of all accepted packets.

    Throughput: a beat per cycle while reports do not wait.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout` with one lane, reports of `report_layout`; each beat has `last`.
    """

    _MustUse__silence = True  # Where only the tap is needed, as in its Verilog, this is not elaborated.

    packed = True
    reset_cycles = 0
    stall_cycles = 2

    def __init__(self, table: EncodingTable, lanes: int) -> None:
        self.lanes = lanes
        self.tap = tap = ValidatorTap(table, lanes)
        super().__init__(stage_ports(table.unit_width, tap.report.shape(), lanes, 1))

    # No attributes, since the registers of the tap are made at their first use.

    @property
    def latency(self) -> int:
        return self.tap.latency + 2

    @property
    def drain_cycles(self) -> int:
        """As many as the reports that the buffer holds."""
        return self.tap.latency + _SLACK

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tap = tap = self.tap
        report = Value.cast(tap.report)
        m.submodules.buffer = buffer = fifo.SyncFIFOBuffered(width=len(report), depth=self.drain_cycles)
        source, output = self.input, self.output
        ready = Signal(init=1)
        pending = Signal(range(buffer.depth + 1))
        grows, shrinks = Signal(), Signal()
        m.d.comb += [
            tap.payload.eq(source.payload),
            tap.valid.eq(source.valid),
            tap.ready.eq(ready),
            source.ready.eq(ready),
            buffer.w_data.eq(report),
            buffer.w_en.eq(tap.report_valid),
            Value.cast(output.payload.symbols[0]).eq(buffer.r_data),
            output.payload.keep.eq(1),
            output.payload.last.eq(1),
            output.valid.eq(buffer.r_rdy),
            buffer.r_en.eq(output.ready),
            grows.eq(is_effective(source) & source.payload.last & ready),
            shrinks.eq(buffer.r_rdy & output.ready),
        ]
        now = pending + grows - shrinks
        m.d.sync += [pending.eq(now), ready.eq(now < buffer.depth)]
        return m
