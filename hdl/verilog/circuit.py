# SPDX-License-Identifier: BSD-2-Clause
"""A module whose signals are those of the source: fields, registers, and expressions between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from utf8fpga.hdl.verilog.rtlil import (
    Assign,
    Cell,
    Constant,
    Module,
    Part,
    Slice,
    Statement,
    Switch,
    Value,
    Wire,
    joined,
    sliced,
    width_of,
)
from utf8fpga.model.exceptions import InvalidArgumentError

_RESULTS = ("Y", "Q", "DATA")

_FIELD = re.compile(r"[.[]")

SHIFTS = ("$shl", "$shr", "$sshr", "$shift")
OPERATORS = (
    *("$not", "$and", "$or", "$xor", "$mux", "$add", "$sub", "$mul", "$neg", "$eq", "$ne", "$lt", "$le", "$gt", "$ge"),
    *("$reduce_and", "$reduce_or", "$reduce_bool", "$reduce_xor", *SHIFTS),
)
"""The cells that are written as expressions."""


@dataclass
class Register:
    """A register, and the statements that assign it at each edge of the clock."""

    clock: Slice
    statements: list[Statement]


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
        registers: by wire the register.
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
    registers: dict[str, Register] = field(default_factory=dict)
    writes: list[Cell] = field(default_factory=list)
    instances: list[Cell] = field(default_factory=list)
    initial: dict[str, str] = field(default_factory=dict)

    def ports(self, direction: str) -> Iterator[str]:
        """The ports in a direction."""
        return (name for name, wire in self.wires.items() if wire.direction == direction)

    def values_of(self, wire: str) -> Iterator[Value]:
        """What the driver of a wire reads, once for each place; that of an instance is not one of them."""
        if wire in self.operators:
            yield from (value for port, value in self.operators[wire].ports.items() if port != "Y")
        elif wire in self.reads:
            yield self.reads[wire].ports["ADDR"]
        elif wire in self.processes:
            yield from _values(self.processes[wire])
        elif wire in self.registers:
            yield (self.registers[wire].clock,)
            yield from _values(self.registers[wire].statements)
        else:
            yield from (value for _, value in self.connections.get(wire, ()))

    def selectors_of(self, wire: str) -> Iterator[Value]:
        """The conditions of the statements that assign a wire."""
        register = self.registers.get(wire)
        yield from selectors_of(register.statements if register else self.processes.get(wire, ()))

    def writes_of(self, memory: str) -> Iterator[Cell]:
        """The ports at which a memory is written."""
        return (cell for cell in self.writes if memory_of(cell) == memory)


def memory_of(cell: Cell) -> str:
    """The memory that a cell is a port of."""
    return cell.parameters["MEMID"].strip('"\\')


def is_anonymous(wire: str) -> bool:
    """Whether a wire has no name in the source."""
    return wire.startswith("$")


def _values(statements: Iterable[Statement]) -> Iterator[Value]:
    for each in statements:
        if isinstance(each, Assign):
            yield each.value
        else:
            yield each.selector
            for _, body in each.cases:
                yield from _values(body)


def selectors_of(statements: Iterable[Statement]) -> Iterator[Value]:
    """The conditions of statements."""
    for each in statements:
        if isinstance(each, Switch):
            yield each.selector
            for _, body in each.cases:
                yield from selectors_of(body)


def assigned(statements: Iterable[Statement]) -> Iterator[Slice]:
    """The bits that statements assign."""
    for each in statements:
        if isinstance(each, Assign):
            yield from (part for part in each.target if isinstance(part, Slice))
        else:
            for _, body in each.cases:
                yield from assigned(body)


def of_wire(statements: Iterable[Statement], wire: str) -> list[Statement]:
    """The statements that assign a wire; none is an assignment to bits that a later one beside it assigns again."""
    found: list[Statement] = []
    for each in _decided(statements):
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


def _decided(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Statements in which those of one case stand for a switch whose selector is constant."""
    for each in statements:
        bits = each.selector[0] if isinstance(each, Switch) and len(each.selector) == 1 else None
        if isinstance(each, Switch) and isinstance(bits, Constant):
            chosen = (body for patterns, body in each.cases if _matches(bits.bits, patterns))
            yield from _decided(next(chosen, []))
        else:
            yield each


def _matches(bits: str, patterns: Sequence[str]) -> bool:
    """Whether a constant has one of some patterns, in which a dash is any value; no pattern: any value."""
    return not patterns or any(
        all(one in ("-", other) for one, other in zip(pattern, bits, strict=True)) for pattern in patterns
    )


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


def circuit_of(module: Module, modules: Mapping[str, Circuit], doc: str = "") -> Circuit:
    """The circuit of a module.

    Args:
        modules: those that it has instances of.

    Raises:
        InvalidArgumentError: it has a cell that the writer does not know.
    """
    return _Builder(module, modules, doc).circuit()


class _Builder:
    """Gives each bit of a module its place among the signals of the source."""

    def __init__(self, module: Module, modules: Mapping[str, Circuit], doc: str) -> None:
        self._module, self._modules = module, modules
        self._circuit = Circuit(module.name, doc, memories=module.memories)
        self._places: dict[str, Value] = {}
        self._next: dict[str, list[Statement]] = {}
        """By flip-flop the process that makes its next value."""
        self._outputs: list[Assign] = []
        """Connections of output ports with signals that are the same."""

    def circuit(self) -> Circuit:
        made = self._circuit
        self._split_fields()
        made.fields = dict(self._places)
        self._name_registers()
        self._choose_names()
        for each in self._module.connections:
            if self._moved(each.target) != self._moved(each.value) and all(
                isinstance(part, Slice) and not _FIELD.search(part.wire) for part in each.target
            ):
                self._add_connection(self._moved(each.target), self._moved(each.value))
        for each in self._outputs:
            self._add_connection(each.target, self._moved(each.value))
        for cell in self._module.cells:
            self._add_cell(replace(cell, ports={port: self._moved(value) for port, value in cell.ports.items()}))
        for process in self._module.processes:
            if not any(process is each for each in self._next.values()):
                statements = self._moved_statements(process)
                for wire in dict.fromkeys(part.wire for part in assigned(statements)):
                    self._add_process(wire, of_wire(statements, wire))
        return made

    def _moved(self, value: Iterable[Part]) -> Value:
        return moved(value, self._places)

    def _moved_statements(self, statements: Iterable[Statement]) -> list[Statement]:
        return moved_statements(statements, self._places)

    def _split_fields(self) -> None:
        """A signal with a structure is one signal for each field; the fields of an array of structures are vectors."""
        given, made = self._module.wires, self._circuit.wires
        leaves: dict[str, list[str]] = {}
        for name in given:
            base = _FIELD.split(name, maxsplit=1)[0]
            if base != name:
                leaves.setdefault(base, []).append(name)
        for name, wire in sorted(given.items(), key=lambda each: not each[1].direction):
            if _FIELD.search(name):
                continue
            fields = [
                each for each in leaves.get(name, ()) if not any(_contains(each, other) for other in leaves[name])
            ]
            short = {each: _field_name(each) for each in fields}
            is_whole = sum(given[each].width for each in fields) == wire.width
            is_taken = any(each != name and (each in given or each in made) for each in short.values())
            if not fields or not is_whole or is_taken:
                made[name] = wire
                continue
            at, bits = 0, list[Slice]()
            for each in fields:
                width = given[each].width
                init = wire.init[wire.width - at - width : wire.width - at]
                before = made.get(short[each]) or Wire(
                    0, wire.direction, attributes=wire.attributes | given[each].attributes
                )
                bits.append(Slice(short[each], before.width, width))
                made[short[each]] = replace(before, width=before.width + width, init=init + before.init)
                at += width
            if set(short.values()) != {name}:
                self._places[name] = tuple(bits)

    def _name_registers(self) -> None:
        """What a process assigns for a register alone is that register."""
        uses = Counter(
            part.wire
            for cell in self._module.cells
            for port, value in cell.ports.items()
            for part in value
            if isinstance(part, Slice) and port not in _RESULTS
        )
        processes = {part.wire: each for each in self._module.processes for part in assigned(each[:1])}
        for cell in self._module.cells:
            if cell.kind == "$dff" and len(cell.ports["D"]) == 1 and isinstance(cell.ports["D"][0], Slice):
                wire = cell.ports["D"][0].wire
                if is_anonymous(wire) and wire in processes and uses[wire] == 1:
                    self._places[wire] = cell.ports["Q"]
                    self._next[cell.name] = processes[wire]

    def _choose_names(self) -> None:
        """Of signals that are the same the component's own one is read, not a port or one that RTLIL made."""
        instances = {cell.name for cell in self._module.cells}

        def rank(name: str) -> int:
            is_at_instance = name.partition("__")[0] in instances
            return 3 if is_anonymous(name) else 2 if is_at_instance else bool(self._module.wires[name].direction)

        for each in self._module.connections:
            if len(each.target) != 1 or len(each.value) != 1 or width_of(each.target) == 0:
                continue
            [own], [other] = each.target, each.value
            if not isinstance(own, Slice) or not isinstance(other, Slice) or _FIELD.search(own.wire):
                continue
            wire = self._module.wires[other.wire]
            is_better = rank(other.wire) > rank(own.wire) and other.wire not in self._places
            if is_better and wire.direction != "input" and other.width == wire.width:
                if wire.direction:
                    self._outputs.append(Assign(self._moved(each.value), self._moved(each.target)))
                    self._circuit.wires.update(self._bare(other.wire))
                self._places[other.wire] = each.target

    def _bare(self, port: str) -> dict[str, Wire]:
        """The wires of a port, whose comment is that of the signal that it is connected to."""
        names = [
            part.wire
            for part in self._moved([Slice(port, 0, self._module.wires[port].width)])
            if isinstance(part, Slice)
        ]
        return {name: replace(self._circuit.wires[name], init="", attributes={}) for name in names}

    def _add_connection(self, target: Value, value: Value) -> None:
        at = 0
        for part in target:
            assert isinstance(part, Slice)
            inner = sliced(value, at, part.width)
            at += part.width
            parts = self._circuit.connections.setdefault(part.wire, [])
            parts.append((part.start, inner))
            parts.sort(key=lambda each: each[0])

    def _add_process(self, wire: str, statements: list[Statement]) -> None:
        """A process without conditions connects bits."""
        if any(isinstance(each, Switch) for each in statements):
            self._circuit.processes[wire] = statements
            return
        for each in statements:
            if isinstance(each, Assign):
                self._add_connection(each.target, each.value)

    def _add_cell(self, cell: Cell) -> None:
        made, kind = self._circuit, cell.kind
        if kind in self._modules:
            self._add_instance(cell)
        elif kind in ("$dff", "$memwr_v2") and not cell.number("CLK_POLARITY"):
            self._reject(f"{kind} with a falling edge")
        elif kind == "$dff":
            self._add_register(cell.name, cell.ports["Q"], cell.ports["D"], cell.ports["CLK"])
        elif kind == "$memrd_v2":
            self._add_read(cell)
        elif kind == "$memwr_v2":
            made.writes.append(cell)
        elif kind == "$meminit_v2":
            bits = "".join(part.bits for part in reversed(cell.ports["DATA"]) if isinstance(part, Constant))
            if "1" in bits:
                made.initial[memory_of(cell)] = bits
        elif kind in OPERATORS:
            made.operators[self._result(cell, "Y", _width_inside(cell))] = cell
        else:
            self._reject(kind)

    def _reject(self, cell: str) -> NoReturn:
        raise InvalidArgumentError(f"module {self._module.name}: the Verilog writer does not know the cell {cell}")

    def _result(self, cell: Cell, port: str, width: int) -> str:
        """The wire for the result of a cell, which is connected to the port as far as it goes."""
        value = cell.ports[port]
        if len(value) == 1 and isinstance(value[0], Slice) and is_anonymous(value[0].wire):
            wire = value[0].wire
            if self._circuit.wires[wire].width == width and not self._circuit.wires[wire].direction:
                return wire
        wire = f"${cell.name}"
        self._circuit.wires[wire] = Wire(width)
        self._add_connection(value, (Slice(wire, 0, width_of(value)),))
        return wire

    def _add_register(self, name: str, target: Value, value: Value, clock: Value) -> None:
        [edge] = clock
        assert isinstance(edge, Slice)
        statements: list[Statement] = [Assign(target, value)]
        if name in self._next:
            statements = self._moved_statements(self._next[name])
        for wire in dict.fromkeys(part.wire for part in target if isinstance(part, Slice)):
            own = [each for each in of_wire(statements, wire) if isinstance(each, Switch) or each.target != each.value]
            self._circuit.registers[wire] = Register(edge, own)

    def _add_read(self, cell: Cell) -> None:
        """A port that is read with the clock is one that is read without it, and a register behind it."""
        made, data = self._circuit, cell.ports["DATA"]
        if not cell.number("CLK_ENABLE"):
            made.reads[self._result(cell, "DATA", width_of(data))] = cell
            return
        if not cell.number("CLK_POLARITY") or cell.number("TRANSPARENCY_MASK"):
            self._reject("$memrd_v2 with a falling edge, or transparent")
        row = Slice(f"${cell.name}_row", 0, width_of(data))
        made.wires[row.wire] = Wire(row.width)
        made.reads[row.wire] = cell
        self._add_register(cell.name, data, (row,), cell.ports["CLK"])
        enable = cell.ports["EN"]
        for wire in dict.fromkeys(part.wire for part in data if isinstance(part, Slice)):
            register = made.registers[wire]
            if enable != (Constant("1"),):
                register.statements = [Switch(enable, [(("1",), register.statements)])]

    def _add_instance(self, cell: Cell) -> None:
        """Ports with a structure are connected field by field."""
        inner = self._modules[cell.kind]
        ports: dict[str, Value] = {}
        for port, value in cell.ports.items():
            [first, *_] = value
            if isinstance(first, Slice) and is_anonymous(first.wire) and first.wire not in self._circuit.operators:
                # Nothing reads this output, so no signal has its name.
                wire = f"{cell.name}__{port}"
                self._circuit.wires[wire] = Wire(width_of(value))
                value = (Slice(wire, 0, width_of(value)),)
            at = 0
            for part in inner.fields.get(port, (Slice(port, 0, width_of(value)),)):
                assert isinstance(part, Slice)
                ports[part.wire] = joined([*ports.get(part.wire, ()), *sliced(value, at, part.width)])
                at += part.width
        self._circuit.instances.append(replace(cell, ports=ports))


def _contains(name: str, other: str) -> bool:
    return other.startswith((f"{name}.", f"{name}["))


def _field_name(name: str) -> str:
    """The name of a field of a signal, or of a vector of such fields.

    >>> _field_name("output__payload.symbols[1].code_point"), _field_name("input__payload.symbols")
    ('output_code_point', 'input_symbols')
    """
    base, *path = re.sub(r"\[\d+\]", "", name).split(".")
    if path and path[0] == "symbols" and len(path) > 1:
        path = path[1:]
    return "_".join([re.sub(r"__payload\b", "", base), *path])


def _width_inside(cell: Cell) -> int:
    """The width of an operation in Verilog, of which the result may be the low bits."""
    width = cell.number("Y_WIDTH") if "Y_WIDTH" in cell.parameters else cell.number("WIDTH")
    return max(width, cell.number("A_WIDTH")) if cell.kind in SHIFTS else width
