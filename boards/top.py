# SPDX-License-Identifier: BSD-2-Clause
"""The top module of a board: the core with its UART on the board's pins."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Elaboratable, Module, ResetSignal, Signal
from amaranth.lib import io

DIVIDED_CLOCK = "divided_clock"
"""The name of the net of a divided clock, which is part of its name in the reports of the tools."""

_RGB = {"error": "r", "activity": "g", "overflow": "b"}
"""The colours of the signals on a board whose first LED has three colours, and that has no other."""


class BoardTop(Elaboratable):
    """`UartCore`, or another circuit with its ports, on the pins of a board.

    Args:
        core: the circuit, for a clock of the board's frequency divided by `divide`.
        leds: the signals of the LEDs 0, 1, 2, see `Board`.
        uart: the resource of the UART, its name and number.
        divide: a power of 2 by which the clock is divided.
    """

    def __init__(self, core: Any, leds: tuple[str, ...], uart: tuple[str, int] = ("uart", 0), divide: int = 1) -> None:
        self._core, self._leds, self._uart, self._divide = core, leds, uart, divide

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        core = self._core
        m.submodules.core = DomainRenamer(self._clock(m, platform))(core) if self._divide > 1 else core
        uart = platform.request(*self._uart, dir="-")
        m.submodules.rx = rx = io.Buffer("i", uart.rx)
        m.submodules.tx = tx = io.Buffer("o", uart.tx)
        m.d.comb += [core.rx.eq(rx.i), tx.o.eq(core.tx)]
        for name, pin in (leds := self._pins(platform)).items():
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

    def _pins(self, platform: Any) -> dict[str, Any]:
        """The pins of the LEDs by the names of their signals."""
        numbers = {name: ("led", number) for number, name in enumerate(self._leds)}
        leds = {name: platform.request(*led, dir="-") for name, led in numbers.items() if led in platform.resources}
        if not leds and ("rgb_led", 0) in platform.resources:
            rgb = platform.request("rgb_led", 0, dir="-")
            leds = {name: getattr(rgb, colour) for name, colour in _RGB.items() if hasattr(rgb, colour)}
        return leds
