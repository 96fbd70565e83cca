# SPDX-License-Identifier: BSD-2-Clause
"""Values of a pipeline with the cycle in which each is valid, and the registers that delay them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal, Value

__all__ = ["Number", "Pipeline", "Timed"]


@dataclass(frozen=True)
class Timed:
    """A value of a beat, valid in one cycle after the beat was accepted.

    Attributes:
        value: the value.
        cycle: the number of cycles after that in which the beat was accepted; None for a constant.
    """

    value: Value
    cycle: int | None


Number = Sequence[Timed]
"""An unsigned number, as its bits from the lowest one on."""


class Pipeline:
    """A pipeline that never pauses, built from values whose cycles are known.

    Values that meet in one function are delayed to the cycle of the latest. Each delay exists once.

    Args:
        m: the module that the registers are added to.

    Attributes:
        registers: all registers, by the cycle in which they hold a value of the beat.
    """

    def __init__(self, m: Module) -> None:
        self._m = m
        self._delayed: dict[tuple[int, int], Timed] = {}
        self.registers: dict[int, list[Signal]] = {}

    def register(self, name: str, value: Value, cycle: int) -> Timed:
        """The register that holds `value`, which is valid in `cycle`, one cycle later."""
        held = Signal(len(value), name=f"{name}_{cycle + 1}", reset_less=True)
        self._m.d.sync += held.eq(value)
        self.registers.setdefault(cycle + 1, []).append(held)
        return Timed(held, cycle + 1)

    def at(self, value: Timed, cycle: int) -> Value:
        """The value in a later cycle."""
        if value.cycle is None or value.cycle == cycle:
            return value.value
        assert value.cycle < cycle
        key = (id(value.value), cycle)
        if key not in self._delayed:
            name = str(getattr(value.value, "name", "delayed")).rsplit("_", 1)[0]
            earlier = self.at(value, cycle - 1)
            # The original is kept, so that its identity is not reused.
            self._delayed[key] = self.register(name, earlier, cycle - 1)
            self._delayed[id(value.value), value.cycle] = value
        return self._delayed[key].value

    def compute(self, name: str, inputs: Sequence[Timed], function: Callable[..., Value]) -> Timed:
        """The register of a function of some values, one cycle after the latest of them."""
        cycle = latest(inputs)
        return self.register(name, function(*(self.at(each, cycle) for each in inputs)), cycle)

    def add(self, name: str, a: Number, b: Number, width: int) -> Number:
        """The sum of two numbers modulo 2 to the power of `width`: two bits in each cycle, the lowest ones first."""
        result: list[Timed] = []
        carry = ZERO
        width = min(width, max(len(a), len(b)) + 1)
        for start in range(0, width, 2):
            size = min(2, width - start)
            operands = [a[start : start + size], b[start : start + size], [carry] if carry is not ZERO else []]
            present = [operand for operand in operands if operand]
            if len(present) == 1:
                result += present[0]
                carry = ZERO
                continue
            if not present:
                break
            cycle = latest([bit for operand in present for bit in operand])
            total = sum((Cat(self.at(bit, cycle) for bit in operand) for operand in present), Const(0, 1))
            for place in range(size):
                result.append(self.register(f"{name}_{start + place}", total[place], cycle))
            if start + size < width:
                carry = self.register(f"{name}_carry_{start}", total[size], cycle)
        return result


ZERO = Timed(Const(0, 1), None)
"""The constant 0."""


def latest(values: Sequence[Timed]) -> int:
    """The latest cycle of some values."""
    return max((value.cycle for value in values if value.cycle is not None), default=0)
