# SPDX-License-Identifier: BSD-2-Clause
"""Duplicates of one bit for a wide circuit, and a reset that is distributed in this way.

A net to thousands of flip-flops is slow because it is long. So each bit that many lanes need exists in duplicate
registers, which must stay apart: synthesis merges two registers that are equal by construction.
"""

from __future__ import annotations

from itertools import chain

from amaranth.hdl import Cat, Const, Module, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

MANY = 16
"""Upper bound on the lanes that a register reaches in one cycle if it has a net to each group of them."""


def are_many(lanes: int) -> bool:
    """Whether lanes are so many that what all of them need has duplicates, or a cycle for the way."""
    return lanes > MANY


class FanOut(wiring.Component):
    """Duplicates of a bit, some cycles later, from a tree of registers that doubles at each stage but the last.

    Of two registers that hold the same value one holds the complement, so that synthesis does not merge them. Those of
    the last stage hold the value itself, as an enable or a reset needs it.

    Latency: `stages` cycles. Throughput: a value per cycle. The registers are not reset.

    Args:
        stages: stages of registers; 0 for none, and then there is one duplicate, which is the value.
        doubles: the last stage doubles too, so that some of its registers hold the complement, for loads that are
            functions of more than the bit.

    Attributes:
        tree: per stage the duplicates, each as the register or the complement of the register that holds it.

    Ports:
        value: the bit.
        copies: the duplicates, half as many as 2 to the power of `stages`, and at least one; with `doubles` twice as
            many.
    """

    def __init__(self, stages: int, *, doubles: bool = False) -> None:
        self._registers: list[list[Signal]] = []
        self.tree: list[list[Value]] = []
        for stage in range(stages):
            last = stage == stages - 1 and not doubles
            size = 1 << (stage if last else stage + 1)
            registers = [
                # From the second register on every other one holds the complement.
                Signal(name=f"stage_{stage}_{number}", init=0 if last else number % 2, reset_less=True)
                for number in range(size)
            ]
            self._registers.append(registers)
            self.tree.append([~each if each.init else each for each in registers])
        super().__init__({"value": In(1), "copies": Out(1 << stages if doubles else self.copies_after(stages))})

    @staticmethod
    def copies_after(stages: int) -> int:
        """The number of duplicates."""
        return max(1, 1 << stages >> 1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sources: list[Value] = [self.value]
        for registers, copies in zip(self._registers, self.tree, strict=True):
            each = len(registers) // len(sources)
            for number, register in enumerate(registers):
                source = sources[number // each]
                m.d.sync += register.eq(~source if register.init else source)
            sources = copies
        m.d.comb += self.copies.eq(Cat(*sources))
        return m


class LateReset(wiring.Component):
    """A reset that is asserted some cycles after that of the domain, until in-flight beats have drained.

    A `FanOut` distributes it, so that no net leads from the port of the reset to all registers. Pipelines and trees
    of registers need no reset: what they hold drains.

    Args:
        places: the number of parts of the circuit that need separate duplicates.
        flight: cycles after the last accepted beat in which the beat may still change a register that is reset.

    Attributes:
        cycles: cycles after a reset of the domain for which `busy` is asserted; none is accepted in these.
        active: values that are all 0 unless a reset is in progress.
        quiet: registers, bit n is set unless the domain was reset in one of the n + 1 preceding cycles.

    Ports:
        copies: duplicates of the late reset, at least twice `places`.
        busy: the late reset is pending, asserted, or was asserted in the cycle before.
    """

    def __init__(self, places: int, flight: int) -> None:
        self.tree = FanOut(1 + (2 * places - 1).bit_length())
        stages = len(self.tree.tree)
        # At least two cycles, since a counter may still step in the first one.
        self._asserted = max(2, flight - stages)
        self.cycles = stages + self._asserted
        self.quiet = [Signal(name=f"quiet_{cycle}", init=1, reset_less=True) for cycle in range(self.cycles)]
        super().__init__({"copies": Out(self.tree.copies.shape()), "busy": Out(1)})

    @property
    def active(self) -> list[Value]:
        return [*chain.from_iterable(self.tree.tree), *(~quiet for quiet in self.quiet)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tree = self.tree
        quiet = self.quiet
        m.d.sync += [new.eq(old & ~ResetSignal()) for new, old in zip(quiet, [Const(1, 1), *quiet], strict=False)]
        m.d.comb += [
            self.tree.value.eq(~quiet[self._asserted - 1]),
            self.copies.eq(self.tree.copies),
            self.busy.eq(~quiet[-1]),
        ]
        return m
