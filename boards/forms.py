# SPDX-License-Identifier: BSD-2-Clause
"""What a board sends, in one of two forms: a word for each item of a decoder, or the text that a transcoder repairs.

In both forms there are markers beside the items: the end of a text, that bytes were lost, and the answer to a request.
"""

from __future__ import annotations

import re
import struct
from enum import Enum, IntFlag
from typing import Any, ClassVar, NamedTuple, TypeAlias

from amaranth.hdl import Cat, Const, Value

from utf8fpga.hdl import CoreParameters, DecoderParameters, TranscoderParameters
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import REPLACEMENT_CHARACTER, Decoder, decode


class Mark(Enum):
    """A marker; the value is how the host shows it."""

    END = "end of text"
    LOST = "bytes lost"
    ANSWER = "answer"


class Received(NamedTuple):
    """An item.

    Attributes:
        code_point: its code point, U+FFFD if it is ill-formed.
        error: whether it is ill-formed. Repaired text does not tell it from U+FFFD in the input, so both count.
    """

    code_point: int
    error: bool

    def __str__(self) -> str:
        return f"U+{self.code_point:04X}{' ill-formed' if self.error else ''}"


Event = Received | Mark
"""What a board sends."""


def _garbled(found: str) -> ToolError:
    return ToolError(f"received {found}, which no board sends in this form: noise on the line, or a wrong --baud")


class WordFlag(IntFlag):
    """The flags of a word of 32 bits; one without a flag is the code point of a well-formed item."""

    ANSWER = 1 << 28
    END = 1 << 29
    LOST = 1 << 30
    ERROR = 1 << 31
    """The item is ill-formed; its code point is U+FFFD. With one of the other flags the word is a marker."""


class Words:
    """The form of words of 32 bits, the least significant byte first, and its parser.

    Attributes:
        name: its name on the command line.
        core: the core of the board, with the smallest pipeline, which suits the clocks of boards.
        marks: the bytes of each marker.
    """

    name = "words"
    core: ClassVar[CoreParameters] = DecoderParameters(optimize="area")
    marks: ClassVar = {mark: WordFlag[mark.name].to_bytes(4, "little") for mark in Mark}

    def __init__(self) -> None:
        self._rest = b""

    @staticmethod
    def symbol_bytes(symbol: Any) -> Value:
        """The bytes of an output symbol of the core; the first in the low bits."""
        return Cat(symbol.code_point, Const(0, 31 - len(symbol.code_point)), symbol.error)

    def feed(self, data: bytes) -> list[Event]:
        """The events that the next bytes complete.

        Raises:
            ToolError: they are not in the form.
        """
        self._rest += data
        end = len(self._rest) - len(self._rest) % 4
        whole, self._rest = self._rest[:end], self._rest[end:]
        return [self._event(word) for (word,) in struct.iter_unpack("<I", whole)]

    def _event(self, word: int) -> Event:
        for mark in Mark:
            if word == WordFlag[mark.name]:
                return mark
        code_point = word & ~int(WordFlag.ERROR)
        if code_point > 0x10FFFF:
            raise _garbled(f"the word {word:08X}")
        return Received(code_point, bool(word & WordFlag.ERROR))


class Text:
    """The form of repaired text, and its parser; see `Words`. Markers are bytes that are in no sequence of UTF-8."""

    name = "utf-8"
    core: ClassVar[CoreParameters] = TranscoderParameters(optimize="area")
    marks: ClassVar = {Mark.ANSWER: b"\xff", Mark.END: b"\xfe", Mark.LOST: b"\xfd"}

    def __init__(self) -> None:
        self._decoder = Decoder()

    @staticmethod
    def symbol_bytes(symbol: Any) -> Value:
        """See `Words.symbol_bytes`."""
        unit: Value = symbol.unit
        return unit

    def feed(self, data: bytes) -> list[Event]:
        """See `Words.feed`."""
        marks = {byte: mark for mark, byte in self.marks.items()}
        events: list[Event] = []
        for part in re.split(b"([\xfd-\xff])", data):
            items = self._decoder.decode(b"" if part in marks else part, final=part in marks)
            if any(item.error is not None for item in items):
                raise _garbled("ill-formed UTF-8")
            events += [Received(item.code_point, item.code_point == REPLACEMENT_CHARACTER) for item in items]
            if part in marks:
                events.append(marks[part])
        return events


Form: TypeAlias = type[Words] | type[Text]
FORMS: dict[str, Form] = {form.name: form for form in (Words, Text)}
"""The forms, by name."""


def expected_items(text: bytes, form: Form) -> list[Received]:
    """The items of a text according to the model, as a board sends them in a form."""
    if form is not Text:
        return [Received(item.code_point, item.error is not None) for item in decode(text)]
    return [Received(item.code_point, item.code_point == REPLACEMENT_CHARACTER) for item in decode(text)]
