# SPDX-License-Identifier: BSD-2-Clause
"""The terminal: frames against CPython's decoder, the glyphs of the font, and another terminal emulator."""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.engines import requires_compiler

from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import decode

CHECKOUT = Path(__file__).parents[2]
EXAMPLE = CHECKOUT / "examples" / "terminal"

GREY, RED = 7, 9
PALETTE = [
    (red, green, blue)
    for high, low in ((10, 0), (15, 5))
    for blue in (low, high)
    for green in (low, high)
    for red in (low, high)
]
"""The colours of CGA, except for brown, by their numbers in ISO 6429."""

LETTERS = {
    "UNEXPECTED_CONTINUATION": "C",
    "INVALID_BYTE": "B",
    "OVERLONG": "O",
    "SURROGATE": "S",
    "OUT_OF_RANGE": "R",
    "TRUNCATED": "T",
    "INCOMPLETE": "E",
}


@pytest.fixture(scope="module", autouse=True)
def _modules() -> Iterator[None]:
    """The modules of the example in the search path."""
    sys.path.insert(0, str(EXAMPLE))
    yield
    sys.path.remove(str(EXAMPLE))


class Cell(NamedTuple):
    """A column of a glyph, or of a blank, and its colours."""

    pixels: bytes = bytes(16)
    ink: int = GREY
    paper: int = 0


Cells = Mapping[tuple[int, int], Cell]
"""By line and column; the other cells are blank."""


def picture(cells: Cells, columns: int, lines: int, cursor: tuple[int, int]) -> bytes:
    """The pixels of a screen, three bytes each."""
    found = bytearray()
    for y in range(16 * lines):
        for x in range(8 * columns):
            place = y // 16, x // 8
            pixels, ink, paper = cells.get(place, Cell())
            is_ink = bool(pixels[y % 16] << x % 8 & 0x80) != (place == cursor)
            found += bytes(17 * part for part in PALETTE[ink if is_ink else paper])
    return bytes(found)


def signs_of(data: bytes, font: Mapping[int, bytes]) -> Iterator[tuple[str, bytes]]:
    """The characters of a text and their glyphs; the text is decoded by CPython, the causes are those of the model."""
    items = list(decode(data))
    text = data.decode("utf-8", "replace")
    assert [item.code_point for item in items] == [ord(character) for character in text]
    for item, character in zip(items, text, strict=True):
        if item.error:
            letter = font[ord(LETTERS[item.error.name])]
            yield "error", bytes(2) + bytes(255 - row for row in letter[2:15]) + bytes(1)
        elif ord(character) in font:
            yield character, font[ord(character)]
        else:
            yield character, bytes.fromhex("000000 7e 424242424242424242 7e 0000")


def lines_of(data: bytes, font: Mapping[int, bytes]) -> tuple[dict[tuple[int, int], Cell], tuple[int, int]]:
    """The cells and the cursor after a text of short lines, with CSI m of one or several parameters."""
    cells, line, column, ink, paper = {}, 0, 0, GREY, 0
    signs = signs_of(data, font)
    for character, glyph in signs:
        if character == "\n":
            line, column = line + 1, 0
        elif character == "\x1b":
            numbers = "".join(iter(lambda: next(signs)[0], "m"))
            for number in numbers.removeprefix("[").split(";"):
                if number in ("", "0"):
                    ink, paper = GREY, 0
                elif number == "1":
                    ink |= 8
                elif number[0] == "3":
                    ink = ink & 8 | int(number[1])
                else:
                    paper = int(number[1])
        else:
            colours = (RED, 0) if character == "error" else (ink, paper)
            if character < " ":
                glyph, colours = font[ord(character) ^ 0x40], (paper, ink)
            for start in range(0, len(glyph), 16):
                cells[line, column] = Cell(glyph[start : start + 16], *colours)
                column += 1
    return cells, (line, column)


class Flash:
    """A flash that is read with the command 03.

    Args:
        contents: the bytes from `base` on.
        base: their address.
    """

    def __init__(self, contents: bytes, base: int) -> None:
        self._contents, self._base = contents, base
        self._clock = self._data = 0
        self._bits = ""

    def answer(self, cs: int, sck: int, copi: int) -> int:
        """The output after the levels of a cycle: the bit that is valid at the next falling edge."""
        if not cs:
            self._bits = ""
        elif sck and not self._clock:
            self._bits += str(copi)
            if len(self._bits) >= 32:
                assert self._bits[:8] == "00000011"
                byte, bit = divmod(len(self._bits) - 32, 8)
                self._data = self._contents[int(self._bits[8:32], 2) - self._base + byte] >> (7 - bit) & 1
        self._clock = sck
        return self._data


class Frames:
    """Collects frames of so many pixels.

    Attributes:
        last: the last whole one, three bytes for each pixel.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._pixels = bytearray()
        self.last = b""

    def add(self, pixel: Any) -> None:
        """Add the pixel of a cycle."""
        if pixel.enable:
            self._pixels += bytes(17 * part for part in (pixel.red, pixel.green, pixel.blue))
        if not pixel.vsync:
            if len(self._pixels) == 3 * self._size:
                self.last = bytes(self._pixels)
            self._pixels.clear()


def simulated(text: bytes, font: Mapping[int, bytes], columns: int, lines: int) -> bytes:
    """A frame of a small screen in Amaranth's simulator, after a text and a break condition."""
    from amaranth.sim import Simulator
    from terminal import FLASH_BASE, Terminal
    from unifont import ascii_memory, flash_image
    from video import Timing

    horizontal, vertical = Timing(8 * columns, 2, 4, 6), Timing(16 * lines, 1, 1, 1)
    dut = Terminal(4, ascii_memory(font), horizontal=horizontal, vertical=vertical)
    flash, frames = Flash(flash_image(font), FLASH_BASE), Frames(8 * columns * 16 * lines)

    async def surroundings(ctx: Any) -> None:
        async for _, _, cs, sck, copi, pixel in ctx.tick().sample(dut.cs, dut.sck, dut.copi, dut.pixel):
            ctx.set(dut.cipo, flash.answer(cs, sck, copi))
            frames.add(pixel)

    async def host(ctx: Any) -> None:
        bits = [1] * 40 + [bit for byte in text for bit in (0, *(byte >> n & 1 for n in range(8)), 1)] + [0] * 12
        for bit in bits:
            ctx.set(dut.rx, bit)
            await ctx.tick().repeat(4)
        ctx.set(dut.rx, 1)
        await ctx.tick().repeat(2 * horizontal.total * vertical.total + 2000)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(host)
    simulator.add_testbench(surroundings, background=True)
    simulator.run()
    return frames.last


@pytest.mark.smoke
def test_a_small_screen_shows_the_glyphs_of_a_text() -> None:
    random_glyphs = random.Random(1)
    font = {code: random_glyphs.randbytes(16) for code in (*range(0x20, 0x7F), 0xE9)}
    font |= {code: random_glyphs.randbytes(32) for code in (0x65E5, 0xFFFD)}
    # The wide glyph does not fit, so it begins the second line; the last line scrolls the first one away.
    text = b"x\n" + "é\xff".encode("latin-1") + b"\x1b[34mab\xc3\xa9\xe6\x97\xa5\xe1\x80"
    error = ((bytes(255 - row for row in font[ord(letter)][2:15])) for letter in "TBE")
    truncated, invalid, incomplete = (Cell(bytes(2) + rows + bytes(1), RED) for rows in error)
    wide = font[0x65E5]
    cells = dict(
        zip(
            [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1), (1, 2)],
            [
                truncated,
                invalid,
                Cell(font[ord("a")], 4),
                Cell(font[ord("b")], 4),
                Cell(font[0xE9], 4),
                Cell(wide[:16], 4),
                Cell(wide[16:], 4),
                incomplete,
            ],
            strict=True,
        )
    )
    assert simulated(text, font, 5, 2) == picture(cells, 5, 2, (1, 3))


@pytest.fixture(scope="module")
def font() -> dict[int, bytes]:
    from unifont import read_font

    try:
        return read_font()
    except ToolError as error:
        pytest.skip(str(error))


@pytest.fixture
def terminal(font: dict[int, bytes]) -> Any:
    from simulate import SimulatedTerminal

    return SimulatedTerminal(font)


@requires_compiler
@pytest.mark.slow
def test_the_sample_is_decoded_as_by_cpython(terminal: Any, font: dict[int, bytes]) -> None:
    sample = (EXAMPLE / "sample.txt").read_bytes()
    terminal.send(sample)
    terminal.end()
    frame = terminal.frame()
    cells, cursor = lines_of(sample, font)
    assert frame == picture(cells, 80, 30, cursor)
    # The picture of the page is this frame.
    committed = (CHECKOUT / "docs" / "pictures" / "terminal.png").read_bytes()
    chunks = zlib.decompress(committed[committed.index(b"IDAT") + 4 : -12 - 4])
    assert b"".join(chunks[start + 1 : start + 1921] for start in range(0, len(chunks), 1921)) == frame


# Controls, against pyte.

_COLOURS = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")


def colour_of(name: str, default: int) -> int:
    return default if name == "default" else _COLOURS.index(name.removeprefix("bright")) + 8 * name.startswith("bright")


def cells_of(screen: Any, font: Mapping[int, bytes]) -> dict[tuple[int, int], Cell]:
    """The cells of a screen of pyte."""
    cells = {}
    for line in range(screen.lines):
        for column in range(screen.columns):
            each = screen.buffer[line][column]
            ink, paper = colour_of(each.fg, GREY) | 8 * each.bold, colour_of(each.bg, 0)
            cells[line, column] = Cell(font[ord(each.data)], *((paper, ink) if each.reverse else (ink, paper)))
    return cells


def random_controls(seed: int) -> bytes:
    """A text of ASCII with the controls that the terminal knows, and sequences that it ignores."""
    chance = random.Random(seed)
    parameters = [0, 1, 7, 22, 27, *range(30, 38), 39, *range(40, 48), 49, *range(90, 98), *range(100, 108)]
    parts = []
    for _ in range(400):
        kind = chance.randrange(12)
        if kind < 6:
            parts.append("".join(chr(chance.randrange(0x20, 0x7F)) for _ in range(chance.choice((1, 5, 90)))))
        elif kind < 8:
            parts.append(chance.choice("\n\r\b\t"))
        elif kind < 9:
            parts.append(f"\x1b[{chance.choice(['', chance.randrange(33)])};{chance.randrange(90)}H")
        elif kind < 10:
            # Erased cells have the colours of the initial pen, which other terminals have in theirs.
            parts.append(f"\x1b[m\x1b[{chance.choice(['J', '2J', 'K', '0K', '2K', 'H', '7H'])}")
        else:
            parts.append(f"\x1b[{';'.join(str(chance.choice(parameters)) for _ in range(chance.randrange(4)))}m")
    return "".join(parts).encode()


@requires_compiler
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_controls_are_those_of_another_terminal(seed: int, terminal: Any, font: dict[int, bytes]) -> None:
    pyte = pytest.importorskip("pyte")
    text = random_controls(seed)
    screen = pyte.Screen(80, 30)
    screen.set_mode(pyte.modes.LNM)
    pyte.ByteStream(screen).feed(text)
    terminal.send(text)
    assert terminal.frame() == picture(cells_of(screen, font), 80, 30, (screen.cursor.y, screen.cursor.x))
