# SPDX-License-Identifier: BSD-2-Clause
"""Questions about a few cycles: compared with an enumeration of all inputs."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from itertools import product

import pytest
from support.engines import requires_solver

from utf8fpga.formal.aiger import Aig, GateList
from utf8fpga.formal.cycles import Cycles, conjuncts, entailed
from utf8fpga.hdl.toolchain import ToolError

pytestmark = requires_solver

INPUTS, LATCHES, GATES = 2, 3, 12


def random_graph(rng: random.Random) -> Aig:
    """A graph whose latches are functions of gates, which are functions of inputs and latches."""
    first = 1 + INPUTS + LATCHES
    gates = []
    for n in range(GATES):
        left, right = sorted((rng.randrange(2 * (first + n)) for _ in range(2)), reverse=True)
        gates.append((left, right))

    def some(count: int) -> list[int]:
        return [rng.randrange(2 * (first + GATES)) for _ in range(count)]

    return Aig(INPUTS, some(LATCHES), some(4), gates, {}, {"out": [0, 1, 2, 3]}, b"")


def value_of(gates: GateList, literal: int, inputs: Iterable[int]) -> int:
    """The value of a literal, by the definition of a gate."""
    values = [0, *inputs]
    for left, right in gates.gates:
        values.append((values[left >> 1] ^ left & 1) & (values[right >> 1] ^ right & 1))
    return values[literal >> 1] ^ literal & 1


@pytest.mark.parametrize("seed", range(8))
def test_cycles_are_those_of_a_run(seed: int) -> None:
    aig = random_graph(random.Random(seed))
    fixed = [{0: seed & 1}, {}, {1: 1}]
    cycles = Cycles(aig, fixed)
    for bits in product((0, 1), repeat=3 * INPUTS):
        frames = [list(bits[n : n + INPUTS]) for n in range(0, len(bits), INPUTS)]
        for frame, known in zip(frames, fixed, strict=True):
            for at, value in known.items():
                frame[at] = value
        expected = [found["out"] for found in aig.values(frames)]
        given = [bit for frame in frames for bit in frame]
        found = [
            sum(value_of(cycles.gates, literal, given) << n for n, literal in enumerate(outputs))
            for outputs in cycles.outputs
        ]
        assert found == expected


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_an_enumeration(seed: int) -> None:
    cycles = Cycles(random_graph(random.Random(seed)), [{}, {}])
    before, after = cycles.outputs
    runs = list(product((0, 1), repeat=2 * INPUTS))
    values = {literal: [value_of(cycles.gates, literal, run) for run in runs] for literal in (*before, *after)}
    for given, wanted in product(before, after):
        follows = all(result for condition, result in zip(values[given], values[wanted], strict=True) if condition)
        proved, name = entailed(cycles.gates, [given], {"first": [], "second": [given, wanted]})
        assert (proved, name) == ((True, "") if follows else (False, "second"))


def test_a_conjunction_is_split() -> None:
    gates = GateList.blank(4)
    one, two, three, four = 2, 4, 6, 8
    neither = gates.both(one ^ 1, two ^ 1) ^ 1
    found = conjuncts(gates, [gates.both(gates.both(three, neither), gates.both(four, three)), 1])
    assert sorted(found) == sorted([three, neither, four])
    assert conjuncts(gates, [0]) == [0]


def hard() -> tuple[GateList, int]:
    """A graph, and a literal that is always 1, but not easily seen to be so: multiplication is commutative."""
    size = 10
    gates = GateList.blank(2 * size)
    numbers = [[2 * (1 + start + n) for n in range(size)] for start in (0, size)]

    def either(one: int, other: int) -> int:
        return gates.both(one ^ 1, other ^ 1) ^ 1

    def product_of(one: list[int], other: list[int]) -> list[int]:
        total = [0] * (2 * size)
        for shift, bit in enumerate(other):
            carry = 0
            for n in range(size):
                here, added = total[shift + n], gates.both(one[n], bit)
                half = gates.same(here, added) ^ 1
                total[shift + n] = gates.same(half, carry) ^ 1
                carry = either(gates.both(here, added), gates.both(half, carry))
            total[shift + size] = carry
        return total

    pairs = zip(product_of(*numbers), product_of(*reversed(numbers)), strict=True)
    claim = 1
    for one, other in pairs:
        claim = gates.both(claim, gates.same(one, other))
    return gates, claim


def test_a_limit_leaves_a_question_undecided() -> None:
    gates, claim = hard()
    assert entailed(gates, [], {"commutative": [claim]}, seconds=0) == (None, "commutative")


def test_without_the_solver_an_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    gates = GateList.blank(1)
    with pytest.raises(ToolError, match=r"^python-sat is not installed: pip install 'utf8fpga\[proofs\]'$"):
        entailed(gates, [], {"an input": [2]})
