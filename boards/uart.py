# SPDX-License-Identifier: BSD-2-Clause
"""An 8N1 UART as two stream components.

Our own, because amaranth-stdio, which has one, is not on PyPI, and because a line break and a
damaged frame are to be told from bytes.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from utf8fpga.model.exceptions import InvalidArgumentError

__all__ = ["FRAME_LAYOUT", "MINIMUM_DIVISOR", "UartReceiver", "UartTransmitter", "uart_divisor"]

MINIMUM_DIVISOR = 4
"""The fewest clocks per bit that leave room for two rates that differ (see `UartReceiver`)."""

_TOLERANCE = 0.02
"""How far the rate made from the clock may be from the rate asked for."""

_DATA_BITS = 8
_STOP_BIT = _DATA_BITS + 1
"""The number of the stop bit in a frame, the start bit being 0."""

FRAME_LAYOUT = data.StructLayout({"data": _DATA_BITS, "broken": 1, "damaged": 1})
"""One frame received.

Fields:
    data: the byte; 0 in a line break, unreliable where `damaged` is set.
    broken: a line break: data bits and stop bit all low.
    damaged: the stop bit is low, and it is no line break.
"""


def uart_divisor(clock_hz: float, baud: float) -> int:
    """Clocks per bit: the rate from the clock is within 2% of the rate asked for.

    Args:
        clock_hz: the clock, Hz.
        baud: bits per second on the line.

    Raises:
        ValueError: the clock cannot make that rate, or makes it in fewer than `MINIMUM_DIVISOR` clocks.

    >>> uart_divisor(12e6, 115_200)
    104
    """
    if clock_hz <= 0:
        raise InvalidArgumentError(f"clock of {clock_hz:g} Hz is not positive")
    highest = clock_hz / MINIMUM_DIVISOR
    if not 0 < baud <= highest:
        raise InvalidArgumentError(
            f"baud rate {baud:.10g} is not in 1..{highest:.10g}: "
            f"a bit is at least {MINIMUM_DIVISOR} clocks of {clock_hz / 1e6:.10g} MHz"
        )
    divisor = round(clock_hz / baud)
    if abs(clock_hz / divisor - baud) > _TOLERANCE * baud:
        fewer = max(MINIMUM_DIVISOR, int(clock_hz / baud))
        raise InvalidArgumentError(
            f"baud rate {baud:.10g} is {clock_hz / baud:.2f} clocks of {clock_hz / 1e6:.10g} MHz, more than "
            f"{_TOLERANCE:.0%} from a whole number: {clock_hz / (fewer + 1):.0f} or {clock_hz / fewer:.0f} would do"
        )
    return divisor


def _check_divisor(divisor: int) -> None:
    if divisor < MINIMUM_DIVISOR:
        raise InvalidArgumentError(f"divisor {divisor} is less than {MINIMUM_DIVISOR} clocks per bit")


class UartReceiver(wiring.Component):
    """Frames from a line: start bit low, 8 data bits from the lowest, stop bit high.

    Every bit is sampled once: bit k, the start bit being 0, ``divisor // 2 + k * divisor`` cycles
    after the start bit's edge, and up to one cycle later. The sample of the stop bit, k = 9, must
    fall between 9 and 10 of the sender's bits, so one bit of the sender may last from
    ``(9 * divisor + divisor // 2 + 1) / 10`` to ``(9 * divisor + divisor // 2) / 9`` cycles. A
    sender whose rate differs by at most ``(1/2 - 1/divisor) / 10`` is within both limits: 2.5% at
    a divisor of 4, 4.1% at 12. A start bit that is high when it is sampled is noise and makes no
    frame. The next start bit may follow at once.

    After a low stop bit, and after a reset, nothing is received until the line is high again; so
    a line break makes one frame however long it lasts, and one in the middle of a byte may first
    make a damaged frame instead.

    Latency: a frame appears 1.5 to 3 clocks after the middle of its stop bit; 2 of them synchronise.

    Args:
        divisor: clocks per bit, at least `MINIMUM_DIVISOR`.

    Ports:
        rx: the line, not synchronised to the clock.
        frames: stream of `FRAME_LAYOUT` without back-pressure: a frame is valid for one clock, and
            at least ``9 * divisor`` clocks after the one before.

    Raises:
        ValueError: `divisor` is less than `MINIMUM_DIVISOR`.
    """

    def __init__(self, divisor: int) -> None:
        _check_divisor(divisor)
        self.divisor = divisor
        super().__init__({"rx": In(1), "frames": Out(stream.Signature(FRAME_LAYOUT, always_ready=True))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line = Signal()
        # Low at first, so that a line that is low when power comes on is not taken for a start bit.
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=0)

        timer = Signal(range(self.divisor))
        bit = Signal(range(_STOP_BIT + 1))
        received = Signal(_DATA_BITS)
        m.d.comb += [
            self.frames.payload.data.eq(received),
            self.frames.payload.broken.eq(~line & (received == 0)),
            self.frames.payload.damaged.eq(~line & (received != 0)),
        ]
        with m.FSM(init="WAIT_HIGH"):
            with m.State("WAIT_HIGH"), m.If(line):
                m.next = "IDLE"
            with m.State("IDLE"), m.If(~line):
                m.d.sync += [timer.eq(self.divisor // 2 - 1), bit.eq(0)]
                m.next = "FRAME"
            with m.State("FRAME"):
                m.d.sync += timer.eq(timer - 1)
                with m.If(timer == 0):
                    m.d.sync += [timer.eq(self.divisor - 1), bit.eq(bit + 1)]
                    with m.If(bit == _STOP_BIT):
                        m.d.comb += self.frames.valid.eq(1)
                        with m.If(line):
                            m.next = "IDLE"
                        with m.Else():
                            m.next = "WAIT_HIGH"
                    with m.Elif((bit == 0) & line):
                        m.next = "IDLE"
                    with m.Else():
                        # The start bit passes through and out.
                        m.d.sync += received.eq(Cat(received[1:], line))
        return m


class UartTransmitter(wiring.Component):
    """Bytes to a line, 8N1, without a gap between back-to-back bytes.

    Throughput: a byte every ``10 * divisor`` clocks.

    Latency: the start bit begins in the clock after the transfer.

    Args:
        divisor: clocks per bit, at least `MINIMUM_DIVISOR`.

    Ports:
        data: stream of bytes; ready while nothing is sent and in the last clock of a stop bit.
        tx: the line, from a register; high while nothing is sent.

    Raises:
        ValueError: `divisor` is less than `MINIMUM_DIVISOR`.
    """

    def __init__(self, divisor: int) -> None:
        _check_divisor(divisor)
        self.divisor = divisor
        super().__init__({"data": In(stream.Signature(_DATA_BITS)), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        timer = Signal(range(self.divisor))
        bits_left = Signal(range(_STOP_BIT + 1))
        """Bits to send after the one on the line."""
        rest = Signal(_STOP_BIT)
        """Those bits, the next one lowest."""
        m.d.comb += self.data.ready.eq((timer == 0) & (bits_left == 0))
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Elif(bits_left != 0):
            m.d.sync += [
                Cat(self.tx, rest).eq(rest),
                bits_left.eq(bits_left - 1),
                timer.eq(self.divisor - 1),
            ]
        with m.Elif(self.data.valid):
            m.d.sync += [
                self.tx.eq(0),
                rest.eq(Cat(self.data.payload, 1)),
                bits_left.eq(_STOP_BIT),
                timer.eq(self.divisor - 1),
            ]
        return m
