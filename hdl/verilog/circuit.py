# SPDX-License-Identifier: BSD-2-Clause
"""A module whose signals are those of the source: fields, registers, and expressions between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from utf8fpga.hdl.verilog.rtlil import Assign, Bit, Cell, Statement, Switch, Value, Wire


@dataclass
class Circuit:
    """The contents of a module, in which each wire has one driver.

    A wire whose name begins with a dollar sign is the result of an operator, which expressions may contain.

    Attributes:
        doc: what the component does.
        fields: for each signal with a structure the bits of its fields.
        results: by wire the operator or the port of a memory whose result it is.
        connections: by wire what each of its bits is connected to.
        processes: by wire the statements that assign it.
        registers: by wire the statements that assign it at each edge of its clock.
        clocks: by register its clock.
        writes: the ports of memories that are written.
        instances: the instances of other modules.
        initial: by memory its bits in the beginning, if they are not all 0.
    """

    name: str
    doc: str = ""
    wires: dict[str, Wire] = field(default_factory=dict)
    fields: dict[str, Value] = field(default_factory=dict)
    memories: dict[str, tuple[int, int]] = field(default_factory=dict)
    results: dict[str, Cell] = field(default_factory=dict)
    connections: dict[str, dict[int, Bit]] = field(default_factory=dict)
    processes: dict[str, list[Statement]] = field(default_factory=dict)
    registers: dict[str, list[Statement]] = field(default_factory=dict)
    clocks: dict[str, Value] = field(default_factory=dict)
    writes: list[Cell] = field(default_factory=list)
    instances: list[Cell] = field(default_factory=list)
    initial: dict[str, Value] = field(default_factory=dict)

    def ports(self, direction: str) -> Iterator[str]:
        """The ports in a direction."""
        return (name for name, wire in self.wires.items() if wire.direction == direction)

    def statements_of(self, wire: str) -> list[Statement]:
        """The statements that assign a wire, with or without a clock."""
        return self.registers.get(wire) or self.processes.get(wire, [])

    def values_of(self, wire: str) -> Iterator[Value]:
        """What the driver of a wire reads, but for the conditions; that of an instance is not one of them."""
        if wire in self.results:
            yield from operands_of(self.results[wire]).values()
        if wire in self.connections:
            yield tuple(self.connections[wire].values())
        yield self.clocks.get(wire, ())
        yield from (each.value for each in walk(self.statements_of(wire)) if isinstance(each, Assign))

    def conditions_of(self, wire: str) -> list[Value]:
        """The conditions of the statements that assign a wire."""
        return [each.selector for each in walk(self.statements_of(wire)) if isinstance(each, Switch)]

    def sources_of(self, wire: str) -> Iterator[str]:
        """The wires that the driver of a wire reads."""
        return wires_of([*self.values_of(wire), *self.conditions_of(wire)])


def is_read(cell: Cell) -> bool:
    """Whether a result is that of the port of a memory."""
    return cell.kind == "$memrd_v2"


def operands_of(cell: Cell) -> dict[str, Value]:
    """What an operator or the port of a memory that is read depends on."""
    if is_read(cell):
        return {"ADDR": cell.ports["ADDR"]}
    return {port: value for port, value in cell.ports.items() if port != "Y"}


def wires_of(values: Iterable[Value]) -> Iterator[str]:
    """The wires that values have bits of."""
    return iter(dict.fromkeys(wire for value in values for wire, _ in value if wire))


def memory_of(cell: Cell) -> str:
    """The memory that a cell is a port of."""
    return cell.parameters["MEMID"].strip('"\\')


def is_anonymous(wire: str) -> bool:
    """Whether a wire has no name in the source."""
    return wire.startswith("$")


def walk(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements, and those in the cases of switches."""
    for each in statements:
        yield each
        if isinstance(each, Switch):
            for _, body in each.cases:
                yield from walk(body)


def assigned(statements: Iterable[Statement]) -> list[str]:
    """The wires that statements assign, in their order."""
    return list(wires_of(each.target for each in walk(statements) if isinstance(each, Assign)))


def of_wire(statements: Iterable[Statement], wire: str) -> list[Statement]:
    """The statements that assign a wire.

    No bit is assigned again beside an earlier assignment: Yosys takes an assignment behind a switch for one in front.
    """
    found: list[Statement] = []
    for each in statements:
        if isinstance(each, Switch):
            cases = [(patterns, of_wire(body, wire)) for patterns, body in each.cases]
            if any(body for _, body in cases):
                found.append(Switch(each.selector, cases))
            continue
        bits = {target: value for target, value in zip(each.target, each.value, strict=True) if target[0] == wire}
        if bits:
            found = _without(found, bits)
            if found and isinstance(before := found[-1], Assign):
                bits |= dict(zip(before.target, before.value, strict=True))
                found.pop()
            ordered = sorted(bits)
            found.append(Assign(tuple(ordered), tuple(bits[bit] for bit in ordered)))
    return found


def _without(statements: Iterable[Statement], bits: Iterable[Bit]) -> list[Statement]:
    """Statements that do not assign some bits."""
    found: list[Statement] = []
    for each in statements:
        if isinstance(each, Switch):
            cases = [(patterns, _without(body, bits)) for patterns, body in each.cases]
            if any(body for _, body in cases):
                found.append(Switch(each.selector, cases))
            continue
        others = {target: value for target, value in zip(each.target, each.value, strict=True) if target not in bits}
        if others:
            found.append(Assign(tuple(others), tuple(others.values())))
    return found
