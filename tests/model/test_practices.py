# SPDX-License-Identifier: BSD-2-Clause
"""The incremental decoder: every practice in chunks, as soon as determined, and with invalid units."""

from __future__ import annotations

from itertools import pairwise, product, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from support.oracle import BOUNDARY, PIECES, Expected, plain, refusal
from support.practices_oracle import EXPECTED

from utf8fpga.model import CESU_8, RFC_2279, UTF_16, Decoder, EncodingTable, decode
from utf8fpga.model.bounds import boundary_units
from utf8fpga.model.practices import Practice

# Chunks

by_practice = pytest.mark.parametrize("practice", Practice)


def chunks_of(text: bytes, cuts: int) -> list[bytes]:
    """The text divided before each byte k > 0 for which bit k - 1 of `cuts` is set."""
    edges = [0, *(place for place in range(1, len(text)) if cuts >> place - 1 & 1), len(text)]
    return [text[first:after] for first, after in pairwise(edges)]


PARTS = [*PIECES, *(bytes([unit]) for unit in BOUNDARY + b"\xfb\xfc\xfd\xfe")]
texts = st.lists(st.sampled_from(PARTS), max_size=24).map(b"".join)


@by_practice
@given(text=texts, data=st.data())
def test_any_text_in_any_chunks(practice: Practice, text: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    chunks = [text[first:after] for first, after in pairwise([0, *sorted(cuts), len(text)])]
    decoder = Decoder(practice=practice)
    items = [item for chunk in chunks[:-1] for item in decoder.decode(chunk)]
    assert plain(items + decoder.decode(chunks[-1], final=True)) == EXPECTED[practice](text)


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
    found = [plain(decoder.decode(chunk)) for chunk in chunks]
    assert found == [[(0, 1, 0x41, None)], [(1, 1, 0xFFFD, "TRUNCATED")], [], []]
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
    units = data.draw(st.lists(st.sampled_from(boundary_units(table)), max_size=12))
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
    message = f"CESU-8 has no practices: {practice} is of a single table"
    assert refusal(TypeError, Decoder, CESU_8, practice=practice) == message
    assert refusal(TypeError, decode, b"", CESU_8, practice=practice) == message
