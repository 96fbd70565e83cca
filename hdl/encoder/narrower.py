# SPDX-License-Identifier: BSD-2-Clause
"""A narrower, which outputs a wide beat as several narrow ones."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout


class Narrower(wiring.Component):
    """Packed beats in, packed beats with fewer lanes out: as many for each as it needs.

    Throughput: a beat per cycle. `input.ready` is asserted with the transfer of the last beat that is made of one.

    Latency: one cycle to the first beat, see `latency`. There is a combinational path from `output.ready` to
    `input.ready`.

    Args:
        symbol: the shape of a symbol, a structure with the flag `error`.
        lanes: lanes of the input.
        narrow: lanes of the output, at most `lanes`.

    Ports:
        input: stream of `beat_layout`, the symbols contiguous from lane 0.
        output: stream of `beat_layout`, the symbols contiguous from lane 0.
    """

    def __init__(self, symbol: ShapeLike, lanes: int, narrow: int) -> None:
        self.lanes, self.narrow = lanes, narrow
        super().__init__(
            {
                "input": In(stream.Signature(beat_layout(symbol, lanes))),
                "output": Out(stream.Signature(beat_layout(symbol, narrow))),
            }
        )

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from a beat to the last one that is made of it, while none waits."""
        return self.parts

    @property
    def parts(self) -> int:
        """Upper bound on the beats that are made of one."""
        return -(-self.lanes // self.narrow)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, beat, narrow = self.input.payload, self.output.payload, self.narrow
        held = Signal(source.shape(), reset_less=True)
        valid = Signal()
        later = held.keep[narrow:]
        moves, ends = Signal(), Signal()
        symbols = Value.cast(held.symbols)
        size = len(symbols) // self.lanes
        m.d.comb += [
            ends.eq(~later.any()),
            moves.eq(self.output.ready | ~valid),
            self.input.ready.eq(moves & (ends | ~valid)),
            self.output.valid.eq(valid),
            beat.keep.eq(held.keep[:narrow]),
            beat.last.eq(held.last & ends),
            Value.cast(beat.symbols).eq(symbols[: size * narrow]),
        ]
        takes = ends | ~valid
        with m.If(moves):
            m.d.sync += [
                valid.eq(Mux(takes, self.input.valid, 1)),
                held.keep.eq(Mux(takes, source.keep, later)),
                Value.cast(held.symbols).eq(Mux(takes, Value.cast(source.symbols), Cat(symbols[size * narrow :]))),
                held.last.eq(Mux(takes, source.last, held.last)),
            ]
        return m
