# SPDX-License-Identifier: BSD-2-Clause
"""What a board sends, as a host sees it, and the parsers of its forms, which also know what the model expects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from utf8fpga.boards.protocol import BYTES_PER_WORD, COUNTERS, ITEM_COUNTERS, MARKS, REPORT_COUNTERS, Mark, WordFlag
from utf8fpga.boards.wording import CAUSES, ITEM_LINES, REPORT_LINES, Wording, counters_program, line_reader
from utf8fpga.hdl import CoreParameters
from utf8fpga.model import REPLACEMENT_CHARACTER, Decoder, EncodingTable, ErrorKind, Item, ValidatorReport
from utf8fpga.model.encodings import Encoding


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


# The parsers


class Parser:
    """A parser of a form."""

    def __init__(self) -> None:
        self._rest = b""
        """The bytes that are not parsed yet."""

    def _numbers(self, data: bytes, size: int, byte_order: Literal["little", "big"] = "little") -> list[int]:
        """The numbers of so many bytes that the next bytes complete."""
        data = self._rest + data
        whole = len(data) - len(data) % size
        self._rest = data[whole:]
        return [int.from_bytes(data[at : at + size], byte_order) for at in range(0, whole, size)]

    def feed(self, data: bytes) -> list[Event]:
        """The events that the next bytes complete.

        Raises:
            GarbledError: they are not in the form.
        """
        raise NotImplementedError

    def counters_at_end(self, data: bytes) -> Counters | None:
        """The counters of an answer at the end of what was received; None if there is none in this form."""
        raise NotImplementedError

    def expected(self, core: CoreParameters, symbols: Sequence[Any], units: bytes) -> list[Event]:
        """The events for symbols of the core's golden function; `units` begins with the bytes of the first one."""
        raise NotImplementedError


class Words(Parser):
    """The form ``words``."""

    def __init__(self) -> None:
        super().__init__()
        self._counters: list[int] | None = None

    def feed(self, data: bytes) -> list[Event]:
        events: list[Event] = []
        for word in self._numbers(data, BYTES_PER_WORD):
            if self._counters is not None:
                self._counters.append(word)
                if len(self._counters) == COUNTERS:
                    events.append(Counters.of(self._counters))
                    self._counters = None
            elif word == WordFlag.COUNTERS:
                self._counters = []
            elif word in _WORD_MARKS:
                events.append(_WORD_MARKS[word])
            elif word & ~int(WordFlag.ERROR) < _CODE_POINTS:
                # Without the option `replacement` the code point of an error is undefined.
                error = bool(word & WordFlag.ERROR)
                events.append(Received(REPLACEMENT_CHARACTER if error else word, error))
            else:
                raise GarbledError(f"the word {word:08X}")
        return events

    def counters_at_end(self, data: bytes) -> Counters | None:
        marker, *values = Parser()._numbers(data[-(1 + COUNTERS) * BYTES_PER_WORD :], BYTES_PER_WORD) or [0]
        return Counters.of(values) if marker == WordFlag.COUNTERS and len(values) == COUNTERS else None

    def expected(self, core: CoreParameters, symbols: Sequence[Any], units: bytes) -> list[Event]:
        return [Received(item.code_point, item.error is not None) for item in symbols]


_WORD_MARKS = {int(WordFlag.END): Mark.END, int(WordFlag.LOST): Mark.LOST}

_CODE_POINTS = 1 << 21
"""A word has room for code points below."""

_LONGEST_LINE = 200

_COUNTERS = {names: line_reader(counters_program(names)) for names in (ITEM_COUNTERS, REPORT_COUNTERS)}


def _marker(line: str) -> Mark | Counters | None:
    for names, read in _COUNTERS.items():
        if values := read(line):
            return Counters.of((int(digits, 16) for digits in values.values()), names)
    return next((mark for mark in Mark if mark.value == line), None)


def _counters_of(line: str) -> Counters | None:
    """The counters of a line with its end."""
    event = _marker(line.removesuffix("\r\n")) if line.endswith("\r\n") else None
    return event if isinstance(event, Counters) else None


class _Lines(Parser):
    """A form of lines, where the lines of a symbol may be any of `wordings`."""

    def __init__(self, *wordings: Wording) -> None:
        super().__init__()
        self._counters = wordings[0].counters
        self._readers = [
            (line_reader(program), is_well_formed)
            for wording in wordings
            for program, is_well_formed in ((wording.well_formed, True), (wording.ill_formed, False))
        ]

    def feed(self, data: bytes) -> list[Event]:
        *lines, self._rest = (self._rest + data).split(b"\r\n")
        if len(self._rest) > _LONGEST_LINE:
            raise GarbledError(f"the line {self._rest[:20]!r}...")
        return [self._event(line.decode("ascii", "replace")) for line in lines]

    def _event(self, line: str) -> Event:
        for read, is_well_formed in self._readers:
            if (values := read(line)) is not None:
                return self._symbol(is_well_formed, values)
        event = _marker(line)
        if event is None:
            raise GarbledError(f"the line {line[:_LONGEST_LINE]!r}")
        return event

    def _symbol(self, is_well_formed: bool, values: dict[str, str]) -> Event:
        raise NotImplementedError

    def counters_at_end(self, data: bytes) -> Counters | None:
        *_, line, rest = ["", *data.decode("latin-1").split("\r\n")]
        counters = _counters_of(f"{line}\r\n{rest}")
        return counters if counters and counters.names == self._counters else None


class ItemLines(_Lines):
    """The form ``lines``."""

    def __init__(self) -> None:
        super().__init__(ITEM_LINES)

    def _symbol(self, is_well_formed: bool, values: dict[str, str]) -> Event:
        if is_well_formed:
            return Received(int(values["code_point"], 16), False)
        return Received(REPLACEMENT_CHARACTER, True, bytes.fromhex(values["units"]), CAUSES[values["cause"]])

    def expected(self, core: CoreParameters, symbols: Sequence[Any], units: bytes) -> list[Event]:
        events: list[Event] = []
        for item in symbols:
            own, units = units[: item.length], units[item.length :]
            fields = (False,) if item.error is None else (True, own, item.error)
            events.append(Received(item.code_point, *fields))
        return events


class ReportLines(_Lines):
    """The form ``report``."""

    def __init__(self) -> None:
        super().__init__(*REPORT_LINES.values())

    def _symbol(self, is_well_formed: bool, values: dict[str, str]) -> Event:
        kind = CAUSES.get(values.pop("cause", ""))
        numbers: dict[str, Any] = {name: int(digits, 16) for name, digits in values.items()}
        offset = numbers.pop("offset", None)
        return ValidatorReport(is_well_formed, offset, kind, 0, 0, 0, 0)._replace(**numbers)

    def expected(self, core: CoreParameters, symbols: Sequence[Any], units: bytes) -> list[Event]:
        return [core.comparable(symbol) for symbol in symbols]


class Text(Parser):
    """A form of `TEXT_FORMS`."""

    def __init__(self, encoding: Encoding) -> None:
        super().__init__()
        assert isinstance(encoding.form, EncodingTable)
        self._encoding, self._decoder = encoding, Decoder(encoding.form)
        self._mark = MARKS[encoding.form.unit_width]
        self._units: list[int] = []
        """The code units that are not part of an item yet."""
        self._line: str | None = None
        """The line of a marker so far."""

    def feed(self, data: bytes) -> list[Event]:
        units = self._numbers(data, self._encoding.unit_bytes, self._encoding.byte_order)
        self._units += units
        events: list[Event] = []
        place = 0
        for item in self._decoder.decode(units):
            own = self._units[place : place + item.length]
            place += item.length
            if event := self._event(item, own):
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

    def counters_at_end(self, data: bytes) -> Counters | None:
        _, mark, line = data.rpartition(self._encoding.to_bytes([self._mark]))
        return _counters_of(line.decode(self._encoding.name, "replace")) if mark else None

    def expected(self, core: CoreParameters, symbols: Sequence[Any], units: bytes) -> list[Event]:
        return self.feed(core.as_bytes(symbols))
