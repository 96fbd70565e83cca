# SPDX-License-Identifier: BSD-2-Clause
"""The forms in which a board sends the items of its core: circuits that turn items and markers into bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from utf8fpga.boards.protocol import BYTES_PER_WORD, COUNTERS, WordFlag
from utf8fpga.hdl import DecoderParameters
from utf8fpga.model.errors import ErrorKind
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.practices import Practice

__all__ = ["COUNTERS_LAYOUT", "FORMS", "Form", "Record", "TextForm", "WordForm", "record_layout"]

_COUNTER_BITS = 32

COUNTERS_LAYOUT = data.ArrayLayout(_COUNTER_BITS, len(COUNTERS))
"""The values of the counters, in the order of `COUNTERS`."""

REPLACEMENT = "\ufffd".encode()


class Record(enum.Enum, shape=2):  # type: ignore[call-arg]  # amaranth's metaclass takes the shape
    """What a board sends: an item or a marker."""

    ITEM = 0
    END = 1
    """The end of a text."""
    LOST = 2
    """The end of a text at which received bytes were lost."""
    COUNTERS = 3
    """The answer to a request for the counters."""


def record_layout(item: Any) -> data.StructLayout:
    """The payload of a form's input.

    Fields:
        record: which record.
        item: the symbol of the core; undefined in a marker.

    Args:
        item: the shape of the core's output symbols.
    """
    return data.StructLayout({"record": Record, "item": item})


class _Form(wiring.Component):
    """A circuit that turns records into bytes.

    Args:
        item: the shape of the core's output symbols.

    Ports:
        records: stream of `record_layout`.
        units: stream of the bytes that the core has received, in order. A form that does not use them does not
            transfer them.
        counters: the counters, which are steady while `records` has Record.COUNTERS.
        data: stream of bytes to send.

    Attributes:
        uses_units: whether each item transfers its units.
    """

    uses_units = False

    def __init__(self, item: Any) -> None:
        super().__init__(
            {
                "records": In(stream.Signature(record_layout(item))),
                "units": In(stream.Signature(8)),
                "counters": In(COUNTERS_LAYOUT),
                "data": Out(stream.Signature(8)),
            }
        )


class WordForm(_Form):
    """Each record as a word of 4 bytes, see `WordFlag`; the counters are three more words.

    Latency: `data.valid` is asserted in the cycle after the transfer of a record.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Signal(8 * BYTES_PER_WORD)
        bytes_left = Signal(range(BYTES_PER_WORD + 1))
        words_left = Signal(range(len(COUNTERS) + 1))
        """The number of counters to send after the word."""
        item = self.records.payload.item
        item_word = Cat(item.code_point, Const(0, 31 - len(item.code_point)), item.error)
        flags = {Record.END: WordFlag.END, Record.LOST: WordFlag.LOST, Record.COUNTERS: WordFlag.COUNTERS}
        idle = bytes_left == 0
        m.d.comb += [
            self.records.ready.eq(idle & (words_left == 0)),
            self.data.valid.eq(~idle),
            self.data.payload.eq(word[:8]),
        ]
        with m.If(self.records.valid & self.records.ready):
            m.d.sync += bytes_left.eq(BYTES_PER_WORD)
            with m.Switch(self.records.payload.record):
                with m.Case(Record.ITEM):
                    m.d.sync += word.eq(item_word)
                for record, flag in flags.items():
                    with m.Case(record):
                        m.d.sync += word.eq(int(flag))
                        if record is Record.COUNTERS:
                            m.d.sync += words_left.eq(len(COUNTERS))
        with m.Elif(idle & (words_left != 0)):
            counter = Array([self.counters[n] for n in reversed(range(len(COUNTERS)))])[words_left - 1]
            m.d.sync += [word.eq(counter), bytes_left.eq(BYTES_PER_WORD), words_left.eq(words_left - 1)]
        with m.Elif(self.data.valid & self.data.ready):
            m.d.sync += [word.eq(word >> 8), bytes_left.eq(bytes_left - 1)]
        return m


class _Step(IntEnum):
    """A step of a program of `TextForm`, other than to send a character."""

    DONE = 0
    """The record has been sent."""
    DROP = 1
    """Transfer the units of the item without sending them."""
    COPY = 2
    """Send the units of the item."""
    UNITS = 3
    """Send the units of the item in hexadecimal."""
    CODE_POINT = 4
    """Send the code point in hexadecimal, with 4 to 6 digits."""
    COUNTER = 5
    """Send the next counter in hexadecimal, with 8 digits."""
    CAUSE = 6
    """Continue with the program of the cause of error."""


_STEP_BITS = 3

_Program = Sequence["bytes | _Step"]

_CAUSES = {kind: kind.name.lower().replace("_", " ") for kind in ErrorKind}

_MARKERS: dict[str, _Program] = {
    "END": [b"end of text\r\n"],
    "LOST": [b"bytes lost\r\n"],
    "COUNTERS": [
        step
        for number, name in enumerate(COUNTERS)
        for step in (b", " * (number > 0), f"{name} ".encode(), _Step.COUNTER)
    ]
    + [b"\r\n"],
}


class TextForm(_Form):
    """Each record as characters, which a program for each kind of record determines.

    Throughput: a character in two cycles if `data` is ready.

    Args:
        item: a decoder's item with `kind` and `length`.
        well_formed: the program of a well-formed item.
        ill_formed: the program of an ill-formed item; after `_Step.CAUSE` the name of the cause and a line end follow.
        before_marker: characters before a marker.
    """

    uses_units = True

    def __init__(self, item: Any, well_formed: _Program, ill_formed: _Program, before_marker: bytes = b"") -> None:
        super().__init__(item)
        programs = {
            "well-formed": well_formed,
            "ill-formed": ill_formed,
            **{name: [before_marker, *program] for name, program in _MARKERS.items()},
            **{kind.name: [f"{name}\r\n".encode()] for kind, name in _CAUSES.items() if _Step.CAUSE in ill_formed},
        }
        self._entries: dict[str, int] = {}
        self._code: list[int] = []
        for name, program in programs.items():
            self._entries[name] = len(self._code)
            self._code += _assembled(program)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.code = code = Memory(shape=9, depth=len(self._code), init=self._code)
        port = code.read_port()
        place = Signal(range(len(self._code)))
        m.d.comb += port.addr.eq(place)
        record, item = self.records.payload.record, self.records.payload.item
        units_left = Signal.like(item.length)
        counter = Signal(range(len(COUNTERS) + 1))
        digits = Signal(_COUNTER_BITS)
        """The digits to send, the next one in the most significant position."""
        digits_left = Signal(range(_COUNTER_BITS // 4 + 1))

        def proceed() -> None:
            m.d.sync += place.eq(place + 1)
            m.next = "FETCH"

        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [place.eq(self._entry(record, item)), units_left.eq(item.length), counter.eq(0)]
                with m.If(self.records.valid):
                    m.next = "FETCH"
            with m.State("FETCH"):
                m.next = "STEP"
            with m.State("STEP"):
                with m.If(~port.data[8]):
                    m.d.comb += [self.data.valid.eq(1), self.data.payload.eq(port.data)]
                    with m.If(self.data.ready):
                        proceed()
                with m.Else(), m.Switch(port.data[:_STEP_BITS]):
                    with m.Case(_Step.DONE):
                        m.d.comb += self.records.ready.eq(1)
                        m.next = "IDLE"
                    with m.Case(_Step.DROP):
                        m.d.comb += self.units.ready.eq(1)
                        with m.If(self.units.valid):
                            m.d.sync += units_left.eq(units_left - 1)
                            with m.If(units_left == 1):
                                proceed()
                    with m.Case(_Step.COPY):
                        m.d.comb += [
                            self.data.valid.eq(self.units.valid),
                            self.data.payload.eq(self.units.payload),
                            self.units.ready.eq(self.data.ready),
                        ]
                        with m.If(self.units.valid & self.data.ready):
                            m.d.sync += units_left.eq(units_left - 1)
                            with m.If(units_left == 1):
                                proceed()
                    with m.Case(_Step.UNITS):
                        m.d.comb += self.units.ready.eq(1)
                        m.d.sync += [digits.eq(Cat(Const(0, _COUNTER_BITS - 8), self.units.payload)), digits_left.eq(2)]
                        with m.If(self.units.valid):
                            m.d.sync += units_left.eq(units_left - 1)
                            m.next = "DIGITS"
                    with m.Case(_Step.CODE_POINT):
                        self._load_code_point(m, item.code_point, digits, digits_left)
                        m.next = "DIGITS"
                    with m.Case(_Step.COUNTER):
                        value = Array(self.counters[n] for n in range(len(COUNTERS)))[counter]
                        m.d.sync += [digits.eq(value), digits_left.eq(_COUNTER_BITS // 4), counter.eq(counter + 1)]
                        m.next = "DIGITS"
                    with m.Case(_Step.CAUSE):
                        m.d.sync += place.eq(self._cause_entry(item))
                        m.next = "FETCH"
            with m.State("DIGITS"):
                nibble = digits[-4:]
                m.d.comb += [
                    self.data.valid.eq(1),
                    self.data.payload.eq(Mux(nibble < 10, ord("0") + nibble, ord("A") - 10 + nibble)),
                ]
                with m.If(self.data.ready):
                    m.d.sync += [digits.eq(digits << 4), digits_left.eq(digits_left - 1)]
                    with m.If(digits_left == 1):
                        with m.If((port.data[:_STEP_BITS] == _Step.UNITS) & (units_left != 0)):
                            m.next = "SPACE"
                        with m.Else():
                            proceed()
            with m.State("SPACE"):
                m.d.comb += [self.data.valid.eq(1), self.data.payload.eq(ord(" "))]
                with m.If(self.data.ready):
                    m.next = "STEP"
        return m

    def _entry(self, record: Any, item: Any) -> Value:
        """The place of the program of a record."""
        of_item = Mux(item.error, self._entries["ill-formed"], self._entries["well-formed"])
        chosen: Value = Array([of_item, *(self._entries[name] for name in _MARKERS)])[Value.cast(record)]
        return chosen

    def _cause_entry(self, item: Any) -> Value:
        if "kind" not in item.shape().members:
            return Const(0)
        places = [0, *(self._entries[kind.name] for kind in sorted(ErrorKind))]
        chosen: Value = Array(places)[Value.cast(item.kind)]
        return chosen

    @staticmethod
    def _load_code_point(m: Module, code_point: Value, digits: Signal, digits_left: Signal) -> None:
        widths = [width for width in (4, 5, 6) if width == 4 or len(code_point) > 4 * (width - 1)]
        for width in widths:
            shifted = code_point << (_COUNTER_BITS - 4 * width)
            assignments = [digits.eq(shifted), digits_left.eq(width)]
            if width == widths[0]:
                m.d.sync += assignments
            else:
                with m.If(code_point >= 1 << 4 * (width - 1)):
                    m.d.sync += assignments


def _assembled(program: _Program) -> Iterator[int]:
    """The entries of the memory for a program, with bit 8 set in a step."""
    for step in (*program, _Step.DONE):
        if isinstance(step, bytes):
            yield from step
        else:
            yield 1 << 8 | step.value


@dataclass(frozen=True)
class Form:
    """A form of the output.

    Attributes:
        name: its name on the command line.
        help: what is sent.
        build: makes the circuit for the shape of the core's output symbols.
        fields: the fields of an item that the circuit needs, of `kind` and `length`.
    """

    name: str
    help: str
    build: Callable[[Any], WordForm | TextForm]
    fields: frozenset[str]

    def core(self, core: DecoderParameters) -> DecoderParameters:
        """The parameters of a decoder with the fields that this form needs.

        Raises:
            InvalidArgumentError: the items of the decoder's practice do not cover the text.
        """
        if self.fields and core.practice not in COVERING_PRACTICES:
            raise InvalidArgumentError(
                f"practice {core.practice} drops bytes, which the form {self.name} shows: use "
                f"{' or '.join(COVERING_PRACTICES)}, or the form words"
            )
        fields = self.fields
        return replace(core, kind=core.kind or "kind" in fields, length=core.length or "length" in fields)


COVERING_PRACTICES = (Practice.MAXIMAL_SUBPARTS, Practice.EACH_UNIT)
"""The practices under which the lengths of the items of a decoder add up to the text."""

FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Form("words", "each item as a word of 4 bytes", WordForm, frozenset()),
        Form(
            "lines",
            "a line per item, such as U+1F600 or ill-formed E2 82: truncated",
            lambda item: TextForm(
                item,
                [b"U+", _Step.CODE_POINT, b"\r\n", _Step.DROP],
                [b"ill-formed ", _Step.UNITS, b": ", _Step.CAUSE],
            ),
            frozenset({"kind", "length"}),
        ),
        Form(
            "utf-8",
            "the text with U+FFFD in place of ill-formed items",
            lambda item: TextForm(item, [_Step.COPY], [_Step.DROP, REPLACEMENT], b"\xff"),
            frozenset({"length"}),
        ),
    )
}
"""The forms, by name; the first is the default.

A marker in the form utf-8 is a line after the byte FF, which does not occur in UTF-8.
"""
