# SPDX-License-Identifier: BSD-2-Clause
"""What a board sends, as a host sees it, and the parsers of its forms, which also know what the model expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from utf8fpga.boards.protocol import BYTES_PER_WORD, MARK, Mark, WordFlag
from utf8fpga.model import REPLACEMENT_CHARACTER, Decoder


class Received(NamedTuple):
    """An item from the board.

    Attributes:
        code_point: its code point, U+FFFD if it is ill-formed.
        error: whether it is ill-formed; None where the form does not tell.
    """

    code_point: int
    error: bool | None


Event = Received | Mark
"""What a board sends."""


class GarbledError(Exception):
    """What was received is not in the form; the argument says what it is."""


def line_of(event: Event) -> str:
    """An event as a readable line.

    >>> line_of(Received(0x1F600, False))
    'U+1F600'
    """
    if isinstance(event, Mark):
        return event.value
    return f"U+{event.code_point:04X}{' ill-formed' if event.error else ''}"


class Parser:
    """A parser of a form."""

    answer_prefix = b""
    """The bytes in front of a marker."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that the next bytes complete.

        Raises:
            GarbledError: they are not in the form.
        """
        raise NotImplementedError

    def expected(self, symbols: Sequence[Any]) -> list[Event]:
        """The events for symbols of the core's golden function."""
        raise NotImplementedError

    def ends_with_answer(self, data: bytes) -> bool:
        """Whether an answer in this form is at the end of what was received."""
        return data.endswith(self.answer_prefix + int(WordFlag.ANSWER).to_bytes(BYTES_PER_WORD, "little"))


def _words(data: bytes) -> list[int]:
    """Whole words."""
    whole = len(data) - len(data) % BYTES_PER_WORD
    return [int.from_bytes(data[at : at + BYTES_PER_WORD], "little") for at in range(0, whole, BYTES_PER_WORD)]


class Words(Parser):
    """The form ``words``."""

    def __init__(self) -> None:
        self._rest = b""
        """The bytes that are not parsed yet."""

    def feed(self, data: bytes) -> list[Event]:
        data = self._rest + data
        words = _words(data)
        self._rest = data[len(words) * BYTES_PER_WORD :]
        events: list[Event] = []
        for word in words:
            if word in _WORD_MARKS:
                events.append(_WORD_MARKS[word])
            elif word & ~int(WordFlag.ERROR) < _CODE_POINTS:
                error = bool(word & WordFlag.ERROR)
                events.append(Received(REPLACEMENT_CHARACTER if error else word, error))
            else:
                raise GarbledError(f"the word {word:08X}")
        return events

    def expected(self, symbols: Sequence[Any]) -> list[Event]:
        return [Received(item.code_point, item.error is not None) for item in symbols]


_WORD_MARKS = {int(WordFlag[mark.name]): mark for mark in Mark}

_CODE_POINTS = 1 << 21
"""A word has room for code points below."""


class Text(Parser):
    """The form ``utf-8``."""

    answer_prefix = bytes([MARK])

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._marker: Words | None = None
        """The parser of a marker that is not complete."""

    def feed(self, data: bytes) -> list[Event]:
        events: list[Event] = []
        while data:
            if self._marker is None:
                text, mark, data = data.partition(self.answer_prefix)
                events += self._characters(text, is_whole=bool(mark))
                self._marker = Words() if mark else None
            elif found := self._marker.feed(data[:1]):
                if isinstance(found[0], Received):
                    raise GarbledError(f"{line_of(found[0])} as a marker")
                events += found
                data, self._marker = data[1:], None
            else:
                data = data[1:]
        return events

    def _characters(self, text: bytes, *, is_whole: bool) -> list[Event]:
        events: list[Event] = []
        for item in self._decoder.decode(text, final=is_whole):
            if item.error is not None:
                raise GarbledError("ill-formed UTF-8")
            events.append(Received(item.code_point, None if item.code_point == REPLACEMENT_CHARACTER else False))
        return events

    def expected(self, symbols: Sequence[Any]) -> list[Event]:
        return self.feed(bytes(unit.value for unit in symbols))
