# SPDX-License-Identifier: BSD-2-Clause
"""Proofs with the Yosys that pip installs, and the ABC inside it: circuits as and-inverter graphs.

ABC's property directed reachability finds the invariants of an unbounded proof by itself, so a
design is proved as it is, without a look at its registers.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from utf8fpga.hdl.tools import ToolError, run_tool

__all__ = [
    "Aig",
    "Verdict",
    "aig_of",
    "always_zero",
    "assemble",
    "decide",
    "hold",
    "hold_each",
    "hunt",
    "prepare",
    "read_aig",
]


def prepare(name: str, *, free: bool = False, small: bool = False) -> str:
    """The Yosys script from a hierarchy to the file ``name.aig``, which `read_aig` reads.

    Args:
        name: of the file.
        free: the registers of the submodule ``dut`` start with any contents.
        small: simplify the gates, too.
    """
    # Forgotten before anything is simplified: a register that never changes has its value for ever.
    forget = _FORGET if free else ""
    # Two registers that always take the same value may still start with different ones.
    simplify = f"opt {'-keepdc ' if free else ''}-nodffe -nosdff; opt_clean; techmap; dffunmap"
    if small:
        simplify += f"; opt -fast {'-keepdc ' if free else ''}-nodffe -nosdff"
    return f"proc; flatten; memory; {forget}{simplify}; {assemble(name, free=free)}"


_FORGET = "setattr -unset init w:dut.*; "


def assemble(name: str, *, free: bool = False) -> str:
    """The same where all modules are of simple gates already."""
    forget = _FORGET if free else ""
    return f"flatten; {forget}opt_clean; dffunmap; aigmap; opt_clean; write_aiger -zinit -symbols {name}.aig"


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
class Aig:
    """An and-inverter graph as AIGER has it; all latches start at 0.

    Literal 2n is variable n, 2n + 1 its inverse, 0 is false. Inputs, then latches, then gates are
    numbered from 1.

    Attributes:
        inputs: how many inputs.
        latches: per latch the literal of its next value.
        outputs: the literals of the outputs.
        gates: per gate its two literals.
        input_bits: per port the inputs that are its bits; those that choose a start value have no port.
        output_bits: per port the outputs that are its bits.
        packed: the gates as they are in the file.
    """

    inputs: int
    latches: list[int]
    outputs: list[int]
    gates: list[tuple[int, int]]
    input_bits: dict[str, list[int]]
    output_bits: dict[str, list[int]]
    packed: bytes = field(repr=False)

    @cached_property
    def step(self) -> Callable[[list[int], list[int], int], tuple[list[int], list[int]]]:
        """`stepper` of all outputs."""
        return self.stepper(range(len(self.outputs)))

    def stepper(self, wanted: Sequence[int]) -> Callable[[list[int], list[int], int], tuple[list[int], list[int]]]:
        """A function of the latches and inputs that gives the next latches and the wanted outputs.

        Values are integers, each bit a run of its own; the last argument has all those bits set.
        Latches that no wanted output ever depends on stay 0.
        """
        outputs = [self.outputs[n] for n in wanted]
        used = self._used(outputs)
        base, latch = 1 + self.inputs + len(self.latches), 1 + self.inputs
        names = ["0", *(f"i{n}" for n in range(self.inputs)), *(f"l{n}" for n in range(len(self.latches)))]
        names += [f"g{n}" for n in range(len(self.gates))]
        following = [value if latch + n in used else 0 for n, value in enumerate(self.latches)]

        def literal(value: int) -> str:
            if value < 2:
                return "m" if value else "0"
            return f"(m^{names[value >> 1]})" if value & 1 else names[value >> 1]

        lines = ["def step(l, i, m):"]
        for prefix, count in (("i", self.inputs), ("l", len(self.latches))):
            if count:
                lines.append(f" [{','.join(f'{prefix}{n}' for n in range(count))}] = {prefix}")
        for n, (left, right) in enumerate(self.gates):
            if base + n in used:
                lines.append(f" {names[base + n]}={literal(left)}&{literal(right)}")
        lines.append(f" return [{','.join(map(literal, following))}],[{','.join(map(literal, outputs))}]")
        space: dict[str, Any] = {}
        exec("\n".join(lines), space)
        found: Callable[[list[int], list[int], int], tuple[list[int], list[int]]] = space["step"]
        return found

    def _used(self, literals: Sequence[int]) -> set[int]:
        """The variables that literals depend on, in any clock."""
        latch, first = 1 + self.inputs, 1 + self.inputs + len(self.latches)
        todo, used = [literal >> 1 for literal in literals], set[int]()
        while todo:
            variable = todo.pop()
            if variable in used:
                continue
            used.add(variable)
            if variable >= first:
                todo += [literal >> 1 for literal in self.gates[variable - first]]
            elif variable >= latch:
                todo.append(self.latches[variable - latch] >> 1)
        return used

    def file(self, where: int) -> bytes:
        """The AIGER file of the graph with one of its outputs alone."""
        latches, gates = len(self.latches), len(self.gates)
        numbers = [*self.latches, self.outputs[where]]
        header = f"aig {self.inputs + latches + gates} {self.inputs} {latches} 1 {gates}\n"
        return (header + "".join(f"{number}\n" for number in numbers)).encode() + self.packed

    def fan_in(self, outputs: Sequence[int]) -> set[int]:
        """The inputs that outputs depend on within the clock."""
        first = 1 + self.inputs + len(self.latches)
        todo, seen = [self.outputs[n] >> 1 for n in outputs], set[int]()
        while todo:
            variable = todo.pop()
            if variable not in seen:
                seen.add(variable)
                if variable >= first:
                    todo += [literal >> 1 for literal in self.gates[variable - first]]
        return {variable - 1 for variable in seen if 1 <= variable <= self.inputs}

    def values(self, frames: Sequence[Sequence[int]]) -> list[dict[str, int]]:
        """Per clock what the output ports are, given the inputs of each clock."""
        state = [0] * len(self.latches)
        shown = []
        for frame in frames:
            state, outputs = self.step(state, list(frame), 1)
            shown.append(
                {
                    name: sum(outputs[where] << bit for bit, where in enumerate(bits))
                    for name, bits in self.output_bits.items()
                }
            )
        return shown


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


def aig_of(rtlil: str, *, top: str = "top", free: bool = False, small: bool = False) -> Aig:
    """A design as an and-inverter graph.

    Args:
        rtlil: the design; its clock is a port.
        top: its top module.
        free: the registers of the submodule ``dut`` start with any contents.
        small: take more time for fewer gates.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "top.il").write_text(rtlil, encoding="utf-8")
        script = f"read_rtlil top.il; hierarchy -top {top}; {prepare('top', free=free, small=small)}"
        run_tool("yosys", ["-q", "-p", script], directory=directory)
        return read_aig(directory / "top.aig")


def read_aig(path: Path) -> Aig:
    """The binary AIGER file that Yosys wrote, with the names of its ports."""
    data = path.read_bytes()
    lines = data.split(b"\n", 1)
    _, inputs, latches, outputs, gates = (int(word) for word in lines[0].split()[1:6])
    place = len(lines[0]) + 1

    def numbers(count: int) -> list[int]:
        nonlocal place
        found = []
        for _ in range(count):
            end = data.index(b"\n", place)
            found.append(int(data[place:end].split()[0]))
            place = end + 1
        return found

    def delta() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    next_values, output_literals = numbers(latches), numbers(outputs)
    pairs, gates_at = [], place
    for n in range(gates):
        left = 2 * (1 + inputs + latches + n) - delta()
        pairs.append((left, left - delta()))
    ports: dict[str, dict[str, dict[int, int]]] = {"i": {}, "o": {}}
    for line in data[place:].split(b"\nc\n")[0].decode().splitlines():
        if found := re.fullmatch(r"([io])(\d+) (.*?)(?:\[(\d+)\])?", line):
            ports[found[1]].setdefault(found[3], {})[int(found[4] or 0)] = int(found[2])
    bits = {
        what: {name: [found[b] for b in sorted(found)] for name, found in names.items()}
        for what, names in ports.items()
    }
    return Aig(inputs, next_values, output_literals, pairs, bits["i"], bits["o"], data[gates_at:place])


def decide(aigs: Mapping[str, tuple[Aig, int]], *, seconds: int = 600, hunt: bool = False) -> dict[str, Verdict]:
    """Whether an output can ever be 1, of each of some graphs.

    Args:
        aigs: by a name that can be a file's, the graph and which of its outputs.
        seconds: for each, before it counts as undecided.
        hunt: look for a failure in a few clocks first, which is fast but leaves no frames to show.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    verdicts = {}
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        for name, (aig, output) in aigs.items():
            started = time.monotonic()
            # Signals that always correspond are merged first: the invariants get short, and often
            # that leaves nothing to prove.
            for engine in [*([["bmc3 -F 10"]] if hunt else []), ["scorr", "pdr"], ["pdr"]]:
                limit = 5 if engine[-1].startswith("bmc") else seconds
                verdicts[name] = _ask(directory, name, aig, output, engine, limit)
                decided = verdicts[name].proved is not None
                if decided or (verdicts[name].depth and engine[-1] == "pdr"):
                    break
            verdicts[name].seconds = time.monotonic() - started
    return verdicts


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
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        started = time.monotonic()
        verdict = _ask(Path(folder), "hunt", aig, output, [f"bmc2 -F {frames}"], seconds)
        verdict.seconds = time.monotonic() - started
        return verdict


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
    return hold_each(aig, [output], frames, seconds=seconds)[0]


def hold_each(aig: Aig, outputs: Sequence[int], frames: int, *, seconds: int = 600) -> list[Verdict]:
    """The same of several outputs, each by itself."""
    verdicts = []
    for at in range(0, len(outputs), _BATCH):
        with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
            directory, started = Path(folder), time.monotonic()
            batch = {f"step{output}": output for output in outputs[at : at + _BATCH]}
            found = _ask_each(directory, aig, batch, [f"bmc3 -F {frames}"], seconds)
            for verdict in found:
                if verdict.proved is None and verdict.depth + 1 >= frames:
                    verdict.proved = True
                verdict.seconds = (time.monotonic() - started) / len(found)
            verdicts += found
    return verdicts


_BATCH = 16
"""Outputs that one run of Yosys is asked about."""


def _ask(directory: Path, name: str, aig: Aig, output: int, engine: Sequence[str], seconds: int) -> Verdict:
    """One question to ABC: commands, of which the last one is the engine."""
    return _ask_each(directory, aig, {name: output}, engine, seconds)[0]


def _ask_each(
    directory: Path, aig: Aig, outputs: Mapping[str, int], engine: Sequence[str], seconds: int
) -> list[Verdict]:
    """The same question about several outputs in one run."""
    (directory / "dummy.il").write_text(_DUMMY, encoding="utf-8")
    script = ["backup"]
    for name, output in outputs.items():
        (directory / f"{name}.aig").write_bytes(aig.file(output))
        merge = [*engine[:-1], f"write_aiger {name}.left.aig"] if engine[:-1] else []
        script += [f"read_aiger {name}.aig", "strash", *merge, f"{engine[-1]} -T {seconds} -L {name}.log"]
    (directory / "ask.abc").write_text("\n".join([*script, "restore", ""]), encoding="utf-8")
    run_tool("yosys", ["-q", "-p", "read_rtlil dummy.il; abc -script ask.abc"], directory=directory)
    return [_verdict(directory / f"{name}.log", directory / f"{name}.left.aig", aig) for name in outputs]


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
