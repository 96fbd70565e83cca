# SPDX-License-Identifier: BSD-2-Clause
"""Reads the part of Yosys's RTLIL that Amaranth writes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from utf8fpga.model.exceptions import InvalidArgumentError


class Slice(NamedTuple):
    """Adjacent bits of a wire."""

    wire: str
    start: int
    width: int


class Constant(NamedTuple):
    """Bits ``0``, ``1`` or ``x``, the highest one first."""

    bits: str

    @property
    def width(self) -> int:
        return len(self.bits)


Part: TypeAlias = Slice | Constant
Value: TypeAlias = tuple[Part, ...]
"""Bits side by side, the lowest part first."""


def width_of(value: Iterable[Part]) -> int:
    """The number of bits of a value."""
    return sum(part.width for part in value)


def joined(parts: Iterable[Part]) -> Value:
    """Parts side by side, in which adjacent bits of one wire are one part.

    >>> joined([Slice("a", 0, 2), Slice("a", 2, 1), Constant("0"), Constant("1")])
    (Slice(wire='a', start=0, width=3), Constant(bits='10'))
    """
    found: list[Part] = []
    for part in parts:
        last = found[-1] if found else None
        if isinstance(part, Constant) and isinstance(last, Constant):
            found[-1] = Constant(part.bits + last.bits)
        elif (
            isinstance(part, Slice)
            and isinstance(last, Slice)
            and (last.wire, last.start + last.width) == (part.wire, part.start)
        ):
            found[-1] = Slice(last.wire, last.start, last.width + part.width)
        elif part.width:
            found.append(part)
    return tuple(found)


def sliced(value: Value, start: int, width: int) -> Value:
    """Adjacent bits of a value.

    >>> sliced((Slice("a", 4, 2), Constant("01")), 1, 2)
    (Slice(wire='a', start=5, width=1), Constant(bits='1'))
    """
    found: list[Part] = []
    at = 0
    for part in value:
        low, high = max(start - at, 0), min(start + width - at, part.width)
        if low < high and isinstance(part, Slice):
            found.append(Slice(part.wire, part.start + low, high - low))
        elif low < high and isinstance(part, Constant):
            found.append(Constant(part.bits[part.width - high : part.width - low]))
        at += part.width
    return tuple(found)


def extended(value: Value, width: int, *, signed: bool = False) -> Value:
    """A value with zeros, or copies of its sign, above it up to a width, or without the bits above the width."""
    missing = width - width_of(value)
    if missing <= 0:
        return sliced(value, 0, width)
    sign = sliced(value, width_of(value) - 1, 1) if signed and value else (Constant("0"),)
    return joined([*value, *(sign * missing)])


@dataclass
class Wire:
    """A wire.

    Attributes:
        direction: ``input`` or ``output``; empty: it is no port.
        init: its initial value, the highest bit first; empty: none.
        attributes: the other attributes; ``doc`` is a comment from the source.
    """

    width: int
    direction: str = ""
    init: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass
class Cell:
    """An operator, a flip-flop, a port of a memory or an instance of a module."""

    kind: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    ports: dict[str, Value] = field(default_factory=dict)

    def number(self, parameter: str) -> int:
        """The value of a parameter."""
        text = self.parameters[parameter]
        width, _, bits = text.partition("'")
        return int(bits or "0", 2) if _ else int(width)


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


@dataclass
class Module:
    """A module as it is written.

    Attributes:
        memories: by name the width and the number of the rows.
    """

    name: str
    wires: dict[str, Wire] = field(default_factory=dict)
    memories: dict[str, tuple[int, int]] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    processes: list[list[Statement]] = field(default_factory=list)
    connections: list[Assign] = field(default_factory=list)


def read_rtlil(text: str) -> list[Module]:
    """The modules in their order.

    Raises:
        InvalidArgumentError: it has a statement that Amaranth did not write when this was written.
    """
    lines = [line.split() for line in text.splitlines() if line and not line.isspace()]
    return list(_Reader(lines[::-1]).modules())


class _Reader:
    """Reads lines of words, of which the next is the last one of the list."""

    def __init__(self, lines: list[list[str]]) -> None:
        self._lines = lines
        self._module = Module("")

    def modules(self) -> Iterator[Module]:
        while self._lines:
            word, *words = self._lines.pop()
            if word == "module":
                self._module = Module(plain(words[0]))
                self._read_module()
                yield self._module

    def _read_module(self) -> None:
        module, attributes = self._module, dict[str, str]()
        while (line := self._lines.pop()) != ["end"]:
            word, *words = line
            if word == "attribute":
                attributes[plain(words[0])] = " ".join(words[1:])
                continue
            if word == "wire":
                module.wires[plain(words[-1])] = _wire(words, attributes)
            elif word == "memory":
                module.memories[plain(words[-1])] = int(words[1]), int(words[3])
            elif word == "cell":
                module.cells.append(self._cell(*words))
            elif word == "process":
                module.processes.append(self._statements())
                self._lines.pop()
            elif word == "connect":
                module.connections.append(Assign(*self._operands(words)))
            else:
                raise InvalidArgumentError(f"module {module.name}: the Verilog writer does not know {word!r} in RTLIL")
            attributes = {}

    def _cell(self, kind: str, name: str) -> Cell:
        cell = Cell(plain(kind), plain(name))
        while (line := self._lines.pop()) != ["end"]:
            if line[0] == "connect":
                cell.ports[plain(line[1])] = self._operands(line[2:])[0]
            elif line[0] == "parameter":
                cell.parameters[plain(line[-2])] = line[-1]
        return cell

    def _statements(self) -> list[Statement]:
        """The statements up to the next ``end`` or ``case``, which remains."""
        found: list[Statement] = []
        while self._lines[-1][0] not in ("end", "case"):
            word, *words = self._lines.pop()
            if word == "assign":
                found.append(Assign(*self._operands(words)))
            elif word == "switch":
                switch = Switch(self._operands(words)[0])
                while (line := self._lines.pop()) != ["end"]:
                    if line[0] == "case":
                        patterns = tuple(each.rstrip(",").partition("'")[2] for each in line[1:] if each != ",")
                        switch.cases.append((patterns, self._statements()))
                # Without a selector it only keeps its assignments behind the switch before it.
                found += [switch] if switch.selector else switch.cases[0][1]
        return found

    def _operands(self, words: Sequence[str]) -> list[Value]:
        """The operands of a line; the parts of a concatenation are written from the highest one on."""
        found: list[Value] = []
        parts: list[Part] | None = None
        for at, word in enumerate(words):
            if word == "{}":
                found.append(())
            elif word == "{":
                parts = []
            elif word == "}":
                found.append(joined(reversed(parts or [])))
                parts = None
            elif word[0] != "[":
                place = words[at + 1] if word[0] in "\\$" and at + 1 < len(words) else ""
                part = self._part(word, place if place.startswith("[") else "")
                if parts is None:
                    found.append(joined([part]))
                else:
                    parts.append(part)
        return found

    def _part(self, word: str, place: str) -> Part:
        if word[0] not in "\\$":
            return Constant(word.partition("'")[2])
        wire = plain(word)
        if not place:
            return Slice(wire, 0, self._module.wires[wire].width)
        high, _, low = place[1:-1].partition(":")
        start = int(low or high)
        return Slice(wire, start, int(high) - start + 1)


def _wire(words: Sequence[str], attributes: dict[str, str]) -> Wire:
    direction = next((each for each in words if each in ("input", "output")), "")
    init = attributes.get("init", "").partition("'")[2]
    texts = {name: ast.literal_eval(value) for name, value in attributes.items() if value.startswith('"')}
    if "keep" in attributes:
        texts["keep"] = "1"
    return Wire(int(words[1]), direction, init, texts)


def plain(name: str) -> str:
    """A public name without its backslash; a name that RTLIL made up keeps its dollar sign."""
    return name.removeprefix("\\")
