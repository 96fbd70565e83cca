# SPDX-License-Identifier: BSD-2-Clause
"""The catalogue of encoding forms compared with the documents, CPython's codecs and arithmetic."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from support.codecs_oracle import BOUNDS
from support.oracle import CESU_8_ROWS, plain, refusal

from utf8fpga.model import EncodingTable, TableError, decode, encode, encode_units
from utf8fpga.model.composition import Composition
from utf8fpga.model.forms import (
    CESU_8,
    CESU_8_CODE_UNITS,
    GENERALISED_UTF_8,
    MODIFIED_UTF_8,
    MODIFIED_UTF_8_CODE_UNITS,
    RFC_2279,
    TABLE_3_7,
    UTF_16,
    UTF_32,
)

SAMPLE = sorted({*BOUNDS, *range(0, 0x110000, 61)})
"""At least one of any 64 code points that differ in the last byte alone, and every last byte many times."""
ALL = range(0x110000)

code_points = pytest.mark.parametrize(
    "points", [pytest.param(SAMPLE, id="every_61st"), pytest.param(ALL, id="all", marks=pytest.mark.slow)]
)


def by_arithmetic(point: int) -> bytes:
    """The shortest form by the table of RFC 2279: 7 bits, then 5 n + 1 bits in n bytes."""
    if point < 0x80:
        return bytes([point])
    length = next(n for n in range(2, 7) if point < 1 << 5 * n + 1)
    tail = [0x80 | point >> 6 * place & 0x3F for place in reversed(range(length - 1))]
    return bytes([(0xFF00 >> length & 0xFF) | point >> 6 * (length - 1), *tail])


# Every code point.


@code_points
def test_generalised_utf_8_has_every_code_point(points: Iterable[int]) -> None:
    encoded = "".join(map(chr, points)).encode("utf-8", "surrogatepass")
    assert encode(points, GENERALISED_UTF_8) == encoded
    assert [item.code_point for item in decode(encoded, GENERALISED_UTF_8)] == list(points)


@pytest.mark.parametrize(
    ("table", "zero"),
    [(CESU_8_CODE_UNITS, b"\0"), (MODIFIED_UTF_8_CODE_UNITS, b"\xc0\x80")],
    ids=["CESU-8", "Modified UTF-8"],
)
def test_every_code_unit_of_cesu_8_and_modified_utf_8(table: EncodingTable, zero: bytes) -> None:
    encoded = zero + "".join(map(chr, range(1, 0x10000))).encode("utf-8", "surrogatepass")
    assert encode(range(0x10000), table) == encoded
    assert [item.code_point for item in decode(encoded, table)] == list(range(0x10000))


def test_rfc_2279_matches_its_bit_distribution() -> None:
    tops = [0x7F, 0x7FF, 0xFFFF, 0x1FFFFF, 0x3FFFFFF, 0x7FFFFFFF]
    points = {near for top in tops for near in range(top - 64, min(top + 66, 0x80000000))}
    points |= {1 << place for place in range(31)} | set(range(0, 0x80000000, 0x10001F))
    ordered = sorted(points)
    encoded = b"".join(map(by_arithmetic, ordered))
    assert encode(ordered, RFC_2279) == encoded
    assert [item.code_point for item in decode(encoded, RFC_2279)] == ordered


@pytest.mark.parametrize("form", [TABLE_3_7, UTF_16, UTF_32, CESU_8, MODIFIED_UTF_8], ids=lambda form: form.name)
def test_code_points_that_are_not_scalar_values_are_rejected(form: EncodingTable | Composition) -> None:
    quoted = {0xD800: "U+D800", 0xDFFF: "U+DFFF", 0x110000: "U+110000", -1: "-1", "A": "'A'", 65.0: "65.0"}
    for point, name in quoted.items():
        message = f"{name} has no sequence in {form.name}: its code points are U+0000..U+D7FF and U+E000..U+10FFFF"
        assert refusal(ValueError, form.encode, point) == message
        if isinstance(point, int):
            assert refusal(ValueError, encode_units, [0x41, point], form) == message


# Causes.

KINDS = [
    (UTF_16, "D800", "INCOMPLETE"),
    (UTF_16, "D800 0041", "TRUNCATED -"),
    (UTF_16, "DBFF D800 DC00", "TRUNCATED -"),
    (UTF_16, "DC00 DFFF", "UNEXPECTED_CONTINUATION UNEXPECTED_CONTINUATION"),
    (UTF_16, "D7FF E000 FFFE FFFF", "- - - -"),
    (UTF_32, "D7FF D800 DFFF E000", "- SURROGATE SURROGATE -"),
    (UTF_32, "10FFFF 110000 1FFFFF 200000 7FFFFFFF FFFFFFFF", "- " + "OUT_OF_RANGE " * 5),
    (GENERALISED_UTF_8, "ED A0 80 ED B0 80", "- -"),
    (GENERALISED_UTF_8, "C1 E0 9F F0 8F", "OVERLONG" + " OVERLONG UNEXPECTED_CONTINUATION" * 2),
    (GENERALISED_UTF_8, "F4 90 F5 F8", "OUT_OF_RANGE UNEXPECTED_CONTINUATION OUT_OF_RANGE INVALID_BYTE"),
    (RFC_2279, "C1 FE FF", "OVERLONG INVALID_BYTE INVALID_BYTE"),
    (RFC_2279, "F8 87 FC 83", "OVERLONG UNEXPECTED_CONTINUATION " * 2),
    (RFC_2279, "FD BF BF BF BF 41 FD BF BF BF BF", "TRUNCATED - INCOMPLETE"),
    (RFC_2279, "ED A0 80 F7 BF BF BF FD BF BF BF BF BF", "- - -"),
    (CESU_8_CODE_UNITS, "F0 F4 F5 FF", "INVALID_BYTE " * 4),
    (CESU_8_CODE_UNITS, "C0 C1 00 E0 80 ED A0 80", "OVERLONG OVERLONG - OVERLONG UNEXPECTED_CONTINUATION -"),
    (MODIFIED_UTF_8_CODE_UNITS, "00 01 C0 80", "INVALID_BYTE - -"),
    (MODIFIED_UTF_8_CODE_UNITS, "C0 81 C1 C0 41", "OVERLONG UNEXPECTED_CONTINUATION OVERLONG TRUNCATED -"),
    (MODIFIED_UTF_8_CODE_UNITS, "F0 C0", "INVALID_BYTE INCOMPLETE"),
    (CESU_8, "ED A0 80", "INCOMPLETE"),
    (CESU_8, "ED A0 80 41", "TRUNCATED -"),
    (CESU_8, "ED A0 80 ED A0 80 ED B0 80", "TRUNCATED -"),
    (CESU_8, "ED B0 80 ED A0 80", "UNEXPECTED_CONTINUATION INCOMPLETE"),
    (CESU_8, "ED A0 80 80 ED B0 80", "TRUNCATED UNEXPECTED_CONTINUATION UNEXPECTED_CONTINUATION"),
    (CESU_8, "ED A0 80 ED B0", "TRUNCATED INCOMPLETE"),
    (CESU_8, "ED A0 80 ED B0 41", "TRUNCATED TRUNCATED -"),
    (CESU_8, "F0 90 80 80", "INVALID_BYTE" + " UNEXPECTED_CONTINUATION" * 3),
    (MODIFIED_UTF_8, "C0 80 ED A0 80 C0 80", "- TRUNCATED -"),
    (MODIFIED_UTF_8, "ED A0 80 00", "TRUNCATED INVALID_BYTE"),
]


@pytest.mark.parametrize(
    ("form", "units", "kinds"), KINDS, ids=[f"{form.name}_{units}".replace(" ", "_") for form, units, _ in KINDS]
)
def test_causes_in_every_form(form: EncodingTable | Composition, units: str, kinds: str) -> None:
    found = [item[3] or "-" for item in plain(decode([int(unit, 16) for unit in units.split()], form))]
    assert found == kinds.split()


# Compositions.


def test_six_byte_row_of_cesu_8_changes_the_items() -> None:
    """U+D000 after a high surrogate: the six-byte row consumes its first byte, the composition does not."""
    rows = EncodingTable.parse("CESU-8", CESU_8_ROWS, source="UTR #26", self_synchronising=False)
    units = bytes.fromhex("ED A0 80 ED 80 80")
    assert [item[:3] for item in decode(units, rows)] == [(0, 4, 0xFFFD), (4, 1, 0xFFFD), (5, 1, 0xFFFD)]
    assert [item[:3] for item in decode(units, CESU_8)] == [(0, 3, 0xFFFD), (3, 3, 0xD000)]


def _of_16_bits(name: str, rows: str) -> EncodingTable:
    return EncodingTable.parse(name, rows, source="made up", unit_width=16)


INVALID_UNIT_TABLES = [
    (TABLE_3_7, "UTF-8 reaches 10FFFF, but a code unit of UTF-16 ends at FFFF"),
    (
        _of_16_bits("gap within a range", "E000..FFFF  E000..FFFF\n0000..D8FF  0000..D8FF"),
        "code unit D900 of UTF-16 has no sequence in gap within a range",
    ),
]


@pytest.mark.parametrize(("unit_table", "message"), INVALID_UNIT_TABLES, ids=lambda value: getattr(value, "name", ""))
def test_invalid_compositions_are_rejected(unit_table: EncodingTable, message: str) -> None:
    assert refusal(TableError, Composition, "X", "made up", UTF_16, unit_table) == f"X: {message}"


def test_encode_requires_a_table_of_bytes() -> None:
    message = refusal(ValueError, encode, "A", UTF_16)
    assert message == "UTF-16 has code units of 16 bits, not bytes: encode_units returns them"


UNPLACED = "0000..0001  41..42\n0010..0011  44..45\n0020..003F  C0..C3  80..87"


def test_causes_without_a_bit_distribution() -> None:
    table = EncodingTable.parse("unplaced", UNPLACED, source="made up")
    assert plain(decode(b"\x40\x43\x80A\xc0\xc4\xc3", table)) == [
        (0, 1, 0xFFFD, "INVALID_BYTE"),
        (1, 1, 0xFFFD, "INVALID_BYTE"),
        (2, 1, 0xFFFD, "UNEXPECTED_CONTINUATION"),
        (3, 1, 0x0, None),
        (4, 1, 0xFFFD, "TRUNCATED"),
        (5, 1, 0xFFFD, "INVALID_BYTE"),
        (6, 1, 0xFFFD, "INCOMPLETE"),
    ]
