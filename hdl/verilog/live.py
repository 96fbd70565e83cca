# SPDX-License-Identifier: BSD-2-Clause
"""What the outputs of a circuit depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from utf8fpga.hdl.verilog.circuit import Circuit, memory_of, selectors_of
from utf8fpga.hdl.verilog.rtlil import Slice, Value, sliced


def wires_of(values: Iterable[Value]) -> Iterator[str]:
    """The wires that values have bits of."""
    return (part.wire for value in values for part in value if isinstance(part, Slice))


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


def live_wires(circuits: Mapping[str, Circuit], top: str) -> dict[str, set[str]]:
    """By module the wires that an output of the top depends on, through any number of registers."""
    found: dict[str, set[str]] = {name: set() for name in circuits}
    outside = _outside(circuits)
    waiting = [(top, wire) for wire in circuits[top].ports("output")]
    while waiting:
        name, wire = waiting.pop()
        if wire not in found[name]:
            found[name].add(wire)
            circuit = circuits[name]
            waiting += [(name, each) for each in wires_of(circuit.values_of(wire))]
            waiting += outside.get((name, wire), ())
            if wire in circuit.reads:
                writes = circuit.writes_of(memory_of(circuit.reads[wire]))
                waiting += [(name, each) for cell in writes for each in wires_of(cell.ports.values())]
    return found


def _outside(circuits: Mapping[str, Circuit]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """For input ports, and for wires at outputs of instances, the wires in other modules that drive them."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, circuit in circuits.items():
        for cell in circuit.instances:
            for port, value in cell.ports.items():
                for wire in wires_of([value]):
                    ends = [(cell.kind, port), (name, wire)]
                    if circuits[cell.kind].wires[port].direction == "output":
                        ends.reverse()
                    found.setdefault(ends[0], []).append(ends[1])
    return found


def uses_of(circuit: Circuit, live: AbstractSet[str], inputs: Iterable[Value]) -> Counter[str]:
    """How often wires are read by what is live; several bits, or a condition of several assignments, count once.

    Args:
        inputs: what instances read.
    """
    values = list(inputs)
    conditions: dict[Value, None] = {}
    for wire in circuit.wires:
        if wire in live:
            selectors = dict.fromkeys(selectors_of(circuit.statements_of(wire)))
            conditions |= selectors
            values += [value for value in circuit.values_of(wire) if value not in selectors]
    for cell in circuit.writes:
        if not live.isdisjoint(wires_of([cell.ports["CLK"]])):
            values += [cell.ports["ADDR"], cell.ports["DATA"], sliced(cell.ports["EN"], 0, 1)]
    reads: dict[str, list[Slice]] = {}
    for part in (part for value in [*values, *conditions] for part in value):
        if isinstance(part, Slice):
            reads.setdefault(part.wire, []).append(part)
    return Counter({wire: 1 if _are_apart(slices) else len(slices) for wire, slices in reads.items()})


def _are_apart(slices: Sequence[Slice]) -> bool:
    """Whether no bit is in two slices of a wire."""
    ordered_slices = sorted(slices)
    return all(low.start + low.width <= high.start for low, high in pairwise(ordered_slices))


def combinational_paths(circuits: Mapping[str, Circuit], top: str) -> dict[str, Collection[str]]:
    """For each output port of the top the input ports from which a path without registers leads."""
    found: dict[str, dict[str, Collection[str]]] = {}
    for name, circuit in circuits.items():
        found[name] = _paths(circuit, circuits, found)
    return found[top]


def _paths(
    circuit: Circuit, circuits: Mapping[str, Circuit], inner: Mapping[str, Mapping[str, Collection[str]]]
) -> dict[str, Collection[str]]:
    through: dict[str, list[str]] = {}
    for cell in circuit.instances:
        for port in circuits[cell.kind].ports("output"):
            origins = [wire for each in inner[cell.kind][port] for wire in wires_of([cell.ports[each]])]
            for wire in wires_of([cell.ports[port]]):
                through.setdefault(wire, []).extend(origins)
    found: dict[str, Collection[str]] = {}
    for port in circuit.ports("output"):
        visited, waiting = set[str](), [port]
        while waiting:
            wire = waiting.pop()
            if wire not in visited:
                visited.add(wire)
                if wire not in circuit.registers:
                    waiting += wires_of(circuit.values_of(wire))
                waiting += through.get(wire, ())
        found[port] = [each for each in circuit.ports("input") if each in visited]
    return found
