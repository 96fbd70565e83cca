# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a parallel decoder, which comes in two halves: `windows` and `buffers`.

The first half says that in each clock the decoder puts the right beats into its buffer, or none. The second says
that those beats come out of the buffer, each once and in order, and that the buffer keeps the streams' contract;
it takes nothing of the first half but when there is a beat. Both are inductions: an invariant holds when a reset is
over, whatever was in the registers, and in the clock after any in which it held. So what is proved holds for inputs
of any length with any pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from amaranth.back import rtlil

from utf8fpga.formal.abc import Verdict, decide, hold_each
from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.formal.invariants.buffer import BufferProof, Start
from utf8fpga.formal.invariants.window import WindowProof
from utf8fpga.formal.properties import Property
from utf8fpga.formal.recovery_proof import WindowRecovery
from utf8fpga.hdl import ParallelDecoder
from utf8fpga.hdl.decoder.window import CUTS
from utf8fpga.model import EncodingTable

__all__ = ["HALVES", "Induction", "prove_halves", "prove_recovery"]

HALVES = (Property.EQUIVALENCE, Property.POWER_UP, Property.STEADY, Property.STALL, Property.LATENCY)
"""What is proved by halves."""


@dataclass
class Induction:
    """What came of the questions of an induction.

    Attributes:
        asked: how many there were.
        failed: the names of those whose answer was no, so that nothing follows.
        undecided: the names of those that were not answered in time.
        frames: the most clocks that any of them looked at.
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
        """Ask about outputs, and how many clocks of each, by a name of each."""
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
        build: makes the decoder.
        right: the table that it is compared with.
        wanted: one of `HALVES`.
        seconds: how long the engine may think about one question.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    found = Induction()
    decoder = build()
    start = Start.POWER_UP if wanted is Property.POWER_UP else Start.RESET
    if wanted in (Property.EQUIVALENCE, Property.POWER_UP):
        _ask_window(found, build, right, start, seconds)
    if wanted is Property.LATENCY and decoder.latency != _stages(decoder):
        found.failed.append(f"{_stages(decoder)} clocks, not {decoder.latency}")
    never = _NEVER[wanted]
    for begin in (Start.HELD, start):
        if found.failed:
            break
        proof = BufferProof(decoder, begin)
        aig = aig_of(_rtlil(proof), free=begin is not Start.POWER_UP)
        outputs = dict(zip(proof.questions, aig.output_bits["asked"], strict=True))
        asked = {f"buffer {begin.value} {n}": n for n in outputs if n not in proof.never or n in never}
        frames = {question: proof.frames[name] for question, name in asked.items()}
        found.ask({question: outputs[name] for question, name in asked.items()}, aig, frames, seconds)
    return found


def prove_recovery(build: Callable[[], ParallelDecoder], *, seconds: int = 600) -> Verdict:
    """Prove that a parallel decoder recovers; one with a buffer in memory, as far as the buffer.

    Args:
        build: makes the decoder.
        seconds: how long the engine may think about a question.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    like = build()
    if like.buffer == "registers":
        heals = BufferProof(like, Start.ANY)
        aig = aig_of(_rtlil(heals), free=True)
        (verdict,) = hold_each(aig, {aig.output_bits["asked"][0]: heals.frames["heals"]}, seconds=seconds)
        if not verdict.proved:
            return verdict
    aig = aig_of(_rtlil(WindowRecovery(build)), free=True)
    return decide({"recovery": (aig, aig.output_bits["bad"][0])}, seconds=seconds)["recovery"]


_NEVER = {
    Property.EQUIVALENCE: ("order", "quiet"),
    Property.POWER_UP: ("order", "quiet"),
    Property.STEADY: ("steady", "quiet"),
    Property.STALL: ("stall", "quiet"),
    Property.LATENCY: ("latency", "drains", "quiet"),
}
"""What a buffer must never do, by property; while it is reset, nothing at all."""


def _ask_window(
    found: Induction, build: Callable[[], ParallelDecoder], right: EncodingTable, start: Start, seconds: int
) -> None:
    proof = WindowProof(build(), right)
    text = _rtlil(proof)
    kinds = {True: ["step"], False: ["start"]} if start is Start.POWER_UP else {True: ["step", "reset"]}
    for free, asked in kinds.items():
        aig = aig_of(text, free=free)
        for kind in asked:
            bits = zip(proof.tags, aig.output_bits[kind], strict=True)
            outputs = {f"window {kind} {tag}": bit for tag, bit in bits}
            found.ask(outputs, aig, dict.fromkeys(outputs, proof.frames[kind]), seconds)


def _stages(decoder: ParallelDecoder) -> int:
    """The clocks from a beat that is taken, and determined, to its items.

    Those that the two halves speak of: rows of registers before the beat is looked at, that in which it waits for
    the next and that of what comes out of the first half; then four clocks in the memory, or one in the two
    registers.
    """
    cuts = CUTS[decoder.pipeline]
    return len(cuts - {"words"}) + 2 + 4 if decoder.buffer == "memory" else len(cuts) + 2 + 1


def _rtlil(proof: WindowProof | BufferProof | WindowRecovery) -> str:
    return str(rtlil.convert(proof, name="top", ports=proof.ports, emit_src=False))
