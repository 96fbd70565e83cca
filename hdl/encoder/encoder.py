# SPDX-License-Identifier: BSD-2-Clause
"""The encoders: UTF-32 words in, code units of any encoding out."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal
from amaranth.lib import wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.encoder.logic import WORD_BITS, EncoderLogic
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.encoder.units import LATENCY, encoded
from utf8fpga.hdl.packer.packer import PackedCore, Sparse
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.hdl.registers import delayed
from utf8fpga.model.encodings import Encoding


class SerialEncoder(wiring.Component):
    """Words in, code units out (D79), one at a time; what is no code point of the form becomes U+FFFD, with a flag.

    Throughput: a unit per cycle. Latency: see `UnitQueue`.

    Args:
        target: the encoding.

    Attributes:
        growth: the cycles that a word takes at most.

    Ports:
        input: stream of `beat_layout`: a word of 32 bits.
        output: stream of `beat_layout` with a symbol of `unit_layout`.
    """

    packed = True
    lanes = 1

    def __init__(self, target: Encoding) -> None:
        self.target, self.growth = target, target.table.longest
        self.queue = UnitQueue(EncoderLogic(target, words=True), WORD_BITS)
        self.latency, self.drain_cycles = self.queue.latency, self.queue.drain_cycles
        self.stall_cycles = self.queue.stall_cycles
        super().__init__(stage_ports(WORD_BITS, unit_layout(target.table.unit_width), 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = self.queue
        word, given = self.input.payload, queue.input.payload
        m.d.comb += [
            given.symbols[0].code_point.eq(word.symbols[0]),
            given.keep.eq(word.keep),
            given.last.eq(word.last),
            queue.input.valid.eq(is_effective(self.input)),
            self.input.ready.eq(queue.input.ready),
        ]
        wiring.connect(m, queue.output, wiring.flipped(self.output))
        return m


class Encoder(PackedCore):
    """Beats of words in, packed code units out (D79); what is no code point of the form becomes U+FFFD, with a flag.

    The output has lanes for all units of all words of a beat.

    Structure: the units of each word, and a `Packer`.

    Args:
        target: the encoding.
        lanes: words per beat, at least 2.

    Ports:
        input: stream of `beat_layout`: words of 32 bits.
        output: stream of `beat_layout` with symbols of `unit_layout`, contiguous from lane 0.
    """

    def __init__(self, target: Encoding, lanes: int) -> None:
        self.target = target
        made, slots = unit_layout(target.table.unit_width), target.table.longest
        super().__init__(WORD_BITS, made, lanes, lanes * slots, 1 + LATENCY)

    def pipeline(self, m: Module, accepted: Signal) -> Sparse:
        beat = delayed(m, self.input.payload, "beat")
        valid = delayed(m, accepted, "beat_valid", reset_less=False)
        points = Sparse(list(beat.symbols), beat.keep, beat.last, valid)
        return encoded(m, EncoderLogic(self.target, words=True), points, Const(0, self.lanes))
