# SPDX-License-Identifier: BSD-2-Clause
"""Changes of a graph, one for each mutant, all in one graph with an input for each that makes it effective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from utf8fpga.formal.aiger import Aig, GateList

CHANGES = "changes"
"""The name of the input port of a graph with changes, which has a bit for each."""


class Change(StrEnum):
    """The change of a mutant, at a gate or a register."""

    LEFT = "an inverted first input"
    RIGHT = "an inverted second input"
    OR = "OR in place of AND"
    STUCK_0 = "stuck at 0"
    STUCK_1 = "stuck at 1"
    INITIAL = "an inverted initial value"


_OF_GATES = (Change.LEFT, Change.RIGHT, Change.OR, Change.STUCK_0, Change.STUCK_1)
_OF_REGISTERS = (Change.STUCK_0, Change.STUCK_1, Change.INITIAL)


@dataclass(frozen=True)
class Place:
    """A variable of a graph, and what is changed there."""

    variable: int
    change: Change


def places_of(aig: Aig) -> list[Place]:
    """All mutants, in the order of the graph."""
    latch, gate = 1 + aig.inputs, 1 + aig.inputs + len(aig.latches)
    registers = (Place(latch + n, change) for n in range(len(aig.latches)) for change in _OF_REGISTERS)
    gates = (Place(gate + n, change) for n in range(len(aig.gates)) for change in _OF_GATES)
    return [*registers, *gates]


def described(aig: Aig, place: Place) -> str:
    """The change, and the register or the nearest register or output that depends on it."""
    latch, gate = 1 + aig.inputs, 1 + aig.inputs + len(aig.latches)

    def name(number: int) -> str:
        return aig.names.get(number, f"latch {number}").removeprefix("core.")

    if place.variable < gate:
        return f"register {name(place.variable - latch)}: {place.change}"
    near = {place.variable}
    while True:
        sinks = [name(n) for n, literal in enumerate(aig.latches) if literal >> 1 in near]
        for port, bits in aig.output_bits.items():
            sinks += [f"{port}[{n}]" for n, bit in enumerate(bits) if aig.outputs[bit] >> 1 in near]
        if sinks:
            return f"gate {place.variable} before {min(sinks, key=lambda sink: (len(sink), sink))}: {place.change}"
        near |= {gate + n for n, pair in enumerate(aig.gates) if any(literal >> 1 in near for literal in pair)}


def mutated(aig: Aig, places: Sequence[Place]) -> Aig:
    """A graph with the further input port `CHANGES`."""
    inputs, latches = aig.inputs + len(places), len(aig.latches)
    gates = GateList.blank(inputs, latches)
    effective = {place: 2 * (1 + aig.inputs + n) for n, place in enumerate(places)}

    def flipped(literal: int, variable: int, change: Change) -> int:
        return gates.same(literal, effective.get(Place(variable, change), 0)) ^ 1

    def stuck(literal: int, variable: int) -> int:
        zero, one = (effective.get(Place(variable, change), 0) for change in (Change.STUCK_0, Change.STUCK_1))
        return gates.either(gates.both(literal, zero ^ 1), one)

    def of(literal: int) -> int:
        return values[literal >> 1] ^ (literal & 1)

    first = 1 + aig.inputs
    values = [2 * n for n in range(first)]
    # A latch with another initial value has the inverse of its value in the graph.
    values += [flipped(2 * (1 + inputs + n), first + n, Change.INITIAL) for n in range(latches)]
    for left, right in aig.gates:
        at = len(values)
        one, other = flipped(of(left), at, Change.LEFT), flipped(of(right), at, Change.RIGHT)
        instead = gates.both(gates.either(one, other), effective.get(Place(at, Change.OR), 0))
        values.append(stuck(gates.either(gates.both(one, other), instead), at))
    following = [
        flipped(stuck(of(literal), first + n), first + n, Change.INITIAL) for n, literal in enumerate(aig.latches)
    ]
    ports = aig.input_bits | {CHANGES: list(range(aig.inputs, inputs))}
    return gates.graph(following, [of(literal) for literal in aig.outputs], ports, aig.output_bits)
