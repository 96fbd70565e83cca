# SPDX-License-Identifier: BSD-2-Clause
"""The encoder of several lanes: UTF-32 words in, code units of any encoding out."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Signal

from utf8fpga.hdl.encoder.logic import WORD_BITS, EncoderLogic
from utf8fpga.hdl.encoder.units import LATENCY, encoded
from utf8fpga.hdl.packer.packer import PackedCore, Sparse
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.hdl.registers import delayed
from utf8fpga.model.encodings import Encoding


class Encoder(PackedCore):
    """Beats of words in, packed code units out (Unicode D79); U+FFFD with a flag for what is no code point.

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
        points = Sparse(list(beat.symbols), beat.keep, beat.last, delayed(m, accepted, "beat_valid", reset_less=False))
        return encoded(m, EncoderLogic(self.target, any_number=True), points, Const(0, self.lanes))
