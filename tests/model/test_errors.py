# SPDX-License-Identifier: BSD-2-Clause
"""The causes of ill-formed items: for each cause exactly the bytes in its definition."""

from __future__ import annotations

import pytest
from support import oracle
from support.oracle import BOUNDARY, kind_of, plain

from utf8fpga.model import TABLE_3_7, EncodingTable, cause, decode


def _is_open(prefix: bytes) -> bool:
    """Whether CPython reports only that the rest of a sequence is missing."""
    try:
        prefix.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.start == 0
    return False


# Every byte that starts no sequence, before every byte.

# Every pair of a byte that starts a sequence and one that breaks it there.

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
