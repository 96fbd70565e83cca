# SPDX-License-Identifier: BSD-2-Clause
"""The screen memory, and the pixels of a video signal that are read from it."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from screen import BLANK, COLUMNS, LINES, VIEW, WORD, WRITE
from unifont import ROWS

PIXEL = data.StructLayout({"red": 4, "green": 4, "blue": 4, "hsync": 1, "vsync": 1, "enable": 1})
"""A pixel; its colours are defined while `enable` is 1. The synchronisation is low-active."""


READ = wiring.Signature({"enable": Out(1), "address": Out(16), "word": In(WORD)})
"""A port that reads a memory: while `enable` is 1, the word at the address follows in the next cycle."""


class Timing(NamedTuple):
    """Pixels of a line, or lines of a frame: those that are visible, and those until, in and after the pulse."""

    visible: int
    front: int
    pulse: int
    back: int


HORIZONTAL, VERTICAL = Timing(640, 16, 96, 48), Timing(480, 10, 2, 33)
"""640 by 480 pixels, 60 frames a second with a clock of 25.175 MHz."""


class ScreenMemory(wiring.Component):
    """The words of the screen, in three of the single-port memories of 16,384 words in an iCE40UP.

    They are not cleared. A read has precedence over a write.

    Ports:
        writes: stream of `WRITE`.
        read: see `READ`.
    """

    def __init__(self) -> None:
        super().__init__({"writes": In(stream.Signature(WRITE)), "read": In(READ)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        write = self.writes.payload
        m.d.comb += self.writes.ready.eq(~self.read.enable)
        enable = self.writes.valid & self.writes.ready
        address, bank = Mux(self.read.enable, self.read.address, write.address), Signal(2)
        m.d.sync += bank.eq(address[14:])
        for number in range(3):
            word, selected = Signal(16), address[14:] == number
            m.submodules += Instance(
                "SB_SPRAM256KA",
                i_CLOCK=ClockSignal(),
                i_ADDRESS=address[:14],
                i_DATAIN=write.word,
                i_MASKWREN=Const(15, 4),
                i_WREN=enable & selected,
                i_CHIPSELECT=selected & (enable | self.read.enable),
                i_STANDBY=Const(0),
                i_SLEEP=Const(0),
                i_POWEROFF=Const(1),
                o_DATAOUT=word,
            )
            with m.If(bank == number):
                m.d.comb += self.read.word.eq(word)
        return m


class Video(wiring.Component):
    """Reads the screen memory and sends its pixels. The cell of the cursor has its colours swapped.

    A row of a cell is read while the one before it is sent.

    Ports:
        read: to a `ScreenMemory`.
        view: to a `Screen`.
        pixel: a `PIXEL` in each cycle.
    """

    def __init__(self) -> None:
        super().__init__({"read": Out(READ), "view": In(VIEW), "pixel": Out(PIXEL)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, y = Signal(range(sum(HORIZONTAL))), Signal(range(sum(VERTICAL)))
        column = x[3:]
        m.d.sync += x.eq(x + 1)
        with m.If(x == sum(HORIZONTAL) - 1):
            m.d.sync += [x.eq(0), y.eq(y + 1)]
            with m.If(y == sum(VERTICAL) - 1):
                m.d.sync += [y.eq(0), self.view.line.eq(self.view.top)]
            with m.Elif(y[:4] == ROWS - 1):
                m.d.sync += self.view.line.eq(Mux(self.view.line == LINES - 1, 0, self.view.line + 1))
        is_cell = (x < HORIZONTAL.visible) & (y < VERTICAL.visible)
        word, start = Signal(WORD), Signal(range(COLUMNS * LINES))
        cell = Mux(column < self.view.length, self.read.word, BLANK)
        is_cursor = (self.view.line == self.view.cursor_line) & (column == self.view.cursor_column)
        m.d.comb += [
            self.read.address.eq(Cat(y[:4], start + column)),
            self.read.enable.eq(is_cell & (x[:3] == 6)),
        ]
        m.d.sync += [start.eq(self.view.line * COLUMNS), word.pixels.eq(word.pixels << 1)]
        with m.If(x[:3] == 7):
            m.d.sync += word.eq(cell ^ Mux(is_cursor, 0xFF, 0))
        colour = Mux(word.pixels[-1], word.colours.ink, word.colours.paper)
        first, after = 8 + HORIZONTAL.visible + HORIZONTAL.front, VERTICAL.visible + VERTICAL.front
        m.d.sync += [
            *(
                self.pixel[name].eq(Cat(colour[3], bit, colour[3], bit))
                for name, bit in zip(("red", "green", "blue"), colour, strict=False)
            ),
            self.pixel.hsync.eq((x < first) | (x >= first + HORIZONTAL.pulse)),
            self.pixel.vsync.eq((y < after) | (y >= after + VERTICAL.pulse)),
            self.pixel.enable.eq((x >= 8) & (x < 8 + HORIZONTAL.visible) & (y < VERTICAL.visible)),
        ]
        return m
