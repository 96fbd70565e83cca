# SPDX-License-Identifier: BSD-2-Clause
"""The terminal in simulation: bytes to its UART, and frames of its screen as PNG."""

from __future__ import annotations

import ctypes
import struct
import zlib
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, ClockDomain, Module, Signal

from utf8fpga.boards.terminal.terminal import FLASH_BASE, Terminal
from utf8fpga.boards.terminal.unifont import Font, ascii_memory, flash_image
from utf8fpga.boards.terminal.video import HORIZONTAL, VERTICAL
from utf8fpga.sim.engines.gates import CLOCK
from utf8fpga.sim.engines.native import Rtlil, default_cache, library, rtlil_of

DIVISOR = 25
"""The cycles of a bit of the UART: 1,000,000 baud at 25 MHz."""

_BREAK = [0] * 12
_BATCH = 256


class SimulatedTerminal:
    """The terminal as machine code, with a flash and a screen.

    Args:
        spram: RTLIL of a model of SB_SPRAM256KA, for the screen memory in an iCE40UP; default: the other memory.
    """

    def __init__(self, font: Font, spram: str = "") -> None:
        self.width, self.height = HORIZONTAL.visible, VERTICAL.visible
        self._image = flash_image(font)
        definitions = {"BASE": FLASH_BASE, "SIZE": len(self._image), "PIXELS": self.width * self.height}
        self._library = library(
            Rtlil(_rtlil(Terminal(DIVISOR, ascii_memory(font), has_spram=bool(spram))) + spram),
            "".join(f"#define {name} {value}\n" for name, value in definitions.items()),
            default_cache(),
            driver=Path(__file__).with_name("terminal.c"),
        )
        self._library.terminal_size.restype = ctypes.c_uint64
        self._state = ctypes.create_string_buffer(self._library.terminal_size())
        self._frame = (ctypes.c_uint16 * definitions["PIXELS"])()
        self._library.terminal_reset(self._state)
        self._run(b"\1" * 10 * DIVISOR)

    def send(self, text: bytes) -> None:
        """Send bytes without pauses."""
        for start in range(0, len(text), _BATCH):
            bits = [[0, *(byte >> n & 1 for n in range(8)), 1] for byte in text[start : start + _BATCH]]
            self._run(bytes(level for byte in bits for level in byte for _ in range(DIVISOR)))

    def end(self) -> None:
        """Send a break condition, which ends the text."""
        self._run(bytes(_BREAK * DIVISOR))

    def frame(self) -> bytes:
        """The next whole frame after what was sent is on the screen: three bytes for each pixel."""
        for _ in range(3):
            self._run(b"\1" * (HORIZONTAL.total * VERTICAL.total))
        return b"".join(bytes(17 * (pixel >> n & 15) for n in (0, 4, 8)) for pixel in self._frame)

    def _run(self, levels: bytes) -> None:
        self._library.terminal_run(self._state, levels, ctypes.c_uint64(len(levels)), self._image, self._frame)


def _rtlil(terminal: Terminal) -> str:
    """The terminal as RTLIL with the ports that ``terminal.c`` names."""
    m = Module()
    m.domains.sync = domain = ClockDomain(reset_less=True)
    m.submodules.terminal = terminal
    flash, pixel = terminal.flash, terminal.pixel
    outputs = {"rgb": Cat(pixel.red, pixel.green, pixel.blue), "vsync": pixel.vsync, "enable": pixel.enable}
    ports: dict[str, Any] = {CLOCK: domain.clk, "rx": terminal.rx, "cipo": flash.cipo}
    ports |= {"cs": flash.cs, "sck": flash.sck, "copi": flash.copi}
    for name, value in outputs.items():
        ports[name] = Signal(len(value), name=name)
        m.d.comb += ports[name].eq(value)
    return rtlil_of(m, ports)


def png(pixels: bytes, width: int) -> bytes:
    """An image of three bytes for each pixel as PNG."""
    rows = b"".join(b"\0" + pixels[start : start + 3 * width] for start in range(0, len(pixels), 3 * width))
    header = struct.pack(">IIBBBBB", width, len(pixels) // (3 * width), 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
