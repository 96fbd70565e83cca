# SPDX-License-Identifier: BSD-2-Clause
"""A buffer of two beats in registers, behind a pipeline that pauses while the buffer is full."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class RegisterBuffer(wiring.Component):
    """Two registers that serve an output stream alternately: one holds a beat that waits while the other is loaded.

    All stages of the pipeline in front move on at the end of a cycle in which `run` is asserted and pause otherwise.
    The bits of `run` are duplicate registers (kept apart so that synthesis does not merge them), one for each stage,
    placed near what it enables. None is asserted for `reset_cycles` cycles after a reset. No path leads from
    `output.ready` to the pipeline, nor from the pipeline to `output.valid`.

    Throughput: a beat per cycle. Latency: a beat is valid at `output` `latency` cycles after it was entered, while no
    earlier beat waits. `run` is asserted once no beat has waited for `stall_cycles` cycles.

    From any flip-flop contents the control is consistent one cycle after one in which `output.ready` was asserted or
    `output.valid` was not.

    Args:
        copies: bits of `run`, at least 1.

    Attributes:
        valid: a beat is at the output: `output.valid`.
        full: two beats are held.
        second: the beat at the output is in the second register; the first one is loaded next, unless `full`.
        loads: registers, the first register is loaded, and the second one; both are 0 after a reset.

    Ports:
        entry: the payload of a beat.
        entry_valid: there is a beat; it is entered if `run` is asserted, and must be held otherwise.
        run: the stages of the pipeline move on at the end of the cycle.
        output: stream of `shape`, the beats that were entered, in their order.
    """

    latency = stall_cycles = reset_cycles = 1
    capacity = 2

    def __init__(self, shape: Any, copies: int) -> None:
        super().__init__(
            {
                "entry": In(shape),
                "entry_valid": In(1),
                "run": Out(copies),
                "output": Out(stream.Signature(shape)),
            }
        )
        self.valid, self.full, self.second = (
            Signal(name=name, reset_less=True) for name in ("valid", "full", "second")
        )
        width = len(Value.cast(self.entry))
        self.words = tuple(Signal(width, name=f"word_{which}", reset_less=True) for which in ("first", "second"))
        # Initially 0: iCE40 would store an initial 1 inverted, a look-up table before the enables.
        self.loads = [Signal(name=f"loads_{which}", reset_less=True) for which in ("first", "second")]
        self.runs = [Signal(name=f"run_{number}") for number in range(copies)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ready, offered, word = self.output.ready, self.entry_valid, Value.cast(self.entry)
        full, second = ~ready & self.valid & (self.full | offered), self.second ^ (ready | ~self.valid)
        m.d.sync += [
            self.valid.eq(self.full | offered | (self.valid & ~ready)),
            self.full.eq(full),
            self.second.eq(second),
            *(loads.eq(turn & ~full) for loads, turn in zip(self.loads, (second, ~second), strict=True)),
            *(run.eq(self.runs_next(run)) for run in self.runs),
        ]
        with m.If(ResetSignal()):
            m.d.sync += [register.eq(0) for register in (self.valid, self.full, self.second, *self.loads)]
        for register, loads in zip(self.words, self.loads, strict=True):
            with m.If(loads):
                m.d.sync += register.eq(word)
        m.d.comb += [
            self.run.eq(Cat(*self.runs)),
            self.output.valid.eq(self.valid),
            Value.cast(self.output.payload).eq(Mux(self.second, *reversed(self.words))),
        ]
        return m

    def runs_next(self, run: Value) -> Value:
        """The value of `run` in the next cycle, given its value in this one."""
        return self.output.ready | ~self.output.valid | (run & ~self.entry_valid)
