# SPDX-License-Identifier: BSD-2-Clause
"""What the outputs of a circuit depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeAlias

from utf8fpga.hdl.verilog.circuit import Circuit, is_read, memory_of
from utf8fpga.hdl.verilog.rtlil import Bit, Value
from utf8fpga.hdl.verilog.statements import wires_of

Place: TypeAlias = tuple[tuple[str, ...], str]
"""A wire, behind the names of the instances that it is in."""


class Hierarchy:
    """The instances of a design."""

    def __init__(self, circuits: Mapping[str, Circuit], top: str) -> None:
        self._circuits, self._top = circuits, circuits[top]
        self._inside: dict[tuple[str, ...], Circuit] = {}
        """The circuits by the names of the instances that lead to them."""
        self._outside: dict[Place, list[Place]] = {}
        """What drives input ports, and wires at outputs of instances."""
        self._add((), self._top)

    def _add(self, path: tuple[str, ...], circuit: Circuit) -> None:
        self._inside[path] = circuit
        for cell in circuit.instances:
            inner = self._circuits[cell.kind]
            for port, value in cell.ports.items():
                inside, outside = ((*path, cell.name), port), [(path, wire) for wire in wires_of([value])]
                if inner.wires[port].direction == "input":
                    self._outside[inside] = outside
                else:
                    self._outside |= {wire: [*self._outside.get(wire, []), inside] for wire in outside}
            self._add((*path, cell.name), inner)

    def _reached(self, outputs: Iterable[str], *, registers: bool) -> set[Place]:
        """The wires that outputs of the top depend on.

        Args:
            registers: also through registers and memories.
        """
        found: set[Place] = set()
        waiting: list[Place] = [((), wire) for wire in outputs]
        while waiting:
            path, wire = place = waiting.pop()
            if place not in found:
                found.add(place)
                waiting += self._outside.get(place, ())
                waiting += ((path, each) for each in self._inside[path].sources_of(wire, registers=registers))
        return found

    def combinational_paths(self) -> dict[str, list[str]]:
        """For each output port of the top the input ports from which a path without registers leads."""
        found: dict[str, list[str]] = {}
        for output in self._top.ports("output"):
            reached = self._reached([output], registers=False)
            found[output] = [port for port in self._top.ports("input") if ((), port) in reached]
        return found

    def live_circuits(self) -> dict[str, Circuit]:
        """The circuits with what an output of the top depends on, and all ports of the top."""
        live: dict[str, set[str]] = {self._top.name: {*self._top.ports("input"), *self._top.ports("output")}}
        for path, wire in self._reached(self._top.ports("output"), registers=True):
            live.setdefault(self._inside[path].name, set()).add(wire)
        found: dict[str, Circuit] = {}
        for name, circuit in self._circuits.items():
            if name in live:
                found[name] = _live_part(circuit, live[name], found)
        return found


def _live_part(circuit: Circuit, live: AbstractSet[str], others: Mapping[str, Circuit]) -> Circuit:
    """The part of a circuit that drives wires."""
    instances = []
    for cell in circuit.instances:
        inner = others.get(cell.kind, Circuit(""))
        ports = {port: value for port, value in cell.ports.items() if port in inner.wires}
        outputs = wires_of(ports[port] for port in inner.ports("output"))
        if not live.isdisjoint(outputs):
            instances.append(replace(cell, ports=ports))
            live = live | set(outputs)
    results = {wire: cell for wire, cell in circuit.results.items() if wire in live}
    read = {memory_of(cell) for cell in results.values() if is_read(cell)}
    return replace(
        circuit,
        wires={name: wire for name, wire in circuit.wires.items() if name in live},
        memories={name: size for name, size in circuit.memories.items() if name in read},
        results=results,
        statements={wire: statements for wire, statements in circuit.statements.items() if wire in live},
        writes=[cell for cell in circuit.writes if memory_of(cell) in read],
        instances=instances,
    )


def uses_of(circuit: Circuit) -> Counter[Bit]:
    """How often each bit is read; a condition of several assignments counts once."""
    values = [value for cell in circuit.instances for value in cell.ports.values()]
    for cell in circuit.writes:
        values += [cell.ports["ADDR"], cell.ports["DATA"], cell.ports["EN"][:1]]
    conditions: dict[Value, None] = {}
    for wire in circuit.wires:
        values += circuit.values_of(wire)
        conditions |= dict.fromkeys(circuit.conditions_of(wire))
    return Counter(bit for value in (*values, *conditions) for bit in value)
