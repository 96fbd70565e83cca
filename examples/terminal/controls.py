# SPDX-License-Identifier: BSD-2-Clause
"""Interprets controls: code points in, commands for the screen out."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from unifont import SIGNS

from utf8fpga.hdl import Kind

ITEM = data.StructLayout({"code_point": 21, "cause": Kind})
"""An item: its code point, and its cause, which is `Kind.NONE` unless it is ill-formed."""

COLOURS = data.StructLayout({"ink": 4, "paper": 4})
"""The colours of a cell, each as bits for red, green, blue and brightness, as in ISO 6429."""

GREY, RED = 7, 9

_PEN = data.StructLayout({"ink": 4, "paper": 4, "is_bold": 1, "is_inverse": 1})
_INITIAL = {"ink": GREY}


class Command(enum.Enum, shape=3):  # type: ignore[call-arg]  # amaranth's metaclass takes the shape
    """A command for the screen."""

    WRITE = 0
    """Write a glyph at the cursor."""
    NEW_LINE = 1
    RETURN = 2
    BACK = 3
    TAB = 4
    MOVE = 5
    """Move the cursor to a line and a column, which count from 1; 0 is 1, too."""
    ERASE_LINE = 6
    """Erase from the cursor to the end of the line, or if `all` is set, the whole line."""
    ERASE_SCREEN = 7
    """The same with the screen."""


COMMAND = data.StructLayout(
    {"command": Command, "glyph": 16, "colours": COLOURS, "line": 7, "column": 7, "all": 1},
)

_CONTROLS = {"\n": Command.NEW_LINE, "\r": Command.RETURN, "\b": Command.BACK, "\t": Command.TAB}
_SEQUENCES = {"H": Command.MOVE, "J": Command.ERASE_SCREEN, "K": Command.ERASE_LINE}
_BELL, _CANCEL, _SUBSTITUTE, _ESCAPE, _DELETE = 0x07, 0x18, 0x1A, 0x1B, 0x7F
_STRINGS = "P]X^_"
"""What follows ESC in DCS, OSC, SOS, PM and APC."""


class Controls(wiring.Component):
    """Interprets LF, CR, BS, TAB, and CSI m, J, K and H with their parameters.

    Other sequences from ESC on have no effect: those with intermediate bytes (ECMA-35, 13.2), and control strings, of
    APC, DCS, OSC, PM and SOS (ECMA-48, 5.6 and 8.3). A string ends with ST; as in xterm, that of OSC also with BEL, and
    every one with CAN, SUB or another ESC. Any other sequence ends before a control, a code point that is not ASCII,
    and an ill-formed item. Other C0 controls and DEL become letters in inverse colours, as in the caret notation. Of a
    parameter the last three digits count.

    Ports:
        items: stream of `ITEM`.
        commands: stream of `COMMAND`, in the same cycle.
    """

    def __init__(self) -> None:
        super().__init__({"items": In(stream.Signature(ITEM)), "commands": Out(stream.Signature(COMMAND))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        item, out = self.items.payload, self.commands.payload
        code = item.code_point
        pen, new, applied = (Signal(_PEN, init=_INITIAL, name=name) for name in ("pen", "new", "applied"))
        """The pen for the next glyph; with the parameters so far, and with the present one, too."""
        number, before, is_second = Signal(12), Signal(12), Signal()
        """The parameter and the one before it, in decimal digits, and whether there is one before it."""
        is_private, is_skipped, skips = Signal(), Signal(), Signal()
        """Whether the sequence has no effect, and whether parameters have none from this one, and after this one."""
        is_osc = Signal()
        line, column = (
            Mux(digits[8:] == 0, (digits[4:8] << 3) + (digits[4:8] << 1) + digits[:4], 99)
            for digits in (Mux(is_second, before, number), Mux(is_second, number, 0))
        )
        ink = pen.ink | pen.is_bold << 3
        colours, inverse = Cat(ink, pen.paper), Cat(pen.paper, ink)
        is_text = item.cause == Kind.NONE
        is_ascii = is_text & (code < 0x80)
        is_printable = is_ascii & (code >= 0x20) & (code != _DELETE)
        m.d.comb += [
            *(applied.eq(new), skips.eq(is_skipped), out.line.eq(line), out.column.eq(column), out.all.eq(number != 0)),
            out.glyph.eq(code),
            out.colours.eq(Mux(pen.is_inverse, inverse, colours)),
        ]
        with m.If(~is_skipped):
            self._apply(m, number, applied, skips)

        with m.FSM():
            with m.State("TEXT"):
                m.d.comb += [self.commands.valid.eq(self.items.valid), self.items.ready.eq(self.commands.ready)]
                with m.If(~is_text):
                    m.d.comb += [out.glyph.eq(SIGNS + Value.cast(item.cause)), out.colours.eq(RED)]
                with m.Elif(code > 0xFFFF):
                    m.d.comb += out.glyph.eq(SIGNS)
                with m.Elif(is_ascii & ~is_printable):
                    m.d.comb += [out.glyph.eq(code ^ 0x40), out.colours.eq(Mux(pen.is_inverse, colours, inverse))]
                    with m.Switch(code):
                        for control, command in _CONTROLS.items():
                            with m.Case(ord(control)):
                                m.d.comb += out.command.eq(command)
                        with m.Case(_ESCAPE):
                            m.d.comb += [self.commands.valid.eq(0), self.items.ready.eq(1)]
                            with m.If(self.items.valid):
                                m.next = "ESCAPE"
            with m.State("ESCAPE"):
                m.d.comb += self.items.ready.eq(is_printable)
                m.d.sync += [number.eq(0), is_second.eq(0), is_private.eq(0), is_skipped.eq(0), new.eq(pen)]
                m.d.sync += is_osc.eq(code == ord("]"))
                with m.If(self.items.valid):
                    m.next = "TEXT"
                    with m.If(is_printable), m.Switch(code):
                        with m.Case(ord("[")):
                            m.next = "SEQUENCE"
                        with m.Case(*map(ord, _STRINGS)):
                            m.next = "STRING"
                        with m.Case(*range(0x20, 0x30)):
                            m.next = "INTERMEDIATE"
            with m.State("INTERMEDIATE"):
                m.d.comb += self.items.ready.eq(is_printable)
                with m.If(self.items.valid & ~(is_printable & (code < 0x30))):
                    m.next = "TEXT"
            with m.State("STRING"):
                ends = is_ascii & ((code == _CANCEL) | (code == _SUBSTITUTE) | (is_osc & (code == _BELL)))
                m.d.comb += self.items.ready.eq(1)
                with m.If(self.items.valid & ends):
                    m.next = "TEXT"
                with m.Elif(self.items.valid & is_ascii & (code == _ESCAPE)):
                    m.next = "ESCAPE"
            with m.State("SEQUENCE"):
                m.d.comb += self.items.ready.eq(is_printable)
                with m.If(self.items.valid & ~is_printable):
                    m.next = "TEXT"
                with m.Elif(self.items.valid & (code[4:] == 3) & (code[:4] < 10)):
                    m.d.sync += number.eq(Cat(code[:4], number))
                with m.Elif(self.items.valid & (code == ord(";"))):
                    m.d.sync += [
                        before.eq(number),
                        number.eq(0),
                        is_second.eq(1),
                        new.eq(applied),
                        is_skipped.eq(skips),
                    ]
                with m.Elif(self.items.valid & (code < 0x40)):
                    m.d.sync += is_private.eq(1)
                with m.Elif(self.items.valid):
                    m.next = "TEXT"
                    with m.If((code == ord("m")) & ~is_private):
                        m.d.sync += pen.eq(applied)
                    for final, command in _SEQUENCES.items():
                        with m.If((code == ord(final)) & ~is_private):
                            m.d.comb += [
                                *(out.command.eq(command), self.commands.valid.eq(1)),
                                self.items.ready.eq(self.commands.ready),
                            ]
                            with m.If(~self.commands.ready):
                                m.next = "SEQUENCE"
        return m

    def _apply(self, m: Module, number: Value, pen: data.View, skips: Value) -> None:
        """Apply a parameter of CSI m to a pen."""
        ones, tens = number[:4], number[4:]
        with m.Switch(number):
            with m.Case(0x00):
                m.d.comb += pen.eq(Const(_INITIAL, _PEN))
            with m.Case(0x01):
                m.d.comb += pen.is_bold.eq(1)
            with m.Case(0x22):
                m.d.comb += pen.is_bold.eq(0)
            with m.Case(0x07, 0x27):
                m.d.comb += pen.is_inverse.eq(number == 0x07)
            with m.Case(0x38, 0x48):  # A colour of another palette, with parameters of its own.
                m.d.comb += skips.eq(1)
            with m.Case(0x39):
                m.d.comb += pen.ink.eq(GREY)
            with m.Case(0x49):
                m.d.comb += pen.paper.eq(0)
        for colour, normal, bright in ((pen.ink, 0x3, 0x9), (pen.paper, 0x4, 0x10)):
            with m.If((ones < 8) & ((tens == normal) | (tens == bright))):
                m.d.comb += colour.eq(Cat(ones[:3], tens == bright))
