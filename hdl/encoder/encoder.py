# SPDX-License-Identifier: BSD-2-Clause
"""The encoders: UTF-32 words in, code units of any encoding out."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.encoder.logic import WORD_BITS, EncoderLogic
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.encoder.units import Units
from utf8fpga.hdl.packer.packer import PackedCore, Sparse
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.hdl.registers import delayed
from utf8fpga.model.encodings import Encoding


def in_byte_order(unit: Value, encoding: Encoding) -> Value:
    """A code unit with its bytes in the order of an encoding, the first one in the low bits, or the other way round."""
    return swapped_bytes(unit) if encoding.is_swapped else unit


def swapped_bytes(unit: Value) -> Value:
    """The bytes of a code unit in the reverse order."""
    return Cat(unit.word_select(byte, 8) for byte in reversed(range(len(unit) // 8)))


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

    def __init__(self, target: Encoding) -> None:
        self.target = target
        logic = EncoderLogic.of_bits(target.table, WORD_BITS)
        self.queue, self.growth = UnitQueue(logic, WORD_BITS), logic.longest
        self.latency, self.drain_cycles = self.queue.latency, self.queue.drain_cycles
        self.stall_cycles, self.reset_cycles = self.queue.stall_cycles, self.queue.reset_cycles
        super().__init__(stage_ports(WORD_BITS, unit_layout(target.table.unit_width), 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = self.queue
        m.d.comb += [
            queue.input.payload.eq(self.input.payload),
            queue.input.valid.eq(is_effective(self.input)),
            self.input.ready.eq(queue.input.ready),
        ]
        connect_units(m, queue, self, self.target)
        return m


def connect_units(m: Module, queue: UnitQueue, core: wiring.Component, target: Encoding) -> None:
    """The output of a core from a queue, with the bytes of units in the order of an encoding."""
    given, made = queue.output.payload, core.output.payload
    m.d.comb += [
        made.symbols[0].unit.eq(in_byte_order(given.symbols[0].unit, target)),
        made.symbols[0].error.eq(given.symbols[0].error),
        made.keep.eq(given.keep),
        made.last.eq(given.last),
        core.output.valid.eq(queue.output.valid),
        queue.output.ready.eq(core.output.ready),
    ]


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
        self.units = Units(EncoderLogic.of_bits(target.table, WORD_BITS), lanes, WORD_BITS)
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
