# SPDX-License-Identifier: BSD-2-Clause
"""The components of a circuit as modules, whose ports are the members of their signatures."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, ClockSignal, Fragment, Instance, MemoryInstance, ResetSignal, Signal, Value
from amaranth.hdl._ir import PortDirection  # Private, but `rtlil.convert` takes it.
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from utf8fpga.hdl.verilog.build import circuit_of
from utf8fpga.hdl.verilog.circuit import Circuit
from utf8fpga.hdl.verilog.identifiers import SEPARATOR, Names
from utf8fpga.hdl.verilog.rtlil import Module
from utf8fpga.model.exceptions import InvalidArgumentError


def circuits_of(component: wiring.Component, name: str) -> dict[str, Circuit]:
    """The components as modules by their names, each behind those that it has instances of.

    Each is converted by itself, so those that are alike are one module. There is one clock domain.

    Args:
        name: the name of the top module.

    Raises:
        InvalidArgumentError: there is a part that is not a component, one that is read elsewhere than at its ports, or
            something that the writer does not know.
    """
    fragment = Fragment.get(component, None)
    [domain] = fragment.domains or ["sync"]
    converter = _Converter(name, domain)
    converter.convert(fragment, component, name)
    return converter.circuits


class _Converter:
    """Converts components, each after those inside it.

    Args:
        domain: the only clock domain. A component that does not define it has ports for its clock and its reset.

    Attributes:
        circuits: those that were converted, by name.
    """

    def __init__(self, top: str, domain: str) -> None:
        self.circuits: dict[str, Circuit] = {}
        self._top, self._domain, self._names = top, domain, Names()
        self._texts: dict[str, str] = {}

    def convert(self, fragment: Fragment, component: wiring.Component, name: str) -> str:
        """Convert a component.

        Args:
            name: the name of the module, unless there is an equal one already.

        Returns:
            The name of the module.
        """
        ports: dict[str, Any] = {}
        if self._domain not in fragment.domains:
            made = ClockDomain(self._domain)
            made.clk, made.rst = Signal(name="clk"), Signal(name="rst")
            fragment.add_domains(made)
            ports |= {signal.name: (signal, PortDirection.Input) for signal in (made.clk, made.rst)}
        for port, member, value in members(component):
            ports[port] = value, PortDirection.Input if member.flow is In else PortDirection.Output
        visible = [signal for signal, _ in ports.values()]
        names: list[tuple[Signal, str]] = []
        for at, (inner, instance, place) in enumerate(fragment.subfragments):
            if not isinstance(inner, MemoryInstance):
                stub = self._instance(inner, str(instance))
                fragment.subfragments[at] = (stub, instance, place)
                for port, (signal, _) in stub.ports.items():
                    if isinstance(signal, Signal):
                        names.append((signal, signal.name))
                        signal.name = f"{instance}__{port}"
        design = fragment.prepare(ports, hierarchy=(self._top,))
        text, _ = rtlil.convert_fragment(design, name=self._top, emit_src=False)
        for signal, own_name in reversed(names):
            signal.name = own_name
        _check(design.fragment, component, [*visible, *(signal for signal, _ in names)])
        if text not in self._texts:
            module = Module(text, self._names.take(name))
            # The ports are in the order of the members, not first the inputs.
            module.wires = {wire: module.wires[wire] for wire in dict.fromkeys([*ports, *module.wires])}
            self._texts[text] = module.name
            self.circuits[module.name] = circuit_of(module, self.circuits, documentation(component))
        return self._texts[text]

    def _instance(self, inner: Fragment, name: str) -> Instance:
        """An instance in place of a component."""
        component = next((each for each in inner.origins or () if isinstance(each, wiring.Component)), None)
        if component is None:
            raise InvalidArgumentError(f"the Verilog writer does not know {name}, which is not a component")
        ports = [("i" if member.flow is In else "o", port, value) for port, member, value in members(component)]
        if self._domain not in inner.domains:
            ports += [("i", "clk", ClockSignal(self._domain)), ("i", "rst", ResetSignal(self._domain))]
        module = f"{self._top}{SEPARATOR}{_words(type(component).__name__)}"
        return Instance(self.convert(inner, component, module), *ports)


def _check(fragment: Fragment, component: wiring.Component, visible: Sequence[Signal]) -> None:
    """Check that a component reads nothing but what it assigns, its ports, and those of its parts."""
    statements = [each for part in fragment.statements.values() for each in part]
    memories = [part for part, _, _ in fragment.subfragments if isinstance(part, MemoryInstance)]
    known = {id(signal) for each in statements for signal in each._lhs_signals()} | set(map(id, visible))
    known |= {id(signal) for part in memories for port in part._read_ports for signal in port._data._rhs_signals()}
    for signal in (signal for each in statements for signal in each._rhs_signals()):
        if id(signal) not in known:
            raise InvalidArgumentError(f"{type(component).__name__} reads {signal.name}, which is not at a port of it")


def members(component: wiring.Component) -> list[tuple[str, wiring.Member, Value]]:
    """The names of the ports of a component, the members that they are, and their values; constants are no ports."""
    found = []
    for path, member, port in component.signature.flatten(component):
        value = Value.cast(port)
        if isinstance(value, Signal) and len(value):
            found.append(("__".join(map(str, path)), member, value))
    return found


def _words(name: str) -> str:
    """The words of the name of a class.

    >>> _words("AxiStreamCore")
    'axi_stream_core'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def documentation(component: wiring.Component) -> str:
    """What a component does, from its docstring up to the arguments, in the words of the Verilog."""
    text = re.split(r"\n\s*\n(?:Args|Ports|Raises|Attributes):", inspect.getdoc(component) or "")[0]

    def spoken(match: re.Match[str]) -> str:
        """The value of a name that has one, the module of a class, or a port of a stream, whose name has no dot."""
        name = match[1]
        value = getattr(component, name, getattr(sys.modules[type(component).__module__], name, None))
        if isinstance(value, int | str):
            return str(value)
        return _words(name) if re.fullmatch(r"([A-Z]+[a-z0-9]+)+", name) else name.replace(".", "_")

    text = re.sub("`+([^`]+)`+", spoken, text)
    return re.sub(r"\*(\w[\w ]*)\*", r"\1", re.sub(r"\b1 (cycle|beat)s\b", r"1 \1", text))
