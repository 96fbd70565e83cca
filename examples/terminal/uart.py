# SPDX-License-Identifier: BSD-2-Clause
"""Receives from a UART, 8N1."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out


class UartReceiver(wiring.Component):
    """Samples each bit in its middle. After a low stop bit, and after a reset, it waits until the line is high.

    Args:
        divisor: the cycles of a bit.

    Ports:
        rx: the line.
        valid: for one cycle, a frame has arrived.
        data: its byte.
        broken: it is a break condition: all bits are low.
        damaged: the stop bit is low, but not all data bits.
    """

    def __init__(self, divisor: int) -> None:
        self._divisor = divisor
        super().__init__({"rx": In(1), **{name: Out(1) for name in ("valid", "broken", "damaged")}, "data": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line, timer, bit = Signal(), Signal(range(self._divisor)), Signal(range(10))
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=0)
        m.d.comb += [self.broken.eq(~line & (self.data == 0)), self.damaged.eq(~line & (self.data != 0))]
        with m.FSM():
            with m.State("WAIT_HIGH"), m.If(line):
                m.next = "IDLE"
            with m.State("IDLE"), m.If(~line):
                m.d.sync += [timer.eq(self._divisor // 2 - 1), bit.eq(0)]
                m.next = "FRAME"
            with m.State("FRAME"):
                m.d.sync += timer.eq(timer - 1)
                with m.If(timer == 0):
                    m.d.sync += [timer.eq(self._divisor - 1), bit.eq(bit + 1)]
                    with m.If(bit == 9):
                        m.d.comb += self.valid.eq(1)
                        m.next = "WAIT_HIGH"
                    with m.Elif((bit == 0) & line):
                        m.next = "IDLE"
                    with m.Else():
                        # The start bit is shifted out by the data bits.
                        m.d.sync += self.data.eq(Cat(self.data[1:], line))
        return m
