# SPDX-License-Identifier: BSD-2-Clause
"""What the outputs of a circuit depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from utf8fpga.hdl.verilog.circuit import Circuit, memory_of, wires_of
from utf8fpga.hdl.verilog.rtlil import Bit, Cell, Value

Place: TypeAlias = tuple[tuple[str, ...], str]
"""A wire, behind the names of the instances that it is in."""


class Hierarchy:
    """The instances of a design."""

    def __init__(self, circuits: Mapping[str, Circuit], top: str) -> None:
        self._top = circuits[top]
        self.circuits: dict[tuple[str, ...], Circuit] = {}
        """The circuits by the names of the instances that lead to them."""
        self._outside: dict[Place, list[Place]] = {}
        """What drives input ports, and wires at outputs of instances."""
        waiting: list[tuple[tuple[str, ...], Circuit]] = [((), self._top)]
        while waiting:
            path, circuit = waiting.pop()
            self.circuits[path] = circuit
            for cell in circuit.instances:
                inner = circuits[cell.kind]
                self._connect(path, cell, inner)
                waiting.append(((*path, cell.name), inner))

    def _connect(self, path: tuple[str, ...], cell: Cell, inner: Circuit) -> None:
        for port, value in cell.ports.items():
            inside = (*path, cell.name), port
            outside = [(path, wire) for wire in wires_of([value])]
            if inner.wires[port].direction == "input":
                self._outside[inside] = outside
                continue
            for wire in outside:
                self._outside.setdefault(wire, []).append(inside)

    def reached(self, outputs: Iterable[str], *, registers: bool) -> set[Place]:
        """The wires that outputs of the top depend on.

        Args:
            registers: also through registers and memories.
        """
        found: set[Place] = set()
        waiting: list[Place] = [((), wire) for wire in outputs]
        while waiting:
            path, wire = place = waiting.pop()
            if place in found:
                continue
            found.add(place)
            circuit = self.circuits[path]
            waiting += self._outside.get(place, ())
            if registers or wire not in circuit.registers:
                waiting += [(path, each) for each in circuit.sources_of(wire)]
            if registers and wire in circuit.results and "MEMID" in circuit.results[wire].parameters:
                memory = memory_of(circuit.results[wire])
                writes = [cell.ports.values() for cell in circuit.writes if memory_of(cell) == memory]
                waiting += [(path, each) for ports in writes for each in wires_of(ports)]
        return found

    def live_wires(self) -> dict[str, set[str]]:
        """By module the wires that an output of the top depends on."""
        found: dict[str, set[str]] = {}
        for path, wire in self.reached(self._top.ports("output"), registers=True):
            found.setdefault(self.circuits[path].name, set()).add(wire)
        return found

    def combinational_paths(self) -> dict[str, Collection[str]]:
        """For each output port of the top the input ports from which a path without registers leads."""
        inputs = [((), port) for port in self._top.ports("input")]
        found: dict[str, Collection[str]] = {}
        for output in self._top.ports("output"):
            reached = self.reached([output], registers=False)
            found[output] = [port for path, port in inputs if (path, port) in reached]
        return found


def uses_of(circuit: Circuit, live: AbstractSet[str], inputs: Iterable[Value]) -> Counter[str]:
    """How often the bit of each wire that is read most often is read; a condition of several assignments counts once.

    Args:
        inputs: what instances read.
    """
    values = list(inputs)
    conditions: dict[Value, None] = {}
    for wire in circuit.wires:
        if wire in live:
            values += circuit.values_of(wire)
            conditions |= dict.fromkeys(circuit.conditions_of(wire))
    for cell in circuit.writes:
        values += [cell.ports["ADDR"], cell.ports["DATA"], cell.ports["EN"][:1]]
    bits: Counter[Bit] = Counter(bit for value in (*values, *conditions) for bit in value)
    found: Counter[str] = Counter()
    for (wire, _), number in bits.items():
        found[wire] = max(found[wire], number)
    return found


def ordered(names: Iterable[str], sources: Callable[[str], Iterable[str]]) -> list[str]:
    """Names and what they depend on, each behind its sources, but for those that depend on each other."""
    found: dict[str, None] = {}
    entered: set[str] = set()
    for name in names:
        path = [(name, iter(sources(name)))] if name not in entered else []
        entered.add(name)
        while path:
            last, rest = path[-1]
            inner = next((each for each in rest if each not in entered), None)
            if inner is None:
                found[last] = None
                path.pop()
            else:
                entered.add(inner)
                path.append((inner, iter(sources(inner))))
    return list(found)
