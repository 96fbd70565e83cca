# SPDX-License-Identifier: BSD-2-Clause
"""The causes of ill-formed items: for each cause exactly the bytes in its definition."""

from __future__ import annotations

from itertools import product

import pytest
from support import oracle
from support.oracle import BOUNDARY, kind_of, plain

from utf8fpga.model import TABLE_3_7, EncodingTable, ErrorKind, cause, decode


def _is_open(prefix: bytes) -> bool:
    """Whether CPython reports only that the rest of a sequence is missing."""
    try:
        prefix.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.start == 0
    return False


OPEN_ONE = [bytes([lead]) for lead in range(0x100) if _is_open(bytes([lead]))]
OPEN_TWO = [lead + bytes([unit]) for lead in OPEN_ONE for unit in range(0x100) if _is_open(lead + bytes([unit]))]
OPEN_THREE = [two + bytes([unit]) for two in OPEN_TWO for unit in range(0x80, 0xC0) if _is_open(two + bytes([unit]))]


def test_number_of_open_prefixes_of_table_3_7() -> None:
    assert len(OPEN_ONE) == 30 + 16 + 5
    assert len(OPEN_TWO) == 32 + 12 * 64 + 32 + 2 * 64 + 48 + 3 * 64 + 16
    assert len(OPEN_THREE) == (48 + 3 * 64 + 16) * 64


# Every byte that starts no sequence, before every byte.

ALONE = {
    "UNEXPECTED_CONTINUATION": range(0x80, 0xC0),
    "INVALID_BYTE": range(0xF8, 0x100),
    "OVERLONG": range(0xC0, 0xC2),
    "OUT_OF_RANGE": range(0xF5, 0xF8),
}


@pytest.mark.parametrize(("kind", "units"), ALONE.items(), ids=ALONE)
def test_causes_of_bytes_that_start_no_sequence(kind: str, units: range) -> None:
    found = {unit for unit in range(0x100) if plain(decode([unit])) == [(0, 1, 0xFFFD, kind)]}
    assert found == set(units)
    for unit, following in product(units, range(0x100)):
        assert plain(decode([unit, following]))[0] == (0, 1, 0xFFFD, kind)


# Every pair of a byte that starts a sequence and one that breaks it there.

BROKEN = {
    "OVERLONG": {(0xE0, unit) for unit in range(0x80, 0xA0)} | {(0xF0, unit) for unit in range(0x80, 0x90)},
    "SURROGATE": {(0xED, unit) for unit in range(0xA0, 0xC0)},
    "OUT_OF_RANGE": {(0xF4, unit) for unit in range(0x90, 0xC0)},
}


@pytest.mark.parametrize("kind", [*BROKEN, "TRUNCATED"])
def test_causes_of_pairs_that_break_a_sequence(kind: str) -> None:
    broken = {
        (lead[0], unit)
        for lead, unit in product(OPEN_ONE, range(0x100))
        if not _is_open(lead + bytes([unit])) and not oracle.strictly_decodes(lead + bytes([unit]))
    }
    wanted = BROKEN[kind] if kind in BROKEN else broken - set().union(*BROKEN.values())
    found = {pair for pair in broken if plain(decode(pair))[0] == (0, 1, 0xFFFD, kind)}
    assert found == wanted


def breaks_as_truncated(prefixes: list[bytes], following: bytes) -> None:
    """Each prefix before each byte, in one text, in which the next prefix ends a sequence that the byte opens."""
    pairs = list(product(prefixes, following))
    items = list(decode(b"".join(prefix + bytes([unit]) for prefix, unit in pairs)))
    assert len(items) == 2 * len(pairs)
    for item, (prefix, unit) in zip(items[::2], pairs, strict=True):
        assert item[1:] == (len(prefix), 0xFFFD, ErrorKind.TRUNCATED), (prefix + bytes([unit])).hex(" ")


@pytest.mark.parametrize("prefixes", [OPEN_TWO, OPEN_THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "following",
    [
        pytest.param(bytes.fromhex("41 C0 E1 FF"), id="one_of_each_kind"),
        pytest.param(bytes({*range(0x100)} - {*range(0x80, 0xC0)}), id="every_byte", marks=pytest.mark.slow),
    ],
)
def test_sequences_broken_after_two_or_three_units_are_truncated(prefixes: list[bytes], following: bytes) -> None:
    breaks_as_truncated(prefixes, following)


@pytest.mark.parametrize("prefixes", [OPEN_ONE, OPEN_TWO, OPEN_THREE], ids=["one", "two", "three"])
def test_incomplete_at_the_end_of_every_open_prefix(prefixes: list[bytes]) -> None:
    for prefix in prefixes:
        assert list(decode(prefix)) == [(0, len(prefix), 0xFFFD, ErrorKind.INCOMPLETE)]


def test_incomplete_occurs_only_at_the_end() -> None:
    for units in product(oracle.REPRESENTATIVES, repeat=4):
        items = list(decode(bytes(units)))
        assert all(item.error is not ErrorKind.INCOMPLETE for item in items[:-1])


# The function alone.


@pytest.mark.parametrize("following", [None, *BOUNDARY], ids=lambda unit: "end" if unit is None else f"{unit:02X}")
def test_cause_is_a_function_of_the_item_and_the_unit_after_it(following: int | None) -> None:
    for unit in range(0x100):
        subpart = bytes([unit])
        whole = subpart + bytes([] if following is None else [following])
        if not (oracle.strictly_decodes(subpart) or (following is not None and _is_open(whole))) and (
            not oracle.strictly_decodes(whole)
        ):
            assert cause(TABLE_3_7, subpart, following).name == kind_of(subpart, following), whole.hex(" ")


# Other forms, made from rows of their own.


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
