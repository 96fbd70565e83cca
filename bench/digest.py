# SPDX-License-Identifier: BSD-2-Clause
"""A digest of the logic of a circuit, which the names of its signals do not change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from utf8fpga.hdl.verilog.rtlil import Assignment, Bit, Bits, Cell, Module, Statement, WireBit, read_rtlil


def logic_digest(design: str) -> str:
    """A digest of a design in RTLIL: of its modules, registers, memories, and the functions of their inputs.

    Names and comments have no effect, nor have signals that only give a name to an expression: so a circuit can be made
    easier to read while figures that were measured for it stay valid. The names of the top's ports have an effect.
    """
    modules = read_rtlil(design)
    parts = [_Digest(module, modules).lines(is_top=number == 0) for number, module in enumerate(modules.values())]
    return _hash(*(line for lines in parts for line in lines))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class _Digest:
    """The functions of the bits of a module; registers, memories and instances have numbers in place of names."""

    def __init__(self, module: Module, modules: Mapping[str, Module]) -> None:
        self._module, self._modules = module, modules
        self._known: dict[Bit, str] = {bit: bit for bit in "01x"}
        self._made: dict[Bit, tuple[str, Bits]] = {}
        self._memories = {name: str(number) for number, name in enumerate(module.memories)}
        self._registers = [cell for cell in module.cells if cell.kind == "$dff"]
        self._others = [cell for cell in module.cells if self._is_sink(cell)]
        self._number_sources()
        for each in module.connections:
            self._made.update((to, ("", (value,))) for to, value in each.pairs())
        for statements in module.processes:
            self._assign(statements, ())
        for cell in module.cells:
            if cell.kind != "$dff" and cell not in self._others:
                self._operate(cell)

    def _number_sources(self) -> None:
        """Give numbers to the bits that have no function here: those of inputs, registers and instances."""
        sources: dict[str, Iterable[Bits]] = {
            "input": (bits for _, bits in self._ports(self._module, "input")),
            "register": (cell.ports["Q"] for cell in self._registers),
            "instance": (bits for cell in self._others for bits in self._outer(cell, "output")),
        }
        for kind, found in sources.items():
            for number, bits in enumerate(found):
                self._known.update((bit, f"{kind} {number} {index}") for index, bit in enumerate(bits))

    def _operate(self, cell: Cell) -> None:
        output = {"$memrd_v2": "DATA"}.get(cell.kind, "Y")
        inputs = [(port, bits) for port, bits in sorted(cell.ports.items()) if port != output]
        memory = f"{self._memories.get(cell.memory, '')} {cell.parameters.get('CLK_ENABLE', '')}"
        kind = f"{cell.kind} {memory} {[(port, len(bits)) for port, bits in inputs]}"
        operands = tuple(bit for _, bits in inputs for bit in bits)
        bits = cell.ports.get(output, ())
        self._made.update((bit, (f"{kind} {index}", operands)) for index, bit in enumerate(bits))

    def lines(self, *, is_top: bool) -> Iterator[str]:
        """What determines the behaviour of the module."""
        for direction in ("input", "output"):
            for name, bits in self._ports(self._module, direction):
                values = [self._function(bit) for bit in bits] if direction == "output" else []
                yield f"{direction} {name if is_top else ''} {len(bits)} {values}"
        for size in self._module.memories.values():
            yield f"memory {size}"
        for cell in self._registers:
            signals = self._module.signals
            init = [signals[bit.wire].init[bit.offset] for bit in cell.ports["Q"] if isinstance(bit, WireBit)]
            yield f"register {init} {[self._function(bit) for bit in (*cell.ports['CLK'], *cell.ports['D'])]}"
        for cell in self._others:
            inputs = self._outer(cell, "input")
            kind = self._memories[cell.memory] if cell.kind == "$memwr_v2" else "instance"
            yield f"{kind} {[[self._function(bit) for bit in bits] for bits in inputs]}"

    def _is_sink(self, cell: Cell) -> bool:
        return cell.kind in self._modules or cell.kind == "$memwr_v2"

    def _ports(self, module: Module, direction: str) -> list[tuple[str, Bits]]:
        return [
            (name, WireBit.all_of(name, signal.width))
            for name, signal in module.signals.items()
            if signal.direction == direction
        ]

    def _outer(self, cell: Cell, direction: str) -> Sequence[Bits]:
        """What the inputs or the outputs of a cell are connected to, in the order of its ports."""
        if cell.kind in self._modules:
            return [cell.ports[name] for name, _ in self._ports(self._modules[cell.kind], direction)]
        return [bits for _, bits in sorted(cell.ports.items())] if direction == "input" else []

    def _assign(self, statements: Sequence[Statement], conditions: tuple[tuple[Bits, str], ...]) -> None:
        """The values of the targets of a process: each assignment selects between its value and that before."""
        for each in statements:
            if isinstance(each, Assignment):
                guards = tuple(bit for selector, _ in conditions for bit in selector)
                selectors = [pattern for _, pattern in conditions]
                for to, value in each.pairs():
                    kind, before = self._made.get(to, ("", ()))
                    found = (
                        (f"{selectors} {len(before)} {kind}", (*before, value, *guards))
                        if conditions
                        else ("", (value,))
                    )
                    self._made[to] = found
            else:
                for patterns, body in each.cases:
                    self._assign(body, (*conditions, (each.selector, f"{len(each.selector)} {patterns}")))

    def _function(self, bit: Bit) -> str:
        """A hash of the function of a bit."""
        waiting = [bit]
        while waiting:
            last = waiting[-1]
            if last in self._known:
                waiting.pop()
                continue
            kind, operands = self._made[last]
            if unknown := [each for each in operands if each not in self._known]:
                waiting += unknown
                continue
            values = [self._known[each] for each in operands]
            self._known[last] = values[0] if not kind else _hash(kind, *values)
            waiting.pop()
        return self._known[bit]
