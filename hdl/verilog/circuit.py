# SPDX-License-Identifier: BSD-2-Clause
"""A module whose signals are those of the source: fields, registers, and expressions between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from utf8fpga.hdl.verilog.rtlil import Assign, Cell, Part, Slice, Statement, Switch, Value, Wire, joined, sliced


@dataclass
class Circuit:
    """The contents of a module, in which each wire has one driver.

    A wire whose name begins with a dollar sign is the result of an operator, which expressions may contain.

    Attributes:
        doc: what the component does.
        fields: for each signal with a structure the wires of its fields.
        operators: by wire the operator whose result it is.
        reads: by wire the port of a memory that is read.
        connections: by wire the parts that it consists of, with the places where they begin.
        processes: by wire the statements that assign it.
        registers: by wire the statements that assign it at each edge of its clock.
        clocks: by register its clock.
        writes: the ports of memories that are written.
        instances: the instances of other modules.
        initial: by memory the rows in the beginning, if they are not all 0.
    """

    name: str
    doc: str = ""
    wires: dict[str, Wire] = field(default_factory=dict)
    fields: dict[str, Value] = field(default_factory=dict)
    memories: dict[str, tuple[int, int]] = field(default_factory=dict)
    operators: dict[str, Cell] = field(default_factory=dict)
    reads: dict[str, Cell] = field(default_factory=dict)
    connections: dict[str, list[tuple[int, Value]]] = field(default_factory=dict)
    processes: dict[str, list[Statement]] = field(default_factory=dict)
    registers: dict[str, list[Statement]] = field(default_factory=dict)
    clocks: dict[str, Value] = field(default_factory=dict)
    writes: list[Cell] = field(default_factory=list)
    instances: list[Cell] = field(default_factory=list)
    initial: dict[str, str] = field(default_factory=dict)

    def ports(self, direction: str) -> Iterator[str]:
        """The ports in a direction."""
        return (name for name, wire in self.wires.items() if wire.direction == direction)

    def statements_of(self, wire: str) -> list[Statement]:
        """The statements that assign a wire, with or without a clock."""
        return self.registers.get(wire) or self.processes.get(wire, [])

    def values_of(self, wire: str) -> Iterator[Value]:
        """What the driver of a wire reads, once for each place; that of an instance is not one of them."""
        if wire in self.operators:
            yield from (value for port, value in self.operators[wire].ports.items() if port != "Y")
        elif wire in self.reads:
            yield self.reads[wire].ports["ADDR"]
        elif wire in self.clocks:
            yield self.clocks[wire]
        yield from (value for _, value in self.connections.get(wire, ()))
        for each in walk(self.statements_of(wire)):
            yield each.value if isinstance(each, Assign) else each.selector

    def writes_of(self, memory: str) -> Iterator[Cell]:
        """The ports at which a memory is written."""
        return (cell for cell in self.writes if memory_of(cell) == memory)


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


def selectors_of(statements: Iterable[Statement]) -> list[Value]:
    """The conditions of statements."""
    return [each.selector for each in walk(statements) if isinstance(each, Switch)]


def assigned(statements: Iterable[Statement]) -> dict[str, None]:
    """The wires that statements assign, in their order."""
    return {
        part.wire: None
        for each in walk(statements)
        if isinstance(each, Assign)
        for part in each.target
        if isinstance(part, Slice)
    }


def of_wire(statements: Iterable[Statement], wire: str) -> list[Statement]:
    """The statements that assign a wire; none is an assignment to bits that a later one beside it assigns again."""
    found: list[Statement] = []
    for each in statements:
        if isinstance(each, Switch):
            cases = [(patterns, of_wire(body, wire)) for patterns, body in each.cases]
            if any(body for _, body in cases):
                found.append(Switch(each.selector, cases))
            continue
        at = 0
        for part in each.target:
            assert isinstance(part, Slice)
            if part.wire == wire:
                value = sliced(each.value, at, part.width)
                # Yosys takes an assignment behind a switch for one in front of it.
                found = [*_without(found, part), Assign((part,), value)]
            at += part.width
    return found


def _without(statements: Iterable[Statement], bits: Slice) -> Iterator[Statement]:
    """Statements that do not assign some bits."""
    for each in statements:
        if isinstance(each, Switch):
            yield Switch(each.selector, [(patterns, [*_without(body, bits)]) for patterns, body in each.cases])
            continue
        [part] = each.target
        assert isinstance(part, Slice)
        below = max(0, min(bits.start - part.start, part.width))
        above = min(part.width, max(0, bits.start + bits.width - part.start))
        for low, high in (0, below), (max(above, below), part.width):
            if low < high:
                yield Assign((Slice(part.wire, part.start + low, high - low),), sliced(each.value, low, high - low))


def moved(value: Iterable[Part], places: Mapping[str, Value]) -> Value:
    """A value in which the bits of some wires are those at other places."""
    found: list[Part] = []
    for part in value:
        if isinstance(part, Slice) and part.wire in places:
            found += moved(sliced(places[part.wire], part.start, part.width), places)
        else:
            found.append(part)
    return joined(found)


def moved_statements(statements: Iterable[Statement], places: Mapping[str, Value]) -> list[Statement]:
    """Statements in which the bits of some wires are those at other places."""
    found: list[Statement] = []
    for each in statements:
        if isinstance(each, Assign):
            found.append(Assign(moved(each.target, places), moved(each.value, places)))
        else:
            cases = [(patterns, moved_statements(body, places)) for patterns, body in each.cases]
            found.append(Switch(moved(each.selector, places), cases))
    return found
