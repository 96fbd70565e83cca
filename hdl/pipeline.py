# SPDX-License-Identifier: BSD-2-Clause
"""Values of a pipeline with the stage in which each is known, and the registers that delay them.

The window of a decoder and the packer are written in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Signal, Value

from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.delay import DelayMemory


@dataclass(frozen=True, eq=False)
class Staged:
    """A value that belongs to a beat.

    Attributes:
        value: the value; a constant has it in any stage.
        stage: the stage in which it is known: the number of cycles after the beat was transferred.
        name: the name of the registers that delay it; default: that of its signal.
        resets: the first register that delays it is reset.
    """

    value: Value
    stage: int
    name: str | None = None
    resets: bool = False


ZERO = Staged(Const(0, 1), 0)
"""The constant 0, in any stage."""

_MEMORY_STAGES = 6
"""Stages from which on words are delayed in memories. The fewer registers a circuit has, the shorter are its nets."""


class Pipeline:
    """A pipeline made of values that state their stages.

    Values that meet in a function are delayed to the stage of the latest one. The registers are described here and
    added to a module by `connect`. So they can be referred to, and the stages of all values are known, before that.

    Args:
        numbered: the names of all registers end with their stage; default: those of delays end with the delay.

    Attributes:
        registers: all registers without feedback, in the order in which they were made.
        cleared: the registers with feedback that a reset initialises.
        memories: the memories that delay values, each with the value that enters it.
    """

    def __init__(self, *, numbered: bool = False) -> None:
        self._numbered, self._connected = numbered, False
        self._wires: list[tuple[Signal, Value]] = []
        self._assignments: list[tuple[Value | None, Sequence[Any]]] = []
        self._chains: dict[Staged, list[Staged]] = {}
        self.registers: list[Staged] = []
        self.cleared: list[Signal] = []
        self.memories: list[tuple[DelayMemory, Value]] = []

    def add(self, *assignments: Any, enable: Value | None = None) -> None:
        """Add assignments to registers, for cycles in which `enable` is asserted; default: for all."""
        assert not self._connected, "nothing would drive a register that is made after `connect`"
        self._assignments.append((enable, assignments))

    def register(
        self,
        name: str,
        value: Value,
        stage: int,
        *,
        resets: bool = False,
        init: int = 0,
        comment: str = "",
    ) -> Staged:
        """The register of a value that is known in `stage`; it holds the value one stage later.

        Args:
            init: its initial value.
            comment: what it means, for the Verilog.
        """
        number = f"_{stage + 1}" if self._numbered else ""
        held = Signal(len(value), name=name + number, reset_less=not resets, init=init)
        commented(held, comment)
        self.add(held.eq(value))
        self.registers.append(Staged(held, stage + 1, name))
        return self.registers[-1]

    def apply(
        self,
        name: str,
        function: Callable[..., Value],
        *inputs: Staged,
        earliest: int = 0,
        comment: str = "",
    ) -> Staged:
        """The register of a function of some values: one stage after the latest of them, but not before `earliest`."""
        stage = max(latest(inputs), earliest - 1)
        value = function(*(self.at(each, stage) for each in inputs))
        return self.register(name, value, stage, comment=comment)

    def at(self, value: Staged, stage: int) -> Value:
        """A value in its stage or in a later one."""
        if isinstance(value.value, Const):
            return value.value
        assert value.stage <= stage, f"a value of stage {value.stage} is not known in stage {stage}"
        chain = self._chains.setdefault(value, [value])
        while chain[-1].stage < stage:
            last = chain[-1]
            name = value.name or getattr(value.value, "name", None)
            if self._numbered:
                name = last.name or name or f"delayed_{len(self.registers)}"
            else:
                name = f"{name or f'late_{list(self._chains).index(value)}'}_{len(chain)}"
            chain.append(self.register(name, last.value, last.stage, resets=last.resets))
        return chain[stage - value.stage].value

    def delayed(self, value: Staged) -> list[Staged]:
        """A value and the registers that delay it, so far; nothing for a constant."""
        return [] if isinstance(value.value, Const) else self._chains.get(value, [value])

    def wait(self, names: Sequence[str], values: Sequence[Staged], until: int) -> list[Staged]:
        """Values in a later stage, or the first of the registers that delay them to that stage.

        Args:
            values: the values, of one stage; not registers. In a memory they share a pointer.
            until: the stage, later than that of the values.
        """
        start = latest(values)
        if until - start < _MEMORY_STAGES:
            return [self.register(name, each.value, start) for name, each in zip(names, values, strict=True)]
        entry = Cat(each.value for each in values)
        line = DelayMemory(len(entry), until - start, len(self.memories))
        self.memories.append((line, entry))
        found, at = [], 0
        for each in values:
            found.append(Staged(line.output[at : at + len(each.value)], until))
            at += len(each.value)
        return found

    def state(self, name: str, size: int, *, init: int = 0, cleared: bool = True, comment: str = "") -> Signal:
        """A register with feedback, to which `add` assigns its next value.

        Args:
            cleared: a reset initialises it. One whose contents are not used after a reset does without.
        """
        state = commented(Signal(size, name=name, init=init, reset_less=True), comment)
        if cleared:
            self.cleared.append(state)
        return state

    def wire(self, name: str, size: int, value: Value) -> Signal:
        """A signal with a value, for a function that is used several times."""
        signal = Signal(size, name=name)
        self._wires.append((signal, value))
        return signal

    def connect(self, m: Module, reset: Value | None = None) -> None:
        """Add the registers to a module.

        Args:
            reset: initialises the registers in `cleared`.
        """
        self._connected = True
        m.d.comb += [signal.eq(value) for signal, value in self._wires]
        for enable, assignments in self._assignments:
            if enable is None:
                m.d.sync += assignments
                continue
            with m.If(enable):
                m.d.sync += assignments
        for number, (line, entry) in enumerate(self.memories):
            m.submodules[f"delay_{number}"] = line
            m.d.comb += line.entry.eq(entry)
        if reset is not None:
            with m.If(reset):
                m.d.sync += [state.eq(state.init) for state in self.cleared]


def latest(values: Sequence[Staged]) -> int:
    """The latest stage of some values; 0 if there is none."""
    return max((value.stage for value in values), default=0)


def loaded(register: Value, value: Value, enable: Value) -> Any:
    """The assignment of `value` to a register in the cycles in which `enable` is asserted, by a multiplexer in logic.

    On iCE40 the path to a clock enable is longer than that to a look-up table, and the flip-flops of a tile share it.
    """
    wide = enable.replicate(len(register))
    return register.eq((value & wide) | (register & ~wide))
