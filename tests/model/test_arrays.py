# SPDX-License-Identifier: BSD-2-Clause
"""The array decoder compared with the plain decoder and CPython: items, arguments, tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from support.oracle import items_of, plain, refusal
from support.processes import run

from utf8fpga.model import EncodingTable, Item, TableError, decode
from utf8fpga.model.forms import (
    CESU_8,
    CESU_8_CODE_UNITS,
    GENERALISED_UTF_8,
    MODIFIED_UTF_8_CODE_UNITS,
    RFC_2279,
    TABLE_3_7,
    UTF_16,
)

np = pytest.importorskip("numpy", reason="requires the extra 'fast'")
pytest.importorskip("numba", reason="requires the extra 'fast'")

from utf8fpga.model.arrays import decode_array  # noqa: E402  (not before numba is known to be there)

TABLES = [TABLE_3_7, RFC_2279, GENERALISED_UTF_8, CESU_8_CODE_UNITS, MODIFIED_UTF_8_CODE_UNITS]
by_table = pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])


def units_near(table: EncodingTable) -> list[int]:
    """The bounds of all ranges of the table and the units next to them."""
    bounds = {bound for row in table.rows for allowed in row.units for bound in (allowed.first, allowed.last)}
    near = {bound + step for bound in bounds for step in (-1, 0, 1)}
    return sorted(unit for unit in near if 0 <= unit < 1 << table.unit_width)


def check(text: bytes, table: EncodingTable) -> None:
    items, expected = decode_array(text, table), list(decode(text, table))
    assert list(items) == expected
    assert len(items) == len(expected)


@pytest.mark.smoke
@by_table
def test_all_sequences_in_one_text_and_its_prefixes(table: EncodingTable) -> None:
    units = units_near(table)
    check(bytes(unit for pair in product(units, repeat=2) for unit in pair), table)
    for row in table.rows:
        for point in (row.code_points.first, row.code_points.last):
            sequence = bytes(row.encode(point))
            for place in range(len(sequence) + 1):
                check(sequence[:place], table)
                check(b"".join(sequence[:place] + bytes([unit]) for unit in units), table)


@given(st.data(), st.sampled_from(TABLES))
def test_any_text_in_any_table(data: st.DataObject, table: EncodingTable) -> None:
    units = data.draw(st.lists(st.sampled_from(units_near(table)) | st.integers(0, 255)))
    check(bytes(units), table)


def test_arrays_have_the_documented_types_and_own_their_data() -> None:
    for text in (b"", b"A", b"A\xff\xffA", b"\xff"):
        items = decode_array(text)
        columns = (items.offsets, items.lengths, items.code_points, items.errors)
        assert [column.dtype.name for column in columns] == ["int64", "uint8", "uint32", "uint8"], text
        assert {len(column) for column in columns} == {len(items)}
        assert all(column.flags.owndata for column in columns)


KINDS: dict[str, Callable[[bytes], Any]] = {
    **{kind.__name__: kind for kind in (bytes, bytearray, memoryview)},
    "strided_memoryview": lambda text: memoryview(bytes(unit for unit in text for _ in range(2)))[::2],
    "array": lambda text: np.frombuffer(text, np.uint8).copy(),
    "backwards": lambda text: np.frombuffer(text[::-1], np.uint8)[::-1],
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_any_bytes_like_object(kind: Callable[[bytes], Any]) -> None:
    for text in (b"", b"\xf1\x80\x80", bytes.fromhex("E1 80 E2 F0 91 92 F1 BF 41 41 F0 90 8C 82 C3 A9 F1 80")):
        assert plain(decode_array(kind(text))) == items_of(text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("text", "memoryview: a bytes-like object is required, not 'str'"),
        (np.array([65, 300]), "decode_array takes bytes, not an array of int64 with 1 dimensions"),
        (np.zeros((2, 2), np.uint8), "decode_array takes bytes, not an array of uint8 with 2 dimensions"),
    ],
    ids=["str", "wide", "two_dimensions"],
)
def test_other_arguments_are_rejected(data: Any, message: str) -> None:
    assert refusal(TypeError, decode_array, data) == message


NOT_SYNCHRONISING = EncodingTable.parse(
    "CESU-8", oracle.CESU_8_ROWS, source="UTR 26, taken as six bytes", self_synchronising=False
)
FIVE_BITS = EncodingTable.parse("five bits", "0..1F  C0  80..9F", source="made up")
AWAITING_THE_SAME = EncodingTable.parse(
    "E3 and E5",
    "3000..37FF  E3  80..9F  80..BF\n4000..4FFF  E4  80..BF  80..BF\n5000..57FF  E5  80..9F  80..BF",
    source="made up: E3 A0 is a hole, E5 A0 beyond the last code point, and the DFA has one state after E3 and E5",
)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (UTF_16, "UTF-16: code units of 16 bits, but arrays are of bytes"),
        (FIVE_BITS, "five bits: bytes that continue a sequence must have 6 bits of the code point"),
        (AWAITING_THE_SAME, "E3 and E5: the state of its DFA does not determine the causes of errors"),
        (
            NOT_SYNCHRONISING,
            "CESU-8: not self-synchronising: ED starts a sequence of row 5 (U+D000..U+D7FF as ED 80..9F 80..BF) "
            "and continues one of row 7 (U+10000..U+10FFFF as ED A0..AF 80..BF ED B0..BF 80..BF) as unit 4",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, EncodingTable) else "",
)
def test_tables_outside_the_limits_are_rejected(table: EncodingTable, message: str) -> None:
    assert refusal(TableError, decode_array, b"", table) == message


def test_a_table_by_its_name() -> None:
    assert list(decode_array(b"\xed\xa0\x80", "generalised-utf-8")) == [Item(0, 3, 0xD800, None)]
    message = "one EncodingTable is required, but CESU-8 is defined by two, UTF-16 and CESU-8 code units"
    assert refusal(TypeError, decode_array, b"A", CESU_8) == refusal(TypeError, decode_array, b"A", "cesu-8") == message


WITHOUT = """
import sys

sys.modules[sys.argv[1]] = None
from utf8fpga.model import decode
print(*decode(b"A"))
try:
    import utf8fpga.model.arrays
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["numba", "numpy"])
def test_import_without_numba_names_the_extra(name: str) -> None:
    done = run([sys.executable, "-I", "-c", WITHOUT, name], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"0+1 U+0041\n{name} is not installed: pip install -e '.[fast]'\n", "")
