# SPDX-License-Identifier: BSD-2-Clause
"""Makes a circuit with the signals of the source of a module in RTLIL."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from utf8fpga.hdl.verilog.circuit import Circuit, is_anonymous, is_read, unchanged, unknown_cell
from utf8fpga.hdl.verilog.rtlil import Assign, Bit, Cell, Module, Statement, Switch, Value, Wire, bits_of, slices_of
from utf8fpga.hdl.verilog.statements import assigned, by_wire, only_wire, reset_first, wires_of

SHIFTS = ("$shl", "$shr", "$sshr", "$shift")


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
        self._made = Circuit(module.name, doc, memories=module.memories)
        self._places: dict[Bit, Bit] = {}
        """The bits that others stand for."""
        self._named: dict[Value, Value] = {}
        """The bits of signals by what they are connected to."""
        self._next: dict[str, list[Statement]] = {}
        """By flip-flop the process that makes its next value."""
        self._unclocked: list[list[Statement]] = []
        self._connections = [each for each in module.connections if each.target and not _is_field(each.target[0][0])]
        self._inside = {cell.name: modules[cell.kind] for cell in module.cells if cell.kind in modules}

    def circuit(self) -> Circuit:
        self._split_fields()
        processes = {wire: each for each in self._module.processes for wire in assigned(each)}
        self._place_registers(processes)
        self._place_names()
        self._place_results()
        for process in processes.values():
            self._connect(process)
        for connection in self._connections:
            self._connect([connection])
        self._assign_wires()
        made = self._made
        made.results = {wire: self._moved_cell(cell) for wire, cell in made.results.items()}
        for cell in self._module.cells:
            self._add_cell(self._moved_cell(cell))
        return made

    def _split_fields(self) -> None:
        """A signal with a structure is one signal for each field; the fields of an array of structures are vectors."""
        given, made = self._module.wires, self._made.wires
        with_parts = {name[:at] for name in given for at, letter in enumerate(name) if letter in ".["}
        leaves: dict[str, list[str]] = {}
        for name in given:
            if name not in with_parts:
                leaves.setdefault(re.split(r"[.[]", name)[0], []).append(name)
        for name, wire in sorted(given.items(), key=lambda each: not each[1].direction):
            if _is_field(name):
                continue
            names = leaves[name] if sum(given[leaf].width for leaf in leaves[name]) == wire.width else [name]
            bits: list[Bit] = []
            for leaf in names:
                width, field = given[leaf].width, re.sub(r"\[\d+\]", "", leaf)
                before = made.get(field, Wire(0, wire.direction, (), wire.attributes | given[leaf].attributes))
                init = before.init + wire.init[len(bits) : len(bits) + width]
                made[field] = replace(before, width=before.width + width, init=init)
                bits += bits_of(field, width, before.width)
            self._made.fields[name] = tuple(bits)
            self._same(bits_of(name, wire.width), tuple(bits))

    def _place_registers(self, processes: dict[str, list[Statement]]) -> None:
        """What a process, which is taken from them, assigns for a register alone is that register."""
        uses = Counter(wire for cell in self._module.cells for wire in wires_of(cell.ports.values()))
        for cell in self._module.cells:
            wire = only_wire(cell.ports["D"]) if cell.kind == "$dff" else ""
            if wire in processes and is_anonymous(wire) and uses[wire] == 1:
                self._same(cell.ports["D"], cell.ports["Q"])
                self._next[cell.name] = processes.pop(wire)

    def _place_names(self) -> None:
        """Of signals that are the same the component's own one is read, not that at the port of an instance."""
        for each in self._connections:
            target, value = self._moved(each.target), self._moved(each.value)
            own, other = only_wire(target), only_wire(value)
            is_whole = own and other and value == bits_of(other, self._made.wires[other].width)
            if is_whole and self._distance(other) > self._distance(own):
                self._same(value, target)

    def _place_results(self) -> None:
        """The wires of results: those that RTLIL has, unless an operation in Verilog has more bits."""
        for cell in self._module.cells:
            value = cell.ports.get("DATA" if is_read(cell) else "Y", ())
            if same := unchanged(self._moved_cell(cell)):
                self._connect([Assign(value, same)])
            elif value and is_anonymous(cell.kind):
                place, width = self._moved(value), _width_inside(cell)
                wire = place[0][0]
                if place != bits_of(wire, width) or width != self._made.wires[wire].width:
                    wire = f"${cell.name}"
                    self._made.wires[wire] = Wire(width)
                    self._connect([Assign(value, bits_of(wire, len(value)))])
                self._made.results[wire] = cell

    def _connect(self, process: list[Statement]) -> None:
        """Add what has no clock; a wire without a name, or at the port of an instance, is the same as its value."""
        [(wire, statements)] = by_wire(process).items()
        only = statements[0] if len(statements) == 1 else None
        if not isinstance(only, Assign):
            self._unclocked.append(process)
        elif self._distance(wire):
            self._same(only.target, only.value)
        elif self._moved(only.target) != self._moved(only.value):
            self._unclocked.append([only])

    def _same(self, target: Value, value: Value) -> None:
        pairs = zip(self._moved(target), self._moved(value), strict=True)
        self._places |= {bit: place for bit, place in pairs if bit != place}

    def _distance(self, wire: str) -> int:
        """How far a signal is from the component itself: 1 at an output of an instance, 2 elsewhere, 0 for its own."""
        if is_anonymous(wire):
            return 2
        instance, _, name = wire.partition("__")
        if instance not in self._inside or self._made.wires.get(wire, Wire(0)).direction:
            return 0
        return 1 if name in self._inside[instance].ports("output") else 2

    def _moved(self, value: Iterable[Bit]) -> Value:
        """A value in its place."""
        found: list[Bit] = []
        for place in value:
            while place in self._places:
                place = self._places[place]
            found.append(place)
        return tuple(found)

    def _read(self, value: Value) -> Value:
        """A value in its place, as the signal that is connected to the whole of it, if there is one."""
        found = self._moved(value)
        return self._named.get(found, found)

    def _moved_cell(self, cell: Cell) -> Cell:
        return replace(cell, ports={port: self._read(value) for port, value in cell.ports.items()})

    def _moved_statements(self, statements: Iterable[Statement]) -> list[Statement]:
        found: list[Statement] = []
        for each in statements:
            if isinstance(each, Assign):
                found.append(Assign(self._moved(each.target), self._read(each.value)))
            else:
                cases = [(patterns, self._moved_statements(body)) for patterns, body in each.cases]
                found.append(Switch(self._read(each.selector), cases))
        return found

    def _assign_wires(self) -> None:
        """The statements without a clock, and the names that these give to values."""
        made = self._made
        for process in self._unclocked:
            for wire, statements in by_wire(self._moved_statements(process)).items():
                made.statements[wire] = by_wire(made.statements.get(wire, []) + statements)[wire]
        for wire, [first, *others] in made.statements.items():
            if isinstance(first, Assign) and not others and first.target == bits_of(wire, made.wires[wire].width):
                parts = [each for each in slices_of(first.value) if each.wire]
                if len(parts) > 1:
                    self._named.setdefault(first.value, first.target)

    def _add_cell(self, cell: Cell) -> None:
        rises = cell.number("CLK_POLARITY")
        is_unclocked_read = is_read(cell) and not cell.number("CLK_ENABLE")
        is_zero = cell.kind == "$meminit_v2" and ("", 1) not in cell.ports["DATA"]
        if cell.kind in self._modules:
            self._add_instance(cell)
        elif cell.kind == "$dff" and rises:
            self._add_register(cell)
        elif cell.kind == "$memwr_v2" and rises:
            self._made.writes.append(cell)
        elif not ("Y" in cell.ports or is_unclocked_read or is_zero):
            raise unknown_cell(self._module.name, cell)

    def _add_register(self, cell: Cell) -> None:
        first, *others = statements = self._next.get(cell.name, [Assign(cell.ports["Q"], cell.ports["D"])])
        # The first statement of a process may keep the value.
        keeps = isinstance(first, Assign) and self._moved(first.target) == self._moved(first.value)
        for wire, own in by_wire(self._moved_statements(others if keeps else statements)).items():
            self._made.statements[wire] = reset_first(self._made.wires[wire].width, own)
            self._made.clocks[wire] = cell.ports["CLK"]

    def _add_instance(self, cell: Cell) -> None:
        """Ports with a structure are connected field by field."""
        fields = self._modules[cell.kind].fields
        ports: dict[str, dict[int, Bit]] = {}
        for port, value in cell.ports.items():
            if is_anonymous(value[0][0]) and value[0][0] not in self._made.results:
                # Nothing reads this output, so no signal has its name.
                wire = f"{cell.name}__{port}"
                self._made.wires[wire] = Wire(len(value))
                value = bits_of(wire, len(value))
            for (field, at), bit in zip(fields[port], value, strict=True):
                ports.setdefault(field, {})[at] = bit
        connected = {port: tuple(bits[at] for at in sorted(bits)) for port, bits in ports.items()}
        self._made.instances.append(replace(cell, ports=connected))


def _is_field(name: str) -> bool:
    """Whether a wire is part of a signal."""
    return "." in name or "[" in name


def _width_inside(cell: Cell) -> int:
    """The width of an operation in Verilog, of which the result may be the low bits."""
    width = cell.number("Y_WIDTH") or cell.number("WIDTH")
    return max(width, cell.number("A_WIDTH")) if cell.kind in SHIFTS else width
