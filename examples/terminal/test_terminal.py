# SPDX-License-Identifier: BSD-2-Clause
"""The terminal in Verilator, compared with CPython's decoder, the glyphs of the font, and another terminal emulator."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from show import SimulatedTerminal, png
from unifont import read_font

from utf8fpga import decode

HERE = Path(__file__).parent

GREY, RED = 7, 9
PALETTE = [
    (red, green, blue)
    for high, low in ((10, 0), (15, 5))
    for blue in (low, high)
    for green in (low, high)
    for red in (low, high)
]
"""The colours of CGA, except for brown, by their numbers in ISO 6429."""


class Cell(NamedTuple):
    """A column of a glyph, or of a blank, and its colours."""

    pixels: bytes = bytes(16)
    ink: int = GREY
    paper: int = 0


Cells = Mapping[tuple[int, int], Cell]
"""By line and column; the other cells are blank."""


def picture(cells: Cells, cursor: tuple[int, int]) -> bytes:
    """The pixels of the screen, three bytes each."""
    colours = [bytes(17 * part for part in colour) for colour in PALETTE]
    rows = []
    for line in range(30):
        shown = [cells.get((line, column), Cell()) for column in range(80)]
        for y in range(16):
            row = bytearray()
            for column, (pixels, ink, paper) in enumerate(shown):
                pair = (colours[paper], colours[ink])
                byte = pixels[y] ^ (0xFF if (line, column) == cursor else 0)
                row += b"".join(pair[byte >> bit & 1] for bit in range(7, -1, -1))
            rows.append(bytes(row))
    return b"".join(rows)


def sign(letter: str) -> Cell:
    """The filled red box with a letter cut out."""
    return Cell(bytes(2) + bytes(255 - row for row in GLYPHS[ord(letter)][2:15]) + bytes(1), RED)


GLYPHS = {code: random.Random(code).randbytes(16) for code in (*range(0x21, 0x7F), 0xE9)}
GLYPHS |= {0x20: bytes(16), 0x80: random.Random(1).randbytes(32), 0x65E5: random.Random(2).randbytes(32)}
"""A font for tests that do not need those of characters."""

LETTERS = "CBOSRTE"
"""The letters of the causes, in the order of their numbers."""


def made_terminal(font: Mapping[int, bytes], folder: Path) -> SimulatedTerminal:
    try:
        return SimulatedTerminal(font, folder)
    except ValueError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SimulatedTerminal:
    return made_terminal(GLYPHS, tmp_path_factory.mktemp("terminal"))


@pytest.fixture
def terminal(made: Any) -> Any:
    made.restart()
    return made


def test_signs_a_wide_glyph_and_the_end_of_a_text(terminal: Any) -> None:
    # The wide glyph does not fit, so it begins the third line.
    text = b"x\n" + "\u00e9\xff".encode("latin-1") + b"\x1b[34mab\xc3\xa9" + b"-" * 74 + b"\xe6\x97\xa5\xe1\x80"
    terminal.send(text)
    terminal.end()
    terminal.send(b"z")
    a, b, acute, dash, z = (Cell(GLYPHS[ord(each)], 4) for each in "ab\xe9-z")
    left, right = Cell(GLYPHS[0x65E5][:16], 4), Cell(GLYPHS[0x65E5][16:], 4)
    lines = [[Cell(GLYPHS[ord("x")])], [sign("T"), sign("B"), a, b, acute, *[dash] * 74], [left, right, sign("E"), z]]
    cells = {(line, column): cell for line, row in enumerate(lines) for column, cell in enumerate(row)}
    assert terminal.frame() == picture(cells, (2, 4))


def test_the_picture_is_that_of_the_sample(tmp_path: Path) -> None:
    try:
        font = read_font()
    except ValueError as error:
        pytest.skip(str(error))
    terminal = made_terminal(font, tmp_path)
    terminal.send((HERE / "sample.txt").read_bytes())
    terminal.end()
    frame = terminal.frame()
    assert pixels_of(png(frame)) == frame
    assert pixels_of((HERE / "screen.png").read_bytes()) == frame


def pixels_of(image: bytes) -> bytes:
    """The pixels of a picture of 640 pixels in a row, each as three bytes."""
    rows = zlib.decompress(image[image.index(b"IDAT") + 4 : -16])
    return b"".join(rows[start + 1 : start + 1921] for start in range(0, len(rows), 1921))


# Controls, against pyte.

_COLOURS = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")


def colour_of(name: str, default: int) -> int:
    name = name.replace("bfight", "bright")  # pyte's name of a background in bright magenta
    return default if name == "default" else _COLOURS.index(name.removeprefix("bright")) + 8 * name.startswith("bright")


def cells_of(screen: Any) -> dict[tuple[int, int], Cell]:
    """The cells of a screen of pyte, on which the ill-formed items are the characters from U+E001 on."""
    cells = {}
    for line in range(screen.lines):
        for column in range(screen.columns):
            each = screen.buffer[line][column]
            ink, paper = colour_of(each.fg, GREY) | 8 * each.bold, colour_of(each.bg, 0)
            number = ord(each.data) - 0xE000
            if number > 0:
                cells[line, column] = sign(LETTERS[number - 1])
            else:
                cells[line, column] = Cell(GLYPHS[ord(each.data)], *((paper, ink) if each.reverse else (ink, paper)))
    return cells


_IGNORED = re.compile(r"\x1b\[\?2J|\x1b=|\x1bP[^\x1b]*\x1b\\|;[34]8;[^m]*(?=m)")
"""Sequences and parameters that have no effect, and that pyte does not know."""

PIECES = [
    *("\n", "\r", "\b", "\t", "\r" + 80 * "-" + "\b", "\x1b[1mb\x1b[22mn", "\x1b[?2J", "\x1b=", "\xe9"),
    *("\x1b(B", "\x1b]0;title \xe9\x07", "\x1b]8;;http://a\x1b\\", "\x1bP1$r\x1b\\"),
]
ILL_FORMED = [b"\xff", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90", b"\xe1\x80"]
BYTES = [piece.encode() for piece in PIECES] + ILL_FORMED


def random_text(seed: int) -> bytes:
    """A text of ASCII with ill-formed bytes, the controls that the terminal knows, and others without an effect."""
    chance = random.Random(seed)
    parameters = [0, 1, 7, 22, 27, *range(30, 38), 39, *range(40, 48), 49, *range(90, 98), *range(100, 108)]
    parts = []
    for _ in range(60):
        kind = chance.randrange(12)
        if kind < 5:
            parts.append(bytes(chance.randrange(0x20, 0x7F) for _ in range(chance.choice((1, 5, 90)))))
        elif kind < 8:
            parts.append(chance.choice(BYTES))
        elif kind < 9:
            parts.append(f"\x1b[{chance.choice(['', chance.randrange(33)])};{chance.randrange(90)}H".encode())
        elif kind < 10:
            # Erased cells have the colours of the initial pen, which other terminals have in theirs.
            back = chance.choice(["", "\b\b\b"])
            parts.append(f"{back}\x1b[m\x1b[{chance.choice(['J', '2J', 'K', '0K', '2K', 'H', '7H'])}".encode())
        else:
            pen = ";".join(str(chance.choice(parameters)) for _ in range(chance.randrange(4)))
            parts.append(f"\x1b[{pen}{chance.choice(['', ';38;5;31', ';48;2;1;7;32'])}m".encode())
    return b"".join(parts) + b" "


@pytest.mark.parametrize("seed", range(4))
def test_texts_and_controls_are_those_of_cpython_and_of_another_terminal(seed: int, terminal: Any) -> None:
    pyte = pytest.importorskip("pyte", reason="pyte is not installed")
    screen = pyte.Screen(80, 30)
    screen.set_mode(pyte.modes.LNM)
    stream = pyte.Stream(screen)
    for part in range(6):
        text = random_text(6 * seed + part)
        items = list(decode(text))
        assert "".join(item.char for item in items) == text.decode(errors="replace")
        shown = "".join(chr(0xE000 + item.error) if item.error else item.char for item in items)
        stream.feed(_IGNORED.sub("", shown))
        terminal.send(text)
        assert terminal.frame() == picture(cells_of(screen), (screen.cursor.y, screen.cursor.x))


def test_nothing_is_lost_at_any_rate_of_glyphs(terminal: Any) -> None:
    # Two bytes of a glyph with two columns, and lines that are filled with 79 blanks.
    text = "\x80".encode() * 3000 + b"".join(b"\x1b[%d;80HA" % line for line in range(1, 31))
    terminal.send(b"\x1b[H\x1b[2J" + text)
    cells = {(line, 79): Cell(GLYPHS[ord("A")]) for line in range(30)}
    found = terminal.frame()
    for (line, column), cell in cells.items():
        row = picture({(line, column): cell}, (29, 80))[1920 * (16 * line + 8) :][3 * 8 * column : 3 * 8 * (column + 1)]
        assert found[1920 * (16 * line + 8) :][3 * 8 * column : 3 * 8 * (column + 1)] == row
