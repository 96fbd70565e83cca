# SPDX-License-Identifier: BSD-2-Clause
"""An 8N1 UART as two stream components.

The UART of amaranth-stdio is not used, since that package is not on PyPI and does not distinguish
break conditions and framing errors from bytes.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from utf8fpga.model.exceptions import InvalidArgumentError

MINIMUM_DIVISOR = 4
"""Lower bound on the cycles per bit, which allows for a difference between the rates (see `UartReceiver`)."""

_TOLERANCE = 0.02
"""Upper bound on the relative error of the baud rate."""

_DATA_BITS = 8
_STOP_BIT = _DATA_BITS + 1
"""The number of the stop bit in a frame, the start bit being 0."""

FRAME_LAYOUT = data.StructLayout({"data": _DATA_BITS, "broken": 1, "damaged": 1})
"""One frame received.

Fields:
    data: the byte; 0 in a break condition, unreliable where `damaged` is set.
    broken: a break condition: all data bits and the stop bit are low.
    damaged: a framing error: the stop bit is low, but not all data bits.
"""


def uart_divisor(clock_hz: float, baud: float) -> int:
    """The number of cycles per bit, such that the resulting rate is within 2% of the specified one.

    Args:
        clock_hz: the clock frequency in Hz.
        baud: bits per second on the line, above 0 and at most ``clock_hz / MINIMUM_DIVISOR``.

    Raises:
        ValueError: an argument is outside its range, or the rate of any divisor differs by more than 2%.

    >>> uart_divisor(16e6, 115_200)  # 138.9 cycles
    139
    """
    highest = clock_hz / MINIMUM_DIVISOR
    if not 0 < baud <= highest:
        raise InvalidArgumentError(
            f"baud rate {baud:.10g} is not in 1..{highest:.10g}: "
            f"a bit has at least {MINIMUM_DIVISOR} cycles of {clock_hz / 1e6:.10g} MHz"
        )
    divisor = round(clock_hz / baud)
    if abs(clock_hz / divisor - baud) > _TOLERANCE * baud:
        raise InvalidArgumentError(
            f"baud rate {baud:.10g} is {clock_hz / baud:.2f} cycles of {clock_hz / 1e6:.10g} MHz, "
            f"more than {_TOLERANCE:.0%} from an integer"
        )
    return divisor


class UartReceiver(wiring.Component):
    """A UART receiver: start bit low, 8 data bits from the least significant one, stop bit high.

    Every bit is sampled once: bit k, where the start bit is 0, ``divisor // 2 + k * divisor`` to
    ``divisor // 2 + k * divisor + 1`` cycles after the edge of the start bit. The sample of the stop
    bit, k = 9, must fall between 9 and 10 bit times of the sender, so a bit time of the sender must
    be from ``(9 * divisor + divisor // 2 + 1) / 10`` to ``(9 * divisor + divisor // 2) / 9`` cycles.
    A sender whose rate differs by at most ``(1/2 - 1/divisor) / 10`` is within both limits: 2.5% at
    a divisor of 4, 4.1% at 12. A start bit that is high when it is sampled is noise and gives no
    frame. The next start bit may follow immediately.

    After a low stop bit, and after a reset, the receiver waits until the line is high. A break
    condition of any length therefore gives one frame; if it starts within a byte, that may be a
    damaged frame instead.

    Latency: `frames.valid` is asserted 1.5 to 3 cycles after the middle of the stop bit, 2 of which
    are due to the synchroniser.

    Args:
        divisor: cycles per bit, at least `MINIMUM_DIVISOR`.

    Ports:
        rx: the line, not synchronised to the clock.
        frames: stream of `FRAME_LAYOUT` without back-pressure (`ready` is always asserted); `valid` is
            asserted for one cycle, at least ``9 * divisor`` cycles after the previous frame.
    """

    def __init__(self, divisor: int) -> None:
        self.divisor = divisor
        super().__init__({"rx": In(1), "frames": Out(stream.Signature(FRAME_LAYOUT, always_ready=True))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The line is initially low, so that a line that is low at power-up is not detected as a start bit.
        line, received = Signal(), Signal(_DATA_BITS)
        timer, bit = Signal(range(self.divisor)), Signal(range(_STOP_BIT + 1))
        m.submodules.synchronizer = FFSynchronizer(self.rx, line, init=0)
        frame, is_low = self.frames.payload, received == 0
        m.d.comb += [frame.data.eq(received), frame.broken.eq(~line & is_low), frame.damaged.eq(~line & ~is_low)]
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
                        m.next = "WAIT_HIGH"
                        with m.If(line):
                            m.next = "IDLE"
                    with m.Elif((bit == 0) & line):
                        m.next = "IDLE"
                    with m.Else():
                        # The start bit is shifted out by the data bits.
                        m.d.sync += received.eq(Cat(received[1:], line))
        return m


class UartTransmitter(wiring.Component):
    """A UART transmitter, 8N1, without a gap between back-to-back bytes.

    Throughput: one byte in ``10 * divisor`` cycles.

    Latency: the start bit begins in the cycle after the transfer.

    Args:
        divisor: cycles per bit, at least `MINIMUM_DIVISOR`.

    Ports:
        data: stream of bytes; `ready` is asserted while the line is idle and in the last cycle of a stop bit.
        tx: the line, driven by a register; high while idle.
    """

    def __init__(self, divisor: int) -> None:
        self.divisor = divisor
        super().__init__({"data": In(stream.Signature(_DATA_BITS)), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        timer = Signal(range(self.divisor))
        bits_left = Signal(range(_STOP_BIT + 1))
        """The number of bits to send after the one on the line."""
        rest = Signal(_STOP_BIT)
        """These bits, the next one in the least significant position."""
        m.d.comb += self.data.ready.eq((timer == 0) & (bits_left == 0))
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Elif(bits_left != 0):
            m.d.sync += [Cat(self.tx, rest).eq(rest), bits_left.eq(bits_left - 1), timer.eq(self.divisor - 1)]
        with m.Elif(self.data.valid):
            m.d.sync += [self.tx.eq(0), rest.eq(Cat(self.data.payload, 1))]
            m.d.sync += [bits_left.eq(_STOP_BIT), timer.eq(self.divisor - 1)]
        return m
