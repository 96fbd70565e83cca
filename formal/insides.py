# SPDX-License-Identifier: BSD-2-Clause
"""The registers within a circuit, by name, for claims about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from amaranth.hdl import Const, Fragment, Signal
from amaranth.hdl._mem import MemoryInstance


def elaborated(circuit: Any) -> Fragment:
    """A circuit with all its components, to be part of another one."""
    return Fragment.get(circuit, None)


def registers_in(circuit: Fragment, path: str = "") -> dict[str, Signal]:
    """The registers of a circuit and of its components, by path, such as ``fifo.reader.valid``."""
    found = {}
    for statement in circuit.statements.get("sync", ()):
        found |= {path + register.name: register for register in statement._lhs_signals()}
    for component, name, _ in circuit.subfragments:
        found |= registers_in(component, f"{path}{name}.")
    return found


def rows_in(circuit: Fragment) -> list[list[Signal]]:
    """The rows of each memory of a circuit, as signals."""
    return [list(_rows(memory)) for memory in _memories(circuit)]


def _memories(circuit: Fragment) -> Iterator[MemoryInstance]:
    if isinstance(circuit, MemoryInstance):
        yield circuit
    for component, _, _ in circuit.subfragments:
        yield from _memories(component)


def _rows(memory: MemoryInstance) -> Iterator[Signal]:
    for number in range(memory._data.depth):
        row = Signal(memory._data.shape, name=f"row_{number}")
        address = Const(number, range(memory._data.depth))
        memory.read_port(domain="comb", addr=address, data=row, en=Const(1, 1), transparent_for=())
        yield row


def make_transparent(circuit: Fragment, chosen: Callable[[str], bool]) -> None:
    """Turn registers with a chosen name, in a circuit and its components, into the values that they would take."""
    for statement in list(circuit.statements.get("sync", ())):
        if all(chosen(register.name) for register in statement._lhs_signals()):
            circuit.statements["sync"].remove(statement)
            circuit.add_statements("comb", statement)
    for component, _, _ in circuit.subfragments:
        make_transparent(component, chosen)
