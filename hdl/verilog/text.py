# SPDX-License-Identifier: BSD-2-Clause
"""The text of modules in Verilog-2005."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from utf8fpga.hdl.verilog import expressions
from utf8fpga.hdl.verilog.circuit import Circuit, is_anonymous, memory_of
from utf8fpga.hdl.verilog.identifiers import plain_identifier
from utf8fpga.hdl.verilog.live import live_wires, ordered, uses_of, wires_of
from utf8fpga.hdl.verilog.processes import Processes
from utf8fpga.hdl.verilog.rtlil import Cell, Slice, Value
from utf8fpga.hdl.verilog.statements import Reset, merged, shape_of, split_reset
from utf8fpga.hdl.verilog.values import Values

LINE = 120
"""Upper bound on the characters of a line."""


def modules_text(circuits: Mapping[str, Circuit], top: str) -> str:
    """Modules in Verilog, the top first.

    Args:
        circuits: by name, each behind those that it has instances of.
    """
    live = live_wires(circuits, top)
    made: dict[str, _ModuleText] = {}
    written: list[str] = []
    for name, circuit in circuits.items():
        if name == top or not live[name].isdisjoint(circuit.ports("output")):
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
        ports: those that are used; of the top all.
        values: its names and expressions.
    """

    def __init__(
        self, circuit: Circuit, others: Mapping[str, _ModuleText], live: AbstractSet[str], *, is_top: bool
    ) -> None:
        self._circuit, self._live, self._others = circuit, live, others
        self.ports = [name for name, wire in circuit.wires.items() if wire.direction and (is_top or name in live)]
        self._instances = [cell for cell in circuit.instances if self._is_read_of(cell)]
        uses = uses_of(
            circuit,
            live,
            [
                cell.ports[port]
                for cell in self._instances
                for port in others[cell.kind].ports
                if others[cell.kind].direction(port) == "input"
            ],
        )
        self.values = Values(circuit, uses)
        for name in (*self.ports, *circuit.wires):
            if (name in live or name in self.ports) and not is_anonymous(name):
                self.values.named(name)
        self._process_text = Processes(circuit, self.values)

    def direction(self, port: str) -> str:
        """The direction of a port."""
        return self._circuit.wires[port].direction

    def body(self) -> str:
        """The text from the ports on, without ``endmodule``."""
        circuit = self._circuit
        ports = []
        for name in self.ports:
            doc = comment(circuit.wires[name].attributes.get("doc", ""), "  ")
            ports.append(f"{doc}  {self._kept(name)}{circuit.wires[name].direction} {self._declared(name)}")
        clocked, unclocked = list(self._clocked()), list(self._unclocked())
        instances, wires = list(self._instance_lines()), list(self._wires())
        lines = [
            *self._constants(),
            *self._registers(),
            *self._memories(),
            *self._between(),
            *(f"  {kind} {name};" for name, kind in self._process_text.variables.items()),
            *wires,
            *instances,
            *unclocked,
            *clocked,
            *self._initial(),
            *self._unread(),
        ]
        header = ",\n".join(ports)
        return f"(\n{header}\n);\n" + "".join(f"{part}\n" for line in lines for part in _wrapped(line))

    def _constants(self) -> Iterator[str]:
        for name, bits in self.values.constants.items():
            value = expressions.constant(bits).template
            yield f"  localparam {_range(len(bits))}{self.values.named(name)} = {value};"

    def _memories(self) -> Iterator[str]:
        for name, (width, size) in self._circuit.memories.items():
            if self._is_read(name):
                yield f"  reg {_range(width)}{self.values.named(name)} [0:{size - 1}];"

    def _is_read_of(self, cell: Cell) -> bool:
        """Whether anything reads an output of an instance."""
        inner = self._others.get(cell.kind)
        outputs = [port for port in inner.ports if inner.direction(port) == "output"] if inner else []
        return not self._live.isdisjoint(wires_of(cell.ports[port] for port in outputs))

    def _is_read(self, memory: str) -> bool:
        return any(memory_of(cell) == memory and wire in self._live for wire, cell in self._circuit.reads.items())

    def _declared(self, name: str) -> str:
        wire = self._circuit.wires[name]
        kind = "reg" if name in self._circuit.registers or name in self._circuit.processes else "wire"
        return f"{kind} {_range(wire.width)}{self.values.named(name)}"

    def _kept(self, name: str) -> str:
        """The attribute of a duplicate, which synthesis must not merge with others."""
        is_kept = "keep" in self._circuit.wires[name].attributes and name in self._circuit.registers
        return "(* keep *) " if is_kept else ""

    def _registers(self) -> Iterator[str]:
        """Declarations of registers, and of what processes without a clock assign: those without a comment are last."""
        names = [name for name in (*self._circuit.registers, *self._circuit.processes) if name in self._live]
        found: dict[str, dict[str, list[str]]] = {}
        for name in names:
            if name not in self.ports:
                kind, _, short = f"{self._kept(name)}{self._declared(name)}".rpartition(" ")
                doc = self._circuit.wires[name].attributes.get("doc", "")
                found.setdefault(doc, {}).setdefault(kind, []).append(short)
        for doc, kinds in sorted(found.items(), key=lambda each: not each[0]):
            yield from comment(doc, "  ").splitlines()
            yield from (f"  {kind} {', '.join(short)};" for kind, short in kinds.items())

    def _clocked(self) -> Iterator[str]:
        """A process for the registers with the same clock, reset and conditions."""
        groups: dict[tuple[Value, Value, object], list[Reset]] = {}
        for name, statements in self._circuit.registers.items():
            if name in self._live and statements:
                reset = split_reset(self._circuit.wires[name].width, statements)
                key = self._circuit.clocks[name], reset.condition, shape_of(reset.others, self.values.text)
                groups.setdefault(key, []).append(reset)
        for (clock, condition, _), members in groups.items():
            first = [each for one in members for each in one.first]
            block = merged([one.others for one in members], self.values.text)
            yield from self._process_text.clocked(clock, condition, first, block)
        for cell in self._circuit.writes:
            if not self._live.isdisjoint(wires_of([cell.ports["CLK"]])):
                yield from self._process_text.memory(cell)

    def _unclocked(self) -> Iterator[str]:
        """A process without a clock for each signal that has several values by conditions."""
        for name, statements in self._circuit.processes.items():
            if name in self._live:
                yield from self._process_text.unclocked(statements)

    def _between(self) -> Iterator[str]:
        """Declarations of the wires at outputs of instances."""
        for name in self._at_outputs():
            if name not in self.ports:
                yield from comment(self._circuit.wires[name].attributes.get("doc", ""), "  ").splitlines()
                yield f"  {self._declared(name)};"

    def _at_outputs(self) -> dict[str, None]:
        """The wires at outputs of instances."""
        values = []
        for cell in self._instances:
            inner = self._others[cell.kind]
            values += [cell.ports[port] for port in inner.ports if inner.direction(port) == "output"]
        return dict.fromkeys(wires_of(values))

    def _instance_lines(self) -> Iterator[str]:
        for cell in self._instances:
            inner, connected = self._others[cell.kind], list[str]()
            for port in inner.ports:
                text = self.values.text(cell.ports[port])
                is_output = inner.direction(port) == "output"
                outer = text.filled(self.values.bits) if is_output else self.values.written(text)
                connected.append(f"    .{inner.values.named(port)}({outer})")
            name = plain_identifier(cell.name)
            # A signal must not have the name of the instance that it is in.
            name = f"{name}_instance" if name in inner.values.names else name
            yield f"  {cell.kind} {self.values.names.take(name)} ("
            yield from (f"{each}," for each in connected[:-1])
            yield from (connected[-1], "  );")

    def _wires(self) -> Iterator[str]:
        """Declarations and assignments of wires, each behind those that it depends on."""
        circuit = self._circuit
        own = {
            name: circuit.connections[name]
            for name in circuit.connections
            if name in self._live and not is_anonymous(name)
        }
        texts: dict[str, list[str]] = {}
        while names := [name for name in (*own, *self.values.shared) if name not in texts]:
            for name in names:
                declared = "" if name in self.ports else self._declared(name)
                texts[name] = list(self._process_text.wire(declared, name, own.get(name, [])))
        for name in ordered(texts, self._sources):
            if name in texts:
                yield from comment(circuit.wires[name].attributes.get("doc", ""), "  ").splitlines()
                yield from texts[name]

    def _sources(self, wire: str) -> Iterable[str]:
        """What a wire depends on without a register in between."""
        return () if wire in self._circuit.registers else wires_of(self._circuit.values_of(wire))

    def _initial(self) -> Iterator[str]:
        """The initial values of registers and memories, with which an FPGA starts."""
        circuit, values = self._circuit, self.values
        lines = []
        for name in circuit.registers:
            if name in self._live and circuit.wires[name].init:
                lines.append(f"    {values.named(name)} = {expressions.constant(circuit.wires[name].init).template};")
        for name, bits in circuit.initial.items():
            width, size = circuit.memories[name]
            for row in range(size if self._is_read(name) else 0):
                value = bits[len(bits) - (row + 1) * width : len(bits) - row * width]
                lines.append(f"    {values.named(name)}[{row}] = {expressions.constant(value).template};")
        if lines:
            yield from ("  initial begin", *lines, "  end")
        cleared = [name for name in circuit.memories if name not in circuit.initial and self._is_read(name)]
        if cleared:
            # Otherwise words that are not present are unknown in simulation.
            yield from ("  initial begin : clear_memories", "    integer row;")
            for size in sorted({circuit.memories[name][1] for name in cleared}):
                yield f"    for (row = 0; row < {size}; row = row + 1) begin"
                for name in cleared:
                    width, rows = circuit.memories[name]
                    if rows == size:
                        yield f"      {values.named(name)}[row] = {width}'d0;"
                yield "    end"
            yield "  end"

    def _unread(self) -> Iterator[str]:
        """A wire that reads all bits that nothing else reads, by which linters know that this is intended."""
        unread: list[str] = []
        used = self._live | self._at_outputs().keys()
        for name, wire in self._circuit.wires.items():
            is_declared = name in used and (not is_anonymous(name) or name in self.values.shared)
            if is_declared and wire.direction != "output":
                unread += map(self.values.bits, _missing(name, wire.width, self.values.read.get(name, 0)))
        if unread:
            yield f"  wire {self.values.names.take('unused')} = &{{1'b0, {', '.join(unread)}}};"


def _missing(name: str, width: int, mask: int) -> Iterator[Slice]:
    """The bits of a wire that are not in a mask, in runs."""
    start = 0
    while start < width:
        end = start
        while end < width and not mask >> end & 1:
            end += 1
        if end > start:
            yield Slice(name, start, end - start)
        start = end + 1


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
