# SPDX-License-Identifier: BSD-2-Clause
"""The array decoder compared with the plain decoder and CPython: items, chunks, arguments."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from support.oracle import items_of, plain, refusal
from support.processes import run

from utf8fpga.model import EncodingTable, Item, TableError, decode
from utf8fpga.model.forms import CESU_8, GENERALISED_UTF_8, RFC_2279, TABLE_3_7, UTF_16, UTF_32

np = pytest.importorskip("numpy", reason="requires the extra 'fast'")
pytest.importorskip("numba", reason="requires the extra 'fast'")

from utf8fpga.model.arrays import ItemArrays, decode_array  # noqa: E402  (not before numba is known to be there)

NARROW = EncodingTable.parse("narrow", "0..0  0\n1..2  1  2..3", source="made up: units of two bits", unit_width=2)
SHARED_LEADS = EncodingTable.parse(
    "shared leads",
    """
    0..7      0..7
    10..13    8     C..D  C..D
    20..20    8     E     C
    21..21    8     F
    """,
    source="made up: one unit opens sequences of two and of three units, mapped in no common way",
    unit_width=4,
)
LATE_CAUSE = EncodingTable.parse(
    "late cause",
    """
    0000..007F    00..7F
    0080..07FF    C2..DF  80..BF
    0800..0FFF    E0      A0..BF  80..BF
    1000..17FF    E1      80..9F  80..BF
    1800..181F    E1      A0      80..9F
    1840..184F    E1      A1      80..8F
    """,
    source="made up: some causes are known only at the third unit",
)
CAUSE_WITHIN_A_PREFIX = EncodingTable.parse(
    "cause within a prefix",
    """
    06..0D  1  8..F
    00..03  0  8     C..F
    1C..1F  0  F     C..F
    20..27  0  A..B  8..9  8..9
    """,
    source="made up: the same units continue 0 A and 0 B; 0 A E and 0 B C are overlong, 0 B E is a surrogate",
    unit_width=4,
)
MADE_UP = [NARROW, SHARED_LEADS, LATE_CAUSE, CAUSE_WITHIN_A_PREFIX]
TABLES = [TABLE_3_7, UTF_16, RFC_2279, GENERALISED_UTF_8, *MADE_UP]
by_table = pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])


def units_near(table: EncodingTable) -> list[int]:
    """The bounds of all ranges of the table and the units next to them."""
    bounds = {bound for row in table.rows for allowed in row.units for bound in (allowed.first, allowed.last)}
    near = {bound + step for bound in bounds for step in (-1, 0, 1)}
    return sorted(unit for unit in near if 0 <= unit < 1 << table.unit_width)


def text_of(table: EncodingTable, units: Iterable[int]) -> object:
    return np.array(list(units), np.uint8 if table.unit_width <= 8 else np.uint16)


def check(items: ItemArrays, expected: list[Item]) -> None:
    assert list(items) == expected
    assert len(items) == len(expected)


# Items.


@pytest.mark.smoke
@by_table
def test_all_sequences_in_one_text_and_its_prefixes(table: EncodingTable) -> None:
    alphabet = units_near(table)[:40]
    text = [unit for units in product(alphabet, repeat=3 if len(alphabet) <= 26 else 2) for unit in units]
    check(decode_array(text_of(table, text), table), list(decode(text, table)))
    for row in table.rows:
        for bound in ("first", "last"):
            sequence = [getattr(allowed, bound) for allowed in row.units]
            for place in range(len(sequence) + 1):
                for following in ([], *([unit] for unit in units_near(table))):
                    part = sequence[:place] + following
                    check(decode_array(text_of(table, part), table), list(decode(part, table)))


TEXTS = {
    "table_3_8": bytes.fromhex("C0 AF E0 80 BF F0 81 82 41"),
    "table_3_9": bytes.fromhex("ED A0 80 ED BF BF ED AF 41"),
    "table_3_10": bytes.fromhex("F4 91 92 93 FF 41 80 BF 42"),
    "table_3_11": bytes.fromhex("E1 80 E2 F0 91 92 F1 BF 41"),
    "every_length": bytes.fromhex("41 F1 80 80 80 E4 BA 8C F0 90 8C 82 C3 A9"),
    "ends_open": bytes.fromhex("41 F1 80 C3 F1 80 80"),
    "only_open": bytes.fromhex("F1 80 80"),
    "one_byte": b"\xff",
}


@given(st.data(), st.sampled_from(TABLES))
def test_any_text_in_any_table(data: st.DataObject, table: EncodingTable) -> None:
    units = data.draw(st.lists(st.sampled_from(units_near(table)) | st.integers(0, (1 << table.unit_width) - 1)))
    check(decode_array(text_of(table, units), table), list(decode(units, table)))


def test_arrays_have_the_documented_types_and_own_their_data() -> None:
    for text in (b"", b"A", b"A\xff\xffA", b"\xff"):
        items = decode_array(text)
        columns = (items.offsets, items.lengths, items.code_points, items.errors)
        assert [column.dtype.name for column in columns] == ["int64", "uint8", "uint32", "uint8"], text
        assert {len(column) for column in columns} == {len(items)}
        assert all(column.flags.owndata for column in columns)


# Arguments.


def _read_only(text: bytes) -> object:
    units = np.frombuffer(text, np.uint8).copy()
    units.flags.writeable = False
    return units


KINDS: dict[str, Callable[[bytes], Iterable[int]]] = {
    **{kind.__name__: kind for kind in (bytes, bytearray, memoryview, list, tuple, iter)},
    "array": lambda text: array("B", text),
    "array_of_int": lambda text: array("i", list(text)),
    "strided_memoryview": lambda text: memoryview(bytes(unit for unit in text for _ in range(2)))[::2],
    "read_only": _read_only,
    "not_contiguous": lambda text: np.repeat(np.frombuffer(text, np.uint8), 3)[::3],
    "backwards": lambda text: np.frombuffer(text[::-1], np.uint8)[::-1],
    "int64": lambda text: np.frombuffer(text, np.uint8).astype("<i8"),
    "big_endian": lambda text: np.frombuffer(text, np.uint8).astype(">u2"),
    "uint32": lambda text: np.frombuffer(text, np.uint8).astype("u4"),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_code_units_in_any_supported_type(kind: Callable[[bytes], Iterable[int]]) -> None:
    for text in TEXTS.values():
        assert plain(decode_array(kind(text))) == items_of(text)


ITERABLE = "must be an iterable of integers such as bytes, not"
INTEGERS, INTEGER = "must be in an array of integers, not of", "is not an integer in 0..0xff"
INVALID = [
    ("text", TypeError, f"s {ITERABLE} str: use text.encode(), or open the file with 'rb'"),
    (5, TypeError, f"s {ITERABLE} int"),
    (np.array([65.0]), TypeError, f"s {INTEGERS} float64"),
    (np.array([True]), TypeError, f"s {INTEGERS} bool"),
    (np.array(["A"]), TypeError, f"s {INTEGERS} <U1"),
    (np.array([None]), TypeError, f"s {INTEGERS} object"),
    (array("d", [65.0]), TypeError, f"s {INTEGERS} float64"),
    (np.zeros((2, 2), np.uint8), ValueError, "s must be in an array of one dimension, not 2"),
    (np.array(5), ValueError, "s must be in an array of one dimension, not 0"),
    (np.array([65, 256, 300]), ValueError, f" 0x100 at offset 1 {INTEGER}"),
    (np.array([65, 66, -1]), ValueError, f" -0x1 at offset 2 {INTEGER}"),
    (np.array([65, -1], np.int8), ValueError, f" -0x1 at offset 1 {INTEGER}"),
    ([65, 256], ValueError, f" 0x100 at offset 1 {INTEGER}"),
    ([65.0], ValueError, f" 65.0 at offset 0 {INTEGER}"),
]


@pytest.mark.parametrize(("data", "kind", "message"), INVALID, ids=range(len(INVALID)))
def test_invalid_units_are_rejected(data: object, kind: type[Exception], message: str) -> None:
    assert refusal(kind, decode_array, data) == f"code unit{message}"


LONG = EncodingTable.parse("long", "0..0  " + "0 " + "1 " * 255, source="made up")
NOT_SYNCHRONISING = EncodingTable.parse(
    "CESU-8", oracle.CESU_8_ROWS, source="UTR 26, taken as six bytes", self_synchronising=False
)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (UTF_32, "UTF-32: code units of 32 bits, but arrays take at most 16"),
        (LONG, "long: sequences of 256 units, but arrays take at most 255"),
        (
            NOT_SYNCHRONISING,
            "CESU-8: not self-synchronising: ED starts a sequence of row 5 (U+D000..U+D7FF as ED 80..9F 80..BF) "
            "and continues one of row 7 (U+10000..U+10FFFF as ED A0..AF 80..BF ED B0..BF 80..BF) as unit 4",
        ),
    ],
    ids=["too_wide", "too_long", "not_synchronising"],
)
def test_tables_outside_the_limits_are_rejected(table: EncodingTable, message: str) -> None:
    assert refusal(TableError, decode_array, b"", table) == message


def test_a_table_by_its_name() -> None:
    assert list(decode_array(np.array([0xD83D, 0xDE00], np.uint16), "utf-16")) == [Item(0, 2, 0x1F600, None)]
    message = "an EncodingTable is required, not the composition CESU-8, whose tables are UTF-16 and CESU-8 code units"
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
    assert (done.stdout, done.stderr) == (f"0+1 U+0041\n{name} is not installed: pip install 'utf8fpga[fast]'\n", "")
