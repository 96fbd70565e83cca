# SPDX-License-Identifier: BSD-2-Clause
"""The text of modules in Verilog-2005."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from utf8fpga.hdl.verilog.arrange import (
    alias_places,
    field_places,
    memory_port_places,
    rearranged,
    vector_places,
    with_instance_names,
    with_members,
    with_port_names,
    without_number,
)
from utf8fpga.hdl.verilog.contents import Contents, find_live, is_anonymous, merged, size_of, targets
from utf8fpga.hdl.verilog.expressions import Expression, bits_of, divided_in, leaf, reduced, runs, text, wires_of
from utf8fpga.hdl.verilog.identifiers import Names, plain_identifier
from utf8fpga.hdl.verilog.rtlil import Assignment, Bit, Bits, Module, Statement, Switch, WireBit

_LINE = 120
"""Upper bound on the characters of a line."""

_COMMON = {"axi_clk": "clk", "axi_rst": "rst"}
"""Signals with the same name in each module."""


class Part(NamedTuple):
    """A component: what it does, and for each of its members whether it is an ``input`` or an ``output``."""

    doc: str
    members: Mapping[str, str]


def modules_text(
    modules: Mapping[str, Module],
    ports: Sequence[str],
    parts: Mapping[str, Part],
) -> str:
    """Modules in Verilog, the top first; instances with the same text share a module.

    Args:
        modules: the modules by the path of their instance, the top first.
    """
    modules = rearranged(modules, memory_port_places)
    modules = with_instance_names(with_members(modules, {path: each.members for path, each in parts.items()}))
    modules = with_port_names(rearranged(modules, field_places))
    live = {name: each.live_signals() for name, each in _contents(modules).items()}
    modules = rearranged(modules, lambda module: vector_places(module, live[module.name]))
    modules = rearranged(modules, alias_places)
    contents = _contents(modules)
    top, *others = modules
    names = Names()
    names.take(top)
    made: dict[str, _ModuleText] = {}
    found: dict[str, tuple[str, str]] = {}
    # Those inside an instance come after it.
    for path in [*reversed(others), top]:
        order = ports if path == top else None
        while True:
            made[path] = _ModuleText(contents[path], made, order)
            body = made[path].body()
            if not made[path].divided:
                break
            # Only the text shows which further cells need a wire; then it is written anew.
            contents[path] = contents[path].divide(made[path].divided)
        if body not in found:
            words = [plain_identifier(re.sub(r"\$\d+$|_\d+$", "", part)) for part in path.split(".")]
            found[body] = (
                (top if path == top else names.take("_".join(words))),
                parts[without_number(path)].doc if without_number(path) in parts else "",
            )
        made[path].name = found[body][0]
    return "\n".join(f"{_comment(doc)}module {name} {body}endmodule\n" for body, (name, doc) in reversed(found.items()))


def _contents(modules: Mapping[str, Module]) -> dict[str, Contents]:
    found = {name: Contents(module, modules) for name, module in modules.items()}
    find_live(found)
    for each in found.values():
        each.count_uses()
    return found


def _comment(doc: str, indent: str = "") -> str:
    lines: list[str] = []
    for paragraph in doc.split("\n\n"):
        lines += textwrap.wrap(" ".join(paragraph.split()), _LINE - 3 - len(indent)) or []
    return "".join(f"{indent}// {line}\n" for line in lines)


class _Reference(NamedTuple):
    """Adjacent bits of a wire."""

    wire: str
    first: int
    last: int


class _ModuleText:
    """The text of a module.

    `body` finds which bits are read and which names are used while it writes, so it is called once.

    Attributes:
        divided: the cells that need a wire, without which the text of the body is not valid.
    """

    def __init__(
        self,
        contents: Contents,
        others: Mapping[str, _ModuleText],
        ports: Sequence[str] | None,
    ) -> None:
        self.name, self.divided = "", set[str]()
        self._contents, self._others = contents, others
        self._signals = contents.signals
        self._live = contents.live_signals()
        self._names, self._chosen = Names(), dict[str, str]()
        self._registered = {bit.wire for each in contents.registers for bit in each.bits if isinstance(bit, WireBit)}
        found = [name for name, signal in self._signals.items() if signal.direction and name in self._live]
        order = ports or sorted(
            found, key=lambda name: (name not in _COMMON, self._signals[name].direction == "output")
        )
        self.ports = {name: self._signals[name] for name in order}
        for name in self.ports:
            self.named(name)
        self._loop, self._index = self._names.take("lane"), self._names.take("i")
        self._loops, self._indices = False, list[str]()
        self._read: set[Bit] = set()
        self._constants: dict[str, str] = {}

    def named(self, signal: str) -> str:
        """The name of a signal in Verilog."""
        if signal not in self._chosen:
            short = _COMMON.get(signal) or re.sub(r"\$\d+$", "", signal).replace("__payload", "")
            self._chosen[signal] = self._names.take(plain_identifier(short))
        return self._chosen[signal]

    def body(self) -> str:
        """The text from the ports on, without ``endmodule``."""
        header = ",\n".join(
            _comment(signal.doc, "  ") + f"  {signal.direction} {self._declared(name)}"
            for name, signal in self.ports.items()
        )
        instances, processes, wires = list(self._instances()), list(self._processes()), list(self._wires())
        memories = [
            f"  reg {_range(width)}{self.named(name)} [0:{size - 1}];"
            for name, (width, size) in self._contents.module.memories.items()
        ]
        variables = [f"  genvar {self._loop};"] * self._loops + [f"  integer {', '.join(self._indices)};"] * bool(
            self._indices
        )
        lines = [
            *(f"  localparam {declared};" for declared in self._constants.values()),
            *self._registers(),
            *memories,
            *variables,
            *wires,
            *instances,
            *processes,
            *self._initial(),
            *self._sink(),
        ]
        return f"(\n{header}\n);\n" + "".join(f"{part}\n" for line in lines for part in _wrapped(line))

    def _registers(self) -> Iterator[str]:
        """Declarations of registers: one line for all of one width with the same comment; last those without any."""
        found: dict[str, dict[str, list[str]]] = {}
        for name, signal in self._signals.items():
            if name in self._registered & self._live and name not in self.ports:
                found.setdefault(signal.doc, {}).setdefault(_range(signal.width), []).append(self.named(name))
        for doc, widths in sorted(found.items(), key=lambda each: not each[0]):
            yield from _comment(doc, "  ").splitlines()
            yield from (f"  reg {width}{', '.join(names)};" for width, names in widths.items())

    def _declared(self, signal: str) -> str:
        kind = "reg" if signal in self._registered else "wire"
        return f"{kind} {_range(self._signals[signal].width)}{self.named(signal)}"

    def _text(self, expression: Expression) -> str:
        """The text of an expression, whose bits are read."""
        self._note(expression)
        return text(reduced(expression), self._slice)

    def _note(self, expression: Expression) -> None:
        """Note the bits that an expression reads, and the cells that need a wire for it."""
        self._read.update(bits_of(expression))
        self.divided.update(divided_in(expression))

    def _target(self, bits: Bits) -> str:
        return text(leaf(bits), self._slice)

    def _slice(self, wire: str, first: int, last: int) -> str:
        name = self.named(wire)
        is_whole = wire in self._contents.module.memories or wire in self._constants
        if is_whole or (first == 0 and last == self._signals[wire].width - 1):
            return name
        return f"{name}[{first}]" if first == last else f"{name}[{last}:{first}]"

    def _wires(self) -> Iterator[str]:
        """Declarations and assignments of wires, each behind those that it depends on."""
        contents = self._contents
        values: dict[str, Bits] = {}
        # An expression may need further wires.
        while new := {name: bits for name, bits in contents.wires() if name not in values}:
            values |= new
            for bits in new.values():
                contents.definition(bits)
        instances = {
            bit.wire: None
            for cell in contents.instances
            for port, signal in self._others[cell.kind].ports.items()
            if signal.direction == "output"
            for bit in cell.ports[port]
            if isinstance(bit, WireBit)
        }
        for name in self._order(values, instances):
            if name in values:
                if name in self._registered:
                    raise AssertionError(f"{self._contents.module.name}: some bits of {name} are no registers")
                yield from self._wire(name, values[name])
            elif name not in self.ports and name not in self._registered:
                yield from _comment(self._signals[name].doc, "  ").splitlines()
                yield f"  {self._declared(name)};"

    def _order(self, values: Mapping[str, Bits], instances: Collection[str]) -> list[str]:
        """The wires in an order in which each is behind those that its value depends on."""
        found: dict[str, None] = {}
        visited: set[str] = set()

        def visit(name: str) -> None:
            if name not in visited:
                visited.add(name)
                for wire in wires_of(self._contents.definition(values[name])) if name in values else ():
                    if wire in values or wire in instances:
                        visit(wire)
                found[name] = None

        for name in [*values, *(each for each in instances if each in self._live)]:
            visit(name)
        return list(found)

    def _wire(self, name: str, bits: Bits) -> Iterator[str]:
        """The declaration of a wire, unless it is a port, and its assignments."""
        yield from _comment(self._signals[name].doc, "  ").splitlines()
        pieces = list(self._pieces(bits, self._contents.definition, self._loop))
        if name not in self.ports:
            if len(pieces) == 1 and pieces[0].target == self.named(name):
                yield f"  {self._declared(name)} = {pieces[0].value};"
                return
            yield f"  {self._declared(name)};"
        for piece in pieces:
            assignment = f"assign {piece.target} = {piece.value};"
            if piece.number:
                self._loops = True
                yield f"  {_for(self._loop, piece)} begin : {self._names.take(f'each_{self.named(name)}')}"
                yield f"    {assignment}"
                yield "  end"
            else:
                yield f"  {assignment}"

    def _instances(self) -> Iterator[str]:
        for cell in self._contents.instances:
            inner = self._others[cell.kind]
            connected = []
            for port, signal in inner.ports.items():
                bits = cell.ports[port]
                outer = self._target(bits) if signal.direction == "output" else self._text(self._contents.value(bits))
                connected.append(f"    .{inner.named(port)}({outer})")
            if any(signal.direction == "output" for signal in inner.ports.values()):
                yield f"  {inner.name} {self._names.take(plain_identifier(without_number(cell.name)))} ("
                yield from (f"{each}," for each in connected[:-1])
                yield connected[-1]
                yield "  );"

    def _processes(self) -> Iterator[str]:
        contents = self._contents
        for block in merged(each.statements for each in contents.registers if not contents.live.isdisjoint(each.bits)):
            if self._index in self._indices:
                # For Yosys an index of two blocks has two drivers.
                self._index = self._names.take("i")
            yield f"  always @(posedge {self._text(leaf([contents.clock]))}) begin"
            yield from self._block(_reset_first(block), "    ")
            yield "  end"
        for cell in contents.writes:
            enable = self._text(contents.value(cell.ports["EN"][:1]))
            place = f"{self.named(cell.memory)}[{self._text(contents.value(cell.ports['ADDR']))}]"
            condition = f"if ({enable}) " if enable != "1'b1" else ""
            value = self._text(contents.value(cell.ports["DATA"]))
            yield f"  always @(posedge {self._text(leaf([contents.clock]))}) {condition}{place} <= {value};"

    def _block(self, statements: Iterable[Statement], indent: str) -> Iterator[str]:
        for each in statements:
            if isinstance(each, Assignment):
                yield from self._assignments(dict(each.pairs()), indent)
            else:
                yield from self._branches(each, indent, indent)

    def _branches(self, switch: Switch, indent: str, start: str) -> Iterator[str]:
        """A switch as conditions one after the other; that of an only statement behind ``else`` is in the same line."""
        for keys, body in switch.cases:
            if not keys and len(body) == 1 and isinstance(body[0], Switch):
                yield from self._branches(body[0], indent, start)
                return
            condition = self._text(self._contents.condition(switch.selector, keys)) if keys else ""
            yield f"{start}{f'if ({condition}) ' if condition else ''}begin"
            yield from self._block(body, f"{indent}  ")
            start = f"{indent}end else "
        yield f"{indent}end"

    def _assignments(self, values: Mapping[Bit, Bit], indent: str) -> Iterator[str]:
        """Nonblocking assignments; those in adjacent loops over the same elements are in one."""
        pieces: list[_Piece] = []
        targets_of: dict[str, list[WireBit]] = {}
        for bit in values:
            if isinstance(bit, WireBit):
                targets_of.setdefault(bit.wire, []).append(bit)
        for found in targets_of.values():
            bits = tuple(sorted(found))
            pieces += self._pieces(bits, lambda part: self._contents.value(values[bit] for bit in part), self._index)
        for (_, number), group in groupby(pieces, key=lambda piece: (piece.first, piece.number)):
            same = list(group)
            inner = indent
            if number:
                if self._index not in self._indices:
                    self._indices.append(self._index)
                inner = f"{indent}  "
                yield f"{indent}{_for(self._index, same[0])} begin"
            yield from (f"{inner}{piece.target} <= {piece.value};" for piece in same)
            if number:
                yield f"{indent}end"

    def _pieces(self, bits: Bits, value: Callable[[Bits], Expression], variable: str) -> Iterator[_Piece]:
        """The assignments to bits of one wire; those to elements with values of the same form are one, in a loop."""
        for run in runs(bits):
            whole = value(run)
            loops = list(self._loops_of(run, value, variable)) if whole.operator == "{}" else []
            # The elements of a vector are assigned one by one, if their values are more than bits.
            if any(piece.number for piece in loops) or (loops and any(size_of(part) > 1 for part in whole.operands)):
                yield from loops
            else:
                yield _Piece(self._target(run), self._text(self._named_values(run, whole)))

    def _loops_of(self, run: Bits, value: Callable[[Bits], Expression], variable: str) -> Iterator[_Piece]:
        assert isinstance(run[0], WireBit)
        signal = self._signals[run[0].wire]
        size = signal.width // signal.elements
        if signal.elements < 2 or len(run) < signal.width:
            return
        forms = [self._form(run[at : at + size], value) for at in range(0, signal.width, size)]
        start = 0
        while start < len(forms):
            end = start + 1
            while end < len(forms) and _is_next(forms[start:end], forms[end]):
                end += 1
            number = end - start if end - start > 2 else 1  # No loop for two elements.
            first_two = forms[start : start + min(number, 2)]
            target, written = (self._in_loop(first_two, start, variable, part) for part in (0, 1))
            yield _Piece(target, written, start, number) if number > 1 else _Piece(target, written)
            start += number

    def _named_values(self, bits: Bits, value: Expression) -> Expression:
        """The value of bits, in which those values of their signal that have a name are named constants."""
        names = self._signals[bits[0].wire].names if isinstance(bits[0], WireBit) else {}
        if value.operator == "?":
            choice, *arms = value.operands
            return replace(value, operands=(choice, *(self._named_values(bits, arm) for arm in arms)))
        if value.operator or value.bits not in names:
            return value
        name = names[value.bits]
        if name not in self._constants:
            self._constants[name] = f"{_range(value.width)}{self.named(name)} = {self._text(value)}"
        return leaf(WireBit.all_of(name, value.width))

    def _form(self, bits: Bits, value: Callable[[Bits], Expression]) -> _Form:
        """The form of the assignment to some bits."""
        found: list[_Reference] = []

        def refer(*place: Any) -> str:
            found.append(_Reference(*place))
            return "\0"

        expression = self._named_values(bits, value(bits))
        self._note(expression)
        return _Form(f"{text(leaf(bits), refer)}\1{text(reduced(expression), refer)}", found)

    def _in_loop(self, forms: Sequence[_Form], start: int, variable: str, part: int) -> str:
        """The target (`part` 0) or the value (1) of an assignment to the element `variable`.

        The forms are those of the elements `start` and `start` + 1, or of the former alone, without a loop.
        """
        texts = []
        for number, place in enumerate(forms[0].references):
            stride = forms[1].references[number].first - place.first if len(forms) > 1 else 0
            if not stride:
                texts.append(self._slice(*place))
                continue
            index = variable if stride == 1 else f"{stride}*{variable}"
            if offset := place.first - stride * start:
                index = f"{index} {'+-'[offset < 0]} {abs(offset)}"
            size = place.last - place.first + 1
            texts.append(f"{self.named(place.wire)}[{index}{f' +: {size}' if size > 1 else ''}]")
        written = iter(texts)
        return re.sub("\0", lambda _: next(written), forms[0].text).split("\1")[part]

    def _initial(self) -> Iterator[str]:
        """The initial values of registers, with which an FPGA starts."""
        values = {
            self.named(name): self._text(leaf(signal.init))
            for name, signal in self._signals.items()
            if name in self._registered & self._live and signal.init
        }
        if values:
            yield "  initial begin"
            yield from (f"    {name} = {value};" for name, value in values.items())
            yield "  end"

    def _sink(self) -> Iterator[str]:
        """A wire that reads all bits that nothing else reads, by which linters know that this is intended."""
        live, clock = self._contents.live_signals(), self._contents.clock
        unread = [
            bit
            for name, signal in self._signals.items()
            if name in live and signal.direction != "output"
            if not is_anonymous(WireBit(name, 0)) and WireBit(name, 0) != clock
            for bit in WireBit.all_of(name, signal.width)
            if bit not in self._read
        ]
        if unread:
            bits = ", ".join(self._text(leaf(run)) for run in runs(tuple(unread)))
            yield f"  wire {self._names.take('unused')} = &{{1'b0, {bits}}};"


class _Piece(NamedTuple):
    """An assignment; with `number`, it is for each of so many elements from `first` on."""

    target: str
    value: str
    first: int = 0
    number: int = 0


class _Form(NamedTuple):
    """The text of an assignment with ``\\0`` in place of each reference, and ``\\1`` between target and value."""

    text: str
    references: list[_Reference]


def _is_next(forms: Sequence[_Form], form: _Form) -> bool:
    """Whether a form continues others: its wires are the same, with indices that grow by the same number each time."""
    last = forms[-1]
    if form.text != last.text or len(form.references) != len(last.references):
        return False
    for number, place in enumerate(form.references):
        before = last.references[number]
        if place.wire != before.wire or place.last - place.first != before.last - before.first:
            return False
        if len(forms) > 1 and place.first - before.first != before.first - forms[-2].references[number].first:
            return False
    return True


def _for(variable: str, piece: _Piece) -> str:
    return f"for ({variable} = {piece.first}; {variable} < {piece.first + piece.number}; {variable} = {variable} + 1)"


def _reset_first(block: Sequence[Statement]) -> Sequence[Statement]:
    """A block with its reset in front of the other assignments, which it overrides."""
    *others, last = block
    if others and isinstance(last, Switch) and len(last.cases) == 1:
        [(keys, body)] = last.cases
        pairs = (pair for each in body if isinstance(each, Assignment) for pair in each.pairs())
        if {to for to, value in pairs if isinstance(value, str)}.issuperset(targets(block)):
            return [Switch(last.selector, [(keys, body), ([], others)])]
    return block


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


def _wrapped(line: str) -> list[str]:
    if len(line) <= _LINE or line.lstrip().startswith("//"):
        return line.splitlines()
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line.strip(),
        _LINE,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
