# SPDX-License-Identifier: BSD-2-Clause
"""A narrower, which outputs a wide beat as several narrow ones."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import beat_layout, stage_ports
from utf8fpga.hdl.register_buffer import RegisterBuffer


class Narrower(wiring.Component):
    """Packed beats in, packed beats with fewer lanes out: as many for each as it needs.

    Throughput: a beat per cycle. `input.ready` is a register.

    Latency: `latency` cycles to the last beat that is made of one.

    Args:
        symbol: the shape of a symbol, a structure with the flag `error`.
        narrow: lanes of the output, less than `lanes`.

    Attributes:
        parts: upper bound on the beats that are made of one.
        valid: a beat is held, of which the first lanes are output next.
        more: a further beat is made of it after that one.
        whole: the complement of `more`, for the multiplexers, to which the nets are long (kept apart so that synthesis
            does not merge the two).
        takes: the next beat is loaded there at the end of the cycle, if there is one.

    Ports:
        input: stream of `beat_layout`, the symbols contiguous from lane 0.
        output: stream of `beat_layout`, the symbols contiguous from lane 0.
    """

    def __init__(self, symbol: ShapeLike, lanes: int, narrow: int) -> None:
        self.lanes, self.narrow = lanes, narrow
        self.buffer = RegisterBuffer(beat_layout(symbol, narrow), 1)
        self.parts = -(-lanes // narrow)
        self.latency = self.parts + self.buffer.latency
        self.stall_cycles = self.buffer.stall_cycles + self.parts - 1
        self.valid, self.more, self.takes = (Signal(name=name) for name in ("valid", "more", "takes"))
        self.whole = Signal(init=1)
        super().__init__(stage_ports(symbol, symbol, lanes, narrow))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        source, beat, narrow = self.input.payload, buffer.entry, self.narrow
        held = Signal(source.shape(), reset_less=True)
        valid, more = self.valid, self.more
        begins = source.keep[narrow] & self.input.valid
        further = Signal()
        # One bit says whether there are more, since symbols are contiguous.
        later = held.keep[2 * narrow] if 2 * narrow < self.lanes else Const(0, 1)
        m.d.sync += self.takes.eq(buffer.runs_next(buffer.run[0]) & Mux(buffer.run[0], ~further, ~more))
        m.d.comb += self.input.ready.eq(self.takes)
        symbols, size = Value.cast(held.symbols), len(Value.cast(held.symbols)) // self.lanes
        m.d.comb += [
            further.eq(Mux(more, later, begins)),
            buffer.entry_valid.eq(valid),
            beat.keep.eq(held.keep[:narrow]),
            beat.last.eq(held.last & ~more),
            Value.cast(beat.symbols).eq(symbols[: size * narrow]),
        ]
        with m.If(buffer.run[0]):
            m.d.sync += [
                valid.eq(more | self.input.valid),
                more.eq(further),
                self.whole.eq(~further),
                held.keep.eq(Mux(self.whole, source.keep, held.keep[narrow:])),
                symbols.eq(Mux(self.whole, Value.cast(source.symbols), symbols[size * narrow :])),
                held.last.eq(Mux(self.whole, source.last, held.last)),
            ]
        wiring.connect(m, buffer.output, wiring.flipped(self.output))
        return m
