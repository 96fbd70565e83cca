# SPDX-License-Identifier: BSD-2-Clause
"""The golden sanitizer on code units of 16 bits, in parts and without replacement; of bytes see `test_texts`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import any_text

from utf8fpga.model import TABLE_3_7, UTF_16, UTF_32, EncodingTable, sanitize
from utf8fpga.model.sanitizer import QUESTION_MARK, GoldenSanitizer


@given(units=any_text(UTF_16))
def test_utf_16_has_question_marks_for_lone_surrogates(units: tuple[int, ...]) -> None:
    found = GoldenSanitizer(UTF_16).process(units, final=True)
    data = b"".join(unit.to_bytes(2, "little") for unit in units)
    text = data.decode("utf-16-le", "surrogatepass").encode("utf-16-le", "replace")
    assert b"".join(unit.value.to_bytes(2, "little") for unit in found) == text


@given(data=any_text(), sizes=st.lists(st.integers(0, 5), min_size=1))
def test_parts_of_a_text_give_the_same_units(data: tuple[int, ...], sizes: list[int]) -> None:
    sanitizer, found, start = GoldenSanitizer(), [], 0
    for size in sizes:
        found += sanitizer.process(data[start : start + size])
        start += size
    found += sanitizer.process(data[start:], final=True)
    assert found == GoldenSanitizer().process(data, final=True)


@given(data=any_text())
def test_without_replacement_units_remain_and_the_flags_are_the_same(data: tuple[int, ...]) -> None:
    found = GoldenSanitizer(TABLE_3_7, None).process(data, final=True)
    replaced = GoldenSanitizer().process(data, final=True)
    assert [unit.value for unit in found] == list(data)
    assert [unit.error for unit in found] == [unit.error for unit in replaced]
    assert all(unit.value == QUESTION_MARK for unit in replaced if unit.error)


@pytest.mark.parametrize(
    ("data", "table", "error", "message"),
    [
        ("text", TABLE_3_7, TypeError, "code units must be an iterable of integers such as bytes, not str"),
        ([0x141], TABLE_3_7, ValueError, "code unit 0x141 at offset 0 is not an integer in 0..0xff"),
        (b"", UTF_32, ValueError, "UTF-32 has code units of 32 bits; sanitize takes tables of bytes, such as utf-8"),
    ],
)
def test_messages(data: object, table: EncodingTable, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sanitize(data, table)  # type: ignore[arg-type]  # the point of the test
