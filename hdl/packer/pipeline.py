# SPDX-License-Identifier: BSD-2-Clause
"""Values of a pipeline with the cycle in which each is valid, and the registers that delay them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal, Value

from utf8fpga.hdl.packer.delay import DelayMemory

__all__ = ["ZERO", "Number", "Pipeline", "Timed", "latest"]


@dataclass(frozen=True, eq=False)
class Timed:
    """A value that belongs to a beat.

    Attributes:
        value: the value.
        cycle: the cycle in which it is valid, counted from that in which the beat was accepted; None for a constant.
    """

    value: Value
    cycle: int | None


Number = Sequence[Timed]
"""An unsigned number: its bits, the lowest one first. The bits may be valid in different cycles."""

ZERO = Timed(Const(0, 1), None)
"""The constant 0."""

_CHUNK = 2
"""Bits of a number that are added in one cycle: five inputs, the carry among them, fit two look-up tables."""

_MEMORY_CYCLES = 6
"""Cycles from which on words are delayed in memories. The fewer registers a circuit has, the shorter are its nets."""


class Pipeline:
    """A pipeline that never pauses, made of values that state their cycles.

    Values that meet in a function are delayed to the cycle of the latest one. The registers are described here and
    added to a module by `connect`, so the cycles of all values are known before that.

    Attributes:
        registers: all registers without feedback, in the order in which they were made.
        cleared: the registers with feedback that a reset initialises.
        memories: the memories that delay values, each with the value that enters it.
    """

    def __init__(self) -> None:
        self._wires: list[tuple[Signal, Value]] = []
        self._drivers: list[tuple[Signal, Value]] = []
        self._delayed: dict[Timed, Timed] = {}
        self._connected = False
        self.registers: list[Timed] = []
        self.cleared: list[Signal] = []
        self.memories: list[tuple[DelayMemory, Value]] = []

    def register(self, name: str, value: Value, cycle: int) -> Timed:
        """The register of a value that is valid in `cycle`; it holds the value one cycle later.

        Args:
            name: its name, to which the cycle is appended.
            value: the value.
            cycle: the cycle.
        """
        assert not self._connected, "nothing would drive a register that is made after `connect`"
        held = Signal(len(value), name=f"{name}_{cycle + 1}", reset_less=True)
        self._drivers.append((held, value))
        self.registers.append(Timed(held, cycle + 1))
        return self.registers[-1]

    def state(self, name: str, size: int, *, init: int = 0, cleared: bool = True) -> Signal:
        """A register with feedback; `drive` sets its next value.

        Args:
            name: its name.
            size: its width.
            init: its initial value.
            cleared: a reset initialises it. One whose contents are not used after a reset does without.
        """
        state = Signal(size, name=name, init=init, reset_less=True)
        if cleared:
            self.cleared.append(state)
        return state

    def drive(self, state: Signal, value: Value) -> None:
        """Set the next value of a register with feedback."""
        self._drivers.append((state, value))

    def wire(self, name: str, size: int, value: Value) -> Signal:
        """A signal with a value, for a function that is used several times.

        Args:
            name: its name.
            size: its width.
            value: its value.
        """
        signal = Signal(size, name=name)
        self._wires.append((signal, value))
        return signal

    def connect(self, m: Module, reset: Value) -> None:
        """Add the registers to a module.

        Args:
            m: the module.
            reset: initialises the registers with feedback.
        """
        self._connected = True
        m.d.comb += [signal.eq(value) for signal, value in self._wires]
        m.d.sync += [register.eq(value) for register, value in self._drivers]
        for number, (line, entry) in enumerate(self.memories):
            m.submodules[f"delay_{number}"] = line
            m.d.comb += line.entry.eq(entry)
        with m.If(reset):
            m.d.sync += [state.eq(state.init) for state in self.cleared]

    def at(self, value: Timed, cycle: int) -> Value:
        """A value in its cycle or in a later one."""
        if value.cycle is None:
            return value.value
        assert value.cycle <= cycle, f"a value of cycle {value.cycle} is not known in cycle {cycle}"
        while value.cycle is not None and value.cycle < cycle:
            if value not in self._delayed:
                name = str(getattr(value.value, "name", f"delayed_{len(self.registers)}"))
                prefix, _, number = name.rpartition("_")
                name = prefix if number == str(value.cycle) else name
                self._delayed[value] = self.register(name, value.value, value.cycle)
            value = self._delayed[value]
        return value.value

    def wait(self, names: Sequence[str], values: Sequence[Timed], until: int) -> list[Timed]:
        """Values in a later cycle, or the first of the registers that delay them to that cycle.

        Args:
            names: the names of their registers.
            values: the values, of one cycle; not registers. In a memory they share a pointer.
            until: the cycle, later than that of the values.
        """
        start = latest(values)
        if until - start < _MEMORY_CYCLES:
            return [self.register(name, each.value, start) for name, each in zip(names, values, strict=True)]
        entry = Cat(each.value for each in values)
        line = DelayMemory(len(entry), until - start, len(self.memories))
        self.memories.append((line, entry))
        found, at = [], 0
        for each in values:
            found.append(Timed(line.output[at : at + len(each.value)], until))
            at += len(each.value)
        return found

    def delayed(self, value: Timed) -> list[Timed]:
        """A value and the registers that delay it, so far."""
        found = [value]
        while found[-1] in self._delayed:
            found.append(self._delayed[found[-1]])
        return found

    def compute(self, name: str, inputs: Sequence[Timed], function: Callable[..., Value], wanted: int = 0) -> Timed:
        """The register of a function of some values: one cycle after the latest of them, but not before `wanted`."""
        cycle = max(latest(inputs), wanted - 1)
        return self.register(name, function(*(self.at(each, cycle) for each in inputs)), cycle)

    def add(self, name: str, numbers: Sequence[Number], width: int) -> Number:
        """The sum of up to two numbers modulo 2 to the power of `width`, two bits per cycle."""
        result: list[Timed] = []
        carry: list[Timed] = []
        for start in range(0, width, _CHUNK):
            size = min(_CHUNK, width - start)
            parts = [part for part in (*(number[start : start + size] for number in numbers), carry) if part]
            if not parts:
                break
            carry = []
            if len(parts) == 1:
                result += parts[0]
                continue
            cycle = latest([bit for part in parts for bit in part])
            total = sum((Cat(self.at(bit, cycle) for bit in part) for part in parts), Const(0, 1))
            bits = min(size, len(total))
            result += [self.register(f"{name}_{start + bit}", total[bit], cycle) for bit in range(bits)]
            if start + size < width and len(total) > size:
                carry = [self.register(f"{name}_carry_{start}", total[size], cycle)]
        return result


def latest(values: Sequence[Timed]) -> int:
    """The latest cycle of some values; 0 for constants."""
    return max((value.cycle for value in values if value.cycle is not None), default=0)
