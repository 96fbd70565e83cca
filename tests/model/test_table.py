# SPDX-License-Identifier: BSD-2-Clause
"""Tables: the rows that are rejected with their messages, and the bit distributions of rows."""

from __future__ import annotations

import pickle

import pytest
from support.cases import cases
from support.oracle import refusal

from utf8fpga.model import TABLE_3_7, UTF_16, EncodingTable, Row, TableError, decode, encode_units

pytestmark = pytest.mark.smoke


def _table(rows: str, width: int = 8, name: str = "T") -> EncodingTable:
    return EncodingTable.parse(name, rows, source="made up", unit_width=width)


INVALID_ROWS = """
    width 7            | 7  | 0000..007F 80..FF | row 1 (U+0000..U+007F as 80..FF): unit 1 reaches FF, \
but a unit of 7 bits ends at 7F
    second unit        | 8  | 0000..007F 00..7F / 0080..00FF C0 80..FF / 0100..01FF C1 80..17F | \
row 3 (U+0100..U+01FF as C1 80..17F): unit 2 reaches 17F, but a unit of 8 bits ends at FF
    few code points    | 8  | 0080..07FF C0..DF 80..BF | row 1 (U+0080..U+07FF as C0..DF 80..BF): 1920 code points, \
but 2048 code unit sequences
    many code points   | 8  | 0000..0080 00..7F | row 1 (U+0000..U+0080 as 00..7F): 129 code points, \
but 128 code unit sequences
    32 bits            | 8  | 80000000 00 | row 1 (U+80000000 as 00): code points end at U+7FFFFFFF
    code point twice   | 8  | 0000..007F 00..7F / 0040 80 | rows 1 (U+0000..U+007F as 00..7F) and 2 (U+0040 as 80): \
both encode U+0040
    sequence twice     | 8  | 0000..000F 00..0F / 0010..001F 0F..1E | rows 1 (U+0000..U+000F as 00..0F) and \
2 (U+0010..U+001F as 0F..1E): 0F is in both
    pair twice         | 8  | 0000..003F C3 80..BF / 0040..00FF C2..C4 80..BF | \
rows 1 (U+0000..U+003F as C3 80..BF) and 2 (U+0040..U+00FF as C2..C4 80..BF): C3 80 is in both
    starts another     | 8  | 0000..00FF 00..FF / 0100..013F C3 80..BF | rows 1 (U+0000..U+00FF as 00..FF) and \
2 (U+0100..U+013F as C3 80..BF): C3 is a sequence of one and starts one of the other
    pair starts        | 8  | 0000..003F C3 80..BF / 0040..004F C3 80 80..8F | \
rows 1 (U+0000..U+003F as C3 80..BF) and 2 (U+0040..U+004F as C3 80 80..8F): C3 80 is a sequence \
of one and starts one of the other
    not synchronising  | 8  | 0000..007F 00..7F / 0080..00FF 81 00..7F | not self-synchronising: 00 starts a sequence \
of row 1 (U+0000..U+007F as 00..7F) and continues one of row 2 (U+0080..U+00FF as 81 00..7F) as unit 2
    no rows            | 8  |                   | a table needs at least one row
    blank lines        | 8  | /                 | a table needs at least one row
    width 0            | 0  | 0000 00           | unit width 0 is not in 1..32 bits
    width 33           | 33 | 0000 00           | unit width 33 is not in 1..32 bits
"""
INVALID_TEXTS = """
    no units           | 0000..007F             | \
row '0000..007F' needs a range of code points and at least one of code units
    dash               | 0000..007F  00-7F      | '00-7F' is not a range: write it as A0..BF or E0
    prefix             | U+0000..007F  00..7F   | 'U+0000..007F' is not a range: write it as A0..BF or E0
    no last            | 0000..007F  00..       | '00..' is not a range: write it as A0..BF or E0
    empty range        | 0000..007F  7F..00     | range 7F..0 is empty or negative: \
its first value must be 0 or more and not above its last
"""


@pytest.mark.parametrize(("width", "rows", "message"), cases(INVALID_ROWS))
def test_invalid_rows_are_rejected(width: str, rows: str, message: str) -> None:
    assert refusal(TableError, _table, rows.replace("/", "\n"), int(width)) == f"T: {message}"


@pytest.mark.parametrize(("rows", "message"), cases(INVALID_TEXTS))
def test_rows_of_another_format_are_rejected(rows: str, message: str) -> None:
    assert refusal(TableError, _table, rows) == message


# The tables of the catalogue.


def test_table_3_7_as_printed_in_the_standard() -> None:
    assert str(TABLE_3_7).splitlines() == [
        "U+0000..U+007F as 00..7F",
        "U+0080..U+07FF as C2..DF 80..BF",
        "U+0800..U+0FFF as E0 A0..BF 80..BF",
        "U+1000..U+CFFF as E1..EC 80..BF 80..BF",
        "U+D000..U+D7FF as ED 80..9F 80..BF",
        "U+E000..U+FFFF as EE..EF 80..BF 80..BF",
        "U+10000..U+3FFFF as F0 90..BF 80..BF 80..BF",
        "U+40000..U+FFFFF as F1..F3 80..BF 80..BF 80..BF",
        "U+100000..U+10FFFF as F4 80..8F 80..BF 80..BF",
    ]


def test_row_matches_only_complete_sequences() -> None:
    row = Row.parse("0800..0FFF  E0  A0..BF  80..BF")
    assert row.matches(b"\xe0\xa0\x80")
    for units in (b"\xe0\xa0", b"\xe0\xa0\x80\x80", b"\xe0\x9f\x80", b"\xe1\xa0\x80", b""):
        assert not row.matches(units)


def test_tables_compare_and_hash_by_value() -> None:
    again = pickle.loads(pickle.dumps(TABLE_3_7))
    assert again == TABLE_3_7
    assert hash(again) == hash(TABLE_3_7)
    assert UTF_16 != TABLE_3_7
    assert _table("0000  00") != _table("0000  01")


# Bit distributions.


def test_code_points_reachable_from_a_prefix() -> None:
    pattern = TABLE_3_7.patterns[3]
    assert str(pattern.reachable(b"\xe0")) == "00..FFF"
    assert str(pattern.reachable(b"\xed\xa0")) == "D800..D83F"
    assert str(pattern.reachable(b"\xed\xbf\xbf")) == "DFFF"
    assert all(map(pattern.matches, (b"", b"\xe0\x80")))
    assert not any(map(pattern.matches, (b"\xe0\xc0", b"\xf0", b"\xe0\x80\x80\x80")))


@pytest.mark.parametrize(
    ("rows", "length"),
    [
        pytest.param("0000  00\n0010  01", 1, id="rows_placed_differently"),
        pytest.param("0000..0001  41..42", 1, id="payload_above_the_code_point"),
        pytest.param("0000..0005  C0..C1  80..82", 2, id="index_is_not_the_payload"),
        pytest.param("0000..003F  C0  80..BF\n0080..00BF  C1  80..BF", 2, id="hole_without_payload"),
    ],
)
def test_rows_without_a_bit_distribution(rows: str, length: int) -> None:
    table = _table(rows)
    assert refusal(TableError, lambda: table.patterns) == (
        f"T: the rows of {length} units have no bit distribution in common"
    )
    points = [point for row in table.rows for point in row.code_points]
    assert [item.code_point for item in decode(encode_units(points, table), table)] == points
