# SPDX-License-Identifier: BSD-2-Clause
"""The top module of a board: the core with its UART on the board's pins."""

from __future__ import annotations

from typing import Any

from amaranth.build.res import ResourceError
from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Elaboratable, Module, ResetSignal, Signal
from amaranth.lib import io

from utf8fpga.boards.catalog import Board
from utf8fpga.boards.uart_core import UartCore

DIVIDED_CLOCK = "divided_clock"
"""The name of the net of a divided clock, which is part of its name in the reports of the tools."""

_RGB = {"error": "r", "activity": "g", "overflow": "b"}
"""The colours of the signals on a board whose first LED has three colours, and that has no other."""


class BoardTop(Elaboratable):
    """`UartCore` on the pins of a board.

    Args:
        core: the core, for a clock of the board's frequency divided by `divide`.
        uart: the resource of the UART, its name and number.
        divide: a power of 2 by which the clock is divided.

    Attributes:
        notes: after elaboration, which LEDs are not used, and why, one line each.
    """

    def __init__(self, core: UartCore, board: Board, *, uart: tuple[str, int] = ("uart", 0), divide: int = 1) -> None:
        self._core, self._board, self._uart, self._divide = core, board, uart, divide
        self.notes: list[str] = []

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        self.notes = []
        core = self._core
        m.submodules.core = DomainRenamer(self._clock(m, platform))(core) if self._divide > 1 else core
        uart = platform.request(*self._uart, dir="-")
        m.submodules.rx = rx = io.Buffer("i", uart.rx)
        m.submodules.tx = tx = io.Buffer("o", uart.tx)
        m.d.comb += [core.rx.eq(rx.i), tx.o.eq(core.tx)]
        for name, pin in (leds := self._leds(platform)).items():
            state = getattr(core, name)
            if name == "error" and "overflow" not in leds:
                state |= core.overflow
            # The board's resource inverts the signal if the LED is active low.
            m.submodules[f"led_{name}"] = led = io.Buffer("o", pin)
            m.d.comb += led.o.eq(state)
        return m

    def _clock(self, m: Module, platform: Any) -> str:
        """A domain with the divided clock."""
        m.domains += (domain := ClockDomain("divided"))
        count = Signal(range(self._divide))
        m.d.sync += count.eq(count + 1)
        # A register drives the clock, which the tools then put on a global net.
        clock = Signal(name=DIVIDED_CLOCK)
        m.d.sync += clock.eq(count[-1])
        m.d.comb += [
            ClockSignal(domain.name).eq(clock),
            ResetSignal(domain.name).eq(ResetSignal("sync", allow_reset_less=True)),
        ]
        platform.add_clock_constraint(clock, platform.default_clk_frequency / self._divide)
        return str(domain.name)

    def _leds(self, platform: Any) -> dict[str, Any]:
        """The pins of the LEDs by the names of their signals."""
        leds: dict[str, Any] = {}
        for number, name in enumerate(self._board.leds):
            if ("led", number) in platform.resources:
                try:
                    leds[name] = platform.request("led", number, dir="-")
                except ResourceError as error:
                    self.notes.append(f"LED {number} is not used: {_one_line(error)}")
        if not leds and ("rgb_led", 0) in platform.resources:
            try:
                rgb = platform.request("rgb_led", 0, dir="-")
                leds = {name: getattr(rgb, colour) for name, colour in _RGB.items() if hasattr(rgb, colour)}
            except ResourceError as error:
                self.notes.append(f"the RGB LED is not used: {_one_line(error)}")
        return leds


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
