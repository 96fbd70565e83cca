# SPDX-License-Identifier: BSD-2-Clause
"""Byte order marks: the byte order that a mark selects, and the removal of the mark."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.encoder.encoder import swapped_bytes
from utf8fpga.hdl.encoder.stages import symbol_fields
from utf8fpga.model.encoder import BYTE_ORDER_MARK
from utf8fpga.model.encodings import Encoding


class _Passage(wiring.Component):
    """A stage of a `Chain` without registers on the way."""

    latency = reset_cycles = stall_cycles = drain_cycles = 0


class OrderDetector(_Passage):
    """Determines the byte order of the code units of a packet by its first unit, and gives the units in that order.

    The first unit of a packet selects the byte order in which it is U+FEFF. If it is U+FEFF in neither, the order is
    that of the encoding. The unit itself is not removed.

    Args:
        encoding: the encoding of the units; U+FEFF is one unit.

    Ports:
        input: stream of `beat_layout`, of which each unit has its first byte in the low bits.
        output: the same stream with the units as numbers.
    """

    def __init__(self, encoding: Encoding, lanes: int) -> None:
        self._encoding, self._lanes = encoding, lanes
        super().__init__(stage_ports(encoding.form.unit_width, encoding.form.unit_width, lanes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat: Any = self.input.payload
        output = self.output.payload
        first, kept = Signal(init=1), Signal(name="kept_big", reset_less=True)
        big = Signal(name="big")
        units = [Value.cast(beat.symbols[lane]) for lane in range(self._lanes)]
        is_big, is_little = (swap(units[0]) == BYTE_ORDER_MARK for swap in (swapped_bytes, Value.cast))
        default = Const(self._encoding.byte_order == "big", 1)
        m.d.comb += [
            self.output.valid.eq(self.input.valid),
            self.input.ready.eq(self.output.ready),
            big.eq(Mux(first, Mux(default, ~is_little, is_big), kept)),
            output.keep.eq(beat.keep),
            output.last.eq(beat.last),
            *(
                Value.cast(output.symbols[lane]).eq(Mux(big, swapped_bytes(unit), unit))
                for lane, unit in enumerate(units)
            ),
        ]
        with m.If(is_effective(self.input) & self.input.ready):
            m.d.sync += [first.eq(beat.last), kept.eq(big)]
        return m


class MarkRemover(_Passage):
    """Removes U+FEFF if it is the first code point of a packet.

    A beat that has no other code point, and does not end its packet, is dropped.

    There are combinational paths from each stream to the other.

    Args:
        symbol: the shape of a symbol: a code point, or an item of a decoder.
        units: the code units of U+FEFF in the form of the input, which determine its lane.

    Ports:
        input: stream of `beat_layout`, without null beats; a code point is in the lane of its last unit.
        output: the same stream.
    """

    def __init__(self, symbol: ShapeLike, lanes: int, units: int) -> None:
        self._lane = (units - 1) % lanes
        super().__init__(stage_ports(symbol, symbol, lanes))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, output = self.input, self.output
        beat: Any = source.payload
        code_point, error = symbol_fields(beat.symbols[self._lane])
        is_mark = (code_point == BYTE_ORDER_MARK) & ~error
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
