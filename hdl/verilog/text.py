# SPDX-License-Identifier: BSD-2-Clause
"""The text of modules in Verilog-2005."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping

from utf8fpga.hdl.verilog import expressions
from utf8fpga.hdl.verilog.circuit import Circuit, is_anonymous
from utf8fpga.hdl.verilog.identifiers import plain_identifier
from utf8fpga.hdl.verilog.live import ordered, uses_of
from utf8fpga.hdl.verilog.processes import Processes
from utf8fpga.hdl.verilog.rtlil import Slice, Statement, Value, slices_of
from utf8fpga.hdl.verilog.statements import grouped, wires_of
from utf8fpga.hdl.verilog.values import Values

LINE = 120
"""Upper bound on the characters of a line."""


def modules_text(circuits: Mapping[str, Circuit]) -> str:
    """Modules in Verilog, the top first.

    Args:
        circuits: by name, each behind those that it has instances of.
    """
    made: dict[str, _ModuleText] = {}
    written: list[str] = []
    for name, circuit in circuits.items():
        made[name] = _ModuleText(circuit, made)
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
        values: its names and expressions.
    """

    def __init__(self, circuit: Circuit, others: Mapping[str, _ModuleText]) -> None:
        self.circuit, self._others = circuit, others
        self.values = Values(circuit, uses_of(circuit))
        for name in circuit.wires:
            if not is_anonymous(name):
                self.values.named(name)
        self._processes = Processes(self.values)

    def body(self) -> str:
        """The text from the ports on, without ``endmodule``."""
        circuit = self.circuit
        ports = [
            f"{self._doc(name)}  {self._kept(name)}{wire.direction} {self._declared(name)}"
            for name, wire in circuit.wires.items()
            if wire.direction
        ]
        processes = [*self._unclocked(), *self._clocked()]
        instances, wires = list(self._instances()), list(self._wires())
        lines = [
            *self._variables(),
            *self._at_outputs(),
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
        return comment(self.circuit.wires[name].attributes.get("doc", ""), "  ")

    def _declared(self, name: str) -> str:
        kind = "reg" if self.circuit.is_variable(name) else "wire"
        return f"{kind} {_range(self.circuit.wires[name].width)}{self.values.named(name)}"

    def _kept(self, name: str) -> str:
        """The attribute of a duplicate, which synthesis must not merge with others."""
        return "(* keep *) " if "keep" in self.circuit.wires[name].attributes and name in self.circuit.clocks else ""

    def _variables(self) -> Iterator[str]:
        """Declarations of what processes assign: those without a comment are last."""
        groups: dict[tuple[str, str], list[str]] = {}
        for name in self.circuit.statements:
            if self.circuit.is_variable(name) and not self.circuit.wires[name].direction:
                kind, _, short = f"{self._kept(name)}{self._declared(name)}".rpartition(" ")
                groups.setdefault((self._doc(name), kind), []).append(short)
        for (doc, kind), names in sorted(groups.items(), key=lambda each: not each[0][0]):
            yield from doc.splitlines()
            yield f"  {kind} {', '.join(names)};"
        for name, (width, size) in self.circuit.memories.items():
            yield f"  reg {_range(width)}{self.values.named(name)} [0:{size - 1}];"

    def _at_outputs(self) -> Iterator[str]:
        """Declarations of the wires at outputs of instances."""
        for cell in self.circuit.instances:
            for name in wires_of(cell.ports[port] for port in self._others[cell.kind].circuit.ports("output")):
                if not self.circuit.wires[name].direction:
                    yield f"{self._doc(name)}  {self._declared(name)};"

    def _clocked(self) -> Iterator[str]:
        """A process for the registers with the same clock, reset and conditions."""
        circuit = self.circuit
        clocks: dict[Value, list[list[Statement]]] = {}
        for name, statements in circuit.statements.items():
            if name in circuit.clocks:
                clocks.setdefault(circuit.clocks[name], []).append(statements)
        for clock, blocks in clocks.items():
            for block in grouped(blocks):
                yield from self._processes.clocked(clock, block)
        for cell in circuit.writes:
            yield from self._processes.memory(cell)

    def _unclocked(self) -> Iterator[str]:
        """A process without a clock for each signal that has several values by conditions."""
        for name, statements in self.circuit.statements.items():
            if self.circuit.is_variable(name) and name not in self.circuit.clocks:
                yield from self._processes.unclocked(statements)

    def _instances(self) -> Iterator[str]:
        for cell in self.circuit.instances:
            inner = self._others[cell.kind]
            connected = [
                f"    .{inner.values.named(port)}({self.values.text(cell.ports[port]).text})"
                for port, wire in inner.circuit.wires.items()
                if wire.direction
            ]
            name = plain_identifier(cell.name)
            # A signal must not have the name of the instance that it is in.
            name = f"{name}_instance" if name in inner.values.names else name
            yield f"  {cell.kind} {self.values.names.take(name)} ("
            yield from (f"{each}," for each in connected[:-1])
            yield from (connected[-1], "  );")

    def _wires(self) -> Iterator[str]:
        """Declarations and assignments of wires, each behind those that it depends on."""
        circuit = self.circuit
        own = [name for name in circuit.statements if not circuit.is_variable(name)]
        own += [name for name in circuit.results if not is_anonymous(name)]
        texts: dict[str, list[str]] = {}
        while names := [name for name in (*own, *self.values.shared) if name not in texts]:
            texts |= {name: [*self._doc(name).splitlines(), *self._wire(name)] for name in names}
        for name in ordered(texts, lambda wire: circuit.sources_of(wire, registers=False)):
            yield from texts.get(name, ())

    def _wire(self, name: str) -> Iterator[str]:
        """The declaration of a wire, unless it is a port, and its assignments."""
        wire = self.circuit.wires[name]
        whole = Slice(name, 0, wire.width)
        [*pieces] = (
            [(whole, self.values.definition(name))]
            if name in self.circuit.results
            else self._processes.pieces(self.circuit.statements[name][0])
        )
        if pieces[0][0] == whole and not wire.direction:
            yield f"  {self._declared(name)} = {pieces[0][1].text};"
            return
        if not wire.direction:
            yield f"  {self._declared(name)};"
        for target, text in pieces:
            yield f"  assign {self.values.bits(target)} = {text.text};"

    def _initial(self) -> Iterator[str]:
        """The initial values of registers and memories, with which an FPGA starts."""
        circuit = self.circuit
        registers = [name for name in circuit.statements if name in circuit.clocks and circuit.wires[name].init]
        if registers:
            yield "  initial begin"
            for name in registers:
                yield f"    {self.values.named(name)} = {_constant(circuit.wires[name].init)};"
            yield "  end"
        if circuit.memories:
            # Otherwise words that are not present are unknown in simulation.
            block, row = self.values.names.take("fill_memories"), self.values.names.take("row")
            yield from (f"  initial begin : {block}", f"    integer {row};")
            for name in circuit.memories:
                yield from self._initial_rows(name, row)
            yield "  end"

    def _initial_rows(self, memory: str, row: str) -> Iterator[str]:
        (width, size), name, bits = (
            self.circuit.memories[memory],
            self.values.named(memory),
            self.circuit.initial[memory],
        )
        if ("", 1) not in bits:
            yield f"    for ({row} = 0; {row} < {size}; {row} = {row} + 1) {name}[{row}] = {width}'d0;"
            return
        for number in range(size):
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
