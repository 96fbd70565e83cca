# SPDX-License-Identifier: BSD-2-Clause
"""Reads the part of Yosys's RTLIL that Amaranth writes."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from utf8fpga.model.exceptions import InvalidArgumentError

Bit: TypeAlias = tuple[str, int]
"""A wire and the place of the bit in it; without a name it is a constant, 0 or 1."""

Value: TypeAlias = tuple[Bit, ...]
"""Bits side by side, the lowest first."""


class Slice(NamedTuple):
    """Adjacent bits of a wire; of a constant, whose name is empty, `start` is the value."""

    wire: str
    start: int
    width: int


def bits_of(wire: str, width: int, start: int = 0) -> Value:
    """Adjacent bits of a wire."""
    return tuple((wire, at) for at in range(start, start + width))


def extended(value: Value, width: int, *, signed: bool = False) -> Value:
    """A value with zeros, or copies of its sign, above it up to a width, or without the bits above the width."""
    above = value[-1] if signed and value else ("", 0)
    return (value + (above,) * (width - len(value)))[:width]


def slices_of(value: Value) -> list[Slice]:
    """A value in as few parts as possible, the lowest first.

    >>> slices_of((("a", 2), ("a", 3), ("", 0), ("", 1)))
    [Slice(wire='a', start=2, width=2), Slice(wire='', start=2, width=2)]
    """
    found: list[Slice] = []
    for wire, at in value:
        last = found[-1] if found else Slice("", 0, 0)
        if wire == last.wire == "":
            found[-1:] = [Slice("", last.start | at << last.width, last.width + 1)]
        elif (wire, at) == (last.wire, last.start + last.width) and found[-2:] != [last, last]:
            found[-1] = Slice(wire, last.start, last.width + 1)
        else:
            found.append(Slice(wire, at, 1))
    return found


@dataclass
class Wire:
    """A wire.

    Attributes:
        direction: ``input`` or ``output``; empty: it is no port.
        init: its initial value; empty: none.
        attributes: as they are written, but texts without quotes; ``doc`` is a comment from the source.
    """

    width: int
    direction: str = ""
    init: Value = ()
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass
class Cell:
    """An operator, a flip-flop, a port of a memory or an instance of a module."""

    kind: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    ports: dict[str, Value] = field(default_factory=dict)

    def number(self, parameter: str) -> int:
        """The value of a parameter; 0 without it."""
        return int(self.parameters.get(parameter, "0"))


@dataclass
class Assign:
    """An assignment in a process; a later one overrides it."""

    target: Value
    value: Value


@dataclass
class Switch:
    """The statements of the first case with a pattern that the selector has; no pattern: any value."""

    selector: Value
    cases: list[tuple[tuple[str, ...], list[Statement]]] = field(default_factory=list)


Statement: TypeAlias = Assign | Switch


_OPERAND = re.compile(
    r"\{(?P<parts>[^}]*)\}|\d+'(?P<digits>[01x-]*)|(?P<wire>[\\$]\S+)(?: \[(?P<high>\d+)(?::(?P<low>\d+))?\])?"
)


class Module:
    """The only module of a text, with another name.

    Attributes:
        memories: by name the width and the number of the rows.

    Raises:
        InvalidArgumentError: it has a statement that Amaranth did not write when this was written.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.wires: dict[str, Wire] = {}
        self.memories: dict[str, tuple[int, int]] = {}
        self.cells: list[Cell] = []
        self.processes: list[list[Statement]] = []
        self.connections: list[Assign] = []
        # The next line is the last one.
        self._lines = [line.strip() for line in reversed(text.splitlines()) if line.strip()]
        self._read()

    def _read(self) -> None:
        attributes: dict[str, str] = {}
        while (line := self._lines.pop()) != "end":
            word, *words = line.split()
            if word == "attribute":
                attributes[_plain(words[0])] = " ".join(words[1:])
                continue
            if word == "wire":
                self.wires[_plain(words[-1])] = _wire(words, attributes)
            elif word == "memory":
                self.memories[_plain(words[-1])] = int(words[1]), int(words[3])
            elif word == "cell":
                self.cells.append(self._cell(*words))
            elif word == "process":
                self.processes.append(self._statements())
                self._lines.pop()
            elif word == "connect":
                self.connections.append(Assign(*self._operands(line)))
            elif word != "module":
                raise InvalidArgumentError(f"module {self.name}: the Verilog writer does not know {word!r} in RTLIL")
            attributes = {}

    def _cell(self, kind: str, name: str) -> Cell:
        cell = Cell(_plain(kind), _plain(name))
        while (line := self._lines.pop()) != "end":
            word, port, value = line.split(maxsplit=2)
            if word == "connect":
                [cell.ports[_plain(port)]] = self._operands(value)
            else:
                cell.parameters[_plain(port)] = value
        return cell

    def _statements(self) -> list[Statement]:
        """The statements up to the next ``end`` or ``case``, which remains."""
        found: list[Statement] = []
        while not self._lines[-1].startswith(("end", "case")):
            word, _, rest = self._lines.pop().partition(" ")
            if word == "assign":
                found.append(Assign(*self._operands(rest)))
                continue
            switch = Switch(self._operands(rest)[0])
            while (line := self._lines.pop()) != "end":
                switch.cases.append((tuple(re.findall(r"'([01-]+)", line)), self._statements()))
            # Without a selector it only keeps its assignments behind the switch before it.
            found += [switch] if switch.selector else switch.cases[0][1]
        return found

    def _operands(self, text: str) -> list[Value]:
        """The operands of a line."""
        return [self._operand(match) for match in _OPERAND.finditer(text)]

    def _operand(self, match: re.Match[str]) -> Value:
        """An operand; the parts of a concatenation are written from the highest one on."""
        if match["parts"] is not None:
            return tuple(bit for part in reversed(self._operands(match["parts"])) for bit in part)
        if match["wire"] is None:
            return _constant(match["digits"])
        name = _plain(match["wire"])
        if match["high"] is None:
            return bits_of(name, self.wires[name].width)
        high, low = int(match["high"]), int(match["low"] or match["high"])
        return bits_of(name, high + 1 - low, low)


def _constant(digits: str) -> Value:
    """A constant, written with the highest bit first; a bit that does not matter is 0."""
    return tuple(("", int(digit == "1")) for digit in reversed(digits))


def _wire(words: list[str], attributes: dict[str, str]) -> Wire:
    direction = next((each for each in words if each in ("input", "output")), "")
    init = _constant(attributes.get("init", "").partition("'")[2])
    texts = {name: ast.literal_eval(value) if value[0] == '"' else value for name, value in attributes.items()}
    return Wire(int(words[1]), direction, init, texts)


def _plain(name: str) -> str:
    """A public name without its backslash; only a name that RTLIL made up begins with a dollar sign."""
    return name.lstrip("\\$") if name.startswith("\\") else name
