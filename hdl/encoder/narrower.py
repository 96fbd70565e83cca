# SPDX-License-Identifier: BSD-2-Clause
"""A narrower, which outputs a wide beat as several narrow ones."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.register_buffer import RegisterBuffer


class Narrower(wiring.Component):
    """Packed beats in, packed beats with fewer lanes out: as many for each as it needs.

    Throughput: a beat per cycle. `input.ready` is a register.

    Latency: `latency` cycles to the last beat that is made of one.

    Args:
        symbol: the shape of a symbol, a structure with the flag `error`.
        narrow: lanes of the output, less than `lanes`.
        from_memory: the input is the output of a memory, which is slow: nothing is computed before the first registers.

    Attributes:
        buffer: the buffer at the output.
        valid: a beat is held, of which the first lanes are output next.
        more: a further beat is made of it after that one.
        whole: the complement of `more`, for the multiplexers, to which the nets are long (kept apart so that synthesis
            does not merge the two).
        takes: the next beat is loaded there at the end of the cycle, if there is one.

    Ports:
        input: stream of `beat_layout`, the symbols contiguous from lane 0.
        output: stream of `beat_layout`, the symbols contiguous from lane 0.
    """

    def __init__(self, symbol: ShapeLike, lanes: int, narrow: int, *, from_memory: bool = False) -> None:
        self.lanes, self.narrow, self.from_memory = lanes, narrow, from_memory
        made = beat_layout(symbol, narrow)
        self.buffer = RegisterBuffer(made, 1)
        self.valid, self.more, self.takes = (Signal(name=name) for name in ("valid", "more", "takes"))
        self.whole = Signal(init=1)
        super().__init__(
            {"input": In(stream.Signature(beat_layout(symbol, lanes))), "output": Out(stream.Signature(made))}
        )

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from a beat to the last one that is made of it, while none waits."""
        return self.from_memory + self.parts + self.buffer.latency

    @property
    def parts(self) -> int:
        """Upper bound on the beats that are made of one."""
        return -(-self.lanes // self.narrow)

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is deasserted while no output beat waits."""
        return self.buffer.stall_cycles + self.parts - 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        source, offered, beat, narrow, run = self.input.payload, self.input.valid, buffer.entry, self.narrow, buffer.run
        held, valid, more = Signal(source.shape(), reset_less=True), self.valid, self.more
        further = Signal()
        takes_next = buffer.runs_next(run) & Mux(run, ~further, ~more)
        m.d.sync += self.takes.eq(takes_next)
        if self.from_memory:
            # Empty, or its beat is taken; as its own register, without logic between it and what it enables.
            loads = Signal(init=1)
            front, front_valid = Signal.like(held, name="front", reset_less=True), Signal()
            m.d.comb += self.input.ready.eq(loads)
            m.d.sync += [front_valid.eq(offered | ~loads), loads.eq(takes_next | (loads & ~offered))]
            with m.If(loads):
                m.d.sync += front.eq(source)
            source, offered = front, front_valid
        else:
            m.d.comb += self.input.ready.eq(self.takes)
        symbols, size = Value.cast(held.symbols), len(Value.cast(held.symbols)) // self.lanes
        # One bit says whether there are more, since symbols are contiguous.
        later = held.keep[2 * narrow] if 2 * narrow < self.lanes else Const(0, 1)
        m.d.comb += [
            further.eq(Mux(more, later, source.keep[narrow] & offered)),
            buffer.entry_valid.eq(valid),
            beat.keep.eq(held.keep[:narrow]),
            beat.last.eq(held.last & ~more),
            Value.cast(beat.symbols).eq(symbols[: size * narrow]),
        ]
        with m.If(run):
            m.d.sync += [
                valid.eq(more | offered),
                more.eq(further),
                self.whole.eq(~further),
                held.keep.eq(Mux(self.whole, source.keep, held.keep[narrow:])),
                Value.cast(held.symbols).eq(Mux(self.whole, Value.cast(source.symbols), symbols[size * narrow :])),
                held.last.eq(Mux(self.whole, source.last, held.last)),
            ]
        wiring.connect(m, buffer.output, wiring.flipped(self.output))
        return m
