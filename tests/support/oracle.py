# SPDX-License-Identifier: BSD-2-Clause
"""The references of the tests: the documents, CPython's codecs and enumeration.

They are independent of the code under test. Expected items of UTF-8 are tuples
``(offset, length, code point, name of the cause or None)``.
"""

from __future__ import annotations

import codecs
import random
from collections.abc import Callable, Iterable

import pytest

from utf8fpga.model import ErrorKind, InvalidArgumentError, Item, ValidatorReport

BOUNDARY = bytes.fromhex("00 7F 80 8F 90 9F A0 BF C0 C1 C2 DF E0 E1 EC ED EE EF F0 F1 F3 F4 F5 F7 F8 FF")
"""The bounds of all ranges in Table 3-7 and the bytes next to them."""

REPRESENTATIVES = bytes.fromhex("41 80 90 A0 C0 C2 E0 E1 ED F0 F1 F4")
"""One byte of each byte class of Table 3-7."""

PIECES = (
    *(b"a", "é".encode(), "€".encode(), "😀".encode(), b"\x80", b"\xc0", b"\xe0\x80", b"\xed\xa0"),
    *(b"\xf0\x9f", b"\xf5", b"\xe2\x82", b"\xc3", b"\xff"),
)
"""Sequences of all lengths, and ill-formed ones of all causes."""

Expected = tuple[int, int, int, str | None]

_spans: dict[int, int] = {}


def _note_span(error: UnicodeError) -> tuple[str, int]:
    _spans[error.start] = error.end
    return "\ufffd", error.end


codecs.register_error("oracle.note_span", _note_span)


def drawn(rng: random.Random, length: int) -> bytes:
    """A text of `PIECES`, cut off after a number of bytes."""
    text = b""
    while len(text) < length:
        text += rng.choice(PIECES)
    return text[:length]


def kind_of(subpart: bytes, following: int | None) -> str:
    """The cause of one ill-formed item according to the definitions of the causes, in bytes."""
    lead = subpart[0]
    if 0x80 <= lead <= 0xBF:
        return "UNEXPECTED_CONTINUATION"
    if lead >= 0xF8:
        return "INVALID_BYTE"
    if lead in (0xC0, 0xC1):
        return "OVERLONG"
    if 0xF5 <= lead <= 0xF7:
        return "OUT_OF_RANGE"
    if following is None:
        return "INCOMPLETE"
    if len(subpart) == 1:
        if (lead == 0xE0 and 0x80 <= following <= 0x9F) or (lead == 0xF0 and 0x80 <= following <= 0x8F):
            return "OVERLONG"
        if lead == 0xED and 0xA0 <= following <= 0xBF:
            return "SURROGATE"
        if lead == 0xF4 and 0x90 <= following <= 0xBF:
            return "OUT_OF_RANGE"
    return "TRUNCATED"


def items_of(data: bytes) -> list[Expected]:
    """The items of a text in UTF-8: code points and spans from CPython, causes from `kind_of`."""
    _spans.clear()
    items: list[Expected] = []
    offset = 0
    for character in data.decode("utf-8", "oracle.note_span"):
        point = ord(character)
        end = _spans.get(offset)
        if end is None:
            length = 1 + (point > 0x7F) + (point > 0x7FF) + (point > 0xFFFF)
            items.append((offset, length, point, None))
        else:
            length = end - offset
            following = data[end] if end < len(data) else None
            items.append((offset, length, point, kind_of(data[offset:end], following)))
        offset += length
    return items


def report_of(text: bytes) -> ValidatorReport:
    """The report of a validator on a text in UTF-8, from CPython and the causes of `kind_of`."""
    replaced = text.decode("utf-8", "replace")
    lengths = (len(text), len(replaced))
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        causes = [cause for _, _, _, cause in items_of(text) if cause is not None]
        return ValidatorReport(False, error.start, ErrorKind[causes[0]], len(causes), *lengths)
    return ValidatorReport(True, None, None, 0, *lengths)


def plain(items: Iterable[Item]) -> list[Expected]:
    """Items of the model as plain tuples."""
    return [(o, n, point, None if error is None else error.name) for o, n, point, error in items]


def strictly_decodes(data: bytes, codec: str = "utf-8") -> bool:
    """Whether CPython decodes the bytes without an error."""
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def refusal(kind: type[Exception], call: Callable[..., object], *arguments: object, **named: object) -> str:
    """The message with which a call raises an exception; checks that it is one line.

    The exception must be of exactly this class; for `ValueError`, of the class `InvalidArgumentError`.
    """
    with pytest.raises(kind) as caught:
        call(*arguments, **named)
    message = str(caught.value)
    assert caught.type is (InvalidArgumentError if kind is ValueError else kind)
    assert len(message.splitlines()) == 1
    return message


CESU_8_ROWS = """
    0000..007F     00..7F
    0080..07FF     C2..DF  80..BF
    0800..0FFF     E0      A0..BF  80..BF
    1000..CFFF     E1..EC  80..BF  80..BF
    D000..D7FF     ED      80..9F  80..BF
    E000..FFFF     EE..EF  80..BF  80..BF
    10000..10FFFF  ED      A0..AF  80..BF  ED  B0..BF  80..BF
"""
"""CESU-8 as a single table: a supplementary code point is two surrogates of three bytes each."""
