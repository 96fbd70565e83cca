# SPDX-License-Identifier: BSD-2-Clause
"""Every practice compared with the examples of the documents, CPython and enumeration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, product, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from support.cases import cases
from support.oracle import BOUNDARY, Expected, items_of, plain, refusal, strictly_decodes

from utf8fpga.model import CESU_8, RFC_2279, TABLE_3_7, UTF_16, UTF_32, Decoder, EncodingTable, Item, decode
from utf8fpga.model.practices import Practice
from utf8fpga.model.table import starts

# The bytes, and the items with the practices maximal-subparts, whole-subsequence and malformed-sequence: "!n" is one
# U+FFFD for n bytes.
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
    between characters | 41 E1 80 42 80 43 | 41 !2 42 !1 43 | 41 !2 42 !1 43 | 41 !2 42 !1 43
"""


def shown(items: Iterable[Item]) -> list[str]:
    return [f"{item.code_point:X}" if item.error is None else f"!{item.length}" for item in items]


@pytest.mark.smoke
@pytest.mark.parametrize(("units", "maximal", "whole", "malformed"), cases(EXAMPLES))
def test_examples_of_the_documents(units: str, maximal: str, whole: str, malformed: str) -> None:
    text = bytes.fromhex(units)
    assert shown(decode(text)) == shown(decode(text, practice=Practice.MAXIMAL_SUBPARTS)) == maximal.split()
    assert shown(decode(text, practice=Practice.WHOLE_SUBSEQUENCE)) == whole.split()
    assert shown(decode(text, practice=Practice.MALFORMED_SEQUENCE)) == malformed.split()
    for practice, expected in EXPECTED.items():
        assert plain(decode(text, practice=practice)) == expected(text)


# What each practice gives, from CPython and the words of its definition.


def _cause_at(text: bytes) -> dict[int, str | None]:
    """For each offset the cause of the maximal subpart that contains the byte."""
    return {offset + n: kind for offset, length, _, kind in items_of(text) for n in range(length)}


def expected_each(text: bytes) -> list[Expected]:
    found: list[Expected] = []
    for offset, length, point, kind in items_of(text):
        found += (
            [(offset, length, point, None)] if kind is None else [(offset + n, 1, 0xFFFD, kind) for n in range(length)]
        )
    return found


def expected_whole(text: bytes) -> list[Expected]:
    """D84a literally: all units that are in no minimal well-formed subsequence at any offset."""
    characters = {
        start: end
        for start in range(len(text))
        for end in range(start + 1, min(start + 4, len(text)) + 1)
        if strictly_decodes(text[start:end]) and len(text[start:end].decode()) == 1
    }
    belongs = {unit for start, end in characters.items() for unit in range(start, end)}
    found: list[Expected] = []
    offset, causes = 0, _cause_at(text)
    while offset < len(text):
        if offset in characters:
            end = characters[offset]
            found.append((offset, end - offset, ord(text[offset:end].decode()), None))
        else:
            end = next((unit for unit in range(offset, len(text)) if unit in belongs), len(text))
            found.append((offset, end - offset, 0xFFFD, causes[offset]))
        offset = end
    return found


KUHN_SEQUENCE = re.compile(
    rb"[\x00-\x7F]|[\xC0-\xDF][\x80-\xBF]?|[\xE0-\xEF][\x80-\xBF]{0,2}|[\xF0-\xF7][\x80-\xBF]{0,3}"
    rb"|[\xF8-\xFB][\x80-\xBF]{0,4}|[\xFC\xFD][\x80-\xBF]{0,5}|[\x80-\xBF\xFE\xFF]"
)


def expected_malformed(text: bytes) -> list[Expected]:
    causes = _cause_at(text)
    found: list[Expected] = []
    for match in KUHN_SEQUENCE.finditer(text):
        well_formed = strictly_decodes(match.group())
        point = ord(match.group().decode()) if well_formed else 0xFFFD
        found.append((match.start(), len(match.group()), point, None if well_formed else causes[match.start()]))
    return found


def expected_first(text: bytes) -> list[Expected]:
    items = items_of(text)
    errors = [number for number, item in enumerate(items) if item[3]]
    return items[: errors[0] + 1] if errors else items


EXPECTED = {
    Practice.MAXIMAL_SUBPARTS: items_of,
    Practice.START_OF_A_SEQUENCE: items_of,
    Practice.EACH_UNIT: expected_each,
    Practice.WHOLE_SUBSEQUENCE: expected_whole,
    Practice.MALFORMED_SEQUENCE: expected_malformed,
    Practice.FIRST_ERROR: expected_first,
}


@pytest.mark.parametrize("practice", Practice)
@pytest.mark.parametrize("length", [0, 1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_all_texts_of_boundary_bytes(practice: Practice, length: int) -> None:
    for units in product(BOUNDARY, repeat=length):
        text = bytes(units)
        assert plain(decode(text, practice=practice)) == EXPECTED[practice](text), text.hex(" ")


texts = st.lists(
    st.one_of(
        st.sampled_from([bytes([unit]) for unit in BOUNDARY + b"\xfb\xfc\xfd\xfe"]),
        st.characters(exclude_categories=["Cs"]).map(str.encode),
    ),
    max_size=24,
).map(b"".join)


@pytest.mark.smoke
@pytest.mark.parametrize("practice", Practice)
@given(text=texts)
def test_any_text(practice: Practice, text: bytes) -> None:
    assert plain(decode(text, practice=practice)) == EXPECTED[practice](text)


# L2/08-150: what one U+FFFD replaces, and the bytes that "if followed by" excludes.
def _kinds_of_units(table: EncodingTable) -> list[int]:
    """One unit of each set of units that are in the same ranges of the same rows."""
    ranges = [allowed for row in table.rows for allowed in row.units]
    edges = {0, *(edge for allowed in ranges for edge in (allowed.first, allowed.last + 1))}
    kinds = {tuple(unit in allowed for allowed in ranges): unit for unit in sorted(edges, reverse=True)}
    return sorted(unit for unit in kinds.values() if unit < 1 << table.unit_width)


def first_by_the_wording(text: Sequence[int], table: EncodingTable) -> tuple[int, int]:
    """The length and the code point of the first item by the two rules of L2/08-150, from the rows alone."""
    prefixes = [text[:length] for length in range(1, len(text) + 1)]
    for row, prefix in product(table.rows, prefixes):
        if row.matches(prefix):
            return len(prefix), row.code_point(prefix)
    return max(
        (len(each) for each in prefixes if any(starts(each, row.units) for row in table.rows)), default=1
    ), 0xFFFD


@pytest.mark.parametrize(("table", "kinds"), [(TABLE_3_7, 13), (UTF_16, 4), (UTF_32, 3)])
def test_wording_of_l2_08_150_gives_maximal_subparts(table: EncodingTable, kinds: int) -> None:
    """A proof by enumeration, for texts of any length.

    Both definitions remove a first item from the text and process the rest like a separate text, so
    they agree on all texts if they agree on the first item of all texts. That item depends only on
    the first units, at most as many as the longest sequence has: a complete sequence is not longer,
    and the prefix of a broken sequence is shorter by at least the unit that breaks it. Apart from
    code points, they depend only on the ranges of the rows that contain these units. The texts of
    one unit of each kind, up to the length of the longest sequence, are therefore all cases; the
    shorter ones are those in which the text ends.
    """
    units = _kinds_of_units(table)
    assert len(units) == kinds
    for length in range(1, table.longest + 1):
        for text in product(units, repeat=length):
            for practice in (Practice.MAXIMAL_SUBPARTS, Practice.START_OF_A_SEQUENCE):
                item = next(decode(text, table, practice=practice))
                assert (item.length, item.code_point) == first_by_the_wording(text, table), text


# Chunks

by_practice = pytest.mark.parametrize("practice", Practice)


def chunks_of(text: bytes, cuts: int) -> list[bytes]:
    """The text divided before each byte k > 0 for which bit k - 1 of `cuts` is set."""
    edges = [0, *(place for place in range(1, len(text)) if cuts >> place - 1 & 1), len(text)]
    return [text[first:after] for first, after in pairwise(edges)]


def decoded(decoder: Decoder, chunks: list[bytes], end: bytes | None = None) -> list[Expected]:
    """The items of a text in chunks; the end is in the last chunk, or in an additional one."""
    *others, last = chunks if end is None else [*chunks, end]
    items = [item for chunk in others for item in decoder.decode(chunk)]
    return plain(items + decoder.decode(last, final=True))


@by_practice
@given(text=texts, data=st.data())
def test_any_text_in_any_chunks(practice: Practice, text: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    chunks = [text[first:after] for first, after in pairwise([0, *sorted(cuts), len(text)])]
    assert decoded(Decoder(practice=practice), chunks) == EXPECTED[practice](text)


FOLLOWING = [bytes.fromhex(units) for units in ("", "41", "FF", "80", "80 80", "80 80 80", "90 80 80", "A0 80")]
"""Continuations that complete, break or extend any open sequence or mark."""


def determined(practice: Practice, text: bytes) -> list[Expected]:
    """The items that a text determines, for any continuation."""
    continued = [EXPECTED[practice](text + following) for following in FOLLOWING]
    return [items[0] for items in takewhile(lambda items: len(set(items)) == 1, zip(*continued, strict=False))]


@by_practice
@pytest.mark.parametrize(
    ("alphabet", "length"),
    [
        *[(oracle.REPRESENTATIVES + b"\xf8\xff", length) for length in (1, 2)],
        *[(bytes.fromhex("41 80 90 E1 F0 F8"), length) for length in (3,)],
        pytest.param(oracle.REPRESENTATIVES + b"\xf8\xff", 3, marks=pytest.mark.slow),
    ],
    ids=lambda value: value.hex() if isinstance(value, bytes) else value,
)
def test_items_are_returned_as_soon_as_determined(practice: Practice, alphabet: bytes, length: int) -> None:
    for text in map(bytes, product(alphabet, repeat=length)):
        expected = determined(practice, text)
        for cuts in {0, (1 << length - 1) - 1}:
            decoder = Decoder(practice=practice)
            items = [item for chunk in chunks_of(text, cuts) for item in decoder.decode(chunk)]
            assert plain(items) == expected, (text.hex(" "), bin(cuts))


def test_no_item_follows_the_first_error_until_the_end_of_the_text() -> None:
    decoder = Decoder(practice=Practice.FIRST_ERROR)
    chunks = [b"A\xe1", b"B", b"C\xff", b"\xc3\xa9"]
    found = [shown(decoder.decode(chunk)) for chunk in chunks]
    assert found == [["41"], ["!1"], [], []]
    assert decoder.decode(b"D", final=True) == []
    assert plain(decoder.decode(b"D", final=True)) == [(0, 1, 0x44, None)]


@by_practice
def test_reset_discards_the_open_sequence_and_the_offset(practice: Practice) -> None:
    for text in (b"AB\xf0\x90", b"AB\xff\xf8", b"AB\xff"):
        decoder = Decoder(practice=practice)
        decoder.decode(text)
        decoder.reset()
        assert plain(decoder.decode(b"\x8cA", final=True)) == EXPECTED[practice](b"\x8cA")


@by_practice
@pytest.mark.parametrize("final", [False, True], ids=["more", "final"])
def test_invalid_unit_is_reported_with_its_offset_and_state_is_unchanged(practice: Practice, final: bool) -> None:
    text, end = b"AB\xff\xf0\x90", b"\x8c\x82A"
    decoder = Decoder(practice=practice)
    items = decoder.decode(text)
    message = refusal(ValueError, decoder.decode, [0x8C, 0xFF, 0x41, 0x100], final)
    assert message == "code unit 0x100 at offset 8 is not an integer in 0..0xff"
    assert plain(items + decoder.decode(end, final=True)) == EXPECTED[practice](text + end)
    # The offsets of the next text begin at 0.
    message = refusal(ValueError, decoder.decode, [0x41, 0x100])
    assert message == "code unit 0x100 at offset 1 is not an integer in 0..0xff"


@pytest.mark.parametrize("table", [UTF_16, RFC_2279], ids=lambda table: table.name)
@given(data=st.data())
def test_other_tables_in_any_chunks(table: EncodingTable, data: st.DataObject) -> None:
    units = data.draw(st.lists(st.sampled_from(_kinds_of_units(table)), max_size=12))
    edges = [0, *sorted(data.draw(st.lists(st.integers(0, len(units)), max_size=6))), len(units)]
    for practice in Practice:
        if practice is not Practice.MALFORMED_SEQUENCE or table.unit_width == 8:
            decoder = Decoder(table, practice=practice)
            items = [item for first, after in pairwise(edges) for item in decoder.decode(units[first:after])]
            assert items + decoder.decode((), final=True) == list(decode(units, table, practice=practice))


# Invalid arguments


def test_malformed_sequence_practice_requires_bytes() -> None:
    wanted = "UTF-16 has code units of 16 bits: malformed sequences are of bytes"
    for practice in (Practice.MALFORMED_SEQUENCE, "malformed-sequence"):
        assert refusal(ValueError, decode, [0x41], UTF_16, practice=practice) == wanted
        assert refusal(ValueError, Decoder, UTF_16, practice=practice) == wanted


@pytest.mark.parametrize("practice", [each for each in Practice if each is not Practice.MAXIMAL_SUBPARTS])
def test_compositions_have_maximal_subparts_alone(practice: Practice) -> None:
    message = "an EncodingTable is required, not the composition CESU-8, whose tables are UTF-16 and CESU-8 code units"
    assert refusal(TypeError, Decoder, CESU_8, practice=practice) == message
    assert refusal(TypeError, decode, b"", CESU_8, practice=practice) == message
