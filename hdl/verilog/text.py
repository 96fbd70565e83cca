# SPDX-License-Identifier: BSD-2-Clause
"""The text of modules in Verilog-2005."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from utf8fpga.hdl.verilog import expressions
from utf8fpga.hdl.verilog.circuit import Circuit, is_anonymous, is_read, memory_of, wires_of
from utf8fpga.hdl.verilog.identifiers import plain_identifier
from utf8fpga.hdl.verilog.live import Hierarchy, ordered, uses_of
from utf8fpga.hdl.verilog.processes import Processes
from utf8fpga.hdl.verilog.rtlil import Cell, Value, slices_of
from utf8fpga.hdl.verilog.statements import Reset, shape_of, split_reset
from utf8fpga.hdl.verilog.values import Values

LINE = 120
"""Upper bound on the characters of a line."""


def modules_text(circuits: Mapping[str, Circuit], top: str) -> str:
    """Modules in Verilog, the top first.

    Args:
        circuits: by name, each behind those that it has instances of.
    """
    live = Hierarchy(circuits, top).live_wires()
    made: dict[str, _ModuleText] = {}
    written: list[str] = []
    for name, circuit in circuits.items():
        if name in live:
            made[name] = _ModuleText(circuit, made, live[name], is_top=name == top)
            written.append(f"{comment(circuit.doc)}module {name} {made[name].body()}endmodule\n")
    return "\n".join(reversed(written))


def comment(doc: str, indent: str = "") -> str:
    """A comment, whose paragraphs begin on lines of their own."""
    lines: list[str] = []
    for paragraph in doc.split("\n\n"):
        lines += textwrap.wrap(" ".join(paragraph.split()), LINE - 3 - len(indent))
    return "".join(f"{indent}// {line}\n" for line in lines)


class _ModuleText:
    """The text of a module.

    Attributes:
        ports: the directions of those that are used; of the top all.
        values: its names and expressions.
    """

    def __init__(
        self, circuit: Circuit, others: Mapping[str, _ModuleText], live: AbstractSet[str], *, is_top: bool
    ) -> None:
        self._circuit, self._live, self._others = circuit, live, others
        wires = circuit.wires.items()
        self.ports = {name: wire.direction for name, wire in wires if wire.direction and (is_top or name in live)}
        self._instances = [
            cell
            for cell in circuit.instances
            if cell.kind in others and not live.isdisjoint(wires_of(self._connected(cell, "output")))
        ]
        self._reads = {memory_of(cell) for wire, cell in circuit.results.items() if wire in live and is_read(cell)}
        inputs = [value for cell in self._instances for value in self._connected(cell, "input")]
        self._at_outputs = list(
            wires_of(value for cell in self._instances for value in self._connected(cell, "output"))
        )
        self.values = Values(circuit, uses_of(circuit, live, inputs))
        for name in (*self.ports, *circuit.wires):
            if (name in live or name in self.ports) and not is_anonymous(name):
                self.values.named(name)
        self._processes = Processes(circuit, self.values)

    def _connected(self, cell: Cell, direction: str) -> list[Value]:
        """What is connected to the ports of an instance with a direction."""
        return [cell.ports[port] for port, way in self._others[cell.kind].ports.items() if way == direction]

    def body(self) -> str:
        """The text from the ports on, without ``endmodule``."""
        ports = [
            f"{self._doc(name)}  {self._kept(name)}{way} {self._declared(name)}" for name, way in self.ports.items()
        ]
        processes = [*self._unclocked(), *self._clocked()]
        instances, wires = list(self._instance_lines()), list(self._wires())
        lines = [
            *self._registers(),
            *self._memories(),
            *(f"{self._doc(name)}  {self._declared(name)};" for name in self._at_outputs if name not in self.ports),
            *wires,
            *instances,
            *processes,
            *self._initial(),
        ]
        lines = [*self._constants("\n".join(lines)), *lines]
        header = ",\n".join(ports)
        return f"(\n{header}\n);\n" + "".join(f"{part}\n" for line in lines for part in _wrapped(line))

    def _constants(self, text: str) -> Iterator[str]:
        """Declarations of the named constants that are in a text."""
        for constant, value in self.values.constants.items():
            if re.search(rf"\b{self.values.named(constant)}\b", text):
                yield f"  localparam {_range(len(value))}{self.values.named(constant)} = {_constant(value)};"

    def _doc(self, name: str) -> str:
        return comment(self._circuit.wires[name].attributes.get("doc", ""), "  ")

    def _declared(self, name: str) -> str:
        kind = "reg" if name in self._circuit.registers or name in self._circuit.processes else "wire"
        return f"{kind} {_range(self._circuit.wires[name].width)}{self.values.named(name)}"

    def _kept(self, name: str) -> str:
        """The attribute of a duplicate, which synthesis must not merge with others."""
        is_kept = "keep" in self._circuit.wires[name].attributes and name in self._circuit.registers
        return "(* keep *) " if is_kept else ""

    def _registers(self) -> Iterator[str]:
        """Declarations of registers, and of what processes without a clock assign: those without a comment are last."""
        groups: dict[tuple[str, str], list[str]] = {}
        for name in (*self._circuit.registers, *self._circuit.processes):
            if name in self._live and name not in self.ports:
                kind, _, short = f"{self._kept(name)}{self._declared(name)}".rpartition(" ")
                groups.setdefault((self._doc(name), kind), []).append(short)
        for (doc, kind), names in sorted(groups.items(), key=lambda each: not each[0][0]):
            yield from doc.splitlines()
            yield f"  {kind} {', '.join(names)};"

    def _memories(self) -> Iterator[str]:
        for name, (width, size) in self._circuit.memories.items():
            if name in self._reads:
                yield f"  reg {_range(width)}{self.values.named(name)} [0:{size - 1}];"

    def _clocked(self) -> Iterator[str]:
        """A process for the registers with the same clock, reset and conditions."""
        groups: dict[tuple[Value, object], list[Reset]] = {}
        for name, statements in self._circuit.registers.items():
            if name in self._live and statements:
                reset = split_reset(self._circuit.wires[name].width, statements)
                key = self._circuit.clocks[name], (reset.condition, shape_of(reset.others))
                groups.setdefault(key, []).append(reset)
        for (clock, _), members in groups.items():
            yield from self._processes.clocked(clock, members)
        for cell in self._circuit.writes:
            if memory_of(cell) in self._reads:
                yield from self._processes.memory(cell)

    def _unclocked(self) -> Iterator[str]:
        """A process without a clock for each signal that has several values by conditions."""
        for name, statements in self._circuit.processes.items():
            if name in self._live:
                yield from self._processes.unclocked(statements)

    def _instance_lines(self) -> Iterator[str]:
        for cell in self._instances:
            inner, connected = self._others[cell.kind], list[str]()
            for port in inner.ports:
                connected.append(f"    .{inner.values.named(port)}({self.values.text(cell.ports[port]).text})")
            name = plain_identifier(cell.name)
            # A signal must not have the name of the instance that it is in.
            name = f"{name}_instance" if name in inner.values.names else name
            yield f"  {cell.kind} {self.values.names.take(name)} ("
            yield from (f"{each}," for each in connected[:-1])
            yield from (connected[-1], "  );")

    def _wires(self) -> Iterator[str]:
        """Declarations and assignments of wires, each behind those that it depends on."""
        circuit = self._circuit
        own = [name for name in (*circuit.connections, *circuit.results) if name in self._live]
        own = [name for name in own if not is_anonymous(name)]
        texts: dict[str, list[str]] = {}
        while names := [name for name in (*own, *self.values.shared) if name not in texts]:
            for name in names:
                declared = "" if name in self.ports else self._declared(name)
                texts[name] = [*self._doc(name).splitlines(), *self._processes.wire(declared, name)]
        for name in ordered(texts, self._sources):
            yield from texts.get(name, ())

    def _sources(self, wire: str) -> Iterable[str]:
        """What a wire depends on without a register in between."""
        return () if wire in self._circuit.registers else self._circuit.sources_of(wire)

    def _initial(self) -> Iterator[str]:
        """The initial values of registers and memories, with which an FPGA starts."""
        names = [name for name in self._circuit.registers if name in self._live and self._circuit.wires[name].init]
        if names:
            yield "  initial begin"
            for name in names:
                yield f"    {self.values.named(name)} = {_constant(self._circuit.wires[name].init)};"
            yield "  end"
        memories = [name for name in self._circuit.memories if name in self._reads]
        if memories:
            # Otherwise words that are not present are unknown in simulation.
            block, row = self.values.names.take("fill_memories"), self.values.names.take("row")
            yield from (f"  initial begin : {block}", f"    integer {row};")
            for name in memories:
                yield from self._initial_rows(name, row)
            yield "  end"

    def _initial_rows(self, memory: str, row: str) -> Iterator[str]:
        (width, size), name = self._circuit.memories[memory], self.values.named(memory)
        bits = self._circuit.initial.get(memory, ())
        if not bits:
            yield f"    for ({row} = 0; {row} < {size}; {row} = {row} + 1) {name}[{row}] = {width}'d0;"
        for number in range(size if bits else 0):
            yield f"    {name}[{number}] = {_constant(bits[number * width : (number + 1) * width])};"


def _constant(value: Value) -> str:
    [bits] = slices_of(value)
    return expressions.constant(bits.start, bits.width).text


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _wrapped(line: str) -> list[str]:
    if len(line) <= LINE or line.lstrip().startswith("//"):
        return line.splitlines()
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.strip(),
        LINE,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
