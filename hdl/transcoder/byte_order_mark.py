# SPDX-License-Identifier: BSD-2-Clause
"""Byte order marks: the byte order that a mark selects, and the removal of the mark."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.encoder.encoder import swapped_bytes
from utf8fpga.model.encoder import BYTE_ORDER_MARK
from utf8fpga.model.encodings import Encoding

__all__ = ["MarkRemover", "OrderDetector"]


class OrderDetector(wiring.Component):
    """Determines the byte order of the code units of a packet by its first unit, and gives the units in that order.

    The first unit of a packet selects the byte order in which it is U+FEFF. If it is U+FEFF in neither, the order is
    that of the encoding. The unit itself is not removed.

    There is no register on the way: the beat is output in the same cycle.

    Args:
        encoding: the encoding of the units; U+FEFF is one unit.
        lanes: units per beat.

    Ports:
        input: a beat of `beat_layout`, of which each unit has its first byte in the low bits.
        transfer: the beat is transferred in this cycle; not asserted for null beats.
        output: the same beat with the units as numbers.
    """

    def __init__(self, encoding: Encoding, lanes: int) -> None:
        self._encoding, self._lanes = encoding, lanes
        beat = beat_layout(encoding.form.unit_width, lanes)
        super().__init__({"input": In(beat), "transfer": In(1), "output": Out(beat)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, output = self.input, self.output
        first, kept = Signal(init=1), Signal(name="kept_big", reset_less=True)
        big = Signal(name="big")
        units = [Value.cast(beat.symbols[lane]) for lane in range(self._lanes)]
        is_big, is_little = (swap(units[0]) == BYTE_ORDER_MARK for swap in (swapped_bytes, Value.cast))
        default = Const(self._encoding.byte_order == "big", 1)
        m.d.comb += [
            big.eq(Mux(first, Mux(default, ~is_little, is_big), kept)),
            output.keep.eq(beat.keep),
            output.last.eq(beat.last),
            *(
                Value.cast(output.symbols[lane]).eq(Mux(big, swapped_bytes(unit), unit))
                for lane, unit in enumerate(units)
            ),
        ]
        with m.If(self.transfer):
            m.d.sync += [first.eq(beat.last), kept.eq(big)]
        return m


class MarkRemover(wiring.Component):
    """Removes U+FEFF if it is the first code point of a packet.

    A beat that has no other code point, and does not end its packet, is dropped.

    There are combinational paths from each stream to the other, and no register on the way.

    Args:
        symbol: the shape of a symbol: a code point, or an item of a decoder.
        lanes: symbols per beat.
        units: the code units of U+FEFF in the form of the input, which determine its lane.

    Ports:
        input: stream of `beat_layout`, without null beats; a code point is in the lane of its last unit.
        output: the same stream.
    """

    def __init__(self, symbol: ShapeLike, lanes: int, units: int) -> None:
        self._lane = (units - 1) % lanes
        shape = beat_layout(symbol, lanes)
        super().__init__({"input": In(stream.Signature(shape)), "output": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, output = self.input, self.output
        beat: Any = source.payload
        symbol = beat.symbols[self._lane]
        is_item = isinstance(symbol, data.View)
        code_point = Value.cast(symbol.code_point if is_item else symbol)
        is_mark = (code_point == BYTE_ORDER_MARK) & ~(symbol.error if is_item else Const(0, 1))
        started, removed = Signal(), Signal()
        """A code point of this packet has been transferred. It was in the same lane, or the packet has no mark."""
        keep = Value.cast(beat.keep)
        others = keep & ~(1 << self._lane)
        m.d.comb += [
            removed.eq(is_mark & ~started & keep[self._lane]),
            output.payload.eq(beat),
            output.payload.keep.eq(Mux(removed, others, keep)),
            output.valid.eq(source.valid & ~(removed & ~others.any() & ~beat.last)),
            source.ready.eq(output.ready),
        ]
        with m.If(source.valid & source.ready):
            m.d.sync += started.eq(~beat.last & (started | keep.any()))
        return m
