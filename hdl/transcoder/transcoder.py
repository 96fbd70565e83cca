# SPDX-License-Identifier: BSD-2-Clause
"""The transcoders: code units of one encoding in, code units of another one out, with U+FFFD for what is ill-formed."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import fed, stage_ports
from utf8fpga.hdl.decoder.serial import SERIAL
from utf8fpga.hdl.encoder.logic import EncoderLogic, in_byte_order
from utf8fpga.hdl.encoder.serial import SerialEncoder
from utf8fpga.hdl.encoder.units import LATENCY, encoded, paired
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.packer.packer import PackedCore, Sparse
from utf8fpga.hdl.payloads import item_layout, unit_layout
from utf8fpga.hdl.window import window_cuts
from utf8fpga.model import REPLACEMENT_CHARACTER
from utf8fpga.model.encodings import Encoding


class SerialTranscoder(wiring.Component):
    """Code units in, code units out, one at a time, with one U+FFFD for each maximal subpart (Unicode D93b).

    Every code point of `source` must have a sequence in `target`.

    Throughput: a unit per cycle, which is a unit of the input per cycle as long as the text does not grow.

    There are combinational paths from `output.ready` to `input.ready`, with ``area`` also from the input.

    Args:
        source, target: the encodings.
        optimize: that of the decoder.

    Attributes:
        growth: the cycles that a unit takes at most.

    Ports:
        input: stream of `beat_layout`, a code unit whose bytes are in the order of the encoding.
        output: stream of `beat_layout` with a symbol of `unit_layout`, whose bytes are in the order of the encoding.
    """

    packed = True
    lanes = 1

    def __init__(self, source: Encoding, target: Encoding, optimize: str = "speed") -> None:
        self.source, self.target = source, target
        self.decoder = SERIAL[optimize](source.table)
        self.encoder = SerialEncoder(target, item_layout(source.table))
        # An ill-formed unit becomes U+FFFD, and no sequence of UTF-8 or UTF-16 grows more than that.
        self.growth = len(target.table.encode(REPLACEMENT_CHARACTER))
        # Each of the decoder's `drain_cycles` items may take `growth` cycles in the queue.
        self.latency = self.drain_cycles = self.decoder.drain_cycles * self.growth + self.encoder.latency
        self.stall_cycles = self.encoder.stall_cycles
        super().__init__(stage_ports(source.table.unit_width, unit_layout(target.table.unit_width), 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.encoder, m.submodules.decoder = encoder, decoder = self.encoder, self.decoder
        beat, given = decoder.input.payload, self.input.payload
        m.d.comb += [
            beat.eq(given),
            beat.symbols[0].eq(in_byte_order(given.symbols[0], self.source)),
            decoder.input.valid.eq(self.input.valid),
            self.input.ready.eq(decoder.input.ready),
        ]
        wiring.connect(m, decoder.output, encoder.input)
        wiring.connect(m, encoder.output, wiring.flipped(self.output))
        return m


class Transcoder(PackedCore):
    """Beats of code units in, packed code units out, with one U+FFFD for each maximal subpart.

    Every code point of `source` must have a sequence in `target`.

    From UTF-8 to UTF-16 the text does not grow, and the output has as many lanes as the input. Otherwise it has lanes
    for the longest sequence of each lane of the input; so UTF-16 to UTF-16 has twice the lanes, half of them never
    needed.

    There is no combinational path from an input port to an output port.

    Args:
        source, target: the encodings.
        lanes: code units per beat, at least 2.
        optimize: ``area`` or ``speed``, which has registers inside the window.

    Ports:
        input: stream of `beat_layout`, code units whose bytes are in the order of the encoding.
        output: stream of `beat_layout` with symbols of `unit_layout`, whose bytes are in the order of the encoding.
    """

    def __init__(self, source: Encoding, target: Encoding, lanes: int, optimize: str = "speed") -> None:
        self.source, self.target = source, target
        self.items = Items(source.table, lanes, window_cuts(lanes, optimize, packed=True))
        # From UTF-8 to UTF-16 each unit is known with one of the units of its sequence, and has the lane of that.
        self.is_paired = source.table.unit_width < target.table.unit_width
        made, cycles = unit_layout(target.table.unit_width), self.items.latency + LATENCY
        out_lanes = lanes * (1 if self.is_paired else target.table.longest)
        super().__init__(source.table.unit_width, made, lanes, out_lanes, cycles)

    def pipeline(self, m: Module, accepted: Signal) -> Sparse:
        m.submodules.beat_items = items = self.items
        beat, logic = self.input.payload, EncoderLogic(self.target)
        symbols = [in_byte_order(Value.cast(symbol), self.source) for symbol in beat.symbols]
        m.d.comb += fed(items, Cat(symbols), beat, accepted)
        if self.is_paired:
            return paired(m, logic, items)
        return encoded(m, logic, Sparse(list(items.payloads), items.items, items.ends, items.leaves), items.errors)
