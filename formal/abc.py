# SPDX-License-Identifier: BSD-2-Clause
"""Questions about and-inverter graphs, answered by the ABC that is part of the Yosys that pip installs.

ABC's property directed reachability finds the invariants of an unbounded proof by itself, so a design is proved without
a description of its registers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from utf8fpga.formal.gates import GateList, aiger_file, any_start
from utf8fpga.hdl.toolchain import ToolError, run_yosys
from utf8fpga.sim.aiger import Aig, read_aig

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


def decide(aig: Aig, output: int, *, seconds: int = 600) -> Verdict:
    """Decide whether an output of a graph can ever be 1; undecided after a time."""
    # Signals that are always equal are merged first: the invariants become short, and often no gate remains to
    # be proved.
    verdict = _ask(aig, output, ["scorr", "pdr"], seconds)
    if verdict.proved is None and not verdict.depth:
        verdict = _ask(aig, output, ["pdr"], seconds)
    return verdict


def hunt(aig: Aig, output: int, frames: int, *, seconds: int = 600) -> Verdict:
    """Search for a trace of at most `frames` cycles in which an output is 1; undecided if none is found."""
    return _ask(aig, output, [f"bmc2 -F {frames}"], seconds)


def is_always_zero(aig: Aig, output: int) -> bool:
    """Whether merging equal signals proves that an output is always 0.

    That is an induction, which is fast for two similar circuits of any size. If it fails, the output may still be
    always 0.
    """
    return _merged(aiger_file(aig, output), "&scorr").outputs == [0]


def merged(aig: Aig) -> Aig:
    """A graph without latches with equal gates merged: an output that is always 0 becomes the constant."""
    return _merged(aiger_file(aig), "&fraig -x")


def _merged(file: bytes, command: str) -> Aig:
    commands = ["read_aiger given.aig", "strash", "&get", command, "&put", "write_aiger merged.aig"]
    return read_aig(_run_abc(commands, file, "merged.aig")[0])


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


def _run_abc(commands: Sequence[str], file: bytes, *results: str) -> list[bytes]:
    """Run commands of ABC, which read ``given.aig``; see `run_yosys`."""
    script = "\n".join(["backup", *commands, "restore", ""])
    files: dict[str, str | bytes] = {"given.aig": file, "dummy.il": _DUMMY, "ask.abc": script}
    return run_yosys("read_rtlil dummy.il; abc -script ask.abc", files, *results)


def _ask(aig: Aig, output: int, commands: Sequence[str], seconds: int) -> Verdict:
    """The answer to a question about an output; the last command is the engine, those before it merge signals."""
    *merge, engine = commands
    left = ["write_aiger left.aig"] if merge else []
    script = ["read_aiger given.aig", "strash", *merge, *left, f"{engine} -T {seconds} -L log"]
    log, remaining = _run_abc(script, aiger_file(aig, output), "log", "left.aig")
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
    proved = found[1] == "UNSAT" or (bool(remaining) and read_aig(remaining).outputs == [0])
    return Verdict(True if proved else None, int(found[2]))
