# SPDX-License-Identifier: BSD-2-Clause
"""The netlist that becomes Verilog: plain names, ports in order, and no bits that nothing reads.

The netlist has the form of Yosys's JSON. A *bit* there is a number for a net of one bit, or a string for a constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from utf8fpga.hdl.verilog.identifiers import Names, plain_identifier

__all__ = ["tidy"]

Bit: TypeAlias = int | str

_ANONYMOUS = re.compile(r"port\$\d+\$\d+$")
"""The names that Amaranth gives to ports that are no whole signal."""

_COMPARISONS = frozenset({"$lt", "$le", "$eq", "$ne", "$ge", "$gt"})
"""Cells whose operands are extended to the width of the wider one."""

_SAME_WIDTH = frozenset({"$not", "$and", "$or", "$xor", "$xnor", "$add", "$sub", "$neg"})
"""Cells of whose operands only the bits within the width of the result have an effect."""

_BY_BIT = {"$dff": ("Q", "D"), "$mux": ("Y", "A", "B")}
"""Cells each bit of whose output depends on the same bit of some inputs: the output, and these inputs."""

_COMMON = {"axi_clk": "clk", "axi_rst": "rst"}
"""Signals with the same name in each module."""


def tidy(design: dict[str, Any], top: str, ports: Sequence[str], first: dict[str, Any]) -> dict[str, Any]:
    """A design whose modules have plain Verilog identifiers, and only ports and wires that are read.

    Each module but the top must have one instance. Modules are named by the top and the path of their instance.

    Args:
        design: the design in the form of Yosys's JSON.
        top: the name of the top module, which is not changed.
        ports: the ports of the top in the order in which they are declared.
        first: the design before it was simplified, for initial values. Yosys's `opt_hier` loses those of registers
            that are bits of an output port that nothing reads.
    """
    for content in design["modules"].values():
        for cell in content["cells"].values():
            _compare_with_zero(cell)
    modules = {
        name: _Module(content, _initial_values(first["modules"][name])) for name, content in design["modules"].items()
    }
    order = list(_preorder(modules, top))
    for name in order:
        modules[name].remove_unread_bits()
    for name in reversed(order):
        modules[name].find_reads(modules)
    for name in order:
        modules[name].find_needed_outputs(modules)
    names = Names()
    modules[top].name = names.take(top)
    for name in order[1:]:
        path = name.removeprefix(f"{top}.").removeprefix(_CORE).split(".")
        modules[name].name = names.take("_".join([top, *(plain_identifier(_unnumbered(part)) for part in path)]))
    for name in order:
        modules[name].name_ports(ports if name == top else None)
    return {"modules": {modules[name].name: modules[name].renamed(modules, is_top=name == top) for name in order}}


def _compare_with_zero(cell: dict[str, Any]) -> None:
    """Replace a logical negation, which Verilator wants to be of one bit, by a comparison with 0."""
    if cell["type"] != "$logic_not":
        return
    parameters = cell["parameters"]
    width = len(cell["connections"]["A"])
    cell["type"] = "$eq"
    cell["parameters"] = {**parameters, "B_WIDTH": parameters["A_WIDTH"], "B_SIGNED": parameters["A_SIGNED"]}
    cell["port_directions"] = {**cell["port_directions"], "B": "input"}
    cell["connections"] = {**cell["connections"], "B": ["0"] * width}


_CORE = "core."
"""What the names have in front that come from the core, which is a part of the top."""


def _preorder(modules: dict[str, _Module], name: str) -> Iterator[str]:
    yield name
    for cell in modules[name].cells.values():
        if cell["type"] in modules:
            yield from _preorder(modules, cell["type"])


@dataclass(frozen=True)
class _Part:
    """Adjacent bits of a wire or a port that has them from `start` on, and their name."""

    name: str
    start: int
    bits: tuple[Bit, ...]


@dataclass
class _Module:
    """A module.

    Attributes:
        content: its JSON.
        first_values: the initial values before it was simplified, see `_initial_values`.
        name: its new name.
        needed: per port the indices of the bits that are read: inside for inputs, outside for outputs.
        reads: the bits that are read inside.
        parts: per port the ports that replace it.
    """

    content: dict[str, Any]
    first_values: Mapping[tuple[str, int], str]
    name: str = ""
    needed: dict[str, set[int]] = field(default_factory=dict)
    reads: set[Bit] = field(default_factory=set)
    parts: dict[str, list[_Part]] = field(default_factory=dict)
    _names: Names = field(default_factory=Names)
    _last_bit: int = 0

    def __post_init__(self) -> None:
        # Bits of output ports that are assigned have numbers behind all others.
        self._last_bit = max(
            (bit for wire in self.content["netnames"].values() for bit in wire["bits"] if isinstance(bit, int)),
            default=0,
        )

    @property
    def cells(self) -> dict[str, Any]:
        found: dict[str, Any] = self.content["cells"]
        return found

    def _ports(self, direction: str) -> dict[str, list[Bit]]:
        return {name: port["bits"] for name, port in self.content["ports"].items() if port["direction"] == direction}

    def remove_unread_bits(self) -> None:
        """Remove the bits of registers, multiplexers and results that no output depends on, and cells without bits."""
        found = self._effective_bits()
        for name, cell in list(self.cells.items()):
            _narrow(cell, found)
            outputs = _outputs(cell)
            if outputs and found.isdisjoint(bit for port in outputs for bit in cell["connections"][port]):
                del self.cells[name]

    def _effective_bits(self) -> set[Bit]:
        """The bits that outputs, memories and instances of modules depend on."""
        drivers = {
            bit: (cell, index)
            for cell in self.cells.values()
            for port in _outputs(cell)
            for index, bit in enumerate(cell["connections"][port])
        }
        waiting = [bit for bits in self._ports("output").values() for bit in bits]
        for cell in self.cells.values():
            if not _outputs(cell):
                waiting += [bit for bits in cell["connections"].values() for bit in bits]
        found: set[Bit] = set()
        while waiting:
            bit = waiting.pop()
            if bit not in found:
                found.add(bit)
                waiting += _inputs(*drivers[bit]) if bit in drivers else []
        return found

    def find_reads(self, modules: dict[str, _Module]) -> None:
        """Find the bits of inputs that are read, after those of all instances."""
        for cell in self.cells.values():
            child = modules.get(cell["type"])
            for port, bits in cell["connections"].items():
                if child and port in child.needed:
                    self.reads.update(bits[index] for index in child.needed[port])
                elif not child and cell["port_directions"][port] == "input":
                    self.reads.update(bits)
        outputs = {bit for bits in self._ports("output").values() for bit in bits}
        for port, bits in self._ports("input").items():
            self.needed[port] = {index for index, bit in enumerate(bits) if bit in self.reads or bit in outputs}

    def find_needed_outputs(self, modules: dict[str, _Module]) -> None:
        """Find the bits of outputs of the instances that are read."""
        for port, bits in self._ports("output").items():
            self.reads.update(bits[index] for index in self.needed.setdefault(port, set(range(len(bits)))))
        for cell in self.cells.values():
            if child := modules.get(cell["type"]):
                for port in child._ports("output"):
                    bits = cell["connections"].get(port, [])
                    child.needed[port] = {index for index, bit in enumerate(bits) if bit in self.reads}

    def name_ports(self, order: Sequence[str] | None) -> None:
        """Choose the ports that replace each port; those of the top, with a specified order, remain."""
        ports = self.content["ports"]
        if order is not None:
            for name in order:
                self._names.take(name)
                self.parts[name] = [_Part(name, 0, tuple(ports[name]["bits"]))]
            return
        # Clock and reset, inputs, outputs.
        for name in sorted(ports, key=lambda name: (name not in _COMMON, name, ports[name]["direction"] == "output")):
            bits = ports[name]["bits"]
            base, first = self._alias(bits) if _ANONYMOUS.search(name) else (_base(name), None)
            self.parts[name] = list(self._parts(base, bits, self.needed[name], first))

    def _alias(self, bits: Sequence[Bit]) -> tuple[str, int | None]:
        """The smallest wire with a name that has these bits, and the index of the first one; None: it has no others."""
        found = []
        for name, wire in self.content["netnames"].items():
            if not wire["hide_name"] and not _ANONYMOUS.search(name) and not name.removeprefix(_CORE).startswith("$"):
                whole = wire["bits"]
                for start in (index for index, bit in enumerate(whole) if bit == bits[0]):
                    if whole[start : start + len(bits)] == bits:
                        found.append((len(whole), _base(name), start if len(whole) > len(bits) else None))
        return min(found, default=(0, "wires", None), key=lambda each: each[:2])[1:]

    def _parts(
        self, base: str, bits: Sequence[Bit], indices: Iterable[int], first: int | None = None
    ) -> Iterator[_Part]:
        """Names for the runs of adjacent indices; `first` is the number of the first bit in the wire `base`."""
        for run in _runs(indices):
            low, high = run[0] + (first or 0), run[-1] + (first or 0)
            name = base
            if first is not None or len(run) < len(bits):
                name = f"{base}_{low}" if low == high else f"{base}_{high}_{low}"
            yield _Part(self._names.take(name), run[0], _at(bits, run))

    def renamed(self, modules: dict[str, _Module], *, is_top: bool) -> dict[str, Any]:
        """The JSON of the module with new names."""
        cells: dict[str, Any] = {}
        for number, (name, cell) in enumerate(self.cells.items()):
            if child := modules.get(cell["type"]):
                cells[self._names.take(_base(name))] = child.instance(cell)
                continue
            if cell["type"] == "$mem_v2":
                memory = self._names.take(_base(cell["parameters"]["MEMID"].removeprefix("\\")))
                cell = cell | {"parameters": cell["parameters"] | {"MEMID": f"\\{memory}"}}
            cells[f"$cell${number}"] = _fitted(cell)
        drivers = self._drivers(modules)
        ports, wires, owned = {}, [], set[Bit]()
        for port, parts in self.parts.items():
            direction = self.content["ports"][port]["direction"]
            for part in parts:
                bits = part.bits
                if direction == "output" and (is_top or not _is_own(bits, owned, drivers)):
                    bits = tuple(self._new_bit() for _ in bits)
                    cells[f"$assign${part.name}"] = _unary("$buf", part.bits, bits)
                ports[part.name] = {"direction": direction, "bits": list(bits)}
                wires.append(_Part(part.name, 0, bits))
                owned.update(bits)
        if is_top and (
            unread := [bit for bits in self._ports("input").values() for bit in bits if bit not in self.reads]
        ):
            # Their reduction to one bit, with a name that contains `unused`, tells linters that this is intended.
            wires.append(_Part(self._names.take("unused"), 0, (self._new_bit(),)))
            cells["$unused"] = _unary("$reduce_and", ["0", *unread], wires[-1].bits)
        wires += self._wires(owned, drivers)
        place = {bit: (part.name, index) for part in wires for index, bit in enumerate(part.bits)}
        divided = {new: part for name, cell in cells.items() for new, part in _divided(name, cell, place)}
        return {"attributes": {}, "ports": ports, "cells": divided, "netnames": self._declared(wires)}

    def _new_bit(self) -> int:
        self._last_bit += 1
        return self._last_bit

    def instance(self, cell: dict[str, Any]) -> dict[str, Any]:
        """The JSON of the cell that is the instance of this module."""
        connections = {}
        for port, parts in self.parts.items():
            for part in parts:
                bits = cell["connections"][port]
                connections[part.name] = bits[part.start : part.start + len(part.bits)]
        return {"hide_name": 0, "type": self.name, "parameters": {}, "attributes": {}, "connections": connections}

    def _drivers(self, modules: dict[str, _Module]) -> dict[Bit, str]:
        """The kinds of the drivers of bits: ``register``, or an output of an instance; no other bits are in it."""
        drivers: dict[Bit, str] = {}
        for name, cell in self.cells.items():
            for port, bits in cell["connections"].items():
                child = modules.get(cell["type"])
                if child and child.content["ports"][port]["direction"] == "output":
                    drivers.update(dict.fromkeys(bits, f"{name}.{port}"))
                elif "dff" in cell["type"] and port == "Q":
                    drivers.update(dict.fromkeys(bits, "register"))
        return drivers

    def _wires(self, owned: set[Bit], drivers: dict[Bit, str]) -> Iterator[_Part]:
        """The wires but the ports: each bit that is read is in one, the widest one with a name.

        A wire is divided if its bits have drivers of different kinds: registers are declared in another way than wires,
        and outputs of which one depends on another would be a loop of one wire.
        """
        wires = self.content["netnames"]
        for name in sorted(wires, key=lambda name: _rank(name, wires[name], is_port=name in self.parts)):
            bits, hidden = wires[name]["bits"], wires[name]["hide_name"]
            free: dict[str, list[int]] = {}
            for index, bit in enumerate(bits):
                if isinstance(bit, int) and bit in self.reads and bit not in owned:
                    owned.add(bit)
                    free.setdefault(drivers.get(bit, ""), []).append(index)
            for indices in free.values():
                if hidden:
                    yield from (_Part(f"${name}${run[0]}", run[0], _at(bits, run)) for run in _runs(indices))
                else:
                    yield from self._parts(_base(name), bits, indices)

    def _declared(self, parts: Iterable[_Part]) -> dict[str, Any]:
        """The JSON of wires, with the initial values of their bits."""
        initial: dict[Bit, str] = {}
        stored = {bit for cell in self.cells.values() if "dff" in cell["type"] for bit in cell["connections"]["Q"]}
        for wire, content in self.content["netnames"].items():
            for index, bit in enumerate(content["bits"]):
                if bit in stored and (value := self.first_values.get((wire, index), "x")) != "x":
                    initial[bit] = value
        assert stored <= initial.keys(), "a register without an initial value"
        found = {}
        for part in parts:
            init = "".join(initial.get(bit, "x") for bit in reversed(part.bits))
            attributes = {"init": init} if set(init) != {"x"} else {}
            hidden = int(part.name.removeprefix(_CORE).startswith("$"))
            found[part.name] = {"hide_name": hidden, "bits": list(part.bits), "attributes": attributes}
        return found


def _initial_values(module: dict[str, Any]) -> dict[tuple[str, int], str]:
    """The initial values of a module's registers, for each name and index of a bit."""
    values: dict[Bit, str] = {}
    for wire in module["netnames"].values():
        given = zip(wire["bits"], reversed(wire["attributes"].get("init", "")), strict=False)
        values.update((bit, value) for bit, value in given if value != "x")
    return {
        (name, index): values[bit]
        for name, wire in module["netnames"].items()
        for index, bit in enumerate(wire["bits"])
        if bit in values
    }


def _is_own(bits: Sequence[Bit], owned: set[Bit], drivers: dict[Bit, str]) -> bool:
    """Whether an output port can be a wire or register of bits that have drivers of one kind and no other port."""
    own = set(bits)
    return (
        len(own) == len(bits)
        and own.isdisjoint(owned)
        and all(isinstance(bit, int) for bit in own)
        and len({drivers.get(bit, "") for bit in own}) == 1
    )


def _outputs(cell: dict[str, Any]) -> list[str]:
    """The output ports of a cell with one output; none for memories and instances of modules."""
    directions = cell.get("port_directions", {})
    found = [port for port, direction in directions.items() if direction == "output"]
    return found if cell["type"].startswith("$") and not cell["type"].startswith("$mem") else []


def _inputs(cell: dict[str, Any], index: int) -> list[Bit]:
    """The bits on which a bit of a cell's output depends."""
    by_bit, outputs = _BY_BIT.get(cell["type"], ()), _outputs(cell)
    return [
        bit
        for port, bits in cell["connections"].items()
        if port not in outputs
        for bit in (bits[index : index + 1] if port in by_bit else bits)
    ]


def _narrow(cell: dict[str, Any], wanted: set[Bit]) -> None:
    """Remove the bits of a cell that are not wanted, as far as its type allows."""
    connections, parameters = cell["connections"], cell["parameters"]
    if by_bit := _BY_BIT.get(cell["type"], ()):
        kept = [index for index, bit in enumerate(connections[by_bit[0]]) if bit in wanted]
        connections |= {port: list(_at(connections[port], kept)) for port in by_bit}
        parameters["WIDTH"] = f"{len(kept):032b}"
    elif cell["type"] in _SAME_WIDTH:
        result = connections["Y"]
        while len(result) > 1 and result[-1] not in wanted:
            result.pop()
        parameters["Y_WIDTH"] = f"{len(result):032b}"


def _fitted(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell whose operands have the width of its operation."""
    kind, signals, settings = cell["type"], cell["connections"], cell["parameters"]
    if kind in _COMPARISONS:
        width = max(len(signals["A"]), len(signals["B"]))
    elif kind in _SAME_WIDTH:
        width = len(signals["Y"])
    else:
        return cell
    operands = {"A", "B"} & signals.keys()
    is_signed = all(int(settings[f"{name}_SIGNED"], 2) for name in operands)
    changed = {}
    for name in operands:
        bits = signals[name]
        changed[name] = [*bits, *[bits[-1] if is_signed else "0"] * (width - len(bits))][:width]
    widths = {f"{name}_WIDTH": f"{width:032b}" for name in operands}
    return cell | {"connections": signals | changed, "parameters": settings | widths}


def _divided(
    name: str, cell: dict[str, Any], place: dict[Bit, tuple[str, int]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A register as one for each run of adjacent bits of a wire, without bits that nothing reads."""
    if "dff" not in cell["type"]:
        yield name, cell
        return
    signals, settings = cell["connections"], cell["parameters"]
    runs: list[list[int]] = []
    for index, bit in enumerate(signals["Q"]):
        if bit in place:
            wire, at = place[bit]
            if index and runs and runs[-1][-1] == index - 1 and place[signals["Q"][index - 1]] == (wire, at - 1):
                runs[-1].append(index)
            else:
                runs.append([index])
    for run in runs:
        changed = {port: list(_at(signals[port], run)) for port in ("D", "Q")}
        values = {key: value[::-1] for key, value in settings.items() if key.endswith("RST_VALUE")}
        new = {key: "".join(reversed(_at(value, run))) for key, value in values.items()}
        width = {"WIDTH": f"{len(run):032b}"}
        yield f"{name}${run[0]}", cell | {"connections": signals | changed, "parameters": settings | new | width}


def _unary(kind: str, bits: Sequence[Bit], to: Sequence[Bit]) -> dict[str, Any]:
    """A cell with one operand."""
    settings = {"A_SIGNED": 0, "A_WIDTH": len(bits), "Y_WIDTH": len(to)} if kind != "$buf" else {"WIDTH": len(to)}
    return {
        "hide_name": 1,
        "type": kind,
        "parameters": {name: f"{value:032b}" for name, value in settings.items()},
        "attributes": {},
        "port_directions": {"A": "input", "Y": "output"},
        "connections": {"A": list(bits), "Y": list(to)},
    }


def _at(bits: Sequence[Any], indices: Iterable[int]) -> tuple[Any, ...]:
    return tuple(bits[index] for index in indices)


def _rank(name: str, wire: dict[str, Any], *, is_port: bool) -> tuple[Any, ...]:
    """The order in which wires are chosen to have bits: those with good names first, of these the widest."""
    is_generated = bool(_ANONYMOUS.search(name)) or name.removeprefix(_CORE).startswith("$")
    return wire["hide_name"], is_generated, is_port, -len(wire["bits"]), len(name), name


def _runs(indices: Iterable[int]) -> Iterator[list[int]]:
    """The runs of adjacent indices.

    >>> list(_runs({0, 1, 4}))
    [[0, 1], [4]]
    """
    run: list[int] = []
    for index in sorted(indices):
        if run and index != run[-1] + 1:
            yield run
            run = []
        run.append(index)
    if run:
        yield run


def _unnumbered(name: str) -> str:
    """A name without the number by which Amaranth distinguishes it from another one."""
    return re.sub(r"\$\d+$", "", name)


def _base(name: str) -> str:
    name = name.removeprefix(_CORE)
    return _COMMON.get(name) or plain_identifier(_unnumbered(name))
