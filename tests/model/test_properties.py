# SPDX-License-Identifier: BSD-2-Clause
"""Properties of items: their code points are stated ones, and those of CPython, in whatever version."""

from __future__ import annotations

import random
import re
import unicodedata
from itertools import pairwise

import pytest

from utf8fpga.model import EncodingTable, IncrementalDecoder, InvalidArgumentError, Item, Practice, decode
from utf8fpga.model.forms import GENERALISED_UTF_8, TABLE_3_7
from utf8fpga.model.properties import (
    CharacterProperty,
    FlaggedItem,
    GoldenFlags,
    chosen_properties,
    code_points_of,
    unicode_version,
)

STATED = {
    # The Unicode Standard, table 4-4 and the stability policies: 65 control codes, immutable.
    "control": "0..1F 7F..9F",
    # Chapter 23.5: the private-use area and two planes without their noncharacters.
    "private-use": "E000..F8FF F0000..FFFFD 100000..10FFFD",
    # Definition D14: 66 noncharacters.
    "noncharacter": "FDD0..FDEF " + " ".join(f"{plane:X}FFFE..{plane:X}FFFF" for plane in range(17)),
    # Definition D71 and D73.
    "surrogate": "D800..DFFF",
    # The planes after the Basic Multilingual Plane, section 2.8.
    "beyond-bmp": "10000..10FFFF",
    # PropList.txt, White_Space, and 1C..1F, which Python's documentation of isspace includes by their direction.
    "whitespace": "9..D 1C..1F 20 85 A0 1680 2000..200A 2028 2029 202F 205F 3000",
    # Python's documentation of splitlines.
    "line-break": "A D B C 1C 1D 1E 85 2028 2029",
}


def stated(name: str) -> set[int]:
    found: set[int] = set()
    for each in STATED[name].split():
        first, _, last = each.partition("..")
        found.update(range(int(first, 16), int(last or first, 16) + 1))
    return found


STATED_POINTS = {name: stated(name) for name in STATED}


@pytest.mark.smoke
@pytest.mark.parametrize("name", STATED)
def test_code_points_are_the_stated_ones(name: str) -> None:
    ranges = code_points_of(CharacterProperty(name))
    found = {point for each in ranges for point in range(each.first, min(each.last, 0x10FFFF) + 1)}
    assert found == STATED_POINTS[name]
    # As few ranges as possible, which the generated logic is made from.
    assert all(one.last + 1 < other.first for one, other in pairwise(ranges))


UNITS = bytes.fromhex("00 0A 20 7F 80 85 A0 A8 BE BF C2 E2 ED EE EF F3 F4 FF")


def test_version_of_the_data_is_that_of_cpython() -> None:
    assert unicode_version() == unicodedata.unidata_version
    assert tuple(map(int, unicode_version().split("."))) >= (6, 3)


@pytest.mark.parametrize("practice", [Practice.MAXIMAL_SUBPARTS, Practice.EACH_UNIT])
@pytest.mark.parametrize("table", [TABLE_3_7, GENERALISED_UTF_8], ids=["utf-8", "generalised"])
def test_golden_items_have_the_properties_of_their_code_points(table: EncodingTable, practice: Practice) -> None:
    rng = random.Random(1)
    golden = GoldenFlags(IncrementalDecoder(practice, table), CharacterProperty)
    plain = IncrementalDecoder(practice, table)
    for _ in range(300):
        text = bytes(rng.choices(UNITS, k=12))
        items = golden.process(text, final=True)
        assert [Item(*item[:4]) for item in items] == plain.process(text, final=True)
        for item in items:
            if item.error is None:
                wanted = {name for name, points in STATED_POINTS.items() if item.code_point in points}
            else:
                wanted = {"surrogate"} if item.error.name == "SURROGATE" else set()
            assert set(item.properties) == wanted
            assert list(item.properties) == [each for each in CharacterProperty if each in wanted]


def test_an_encoded_surrogate_is_flagged_at_its_first_item() -> None:
    flags = GoldenFlags(IncrementalDecoder(), [CharacterProperty.SURROGATE])
    found = flags.process(b"\xed\xa0\x80\xed\x9f\xbf\xed", final=True)
    assert [item.offset for item in found] == [0, 1, 2, 3, 6]
    assert [item.properties for item in found] == [("surrogate",), (), (), (), ()]
    generalised = GoldenFlags(IncrementalDecoder(table=GENERALISED_UTF_8), [CharacterProperty.SURROGATE])
    assert [item.properties for item in generalised.process(b"\xed\xa0\x80", final=True)] == [("surrogate",)]


def test_only_chosen_properties_are_given() -> None:
    flags = GoldenFlags(IncrementalDecoder(), chosen_properties("line-break"))
    assert flags.process(b"\n") == [FlaggedItem(*next(iter(decode(b"\n"))), (CharacterProperty.LINE_BREAK,))]
    assert str(flags.process(b"\n")[0]) == "1+1 U+000A line-break"


def test_names_of_properties() -> None:
    assert chosen_properties("all") == chosen_properties(["all"]) == tuple(CharacterProperty)
    assert chosen_properties("") == chosen_properties([]) == ()
    assert chosen_properties("whitespace,control,whitespace") == ("control", "whitespace")
    message = (
        "property 'space' is not one of control, private-use, noncharacter, surrogate, beyond-bmp, whitespace,"
        " line-break, all"
    )
    with pytest.raises(InvalidArgumentError, match=f"^{re.escape(message)}$"):
        chosen_properties("control,space")
