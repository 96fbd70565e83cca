# SPDX-License-Identifier: BSD-2-Clause
"""Divides wires of which some bits depend on others, which is a combinational loop for tools that look at whole wires.

With ``w[1] = ~w[0]`` the wire ``w`` depends on itself for such a tool, of which Verilator 5.006 is one. So may several
wires in a circle, also of different modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

from utf8fpga.hdl.verilog.identifiers import Names

__all__ = ["without_loops_of_wires"]

Bit: TypeAlias = tuple[str, int | str]
"""A module, and a bit in Yosys's JSON: a number for a net of one bit, or a string for a constant."""

_BY_BIT = {"$mux": "AB", "$and": "AB", "$or": "AB", "$xor": "AB", "$xnor": "AB", "$not": "A", "$buf": "A"}
"""Cells each bit of whose output depends on the same bit of these inputs, which have its width, and on all others."""


def without_loops_of_wires(design: dict[str, Any]) -> dict[str, Any]:
    """A design in which no wire depends on itself, by way of others or directly, as long as no bit does.

    Args:
        design: in the form of Yosys's JSON. Each module has one instance, and each net is in one wire of its module.
    """
    modules = design["modules"]
    group = _groups(
        [[(name, bit) for bit in wire["bits"]] for name in modules for wire in modules[name]["netnames"].values()],
        _sources(modules),
    )
    parts = {name: _Parts(name, module, group) for name, module in modules.items()}
    return {"modules": {name: part.module(parts) for name, part in parts.items()}}


def _sources(modules: Mapping[str, Any]) -> dict[Bit, list[Bit]]:
    """The bits on which each bit depends through one cell without registers, or through a port of an instance."""
    found: dict[Bit, list[Bit]] = {}
    for name, module in modules.items():
        for cell in module["cells"].values():
            signals = cell["connections"]
            if child := modules.get(cell["type"]):
                for port, content in child["ports"].items():
                    for inner, outer in zip(content["bits"], signals[port], strict=True):
                        ends = (cell["type"], inner), (name, outer)
                        target, source = ends if content["direction"] == "input" else ends[::-1]
                        found.setdefault(target, []).append(source)
            elif "Y" in signals:
                by_bit = _BY_BIT.get(cell["type"], "")
                common = [bit for port, bits in signals.items() if port not in f"Y{by_bit}" for bit in bits]
                for index, bit in enumerate(signals["Y"]):
                    own = [signals[port][index] for port in by_bit]
                    found.setdefault((name, bit), []).extend((name, source) for source in common + own)
    return found


def _groups(wires: Sequence[Sequence[Bit]], sources: Mapping[Bit, Sequence[Bit]]) -> dict[Bit, int]:
    """A number for bits by which their wires are to be divided; the others have no number.

    As long as there are wires in circles, one of them is divided: into the bits that depend on these wires and those
    that do not, or into those that these wires depend on and those that they do not, whichever makes the fewest parts.
    """
    found: dict[Bit, int] = {}
    for number in count(1):
        wires, circle = _circular(wires, sources)
        inside = {bit for index in circle for bit in wires[index]}
        ends = {bit for bit in inside if not inside.isdisjoint(sources.get(bit, ()))}
        read = {source for bit in ends for source in sources[bit]}
        cuts = [
            (len(_runs([bit in chosen for bit in wires[index]])), index, chosen)
            for chosen in (ends, read)
            for index in sorted(circle)
        ]
        cut = min((cut for cut in cuts if cut[0] > 1), default=None, key=lambda cut: cut[:2])
        if cut is None:
            return found
        _, index, chosen = cut
        parts = [[bit for bit in wires[index] if (bit in chosen) == kind] for kind in (False, True)]
        found.update(dict.fromkeys(parts[1], number))
        wires = [*wires[:index], *parts, *wires[index + 1 :]]
    raise AssertionError


def _circular(
    wires: Sequence[Sequence[Bit]], sources: Mapping[Bit, Sequence[Bit]]
) -> tuple[Sequence[Sequence[Bit]], set[int]]:
    """The wires in circles and between them, and the indices of those that depend on each other."""
    owner = {bit: index for index, wire in enumerate(wires) for bit in wire}
    before = [{owner[each] for bit in wire for each in sources.get(bit, ()) if each in owner} for wire in wires]
    after: list[set[int]] = [set() for _ in wires]
    for index, found in enumerate(before):
        for source in found:
            after[source].add(index)
    waiting = [index for index in range(len(wires)) if not before[index] or not after[index]]
    removed = set(waiting)
    while waiting:
        index = waiting.pop()
        for neighbours, back in ((before, after), (after, before)):
            for each in neighbours[index]:
                back[each].discard(index)
                if not back[each] and each not in removed:
                    removed.add(each)
                    waiting.append(each)
    rest = [index for index in range(len(wires)) if index not in removed]
    circles = (_reached(index, before) & _reached(index, after) for index in rest)
    circle = next(filter(None, circles), set())
    return [wires[index] for index in rest], {rest.index(index) for index in circle}


def _reached(start: int, edges: Sequence[set[int]]) -> set[int]:
    """The nodes of a graph that are reached by at least one edge."""
    found: set[int] = set()
    waiting = [start]
    while waiting:
        new = edges[waiting.pop()] - found
        found |= new
        waiting += new
    return found


class _Parts:
    """The parts of a module's wires."""

    def __init__(self, module: str, content: Mapping[str, Any], group: Mapping[Bit, int]) -> None:
        memories = (cell["parameters"].get("MEMID", "") for cell in content["cells"].values())
        names = Names()
        for taken in (*content["netnames"], *content["cells"], *memories):
            names.take(taken.removeprefix("\\"))
        self._content = content
        self._parts: dict[str, list[tuple[str, slice]]] = {}
        self._new: dict[int, str] = {}
        for wire, signal in content["netnames"].items():
            bits = signal["bits"]
            runs = _runs([group.get((module, bit), 0) for bit in bits])
            self._parts[wire] = [
                (wire if len(runs) == 1 else names.take(_name(wire, len(bits), run)), run) for run in runs
            ]
            if len(runs) > 1:
                self._new.update((bit, part) for part, run in self._parts[wire] for bit in bits[run])

    def module(self, parts: Mapping[str, _Parts]) -> dict[str, Any]:
        """The JSON of the module with the parts as wires and ports, given those of all modules."""
        cells: dict[str, Any] = {}
        for name, cell in self._content["cells"].items():
            if child := parts.get(cell["type"]):
                cells[name] = cell | {"connections": child.of_ports(cell["connections"])}
            else:
                cells.update(self._pieces(name, cell))
        divided = {
            kind: {
                part: signal | {"bits": signal["bits"][run]}
                for name, signal in self._content[kind].items()
                for part, run in self._parts[name]
            }
            for kind in ("ports", "netnames")
        }
        return {**self._content, **divided, "cells": cells}

    def of_ports(self, signals: Mapping[str, list[Any]]) -> dict[str, Any]:
        """The connections of an instance of this module."""
        return {part: bits[run] for port, bits in signals.items() for part, run in self._parts[port]}

    def _pieces(self, name: str, cell: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """A cell as one for each part that it assigns, if its type allows that."""
        signals = cell["connections"]
        owners = [self._new.get(bit, "") for bit in signals.get("Y", ())]
        if cell["type"] not in _BY_BIT or not any(owners):
            yield name, cell
            return
        for run in _runs(owners):
            divided = {port: signals[port][run] for port in f"Y{_BY_BIT[cell['type']]}"}
            width = {key: f"{run.stop - run.start:032b}" for key in cell["parameters"] if key.endswith("WIDTH")}
            yield (
                f"{name}${run.start}",
                cell | {"connections": signals | divided, "parameters": cell["parameters"] | width},
            )


def _runs(values: Sequence[Any]) -> list[slice]:
    """The runs of equal values.

    >>> _runs("aab")
    [slice(0, 2, None), slice(2, 3, None)]
    """
    starts = [index for index in range(len(values)) if index == 0 or values[index] != values[index - 1]]
    return [slice(*each) for each in zip(starts, [*starts[1:], len(values)], strict=True)]


def _name(wire: str, width: int, run: slice) -> str:
    """The name of a part of a wire, which may itself be a part of a wire with a name.

    >>> _name("slot_8_4", 5, slice(1, 3)), _name("count", 3, slice(2, 3)), _name("$1$0", 3, slice(2, 3))
    ('slot_6_5', 'count_2', '$1$0$2')
    """
    found = re.fullmatch(r"(\w+?)_(\d+)_(\d+)", wire)
    base, first = (found[1], int(found[3])) if found and int(found[2]) - int(found[3]) == width - 1 else (wire, 0)
    low, high = first + run.start, first + run.stop - 1
    if wire.startswith("$"):
        return f"{wire}${low}"
    return f"{base}_{low}" if low == high else f"{base}_{high}_{low}"
