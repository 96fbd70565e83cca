# SPDX-License-Identifier: BSD-2-Clause
"""Builds the bitstream of the terminal for a board, and the image of its font.

``python examples/terminal/build.py BOARD FOLDER``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from amaranth.build import Attrs, Pins, Resource, Subsignal
from amaranth.hdl import Cat, ClockDomain, ClockSignal, Const, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer

from utf8fpga.boards.catalog import find_board
from utf8fpga.boards.terminal.terminal import FLASH_BASE, Terminal
from utf8fpga.boards.terminal.tmds import TmdsTransmitter
from utf8fpga.boards.terminal.unifont import ascii_memory, flash_image, read_font
from utf8fpga.hdl.toolchain import ToolError, run_tool

DIVISOR = 25
"""The cycles of a bit of the UART, of 1,000,000 baud."""

_DVI = Resource(
    "dvi",
    0,
    Subsignal("red", Pins("8 2 7 1", dir="o", conn=("pmod", 0))),
    Subsignal("green", Pins("10 4 9 3", dir="o", conn=("pmod", 0))),
    Subsignal("blue", Pins("3 8 7 1", dir="o", conn=("pmod", 1))),
    Subsignal("hsync", Pins("4", dir="o", conn=("pmod", 1))),
    Subsignal("vsync", Pins("10", dir="o", conn=("pmod", 1))),
    Subsignal("enable", Pins("9", dir="o", conn=("pmod", 1))),
    Subsignal("clk", Pins("2", dir="o", conn=("pmod", 1))),
    Attrs(IO_STANDARD="SB_LVCMOS"),
)
"""The DVI PMOD of 12 bits at the connectors 1A and 1B of an iCEBreaker."""


class Top(Elaboratable):
    """The terminal on the pins of an iCEBreaker or a ULX3S.

    Args:
        memory: see `Terminal`.
        is_ice40: whether it is an iCEBreaker.
    """

    def __init__(self, memory: bytes, is_ice40: bool) -> None:
        self._is_ice40 = is_ice40
        self._terminal = Terminal(DIVISOR, memory, has_spram=is_ice40)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.terminal = terminal = self._terminal
        flash = platform.request("spi_flash_1x" if self._is_ice40 else "spi_flash", 0, dir="-")
        m.submodules.rx = rx = io.Buffer("i", platform.request("uart", 0, dir="-").rx)
        m.submodules.cipo = cipo = io.Buffer("i", flash.cipo)
        m.d.comb += [terminal.rx.eq(rx.i), terminal.flash.cipo.eq(cipo.i)]
        for name, value in {"cs": terminal.flash.cs, "copi": terminal.flash.copi, "wp": 0, "hold": 0}.items():
            m.submodules[name] = pin = io.Buffer("o", getattr(flash, name))
            m.d.comb += pin.o.eq(value)
        if self._is_ice40:
            self._ice40(m, platform, flash)
        else:
            self._ecp5(m, platform)
        return m

    def _domain(self, m: Module, clock: Signal, is_locked: Signal) -> None:
        m.domains.sync = ClockDomain()
        m.d.comb += ClockSignal().eq(clock)
        m.submodules.reset = ResetSynchronizer(~is_locked)

    def _ice40(self, m: Module, platform: Any, flash: Any) -> None:
        """A pixel clock of 25.125 MHz, and the DVI PMOD."""
        clock, is_locked = Signal(), Signal()
        m.submodules.pll = Instance(
            "SB_PLL40_PAD",
            p_FEEDBACK_PATH="SIMPLE",
            p_DIVR=Const(0, 4),
            p_DIVF=Const(66, 7),
            p_DIVQ=Const(5, 3),
            p_FILTER_RANGE=Const(1, 3),
            i_PACKAGEPIN=platform.request("clk12", dir="-").io,
            i_RESETB=Const(1),
            i_BYPASS=Const(0),
            o_PLLOUTGLOBAL=clock,
            o_LOCK=is_locked,
        )
        self._domain(m, clock, is_locked)
        m.submodules.sck = sck = io.Buffer("o", flash.clk)
        m.d.comb += sck.o.eq(self._terminal.flash.sck)
        platform.add_resources([_DVI])
        dvi = platform.request("dvi", 0, dir="-")
        for name in ("red", "green", "blue", "hsync", "vsync", "enable"):
            m.submodules[name] = pin = io.FFBuffer("o", getattr(dvi, name))
            m.d.comb += pin.o.eq(self._terminal.pixel[name])
        m.submodules.dvi_clk = pin = io.DDRBuffer("o", dvi.clk)
        m.d.comb += [pin.o[0].eq(0), pin.o[1].eq(1)]  # It rises in the middle of a pixel.

    def _ecp5(self, m: Module, platform: Any) -> None:
        """A pixel clock of 25 MHz, one of 125 MHz for TMDS with two bits in a cycle, and HDMI."""
        m.submodules.clk25 = clk25 = io.Buffer("i", platform.request("clk25", dir="-"))
        pixel_clock, is_locked = Signal(), Signal()
        m.domains.shift = shift = ClockDomain(reset_less=True)
        m.submodules.pll = Instance(
            "EHXPLLL",
            *(("a", name, value) for name, value in _PLL_ATTRIBUTES.items()),
            *(("p", name, value) for name, value in _PLL_PARAMETERS.items()),
            i_CLKI=clk25.i,
            i_CLKFB=shift.clk,
            i_RST=Const(0),
            i_STDBY=Const(0),
            i_ENCLKOP=Const(0),
            o_CLKOP=shift.clk,
            o_CLKOS=pixel_clock,
            o_LOCK=is_locked,
        )
        self._domain(m, pixel_clock, is_locked)
        m.submodules.sck = Instance("USRMCLK", i_USRMCLKI=self._terminal.flash.sck, i_USRMCLKTS=Const(0))
        m.submodules.tmds = tmds = TmdsTransmitter()
        m.d.comb += tmds.pixel.eq(self._terminal.pixel)
        hdmi = platform.request("hdmi", 0, dir="-")
        for number, port in enumerate((*(hdmi.d[channel] for channel in range(3)), hdmi.clk)):
            m.submodules[f"hdmi_{number}"] = pin = io.DDRBuffer("o", port, o_domain="shift")
            m.d.comb += Cat(pin.o[0], pin.o[1]).eq(tmds.pairs[2 * number : 2 * number + 2])


_PLL_ATTRIBUTES = {
    "FREQUENCY_PIN_CLKI": "25",
    "FREQUENCY_PIN_CLKOP": "125",
    "FREQUENCY_PIN_CLKOS": "25",
    "ICP_CURRENT": "12",
    "LPF_RESISTOR": "8",
}
_PLL_PARAMETERS = {
    "CLKI_DIV": 1,
    "CLKFB_DIV": 5,
    "FEEDBK_PATH": "CLKOP",
    "CLKOP_ENABLE": "ENABLED",
    "CLKOP_DIV": 5,
    "CLKOP_CPHASE": 2,
    "CLKOS_ENABLE": "ENABLED",
    "CLKOS_DIV": 25,
    "CLKOS_CPHASE": 4,
}
"""The values that ecppll computes; but the pixel clock is two periods of 625 MHz later."""


def build(name: str, folder: Path) -> None:
    """Write the bitstream and the image of the font; print the figures of the tools, and how both are programmed."""
    board, font = find_board(name), read_font()
    platform, is_ice40 = board.create_platform(), board.family == "ice40"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "unifont.bin").write_bytes(flash_image(font))
    top = Top(ascii_memory(font), is_ice40)
    # Place and route fails if a clock is too slow.
    plan = platform.prepare(top, name, emit_src=False, nextpnr_opts=f"--report {name}.report.json")
    for file, text in plan.files.items():
        (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    for tool, *arguments in json.loads(plan.files[f"build_{name}.json"])["commands"]:
        run_tool(tool, arguments, directory=folder)
    report = json.loads((folder / f"{name}.report.json").read_text(encoding="utf-8"))
    for kind, count in report["utilization"].items():
        if kind in _REPORTED and count["used"]:
            print(f"{kind:14} {count['used']:5} of {count['available']}")
    for clock in report["fmax"].values():
        print(f"{'clock':14} {clock['achieved']:.2f} MHz reached, {clock['constraint']:.2f} MHz required")
    load = "iceprog" if is_ice40 else "openFPGALoader -b ulx3s -f"
    print(f"program: {load} {folder / name}.{'bin' if is_ice40 else 'bit'}")
    print(f"         {load} -o {FLASH_BASE:#x} {folder / 'unifont.bin'}")


_REPORTED = ("ICESTORM_LC", "ICESTORM_RAM", "ICESTORM_SPRAM", "TRELLIS_COMB", "TRELLIS_FF", "DP16KD")

_BOARDS = ("icebreaker", "ulx3s-12f", "ulx3s-25f", "ulx3s-45f", "ulx3s-85f")

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in _BOARDS:
        sys.exit(f"usage: python {sys.argv[0]} {'|'.join(_BOARDS)} FOLDER")
    try:
        build(sys.argv[1], Path(sys.argv[2]))
    except (ToolError, OSError) as error:
        sys.exit(str(error))
