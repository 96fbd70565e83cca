# SPDX-License-Identifier: BSD-2-Clause
"""The partition into well-formed and ill-formed subsequences compared with the definitions.

CPython determines which code unit sequences are minimal well-formed subsequences; D84a defines the other parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from support.oracle import BOUNDARY, CESU_8_ROWS, refusal

from utf8fpga.model import TABLE_3_7, EncodingTable, decode, is_well_formed
from utf8fpga.model.composition import Composition
from utf8fpga.model.forms import CESU_8, UTF_16, UTF_32
from utf8fpga.model.partition import partition

FORMS: dict[str, EncodingTable | Composition] = {
    "UTF-8": TABLE_3_7,
    "UTF-16": UTF_16,
    "UTF-32": UTF_32,
    "CESU-8": CESU_8,
}
LONGEST = {"UTF-8": 4, "UTF-16": 2, "UTF-32": 1, "CESU-8": 6}


def _text_of(units: Sequence[int], form: str) -> str:
    """The text that CPython decodes, or a UnicodeDecodeError."""
    if form == "UTF-8":
        return bytes(units).decode()
    if form == "CESU-8":
        if any(unit >= 0xF0 for unit in units):
            raise UnicodeDecodeError("cesu-8", bytes(units), 0, 1, "four bytes")
        halves = bytes(units).decode("utf-8", "surrogatepass")
        return halves.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    size, codec = (2, "utf-16-be") if form == "UTF-16" else (4, "utf-32-be")
    return b"".join(unit.to_bytes(size, "big") for unit in units).decode(codec)


def code_point_of(units: Sequence[int], form: str) -> int | None:
    """The scalar value of a minimal well-formed subsequence (D85a), else None."""
    try:
        text = _text_of(units, form)
    except UnicodeDecodeError:
        return None
    return ord(text) if len(text) == 1 else None


def by_definition(units: Sequence[int], form: str) -> list[tuple[int, tuple[int, ...], int | None]]:
    """All slices that are well-formed by D85a, and by D84a the runs of units that no such slice contains."""
    parts: list[tuple[int, tuple[int, ...], int | None]] = []
    covered = [False] * len(units)
    for start in range(len(units)):
        for end in range(start + 1, min(start + LONGEST[form], len(units)) + 1):
            point = code_point_of(units[start:end], form)
            if point is not None:
                assert not any(covered[start:end])
                covered[start:end] = [True] * (end - start)
                parts.append((start, tuple(units[start:end]), point))
    start = 0
    while start < len(units):
        end = start
        while end < len(units) and not covered[end]:
            end += 1
        if end > start:
            parts.append((start, tuple(units[start:end]), None))
        start = end + 1
    return sorted(parts, key=lambda part: part[0])


def parts_of(units: Sequence[int], form: str) -> list[tuple[int, tuple[int, ...], int | None]]:
    parts = list(partition(units, FORMS[form]))
    assert [item for part in parts for item in part.items] == list(decode(units, FORMS[form]))
    assert all((item.error is None) == part.is_well_formed for part in parts for item in part.items)
    assert is_well_formed(units, FORMS[form]) == all(part.is_well_formed for part in parts)
    return [(part.offset, part.units, part.code_point) for part in parts]


# By the definitions, for every text of units at the bounds.

EDGES: dict[str, Sequence[int]] = {
    "UTF-8": BOUNDARY,
    "UTF-16": [0x0000, 0x0041, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF],
    "UTF-32": [0, 0x41, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF, 0x110000, 0xFFFFFFFF],
    "CESU-8": bytes.fromhex("41 80 A0 B0 C2 E0 ED F0"),
}


LENGTHS = {"UTF-8": (3, 4), "UTF-16": (4, 5), "UTF-32": (3, 3), "CESU-8": (4, 6)}
"""By form the longest texts of the tier `full`, and of the tier `slow`."""
TEXTS = [
    pytest.param(form, length, id=f"{form}_{length}", marks=[pytest.mark.slow] if length > every_run else [])
    for form, (every_run, longest) in LENGTHS.items()
    for length in range(longest + 1)
]


@pytest.mark.smoke
@pytest.mark.parametrize(("form", "length"), TEXTS)
def test_all_texts_of_units_at_the_bounds(form: str, length: int) -> None:
    for units in product(EDGES[form], repeat=length):
        assert parts_of(units, form) == by_definition(units, form), [f"{unit:X}" for unit in units]


# Arguments.


def test_table_that_is_not_self_synchronising_is_rejected() -> None:
    table = EncodingTable.parse("CESU-8", CESU_8_ROWS, source="UTR #26", self_synchronising=False)
    assert refusal(ValueError, partition, b"", table) == (
        "CESU-8 is not declared self-synchronising: "
        "its minimal well-formed subsequences may overlap, so a partition need not exist"
    )
