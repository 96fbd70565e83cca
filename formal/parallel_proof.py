# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a parallel decoder, in two halves: that of its window and that of its buffer.

The first half says that in each cycle the window outputs the correct items to the buffer, or none. The second half says
that these beats are transferred at the output, each once and in order, and that the buffer fulfils the contract of the
streams; it assumes only the timing of beats from the first half. Both are inductions: an invariant holds at the end of
a reset from arbitrary flip-flop contents, and in the cycle after any in which it held. So the properties hold for
packets of any length with any pauses. That the decoder connects the two as both halves assume is tested in simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from utf8fpga.formal.abc import hold_each
from utf8fpga.formal.aiger import Aig
from utf8fpga.formal.invariants.buffer import BufferProof, Start
from utf8fpga.formal.invariants.window import WindowProof
from utf8fpga.formal.properties import Property
from utf8fpga.hdl import ParallelDecoder
from utf8fpga.model import EncodingTable

HALVES = (Property.EQUIVALENCE, Property.POWER_UP, Property.STEADY, Property.STALL, Property.LATENCY)
"""The properties that are proved in halves."""


@dataclass
class Induction:
    """The answers to the questions of an induction.

    Attributes:
        failed: the names of those that were refuted or not decided; if there is one, no property is proved.
        undecided: the names of those that were not answered in time.
        frames: upper bound on the cycles that any of them looked at.
    """

    asked: int = 0
    failed: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    frames: int = 0

    @property
    def proved(self) -> bool:
        """All were answered with yes."""
        return not (self.failed or self.undecided)

    def ask(self, outputs: Mapping[str, int], aig: Aig, frames: Mapping[str, int], seconds: int) -> None:
        """Ask about outputs, each for a number of cycles, by name."""
        self.asked += len(outputs)
        self.frames = max(self.frames, *frames.values())
        verdicts = hold_each(aig, {output: frames[name] for name, output in outputs.items()}, seconds=seconds)
        for name, verdict in zip(outputs, verdicts, strict=True):
            if verdict.proved is None:
                self.undecided.append(name)
            elif not verdict.proved:
                self.failed.append(name)


def prove_halves(
    build: Callable[[], ParallelDecoder], right: EncodingTable, wanted: Property, *, seconds: int = 600
) -> Induction:
    """Prove a property of a parallel decoder; where one part of the proof fails, the next is not tried.

    Args:
        wanted: one of `HALVES`.
    """
    found = Induction()
    decoder = build()
    start = Start.POWER_UP if wanted is Property.POWER_UP else Start.RESET
    if wanted in (Property.EQUIVALENCE, Property.POWER_UP):
        _ask_window(found, build, right, start, seconds)
    if wanted is Property.LATENCY:
        cycles = WindowProof(build(), right).cycles + BufferProof(decoder, Start.HELD).cycles
        if decoder.latency != cycles:
            found.failed.append(f"{cycles} cycles, not {decoder.latency}")
    never = _NEVER[wanted]
    for begin in (Start.HELD, start):
        if found.failed:
            break
        proof = BufferProof(decoder, begin)
        aig = proof.graph(free=begin is not Start.POWER_UP)
        outputs = dict(zip(proof.questions, aig.output_bits["asked"], strict=True))
        asked = {f"buffer {begin.value} {n}": n for n in outputs if n not in proof.never or n in never}
        frames = {question: proof.frames[name] for question, name in asked.items()}
        found.ask({question: outputs[name] for question, name in asked.items()}, aig, frames, seconds)
    return found


_NEVER = {
    Property.EQUIVALENCE: ("order", "quiet"),
    Property.POWER_UP: ("order", "quiet"),
    Property.STEADY: ("steady", "quiet"),
    Property.STALL: ("stall", "quiet"),
    Property.LATENCY: ("latency", "drains", "quiet"),
}
"""By property the questions about the buffer; during a reset neither `ready` nor `valid` is asserted."""


def _ask_window(found: Induction, build: Callable[[], Any], right: EncodingTable, start: Start, seconds: int) -> None:
    proof = WindowProof(build(), right)
    aig = proof.graph(free=True)
    for kind in ("step", "start" if start is Start.POWER_UP else "reset"):
        graph = aig.given(aig.initial) if kind == "start" else aig
        outputs = {f"window {kind} {tag}": bit for tag, bit in zip(proof.tags, aig.output_bits[kind], strict=True)}
        found.ask(outputs, graph, dict.fromkeys(outputs, proof.frames[kind]), seconds)
