# SPDX-License-Identifier: BSD-2-Clause
"""Unbounded proofs that a foreign decoder is equal to the DFA of Table 3-7, for any input, pauses and resets."""

from __future__ import annotations

import time
from dataclasses import dataclass

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from utf8fpga.formal.abc import decide
from utf8fpga.formal.aiger import aig_of
from utf8fpga.formal.properties import Harness, Property
from utf8fpga.hdl import DecoderParameters
from utf8fpga.hdl.foreign_core import PARTIAL, ForeignCore
from utf8fpga.hdl.foreign_ports import CheckedPorts
from utf8fpga.model import InvalidArgumentError
from utf8fpga.model.render import counted
from utf8fpga.sim.beats import beat_of

PROVED = (Property.EQUIVALENCE, Property.STEADY)
"""The properties that are proved."""

_IN_FLIGHT = 7
"""Upper bound on the cycles for which an item may be in flight, which limits the items that the monitors count."""


@dataclass(frozen=True)
class ForeignProof:
    """The result of a proof.

    Attributes:
        proved: whether it holds; None if it is undecided.
        texts: the texts since the last reset of a trace in which it does not hold; the last one may be incomplete.
    """

    wanted: Property
    proved: bool | None
    depth: int
    seconds: float
    texts: tuple[bytes, ...] = ()


def require_provable(ports: CheckedPorts) -> None:
    """Check that cores with these ports can be proved.

    Raises:
        InvalidArgumentError: they cannot.
    """
    roles = {"last", "error", "ready"} <= ports.output.keys() and "last" in ports.input
    if ports.kind != "decoder" or ports.protocol != "axi-stream" or not roles:
        raise InvalidArgumentError(
            "a proof is possible for kind = 'decoder' and protocol = 'axi-stream' with the ports input.last, "
            "output.last, output.ready and output.error: leave out --prove"
        )
    if ports.sticky:
        raise InvalidArgumentError(
            "sticky = true contradicts a proof, for which each mark has its error: leave out --prove"
        )


class _ForeignDecoder(wiring.Component):
    """A foreign decoder with the output symbols and the attributes that the monitors use."""

    latency = _IN_FLIGHT

    def __init__(self, core: ForeignCore) -> None:
        self.lanes, self._core = core.lanes, core
        self.parameters = DecoderParameters(lanes=core.lanes, replacement=core.ports.replacement)
        super().__init__(self.parameters.ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        connect(m, flipped(self.input), core.input)
        given, beat = core.output.payload, self.output.payload
        is_part = core.violation == PARTIAL
        m.d.comb += [
            self.output.valid.eq(core.output.valid),
            core.output.ready.eq(self.output.ready),
            beat.last.eq(given.last),
            beat.keep.eq(Mux(is_part, 0, given.keep)),
        ]
        for word, symbol in zip(given.symbols, beat.symbols, strict=True):
            last = (1 << len(symbol.code_point)) - 1
            m.d.comb += [
                # A word beyond the code points becomes one that is never correct.
                symbol.code_point.eq(Mux(word.code_point > last, last, word.code_point)),
                symbol.error.eq(word.error & ~is_part),
            ]
        return m


def prove_foreign(core: ForeignCore, wanted: Property, *, seconds: int = 600) -> ForeignProof:
    """Prove a property of a foreign decoder from any register contents, with a reset first, for any input and pauses.

    Args:
        wanted: one of `PROVED`.

    Raises:
        InvalidArgumentError: the ports do not permit a proof, see `require_provable`; there is no reset; or an output
            beat has another number of words than an input beat has bytes.
    """
    require_provable(core.ports)
    if not core.has_reset:
        raise InvalidArgumentError(f"{core.name} has no reset, from which a proof starts: leave out --prove")
    if core.lanes != core.words:
        raise InvalidArgumentError(
            f"{core.name} has {counted(core.lanes, 'byte')} and {counted(core.words, 'word')} per beat, but a proof "
            "requires as many words as bytes: leave out --prove"
        )
    started = time.monotonic()
    harness = Harness(lambda: _ForeignDecoder(core), wanted, full="keep" not in core.ports.input)
    aig = aig_of(core.module.rtlil + harness.rtlil(), free=wanted.any_start)
    verdict = decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=seconds)["proof"]
    texts = _texts(core, aig.values(verdict.frames)) if verdict.proved is False else ()
    return ForeignProof(wanted, verdict.proved, verdict.depth, time.monotonic() - started, texts)


def _texts(core: ForeignCore, cycles: list[dict[str, int]]) -> tuple[bytes, ...]:
    """The texts of a trace, since its last reset."""
    texts = [b""]
    for cycle in cycles:
        if cycle["see_reset"]:
            texts = [b""]
        elif cycle["see_in_valid"] and cycle["see_in_ready"]:
            slots, last = beat_of(core, cycle["see_in_payload"])
            texts[-1] += bytes(unit for unit in slots if unit is not None)
            texts += [b""] * last
    return tuple(texts if texts[-1] else texts[:-1])
