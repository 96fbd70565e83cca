# SPDX-License-Identifier: BSD-2-Clause
"""Encoding (D79, D92): every scalar value, and arguments that are not scalar values."""

from __future__ import annotations

import pytest
from support import oracle
from support.oracle import refusal

from utf8fpga.model import CESU_8, TABLE_3_7, EncodingTable, decode, encode, encode_units

pytestmark = pytest.mark.smoke

PLACES = "its code points are U+0000..U+D7FF and U+E000..U+10FFFF"

TABLE_3_4 = {0x4D: "4D", 0x430: "D0 B0", 0x4E8C: "E4 BA 8C", 0x10302: "F0 90 8C 82"}


SUPPLEMENTARY = range(0x10000, 0x110000)
"""Every 61st of them includes at least one of any 64 that differ only in the last byte, and every last byte."""


@pytest.mark.parametrize(
    "points",
    [
        pytest.param(range(0xD800), id="0000..D7FF"),
        pytest.param(range(0xE000, 0x10000), id="E000..FFFF"),
        pytest.param(SUPPLEMENTARY[::61], id="every_61st_above"),
        pytest.param(SUPPLEMENTARY[-100:], id="the_last_100"),
        pytest.param(SUPPLEMENTARY, id="all_above", marks=pytest.mark.slow),
    ],
)
def test_every_scalar_value_encodes_as_in_cpython_and_decodes_back(points: range) -> None:
    encoded = "".join(map(chr, points)).encode()
    assert encode(points) == encoded
    for point, item in zip(points, decode(encoded), strict=True):
        assert (item[2], item[3]) == (point, None)


@pytest.mark.parametrize(("point", "units"), TABLE_3_4.items(), ids=[f"U+{point:04X}" for point in TABLE_3_4])
def test_table_3_4(point: int, units: str) -> None:
    assert encode([point]) == bytes.fromhex(units)
    assert encode(chr(point)) == bytes.fromhex(units)
    assert encode_units([point], oracle.UTF_32) == (point,)


@pytest.mark.parametrize(
    ("table", "units"),
    [
        pytest.param(oracle.UTF_32, (0x4D, 0x430, 0x4E8C, 0x10302), id="D90"),
        pytest.param(oracle.UTF_16, (0x4D, 0x430, 0x4E8C, 0xD800, 0xDF02), id="D91"),
        pytest.param(TABLE_3_7, tuple(bytes.fromhex("4DD0B0E4BA8CF0908C82")), id="D92"),
    ],
)
def test_the_code_point_sequence_of_d90_to_d92(table: EncodingTable, units: tuple[int, ...]) -> None:
    assert encode_units([0x4D, 0x430, 0x4E8C, 0x10302], table) == units


def test_every_surrogate_is_rejected() -> None:
    for point in range(0xD800, 0xE000):
        assert refusal(ValueError, TABLE_3_7.encode, point) == f"U+{point:04X} has no sequence in UTF-8: {PLACES}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(0x110000, "U+110000", id="after_the_last"),
        pytest.param(-1, "-1", id="negative"),
        pytest.param(65.0, "65.0", id="float"),
        pytest.param("A", "'A'", id="str_in_a_list"),
        pytest.param(None, "None", id="none"),
    ],
)
def test_invalid_code_point_is_rejected(value: object, shown: str) -> None:
    assert refusal(ValueError, encode, [0x41, value]) == f"{shown} has no sequence in UTF-8: {PLACES}"


def test_surrogate_in_a_string_is_rejected() -> None:
    assert refusal(ValueError, encode, "a\ud83d") == f"U+D83D has no sequence in UTF-8: {PLACES}"


def test_encode_requires_a_table_of_bytes() -> None:
    message = refusal(ValueError, encode, "A", oracle.UTF_16)
    assert message == "UTF-16 has code units of 16 bits, not bytes: encode_units returns them"


class Point:
    """An integer type with `__index__`, like those of NumPy."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_code_points_as_integers_of_another_type() -> None:
    points = [0x41, 0xE9, 0x4E8C, 0x10302]
    for table in (TABLE_3_7, oracle.UTF_16, CESU_8):
        assert encode_units(map(Point, points), table) == encode_units(points, table)
    assert encode(map(Point, points)) == "A\xe9\u4e8c\U00010302".encode()
    assert refusal(ValueError, encode, [Point(0xD800)]) == f"U+D800 has no sequence in UTF-8: {PLACES}"


def test_code_points_as_numpy_integers() -> None:
    np = pytest.importorskip("numpy", reason="the extra 'arrays' is not installed")
    for kind in ("i4", "u4", ">u4", "i8", "u8"):
        assert encode(np.array([0x41, 0xE9, 0x10302], kind)) == "A\xe9\U00010302".encode()
    assert all(type(unit) is int for unit in encode_units(np.array([0x41]), oracle.UTF_32))
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
