# SPDX-License-Identifier: BSD-2-Clause
"""A text of bytes has the same items by the regular expressions as by the DFA, to which an iterator of it is given."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracle import BOUNDARY, PIECES

from utf8fpga.model import CATALOGUE, CESU_8, TABLE_3_7, EncodingTable, decode, errors, is_well_formed, text, validate
from utf8fpga.model.validator import GoldenValidator

OF_BYTES = [table for table in CATALOGUE.values() if table.unit_width == 8]
PREFIX = EncodingTable.parse(
    "not self-synchronising", "0000..007F  00..7F\n0080..00FF  80 00..7F", source="test", self_synchronising=False
)
LONG = EncodingTable.parse("long", "0000..0000  00\n0001..0001  01" + " 02" * 300, source="test")


def assert_same(data: bytes, table: EncodingTable) -> None:
    items = list(decode(iter(data), table))
    ill_formed = [item for item in items if item.error is not None]
    assert list(decode(data, table)) == items, data.hex(" ")
    assert list(errors(data, table)) == list(errors(iter(data), table)) == ill_formed, data.hex(" ")
    assert is_well_formed(data, table) is is_well_formed(iter(data), table) is (not ill_formed), data.hex(" ")
    (symbol,) = GoldenValidator(table).process(data, final=True)
    assert validate(data, table) == validate(iter(data), table) == symbol.value, data.hex(" ")


@pytest.mark.smoke
@pytest.mark.parametrize(
    "length", [0, 1, 2, pytest.param(3, marks=pytest.mark.full), pytest.param(4, marks=pytest.mark.slow)]
)
def test_all_sequences_of_boundary_bytes(length: int) -> None:
    for data in map(bytes, product(BOUNDARY, repeat=length)):
        assert_same(data, TABLE_3_7)


@pytest.mark.parametrize("table", [*OF_BYTES, PREFIX], ids=lambda table: table.name)
@settings(max_examples=300, deadline=None)
@given(data=st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=3))).map(b"".join), window=st.integers(0, 9))
def test_damaged_texts_in_windows_of_any_size(data: bytes, window: int, table: EncodingTable) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "WINDOW", window)
        assert_same(data, table)


@pytest.mark.smoke
@pytest.mark.parametrize("table", [*OF_BYTES, PREFIX, LONG], ids=lambda table: table.name)
def test_texts_of_several_windows(table: EncodingTable) -> None:
    sequences = [bytes(table.encode(point)) for span in table.code_points for point in (span.first, span.last)]
    for size in range(4):
        data = b"".join(sequences) * 30 + b"\xff" + sequences[-1][:size]
        assert_same(data * (1 + 3 * text.WINDOW // len(data)), table)


def test_every_buffer_of_bytes_is_accepted() -> None:
    data = b"A\xe1\x80\xc3\xa9\xff"
    for each in (bytearray(data), memoryview(data), memoryview(b"-".join(data[k : k + 1] for k in range(6)))[::2]):
        assert list(decode(each)) == list(decode(data))
        assert list(errors(each)) == list(errors(data))
        assert validate(each) == validate(data)


def test_errors_of_a_composition() -> None:
    assert [str(item) for item in errors(bytes.fromhex("41 EDA0BD 41 FF"), CESU_8)] == [
        "1+3 U+FFFD TRUNCATED",
        "5+1 U+FFFD INVALID_BYTE",
    ]
