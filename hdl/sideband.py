# SPDX-License-Identifier: BSD-2-Clause
"""Values that accompany a packet beside a core, such as its identifier."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out


class Sideband(wiring.Component):
    """A queue with a word for each packet in flight in the core beside it, which needs no flow control.

    The words wait in a memory. Between packets the row that is next is written in each cycle, so that after the first
    beat of a packet it has the word beside that beat. A core has an end of a packet at the output for each one at the
    input. So the word at the front of the queue belongs to the packet at the output until the last beat of that packet
    is transferred. There are enough rows: packets whose last beat was accepted need a cycle each at the output, hence
    there are at most *drain_cycles* of them, and one row is written.

    A word is at *output* from the cycle after its beat on. A reset discards all words.

    Args:
        drain_cycles: that of the core, see `Core`.

    Ports:
        entry: the word beside an input beat.
        accepts: an input beat is transferred in this cycle.
        keep: it has a symbol. A beat with neither a symbol nor `last`, a null beat, begins no packet.
        last: it ends its packet.
        output: the word of the packet at the output.
        leaves: the last beat of an output packet is transferred in this cycle.
    """

    def __init__(self, width: int, drain_cycles: int) -> None:
        self._depth = 1 << drain_cycles.bit_length()
        inputs = {name: In(1) for name in ("accepts", "keep", "last", "leaves")}
        super().__init__({"entry": In(width), **inputs, "output": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = memory.Memory(shape=len(self.entry), depth=self._depth, init=[])
        write = words.write_port()
        read = words.read_port(domain="comb")
        between = Signal(init=1)
        m.d.comb += [write.en.eq(between), write.data.eq(self.entry), self.output.eq(read.data)]
        with m.If(self.accepts & self.last):
            m.d.sync += write.addr.eq(write.addr + 1)
        with m.If(self.leaves):
            m.d.sync += read.addr.eq(read.addr + 1)
        with m.If(self.accepts & (self.keep | self.last)):
            m.d.sync += between.eq(self.last)
        return m
