# SPDX-License-Identifier: BSD-2-Clause
"""Encoding (D79, D92): every scalar value, and whatever is not one."""

from __future__ import annotations

import oracle
import pytest
from oracle import refusal

from utf8fpga.model import TABLE_3_7, EncodingTable, decode, encode, encode_units

PLACES = "its code points are U+0000..U+D7FF and U+E000..U+10FFFF"

TABLE_3_4 = {0x4D: "4D", 0x430: "D0 B0", 0x4E8C: "E4 BA 8C", 0x10302: "F0 90 8C 82"}


@pytest.mark.parametrize(
    "points", [pytest.param(points, id=f"{points[0]:04X}..{points[-1]:04X}") for points in oracle.SCALAR_VALUES]
)
def test_every_scalar_value_is_what_cpython_encodes_and_comes_back(points: range) -> None:
    encoded = "".join(map(chr, points)).encode()
    assert encode(points) == encoded
    assert [item.code_point for item in decode(encoded)] == list(points)
    assert all(item.error is None for item in decode(encoded))


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


def test_every_surrogate_is_refused() -> None:
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
def test_what_is_no_code_point_is_refused(value: object, shown: str) -> None:
    assert refusal(ValueError, encode, [0x41, value]) == f"{shown} has no sequence in UTF-8: {PLACES}"


def test_a_surrogate_in_a_str_is_refused() -> None:
    assert refusal(ValueError, encode, "a\ud83d") == f"U+D83D has no sequence in UTF-8: {PLACES}"


def test_encode_is_for_bytes_alone() -> None:
    message = refusal(ValueError, encode, "A", oracle.UTF_16)
    assert message == "UTF-16 has code units of 16 bits, not bytes: encode_units gives them"


def test_nothing_encodes_to_nothing() -> None:
    assert encode("") == b""
    assert encode_units([]) == ()
