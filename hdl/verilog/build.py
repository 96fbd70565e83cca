# SPDX-License-Identifier: BSD-2-Clause
"""Makes a circuit with the signals of the source of a module in RTLIL."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NoReturn

from utf8fpga.hdl.verilog.circuit import (
    Circuit,
    assigned,
    is_anonymous,
    memory_of,
    moved,
    moved_statements,
    of_wire,
)
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
        self._results: dict[object, str] = {}
        """By what an operator does and reads the wire of its result."""
        self._outputs: list[Assign] = []
        """Connections of output ports with signals that are the same."""

    def circuit(self) -> Circuit:
        made = self._circuit
        self._split_fields()
        made.fields = dict(self._places)
        self._name_registers()
        self._choose_names()
        for cell in self._module.cells:
            self._add_cell(replace(cell, ports={port: self._moved(value) for port, value in cell.ports.items()}))
        for each in self._module.connections:
            if self._moved(each.target) != self._moved(each.value) and all(
                isinstance(part, Slice) and not _FIELD.search(part.wire) for part in each.target
            ):
                self._add_connection(self._moved(each.target), self._moved(each.value))
        for each in self._outputs:
            self._add_connection(each.target, self._moved(each.value))
        for process in self._module.processes:
            if not any(process is each for each in self._next.values()):
                statements = self._moved_statements(process)
                for wire in assigned(statements):
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
        processes = {wire: each for each in self._module.processes for wire in assigned(each[:1])}
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
            self._add_register(cell)
        elif kind == "$memrd_v2":
            self._add_read(cell)
        elif kind == "$memwr_v2":
            made.writes.append(cell)
        elif kind == "$meminit_v2":
            bits = "".join(part.bits for part in reversed(cell.ports["DATA"]) if isinstance(part, Constant))
            if "1" in bits:
                made.initial[memory_of(cell)] = bits
        elif kind in OPERATORS:
            self._add_operator(cell)
        else:
            self._reject(kind)

    def _add_operator(self, cell: Cell) -> None:
        """Amaranth writes an operation again in each place where it is used."""
        if not cell.ports["Y"]:
            return
        operands = tuple(each for each in cell.ports.items() if each[0] != "Y")
        wire = self._results.get((cell.kind, *cell.parameters.values(), *operands))
        if wire is None or self._circuit.wires[wire].width != _width_inside(cell):
            wire = self._result(cell, "Y", _width_inside(cell))
            self._circuit.operators[wire] = cell
            self._results[cell.kind, *cell.parameters.values(), *operands] = wire
            return
        value = (Slice(wire, 0, width_of(cell.ports["Y"])),)
        [part, *_] = cell.ports["Y"]
        if isinstance(part, Slice) and is_anonymous(part.wire):
            self._places[part.wire] = value
        else:
            self._add_connection(cell.ports["Y"], value)

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

    def _add_register(self, cell: Cell) -> None:
        statements: list[Statement] = [Assign(cell.ports["Q"], cell.ports["D"])]
        if cell.name in self._next:
            statements = self._moved_statements(self._next[cell.name])
        if cell.kind == "$memrd_v2":
            statements = [Switch(cell.ports["EN"], [(("1",), statements)])]
        for wire in assigned(statements):
            own = of_wire(statements, wire)
            # The first statement of a process keeps the value.
            keeps = isinstance(own[0], Assign) and own[0].target == own[0].value
            self._circuit.registers[wire], self._circuit.clocks[wire] = own[keeps:], cell.ports["CLK"]

    def _add_read(self, cell: Cell) -> None:
        """A port that is read with the clock is one that is read without it, and a register behind it."""
        if cell.number("CLK_ENABLE"):
            if not cell.number("CLK_POLARITY") or cell.number("TRANSPARENCY_MASK"):
                self._reject("$memrd_v2 with a falling edge, or transparent")
            row = Slice(f"${cell.name}_row", 0, width_of(cell.ports["DATA"]))
            self._circuit.wires[row.wire] = Wire(row.width)
            ports = {"Q": cell.ports["DATA"], "D": (row,), "CLK": cell.ports["CLK"], "EN": cell.ports["EN"]}
            self._add_register(replace(cell, ports=ports))
            cell = replace(cell, ports={"ADDR": cell.ports["ADDR"], "DATA": (row,)})
        self._circuit.reads[self._result(cell, "DATA", width_of(cell.ports["DATA"]))] = cell

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
                bits = sliced(value, at, part.width)
                if len(bits) > 1 and f"{cell.name}__{port}" in self._module.wires:
                    # The signal at the port says more than what it consists of.
                    bits = self._moved([Slice(f"{cell.name}__{port}", at, part.width)])
                ports[part.wire] = joined([*ports.get(part.wire, ()), *bits])
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
