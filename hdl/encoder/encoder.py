# SPDX-License-Identifier: BSD-2-Clause
"""The encoders: UTF-32 words in, code units of any encoding out."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.encoder.logic import WORD_BITS, EncoderLogic, in_byte_order
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.encoder.units import Units
from utf8fpga.hdl.packer.packer import PackedCore, Sparse
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.hdl.registers import delayed
from utf8fpga.model.encodings import Encoding


def words_in_order(words: Iterable[Value], encoding: Encoding) -> list[Value]:
    """The code units of a beat, as they are packed, with their bytes in the order of an encoding."""
    return [Cat(in_byte_order(word[:-1], encoding), word[-1]) for word in words]


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
    reset_cycles = 0

    def __init__(self, target: Encoding) -> None:
        self.target, self.growth = target, target.table.longest
        self.queue = UnitQueue(target, EncoderLogic(target.table, words=True), WORD_BITS)
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

    Structure: `Units`, and a `Packer`.

    Args:
        target: the encoding.
        lanes: words per beat, at least 2.

    Ports:
        input: stream of `beat_layout`: words of 32 bits.
        output: stream of `beat_layout` with symbols of `unit_layout`, contiguous from lane 0.
    """

    def __init__(self, target: Encoding, lanes: int) -> None:
        self.target = target
        self.units = Units(EncoderLogic(target.table, words=True), lanes, WORD_BITS)
        made = unit_layout(target.table.unit_width)
        super().__init__(WORD_BITS, made, lanes, lanes * self.units.slots, 1 + Units.latency)

    def pipeline(self, m: Module, accepted: Signal) -> Sparse:
        m.submodules.beat_units = units = self.units
        beat = delayed(m, self.input.payload, "beat")
        m.d.comb += [
            units.code_points.eq(beat.symbols),
            units.keep.eq(beat.keep),
            units.last.eq(beat.last),
            units.valid.eq(delayed(m, accepted, "beat_valid", reset_less=False)),
        ]
        return Sparse(words_in_order(units.out_words, self.target), units.out_keep, units.out_last, units.out_valid)
