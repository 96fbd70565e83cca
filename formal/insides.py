# SPDX-License-Identifier: BSD-2-Clause
"""The registers within a circuit, by name, for claims about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Const, Fragment, Signal
from amaranth.hdl._mem import MemoryInstance


def elaborated(circuit: Any) -> Fragment:
    """A circuit with all its components, to be part of another one."""
    return Fragment.get(circuit, None)


def registers_in(circuit: Fragment, path: str = "") -> dict[str, Signal]:
    """The registers of a circuit and of its components, by path, such as ``fifo.reader.valid``."""
    found: dict[str, Signal] = {}
    for statement in circuit.statements.get("sync", ()):
        found |= {path + register.name: register for register in statement._lhs_signals()}
    for component, name, _ in circuit.subfragments:
        found |= registers_in(component, f"{path}{name}.")
    return found


def rows_in(circuit: Fragment) -> list[list[Signal]]:
    """The rows of each memory of a circuit, as signals."""
    return [rows_of(memory) for memory in memories_in(circuit).values()]


def memories_in(circuit: Fragment, path: str = "") -> dict[str, MemoryInstance]:
    """The memories of a circuit and of its components, by path."""
    if isinstance(circuit, MemoryInstance):
        return {path: circuit}
    found: dict[str, MemoryInstance] = {}
    for component, name, _ in circuit.subfragments:
        found |= memories_in(component, f"{path}.{name}")
    return found


def rows_of(memory: MemoryInstance) -> list[Signal]:
    """The rows of a memory, as signals."""
    depth, rows = memory._data.depth, []
    for number in range(depth):
        rows.append(Signal(memory._data.shape, name=f"row_{number}"))
        address = Const(number, range(depth))
        memory.read_port(domain="comb", addr=address, data=rows[-1], en=Const(1, 1), transparent_for=())
    return rows


def make_transparent(circuit: Fragment, chosen: Callable[[str], bool]) -> None:
    """Turn registers with a chosen name, in a circuit and its components, into the values that they would take."""
    for statement in list(circuit.statements.get("sync", ())):
        if all(chosen(register.name) for register in statement._lhs_signals()):
            circuit.statements["sync"].remove(statement)
            circuit.add_statements("comb", statement)
    for component, _, _ in circuit.subfragments:
        make_transparent(component, chosen)
