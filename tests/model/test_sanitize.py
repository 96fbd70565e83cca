# SPDX-License-Identifier: BSD-2-Clause
"""The golden sanitizer on code units of 16 bits, in parts and without replacement; of bytes see `test_texts`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.oracle import refusal
from support.strategies import any_text

from utf8fpga.model import TABLE_3_7, UTF_16, UTF_32, sanitize
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


def test_a_table_of_wide_units_is_refused() -> None:
    message = "UTF-32 has code units of 32 bits; sanitize takes tables of bytes, such as utf-8"
    assert refusal(ValueError, sanitize, b"", UTF_32) == message
