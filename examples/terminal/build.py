# SPDX-License-Identifier: BSD-2-Clause
"""Builds the bitstream of the terminal for an iCEBreaker, and the image of its font.

``python examples/terminal/build.py FOLDER``
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from amaranth.build import Attrs, Pins, Resource, Subsignal
from amaranth.hdl import ClockDomain, ClockSignal, Const, Elaboratable, Instance, Module, Signal
from amaranth.lib import io
from amaranth.lib.cdc import ResetSynchronizer
from amaranth_boards.icebreaker import ICEBreakerPlatform
from terminal import FLASH_BASE, Terminal
from unifont import flash_image, read_font

TOOLS = {"YOSYS": "yosys", "NEXTPNR_ICE40": "nextpnr-ice40", "ICEPACK": "icepack"}

DVI = Resource(
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
"""The DVI PMOD of 12 bits at the connectors 1A and 1B."""


class Top(Elaboratable):
    """The terminal on the pins, with a pixel clock of 25.125 MHz."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.terminal = terminal = Terminal()
        self._add_clock(m, platform)
        flash = platform.request("spi_flash_1x", 0, dir="-")
        m.submodules.rx = rx = io.Buffer("i", platform.request("uart", 0, dir="-").rx)
        m.submodules.cipo = cipo = io.Buffer("i", flash.cipo)
        m.d.comb += [terminal.rx.eq(rx.i), terminal.flash.cipo.eq(cipo.i)]
        outputs = {"clk": terminal.flash.sck, "cs": terminal.flash.cs, "copi": terminal.flash.copi, "wp": 0, "hold": 0}
        for name, value in outputs.items():
            m.submodules[name] = pin = io.Buffer("o", getattr(flash, name))
            m.d.comb += pin.o.eq(value)
        platform.add_resources([DVI])
        dvi = platform.request("dvi", 0, dir="-")
        for name in ("red", "green", "blue", "hsync", "vsync", "enable"):
            m.submodules[name] = pin = io.FFBuffer("o", getattr(dvi, name))
            m.d.comb += pin.o.eq(terminal.pixel[name])
        m.submodules.dvi_clk = pin = io.DDRBuffer("o", dvi.clk)
        m.d.comb += [pin.o[0].eq(0), pin.o[1].eq(1)]  # It rises in the middle of a pixel.
        return m

    def _add_clock(self, m: Module, platform: Any) -> None:
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
        m.domains.sync = ClockDomain()
        m.d.comb += ClockSignal().eq(clock)
        m.submodules.reset = ResetSynchronizer(~is_locked)


def build(folder: Path) -> None:
    """Write the bitstream and the image of the font; print how both are programmed."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "unifont.bin").write_bytes(flash_image(read_font()))
    for variable, tool in TOOLS.items():
        os.environ.setdefault(variable, f"{sysconfig.get_path('scripts')}/yowasp-{tool}")
    # Place and route fails if a clock is too slow.
    ICEBreakerPlatform().build(Top(), "terminal", str(folder), emit_src=False)
    print(f"program: iceprog {folder / 'terminal.bin'}")
    print(f"         iceprog -o {FLASH_BASE:#x} {folder / 'unifont.bin'}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FOLDER")
    try:
        build(Path(sys.argv[1]))
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
