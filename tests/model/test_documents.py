# SPDX-License-Identifier: BSD-2-Clause
"""The rules of the older documents compared with their texts."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.oracle import BOUNDARY, refusal

from utf8fpga.model.documents import Answer, BrownRule, Conversion, brown, hopwood, table_3_1b

# Table 3.1b

LINES = re.compile(
    rb"(?s)[\xC0-\xC1]"
    rb"|[\xF5-\xFF]"
    rb"|[\xC2-\xDF][\x00-\x7F\xC0-\xFF]"
    rb"|\xE0[\x00-\x9F\xC0-\xFF]"
    rb"|[\xE1-\xEF][\x00-\x7F\xC0-\xFF]"
    rb"|\xF0[\x00-\x9F\xC0-\xFF]"
    rb"|\xF4[\x00-\x7F\x90-\xFF]"
    rb"|[\xE0-\xEF].[\x00-\x7F\xC0-\xFF]"
    rb"|[\xF0-\xF4].[\x00-\x7F\xC0-\xFF]"
    rb"|[\xF0-\xF4]..[\x00-\x7F\xC0-\xFF]"
    rb"|\xED[\xA0-\xAF].\xED[\xB0-\xBF]"
)


# Brown's rules

BROKEN = [
    ("valid", "41 C3 B1 E0 A0 80 ED 9F BF EF BF BD F0 A0 80 80 F4 80 BF BF", Answer.VALID, None, 20),
    ("nothing", "", Answer.VALID, None, 0),
    ("continuation_first", "41 80", Answer.INVALID, BrownRule.FIRST_BYTE, 1),
    ("c0", "C0 AF", Answer.INVALID, BrownRule.NON_SHORTEST_FIRST_BYTE, 0),
    ("e0_9f", "E0 9F 80", Answer.INVALID, BrownRule.NON_SHORTEST_FORM, 0),
    ("f0_8f", "F0 8F BF BF", Answer.INVALID, BrownRule.NON_SHORTEST_FORM, 0),
    ("f0_90_wrongly", "F0 90 80 80", Answer.INVALID, BrownRule.NON_SHORTEST_FORM, 0),
    ("ed_a0", "ED A0 80", Answer.INVALID, BrownRule.SURROGATE, 0),
    ("ed_ff_is_anything", "ED FF", Answer.INVALID, BrownRule.SURROGATE, 0),
    ("fffe", "41 EF BF BE", Answer.INVALID, BrownRule.NOT_A_CHARACTER, 1),
    ("1ffff_is_no_less_one", "F0 AF BF BF", Answer.VALID, None, 4),
    ("limit", "F4 80 BF BF", Answer.VALID, None, 4),
    ("beyond_the_limit_wrongly", "F4 81 80 80", Answer.INVALID, BrownRule.BEYOND_UNICODE, 0),
    ("f4_90", "F4 90 80 80", Answer.INVALID, BrownRule.BEYOND_UNICODE, 0),
    ("not_continued", "E1 80 41", Answer.INVALID, BrownRule.NOT_CONTINUED, 0),
    ("cut_off", "41 E1 80", Answer.TRUNCATED, BrownRule.NOT_CONTINUED, 1),
    ("cut_off_and_wrong", "E0 80", Answer.INVALID, BrownRule.NON_SHORTEST_FORM, 0),
]


@pytest.mark.parametrize(
    ("units", "answer", "rule", "offset"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_browns_rules(units: str, answer: Answer, rule: BrownRule | None, offset: int) -> None:
    assert brown(bytes.fromhex(units)) == (answer, rule, offset)


BROWN_TEXT = re.compile(
    rb"(?:[\x00-\x7F]|[\xC2-\xDF][\x80-\xBF]|\xE0[\xA0-\xBF][\x80-\xBF]|[\xE1-\xEC\xEE][\x80-\xBF]{2}"
    rb"|\xED[\x80-\x9F][\x80-\xBF]|\xEF(?!\xBF[\xBE\xBF])[\x80-\xBF]{2}|\xF0[\xA0-\xBF][\x80-\xBF]{2}"
    rb"|[\xF1-\xF3][\x80-\xBF]{3}|\xF4\x80[\x80-\xBF]{2})*"
)


# Hopwood's converter


def _code_point(sequence: bytes) -> int | None:
    """The code point that CPython decodes, surrogates included."""
    try:
        return ord(sequence.decode("utf-8", "surrogatepass"))
    except (UnicodeDecodeError, TypeError):
        return None


def expected_conversion(text: bytes, strict: bool, irregular: bool) -> Conversion:
    """The documented behaviour: compare the number of bytes first, then convert one sequence with CPython."""
    output: list[int] = []
    while text:
        ones = len(f"{text[0]:08b}") - len(f"{text[0]:08b}".lstrip("1"))
        if ones == 1 or ones > 4:
            return Conversion(Answer.INVALID, tuple(output))
        length = ones or 1
        if len(text) < length:
            return Conversion(Answer.TRUNCATED, tuple(output))
        point, text = _code_point(text[:length]), text[length:]
        if point is None or (strict and point in (0xFFFE, 0xFFFF)):
            return Conversion(Answer.INVALID, tuple(output))
        points = [point]
        if 0xD800 <= point < 0xE000:
            if point >= 0xDC00 or not irregular:
                return Conversion(Answer.INVALID, tuple(output))
            if len(text) < 3:
                return Conversion(Answer.TRUNCATED, tuple(output))
            second, text = _code_point(text[:3]), text[3:]
            if second is None or not 0xDC00 <= second < 0xE000:
                return Conversion(Answer.INVALID, tuple(output))
            points.append(second)
        for each in points:
            units = chr(each).encode("utf-16-be", "surrogatepass")
            output += [int.from_bytes(units[n : n + 2], "big") for n in range(0, len(units), 2)]
    return Conversion(Answer.VALID, tuple(output))


def assert_rules(text: bytes) -> None:
    assert (table_3_1b(text) is Answer.INVALID) == bool(LINES.search(text)), text.hex(" ")
    assert (brown(text).answer is Answer.VALID) == bool(BROWN_TEXT.fullmatch(text)), text.hex(" ")
    for strict, irregular in product((False, True), repeat=2):
        found = hopwood(text, strict_iso10646=strict, allow_irregular=irregular)
        assert found == expected_conversion(text, strict, irregular), text.hex(" ")


@pytest.mark.parametrize("length", [0, 1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_every_rule_on_all_texts_of_boundary_bytes(length: int) -> None:
    for text in map(bytes, product(BOUNDARY, repeat=length)):
        assert_rules(text)


some_texts = st.one_of(
    st.characters().map(lambda character: character.encode("utf-8", "surrogatepass")),
    st.sampled_from([b"\xed\xa0\x80\xed\xb0\x80", b"\xef\xbf\xbe", b"\xed\xaf\xbf", b"\xc0\x80"]),
    st.lists(st.sampled_from(BOUNDARY + b"\xaf\xb0\xbe") | st.integers(0, 255), min_size=1, max_size=4).map(bytes),
)


@given(text=st.lists(some_texts, max_size=5).map(b"".join))
@example(text=bytes.fromhex("F1 80 80 41"))
@example(text=bytes.fromhex("41 C3 B1 E0 A0 80 EF BF BF F0 A0 80 80 F4 8F BF BF"))
@example(text=bytes.fromhex("41 ED A0 80 ED B0 80 42"))
@example(text=bytes.fromhex("ED B0 80 ED A0 80"))
@example(text=bytes.fromhex("ED AF BF ED BF BF F4 8F BF BF"))
@example(text=bytes.fromhex("ED A0 80 41 42"))
@example(text=bytes.fromhex("ED A0 80 4D B0 80"))
@example(text=bytes.fromhex("F0 9F BF BE F0 8F BF BF"))
def test_every_rule_on_any_text(text: bytes) -> None:
    assert_rules(text)


# Arguments


def test_invalid_arguments_are_rejected() -> None:
    for rule in (table_3_1b, brown, hopwood):
        assert refusal(TypeError, rule, "text") == "the text must be bytes-like, not str"
        assert refusal(TypeError, rule, 3) == "the text must be bytes-like, not int"
        assert rule(bytearray(b"A\xc3\xa9")) == rule(memoryview(b"A\xc3\xa9")) == rule(b"A\xc3\xa9")
