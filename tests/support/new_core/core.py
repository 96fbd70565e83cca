# SPDX-License-Identifier: BSD-2-Clause
"""The dummy core: bytes pass through a register. It becomes `hdl/pass_through.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout, is_effective
from utf8fpga.hdl.core import CoreEntry
from utf8fpga.hdl.parameters import CoreParameters, option
from utf8fpga.model.pass_through import PassThrough

__all__ = ["PassThroughCore", "PassThroughEntry", "PassThroughParameters"]


@dataclass(frozen=True, kw_only=True)
class PassThroughParameters(CoreParameters):
    """How many bytes pass in a cycle."""

    core: ClassVar[str] = "pass-through"

    lanes: int = option(1, "Bytes per beat.", range=(1, 64))


class PassThroughEntry(CoreEntry[PassThroughParameters]):
    """The golden function and the circuit."""

    product = "Pass-through core"
    input_noun = output_noun = "byte"

    def circuit(self) -> PassThroughCore:
        return PassThroughCore(self.parameters.lanes)

    def golden(self) -> PassThrough:
        return PassThrough()


class PassThroughCore(wiring.Component):
    """Beats pass through a register."""

    packed = True
    latency = drain_cycles = 1
    stall_cycles = 0

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        signature = stream.Signature(beat_layout(8, lanes))
        super().__init__({"input": In(signature), "output": Out(signature)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, valid = Signal(self.input.payload.shape()), Signal()
        m.d.comb += [
            self.output.payload.eq(beat),
            self.output.valid.eq(valid),
            self.input.ready.eq(self.output.ready | ~valid),
        ]
        with m.If(self.input.ready):
            m.d.sync += [beat.eq(self.input.payload), valid.eq(is_effective(self.input))]
        return m
