# SPDX-License-Identifier: BSD-2-Clause
"""What the outputs of a circuit depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeAlias

from utf8fpga.hdl.verilog.circuit import Circuit, is_read, memory_of
from utf8fpga.hdl.verilog.rtlil import Cell
from utf8fpga.hdl.verilog.statements import wires_of

Place: TypeAlias = tuple[str, str]
"""A wire, behind the name of the module that it is in."""


class Hierarchy:
    """The modules of a design. A path through one instance of a module counts for all of them."""

    def __init__(self, circuits: Mapping[str, Circuit], top: str) -> None:
        self._circuits, self._top = circuits, circuits[top]
        self._outside: dict[Place, list[Place]] = {}
        """What drives input ports, and wires at outputs of instances."""
        for circuit in circuits.values():
            for cell in circuit.instances:
                self._connect(circuit, cell)

    def _connect(self, circuit: Circuit, cell: Cell) -> None:
        """Add the ports of an instance in a circuit."""
        for port, value in cell.ports.items():
            is_input = self._circuits[cell.kind].wires[port].direction == "input"
            for wire in wires_of([value]):
                places = [(cell.kind, port), (circuit.name, wire)]
                driven, driver = places if is_input else places[::-1]
                self._outside.setdefault(driven, []).append(driver)

    def _reached(self, outputs: Iterable[str], *, registers: bool) -> set[Place]:
        """The wires that outputs of the top depend on.

        Args:
            registers: also through registers and memories.
        """
        found: set[Place] = set()
        waiting = [(self._top.name, wire) for wire in outputs]
        while waiting:
            name, wire = place = waiting.pop()
            if place not in found:
                found.add(place)
                waiting += self._outside.get(place, ())
                waiting += ((name, each) for each in self._circuits[name].sources_of(wire, registers=registers))
        return found

    def combinational_paths(self) -> dict[str, list[str]]:
        """For each output port of the top the input ports from which a path without registers leads."""
        found: dict[str, list[str]] = {}
        for output in self._top.ports("output"):
            reached = self._reached([output], registers=False)
            found[output] = [port for port in self._top.ports("input") if (self._top.name, port) in reached]
        return found

    def live_circuits(self) -> dict[str, Circuit]:
        """The circuits with what an output of the top depends on, and all ports of the top."""
        live: dict[str, set[str]] = {self._top.name: {*self._top.ports("input"), *self._top.ports("output")}}
        for name, wire in self._reached(self._top.ports("output"), registers=True):
            live.setdefault(name, set()).add(wire)
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
