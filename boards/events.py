# SPDX-License-Identifier: BSD-2-Clause
"""What a board sends, as a host sees it: parsers of the forms of `FORMS`, and what the model expects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol

from utf8fpga.boards.forms import TEXT_FORMS, form_of
from utf8fpga.boards.protocol import BYTES_PER_WORD, COUNTERS, ITEM_COUNTERS, MARKS, REPORT_COUNTERS, WordFlag
from utf8fpga.hdl import CoreParameters, TranscoderParameters, ValidatorParameters
from utf8fpga.model import Decoder, ErrorKind, ValidatorReport
from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Item
from utf8fpga.model.encodings import ENCODINGS, Encoding
from utf8fpga.model.table import EncodingTable

__all__ = [
    "Counters",
    "Event",
    "Expected",
    "GarbledError",
    "Mark",
    "Parser",
    "Received",
    "answer_in",
    "line_of",
    "parser_of",
]


class Mark(Enum):
    """A marker from the board; the value is its line in the forms of text."""

    END = "end of text"
    LOST = "bytes lost"


class Received(NamedTuple):
    """An item from the board.

    Attributes:
        code_point: its code point, U+FFFD if it is ill-formed.
        error: whether it is ill-formed; None where the form does not tell.
        units: the bytes of an ill-formed item, if the form has them.
        kind: its cause, if the form has it.
    """

    code_point: int
    error: bool | None
    units: bytes | None = None
    kind: ErrorKind | None = None


class Counters(NamedTuple):
    """The answer to a request: what the board has counted since its reset, modulo 2**32.

    Attributes:
        units: the bytes.
        well_formed: the scalar values; of a validator the well-formed texts.
        ill_formed: the ill-formed items; of a validator the ill-formed texts.
        names: the names of the three.
    """

    units: int
    well_formed: int
    ill_formed: int
    names: Sequence[str] = ITEM_COUNTERS

    @property
    def values(self) -> tuple[int, ...]:
        """The three numbers."""
        return self.units, self.well_formed, self.ill_formed

    @classmethod
    def of(cls, values: Iterable[int], names: Sequence[str] = ITEM_COUNTERS) -> Counters:
        """Three numbers and their names."""
        units, well_formed, ill_formed = values
        return cls(units, well_formed, ill_formed, names)


Event = Received | ValidatorReport | Mark | Counters
"""What a board sends. A report has None and 0 for what the validator does not report."""


class GarbledError(Exception):
    """What was received is not in the form; the argument says what it is."""


class Parser(Protocol):
    """A parser of a form."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that the next bytes complete.

        Raises:
            GarbledError: they are not in the form.
        """


class _Words:
    """The form ``words``."""

    def __init__(self) -> None:
        self._rest = b""
        self._counters: list[int] | None = None

    def feed(self, data: bytes) -> list[Event]:
        data = self._rest + data
        whole = len(data) - len(data) % BYTES_PER_WORD
        self._rest = data[whole:]
        events: list[Event] = []
        for place in range(0, whole, BYTES_PER_WORD):
            word = int.from_bytes(data[place : place + BYTES_PER_WORD], "little")
            if self._counters is not None:
                self._counters.append(word)
                if len(self._counters) == COUNTERS:
                    events.append(Counters.of(self._counters))
                    self._counters = None
            elif word < _CODE_POINTS:
                events.append(Received(word, False))
            else:
                event = self._flagged(word)
                if event is not None:
                    events.append(event)
        return events

    def _flagged(self, word: int) -> Event | None:
        if word & WordFlag.ERROR and word - WordFlag.ERROR < _CODE_POINTS:
            # Without the option `replacement` the code point is undefined.
            return Received(REPLACEMENT_CHARACTER, True)
        if word == WordFlag.COUNTERS:
            self._counters = []
            return None
        if word in (WordFlag.END, WordFlag.LOST):
            return Mark.END if word == WordFlag.END else Mark.LOST
        raise GarbledError(f"the word {word:08X}")


_CODE_POINTS = 1 << 21
"""A word has room for code points below."""

_NAMES = (ITEM_COUNTERS, REPORT_COUNTERS)
_COUNTERS = {names: re.compile(", ".join(f"{name} ([0-9A-F]{{8}})" for name in names)) for names in _NAMES}
_WELL_FORMED = re.compile("U\\+([0-9A-F]{4,6})")
_ILL_FORMED = re.compile("ill-formed ([0-9A-F]{2}(?: [0-9A-F]{2})*): ([a-z ]+)")
_HEX = "([0-9A-F]+)"
_SIZES = f", bytes {_HEX}, code points {_HEX}, UTF-16 units {_HEX}"
_WELL_FORMED_TEXT = re.compile(f"well-formed(?:{_SIZES})?")
_ILL_FORMED_TEXT = re.compile(f"ill-formed(?: at {_HEX}(?:, errors {_HEX}{_SIZES}: ([a-z ]+))?)?")
_KINDS = {kind.name.lower().replace("_", " "): kind for kind in ErrorKind}
_LONGEST_LINE = 200


def _marker(line: str) -> Mark | Counters | None:
    for names, pattern in _COUNTERS.items():
        if found := pattern.fullmatch(line):
            return Counters.of((int(number, 16) for number in found.groups()), names)
    return next((mark for mark in Mark if mark.value == line), None)


def _number(text: str | None) -> int:
    return int(text or "0", 16)


class _Lines:
    """A form of lines."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Event]:
        *lines, self._rest = (self._rest + data).split(b"\r\n")
        if len(self._rest) > _LONGEST_LINE:
            raise GarbledError(f"the line {self._rest[:20]!r}...")
        return [self._event(line.decode("ascii", "replace")) for line in lines]

    def _event(self, line: str) -> Event:
        event = self._symbol(line) or _marker(line)
        if event is None:
            raise GarbledError(f"the line {line[:_LONGEST_LINE]!r}")
        return event

    def _symbol(self, line: str) -> Event | None:
        raise NotImplementedError


class _ItemLines(_Lines):
    """The form ``lines``."""

    def _symbol(self, line: str) -> Event | None:
        if found := _WELL_FORMED.fullmatch(line):
            return Received(int(found[1], 16), False)
        if (found := _ILL_FORMED.fullmatch(line)) and found[2] in _KINDS:
            return Received(REPLACEMENT_CHARACTER, True, bytes.fromhex(found[1]), _KINDS[found[2]])
        return None


class _ReportLines(_Lines):
    """The form ``report``."""

    def _symbol(self, line: str) -> Event | None:
        if found := _WELL_FORMED_TEXT.fullmatch(line):
            return ValidatorReport(True, None, None, 0, *map(_number, found.groups()))
        if (found := _ILL_FORMED_TEXT.fullmatch(line)) and found[6] in {None, *_KINDS}:
            offset = None if found[1] is None else _number(found[1])
            kind = _KINDS[found[6]] if found[6] else None
            return ValidatorReport(False, offset, kind, *map(_number, found.groups()[1:5]))
        return None


class _Text:
    """A form of `TEXT_FORMS`."""

    def __init__(self, encoding: Encoding) -> None:
        assert isinstance(encoding.form, EncodingTable)
        self._encoding, self._decoder = encoding, Decoder(encoding.form)
        self._mark = MARKS[encoding.form.unit_width]
        self._units: list[int] = []
        """The code units that are not part of an item yet."""
        self._line: str | None = None
        """The line of a marker so far."""
        self._rest = b""

    def feed(self, data: bytes) -> list[Event]:
        data, size = self._rest + data, self._encoding.unit_bytes
        whole = len(data) - len(data) % size
        self._rest = data[whole:]
        units = [int.from_bytes(data[at : at + size], self._encoding.byte_order) for at in range(0, whole, size)]
        self._units += units
        events: list[Event] = []
        place = 0
        for item in self._decoder.decode(units):
            given = self._units[place : place + item.length]
            place += item.length
            if event := self._event(item, given):
                events.append(event)
        del self._units[:place]
        return events

    def _event(self, item: Item, units: list[int]) -> Event | None:
        if item.error is not None:
            if units != [self._mark] or self._line is not None:
                raise GarbledError(f"the bytes {self._encoding.to_bytes(units).hex(' ').upper()}")
            self._line = ""
            return None
        if self._line is None:
            return Received(item.code_point, None if item.code_point == REPLACEMENT_CHARACTER else False)
        self._line += chr(item.code_point)
        if not self._line.endswith("\r\n"):
            if len(self._line) > _LONGEST_LINE:
                raise GarbledError(f"the line {self._line[:20]!r}...")
            return None
        event = _marker(self._line[:-2])
        if event is None:
            raise GarbledError(f"the line {self._line[:-2]!r}")
        self._line = None
        return event


def parser_of(form: str) -> Parser:
    """A parser of a form."""
    if form in TEXT_FORMS:
        return _Text(ENCODINGS[form])
    parsers: dict[str, type[_Words | _Lines]] = {"words": _Words, "lines": _ItemLines, "report": _ReportLines}
    return parsers[form]()


def answer_in(data: bytes) -> tuple[str, Counters] | None:
    """The form of an answer at the end of what was received, and its counters; None if there is none."""
    size = (1 + COUNTERS) * BYTES_PER_WORD
    if data[-size:][:BYTES_PER_WORD] == WordFlag.COUNTERS.to_bytes(BYTES_PER_WORD, "little") and len(data) >= size:
        (event,) = _Words().feed(data[-size:])
        assert isinstance(event, Counters)
        return "words", event
    for form in TEXT_FORMS:
        encoding = ENCODINGS[form]
        _, mark, line = data.rpartition(encoding.to_bytes([MARKS[encoding.form.unit_width]]))
        if mark and (counters := _counters_of(line.decode(form, "replace"))):
            return form, counters
    *_, last, end = ["", *data.decode("latin-1").split("\r\n")]
    if counters := _counters_of(f"{last}\r\n{end}"):
        return ("lines" if counters.names == ITEM_COUNTERS else "report"), counters
    return None


def _counters_of(line: str) -> Counters | None:
    """The counters of a whole line."""
    event = _marker(line.removesuffix("\r\n")) if line.endswith("\r\n") else None
    return event if isinstance(event, Counters) else None


def line_of(event: Event) -> str:
    """An event as a readable line.

    >>> line_of(Received(0x1F600, False))
    'U+1F600'
    """
    if isinstance(event, Mark):
        return event.value
    if isinstance(event, Counters):
        return _named(zip(event.names, event.values, strict=True))
    if isinstance(event, ValidatorReport):
        return _line_of_report(event)
    if not event.error:
        return f"U+{event.code_point:04X}"
    if event.units is None or event.kind is None:
        return f"U+{event.code_point:04X} ill-formed"
    return f"ill-formed {event.units.hex(' ').upper()}: {event.kind.name.lower().replace('_', ' ')}"


def _line_of_report(report: ValidatorReport) -> str:
    verdict = "well-formed" if report.well_formed else "ill-formed"
    if report.offset is not None:
        verdict += f" at {report.offset}"
    if report.kind is not None:
        verdict += f", {report.kind.name.lower().replace('_', ' ')}"
    numbers = {
        "errors": report.errors,
        "bytes": report.units,
        "code points": report.code_points,
        "UTF-16 units": report.utf16_units,
    }
    return ", ".join([verdict, _named((name, value) for name, value in numbers.items() if value)]).removesuffix(", ")


def _named(numbers: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in numbers)


class Expected:
    """The events of a text according to the model, as a board sends them in a form, without markers.

    Args:
        core: the parameters of the board's core.
        form: the form; default: see `form_of`.

    Raises:
        InvalidArgumentError: see `form_of`.
    """

    def __init__(self, core: CoreParameters, form: str | None = None) -> None:
        self._core, chosen = form_of(core, form)
        self._golden, self._form = self._core.golden(), chosen.name
        self._units = bytearray()
        self._parser = parser_of(self._form)

    def feed(self, part: bytes, *, final: bool = False) -> list[Event]:
        """The events that the next part of the text determines; `final` at the end of the text."""
        symbols: list[Any] = [*self._golden.process(part, final)]
        if isinstance(self._core, TranscoderParameters):
            return self._parser.feed(self._core.as_bytes(symbols))
        if isinstance(self._core, ValidatorParameters):
            return [self._core.report_of(symbol) for symbol in symbols]
        self._units += part
        return [self._received(item) for item in symbols]

    def _received(self, item: Item) -> Received:
        units = bytes(self._units[: item.length])
        del self._units[: item.length]
        if self._form == "lines" and item.error is not None:
            return Received(item.code_point, True, units, item.error)
        if self._form == "utf-8" and item.code_point == REPLACEMENT_CHARACTER:
            return Received(item.code_point, None)
        return Received(item.code_point, item.error is not None)
