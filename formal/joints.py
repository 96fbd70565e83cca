# SPDX-License-Identifier: BSD-2-Clause
"""Whether a core connects its parts and its ports as a proof by parts assumes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockDomain, Elaboratable, Module, Signal, Value

__all__ = ["Joints"]


class Joints(Elaboratable):
    """A core between any producer and any consumer, in any state, and the comparison of what must be connected.

    Args:
        core: the core, with streams `input` and `output`.

    Attributes:
        core: the core.
        offer, beat, ready: inputs with arbitrary values: `valid` and the payload of the producer, and `ready` of the
            consumer.
        shown: `valid` and the payload of the output.
        bad: something is not connected.
    """

    def __init__(self, core: Any) -> None:
        self.core = core
        self.clk, self.rst, self.bad = Signal(name="clk"), Signal(name="rst"), Signal(name="bad")
        self.offer, self.ready = Signal(name="offer"), Signal(name="ready")
        self.beat = Signal(len(Value.cast(core.input.payload)), name="beat")
        self.shown = Signal(1 + len(Value.cast(core.output.payload)), name="shown")

    @property
    def ports(self) -> list[Signal]:
        """The ports of the top module."""
        return [self.clk, self.rst, self.offer, self.ready, self.beat, self.bad, self.shown]

    def connected(self) -> list[tuple[Any, Any]]:
        """The pairs of values that must be equal."""
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain("sync")
        m.submodules.dut = core = self.core
        source, output = core.input, core.output
        m.d.comb += [
            domain.clk.eq(self.clk),
            domain.rst.eq(self.rst),
            Value.cast(source.payload).eq(self.beat),
            source.valid.eq(self.offer),
            output.ready.eq(self.ready),
            self.shown.eq(Cat(output.valid, output.payload)),
        ]
        different = (Value.cast(one) != Value.cast(other) for one, other in self.connected())
        m.d.comb += self.bad.eq(Cat(*different).any())
        return m
