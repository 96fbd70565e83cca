# SPDX-License-Identifier: BSD-2-Clause
"""Whether a circuit connects its parts and its ports as a proof by parts assumes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value

from utf8fpga.formal.top import Top
from utf8fpga.hdl.beats import is_effective, lanes_of
from utf8fpga.hdl.chain import Chain
from utf8fpga.hdl.encoder.encoder import in_byte_order
from utf8fpga.model.encodings import Encoding

Pairs = list[tuple[Any, Any]]
"""Pairs of values that must be equal."""


class Joints(Top):
    """A core between any producer and any consumer, in any state, and the comparison of what must be connected.

    Args:
        core: the core, with streams `input` and `output`.

    Attributes:
        offer, beat, ready: inputs with arbitrary values: `valid` and the payload of the producer, and `ready` of the
            consumer.
        shown: `valid` and the payload of the output.
    """

    def __init__(self, core: Any) -> None:
        super().__init__()
        self.core = core
        self.rst, self.bad, self.offer, self.ready = (Signal(name=n) for n in ("rst", "bad", "offer", "ready"))
        self.beat = Signal(len(Value.cast(core.input.payload)), name="beat")
        self.shown = Signal(1 + len(Value.cast(core.output.payload)), name="shown")

    def connected(self) -> Pairs:
        """The pairs of values that must be equal."""
        raise NotImplementedError

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.clocked(m, self.rst)
        m.submodules.dut = core = self.core
        source, output = core.input, core.output
        m.d.comb += [
            Value.cast(source.payload).eq(self.beat),
            source.valid.eq(self.offer),
            output.ready.eq(self.ready),
            self.shown.eq(Cat(output.valid, output.payload)),
        ]
        different = (Value.cast(one) != Value.cast(other) for one, other in self.connected())
        m.d.comb += self.bad.eq(Cat(*different).any())
        return m


class ChainJoints(Joints):
    """Whether a chain connects its stages and its ports by streams.

    The symbols at the ports have the byte orders of the encodings of its parameters. A stage that does not accept null
    beats gets none.
    """

    def connected(self) -> Pairs:
        core, stages = self.core, list(self.core.stages.values())
        given, made = core.parameters.encodings
        sources = [core.input, *(stage.output for stage in stages)]
        targets = [*(stage.input for stage in stages), core.output]
        # A detector determines the byte order of its input, which is not that of the encoding.
        orders = [None if "detector" in core.stages else given, *(None for _ in stages[1:]), made]
        pairs: Pairs = []
        for number, (source, target, order) in enumerate(zip(sources, targets, orders, strict=True)):
            is_dropped = not (number or getattr(stages[0], "accepts_null_beats", True))
            pairs += [
                (target.valid, is_effective(source) if is_dropped else source.valid),
                (source.ready, target.ready),
                (target.payload.keep, source.payload.keep),
                (target.payload.last, source.payload.last),
            ]
            for lane in range(lanes_of(source)):
                pairs += self.same_symbols(target.payload.symbols[lane], source.payload.symbols[lane], order)
        return pairs

    @staticmethod
    def same_symbols(target: Any, source: Any, order: Encoding | None) -> Pairs:
        """The pairs for a symbol, whose bytes may have an order."""
        if order is None:
            return [(target, source)]
        if hasattr(target, "unit"):
            return [(target.unit, in_byte_order(source.unit, order)), (target.error, source.error)]
        return [(target, in_byte_order(Value.cast(source), order))]


def is_joined(core: Chain) -> tuple[bool, bool]:
    """Whether a chain is nothing but its stages, and whether its output depends on `ready`.

    Wires are equal by structure: the graph of their comparison is the constant 0, without a search.

    Args:
        core: the chain, which is used up.
    """
    aig = ChainJoints(core).graph(free=True)
    return aig.outputs[aig.output_bits["bad"][0]] == 0, aig.depends(["shown"], ["ready"])
