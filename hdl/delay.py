# SPDX-License-Identifier: BSD-2-Clause
"""A delay of words in a small memory, which is smaller than as many registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Signal, Value, ValueLike
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.minimise import minimised_word


def access(ports: Sequence[Any], write: Value, entry: Value, read: Value, enable: ValueLike = 1) -> list[Any]:
    """The assignments to a write port and a read port of a memory: the rows that are written and read."""
    into, out = ports
    return [into.en.eq(enable), into.addr.eq(write), into.data.eq(entry), out.addr.eq(read)]


class DelayMemory(wiring.Component):
    """A word in each cycle, output some cycles later.

    The word at `entry` is written to the row from which an earlier one is read in the same cycle. So one pointer is
    enough, and it does not matter at which row it starts. It is in range one cycle after any flip-flop contents; there
    is no reset.

    Throughput: a word per cycle. Latency: `cycles` cycles.

    Args:
        cycles: the delay, 3 to 17.
        number: the index of the memory. Neighbouring ones start at different rows, so that synthesis does not merge
            their pointers.

    Attributes:
        depth: rows in use, one fewer than `cycles`.

    Ports:
        entry: a word.
        output: register, the word that was at `entry` `cycles` cycles before.
    """

    def __init__(self, width: int, cycles: int, number: int = 0) -> None:
        self.cycles, self.depth = cycles, cycles - 1
        super().__init__({"entry": In(width), "output": Out(width)})
        self.pointer = Signal(range(self.depth), name="pointer", init=number % self.depth, reset_less=True)
        self._output = Signal(width, name="delayed", reset_less=True)
        self.rows = memory.Memory(shape=width, depth=self.depth, init=[])
        self._ports = self.rows.write_port(), self.rows.read_port(domain="comb")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = self.rows
        pointer = self.pointer
        steps = {row: (row + 1) % self.depth if row < self.depth else 0 for row in range(1 << len(pointer))}
        # As sums of products: of a choice for each value synthesis would make a reset, which is a long net.
        following = minimised_word(steps, len(pointer), len(pointer))(pointer)
        m.d.sync += [pointer.eq(following), self._output.eq(self._ports[1].data)]
        m.d.comb += [*access(self._ports, pointer, self.entry, pointer), self.output.eq(self._output)]
        return m
