# SPDX-License-Identifier: BSD-2-Clause
"""The encoder of a transcoder by itself, and the reference that it is compared with."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.formal.encoder_reference import EncoderReference
from utf8fpga.formal.invariants.narrower import is_consistent
from utf8fpga.hdl.beats import is_effective
from utf8fpga.hdl.encoder.encoder import units_in_order
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.transcoder.transcoder import Transcoder
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable
from utf8fpga.model.encodings import encoding_named


class ItemEncoder(wiring.Component):
    """The encoder of a transcoder with one lane, behind any items that its decoder may output.

    A code point that no row of the source has is not output by the decoder; here it becomes an ill-formed item, whose
    code point is arbitrary.

    Args:
        transcoder: the transcoder, with one lane. It must not be part of another design.

    Ports:
        input: stream of items, as at the output of the decoder.
        output: stream of code units, as at the output of the transcoder.
    """

    packed = True

    def __init__(self, transcoder: Transcoder) -> None:
        assert transcoder.lanes == 1
        self.encoder, self.encoding = transcoder.encoder, encoding_named(transcoder.parameters.to)
        self.source = encoding_named(transcoder.parameters.from_).table
        self.latency, self.drain_cycles = self.encoder.latency, self.encoder.drain_cycles
        output = transcoder.output.payload.shape()
        super().__init__(
            {
                "input": In(stream.Signature(self.encoder.input.payload.shape())),
                "output": Out(stream.Signature(output)),
            }
        )

    def reference(self, table: EncodingTable | None) -> ItemReference:
        """How it is compared with the rows of a table."""
        return ItemReference(self, table)

    def given(self, item: Any) -> tuple[Value, Value]:
        """The code point and the flag `error` of an item that the decoder may output, made from any item."""
        return Value.cast(item.code_point), is_ill_formed(item, self.source)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.encoder = encoder = self.encoder
        source, beat = self.input.payload, encoder.input.payload
        code_point, error = self.given(source.symbols[0])
        m.d.comb += [
            beat.keep.eq(source.keep),
            beat.last.eq(source.last),
            beat.symbols[0].code_point.eq(code_point),
            beat.symbols[0].error.eq(error),
            encoder.input.valid.eq(is_effective(self.input)),
            self.input.ready.eq(encoder.input.ready),
        ]
        units_in_order(self.encoding).connect(m, encoder.output, self.output)
        return m


def is_ill_formed(item: Any, table: EncodingTable) -> Value:
    """Whether an item is ill-formed, or its code point is in no row of a table."""
    point = item.code_point
    rows = [(point >= row.code_points.first) & (point <= row.code_points.last) for row in table.rows]
    return item.error | ~Cat(*rows).any()


class ItemReference(EncoderReference):
    """How an `ItemEncoder` is compared with the rows of its table.

    Args:
        table: the table of the output; default: that of the encoding.
    """

    def __init__(self, core: ItemEncoder, table: EncodingTable | None = None) -> None:
        super().__init__(core.encoding, table)
        self._core, self._encoder = core, core.encoder

    def given(self, symbol: Any) -> tuple[Value, Value]:
        point, error = self._core.given(symbol)
        return Mux(error, Const(REPLACEMENT_CHARACTER, len(point)), point), error

    def is_consistent(self) -> Value:
        return Const(1, 1) if isinstance(self._encoder, UnitQueue) else is_consistent(self._encoder)
