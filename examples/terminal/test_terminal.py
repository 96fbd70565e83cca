# SPDX-License-Identifier: BSD-2-Clause
"""The terminal in Verilator, against CPython, the glyphs of the font, ECMA-35 and 48, and another terminal."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from show import SimulatedTerminal, png
from unifont import LETTERS, read_font

from utf8fpga import decode

HERE = Path(__file__).parent

GREY, RED = 7, 9
PALETTE = [
    *("000", "a00", "0a0", "aa0", "00a", "a0a", "0aa", "aaa"),
    *("555", "f55", "5f5", "ff5", "55f", "f5f", "5ff", "fff"),
]
"""The colours of CGA, except for brown, by their numbers in ISO 6429."""


class Cell(NamedTuple):
    """A column of a glyph, or of a blank, and its colours."""

    pixels: bytes = bytes(16)
    ink: int = GREY
    paper: int = 0


def picture(cells: Mapping[tuple[int, int], Cell], cursor: tuple[int, int]) -> bytes:
    """The pixels of the screen, three bytes each; cells that are not given by line and column are blank."""
    colours = [bytes(17 * int(part, 16) for part in colour) for colour in PALETTE]
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


def text(characters: str, ink: int = GREY) -> list[Cell]:
    return [Cell(GLYPHS[ord(character)], ink) for character in characters]


def cells_in(lines: Iterable[list[Cell]]) -> dict[tuple[int, int], Cell]:
    """The cells of lines from the first one on."""
    return {(line, column): cell for line, cells in enumerate(lines) for column, cell in enumerate(cells)}


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> SimulatedTerminal:
    try:
        return SimulatedTerminal(tmp_path_factory.mktemp("terminal"))
    except ValueError as error:
        pytest.skip(str(error))


def test_signs_a_wide_glyph_and_the_end_of_a_text(terminal: SimulatedTerminal) -> None:
    terminal.restart(GLYPHS)
    # The wide glyph does not fit, so it begins the third line.
    terminal.send(b"x\n\xe9\xff\x1b[34mab\xc3\xa9" + b"-" * 74 + b"\xe6\x97\xa5\xe1\x80")
    terminal.end()
    terminal.send(b"z")
    wide = GLYPHS[0x65E5]
    signs = [sign("T"), sign("B")]
    third = [Cell(wide[:16], 4), Cell(wide[16:], 4), sign("E"), *text("z", 4)]
    lines = [text("x"), signs + text("ab\xe9" + "-" * 74, 4), third]
    assert terminal.frame() == picture(cells_in(lines), (2, 4))


def test_the_picture_is_that_of_the_sample(terminal: SimulatedTerminal) -> None:
    try:
        terminal.restart(read_font())
    except ValueError as error:
        pytest.skip(str(error))
    terminal.send((HERE / "sample.txt").read_bytes())
    terminal.end()
    shown, recorded = png(terminal.frame()), (HERE / "screen.png").read_bytes()
    start = recorded.index(b"IDAT") + 4
    assert zlib.decompress(shown[start:-16]) == zlib.decompress(recorded[start:-16])


# Controls.

SEQUENCES = {
    "ECMA-35 13.2, intermediate bytes: the sets G0, one as in sgr0 of terminfo": (b"\x1b(B\x1b$(B", text("A")),
    "ECMA-35 13.2, no introducer of CSI after an intermediate byte": (b"\x1b([1", text("1A")),
    "DEC, screen alignment and keypad": (b"\x1b#8\x1b=\x1b>", text("A")),
    "ECMA-48 8.3.89, OSC: the title of xterm, until ST": (b"\x1b]0;title \xc3\xa9\x1b\\", text("A")),
    "xterm, OSC until BEL": (b"\x1b]0;t\x07", text("A")),
    "xterm, OSC 8: a link": (b"\x1b]8;;http://a/\x1b\\l\x1b]8;;\x1b\\", text("lA")),
    "ECMA-48 8.3.27, DCS does not end with BEL": (b"\x1bPa\x07b\x1b\\", text("A")),
    "ECMA-48 8.3.2, 8.3.94, 8.3.128, APC, PM, SOS": (b"\x1b_G1\x1b\\\x1b^m\x1b\\\x1bXs\x1b\\", text("A")),
    "VT, CAN and SUB end a string": (b"\x1b]0;t\x18\x1bPt\x1a", text("A")),
    "VT, ESC ends a string and begins a sequence": (b"\x1b]0;t\x1b[31m", text("A", 1)),
    "ECMA-48 5.4, CSI with an intermediate byte or a private parameter": (b"\x1b[31 m\x1b[>31m", text("A")),
    "ECMA-48 8.3.117, SGR": (b"\x1b[1;31m", text("A", 1)),
    "a control within a sequence": (b"xy\x1b(\r", text("Ay")),
    "an ill-formed byte in a string is part of it": (b"\x1b]0;caf\xe9\x07", text("A")),
    "an ill-formed byte in a sequence ends it": (b"\x1b(\xe9", [sign("T"), *text("A")]),
}
"""By the document and the kind of a sequence: its bytes, and what a line shows of them with an A behind them."""


def test_sequences_show_nothing_of_themselves(terminal: SimulatedTerminal) -> None:
    terminal.restart(GLYPHS)
    terminal.send(b"".join(sequence + b"A\x1b[m\n" for sequence, _ in SEQUENCES.values()))
    frame, expected = terminal.frame(), picture(cells_in(cells for _, cells in SEQUENCES.values()), (len(SEQUENCES), 0))
    size = len(frame) // 30
    lines = {name: slice(size * number, size * number + size) for number, name in enumerate(SEQUENCES)}
    assert [name for name, line in lines.items() if frame[line] != expected[line]] == []
    assert frame == expected


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
            number = ord(each.data) - 0xE000
            if number > 0:
                cells[line, column] = sign(LETTERS[number - 1])
            else:
                cells[line, column] = Cell(GLYPHS[ord(each.data)], colour_of(each.fg, GREY), colour_of(each.bg, 0))
    return cells


CONTROLS = [b"\n", b"\r", b"\b", b"\t", b"\r" + 80 * b"-" + b"\b", b"\x1b[2q", b"\x1b="]
PIECES = [*CONTROLS, b"\xc3\xa9", b"\xff", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90", b"\xe1\x80A"]
PARAMETERS = [0, *range(30, 38), 39, *range(40, 48), 49, *range(90, 98), *range(100, 108)]


def random_text(seed: int) -> bytes:
    """A text of ASCII with ill-formed bytes, the controls that the terminal knows, and two without an effect."""
    chance = random.Random(seed)
    parts = []
    for _ in range(60):
        kind = chance.randrange(12)
        if kind < 5:
            parts.append(bytes(chance.randrange(0x20, 0x7F) for _ in range(chance.choice((1, 5, 90)))))
        elif kind < 9:
            parts.append(chance.choice(PIECES))
        else:
            pen = ";".join(str(chance.choice(PARAMETERS)) for _ in range(chance.randrange(4)))
            parts.append(f"\x1b[{pen}m".encode())
    return b"".join(parts) + b" "


@pytest.mark.parametrize("seed", range(4))
def test_texts_and_controls_are_those_of_cpython_and_of_another_terminal(
    seed: int, terminal: SimulatedTerminal
) -> None:
    pyte = pytest.importorskip("pyte", reason="pyte is not installed")
    terminal.restart(GLYPHS)
    screen = pyte.Screen(80, 30)
    screen.set_mode(pyte.modes.LNM)
    stream = pyte.Stream(screen)
    for part in range(6):
        sent = random_text(6 * seed + part)
        items = list(decode(sent))
        assert "".join(item.char for item in items) == sent.decode(errors="replace")
        shown = "".join(chr(0xE000 + item.error) if item.error else item.char for item in items)
        stream.feed(shown.replace("\x1b=", ""))  # pyte does not know it.
        terminal.send(sent)
        assert terminal.frame() == picture(cells_of(screen), (screen.cursor.y, screen.cursor.x))
