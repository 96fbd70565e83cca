# SPDX-License-Identifier: BSD-2-Clause
"""The text of modules in Verilog-2005."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce

from utf8fpga.hdl.verilog import expressions
from utf8fpga.hdl.verilog.circuit import Circuit, is_anonymous, memory_of
from utf8fpga.hdl.verilog.expressions import Text
from utf8fpga.hdl.verilog.identifiers import plain_identifier
from utf8fpga.hdl.verilog.rtlil import Assign, Cell, Slice, Statement, Switch, Value, slices_of
from utf8fpga.hdl.verilog.statements import assigned, assignments, grouped, wires_of
from utf8fpga.hdl.verilog.values import Values

LINE = 120
"""Upper bound on the characters of a line."""

_WIDE = 90
"""A concatenation with more characters is written part by part."""


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
        self.values = Values(circuit)
        for name in circuit.wires:
            if not is_anonymous(name):
                self.values.named(name)

    def body(self) -> str:
        """The text from the ports on, without ``endmodule``."""
        names = [name for name, wire in self.circuit.wires.items() if wire.direction]
        ports = ",\n".join(f"{self._declared(name)}{self.values.named(name)}" for name in names)
        processes = list(self._all_processes())
        instances, wires = list(self._instances()), list(self._wires())
        parts = [list(self._declarations()), wires, instances, processes, list(self._initial())]
        text = "\n\n".join("\n".join(lines) for lines in parts if lines)
        text = "\n".join([*self._constants(), text])
        return f"(\n{ports}\n);\n" + "".join(f"{_wrapped(line)}\n" for line in text.splitlines())

    def _constants(self) -> Iterator[str]:
        """Declarations of the named constants that were used."""
        for constant, value in self.values.constants.items():
            yield f"  localparam {_range(len(value))}{self.values.named(constant)} = {_constant(value)};"

    def _doc(self, name: str) -> str:
        return comment(self.circuit.wires[name].attributes.get("doc", ""), "  ")

    def _declared(self, name: str) -> str:
        """The declaration up to the name; a duplicate has an attribute, so that synthesis does not merge it."""
        wire = self.circuit.wires[name]
        words = ["(* keep *)"] if "keep" in wire.attributes and name in self.circuit.clocks else []
        words += [wire.direction] if wire.direction else []
        words += ["reg" if self.circuit.is_variable(name) else "wire"]
        return f"{self._doc(name)}  {' '.join(words)} {_range(wire.width)}"

    def _declarations(self) -> Iterator[str]:
        """Declarations of what processes assign, of memories, and of wires at the outputs of instances."""
        circuit = self.circuit
        names = [name for name in circuit.statements if circuit.is_variable(name)]
        instances = [(cell, self._others[cell.kind].circuit) for cell in circuit.instances]
        names += wires_of(cell.ports[port] for cell, inner in instances for port in inner.ports("output"))
        groups: dict[str, list[str]] = {}
        for name in names:
            if not circuit.wires[name].direction:
                groups.setdefault(self._declared(name), []).append(self.values.named(name))
        # Those without a comment are first, so that none seems to have that of others.
        for declared, group in sorted(groups.items(), key=lambda each: "//" in each[0]):
            yield f"{declared}{', '.join(group)};"
        for name, (width, size) in circuit.memories.items():
            yield f"  reg {_range(width)}{self.values.named(name)} [0:{size - 1}];"

    def _all_processes(self) -> Iterator[str]:
        """A process for the registers with the same reset and conditions, or for a signal with conditions."""
        circuit = self.circuit
        for name, statements in circuit.statements.items():
            if name not in circuit.clocks and circuit.is_variable(name):
                yield from self._process("*", statements, "=")
        # There is one clock.
        for block in grouped(statements for name, statements in circuit.statements.items() if name in circuit.clocks):
            clock = self.values.text(circuit.clocks[assigned(block)[0]]).text
            yield from self._process(f"(posedge {clock})", block, "<=")
        for cell in circuit.writes:
            yield from self._memory(cell)

    def _process(self, events: str, block: Sequence[Statement], operator: str) -> Iterator[str]:
        """A process that assigns when there are events, by ``<=`` or ``=``."""
        yield from (f"  always @{events} begin", *self._block(block, "    ", operator), "  end")

    def _memory(self, cell: Cell) -> Iterator[str]:
        """A process that writes a row of a memory."""
        clock, place, value = (self.values.text(cell.ports[port]).text for port in ("CLK", "ADDR", "DATA"))
        enable = cell.ports["EN"][:1]
        condition = "" if enable == (("", 1),) else f"if ({self.values.text(enable).text}) "
        yield f"  always @(posedge {clock}) {condition}{self.values.named(memory_of(cell))}[{place}] <= {value};"

    def _pieces(self, each: Assign) -> Iterator[tuple[Slice, Text]]:
        """The assignments to bits: one for adjacent ones, or for their parts if these are long."""
        names, at = self.values.enumeration(each.target), 0
        for bits in slices_of(each.target):
            parts = slices_of(each.value[at : at + bits.width])
            texts = [self.values.part(part, names) for part in parts]
            whole, at, start = expressions.concatenation(texts), at + bits.width, bits.start
            if len(whole.text) <= _WIDE or not any(text.operator for text in texts):
                yield bits, whole
                continue
            for part, text in zip(parts, texts, strict=True):
                yield Slice(bits.wire, start, part.width), text
                start += part.width

    def _block(self, statements: Iterable[Statement], indent: str, operator: str) -> Iterator[str]:
        for each in statements:
            if isinstance(each, Assign):
                for target, text in self._pieces(each):
                    yield f"{indent}{self.values.bits(target)} {operator} {text.text};"
            else:
                yield from self._branches(each, indent, indent, operator)

    def _branches(self, switch: Switch, indent: str, start: str, operator: str) -> Iterator[str]:
        """The cases one after the other."""
        for patterns, body in switch.cases:
            if not patterns and len(body) == 1 and isinstance(body[0], Switch):
                yield from self._branches(body[0], indent, start, operator)
                return
            yield f"{start}if ({self._condition(switch.selector, patterns)}) begin" if patterns else f"{start}begin"
            yield from self._block(body, f"{indent}  ", operator)
            start = f"{indent}end else "
        yield f"{indent}end"

    def _condition(self, selector: Value, patterns: Sequence[str]) -> str:
        """Whether a selector has one of some patterns, of which only the bits that matter are compared."""
        tests: list[Text] = []
        for pattern in patterns:
            bits = tuple(bit for bit, digit in zip(selector, reversed(pattern), strict=True) if digit != "-")
            value, wanted = self.values.text(bits), int(pattern.replace("-", ""), 2)
            if len(bits) == 1:
                tests.append(value if wanted else expressions.unary("~", value))
            else:
                constant = self.values.constant(wanted, len(bits), self.values.enumeration(bits))
                tests.append(expressions.binary("==", value, constant))
        return reduce(partial(expressions.binary, "|"), tests).text

    def _instances(self) -> Iterator[str]:
        for cell in self.circuit.instances:
            inner = self._others[cell.kind]
            ports = [port for port, wire in inner.circuit.wires.items() if wire.direction]
            connected = [f".{inner.values.named(port)}({self.values.text(cell.ports[port]).text})" for port in ports]
            # A signal must not have the name of the instance that it is in.
            name = plain_identifier(cell.name) + "_instance" * (cell.name in inner.values.names)
            lines = ",\n    ".join(connected)
            yield f"  {cell.kind} {self.values.names.take(name)} (\n    {lines}\n  );"

    def _wires(self) -> Iterator[str]:
        """Declarations and assignments of wires, each behind those that it depends on."""
        circuit = self.circuit
        own = [name for name in circuit.statements if not circuit.is_variable(name)]
        own += [name for name in circuit.results if not is_anonymous(name)]
        texts: dict[str, list[str]] = {}
        while names := [name for name in (*own, *self.values.parts) if name not in texts]:
            texts |= {name: list(self._wire(name)) for name in names}
        for name in self._behind_sources(texts):
            yield from texts.get(name, ())

    def _behind_sources(self, names: Iterable[str], found: dict[str, bool] | None = None) -> Iterator[str]:
        """Wires and what they depend on, each behind its sources, but for those that depend on each other."""
        found = {} if found is None else found
        for name in names:
            if name not in found:
                found[name] = True
                yield from self._behind_sources(self.circuit.sources_of(name, registers=False), found)
                yield name

    def _wire(self, name: str) -> Iterator[str]:
        """The declaration of a wire, unless it is a port, and its assignments."""
        wire, start = self.circuit.wires[name], f"{self._declared(name)}{self.values.named(name)}"
        if name in self.circuit.results:
            pieces = [(Slice(name, 0, wire.width), self.values.definition(name))]
        else:
            [only] = assignments(self.circuit.statements[name])
            pieces = list(self._pieces(only))
        if pieces[0][0].width == wire.width and not wire.direction:
            yield f"{start} = {pieces[0][1].text};"
            return
        yield from self._doc(name).splitlines() if wire.direction else [f"{start};"]
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
            for name, (width, size) in circuit.memories.items():
                words = f"{self.values.named(name)}[{row}]"
                yield f"    for ({row} = 0; {row} < {size}; {row} = {row} + 1) {words} = {width}'d0;"
            yield "  end"


def _constant(value: Value) -> str:
    return expressions.constant(slices_of(value)[0].start, len(value)).text


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _wrapped(line: str) -> str:
    """A line of at most `LINE` characters, or several."""
    indent = line[: len(line) - len(line.lstrip())]
    lines = textwrap.TextWrapper(LINE, indent, f"{indent}    ", break_long_words=False, break_on_hyphens=False)
    return line if len(line) <= LINE else lines.fill(line.strip())
