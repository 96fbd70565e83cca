# SPDX-License-Identifier: BSD-2-Clause
"""Claims about the registers of a pipeline, made from its graph.

Each register of a pipeline is a function of the beat in its cycle. That function is found in the graph of the circuit:
it is the next value of the register, in which the registers of the cycle before are replaced by their functions. So the
claims need not be written down, nor changed when a register is added to the pipeline. They need not be trusted, since
they are part of an invariant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from utf8fpga.formal.aiger import Aig, GateList


@dataclass(frozen=True)
class Registers:
    """The registers of a pipeline, bit by bit, in a graph.

    Attributes:
        port: the port whose bits are the registers without feedback. Those of cycle 1 are known only if they are among
            `roots`.
        roots: the port whose bits are the registers that hold the beat itself, in cycle 1.
        states: the port whose bits are registers with feedback.
        slots: per cycle the ports with the bits of `roots`, and with those of `states`, as they are for the beat in
            that cycle.
    """

    port: str
    cycles: Sequence[int]
    roots: str
    states: str
    state_cycles: Sequence[int]
    slots: Sequence[tuple[str, str]]


def register_claims(aig: Aig, given: Registers) -> tuple[Aig, dict[int, int]]:
    """The graph with further gates, and by cycle a literal: the registers of that cycle have the expected values.

    Registers that depend on anything else, such as words, are left out.
    """
    maker = _Maker(aig, given)
    claims = {cycle: maker.claim(cycle) for cycle in sorted(set(given.cycles))}
    return replace(aig, gates=maker.gates.gates, packed=bytes(maker.gates.packed)), claims


class _Maker:
    def __init__(self, aig: Aig, given: Registers) -> None:
        self._aig, self._given = aig, given
        self.gates = GateList(aig)
        self._first = 1 + aig.inputs + len(aig.latches)

        def bits(port: str) -> list[int]:
            return [aig.outputs[bit] for bit in aig.output_bits[port]]

        self._registers = list(zip(bits(given.port), given.cycles, strict=True))
        self._cycle_of = {literal >> 1: (literal, cycle) for literal, cycle in self._registers}
        states = bits(given.states)
        self._state_of = {
            literal >> 1: (literal & 1, cycle, at)
            for at, (literal, cycle) in enumerate(zip(states, given.state_cycles, strict=True))
        }
        self._root_of = {literal >> 1: (literal & 1, at) for at, literal in enumerate(bits(given.roots))}
        self._slots = [(bits(root), bits(state)) for root, state in given.slots]
        self._free = {start.latch for start in aig.starts}
        self._known: dict[tuple[int, int, int], int | None] = {}
        self._values: dict[tuple[int, int], int | None] = {}

    def claim(self, cycle: int) -> int:
        """All registers of a cycle have the values that follow from the beat in it."""
        gates, found = self.gates, 1
        for literal, of in self._registers:
            value = self._value(literal >> 1, cycle) if of == cycle else None
            if value is not None:
                found = gates.both(found, gates.same(literal & ~1, value))
        return found

    def _value(self, variable: int, slot: int) -> int | None:
        """The value of a register for the beat in a slot."""
        key = variable, slot
        if key not in self._values:
            _, cycle = self._cycle_of[variable]
            if variable in self._root_of:
                inverted, at = self._root_of[variable]
                self._values[key] = self._slots[slot][0][at] ^ inverted
            elif cycle == 1:
                self._values[key] = None
            else:
                latch, inverted = self._latch(variable)
                self._values[key] = self._follow(self._aig.latches[latch] ^ inverted, cycle - 1, slot)
        return self._values[key]

    def _latch(self, variable: int) -> tuple[int, int]:
        """The latch of a register: its output is that of the latch, or a chosen value in the first cycle."""
        first, latches = 1 + self._aig.inputs, len(self._aig.latches)
        todo, found = [variable], set[int]()
        while todo:
            at = todo.pop()
            if at >= self._first:
                todo += [literal >> 1 for literal in self._aig.gates[at - self._first]]
            elif first <= at < first + latches and (at - first in self._free or at == variable):
                found.add(at - first)
        (latch,) = found
        inverted = self._cycle_of[variable][0] & 1
        return latch, inverted if variable >= self._first else 0

    def _follow(self, literal: int, cycle: int, slot: int) -> int | None:
        """The value of a literal if all registers of a cycle hold the values of the beat in a slot."""
        variable, inverted = literal >> 1, literal & 1
        if variable == 0:
            return literal
        key = variable, cycle, slot
        if key not in self._known:
            self._known[key] = self._compute(variable, cycle, slot)
        value = self._known[key]
        return None if value is None else value ^ inverted

    def _compute(self, variable: int, cycle: int, slot: int) -> int | None:
        if variable in self._cycle_of:
            return self._value(variable, slot) if self._cycle_of[variable][1] == cycle else None
        if variable in self._state_of:
            inverted, of, at = self._state_of[variable]
            return self._slots[slot][1][at] ^ inverted if of == cycle else None
        if variable < self._first:
            return None
        one, other = (self._follow(literal, cycle, slot) for literal in self._aig.gates[variable - self._first])
        if 0 in (one, other):
            return 0
        return None if one is None or other is None else self.gates.both(one, other)
