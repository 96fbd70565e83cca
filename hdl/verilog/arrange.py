# SPDX-License-Identifier: BSD-2-Clause
"""Signals as a reader expects them: a structure is one signal for each field, and signals of the lanes are a vector."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from utf8fpga.hdl.verilog.contents import MEMORY_PORT, Contents
from utf8fpga.hdl.verilog.rtlil import Assignment, Bit, Bits, Cell, Module, Signal, WireBit

_INDEX = re.compile(r"\[\d+\]")
_UNNAMED_PORT = re.compile(r"port\$\d+\$\d+$")


@dataclass
class _Places:
    """The new places of bits.

    Attributes:
        bits: for each signal that is replaced the place of each of its bits; none: it is removed.
        elements: for each signal that consists of several alike their number.
        directions: those of signals that become ports, or are none any more.
        names: the names of the values of signals, see `Signal`.
        outer: for such ports the places of their bits where the module is instantiated.
    """

    bits: dict[str, tuple[WireBit, ...]] = field(default_factory=dict)
    elements: Counter[str] = field(default_factory=Counter)
    directions: dict[str, str] = field(default_factory=dict)
    names: dict[str, Mapping[Bits, str]] = field(default_factory=dict)
    outer: dict[str, tuple[WireBit, ...]] = field(default_factory=dict)


def rearranged(modules: Mapping[str, Module], places: Callable[[Module], _Places]) -> dict[str, Module]:
    """Modules whose bits are in the places that a function gives for each."""
    return _moved(modules, {name: places(module) for name, module in modules.items()})


def with_instance_names(modules: Mapping[str, Module]) -> dict[str, Module]:
    """Modules in which a signal whose name is not unique has the name of an instance and of the port at its end."""
    places = {name: _Places() for name in modules}
    for name, module in modules.items():
        names = set(module.signals)
        several = {without_number(each) for each in names if without_number(each) != each}
        for cell in module.cells:
            for bits in cell.ports.values() if cell.kind in modules else ():
                wire = bits[0].wire if bits and isinstance(bits[0], WireBit) else ""
                base = without_number(wire)
                if base in several and bits == WireBit.all_of(wire, module.signals[wire].width):
                    short = f"{without_number(cell.name)}_{base}"
                    if short not in names and not module.signals[wire].direction:
                        names.add(short)
                        for each in (one for one in module.signals if re.split(r"[.[]", one, maxsplit=1)[0] == wire):
                            places[name].bits[each] = WireBit.all_of(
                                each.replace(wire, short, 1), module.signals[each].width
                            )
    return _moved(modules, places)


def with_members(modules: Mapping[str, Module], members: Mapping[str, Mapping[str, str]]) -> dict[str, Module]:
    """Modules whose ports are the members of components.

    In RTLIL a port has the name of the signal that drives it, or none if it is a part of one.

    Args:
        modules: the modules, the top first, whose ports remain.
        members: by the paths of modules the members with their directions.
    """
    top, *others = modules
    places = {name: _member_ports(modules[name], members.get(without_number(name), {})) for name in others}
    return _moved(modules, {top: _Places(), **places})


def without_number(name: str) -> str:
    """A name without the numbers that it has in RTLIL where it is not unique."""
    return re.sub(r"\$\d+", "", name)


def _member_ports(module: Module, members: Mapping[str, str]) -> _Places:
    found = _Places()
    for direction in ("input", "output"):
        own = [name for name, flow in members.items() if flow == direction]
        place = _whole_ports(module, _in_members(module, own, direction))
        for port in dict.fromkeys(bit.wire for bit in place):
            # A register remains, since a member may consist of registers and other signals.
            is_alias = direction == "input" or _UNNAMED_PORT.match(port)
            places = found.bits if is_alias else found.outer
            places[port] = tuple(place[bit] for bit in WireBit.all_of(port, module.signals[port].width))
        found.directions.update((inner.wire, direction) for inner in place.values())
        found.directions.update(dict.fromkeys(found.outer, ""))
    return found


def _in_members(module: Module, members: Collection[str], direction: str) -> dict[WireBit, WireBit]:
    """The bits of ports in members that are no ports but consist of some, each of one bit."""
    contents, signals = Contents(module, {}), module.signals
    same: dict[Bit, WireBit] = {}
    for name, signal in signals.items():
        if signal.direction == direction and name not in members:
            same.update((contents.source(bit), bit) for bit in WireBit.all_of(name, signal.width))
    found: dict[WireBit, WireBit] = {}
    for name in filter(signals.__contains__, members):
        bits = WireBit.all_of(name, signals[name].width)
        ports = [port for bit in bits if (port := same.get(contents.source(bit)))]
        if not signals[name].direction and len(ports) == len(bits) and len({*ports, *found}) == len(ports) + len(found):
            found.update(zip(ports, bits, strict=True))
    return found


def _whole_ports(module: Module, place: dict[WireBit, WireBit]) -> dict[WireBit, WireBit]:
    """The places of bits in members, without the members in which there is only a part of a port."""
    parts = {
        bit.wire for bit in place if not place.keys() >= set(WireBit.all_of(bit.wire, module.signals[bit.wire].width))
    }
    incomplete = {inner.wire for bit, inner in place.items() if bit.wire in parts}
    kept = {bit: inner for bit, inner in place.items() if inner.wire not in incomplete}
    return _whole_ports(module, kept) if incomplete else place


def alias_places(module: Module) -> _Places:
    """Signals that are the same as a port are in its place."""
    contents, found = Contents(module, {}), _Places()
    ports: dict[Bits, str] = {}
    for name, signal in sorted(module.signals.items(), key=lambda each: not each[1].direction):
        bits = WireBit.all_of(name, signal.width)
        sources = tuple(map(contents.source, bits))
        if signal.direction:
            ports.setdefault(sources, name)
        elif sources in ports and name[0] != "$":
            found.bits[name] = WireBit.all_of(ports[sources], signal.width)
    return found


def memory_port_places(module: Module) -> _Places:
    """The ports of memories have the names of signals that are the same."""
    contents, found = Contents(module, {}), _Places()
    for name, signal in module.signals.items():
        bits = WireBit.all_of(name, signal.width)
        sources = tuple(map(contents.source, bits))
        wire = sources[0].wire if sources and isinstance(sources[0], WireBit) else ""
        if (
            MEMORY_PORT.match(wire)
            and re.fullmatch(r"\w+", name)
            and sources == WireBit.all_of(wire, module.signals[wire].width)
        ):
            found.bits.setdefault(wire, bits)
    return found


def with_port_names(modules: Mapping[str, Module]) -> dict[str, Module]:
    """Modules in which ports without a name have that of the wire outside."""
    found = dict(modules)
    for parent in modules:
        places = {name: _Places() for name in modules}
        contents = Contents(found[parent], found)
        for cell in contents.instances:
            child = found[cell.kind]
            names = set(child.signals)
            for port, bits in cell.ports.items():
                if _UNNAMED_PORT.match(port) and (name := _name_of(bits, contents)):
                    name = next(each for n in count() if (each := f"{name}_{n}" if n else name) not in names)
                    names.add(name)
                    places[cell.kind].bits[port] = WireBit.all_of(name, len(bits))
        found = _moved(found, places)
    return found


def _name_of(bits: Bits, contents: Contents) -> str:
    first, last = bits[0], bits[-1]
    if isinstance(first, str) or isinstance(last, str) or first.wire != last.wire or first.wire[0] == "$":
        return ""
    name = first.wire.rpartition(".")[2].replace("__payload", "")
    if len(bits) == contents.signals[first.wire].width:
        return name
    return f"{name}_{first.offset}" if len(bits) == 1 else f"{name}_{last.offset}_{first.offset}"


def field_places(module: Module) -> _Places:
    """Each signal with a structure is one signal for each field.

    The fields of an array of structures are vectors: the field of the first element is in the low bits.
    """
    leaves: dict[str, list[str]] = {}
    for name in module.signals:
        base = re.split(r"[.[]", name, maxsplit=1)[0]
        if base != name and base in module.signals:
            leaves.setdefault(base, []).append(name)
    found, owners = _Places(), dict[str, str]()
    for base, names in leaves.items():
        ends = [name for name in names if not any(other.startswith((f"{name}.", f"{name}[")) for other in names)]
        if sum(module.signals[name].width for name in ends) == module.signals[base].width:
            sizes: dict[str, int] = {}
            bits: list[WireBit] = []
            for name in ends:
                short = _INDEX.sub("", name).replace("__payload.", ".").replace("symbols.", "").replace(".", "_")
                # Another signal, or a field of another one, may have this name.
                while (short in module.signals and short != base) or owners.setdefault(short, base) != base:
                    short += "_field"
                start = sizes.get(short, 0)
                sizes[short] = start + module.signals[name].width
                bits += [WireBit(short, index) for index in range(start, sizes[short])]
                found.elements[short] += 1
                found.names[short] = module.signals[name].names
            found.bits[base] = tuple(bits)
            found.bits.update(dict.fromkeys(names, ()))
    return found


def vector_places(module: Module, live: Collection[str]) -> _Places:
    """Signals that are distinguished by a number at the end of their names are one vector.

    Args:
        live: the signals of the module that are used.
    """
    families: dict[tuple[str, int, str], dict[int, str]] = {}
    for name, signal in module.signals.items():
        base, _, number = name.rpartition("_")
        if base and number.isdigit() and name in live:
            families.setdefault((base, signal.width, signal.direction), {})[int(number)] = name
    found = _Places()
    for (base, width, direction), members in families.items():
        lowest = min(members)
        # Registers that delay a value are numbered from 1 on.
        if lowest == 1:
            base += "_delayed" if _is_delay(module, members) else f"_1_to_{max(members)}"
        if base in module.signals and direction:
            base += {"input": "_in", "output": "_out"}[direction]
        is_whole = sorted(members) == list(range(lowest, lowest + len(members)))
        if len(members) > 1 and is_whole and base not in module.signals:
            found.elements[base] = len(members)
            for index, name in members.items():
                place = (index - lowest) * width
                found.bits[name] = tuple(WireBit(base, place + bit) for bit in range(width))
    return found


def _is_delay(module: Module, members: Mapping[int, str]) -> bool:
    """Whether each member after the first one is the register of the member before."""
    bits = {number: WireBit.all_of(name, module.signals[name].width) for number, name in members.items()}
    loaded = {cell.ports["Q"]: cell.ports["D"] for cell in module.cells if cell.kind == "$dff"}
    return all(loaded.get(bits[number]) == bits.get(number - 1) for number in members if number > 1)


def _moved(modules: Mapping[str, Module], places: Mapping[str, _Places]) -> dict[str, Module]:
    changed = {name for name, place in places.items() if place.bits or place.outer}
    return {
        name: _Mover(module, places[name]).module(places)
        if name in changed or any(cell.kind in changed for cell in module.cells)
        else module
        for name, module in modules.items()
    }


class _Mover:
    """Gives the bits of a module other places."""

    def __init__(self, module: Module, places: _Places) -> None:
        self._module, self._places = module, places

    def module(self, places: Mapping[str, _Places]) -> Module:
        module = self._module
        return replace(
            module,
            signals=self._signals(),
            cells=[self._cell(cell, places.get(cell.kind, _Places())) for cell in module.cells],
            processes=[[part.moved(self._bits) for part in each] for each in module.processes],
            connections=[self._connection(each) for each in module.connections if self._bits(each.target)],
        )

    def _connection(self, connection: Assignment) -> Assignment:
        """A connection, without bits that are the same at both sides now."""
        return Assignment.of(pair for pair in connection.moved(self._bits).pairs() if pair[0] != pair[1])

    def _signals(self) -> dict[str, Signal]:
        places = self._places
        # Those that remain are first, since others may be merged with them.
        found = {name: signal for name, signal in self._module.signals.items() if name not in places.bits}
        for name, place in places.bits.items():
            signal = self._module.signals[name]
            for index, (new, at) in enumerate(place):
                before = found.get(new) or Signal(
                    0, signal.direction, elements=places.elements.get(new, 1), names=places.names.get(new, {})
                )
                init = before.init
                if signal.init:
                    init = init.ljust(at, "x")[:at] + signal.init[index] + init[at + 1 :]
                found[new] = replace(before, width=max(before.width, at + 1), init=init, doc=before.doc or signal.doc)
        order = dict.fromkeys(
            new
            for name in self._module.signals
            for new in ([bit.wire for bit in places.bits[name]] if name in places.bits else [name])
        )
        return {
            name: replace(found[name], direction=places.directions.get(name, found[name].direction)) for name in order
        }

    def _bits(self, bits: Bits) -> Bits:
        found: list[Bit] = []
        for bit in bits:
            if isinstance(bit, str) or bit.wire not in self._places.bits:
                found.append(bit)
            elif place := self._places.bits[bit.wire]:
                found.append(place[bit.offset])
        return tuple(found)

    def _cell(self, cell: Cell, inside: _Places) -> Cell:
        """A cell; if it is an instance, with the ports that its module has."""
        inner = inside.bits | inside.outer
        if not inner:
            return replace(cell, ports={port: self._bits(bits) for port, bits in cell.ports.items()})
        ports: dict[str, dict[int, Bit]] = {}
        for port, bits in cell.ports.items():
            outer = self._bits(bits)
            for index, bit in enumerate(outer):
                new, at = inner[port][index] if port in inner else (port, index)
                ports.setdefault(new, {})[at] = bit
        return replace(cell, ports={port: tuple(bits[index] for index in sorted(bits)) for port, bits in ports.items()})
