# SPDX-License-Identifier: BSD-2-Clause
"""Interprets controls: code points in, commands for the screen out."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from unifont import SIGNS

from utf8fpga.hdl import Kind

ITEM = data.StructLayout({"code_point": 21, "cause": Kind})
"""An item: its code point, and its cause, which is `Kind.NONE` unless it is ill-formed."""

COLOURS = data.StructLayout({"ink": 4, "paper": 4})
"""The colours of a cell, each as bits for red, green, blue and brightness, as in ISO 6429."""

GREY, RED = 7, 9

_INITIAL = {"ink": GREY}


class Command(enum.Enum, shape=3):  # type: ignore[call-arg]  # amaranth's metaclass takes the shape
    """A command for the screen."""

    WRITE = 0
    """Write a glyph at the cursor."""
    NEW_LINE = 1
    RETURN = 2
    BACK = 3
    TAB = 4


COMMAND = data.StructLayout({"command": Command, "glyph": 16, "colours": COLOURS})

_CONTROLS = {"\n": Command.NEW_LINE, "\r": Command.RETURN, "\b": Command.BACK, "\t": Command.TAB}
_BELL, _CANCEL, _SUBSTITUTE, _ESCAPE, _DELETE = 0x07, 0x18, 0x1A, 0x1B, 0x7F
_STRINGS = "P]X^_"
"""Behind ESC they begin DCS, OSC, SOS, PM and APC, which show nothing (ECMA-48 5.6)."""


class Controls(wiring.Component):
    """Interprets LF, CR, BS, TAB, and CSI m with its parameters, of which the last three digits count.

    Other sequences of CSI and ESC, with their intermediate bytes, and control strings have no effect. A sequence ends
    before a control, a code point that is not ASCII, and an ill-formed item; a string at CAN, SUB and ESC, OSC at BEL,
    too. Other C0 controls and DEL become letters in inverse colours, as in the caret notation.

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
        pen, new, applied = (Signal(COLOURS, init=_INITIAL, name=name) for name in ("pen", "new", "applied"))
        """The pen for the next glyph; with the parameters so far, and with the present one, too."""
        number = Signal(12)
        """The parameter in decimal digits."""
        is_csi, is_other, is_osc = Signal(), Signal(), Signal()
        """Whether the sequence is CSI, is private or has an intermediate byte, and whether the string is OSC."""
        begin_sequence = [is_csi.eq(0), is_other.eq(0), number.eq(0), new.eq(pen)]
        is_text = item.cause == Kind.NONE
        is_ascii = is_text & (code < 0x80)
        is_printable = is_ascii & (code >= 0x20) & (code != _DELETE)
        m.d.comb += [applied.eq(new), out.glyph.eq(code), out.colours.eq(pen)]
        self._apply(m, number, applied)

        with m.FSM():
            with m.State("TEXT"):
                m.d.comb += [self.commands.valid.eq(self.items.valid), self.items.ready.eq(self.commands.ready)]
                with m.If(~is_text):
                    m.d.comb += [out.glyph.eq(SIGNS + Value.cast(item.cause)), out.colours.eq(RED)]
                with m.Elif(code > 0xFFFF):
                    m.d.comb += out.glyph.eq(SIGNS)
                with m.Elif(is_ascii & ~is_printable):
                    m.d.comb += [out.glyph.eq(code ^ 0x40), out.colours.eq(Cat(pen.paper, pen.ink))]
                    with m.Switch(code):
                        for control, command in _CONTROLS.items():
                            with m.Case(ord(control)):
                                m.d.comb += out.command.eq(command)
                        with m.Case(_ESCAPE):
                            m.d.comb += [self.commands.valid.eq(0), self.items.ready.eq(1)]
                            with m.If(self.items.valid):
                                m.d.sync += begin_sequence
                                m.next = "SEQUENCE"
            with m.State("STRING"):
                ends = is_ascii & ((code == _CANCEL) | (code == _SUBSTITUTE) | (is_osc & (code == _BELL)))
                m.d.comb += self.items.ready.eq(1)
                with m.If(self.items.valid & ends):
                    m.next = "TEXT"
                with m.Elif(self.items.valid & is_ascii & (code == _ESCAPE)):
                    m.d.sync += begin_sequence
                    m.next = "SEQUENCE"
            with m.State("SEQUENCE"):
                m.d.comb += self.items.ready.eq(is_printable)
                with m.If(self.items.valid):
                    m.next = "TEXT"
                with m.If(self.items.valid & is_printable):
                    with m.If(code < 0x30):
                        m.d.sync += is_other.eq(1)
                        m.next = "SEQUENCE"
                    with m.Elif(is_csi & (code < 0x40)):
                        m.next = "SEQUENCE"
                        with m.If(code[:4] < 10):
                            m.d.sync += number.eq(Cat(code[:4], number))
                        with m.Elif(code == ord(";")):
                            m.d.sync += [number.eq(0), new.eq(applied)]
                        with m.Else():
                            m.d.sync += is_other.eq(1)
                    with m.Elif(is_csi & (code == ord("m")) & ~is_other):
                        m.d.sync += pen.eq(applied)
                    with m.Elif(~is_csi & ~is_other), m.Switch(code):
                        with m.Case(ord("[")):
                            m.d.sync += is_csi.eq(1)
                            m.next = "SEQUENCE"
                        with m.Case(*map(ord, _STRINGS)):
                            m.d.sync += is_osc.eq(code == ord("]"))
                            m.next = "STRING"
        return m

    def _apply(self, m: Module, number: Value, pen: data.View) -> None:
        """Apply a parameter of CSI m to a pen."""
        ones, tens = number[:4], number[4:]
        with m.Switch(number):
            with m.Case(0x00):
                m.d.comb += pen.eq(Const(_INITIAL, COLOURS))
            with m.Case(0x39):
                m.d.comb += pen.ink.eq(GREY)
            with m.Case(0x49):
                m.d.comb += pen.paper.eq(0)
        for colour, normal, bright in ((pen.ink, 0x3, 0x9), (pen.paper, 0x4, 0x10)):
            with m.If((ones < 8) & ((tens == normal) | (tens == bright))):
                m.d.comb += colour.eq(Cat(ones[:3], tens == bright))
