# SPDX-License-Identifier: BSD-2-Clause
"""The encoder: UTF-32 words or a decoder's items in, code units of any encoding out."""

from __future__ import annotations

from amaranth.hdl import Cat, Value

from utf8fpga.hdl.beats import lanes_of, stage_ports
from utf8fpga.hdl.chain import Chain, Join
from utf8fpga.hdl.encoder.logic import WORD_BITS, EncoderLogic
from utf8fpga.hdl.encoder.parallel_encoder import ParallelEncoder, slots_for
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.parameters import EncoderParameters
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.model.encodings import Encoding, encoding_named


def in_byte_order(unit: Value, encoding: Encoding) -> Value:
    """A code unit with its bytes in the order of an encoding, the first one in the low bits, or the other way round."""
    return swapped_bytes(unit) if encoding.is_swapped else unit


def swapped_bytes(unit: Value) -> Value:
    """The bytes of a code unit in the reverse order."""
    return Cat(unit.word_select(byte, 8) for byte in reversed(range(len(unit) // 8)))


class Encoder(Chain):
    """Words in, code units out (D79); what is no code point of the form becomes U+FFFD, with a flag.

    Throughput: a beat per cycle; with one lane a unit per cycle.

    Structure: `ParallelEncoder`; with one lane a `UnitQueue`.

    Attributes:
        slots: output units per word, at most.

    Ports:
        input: stream of `beat_layout`: words of 32 bits.
        output: stream of `beat_layout` with symbols of `unit_layout`.
    """

    packed = True

    def __init__(self, parameters: EncoderParameters) -> None:
        lanes, target = parameters.lanes, encoding_named(parameters.to)
        logic = EncoderLogic.of_bits(target.table, WORD_BITS)
        self.slots = slots_for(logic)
        self.encoder: UnitQueue | ParallelEncoder
        if lanes == 1:
            self.encoder = UnitQueue(logic, WORD_BITS, self.slots)
        else:
            self.encoder = ParallelEncoder(logic, lanes, WORD_BITS, self.slots)
        super().__init__(
            parameters,
            {"encoder": self.encoder},
            stage_ports(WORD_BITS, unit_layout(target.table.unit_width), lanes, lanes_of(self.encoder.output)),
            {"encoder": Join(drops_null_beats=True), "output": units_in_order(target)},
        )


def units_in_order(encoding: Encoding) -> Join:
    """Code units of `unit_layout` whose bytes are put in the order of an encoding."""
    return Join(lambda unit, given: [unit.unit.eq(in_byte_order(given.unit, encoding)), unit.error.eq(given.error)])
