# SPDX-License-Identifier: BSD-2-Clause
"""Encoding (D79, D92): every scalar value, and arguments that are not scalar values."""

from __future__ import annotations

import pytest
from support.oracle import refusal

from utf8fpga.model import CESU_8, TABLE_3_7, UTF_16, UTF_32, encode, encode_units

pytestmark = pytest.mark.smoke

PLACES = "its code points are U+0000..U+D7FF and U+E000..U+10FFFF"


def test_surrogate_in_a_string_is_rejected() -> None:
    assert refusal(ValueError, encode, "a\ud83d") == f"U+D83D has no sequence in UTF-8: {PLACES}"


def test_encode_requires_a_table_of_bytes() -> None:
    message = refusal(ValueError, encode, "A", UTF_16)
    assert message == "UTF-16 has code units of 16 bits, not bytes: encode_units returns them"


class Point:
    """An integer type with `__index__`, like those of NumPy."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_code_points_as_integers_of_another_type() -> None:
    points = [0x41, 0xE9, 0x4E8C, 0x10302]
    for table in (TABLE_3_7, UTF_16, CESU_8):
        assert encode_units(map(Point, points), table) == encode_units(points, table)
    assert encode(map(Point, points)) == "A\xe9\u4e8c\U00010302".encode()
    assert refusal(ValueError, encode, [Point(0xD800)]) == f"U+D800 has no sequence in UTF-8: {PLACES}"


def test_code_points_as_numpy_integers() -> None:
    np = pytest.importorskip("numpy", reason="the extra 'arrays' is not installed")
    for kind in ("i4", "u4", ">u4", "i8", "u8"):
        assert encode(np.array([0x41, 0xE9, 0x10302], kind)) == "A\xe9\U00010302".encode()
    assert all(type(unit) is int for unit in encode_units(np.array([0x41]), UTF_32))
    message = refusal(ValueError, encode, np.array([-1]))
    assert message == f"-1 has no sequence in UTF-8: {PLACES}"
    for other in (np.array([True]), np.array([65.0]), np.array(["A"])):
        assert "has no sequence in UTF-8" in refusal(ValueError, encode, other)


@pytest.mark.parametrize("points", [5, None, 6.5], ids=repr)
def test_argument_that_is_not_iterable_is_rejected(points: object) -> None:
    message = f"code points must be a string or an iterable of integers, not {type(points).__name__}"
    assert refusal(TypeError, encode, points) == message
    assert refusal(TypeError, encode_units, points) == message


def test_empty_text_encodes_to_empty_bytes() -> None:
    assert encode("") == b""
    assert encode_units([]) == ()
