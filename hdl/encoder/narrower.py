# SPDX-License-Identifier: BSD-2-Clause
"""A narrower, which outputs a wide beat as several narrow ones."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import beat_layout, stage_ports
from utf8fpga.hdl.register_buffer import RegisterBuffer

_LANES_PER_COPY = 4
"""Lanes that move on with the same duplicates of the control, behind a memory."""


class Narrower(wiring.Component):
    """Packed beats in, packed beats with fewer lanes out: as many for each as it needs.

    Throughput: a beat per cycle. `input.ready` is a register.

    Latency: `latency` cycles to the last beat that is made of one.

    Args:
        symbol: the shape of a symbol, a structure with the flag `error`.
        narrow: lanes of the output, less than `lanes`.
        from_memory: the input is the output of a memory, which is slow: nothing is computed before the first registers,
            which are near the memory, and the control has duplicates for groups of lanes. All registers move on
            together.

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

    def __init__(self, symbol: ShapeLike, lanes: int, narrow: int, *, from_memory: bool = False) -> None:
        self.lanes, self.narrow, self.from_memory = lanes, narrow, from_memory
        groups = -(-lanes // _LANES_PER_COPY) if from_memory else 1
        self.buffer = RegisterBuffer(beat_layout(symbol, narrow), groups)
        self.parts = -(-lanes // narrow)
        self.latency = 2 * from_memory + self.parts + self.buffer.latency
        self.stall_cycles = self.buffer.stall_cycles + self.parts - 1
        self.valid, self.more, self.takes = (Signal(name=name) for name in ("valid", "more", "takes"))
        self.whole = Signal(init=1)
        # A duplicate is a function of itself, so that synthesis does not merge them.
        others = [(Signal(name=f"whole_{n}", init=1), Signal(name=f"takes_{n}")) for n in range(1, groups)]
        self._control = [(self.more, self.whole, self.takes), *((~whole, whole, takes) for whole, takes in others)]
        super().__init__(stage_ports(symbol, symbol, lanes, narrow))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = buffer = self.buffer
        source, offered, beat, narrow = self.input.payload, self.input.valid, buffer.entry, self.narrow
        held, valid, more = Signal(source.shape(), reset_less=True), self.valid, self.more
        begins = source.keep[narrow] & offered
        # Behind a memory: the first registers, and those in front of the beat that is held.
        arrived, front = (Signal.like(held, name=name, reset_less=True) for name in ("arrived", "front"))
        arrived_valid, front_valid, front_more = (
            Signal(name=name) for name in ("arrived_valid", "front_valid", "front_more")
        )
        if self.from_memory:
            source, offered, begins = front, front_valid, front_more
        further = Signal()
        # One bit says whether there are more, since symbols are contiguous.
        later = held.keep[2 * narrow] if 2 * narrow < self.lanes else Const(0, 1)
        follows = [Mux(shifts, later, begins) for shifts, _, _ in self._control]
        for run, (shifts, _, takes), after in zip(buffer.run, self._control, [further, *follows[1:]], strict=True):
            m.d.sync += takes.eq(buffer.runs_next(run) & Mux(run, ~after, ~shifts))
        m.d.comb += self.input.ready.eq(self.takes)
        symbols, size = Value.cast(held.symbols), len(Value.cast(held.symbols)) // self.lanes
        m.d.comb += [
            further.eq(follows[0]),
            buffer.entry_valid.eq(valid),
            beat.keep.eq(held.keep[:narrow]),
            beat.last.eq(held.last & ~more),
            Value.cast(beat.symbols).eq(symbols[: size * narrow]),
        ]
        with m.If(buffer.run[0]):
            m.d.sync += [
                valid.eq(more | offered),
                more.eq(further),
                self.whole.eq(~further),
                held.keep.eq(Mux(self.whole, source.keep, held.keep[narrow:])),
            ]
            if not self.from_memory:
                following = symbols[size * narrow :]
                m.d.sync += symbols.eq(Mux(self.whole, Value.cast(source.symbols), following))
            m.d.sync += held.last.eq(Mux(self.whole, source.last, held.last))
        if self.from_memory:
            with m.If(self.takes):
                m.d.sync += [
                    arrived_valid.eq(self.input.valid),
                    arrived.keep.eq(self.input.payload.keep),
                    arrived.last.eq(self.input.payload.last),
                    front_valid.eq(arrived_valid),
                    front_more.eq(arrived.keep[narrow] & arrived_valid),
                    front.keep.eq(arrived.keep),
                    front.last.eq(arrived.last),
                ]
            for run, (_, whole, _), after in zip(buffer.run[1:], self._control[1:], follows[1:], strict=True):
                with m.If(run):
                    m.d.sync += whole.eq(~after)
            for lane in range(self.lanes):
                self._load_lane(m, lane, arrived, front, held)
        wiring.connect(m, buffer.output, wiring.flipped(self.output))
        return m

    def _load_lane(self, m: Module, lane: int, arrived: Any, front: Any, held: Any) -> None:
        """The registers of a symbol behind a memory, with the control of its group."""
        group = lane * len(self._control) // self.lanes
        _, whole, takes = self._control[group]
        with m.If(takes):
            m.d.sync += [
                arrived.symbols[lane].eq(self.input.payload.symbols[lane]),
                front.symbols[lane].eq(arrived.symbols[lane]),
            ]
        new, held_symbol = front.symbols[lane], held.symbols[lane]
        with m.If(self.buffer.run[group]):
            if (above := lane + self.narrow) < self.lanes:
                following = Value.cast(held.symbols[above])
                m.d.sync += Value.cast(held_symbol).eq(Mux(whole, Value.cast(new), following))
            else:
                # There is no symbol that follows, so only the flag matters.
                m.d.sync += [held_symbol.eq(new), held_symbol.error.eq(new.error & whole)]
