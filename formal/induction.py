# SPDX-License-Identifier: BSD-2-Clause
"""Proofs by induction: claims that hold after a reset and after power-up, and one cycle later whenever they hold.

There are two kinds of claims. One says what a register holds: a value, while a condition is 1. In the step of the
induction that value takes the place of the register. So what has to follow are equations between nearly the same
gates, of which ABC merges equal ones; that takes seconds also for wide circuits. The other kind says that a bit is 1;
it is assumed, unless it is a property, which no other claim needs.

Nothing is assumed but what is claimed: where all claims hold, each register has the value that takes its place.

"After a reset" means: in the cycle after one with a reset, in which all registers and memories had any contents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from utf8fpga.formal.abc import merged
from utf8fpga.formal.gates import GateList, next_cycle
from utf8fpga.sim.aiger import Aig


def unproved(aig: Aig, claims: Sequence[str], registers: Sequence[str]) -> list[str]:
    """The claims that do not follow, each with the kind of question; none if all are proved.

    Args:
        aig: a circuit with an input ``reset`` and the output ports ``claims``, ``registers``, ``values`` and
            ``conditions``; the bits of the last three belong together.
        claims: the names of the bits of ``claims``; a property has its own name and a colon in front.
        registers: the names of the bits of ``registers``.

    Raises:
        ValueError: a claim about a register is about no register.
    """
    questions = _Questions(aig, claims, registers)
    asked = [(name, literal) for name, literal in questions.all() if literal]
    left = merged(questions.gates.graph([], [literal for _, literal in asked], {}, {}))
    return [name for (name, _), output in zip(asked, left.outputs, strict=True) if output]


class _Questions:
    """The questions as literals that have to be 0, of a graph without latches.

    Its inputs are those of a cycle, those of the next one, and the state in the first one.
    """

    def __init__(self, aig: Aig, claims: Sequence[str], registers: Sequence[str]) -> None:
        self._aig, self._claims, self._registers = aig, claims, registers
        self._first = 2 * aig.inputs
        literals = [2 * (1 + n) for n in range(self._first + len(aig.latches))]
        self._now, self._next = literals[: aig.inputs], literals[aig.inputs : self._first]
        self._any = literals[self._first :]
        self.gates = GateList.blank(len(literals))

    def all(self) -> Iterator[tuple[str, int]]:
        """The questions by name."""
        outputs, following = self._cycle(self._claimed(), self._now)
        assumed = 1
        for name, claim in zip(self._claims, outputs["claims"], strict=True):
            if ":" not in name:
                assumed = self.gates.both(assumed, claim)
        yield from self._ask("step", following, assumed)
        resets = [*self._now]
        resets[self._aig.input_bits["reset"][0]] = 1
        yield from self._ask("reset", self._cycle(self._any, resets)[1], 1)
        yield from self._ask("power-up", [0] * len(self._aig.latches), 1)

    def _cycle(self, state: Sequence[int], inputs: Sequence[int]) -> tuple[dict[str, list[int]], list[int]]:
        """The outputs by port, and the next state."""
        outputs, following = next_cycle(self.gates, self._aig, state, inputs)
        return {name: [outputs[bit] for bit in bits] for name, bits in self._aig.output_bits.items()}, following

    def _ask(self, kind: str, state: Sequence[int], assumed: int) -> Iterator[tuple[str, int]]:
        """Whether all claims hold in a state."""
        gates = self.gates
        outputs, _ = self._cycle(state, self._next)
        for name, claim in zip(self._claims, outputs["claims"], strict=True):
            yield f"{kind}: {name}", gates.both(assumed, claim ^ 1)
        held = (outputs[name] for name in ("registers", "values", "conditions"))
        for name, register, value, condition in zip(self._registers, *held, strict=True):
            differs = gates.same(register, value) ^ 1
            yield f"{kind}: {name}", gates.both(assumed, gates.both(condition, differs))

    def _claimed(self) -> list[int]:
        """Any state, with what is claimed about registers in their place."""
        gates, state = self.gates, [*self._any]
        outputs, _ = self._cycle(self._any, self._now)
        held = (outputs[name] for name in ("registers", "values", "conditions"))
        for name, register, value, condition in zip(self._registers, *held, strict=True):
            place, inverted = (register >> 1) - 1 - self._first, register & 1
            if not 0 <= place < len(state):
                raise ValueError(f"{name} is no register")
            other = gates.both(condition ^ 1, state[place] ^ inverted)
            state[place] = gates.either(gates.both(condition, value), other) ^ inverted
        return state
