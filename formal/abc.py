# SPDX-License-Identifier: BSD-2-Clause
"""Questions about and-inverter graphs, answered by the ABC that is part of the Yosys that pip installs.

ABC's property directed reachability finds the invariants of an unbounded proof by itself, so a design is proved without
a description of its registers.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from utf8fpga.formal.aiger import Aig, GateList, any_start, read_aig
from utf8fpga.hdl.toolchain import ToolError, run_yosys

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
"""A design with one gate. Yosys calls ABC only if there is a gate to map; the script for ABC discards it."""


@dataclass
class Verdict:
    """The answer of ABC to a question about one output.

    Attributes:
        proved: True: the output is never 1; False: it is 1 at the end of `frames`; None: not decided in time.
        depth: the number of cycles that were examined; of a proof, the number of frames of its invariant.
        frames: per cycle the value of each input.
    """

    proved: bool | None
    depth: int
    frames: list[list[int]] = field(default_factory=list)
    seconds: float = 0.0


def decide(aigs: Mapping[str, tuple[Aig, int]], *, seconds: int = 600) -> dict[str, Verdict]:
    """Decide for each of some graphs whether one of its outputs can ever be 1.

    Args:
        aigs: by name the graph and the number of the output.
        seconds: time limit for each graph, after which it is undecided.
    """
    verdicts = {name: Verdict(None, 0) for name in aigs}
    left = list(aigs)
    # Signals that are always equal are merged first: the invariants become short, and often no gate remains to
    # be proved.
    for engine in (["scorr", "pdr"], ["pdr"]):
        found = _ask([_Question(*aigs[name], engine) for name in left], seconds)
        for name, verdict in zip(left, found, strict=True):
            verdict.seconds += verdicts[name].seconds
            verdicts[name] = verdict
        left = [name for name in left if verdicts[name].proved is None and not verdicts[name].depth]
    return verdicts


def _run_abc(commands: Sequence[str], files: Mapping[str, str | bytes], *results: str) -> list[bytes]:
    """Run commands of ABC, see `run_yosys`."""
    script = "\n".join(["backup", *commands, "restore", ""])
    given = {**files, "dummy.il": _DUMMY, "ask.abc": script}
    return run_yosys("read_rtlil dummy.il; abc -script ask.abc", given, *results)


def always_zero_each(questions: Sequence[tuple[Aig, int]]) -> list[bool]:
    """For graphs, each with the number of an output, whether merging equal signals proves that it is always 0.

    That is an induction, which is fast for two similar circuits of any size. If it fails, the output may still be
    always 0.
    """
    files = {f"{number}.aig": aig.file(output) for number, (aig, output) in enumerate(questions)}
    merged = {name: name.replace(".aig", ".merged.aig") for name in files}
    merge = ("strash", "&get", "&scorr", "&put")
    script = [word for name in files for word in (f"read_aiger {name}", *merge, f"write_aiger {merged[name]}")]
    return [read_aig(data).outputs == [0] for data in _run_abc(script, files, *merged.values())]


def merged(aig: Aig) -> Aig:
    """A graph without latches with equal gates merged: an output that is always 0 becomes the constant."""
    (found,) = _run_abc(
        ["read_aiger given.aig", "strash", "&get", "&fraig -x", "&put", "write_aiger merged.aig"],
        {"given.aig": aig.file()},
        "merged.aig",
    )
    return read_aig(found)


def hunt(aig: Aig, output: int, frames: int, *, seconds: int = 600) -> Verdict:
    """Search for a trace of at most `frames` cycles in which an output is 1; undecided if none is found."""
    return _ask([_Question(aig, output, [f"bmc2 -F {frames}"])], seconds)[0]


def resets_to_power_up(aig: Aig) -> bool:
    """Whether a reset leads from some contents of the core's registers to the state at power-up, where all are 0.

    Then what is proved after any reset holds from power-up on. Registers of the harness that become 1 in each cycle
    tell the first one from the others.
    """
    start = any_start(aig)
    gates, becomes_zero = GateList(start), 2 * (1 + start.input_bits["reset"][0])
    for number, literal in enumerate(start.latches):
        if literal != 1 or number in aig.core:
            becomes_zero = gates.both(becomes_zero, literal ^ 1)
    graph = gates.graph(start.latches, [becomes_zero], {}, {})
    return hunt(graph, 0, 1).proved is False


@dataclass(frozen=True)
class _Question:
    """A question to ABC about an output; the last command of `engine` is the engine."""

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
        """Whether a verdict is complete: it is decided, or all cycles of the question were examined."""
        found = re.fullmatch(r"bmc\d -F (\d+)", self.engine[-1])
        return verdict.proved is not None or bool(found and verdict.depth + 1 >= int(found[1]))


_answers: dict[bytes, Verdict] = {}
"""The complete answers of this process: the properties of a core share questions."""

_BATCH = 16
"""Upper bound on the number of questions in one run of Yosys."""


def _ask(questions: Sequence[_Question], seconds: int) -> list[Verdict]:
    """The answers to questions, with a time limit for each."""
    by_key = {question.key: question for question in questions}
    found = {key: _answers[key] for key in by_key if key in _answers}
    left = [key for key in by_key if key not in found]
    for first in range(0, len(left), _BATCH):
        batch = left[first : first + _BATCH]
        started = time.monotonic()
        verdicts = _run([by_key[key] for key in batch], seconds)
        taken = (time.monotonic() - started) / len(batch)
        found |= {key: replace(verdict, seconds=taken) for key, verdict in zip(batch, verdicts, strict=True)}
        _answers.update({key: found[key] for key in batch if by_key[key].is_answered_by(found[key])})
    return [replace(found[question.key]) for question in questions]


def _run(questions: Sequence[_Question], seconds: int) -> list[Verdict]:
    """The answers from one run of Yosys."""
    files = {f"{number}.aig": question.file for number, question in enumerate(questions)}
    script = []
    for number, question in enumerate(questions):
        *merge, engine = question.engine
        left = [f"write_aiger {number}.left.aig"] if merge else []
        script += [f"read_aiger {number}.aig", "strash", *merge, *left, f"{engine} -T {seconds} -L {number}.log"]
    names = [f"{number}.{end}" for number in range(len(questions)) for end in ("log", "left.aig")]
    found = iter(_run_abc(script, files, *names))
    return [_verdict(next(found), next(found), question.aig) for question in questions]


def _verdict(log: bytes, left: bytes, aig: Aig) -> Verdict:
    """The verdict in an engine's log; `left` is the graph after merging signals, on which the engine ran."""
    lines = log.decode().split("\n")
    found = re.match(r"snl_(UNSAT|SAT|UNK) +(-?\d+)", lines[0])
    if not found:
        raise ToolError("yosys ran, but its ABC wrote no result")
    if found[1] == "SAT":
        # The initial values of the latches, then the inputs of all cycles in order.
        bits = [int(bit) for bit in lines[2] if bit in "01"]
        frames = [bits[n : n + aig.inputs] for n in range(0, len(bits), aig.inputs)]
        return Verdict(False, len(frames), frames)
    # For a constant output ABC reports that it is undecided.
    proved = found[1] == "UNSAT" or (bool(left) and read_aig(left).outputs == [0])
    return Verdict(True if proved else None, int(found[2]))
