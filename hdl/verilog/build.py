# SPDX-License-Identifier: BSD-2-Clause
"""Makes a circuit with the signals of the source of a module in RTLIL."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NoReturn

from utf8fpga.hdl.verilog.circuit import Circuit, assigned, is_anonymous, is_read, memory_of, of_wire, wires_of
from utf8fpga.hdl.verilog.rtlil import Assign, Bit, Cell, Module, Statement, Switch, Value, Wire, bits_of, slices_of
from utf8fpga.model.exceptions import InvalidArgumentError

_FIELD = re.compile(r"[.[]")

_RESULTS = ("Y", "Q", "DATA")

_MEMORY_PORTS = ("signature", "out")
"""What the names of the signals at ports of memories begin with, with two underscores behind it."""

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
        self._places: dict[Bit, Bit] = {}
        """The bits that others stand for."""
        self._named: dict[Value, Value] = {}
        """The bits of signals by what they are connected to."""
        self._next: dict[str, list[Statement]] = {}
        """By flip-flop the process that makes its next value."""
        self._inside = {cell.name: modules[cell.kind] for cell in module.cells if cell.kind in modules}
        self._inside |= dict.fromkeys(_MEMORY_PORTS, Circuit(""))

    def circuit(self) -> Circuit:
        made = self._circuit
        self._split_fields()
        processes: dict[str, list[Statement]] = {}
        for process in self._module.processes:
            wires = assigned(process)
            if wires and any(isinstance(each, Switch) for each in process):
                processes[wires[0]] = process
            else:
                self._connect_last(each for each in process if isinstance(each, Assign))
        self._name_registers(processes)
        self._choose_names()
        self._find_results()
        for connection in self._module.connections:
            if not _is_field(connection):
                self._connect(connection.target, connection.value)
        for wire, bits in made.connections.items():
            made.connections[wire] = {at: self._moved([bits[at]])[0] for at in sorted(bits)}
            value = tuple(made.connections[wire].values())
            if len(value) == made.wires[wire].width and sum(bool(each.wire) for each in slices_of(value)) > 1:
                self._named.setdefault(value, bits_of(wire, len(value)))
        for cell in self._module.cells:
            self._add_cell(self._moved_cell(cell))
        for process in processes.values():
            statements = self._moved_statements(process)
            for wire in assigned(statements):
                self._add_process(wire, of_wire(statements, wire))
        made.results = {wire: self._moved_cell(cell) for wire, cell in made.results.items()}
        return made

    def _moved_cell(self, cell: Cell) -> Cell:
        return replace(cell, ports={port: self._read(value) for port, value in cell.ports.items()})

    def _read(self, value: Iterable[Bit]) -> Value:
        """A value in its place, as the signal that is connected to the whole of it, if there is one."""
        found = self._moved(value)
        return self._named.get(found, found)

    def _moved(self, value: Iterable[Bit]) -> Value:
        found: list[Bit] = []
        for bit in value:
            place = bit
            while place in self._places:
                place = self._places[place]
            found.append(place)
        return tuple(found)

    def _moved_statements(self, statements: Iterable[Statement]) -> list[Statement]:
        found: list[Statement] = []
        for each in statements:
            if isinstance(each, Assign):
                found.append(Assign(self._moved(each.target), self._read(each.value)))
            else:
                cases = [(patterns, self._moved_statements(body)) for patterns, body in each.cases]
                found.append(Switch(self._read(each.selector), cases))
        return found

    def _add_process(self, wire: str, statements: list[Statement]) -> None:
        if any(isinstance(each, Switch) for each in statements):
            self._circuit.processes[wire] = statements
        else:
            self._connect_last(each for each in statements if isinstance(each, Assign))

    def _connect_last(self, process: Iterable[Assign]) -> None:
        """Connect bits with what a process without conditions assigns last."""
        bits: dict[Bit, Bit] = {}
        for each in process:
            bits |= zip(each.target, each.value, strict=True)
        self._connect(tuple(bits), tuple(bits.values()))

    def _connect(self, target: Value, value: Value) -> None:
        """Connect bits; a target without a name, or at the port of an instance, is the same as its value."""
        for (wire, at), bit in zip(self._moved(target), self._moved(value), strict=True):
            if (wire, at) == bit:
                continue
            if is_anonymous(wire) or self._distance(wire):
                self._places[wire, at] = bit
            else:
                self._circuit.connections.setdefault(wire, {})[at] = bit

    def _distance(self, wire: str) -> int:
        """How far a signal is from the component itself: 1 for that at an output of an instance, 2 at other ports."""
        inside = self._inside.get(wire.partition("__")[0])
        if inside is None or self._circuit.wires[wire].direction:
            return 0
        port = inside.wires.get(wire.partition("__")[2], Wire(0))
        return 1 if port.direction == "output" else 2

    def _split_fields(self) -> None:
        """A signal with a structure is one signal for each field; the fields of an array of structures are vectors."""
        given, made = self._module.wires, self._circuit.wires
        inside: dict[str, list[str]] = {}
        for name in given:
            base = _FIELD.split(name, maxsplit=1)[0]
            if base != name:
                inside.setdefault(base, []).append(name)
        for name, wire in sorted(given.items(), key=lambda each: not each[1].direction):
            if _FIELD.search(name):
                continue
            names = inside.get(name, [])
            leaves = [each for each in names if not any(other.startswith((f"{each}.", f"{each}[")) for other in names)]
            fields = {each: _field_name(each) for each in leaves}
            is_whole = sum(given[each].width for each in leaves) == wire.width
            if not is_whole or any(each != name and each in given for each in fields.values()):
                made[name] = wire
                continue
            bits: list[Bit] = []
            for leaf, field in fields.items():
                width = given[leaf].width
                attributes = wire.attributes | given[leaf].attributes
                before = made.setdefault(field, Wire(0, wire.direction, attributes=attributes))
                init = wire.init[len(bits) : len(bits) + width]
                made[field] = replace(before, width=before.width + width, init=before.init + init)
                bits += bits_of(field, width, before.width)
            self._circuit.fields[name] = tuple(bits)
            if set(fields.values()) != {name}:
                self._places |= dict(zip(bits_of(name, wire.width), bits, strict=True))

    def _name_registers(self, processes: dict[str, list[Statement]]) -> None:
        """What a process, which is taken from them, assigns for a register alone is that register."""
        uses = Counter(
            wire
            for cell in self._module.cells
            for wire in wires_of(value for port, value in cell.ports.items() if port not in _RESULTS)
        )
        for cell in self._module.cells:
            wire = next(wires_of([cell.ports["D"]]), "") if cell.kind == "$dff" else ""
            if wire in processes and is_anonymous(wire) and uses[wire] == 1:
                self._places |= dict(zip(cell.ports["D"], cell.ports["Q"], strict=True))
                self._next[cell.name] = processes.pop(wire)

    def _choose_names(self) -> None:
        """Of signals that are the same the component's own one is read, not that at the port of an instance."""
        for each in self._module.connections:
            own, other = next(wires_of([each.target]), ""), next(wires_of([each.value]), "")
            if own in self._circuit.wires and other in self._circuit.wires and not is_anonymous(other):
                whole = bits_of(other, self._circuit.wires[other].width)
                if each.value == whole and self._distance(other) > self._distance(own):
                    self._places |= dict(zip(whole, each.target, strict=True))

    def _find_results(self) -> None:
        """The wires of results: those that RTLIL has, unless an operation in Verilog has more bits."""
        for cell in self._module.cells:
            value = self._moved(cell.ports.get("DATA" if is_read(cell) else "Y", ()))
            if cell.kind.startswith("$reduce") and len(cell.ports["A"]) == 1:
                self._connect(value, cell.ports["A"])
            elif value and (is_read(cell) or cell.kind in OPERATORS):
                wire, width = value[0][0], _width_inside(cell)
                if value != bits_of(wire, width) or width != self._circuit.wires[wire].width:
                    wire = f"${cell.name}"
                    self._circuit.wires[wire] = Wire(width)
                self._circuit.results[wire] = cell
                self._connect(value, bits_of(wire, len(value)))

    def _add_cell(self, cell: Cell) -> None:
        made, kind = self._circuit, cell.kind
        if kind in ("$dff", "$memwr_v2", "$memrd_v2") and not cell.number("CLK_POLARITY"):
            self._reject(f"{kind} with a falling edge")
        elif is_read(cell) and cell.number("CLK_ENABLE"):
            self._reject(f"{kind} with a clock")
        elif kind in self._modules:
            self._add_instance(cell)
        elif kind == "$dff":
            self._add_register(cell)
        elif kind == "$memwr_v2":
            made.writes.append(cell)
        elif kind == "$meminit_v2":
            if ("", 1) in cell.ports["DATA"]:
                made.initial[memory_of(cell)] = cell.ports["DATA"]
        elif kind not in OPERATORS and not is_read(cell):
            self._reject(kind)

    def _reject(self, cell: str) -> NoReturn:
        raise InvalidArgumentError(f"module {self._module.name}: the Verilog writer does not know the cell {cell}")

    def _add_register(self, cell: Cell) -> None:
        statements: list[Statement] = [Assign(cell.ports["Q"], cell.ports["D"])]
        if cell.name in self._next:
            statements = self._moved_statements(self._next[cell.name])
        for wire in assigned(statements):
            own = of_wire(statements, wire)
            # The first statement of a process keeps the value.
            keeps = isinstance(own[0], Assign) and own[0].target == own[0].value
            self._circuit.registers[wire], self._circuit.clocks[wire] = own[keeps:], cell.ports["CLK"]

    def _add_instance(self, cell: Cell) -> None:
        """Ports with a structure are connected field by field."""
        inner = self._modules[cell.kind]
        ports: dict[str, dict[int, Bit]] = {}
        for port, value in cell.ports.items():
            if is_anonymous(value[0][0]) and value[0][0] not in self._circuit.results:
                # Nothing reads this output, so no signal has its name.
                wire = f"{cell.name}__{port}"
                self._circuit.wires[wire] = Wire(len(value))
                value = bits_of(wire, len(value))
            for (field, at), bit in zip(inner.fields.get(port, bits_of(port, len(value))), value, strict=True):
                ports.setdefault(field, {})[at] = bit
        connected = {port: tuple(bits[at] for at in sorted(bits)) for port, bits in ports.items()}
        self._circuit.instances.append(replace(cell, ports=connected))


def _is_field(connection: Assign) -> bool:
    """Whether only a field is connected, or nothing."""
    return not connection.target or bool(_FIELD.search(connection.target[0][0]))


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
    width = cell.number("Y_WIDTH") or cell.number("WIDTH")
    return max(width, cell.number("A_WIDTH")) if cell.kind in SHIFTS else width
