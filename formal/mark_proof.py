# SPDX-License-Identifier: BSD-2-Clause
"""The proof of the stages of a transcoder for byte order marks, with one lane.

Both have no registers on the way, so it is a comparison in each cycle with what the mark demands, beside a register
that says whether a code point of the packet has been transferred before.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Module, Mux, ResetSignal, Signal, Value

from utf8fpga.formal.abc import decide
from utf8fpga.formal.properties import Property
from utf8fpga.formal.top import Top
from utf8fpga.hdl.encoder.encoder import swapped_bytes
from utf8fpga.model.encoder import BYTE_ORDER_MARK


class MarkProof(Top):
    """A stage between any producer and any consumer, and the comparison with what it should output.

    Args:
        stage: a `MarkRemover` or an `OrderDetector` with one lane.
        is_big: of an `OrderDetector`, whether the encoding is big-endian.

    Attributes:
        bad: in the cycle before, the output or `ready` was another one.
    """

    def __init__(self, stage: Any, *, is_remover: bool, is_big: bool, resets_first: bool) -> None:
        super().__init__()
        self._stage, self._is_remover, self._is_big, self._resets_first = stage, is_remover, is_big, resets_first
        self.offer, self.ready, self.reset = (Signal(name=n) for n in ("offer", "ready", "reset"))
        self.beat = Signal(len(Value.cast(stage.input.payload)), name="beat")
        self.bad = Signal(reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = stage = self._stage
        started, begun = Signal(reset_less=True), Signal()
        m.d.sync += started.eq(1)
        self.clocked(m, self.reset | (Const(self._resets_first, 1) & ~started))
        source, output = stage.input, stage.output
        beat = Signal(source.payload.shape())
        keep, last = beat.keep[0], beat.last
        # There are no null beats in front of a remover; a detector passes them on.
        valid = self.offer & (keep | last)
        m.d.comb += [
            Value.cast(beat).eq(self.beat),
            source.payload.eq(beat),
            source.valid.eq(valid),
            output.ready.eq(self.ready),
        ]
        with m.If(valid & self.ready):
            m.d.sync += begun.eq(~last & (begun | keep))
        symbol, found = beat.symbols[0], output.payload.symbols[0]
        if self._is_remover:
            is_removed = keep & ~begun & ~symbol.error & (symbol.code_point == BYTE_ORDER_MARK)
            expected, kept, shown = symbol, keep & ~is_removed, valid & (last | ~is_removed)
        else:
            unit = Value.cast(symbol)
            big, before = Signal(), Signal(reset_less=True)
            first = Mux(unit == BYTE_ORDER_MARK, 0, Mux(swapped_bytes(unit) == BYTE_ORDER_MARK, 1, self._is_big))
            m.d.comb += big.eq(Mux(begun, before, first))
            m.d.sync += before.eq(Mux(valid & self.ready, big, before))
            expected, kept, shown = Mux(big, swapped_bytes(unit), unit), keep, valid
        same = (output.payload.keep[0] == kept) & (output.payload.last == last)
        same = same & (~kept | (Value.cast(found) == Value.cast(expected)))
        wrong = (output.valid != shown) | (shown & ~same) | (source.ready != self.ready)
        m.d.sync += self.bad.eq(wrong & ~ResetSignal("sync"))
        return m


def prove_marks(core: Any, wanted: Property, *, seconds: int = 600) -> tuple[bool | None, list[str]]:
    """Prove that the stages of a transcoder for byte order marks follow the marks.

    Args:
        core: the transcoder, which is used up.
        wanted: `Property.EQUIVALENCE` or `Property.POWER_UP`.

    Returns:
        whether they do, and the names of the stages.
    """
    stages = {name: stage for name, stage in core.stages.items() if name not in ("decoder", "encoder")}
    is_big = core.parameters.given.byte_order == "big"
    proofs = {
        name: MarkProof(stage, is_remover=name == "remover", is_big=is_big, resets_first=wanted.any_start)
        for name, stage in stages.items()
    }
    graphs = {name: proof.graph(free=wanted.any_start) for name, proof in proofs.items()}
    verdicts = decide({name: (aig, aig.output_bits["bad"][0]) for name, aig in graphs.items()}, seconds=seconds)
    failed = [verdict.proved for verdict in verdicts.values() if not verdict.proved]
    return failed[0] if failed else True, list(stages)
