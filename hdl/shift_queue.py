# SPDX-License-Identifier: BSD-2-Clause
"""A queue of a few beats in registers, behind a pipeline that pauses while the queue is full."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class ShiftQueue(wiring.Component):
    """A queue whose first beat is at the output, and whose beats all move one place on when that one is transferred.

    The pipeline in front moves on at the end of a cycle in which `run` is asserted, and pauses otherwise, while the
    queue is full. The bits of `run` are duplicate registers (kept apart so that synthesis does not merge them). No path
    leads from `output.ready` to the pipeline, nor from the pipeline to `output.valid`.

    Throughput: a beat per cycle. Latency: a beat is valid at `output` `latency` cycles after it was entered, while no
    earlier beat waits.

    Args:
        capacity: beats held, at least 2.
        copies: bits of `run`, at least 1.

    Attributes:
        valid: bit n: there are more than n beats.

    Ports:
        entry: the payload of a beat.
        entry_valid: there is a beat; it is entered if `run` is asserted, and must be held otherwise.
        run: the stages of the pipeline move on at the end of the cycle.
        output: stream of `shape`, the beats that were entered, in their order.
    """

    latency = stall_cycles = 1
    reset_cycles = 0

    def __init__(self, shape: Any, capacity: int, copies: int) -> None:
        super().__init__(
            {"entry": In(shape), "entry_valid": In(1), "run": Out(copies), "output": Out(stream.Signature(shape))}
        )
        self.capacity = capacity
        self.valid = Signal(capacity)
        self.runs = [Signal(name=f"run_{number}", init=1) for number in range(copies)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid, entry = self.valid, Value.cast(self.entry)
        words = [Signal(len(entry), name=f"word_{place}", reset_less=True) for place in range(self.capacity)]
        ready, offered = self.output.ready, self.entry_valid
        left = Mux(ready, valid >> 1, valid)
        enters = (offered & self.run[0]).replicate(self.capacity)
        m.d.comb += [
            self.run.eq(Cat(*self.runs)),
            self.output.valid.eq(valid[0]),
            Value.cast(self.output.payload).eq(words[0]),
        ]
        m.d.sync += [
            valid.eq(left | (Cat(Const(1, 1), left[:-1]) & enters)),
            *(run.eq(ready | (run & ~(valid[-2] & offered))) for run in self.runs),
        ]
        for place, word in enumerate(words):
            # A place without a beat loads whatever may be entered, so that its enable depends on little.
            is_followed = place + 1 < self.capacity
            with m.If(ready | ~valid[place]):
                m.d.sync += word.eq(Mux(valid[place + 1], words[place + 1], entry) if is_followed else entry)
        return m
