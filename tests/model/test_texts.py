# SPDX-License-Identifier: BSD-2-Clause
"""What every function of the library says about a text, compared with CPython, the documents and the definitions.

The functions are called with bytes, which regular expressions divide, and with an iterator, which the DFA divides.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.cases import cases
from support.oracle import (
    BOUNDARY,
    CESU_8_ROWS,
    PIECES,
    REPRESENTATIVES,
    items_of,
    plain,
    refusal,
    report_of,
    strictly_decodes,
)
from support.practices_oracle import EXPECTED, by_definition

from utf8fpga.model import (
    CATALOGUE,
    CESU_8,
    TABLE_3_7,
    UTF_16,
    UTF_32,
    Composition,
    EncodingTable,
    ErrorKind,
    Item,
    Practice,
    decode,
    errors,
    is_well_formed,
    partition,
    sanitize,
    text,
    validate,
    validator,
)
from utf8fpga.model.table import starts
from utf8fpga.model.validator import GoldenValidator

FORMS: dict[str, EncodingTable | Composition] = {
    "UTF-8": TABLE_3_7,
    "UTF-16": UTF_16,
    "UTF-32": UTF_32,
    "CESU-8": CESU_8,
}


def assert_partition(units: Sequence[int], form: str) -> None:
    parts = list(partition(units, FORMS[form]))
    assert [(part.offset, part.units, part.code_point) for part in parts] == by_definition(units, form), units
    assert [item for part in parts for item in part.items] == list(decode(units, FORMS[form]))
    assert all((item.error is None) == part.is_well_formed for part in parts for item in part.items)
    assert is_well_formed(units, FORMS[form]) == all(part.is_well_formed for part in parts)


def question_marks(error: UnicodeError) -> tuple[str, int]:
    """The error handler of CPython's decoder: as many `?` as the error has bytes."""
    assert isinstance(error, UnicodeDecodeError)
    return "?" * (error.end - error.start), error.end


codecs.register_error("utf8fpga.question-marks", question_marks)


def assert_text(data: bytes) -> None:
    ill_formed = [item for item in items_of(data) if item[3]]
    for practice, expected in EXPECTED.items():
        assert plain(decode(iter(data), practice=practice)) == expected(data), (practice, data.hex(" "))
    assert plain(decode(data)) == items_of(data), data.hex(" ")
    for given_as in (bytes, iter):
        assert plain(errors(given_as(data))) == ill_formed, data.hex(" ")
        assert is_well_formed(given_as(data)) is strictly_decodes(data), data.hex(" ")
        assert validate(given_as(data)) == report_of(data), data.hex(" ")
    assert sanitize(data) == data.decode("utf-8", "utf8fpga.question-marks").encode(), data.hex(" ")
    assert_partition(data, "UTF-8")


# At most three bytes are open at the end of a text, so texts of three bytes include all starts and ends.
ENUMERATED = [
    *[pytest.param(BOUNDARY, length, marks=pytest.mark.smoke) for length in (0, 1, 2)],
    pytest.param(REPRESENTATIVES, 3, marks=pytest.mark.smoke),
    pytest.param(BOUNDARY, 3, marks=pytest.mark.full),
    pytest.param(REPRESENTATIVES, 4, marks=pytest.mark.full),
    pytest.param(BOUNDARY, 4, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(
    ("members", "length"), ENUMERATED, ids=lambda value: len(value) if isinstance(value, bytes) else value
)
def test_all_texts_of_some_bytes(members: bytes, length: int) -> None:
    for units in product(members, repeat=length):
        assert_text(bytes(units))


texts = st.lists(
    st.one_of(
        st.sampled_from([*PIECES, *(bytes([unit]) for unit in BOUNDARY + b"\xfb\xfc\xfd\xfe")]),
        st.characters(exclude_categories=["Cs"]).map(str.encode),
    ),
    max_size=24,
).map(b"".join)


@pytest.mark.smoke
@given(data=texts)
@example(data=bytes.fromhex("FC 80 80 80 80 80 41 FD BF BF BF BF BF"))
def test_any_text(data: bytes) -> None:
    assert_text(data)


EDGES = {
    "UTF-16": [0x0000, 0x0041, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF],
    "UTF-32": [0, 0x41, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF, 0x110000, 0xFFFFFFFF],
    "CESU-8": list(bytes.fromhex("41 80 A0 B0 C2 E0 ED F0")),
}
LENGTHS = {"UTF-16": (4, 5), "UTF-32": (3, 3), "CESU-8": (4, 6)}
"""By form the longest texts of the tier `full`, and of the tier `slow`."""
PARTITIONED = [
    pytest.param(form, length, marks=[pytest.mark.slow] if length > every_run else [])
    for form, (every_run, longest) in LENGTHS.items()
    for length in range(longest + 1)
]


@pytest.mark.parametrize(("form", "length"), PARTITIONED)
def test_partition_of_texts_in_other_forms(form: str, length: int) -> None:
    for units in product(EDGES[form], repeat=length):
        assert_partition(units, form)


# The documents. The bytes, and the items with the practices maximal-subparts, whole-subsequence and malformed-sequence:
# "!n" is one U+FFFD for n bytes.
EXAMPLES = """
    table 3-4 all lengths | 4D D0 B0 E4 BA 8C F0 90 8C 82 | 4D 430 4E8C 10302 | 4D 430 4E8C 10302 | 4D 430 4E8C 10302
    table 3-8 non-shortest | C0 AF E0 80 BF F0 81 82 41 | !1 !1 !1 !1 !1 !1 !1 !1 41 | !8 41 | !2 !3 !3 41
    table 3-9 surrogates | ED A0 80 ED BF BF ED AF 41 | !1 !1 !1 !1 !1 !1 !1 !1 41 | !8 41 | !3 !3 !2 41
    table 3-10 other | F4 91 92 93 FF 41 80 BF 42 | !1 !1 !1 !1 !1 41 !1 !1 42 | !5 41 !2 42 | !4 !1 41 !1 !1 42
    table 3-11 truncated | E1 80 E2 F0 91 92 F1 BF 41 | !2 !1 !3 !2 41 | !8 41 | !2 !1 !3 !2 41
    d86 well-formed | 41 C3 B1 42 | 41 F1 42 | 41 F1 42 | 41 F1 42
    d86 ill-formed | 41 C2 C3 B1 42 | 41 !1 F1 42 | 41 !1 F1 42 | 41 !1 F1 42
    d86 in isolation | C2 C3 | !1 !1 | !2 | !1 !1
    d89 not UTF-8 | C0 80 61 F3 | !1 !1 61 !1 | !2 61 !1 | !2 61 !1
    d92 C0 starts nothing | C0 AF | !1 !1 | !2 | !2
    d92 9F after E0 | E0 9F 80 | !1 !1 !1 | !3 | !3
    d92 last row | F4 80 83 92 | 1000D2 | 1000D2 | 1000D2
    constraint 41 is not consumed | C2 41 42 | !1 41 42 | !1 41 42 | !1 41 42
    constraint one or each byte | F0 80 80 41 | !1 !1 !1 41 | !3 41 | !3 41
    FFFD itself is no error | EF BF BD | FFFD | FFFD | FFFD
    noncharacters | EF BF BE F4 8F BF BF | FFFE 10FFFF | FFFE 10FFFF | FFFE 10FFFF
"""


def shown(items: Iterable[Item]) -> list[str]:
    return [f"{item.code_point:X}" if item.error is None else f"!{item.length}" for item in items]


@pytest.mark.smoke
@pytest.mark.parametrize(("units", "maximal", "whole", "malformed"), cases(EXAMPLES))
def test_examples_of_the_documents(units: str, maximal: str, whole: str, malformed: str) -> None:
    data = bytes.fromhex(units)
    assert shown(decode(data)) == maximal.split()
    assert shown(decode(data, practice=Practice.WHOLE_SUBSEQUENCE)) == whole.split()
    assert shown(decode(data, practice=Practice.MALFORMED_SEQUENCE)) == malformed.split()
    assert_text(data)


# L2/08-150: what one U+FFFD replaces, and the bytes that "if followed by" excludes.


def kinds_of_units(table: EncodingTable) -> list[int]:
    """One unit of each set of units that are in the same ranges of the same rows."""
    ranges = [allowed for row in table.rows for allowed in row.units]
    edges = {0, *(edge for allowed in ranges for edge in (allowed.first, allowed.last + 1))}
    kinds = {tuple(unit in allowed for allowed in ranges): unit for unit in sorted(edges, reverse=True)}
    return sorted(unit for unit in kinds.values() if unit < 1 << table.unit_width)


def first_by_the_wording(units: Sequence[int], table: EncodingTable) -> tuple[int, int]:
    """The length and the code point of the first item by the two rules of L2/08-150, from the rows alone."""
    prefixes = [units[:length] for length in range(1, len(units) + 1)]
    for row, prefix in product(table.rows, prefixes):
        if row.matches(prefix):
            return len(prefix), row.code_point(prefix)
    begun = (len(each) for each in prefixes if any(starts(each, row.units) for row in table.rows))
    return max(begun, default=1), 0xFFFD


@pytest.mark.parametrize(("table", "kinds"), [(TABLE_3_7, 13), (UTF_16, 4), (UTF_32, 3)])
def test_wording_of_l2_08_150_gives_maximal_subparts(table: EncodingTable, kinds: int) -> None:
    """A proof by enumeration, for texts of any length.

    Both definitions remove a first item from the text and process the rest like a separate text, so they agree on all
    texts if they agree on the first item of all texts. That item depends only on the first units, at most as many as
    the longest sequence has, and apart from code points only on the ranges of the rows that contain these units. The
    texts of one unit of each kind, up to the length of the longest sequence, are therefore all cases; the shorter ones
    are those in which the text ends.
    """
    units = kinds_of_units(table)
    assert len(units) == kinds
    for length in range(1, table.longest + 1):
        for each in product(units, repeat=length):
            for practice in (Practice.MAXIMAL_SUBPARTS, Practice.START_OF_A_SEQUENCE):
                item = next(decode(each, table, practice=practice))
                assert (item.length, item.code_point) == first_by_the_wording(each, table), each


# The regular expressions of other tables against their DFAs, which the tests of forms compare with CPython.

PREFIX = EncodingTable.parse(
    "not self-synchronising", "0000..007F  00..7F\n0080..00FF  80 00..7F", source="test", self_synchronising=False
)
LONG = EncodingTable.parse("long", "0000..0000  00\n0001..0001  01" + " 02" * 300, source="test")
OF_BYTES = [*(table for table in CATALOGUE.values() if table.unit_width == 8), PREFIX]


def assert_same(data: bytes, table: EncodingTable) -> None:
    items = list(decode(iter(data), table))
    ill_formed = [item for item in items if item.error is not None]
    assert list(decode(data, table)) == items, data.hex(" ")
    assert list(errors(data, table)) == list(errors(iter(data), table)) == ill_formed, data.hex(" ")
    assert is_well_formed(data, table) is is_well_formed(iter(data), table) is (not ill_formed), data.hex(" ")
    (symbol,) = GoldenValidator(table).process(data, final=True)
    assert validate(data, table) == validate(iter(data), table) == symbol.value, data.hex(" ")


@pytest.mark.parametrize("table", OF_BYTES, ids=lambda table: table.name)
@settings(max_examples=200, deadline=None)
@given(data=st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=3))).map(b"".join), window=st.integers(0, 9))
def test_damaged_texts_in_windows_of_any_size(data: bytes, window: int, table: EncodingTable) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "WINDOW", window)
        assert_same(data, table)


@pytest.mark.smoke
@pytest.mark.parametrize("table", [*OF_BYTES, LONG], ids=lambda table: table.name)
def test_texts_of_several_windows(table: EncodingTable) -> None:
    sequences = [bytes(table.encode(point)) for span in table.code_points for point in (span.first, span.last)]
    for size in range(4):
        data = b"".join(sequences) * 30 + b"\xff" + sequences[-1][:size]
        assert_same(data * (1 + 3 * text.WINDOW // len(data)), table)


def test_errors_of_a_composition_and_an_item_as_text() -> None:
    assert list(map(str, errors(bytes.fromhex("41 EDA0BD 41 FF"), CESU_8))) == [
        "1+3 U+FFFD TRUNCATED",
        "5+1 U+FFFD INVALID_BYTE",
    ]
    data = b"A\xe1\x80\xf0\x9f\x98\x80"
    assert list(map(str, decode(data))) == ["0+1 U+0041", "1+2 U+FFFD TRUNCATED", "3+4 U+1F600"]
    assert "".join(item.char for item in decode(data)) == data.decode(errors="replace")
    assert [item.end for item in decode(data)] == [1, 3, 7]


@pytest.mark.smoke
def test_numbers_of_a_report_saturate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validator, "COUNTER_WIDTH", 4)
    assert validate(b"a" * 15 + b"\xff") == (False, 15, ErrorKind.INVALID_BYTE, 1, 15, 15)
    assert validate(b"a" * 14)[3:] == (0, 14, 14)
    assert validate(b"a" * 90 + b"\xff" * 20) == (False, 15, ErrorKind.INVALID_BYTE, 15, 15, 15)


@pytest.mark.smoke
def test_parts_of_a_text_give_the_report_of_the_text() -> None:
    golden = GoldenValidator()
    for each in (b"a\xf0\x9f\x98\x80\xe2\x82A\xff\xc3", "\U0001f600é".encode(), b""):
        for place in range(len(each)):
            assert golden.process(each[place : place + 1]) == []
        assert golden.process(b"", final=True) == [(len(each), report_of(each))]


@pytest.mark.smoke
def test_partition_rejects_a_table_that_is_not_self_synchronising() -> None:
    table = EncodingTable.parse("CESU-8", CESU_8_ROWS, source="UTR #26", self_synchronising=False)
    assert refusal(ValueError, partition, b"", table) == (
        "CESU-8 is not declared self-synchronising: "
        "its minimal well-formed subsequences may overlap, so a partition need not exist"
    )
