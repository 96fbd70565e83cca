# SPDX-License-Identifier: BSD-2-Clause
"""A tap as a core: its reports as a stream."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.fifo import CreditFifo
from utf8fpga.hdl.validator.tap import ValidatorTap
from utf8fpga.model import EncodingTable

_MOST = 5
"""Rows of the FIFO in addition to the reports in flight in the tap, so that packets of one beat are not delayed."""


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
    stall_cycles = 3

    def __init__(self, table: EncodingTable, lanes: int, optimize: str = "speed") -> None:
        self.lanes = lanes
        self.tap = tap = ValidatorTap(table, lanes, optimize)
        width = len(Value.cast(tap.report)) + 1
        self.fifo = CreditFifo(width + 1, width, 1 << (tap.latency + _MOST - 1).bit_length())
        super().__init__(stage_ports(table.unit_width, tap.report.shape(), lanes, 1))
        self.latency = tap.latency + 1
        self.drain_cycles = self.fifo.depth - 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tap, m.submodules.fifo = tap, fifo = self.tap, self.fifo
        source, output = self.input, self.output
        m.d.comb += [
            tap.payload.eq(source.payload),
            tap.valid.eq(source.valid),
            tap.ready.eq(fifo.ready),
            source.ready.eq(fifo.ready),
            # Only the last beat of a packet becomes a report.
            fifo.accepted.eq(is_effective(source) & source.payload.last & fifo.ready),
            fifo.entry.eq(Cat(tap.report, 1, 1)),
            fifo.stored.eq(tap.report_valid),
            fifo.output_ready.eq(output.ready),
            output.valid.eq(fifo.output_valid),
            Value.cast(output.payload).eq(fifo.output),
        ]
        return m
