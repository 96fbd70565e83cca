# SPDX-License-Identifier: BSD-2-Clause
"""Values that accompany a packet beside a core, such as its identifier."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out


class Sideband(wiring.Component):
    """A queue with a word for each packet in flight in the core beside it, which needs no flow control.

    A core has an end of a packet at the output for each one at the input. So the word at the front of the queue belongs
    to the packet at the output, and changes only after the last beat of that packet. It is never empty then, since no
    output precedes the first beat of its packet. It is never full: packets whose last beat was accepted need a cycle
    each at the output, hence there are at most *drain_cycles* of them, and a row is left for the packet at the input.

    A word is at *output* from the cycle after its beat on. A reset discards all words.

    Args:
        width: bits of a word.
        drain_cycles: that of the core, see `Core`.

    Ports:
        entry: the word beside an input beat; that of the first beat of a packet is entered.
        accepts: an input beat other than a null beat is transferred in this cycle.
        last: it ends its packet.
        output: the word of the packet at the output.
        leaves: the last beat of an output packet is transferred in this cycle.
    """

    def __init__(self, width: int, drain_cycles: int) -> None:
        self._bits = drain_cycles.bit_length()
        inputs = {name: In(1) for name in ("accepts", "last", "leaves")}
        super().__init__({"entry": In(width), **inputs, "output": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = memory.Memory(shape=len(self.entry), depth=1 << self._bits, init=[])
        write = words.write_port()
        read = words.read_port(domain="comb")
        begins = Signal(init=1)
        m.d.comb += [
            write.en.eq(self.accepts & begins),
            write.data.eq(self.entry),
            self.output.eq(read.data),
        ]
        m.d.sync += [write.addr.eq(write.addr + write.en), read.addr.eq(read.addr + self.leaves)]
        with m.If(self.accepts):
            m.d.sync += begins.eq(self.last)
        return m
