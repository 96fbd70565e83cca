# SPDX-License-Identifier: BSD-2-Clause
"""The terminal: frames against CPython's decoder, the glyphs of the font, and another terminal emulator."""

from __future__ import annotations

import random
import re
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.benches import run_benches
from support.builds import needs_tools
from support.command import utf8fpga
from support.engines import requires_compiler
from support.processes import run

from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import decode

CHECKOUT = Path(__file__).parents[2]
EXAMPLE = CHECKOUT / "examples" / "terminal"
PICTURE = CHECKOUT / "docs" / "pictures" / "terminal.png"

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


def frames_of(text: bytes) -> list[int]:
    """The bits of a text on the line of a UART."""
    return [bit for byte in text for bit in (0, *(byte >> n & 1 for n in range(8)), 1)]


def simulated(text: bytes, font: Mapping[int, bytes], columns: int, lines: int, image: bytes = b"") -> bytes:
    """A frame of a small screen in Amaranth's simulator, after a text, a damaged frame, a break condition and z.

    The flash has the font, or another image.
    """
    from utf8fpga.boards.terminal.terminal import FLASH_BASE, Terminal
    from utf8fpga.boards.terminal.unifont import ascii_memory, flash_image
    from utf8fpga.boards.terminal.video import Timing

    horizontal, vertical = Timing(8 * columns, 2, 4, 6), Timing(16 * lines, 1, 1, 1)
    dut = Terminal(4, ascii_memory(font), horizontal=horizontal, vertical=vertical)
    flash, frames = Flash(image or flash_image(font), FLASH_BASE), Frames(8 * columns * 16 * lines)

    async def surroundings(ctx: Any) -> None:
        async for _, _, cs, sck, copi, pixel in ctx.tick().sample(
            dut.flash.cs, dut.flash.sck, dut.flash.copi, dut.pixel
        ):
            ctx.set(dut.flash.cipo, flash.answer(cs, sck, copi))
            frames.add(pixel)

    async def host(ctx: Any) -> None:
        damaged, broken = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0] * 12 + [1]
        for bit in [1] * 40 + frames_of(text) + damaged + broken + frames_of(b"z"):
            ctx.set(dut.rx, bit)
            await ctx.tick().repeat(4)
        ctx.set(dut.rx, 1)
        await ctx.tick().repeat(2 * horizontal.total * vertical.total + 2000)

    run_benches(dut, host, background=[surroundings])
    return frames.last


@pytest.mark.smoke
def test_a_small_screen_shows_the_glyphs_of_a_text() -> None:
    random_glyphs = random.Random(1)
    font = {code: random_glyphs.randbytes(16) for code in (*range(0x20, 0x7F), 0xE9)}
    font |= {code: random_glyphs.randbytes(32) for code in (0x65E5, 0xFFFD)}
    # The wide glyph does not fit, so it begins the second line; the last line scrolls the first one away.
    text = b"x\n" + "é\xff".encode("latin-1") + b"\x1b[34mab\xc3\xa9\xe6\x97\xa5\xe1\x80"
    # The text ends at the damaged frame, within a sequence.
    letters = (font[ord(letter)] for letter in "TBEL")
    signs = (Cell(bytes(2) + bytes(255 - row for row in letter[2:15]) + bytes(1), RED) for letter in letters)
    truncated, invalid, incomplete, lost = signs
    a, b, acute, left, right = (
        Cell(pixels, 4) for pixels in (font[0x61], font[0x62], font[0xE9], font[0x65E5][:16], font[0x65E5][16:])
    )
    lines = [[truncated, invalid, a, b, acute], [left, right, incomplete, lost, Cell(font[0x7A], 4)]]
    cells = {(line, column): cell for line, row in enumerate(lines) for column, cell in enumerate(row)}
    assert simulated(text, font, 5, 2) == picture(cells, 5, 2, (1, 5))


def test_a_flash_without_a_font_gives_filled_boxes() -> None:
    font = {code: code.to_bytes(16) for code in range(0x20, 0x7F)}
    lost = Cell(bytes(2) + bytes(255 - row for row in font[ord("L")][2:15]) + bytes(1), RED)
    full = Cell(bytes([255] * 16))
    cells = {(0, n): cell for n, cell in enumerate([full, full, Cell(font[ord("x")]), lost, Cell(font[ord("z")])])}
    assert simulated("éx".encode(), font, 5, 1, bytes([255] * 33 * 0x10000)) == picture(cells, 5, 1, (0, 5))


@pytest.fixture(scope="module")
def font() -> dict[int, bytes]:
    from utf8fpga.boards.terminal.unifont import read_font

    try:
        return read_font()
    except ToolError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("contents", [b"", b"root:x:0:0\n", b"0041:00\n", b"\xff\xfe", b"A" * 16])
def test_a_file_without_the_font_is_rejected(contents: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from utf8fpga.boards.terminal.unifont import read_font

    path = tmp_path / "unifont.hex"
    path.write_bytes(contents)
    monkeypatch.setenv("UNIFONT", str(path))
    message = f"GNU Unifont: {path} is not a unifont.hex with the glyphs of ASCII: set UNIFONT to one"
    with pytest.raises(ToolError, match=f"^{re.escape(message)}$"):
        read_font()


GLYPHS = {code: random.Random(code).randbytes(16) for code in range(0x21, 0x7F)}
GLYPHS |= {0x20: bytes(16), 0x80: random.Random(1).randbytes(32), 0x65E5: random.Random(2).randbytes(32)}
"""A font for tests that do not need those of characters."""


@pytest.fixture
def terminal() -> Any:
    from utf8fpga.boards.terminal.simulated import SimulatedTerminal

    return SimulatedTerminal(GLYPHS)


def spram() -> str:
    """The memory of an iCE40UP as RTLIL: its contents are arbitrary at first, and the output changes in a read only."""
    from amaranth.back import rtlil
    from amaranth.hdl import ClockDomain, Module, Signal
    from amaranth.lib.memory import Memory

    m = Module()
    m.domains.sync = domain = ClockDomain(reset_less=True)
    widths = {"ADDRESS": 14, "DATAIN": 16, "MASKWREN": 4, "DATAOUT": 16}
    names = ("WREN", "CHIPSELECT", "STANDBY", "SLEEP", "POWEROFF", *widths)
    pin = {name: Signal(widths.get(name, 1), name=name) for name in names}
    m.submodules.memory = memory = Memory(shape=16, depth=1 << 14, init=[0x5A5A] * 256)
    write, read = memory.write_port(granularity=4), memory.read_port()
    m.d.comb += [
        *(write.addr.eq(pin["ADDRESS"]), read.addr.eq(pin["ADDRESS"])),
        *(write.data.eq(pin["DATAIN"]), pin["DATAOUT"].eq(read.data)),
        write.en.eq(pin["MASKWREN"] & (pin["WREN"] & pin["CHIPSELECT"] & pin["POWEROFF"]).replicate(4)),
        read.en.eq(~pin["WREN"] & pin["CHIPSELECT"] & pin["POWEROFF"]),
    ]
    ports = {name: (signal, None) for name, signal in {**pin, "CLOCK": domain.clk}.items()}
    return str(rtlil.convert(m, name="SB_SPRAM256KA", ports=ports, emit_src=False))


def pixels_of(image: Path) -> bytes:
    """The pixels of a picture of 640 pixels in a row, each as three bytes."""
    text = image.read_bytes()
    rows = zlib.decompress(text[text.index(b"IDAT") + 4 : -16])
    return b"".join(rows[start + 1 : start + 1921] for start in range(0, len(rows), 1921))


@requires_compiler
@pytest.mark.slow
@pytest.mark.parametrize("is_ice40", [False, True])
def test_the_sample_is_decoded_as_by_cpython(is_ice40: bool, font: dict[int, bytes]) -> None:
    from utf8fpga.boards.terminal.simulated import SimulatedTerminal

    terminal = SimulatedTerminal(font, spram() if is_ice40 else "")
    sample = (EXAMPLE / "sample.txt").read_bytes()
    terminal.send(sample)
    terminal.end()
    frame = terminal.frame()
    cells, cursor = lines_of(sample, font)
    assert frame == picture(cells, 80, 30, cursor)
    assert pixels_of(PICTURE) == frame


@requires_compiler
@pytest.mark.slow
@pytest.mark.usefixtures("font")
def test_talk_writes_the_picture_of_the_page(tmp_path: Path) -> None:
    sample = EXAMPLE / "sample.txt"
    assert utf8fpga("talk", "virtual:ulx3s", sample, "--screen", cwd=tmp_path).returncode == 0
    assert pixels_of(tmp_path / "screen.png") == pixels_of(PICTURE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["virtual:ecp5-5g-evn"], "port 'virtual:ecp5-5g-evn' has no screen: use virtual:ulx3s or virtual:icebreaker"),
        *(
            (
                ["virtual:ulx3s", *others],
                f"{others[0]} has no effect with --screen: leave it out",
            )
            for others in (["--check"], ["--units"], ["--baud", "1000000"], ["--lanes", "4"])
        ),
    ],
)
def test_talk_rejects_a_screen_that_is_not_possible(arguments: list[str], message: str) -> None:
    done = utf8fpga("talk", *arguments, "--screen")
    assert (done.returncode, done.stderr.decode()) == (2, f"utf8fpga: {message}\n")


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


@requires_compiler
@pytest.mark.slow
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
        assert terminal.frame() == picture(cells_of(screen, GLYPHS), 80, 30, (screen.cursor.y, screen.cursor.x))


@requires_compiler
@pytest.mark.slow
def test_lost_bytes_leave_a_sign(terminal: Any) -> None:
    # Glyphs of two columns for two bytes take longer than their bytes, those for three bytes do not.
    han, control = "\u65e5".encode(), "\x80".encode()
    lost = picture(
        {(0, 0): Cell(bytes(2) + bytes(255 - row for row in GLYPHS[ord("L")][2:15]) + bytes(1), RED)}, 1, 1, (1, 0)
    )
    assert not _shows(lost, terminal, han * 4000)
    assert not _shows(lost, terminal, control * 2000)
    assert _shows(lost, terminal, control * 20000)


def _shows(sign: bytes, terminal: Any, text: bytes) -> bool:
    """Whether a cell of the screen after a text and another one has these pixels."""
    terminal.send(text)
    frame = terminal.frame()
    return any(frame) and any(
        all(
            frame[row * 1920 + 24 * column :][:24] == sign[24 * n :][:24]
            for n, row in enumerate(range(16 * line, 16 * line + 16))
        )
        for line in range(30)
        for column in range(80)
    )


# The video signal.


def decoded(symbol: int) -> int:
    """The byte of a TMDS symbol, from figure 3-6 of DVI 1.0."""
    word = symbol & 0xFF ^ (0xFF if symbol >> 9 else 0)
    bits = [word >> place & 1 for place in range(8)]
    is_xnor = not symbol >> 8 & 1
    return bits[0] | sum((bits[place] ^ bits[place - 1] ^ is_xnor) << place for place in range(1, 8))


@pytest.mark.smoke
def test_tmds_is_balanced_and_decodes_to_the_pixels() -> None:
    from amaranth.sim import Simulator

    from utf8fpga.boards.terminal.tmds import TmdsTransmitter

    dut = TmdsTransmitter()
    chance = random.Random(2)
    pixels = [
        (*(chance.randrange(16) for _ in range(3)), *(chance.randrange(2) for _ in range(2)), n % 50 > 9)
        for n in range(400)
    ]
    received: list[list[int]] = [[], [], [], []]

    async def send(ctx: Any) -> None:
        for pixel in pixels:
            ctx.set(dut.pixel, dict(zip(("red", "green", "blue", "hsync", "vsync", "enable"), pixel, strict=True)))
            await ctx.tick()

    async def receive(ctx: Any) -> None:
        async for _, _, pairs in ctx.tick("shift").sample(dut.pairs):
            for channel, bits in enumerate(received):
                bits += [pairs >> 2 * channel & 1, pairs >> 2 * channel + 1 & 1]

    simulator = Simulator(dut)
    simulator.add_clock(40e-9, phase=3e-9)
    simulator.add_clock(8e-9, phase=0, domain="shift")
    simulator.add_testbench(send)
    simulator.add_testbench(receive, background=True)
    simulator.run()
    start = next(n for n in range(40, 60) if received[3][n : n + 10] == [1] * 5 + [0] * 5)
    symbols = [
        [sum(bit << n for n, bit in enumerate(bits[place : place + 10])) for place in range(start, len(bits) - 9, 10)]
        for bits in received
    ]
    assert set(symbols[3]) == {0b0000011111}
    control = {0b1101010100: (0, 0), 0b0010101011: (1, 0), 0b0101010100: (0, 1), 0b1010101011: (1, 1)}
    found = []
    balance = [0, 0, 0]
    for blue, green, red in zip(*symbols[:3], strict=True):
        if blue in control:
            assert green == red == 0b1101010100
            found.append((None, *control[blue]))
            balance = [0, 0, 0]
        else:
            found.append(tuple(map(decoded, (red, green, blue))))
            balance = [sum_ + 2 * each.bit_count() - 10 for sum_, each in zip(balance, (blue, green, red), strict=True)]
            assert max(map(abs, balance)) <= 10
    expected = [tuple(17 * colour for colour in pixel[:3]) if pixel[5] else (None, *pixel[3:5]) for pixel in pixels]
    assert any(expected[n : n + 380] == found[5:385] for n in range(20))


@pytest.mark.build
@pytest.mark.parametrize("board", ["icebreaker", "ulx3s-12f"])
def test_the_figures_of_the_page_are_those_of_the_tools(board: str, font: dict[int, bytes], tmp_path: Path) -> None:
    needs_tools("icebreaker" if board == "icebreaker" else "ulx3s-85f")
    folder = Path("build") / "terminal"
    done = run([sys.executable, EXAMPLE / "build.py", board, folder], cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout.decode() in (CHECKOUT / "docs" / "terminal.md").read_text(encoding="utf-8")
