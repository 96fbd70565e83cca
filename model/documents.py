# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the documents before Table 3-7, each as published, including its errors.

The rules are not used for decoding. The partition of L2/07-351 is `partition`, the practice of L2/08-150 a `Practice`.
"""

from __future__ import annotations

import re
from enum import Enum, StrEnum
from typing import NamedTuple

from utf8fpga.model.forms import RFC_2279


class Answer(Enum):
    """The answer of a rule for a whole text; the names are Hopwood's.

    `INVALID` is final in every rule here: any extension of an invalid text is invalid too.
    """

    VALID = "valid"
    TRUNCATED = "truncated"
    """Not valid, and more units are required."""
    INVALID = "invalid"


def _pattern(line: str) -> re.Pattern[bytes]:
    """One cell for each byte: its ranges joined by commas, or XX for any byte.

    >>> _pattern("ED  00..7F,C0..FF").pattern
    b'[\\\\xED][\\\\x00-\\\\x7F\\\\xC0-\\\\xFF]'
    """
    cells = (re.sub("[0-9A-F]{2}", r"\\x\g<0>", cell) for cell in line.replace("XX", "00..FF").split())
    return re.compile("".join(f"[{cell}]" for cell in cells).replace("..", "-").replace(",", "").encode())


def _patterns(text: str) -> tuple[re.Pattern[bytes], ...]:
    return tuple(_pattern(line) for line in text.splitlines() if line.strip())


def _checked(data: bytes | bytearray | memoryview) -> bytes:
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"the text must be bytes-like, not {type(data).__name__}")
    return bytes(data)


# Davis 2000, "UTF-8 and Non-Shortest Form (R2)"

TABLE_3_1B = _patterns("""
    C0..C1
    F5..FF
    C2..DF  00..7F,C0..FF
    E0      00..9F,C0..FF
    E1..EF  00..7F,C0..FF
    F0      00..9F,C0..FF
    F4      00..7F,90..FF
    E0..EF  XX             00..7F,C0..FF
    F0..F4  XX             00..7F,C0..FF
    F0..F4  XX             XX             00..7F,C0..FF
    ED      A0..AF         XX             ED             B0..BF
""")
"""Davis 2000, "UTF-8 and Non-Shortest Form (R2)", Table 3.1b: the ill-formed byte sequences, line 1 first."""


def table_3_1b(data: bytes | bytearray | memoryview) -> Answer:
    """`INVALID` if and only if some sequence of the bytes matches some line of Table 3.1b, else `VALID`.

    The table applies to any sequence of the bytes, so a match may start anywhere, also inside a character.

    Raises:
        TypeError: `data` is no bytes-like object.

    >>> table_3_1b(b"\\xc0\\xaf").name, table_3_1b("\\U00010000".encode()).name, table_3_1b(b"\\x80").name
    ('INVALID', 'INVALID', 'VALID')
    """
    units = _checked(data)
    return Answer.INVALID if any(line.search(units) for line in TABLE_3_1B) else Answer.VALID


# Brown 2001, "UTF-8 validation rules", as quoted by Hopwood


class BrownRule(StrEnum):
    """The rules of Brown in the published order, and one that the document assumes."""

    FIRST_BYTE = "not a first byte"
    """Only 00..7F and C2..F4 are first bytes."""
    NON_SHORTEST_FIRST_BYTE = "a non-shortest form by its first byte"
    """C0 and C1 may be decoded but are invalid."""
    NON_SHORTEST_FORM = "a non-shortest form"
    """E0 or F0 before a byte less than A0."""
    SURROGATE = "a surrogate"
    """ED before anything from A0 on."""
    NOT_A_CHARACTER = "an invalid Unicode character"
    """EF BF BE and EF BF BF."""
    BEYOND_UNICODE = "beyond the Unicode range"
    """Anything greater than F4 80 BF BF."""
    NOT_CONTINUED = "not continued"
    """Assumed: the first byte determines the number of continuation bytes after it."""


BROWN_FIRST_BYTES = _pattern("00..7F,C2..F4")
BROWN_RULES: tuple[tuple[BrownRule, tuple[re.Pattern[bytes], ...]], ...] = (
    (BrownRule.NON_SHORTEST_FIRST_BYTE, _patterns("C0..C1")),
    (BrownRule.NON_SHORTEST_FORM, _patterns("E0 00..9F\nF0 00..9F")),
    (BrownRule.SURROGATE, _patterns("ED A0..FF")),
    (BrownRule.NOT_A_CHARACTER, _patterns("EF BF BE..BF")),
)
"""Brown 2001: the rules that list the bytes they exclude."""
BROWN_LIMIT = bytes.fromhex("F4 80 BF BF")
"""Brown 2001: the last sequence of Unicode according to the document (it represents U+100FFF)."""


class BrownResult(NamedTuple):
    """The result of Brown's rules for a text.

    Attributes:
        answer: valid, truncated or invalid.
        rule: the first rule that is violated; None where valid.
        offset: the start of the character that violates it; the length of the text where valid.
    """

    answer: Answer
    rule: BrownRule | None
    offset: int


def brown(data: bytes | bytearray | memoryview) -> BrownResult:
    """Apply Brown's validation rules to each character up to the first that violates one.

    Cases that the document does not specify are handled as follows:

    - The document assumes the length of a character and that bytes 80..BF continue it. The first
      byte determines the length (RFC 2279), and `BrownRule.NOT_CONTINUED` is applied after the
      published rules.
    - "Anything greater" is a lexicographic comparison of the bytes of a character.
    - C0 and C1, which the document decodes but considers invalid, are invalid by
      `NON_SHORTEST_FIRST_BYTE`, not by `FIRST_BYTE`.
    - Where the text ends inside a character, the rules are applied to the bytes present; if they
      violate none, the answer is `TRUNCATED` with `NOT_CONTINUED`.
    - The document does not specify where to continue after an invalid character, so the first
      violation is the result.

    Raises:
        TypeError: `data` is no bytes-like object.

    >>> brown("\\U00010000".encode()).rule.name, brown("\\U00101000".encode()).rule.name
    ('NON_SHORTEST_FORM', 'BEYOND_UNICODE')
    """
    units = _checked(data)
    offset = 0
    while offset < len(units):
        for rule, patterns in BROWN_RULES:
            if any(pattern.match(units, offset) for pattern in patterns):
                return BrownResult(Answer.INVALID, rule, offset)
        if not BROWN_FIRST_BYTES.match(units, offset):
            return BrownResult(Answer.INVALID, BrownRule.FIRST_BYTE, offset)
        structure = next(p for p in RFC_2279.patterns.values() if units[offset] in p.blocks[0])
        character = units[offset : offset + len(structure.blocks)]
        if character > BROWN_LIMIT:
            return BrownResult(Answer.INVALID, BrownRule.BEYOND_UNICODE, offset)
        if not structure.matches(character):
            return BrownResult(Answer.INVALID, BrownRule.NOT_CONTINUED, offset)
        if len(character) < len(structure.blocks):
            return BrownResult(Answer.TRUNCATED, BrownRule.NOT_CONTINUED, offset)
        offset += len(character)
    return BrownResult(Answer.VALID, None, offset)


# Hopwood 2001, reply to "UTF-8 validation rules"


class Conversion(NamedTuple):
    """The result of Hopwood's converter.

    Attributes:
        answer: valid, truncated or invalid.
        output: the UTF-16 code units written before the answer.
    """

    answer: Answer
    output: tuple[int, ...]


def hopwood(
    data: bytes | bytearray | memoryview, *, strict_iso10646: bool = False, allow_irregular: bool = False
) -> Conversion:
    """Hopwood's validating converter from UTF-8 to UTF-16, with the tests in the order of the pseudocode.

    It stops at the first sequence that it does not convert. It compares the number of remaining
    bytes before their values, so `TRUNCATED` means only that there are too few of them, not that
    they are valid. The comparison is signed: if the whole text has fewer bytes than are subtracted
    from its length, the limit is negative and the answer still `TRUNCATED`.

    Args:
        data: the bytes of a whole text.
        strict_iso10646: the flag STRICT_ISO10646: reject U+FFFE and U+FFFF (the noncharacters of
            the other planes are accepted).
        allow_irregular: the flag ALLOW_IRREGULAR: accept a surrogate pair as six bytes. A high
            surrogate then requires three more bytes of any value, and a lone low one is invalid.

    Raises:
        TypeError: `data` is no bytes-like object.

    >>> conversion = hopwood(b"A\\xf0\\x90\\x8c\\x82\\xe1\\x80")
    >>> conversion.answer.name, [f"{unit:04X}" for unit in conversion.output]
    ('TRUNCATED', ['0041', 'D800', 'DF02'])
    """
    utf8 = _checked(data)
    output: list[int] = []
    i = 0
    try:
        while i < len(utf8):
            b0 = utf8[i]
            if b0 & 0x80 == 0:  # 0xxxxxxx
                output.append(b0)
                i += 1
            elif b0 & 0xE0 == 0xC0:  # 110xxxxx 10xxxxxx
                codepoint = _sequence(utf8, i, 2)
                _reject_if(codepoint < 0x80)
                output.append(codepoint)
                i += 2
            elif b0 & 0xF0 == 0xE0:  # 1110xxxx 10xxxxxx 10xxxxxx
                units = _of_three(utf8, i, strict_iso10646, allow_irregular)
                output += units
                i += 3 * len(units)
            elif b0 & 0xF8 == 0xF0:  # 11110xxx 10xxxxxx 10xxxxxx 10xxxxxx
                codepoint = _sequence(utf8, i, 4)
                _reject_if(codepoint < 0x10000 or codepoint > 0x10FFFF)
                temp = codepoint - 0x10000
                output += [(temp >> 10) + 0xD800, (temp & 0x3FF) + 0xDC00]
                i += 4
            else:
                raise _StoppedError(Answer.INVALID)
    except _StoppedError as stop:
        return Conversion(stop.answer, tuple(output))
    return Conversion(Answer.VALID, tuple(output))


class _StoppedError(Exception):
    """Ends the conversion with `answer`."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer


def _sequence(utf8: bytes, i: int, length: int) -> int:
    """The payload bits of the `length` bytes at `i`, of which those after the first are checked."""
    if i >= len(utf8) - (length - 1):  # signed, as utf8len must be
        raise _StoppedError(Answer.TRUNCATED)
    codepoint = utf8[i] & 0x7F >> length
    for byte in utf8[i + 1 : i + length]:
        _reject_if(byte & 0xC0 != 0x80)
        codepoint = codepoint << 6 | byte & 0x3F
    return codepoint


def _reject_if(is_invalid: bool) -> None:
    if is_invalid:
        raise _StoppedError(Answer.INVALID)


def _of_three(utf8: bytes, i: int, strict_iso10646: bool, allow_irregular: bool) -> list[int]:
    """One unit, or two for an irregular pair of three bytes each."""
    codepoint = _sequence(utf8, i, 3)
    if allow_irregular and 0xD800 <= codepoint <= 0xDBFF:
        temp = _sequence(utf8, i + 3, 3)
        _reject_if(utf8[i + 3] & 0xF0 != 0xE0 or not 0xDC00 <= temp <= 0xDFFF)
        return [codepoint, temp]
    _reject_if(codepoint < 0x800 or 0xD800 <= codepoint <= 0xDFFF or (strict_iso10646 and codepoint >= 0xFFFE))
    return [codepoint]
