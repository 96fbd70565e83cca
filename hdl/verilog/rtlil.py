# SPDX-License-Identifier: BSD-2-Clause
"""Reads the part of Yosys's RTLIL that Amaranth writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class WireBit(NamedTuple):
    """A bit of a wire."""

    wire: str
    offset: int

    @staticmethod
    def all_of(wire: str, width: int) -> tuple[WireBit, ...]:
        """The bits of a wire."""
        return tuple(WireBit(wire, index) for index in range(width))


Bit: TypeAlias = WireBit | str
"""A bit of a wire, or a constant: ``0``, ``1`` or ``x``."""

Bits: TypeAlias = tuple[Bit, ...]
"""Bits, the lowest one first."""


@dataclass(frozen=True)
class Signal:
    """A wire.

    Attributes:
        direction: ``input`` or ``output``; empty: it is no port.
        init: its initial value, the lowest bit first; empty: none.
        doc: what it means, from the Amaranth source.
        elements: the number of signals that it consists of.
        names: the names of its values, the lowest bit of which is first, if they have any.
    """

    width: int
    direction: str = ""
    init: str = ""
    doc: str = ""
    elements: int = 1
    names: Mapping[Bits, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """An operator, a flip-flop, a port of a memory or an instance of a module."""

    name: str
    kind: str
    parameters: dict[str, str] = field(default_factory=dict)
    ports: dict[str, Bits] = field(default_factory=dict)

    @property
    def memory(self) -> str:
        """The name of the memory that the cell is a port of."""
        return self.parameters.get("MEMID", "").strip('"\\')


@dataclass(frozen=True)
class Assignment:
    """An assignment in a process; a later one overrides it."""

    target: Bits
    value: Bits

    @staticmethod
    def of(pairs: Iterable[tuple[Bit, Bit]]) -> Assignment:
        """The assignment with these pairs."""
        pairs = list(pairs)
        return Assignment(tuple(target for target, _ in pairs), tuple(value for _, value in pairs))

    def pairs(self) -> Iterator[tuple[Bit, Bit]]:
        """The bits of the target with their values."""
        return zip(self.target, self.value, strict=True)

    def moved(self, place: Callable[[Bits], Bits]) -> Assignment:
        """The same with other bits in the places of its own."""
        return Assignment(place(self.target), place(self.value))


@dataclass(frozen=True)
class Switch:
    """The statements of the first case whose patterns contain that of the selector; no pattern: any value."""

    selector: Bits
    cases: Sequence[tuple[Sequence[str], Sequence[Statement]]] = ()

    def moved(self, place: Callable[[Bits], Bits]) -> Switch:
        """The same with other bits in the places of its own."""
        cases = [(keys, [each.moved(place) for each in body]) for keys, body in self.cases]
        return Switch(place(self.selector), cases)


Statement: TypeAlias = Assignment | Switch


@dataclass
class Module:
    """A module.

    Attributes:
        signals: its wires by name; ports are in order.
        connections: bits and their drivers.
    """

    name: str
    signals: dict[str, Signal] = field(default_factory=dict)
    memories: dict[str, tuple[int, int]] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    processes: list[Sequence[Statement]] = field(default_factory=list)
    connections: list[Assignment] = field(default_factory=list)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\\$]\S+|\[\d+(?::\d+)?\]|[^\s,]+')


def read_rtlil(text: str) -> dict[str, Module]:
    """The modules by name, the top first."""
    lines = [_TOKEN.findall(line) for line in text.splitlines() if line.strip()]
    modules = _Reader(lines[::-1]).modules()
    return {module.name: module for module in modules}


class _Reader:
    """Reads lines of tokens, of which the next is the last one of the list."""

    def __init__(self, lines: list[list[str]]) -> None:
        self._lines = lines
        self._module = Module("")

    def modules(self) -> Iterator[Module]:
        while self._lines:
            word, *tokens = self._lines.pop()
            if word == "module":
                self._module = Module(_plain(tokens[0]))
                self._read_module()
                yield self._module

    def _read_module(self) -> None:
        module, attributes = self._module, dict[str, str]()
        while (line := self._lines.pop()) != ["end"]:
            word, *tokens = line
            if word == "attribute":
                attributes[_plain(tokens[0])] = tokens[1]
                continue
            if word == "wire":
                direction = next((each for each in tokens if each in ("input", "output")), "")
                init = attributes.get("init", "").partition("'")[2][::-1]
                doc = ast.literal_eval(attributes["doc"]) if "doc" in attributes else ""
                base = ast.literal_eval(attributes.get("enum_base_type", "''"))
                names: dict[Bits, str] = {
                    tuple(reversed(attribute.removeprefix("enum_value_"))): f"{base}_{ast.literal_eval(value)}".upper()
                    for attribute, value in attributes.items()
                    if attribute.startswith("enum_value_")
                }
                module.signals[_plain(tokens[-1])] = Signal(int(tokens[1]), direction, init, doc, names=names)
            elif word == "memory":
                module.memories[_plain(tokens[-1])] = int(tokens[1]), int(tokens[3])
            elif word == "cell":
                module.cells.append(self._cell(*tokens))
            elif word == "process":
                self._add_process(self._statements())
                self._lines.pop()
            else:
                assert word == "connect", f"unexpected {word} in RTLIL"
                module.connections.append(Assignment(*self._operands(tokens)))
            attributes = {}

    def _add_process(self, statements: list[Statement]) -> None:
        """Add a process; one without conditions connects bits, each with the value of its last assignment."""
        values: dict[Bit, Bit] = {}
        for each in statements:
            if isinstance(each, Switch):
                self._module.processes.append(statements)
                return
            values.update(each.pairs())
        self._module.connections.append(Assignment.of(values.items()))

    def _cell(self, kind: str, name: str) -> Cell:
        cell = Cell(_plain(name), _plain(kind))
        while (line := self._lines.pop()) != ["end"]:
            word, name, *tokens = line
            if word == "connect":
                cell.ports[_plain(name)] = self._operands(tokens)[0]
            elif word == "parameter":
                cell.parameters[_plain(name)] = tokens[-1]
        return cell

    def _statements(self) -> list[Statement]:
        """The statements up to the next ``end`` or ``case``, which remains."""
        found: list[Statement] = []
        while self._lines[-1][0] not in ("end", "case"):
            word, *tokens = self._lines.pop()
            if word == "assign":
                found.append(Assignment(*self._operands(tokens)))
            elif word == "switch":
                cases = []
                while (line := self._lines.pop()) != ["end"]:
                    if line[0] == "case":
                        cases.append(([each.partition("'")[2] for each in line[1:]], self._statements()))
                found.append(Switch(self._operands(tokens)[0], cases))
        return found

    def _operands(self, tokens: list[str]) -> list[Bits]:
        """The operands of a line; the parts of a concatenation are written from the highest one on."""
        found: list[Bits] = []
        parts: list[Bits] | None = None
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            if token == "{":
                parts = []
            elif token == "}":
                assert parts is not None
                found.append(tuple(bit for part in reversed(parts) for bit in part))
                parts = None
            else:
                if token[0] in "\\$":
                    is_sliced = at < len(tokens) and tokens[at][0] == "["
                    bits = self._slice(_plain(token), tokens[at] if is_sliced else "")
                    at += is_sliced
                else:
                    bits = tuple(reversed(token.partition("'")[2]))
                (found if parts is None else parts).append(bits)
        return found

    def _slice(self, wire: str, indices: str) -> Bits:
        first, _, last = indices.strip("[]").partition(":")
        high = int(first) if first else self._module.signals[wire].width - 1
        low = int(last or first) if first else 0
        return tuple(WireBit(wire, index) for index in range(low, high + 1))


def _plain(name: str) -> str:
    return name.removeprefix("\\")
