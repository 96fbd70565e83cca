# SPDX-License-Identifier: BSD-2-Clause
"""Questions about a few cycles of a circuit, answered by the SAT solver CaDiCaL.

The steps of an induction are such questions. The cycles are one graph without latches, in which equal gates of
different cycles are one gate. So a claim that the next cycle only restates, which is common in a pipeline, needs no
search. A claim is a conjunction of smaller ones; they are decided one after another, those that need much search after
all others, and each is given to the next ones. ABC's bounded model checking has neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from utf8fpga.formal.aiger import Aig, GateList
from utf8fpga.hdl.toolchain import ToolError

_CONFLICTS = 5_000
"""Conflicts of the solver for each second of a limit. They are counted in place of time, so that an answer does not
depend on what else the machine does."""

_PUT_OFF_CONFLICTS = (500, 3_000, 30_000)
"""Conflicts after which a claim is put off until all others have been tried, round by round. With more claims given,
those that are left need fewer conflicts."""


class SolverMissingError(ToolError):
    """The SAT solvers are not installed."""


class Cycles:
    """Some cycles of a circuit, from its first one on, as one graph without latches.

    Args:
        aig: the circuit. Inputs that choose the first values of latches are inputs of the first cycle, like others.
        fixed: per cycle the inputs that have a fixed value, 0 or 1, by number.

    Attributes:
        inputs, outputs: per cycle the literals of both.
    """

    def __init__(self, aig: Aig, fixed: Sequence[Mapping[int, int]]) -> None:
        self.gates = GateList.blank(aig.inputs * len(fixed))
        self.inputs: list[list[int]] = []
        self.outputs: list[list[int]] = []
        state = [0] * len(aig.latches)
        for cycle, known in enumerate(fixed):
            inputs = [known.get(n, 2 * (1 + cycle * aig.inputs + n)) for n in range(aig.inputs)]
            outputs, state = next_cycle(self.gates, aig, state, inputs)
            self.inputs.append(inputs)
            self.outputs.append(outputs)


def next_cycle(gates: GateList, aig: Aig, state: Sequence[int], inputs: Sequence[int]) -> tuple[list[int], list[int]]:
    """The outputs of a circuit and the next values of its latches, as literals of another graph.

    Args:
        gates: the graph, to which gates are added.
    """
    values = [0, *inputs, *state]
    for left, right in aig.gates:
        values.append(gates.both(values[left >> 1] ^ (left & 1), values[right >> 1] ^ (right & 1)))
    outputs, following = (
        [values[literal >> 1] ^ (literal & 1) for literal in literals] for literals in (aig.outputs, aig.latches)
    )
    return outputs, following


def conjuncts(gates: GateList, literals: Iterable[int]) -> list[int]:
    """Literals that are all 1 if and only if all of some literals are: those of which conjunctions are made."""
    todo, found = list(literals)[::-1], dict[int, None]()
    while todo:
        literal = todo.pop()
        pair = None if literal & 1 else gates.inputs_of(literal)
        if pair:
            todo += pair[::-1]
        elif literal != 1:
            found[literal] = None
    return list(found)


def entailed(
    gates: GateList, given: Iterable[int], wanted: Mapping[str, Sequence[int]], *, seconds: int = 600
) -> tuple[bool | None, str]:
    """Whether some literals are 1 in each case in which others are.

    Args:
        given: the literals that are 1.
        wanted: by name those that then have to be 1 as well.
        seconds: limit on the effort for one question to the solver.

    Returns:
        True; or False if one of them can be 0, None if the limit was reached, and the name that this one has.
    """
    assumed = set(conjuncts(gates, given))
    goals = {name: [each for each in conjuncts(gates, wanted[name]) if each not in assumed] for name in wanted}
    left = {name: each for name, each in goals.items() if each}
    if not left:
        return True, ""
    solver = _Solver(gates, assumed, (each for goal in left.values() for each in goal))
    # For a solver 0 is no limit.
    most = seconds * _CONFLICTS + 1
    for limit in (*(conflicts for conflicts in _PUT_OFF_CONFLICTS if conflicts < most), most):
        put_off = {}
        for name, goal in left.items():
            verdict = solver.decide(goal, limit)
            if verdict is None and limit < most:
                put_off[name] = goal
            elif not verdict:
                return verdict, name
        left = put_off
    return True, ""


class _Solver:
    """A SAT solver in which the literals `given` are 1, with the gates on which these and `wanted` depend."""

    def __init__(self, gates: GateList, given: Iterable[int], wanted: Iterable[int]) -> None:
        assumed = [*given]
        # Variable 0 is the constant 0; the solver's first one is in its place.
        clauses = [[-1], *([_number(literal)] for literal in assumed)]
        todo, seen = [literal & ~1 for literal in (*assumed, *wanted)], {0}
        while todo:
            literal = todo.pop()
            if literal in seen:
                continue
            seen.add(literal)
            if pair := gates.inputs_of(literal):
                gate, one, other = _number(literal), *(_number(each) for each in pair)
                clauses += [[-gate, one], [-gate, other], [gate, -one, -other]]
                todo += [each & ~1 for each in pair]
        self._solver = _solver_of(clauses)

    def decide(self, literals: Sequence[int], conflicts: int) -> bool | None:
        """Whether some literals are 1; those that are proved are learnt, also if others are undecided."""
        undecided = False
        for literal in literals:
            self._solver.conf_budget(conflicts)
            found = self._solver.solve_limited(assumptions=[-_number(literal)])
            if found:
                return False
            if found is None:
                undecided = True
            else:
                self._solver.add_clause([_number(literal)])
        return None if undecided else True


def _number(literal: int) -> int:
    number = 1 + (literal >> 1)
    return -number if literal & 1 else number


def _solver_of(clauses: list[list[int]]) -> Any:
    try:
        from pysat.solvers import Cadical195
    except ModuleNotFoundError:
        raise SolverMissingError("python-sat is not installed: pip install 'utf8fpga[proofs]'") from None
    return Cadical195(bootstrap_with=clauses)
