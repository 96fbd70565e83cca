# SPDX-License-Identifier: BSD-2-Clause
"""The screen: carries commands out with a cursor, and writes the words of the screen memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from controls import COLOURS, COMMAND, GREY, Command
from unifont import ROWS

WORD = data.StructLayout({"pixels": 8, "colours": COLOURS})
"""A row of a cell: 8 pixels, the left one in the high bit; those that are 1 have the colour of the ink."""

BLANK = GREY << 8
"""The word without pixels."""


WRITE = data.StructLayout({"address": 16, "word": WORD})


COLUMNS, LINES = 80, 30

VIEW = wiring.Signature(
    {
        "top": Out(range(LINES)),
        "cursor_line": Out(range(LINES)),
        "cursor_column": Out(range(COLUMNS + 1)),
        "length": Out(range(COLUMNS + 1)),
        "line": In(range(LINES)),
    }
)
"""What the video needs of a screen.

Members:
    top: the uppermost line of the memory.
    cursor_line, cursor_column: the place of the cursor, which is in no column after a glyph in the last one.
    line, length: the number of a line of the memory, and one cycle later its length.
"""


class Screen(wiring.Component):
    """Carries commands out.

    A cell has 8 by 16 pixels. Row r of column c of line n is the word at ``(n * columns + c) * 16 + r`` of the memory.
    The uppermost line of the screen is line `top`, so scrolling moves no word. Cells from the length of a line on are
    blank, whatever the memory has there. A glyph that does not fit begins a new line.

    Ports:
        commands: stream of `COMMAND`.
        glyph, bytes: to a `GlyphReader`.
        writes: stream of `WRITE`.
        view: see `VIEW`.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "commands": In(stream.Signature(COMMAND)),
                "glyph": Out(stream.Signature(16)),
                "bytes": In(stream.Signature(8)),
                "writes": Out(stream.Signature(WRITE)),
                "view": Out(VIEW),
            }
        )

    def _wrapped(self, line: Value) -> Value:
        """A line of the memory from a number that is below twice the number of lines."""
        return Mux(line >= LINES, line - LINES, line)[: len(self.view.top)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        command, column, last = self.commands.payload, self.view.cursor_column, COLUMNS - 1
        row = Signal(range(LINES))
        """The line of the cursor on the screen."""
        m.submodules.lengths = lengths = Memory(shape=len(self.view.length), depth=LINES, init=[])
        shown, own, store = lengths.read_port(), lengths.read_port(), lengths.write_port()
        columns, length, half = Signal(2), Signal.like(self.view.length), Signal()
        """The columns of the glyph, the cells of the line that are written, and the column of the glyph."""
        pixel_row = Signal(range(ROWS))
        is_filling = length < column
        write, colours, start = self.writes.payload, Signal(COLOURS), Signal(range(COLUMNS * LINES))
        end = column + columns
        m.d.comb += [
            self.view.cursor_line.eq(self._wrapped(row + self.view.top)),
            *(shown.addr.eq(self.view.line), self.view.length.eq(shown.data)),
            *(own.addr.eq(self.view.cursor_line), store.addr.eq(self.view.cursor_line)),
            self.glyph.payload.eq(command.glyph),
            write.address.eq(Cat(pixel_row, start + Mux(is_filling, length, column + half))),
            write.word.eq(Mux(is_filling, BLANK, Cat(self.bytes.payload, colours))),
        ]
        m.d.sync += start.eq(self.view.cursor_line * COLUMNS)

        def new_line() -> None:
            m.d.sync += column.eq(0)
            with m.If(row == LINES - 1):
                m.d.sync += self.view.top.eq(self._wrapped(self.view.top + 1))
                m.d.comb += [store.addr.eq(self.view.top), store.en.eq(1)]
            with m.Else():
                m.d.sync += row.eq(row + 1)

        with m.FSM():
            with m.State("COMMAND"):
                is_write = command.command == Command.WRITE
                m.d.comb += [
                    self.glyph.valid.eq(self.commands.valid & is_write),
                    self.commands.ready.eq(self.glyph.ready | ~is_write),
                ]
                m.d.sync += [colours.eq(command.colours), pixel_row.eq(0), half.eq(0)]
                with m.If(self.commands.valid & self.commands.ready), m.Switch(command.command):
                    with m.Case(Command.WRITE):
                        m.next = "WIDTH"
                    with m.Case(Command.NEW_LINE):
                        new_line()
                    with m.Case(Command.RETURN):
                        m.d.sync += column.eq(0)
                    with m.Case(Command.BACK):
                        m.d.sync += column.eq(Mux(column > last, last - 1, column - (column != 0)))
                    with m.Case(Command.TAB):
                        stop = (column | 7) + 1
                        m.d.sync += column.eq(Mux(stop > last, last, stop))
            with m.State("WIDTH"):
                m.d.comb += self.bytes.ready.eq(1)
                m.d.sync += columns.eq(Mux(self.bytes.payload[1], 2, 1))  # Also without a font in the flash.
                with m.If(self.bytes.valid):
                    m.next = "PLACE"
            with m.State("PLACE"):
                with m.If(end > COLUMNS):
                    new_line()
                with m.Else():
                    m.next = "LENGTH"
            with m.State("LENGTH"):
                m.d.sync += length.eq(own.data)
                m.next = "DRAW"
            with m.State("DRAW"):
                m.d.comb += [
                    self.writes.valid.eq(is_filling | self.bytes.valid),
                    self.bytes.ready.eq(self.writes.ready & ~is_filling),
                ]
                with m.If(self.writes.valid & self.writes.ready):
                    m.d.sync += pixel_row.eq(pixel_row + 1)
                    with m.If(pixel_row == ROWS - 1):
                        with m.If(is_filling):
                            m.d.sync += length.eq(length + 1)
                        with m.Elif(half + 1 == columns):
                            m.d.sync += column.eq(end)
                            m.d.comb += [store.data.eq(Mux(length > end, length, end)), store.en.eq(1)]
                            m.next = "COMMAND"
                        with m.Else():
                            m.d.sync += half.eq(1)
        return m
