# SPDX-License-Identifier: BSD-2-Clause
"""A module whose signals are those of the source: fields, registers, and expressions between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from utf8fpga.hdl.verilog.rtlil import Assign, Cell, Statement, Switch, Value, Wire, extended
from utf8fpga.hdl.verilog.statements import walk, wires_of
from utf8fpga.model.exceptions import InvalidArgumentError


@dataclass
class Circuit:
    """The contents of a module, in which each wire has one driver.

    A wire whose name begins with a dollar sign is the result of an operator, which expressions may contain.

    Attributes:
        doc: what the component does.
        fields: for each signal of the source its bits, which are those of its fields if it has a structure.
        results: by wire the operator or the port of a memory whose result it is.
        statements: by wire what assigns it, at each edge of its clock if it has one.
        clocks: by register its clock.
        writes: the ports of memories that are written.
        instances: the instances of other modules.
    """

    name: str
    doc: str = ""
    wires: dict[str, Wire] = field(default_factory=dict)
    fields: dict[str, Value] = field(default_factory=dict)
    memories: dict[str, tuple[int, int]] = field(default_factory=dict)
    results: dict[str, Cell] = field(default_factory=dict)
    statements: dict[str, list[Statement]] = field(default_factory=dict)
    clocks: dict[str, Value] = field(default_factory=dict)
    writes: list[Cell] = field(default_factory=list)
    instances: list[Cell] = field(default_factory=list)

    def ports(self, direction: str) -> list[str]:
        """The ports in a direction."""
        return [name for name, wire in self.wires.items() if wire.direction == direction]

    def is_variable(self, wire: str) -> bool:
        """Whether a process assigns a wire: it is a register, or has several values by conditions."""
        return wire in self.clocks or any(isinstance(each, Switch) for each in self.statements.get(wire, []))

    def sources_of(self, wire: str, *, registers: bool) -> list[str]:
        """The wires that the driver of a wire reads; an instance is not such a driver.

        Args:
            registers: also what a register or a memory reads at the edge of its clock.
        """
        if wire in self.clocks and not registers:
            return []
        statements = walk(self.statements.get(wire, []))
        values = [each.value if isinstance(each, Assign) else each.selector for each in statements]
        values.append(self.clocks.get(wire, ()))
        if cell := self.results.get(wire):
            values += [value for port, value in cell.ports.items() if port not in ("Y", "DATA")]
            if registers and is_read(cell):
                writes = [each for each in self.writes if memory_of(each) == memory_of(cell)]
                values += [value for each in writes for value in each.ports.values()]
        return wires_of(values)


def is_read(cell: Cell) -> bool:
    """Whether a cell is the port at which a memory is read."""
    return cell.kind == "$memrd_v2"


def memory_of(cell: Cell) -> str:
    """The memory that a cell is a port of."""
    return cell.parameters["MEMID"].strip('"\\')


def is_anonymous(wire: str) -> bool:
    """Whether a wire has no name in the source, as the ports of memories have none."""
    return wire.startswith(("$", "signature__", "out__"))


def unchanged(cell: Cell) -> Value:
    """What the result of an operator is, where constants decide that; else nothing."""
    width, is_signed = cell.number("Y_WIDTH"), bool(cell.number("A_SIGNED"))
    left, right = (extended(cell.ports.get(port, ()), width, signed=is_signed) for port in "AB")
    neutral = {("", int(cell.kind == "$and"))}
    if cell.kind == "$not" and not wires_of([left]):
        return tuple(("", 1 - bit) for _, bit in left)
    if cell.kind in ("$and", "$or", "$xor", "$add", "$sub") and set(right) == neutral:
        return left
    if cell.kind in ("$and", "$or", "$xor", "$add") and set(left) == neutral:
        return right
    return left if cell.kind.startswith("$reduce") and len(cell.ports["A"]) == 1 else ()


def unknown_cell(module: str, cell: Cell) -> InvalidArgumentError:
    """The error for a cell that the writer does not know, or not with these parameters."""
    parameters = ", ".join(f"{name} {value}" for name, value in cell.parameters.items())
    return InvalidArgumentError(
        f"module {module}: the Verilog writer does not know the cell {cell.kind} with {parameters}"
    )
