# SPDX-License-Identifier: BSD-2-Clause
"""Questions about and-inverter graphs, answered by the ABC that is part of the Yosys that pip installs.

ABC's property directed reachability finds the invariants of an unbounded proof by itself, so a design is proved as it
is, without a look at its registers.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from utf8fpga.formal.aiger import Aig, read_aig
from utf8fpga.formal.answers import Answers
from utf8fpga.hdl.toolchain import ToolError, run_tool

__all__ = ["Verdict", "always_zero", "decide", "hold", "hold_each", "hunt", "hunt_each"]


_DUMMY = """\
module \\dummy
  wire input 1 \\a
  wire input 2 \\b
  wire output 3 \\y
  cell $_AND_ $1
    connect \\A \\a
    connect \\B \\b
    connect \\Y \\y
  end
end
"""
"""Yosys calls ABC only where there is something to map; ABC puts this aside at once."""


@dataclass
class Verdict:
    """What ABC said of one output.

    Attributes:
        proved: True: it is never 1; False: `frames` show it; None: not decided in time.
        depth: the clocks looked at: of a proof, how far the frames of its invariant go.
        frames: per clock the value of each input.
    """

    proved: bool | None
    depth: int
    frames: list[list[int]] = field(default_factory=list)
    seconds: float = 0.0


def decide(aigs: Mapping[str, tuple[Aig, int]], *, seconds: int = 600, hunt: bool = False) -> dict[str, Verdict]:
    """Whether an output can ever be 1, of each of some graphs.

    Args:
        aigs: by a name the graph and which of its outputs.
        seconds: for each, before it counts as undecided.
        hunt: look for a failure in a few clocks first, which is fast but leaves no frames to show.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    verdicts = {name: Verdict(None, 0) for name in aigs}
    left = list(aigs)
    # Signals that always correspond are merged first: the invariants get short, and often
    # that leaves nothing to prove.
    for engine in [*([["bmc3 -F 10"]] if hunt else []), ["scorr", "pdr"], ["pdr"]]:
        limit = 5 if engine[-1].startswith("bmc") else seconds
        found = _ask([_Question(*aigs[name], engine) for name in left], limit)
        for name, verdict in zip(left, found, strict=True):
            verdict.seconds += verdicts[name].seconds
            verdicts[name] = verdict
        left = [name for name in left if not _is_final(verdicts[name], engine)]
    return verdicts


def _is_final(verdict: Verdict, engine: Sequence[str]) -> bool:
    """Nothing more is to be had from another engine."""
    return verdict.proved is not None or bool(verdict.depth and engine[-1] == "pdr")


def always_zero(aig: Aig, output: int) -> bool:
    """Whether an output is seen to be 0 for ever by merging signals that always correspond, an induction.

    This is fast where two circuits are alike, however large; that it fails says nothing.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "dummy.il").write_text(_DUMMY, encoding="utf-8")
        (directory / "twin.aig").write_bytes(aig.file(output))
        merge = ["backup", "read_aiger twin.aig", "strash", "&get", "&scorr", "&put", "write_aiger merged.aig"]
        (directory / "ask.abc").write_text("\n".join([*merge, "restore", ""]), encoding="utf-8")
        run_tool("yosys", ["-q", "-p", "read_rtlil dummy.il; abc -script ask.abc"], directory=directory)
        return read_aig(directory / "merged.aig").outputs == [0]


def hunt(aig: Aig, output: int, frames: int, *, seconds: int = 600) -> Verdict:
    """A trace of at most so many clocks in which an output is 1; undecided if none is found.

    Args:
        aig: the graph.
        output: which of its outputs.
        frames: how many clocks.
        seconds: before the search ends.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    return hunt_each(aig, [output], frames, seconds=seconds)[0]


def hunt_each(aig: Aig, outputs: Sequence[int], frames: int, *, seconds: int = 600) -> list[Verdict]:
    """The same of several outputs, each by itself."""
    return _ask([_Question(aig, output, [f"bmc2 -F {frames}"]) for output in outputs], seconds)


def hold(aig: Aig, output: int, frames: int, *, seconds: int = 600) -> Verdict:
    """Whether an output is 0 in each of the first clocks, whatever the inputs and the free start values.

    There are no frames to show where it is not. This is a step of a proof by induction, or the whole of one
    about what has no memory beyond `frames`.

    Args:
        aig: the graph.
        output: which of its outputs.
        frames: how many clocks.
        seconds: before it counts as undecided.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    return hold_each(aig, {output: frames}, seconds=seconds)[0]


def hold_each(aig: Aig, frames: Mapping[int, int], *, seconds: int = 600) -> list[Verdict]:
    """The same of several outputs, each by itself, with the clocks to look at by output."""
    verdicts = _ask([_Question(aig, output, [f"bmc3 -F {clocks}"]) for output, clocks in frames.items()], seconds)
    for verdict, clocks in zip(verdicts, frames.values(), strict=True):
        if verdict.proved is None and verdict.depth + 1 >= clocks:
            verdict.proved = True
    return verdicts


@dataclass(frozen=True)
class _Question:
    """A question to ABC.

    Attributes:
        aig, output: the graph, and which of its outputs.
        engine: commands, of which the last one is the engine.
    """

    aig: Aig
    output: int
    engine: Sequence[str]

    @cached_property
    def file(self) -> bytes:
        """The AIGER file."""
        return self.aig.file(self.output)

    @cached_property
    def key(self) -> bytes:
        """What the answer depends on."""
        return hashlib.sha256(self.file).digest() + "; ".join(self.engine).encode()

    def is_answered_by(self, verdict: Verdict) -> bool:
        """It did not run out of time: it is decided, or all clocks were looked at that were asked for."""
        found = re.fullmatch(r"bmc\d -F (\d+)", self.engine[-1])
        return verdict.proved is not None or bool(found and verdict.depth + 1 >= int(found[1]))


_answers = Answers()

_BATCH = 16
"""Questions that one run of Yosys is asked."""


def _ask(questions: Sequence[_Question], seconds: int) -> list[Verdict]:
    """The answers to questions, each of which may take so many seconds."""
    by_key = {question.key: question for question in questions}
    found: dict[bytes, Verdict] = {}
    while left := [key for key in by_key if key not in found]:
        if known := _answers.find(left):
            found |= known
            continue
        batch = _answers.claim(left, _BATCH)
        decided: dict[bytes, Verdict] = {}
        try:
            # Another process may have answered one since it was looked for.
            if batch and not (known := _answers.find(batch)):
                started = time.monotonic()
                verdicts = _run([by_key[key] for key in batch], seconds)
                taken = (time.monotonic() - started) / len(batch)
                found |= {key: replace(verdict, seconds=taken) for key, verdict in zip(batch, verdicts, strict=True)}
                decided = {key: found[key] for key in batch if by_key[key].is_answered_by(found[key])}
        finally:
            _answers.settle(batch, decided)
    return [replace(found[question.key]) for question in questions]


def _run(questions: Sequence[_Question], seconds: int) -> list[Verdict]:
    """The answers from one run of Yosys."""
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "dummy.il").write_text(_DUMMY, encoding="utf-8")
        script = ["backup"]
        for number, question in enumerate(questions):
            (directory / f"{number}.aig").write_bytes(question.file)
            merge = [*question.engine[:-1], f"write_aiger {number}.left.aig"] if question.engine[:-1] else []
            asked = f"{question.engine[-1]} -T {seconds} -L {number}.log"
            script += [f"read_aiger {number}.aig", "strash", *merge, asked]
        (directory / "ask.abc").write_text("\n".join([*script, "restore", ""]), encoding="utf-8")
        run_tool("yosys", ["-q", "-p", "read_rtlil dummy.il; abc -script ask.abc"], directory=directory)
        return [
            _verdict(directory / f"{number}.log", directory / f"{number}.left.aig", question.aig)
            for number, question in enumerate(questions)
        ]


def _verdict(log: Path, left: Path, aig: Aig) -> Verdict:
    """What an engine's log says, which got what merging signals had `left`."""
    lines = log.read_text(encoding="utf-8").split("\n") if log.exists() else [""]
    found = re.match(r"snl_(UNSAT|SAT|UNK) +(-?\d+)", lines[0])
    if not found:
        raise ToolError("yosys ran, but its ABC left no result")
    if found[1] == "SAT":
        # The latches' start, then the inputs of all clocks in a row.
        bits = [int(bit) for bit in lines[2] if bit in "01"]
        frames = [bits[n : n + aig.inputs] for n in range(0, len(bits), aig.inputs)]
        return Verdict(False, len(frames), frames)
    # Of an output that is a constant ABC says that it knows nothing.
    proved = found[1] == "UNSAT" or (left.exists() and read_aig(left).outputs == [0])
    return Verdict(True if proved else None, int(found[2]))
