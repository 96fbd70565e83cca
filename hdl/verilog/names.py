# SPDX-License-Identifier: BSD-2-Clause
"""Results of operators that have no name but are parts of a signal that has one."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from utf8fpga.hdl.verilog.circuit import Circuit, is_anonymous, moved, moved_statements
from utf8fpga.hdl.verilog.live import wires_of
from utf8fpga.hdl.verilog.rtlil import Part, Slice, Value, joined


def own_results(circuit: Circuit) -> None:
    """Let what reads a result without a name read the signal of which it is a part.

    A signal whose bits depend on each other through it would be driven by itself, so this has no such parts.
    """
    places = _places(circuit)
    while places and (name := _circle(circuit, places)):
        places = {wire: place for wire, place in places.items() if place[0].wire != name}
    everywhere = dict(places)
    for cell in (*circuit.operators.values(), *circuit.reads.values(), *circuit.writes, *circuit.instances):
        for port, value in cell.ports.items():
            if port not in ("Y", "DATA") or cell in circuit.writes:
                cell.ports[port] = moved(value, everywhere)
    for wire, statements in circuit.processes.items():
        circuit.processes[wire] = moved_statements(statements, everywhere)
    for wire, statements in circuit.registers.items():
        circuit.registers[wire] = moved_statements(statements, everywhere)
    for wire, parts in circuit.connections.items():
        circuit.connections[wire] = [(start, _connected(wire, value, places)) for start, value in parts]


def _places(circuit: Circuit) -> dict[str, tuple[Slice]]:
    """For each result the bits of the signal, the widest one that is no port, if there are several."""
    found: dict[str, tuple[Slice]] = {}
    names = [name for name in circuit.connections if not is_anonymous(name)]
    for name in sorted(names, key=lambda name: (bool(circuit.wires[name].direction), -circuit.wires[name].width)):
        for start, value in circuit.connections[name]:
            at = start
            for part in value:
                if isinstance(part, Slice) and _is_result(circuit, part):
                    found.setdefault(part.wire, (Slice(name, at, part.width),))
                at += part.width
    return found


def _is_result(circuit: Circuit, part: Slice) -> bool:
    """Whether bits are the whole result of an operator or of a port of a memory."""
    is_result = part.wire in circuit.operators or part.wire in circuit.reads
    return is_result and part.width == circuit.wires[part.wire].width


def _connected(wire: str, value: Value, places: dict[str, tuple[Slice]]) -> Value:
    """The value of a wire, in which the results that are parts of it stand for themselves."""
    found: list[Part] = []
    for part in value:
        place = places.get(part.wire) if isinstance(part, Slice) else None
        found += [part] if place is None or place[0].wire == wire else moved([part], places)
    return joined(found)


def _circle(circuit: Circuit, places: dict[str, tuple[Slice]]) -> str:
    """The name of a signal with places that depends on itself, else an empty one."""
    owners = {place[0].wire for place in places.values()}
    sources: dict[str, set[str]] = {}
    for wire in circuit.wires:
        if wire not in circuit.registers:
            is_connected = wire in circuit.connections
            values = circuit.values_of(wire)
            sources[wire] = set(
                wires_of(_connected(wire, each, places) if is_connected else moved(each, places) for each in values)
            )
    while True:
        try:
            TopologicalSorter(sources).prepare()
        except CycleError as error:
            circle = error.args[1]
            if found := next((name for name in circle if name in owners), ""):
                return found
            # Such a circle is in the source, in which bits of one signal depend on others.
            del sources[circle[0]]
        else:
            return ""
