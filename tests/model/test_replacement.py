# SPDX-License-Identifier: BSD-2-Clause
"""What marks become, compared with CPython's error handlers, and escapes that are undone."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracle import BOUNDARY, refusal
from support.replacements import REPLACED, escaped_privately

from utf8fpga.model import (
    ESCAPES,
    GENERALISED_UTF_8,
    MODIFIED_UTF_8_CODE_UNITS,
    TABLE_3_7,
    UTF_16,
    EncodingTable,
    IncrementalDecoder,
    Practice,
    Replacement,
    decode_with,
    encode_escaped,
)
from utf8fpga.model.encoder import GoldenEncoder
from utf8fpga.model.encodings import ENCODINGS

BLOCK = [chr(point).encode() for point in (0xEF7F, 0xEF80, 0xEFBF, 0xEFC0, 0xEFFF, 0xF000)]
"""The bounds of the block of the private-use escape."""


by_replacement = pytest.mark.parametrize("replacement", Replacement)
by_escape = pytest.mark.parametrize("escape", ESCAPES)

UNITS = bytes({*BOUNDARY, 0x3F, 0xBD, 0xBE})


def decoded(text: bytes, replacement: Replacement, table: EncodingTable = TABLE_3_7) -> str:
    items = list(decode_with(text, Practice.EACH_UNIT, table, replace_with=replacement))
    assert [item.offset for item in items] == [0, *(item.offset + item.length for item in items)][:-1]
    assert all(item.length == 1 for item in items if item.error is not None)
    return "".join(chr(item.code_point) for item in items)


@pytest.mark.smoke
@by_replacement
@pytest.mark.parametrize("length", [0, 1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_all_texts_of_boundary_bytes(replacement: Replacement, length: int) -> None:
    for units in product(UNITS, repeat=length):
        text = bytes(units)
        found = decoded(text, replacement)
        assert found == REPLACED[replacement](text), text.hex(" ")
        if replacement in ESCAPES:
            assert encode_escaped(found, replacement) == text


def test_all_bytes_that_begin_a_sequence_of_the_block() -> None:
    """The only sequences of four bytes and less that the private-use escape treats in another way."""
    for pair in product(range(0x80, 0xC0), repeat=2):
        for text in (bytes((0xEE, *pair)), bytes((0xEE, *pair, 0x80)), bytes((0xEE, pair[0], 0x41, pair[1]))):
            found = decoded(text, Replacement.PRIVATE_USE_ESCAPE)
            assert found == escaped_privately(text)
            assert encode_escaped(found, Replacement.PRIVATE_USE_ESCAPE) == text


texts = st.lists(
    st.one_of(st.binary(max_size=4), st.sampled_from(BLOCK), st.characters(exclude_categories=["Cs"]).map(str.encode)),
    max_size=24,
).map(b"".join)


@pytest.mark.smoke
@by_replacement
@given(text=texts, data=st.data())
def test_any_text_in_any_chunks(replacement: Replacement, text: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    decoder = IncrementalDecoder(Practice.EACH_UNIT, replace_with=replacement)
    items = [item for first, after in pairwise([0, *cuts, len(text)]) for item in decoder.decode(text[first:after])]
    items += decoder.decode(b"", final=True)
    assert "".join(chr(item.code_point) for item in items) == REPLACED[replacement](text)


@by_escape
@given(text=texts)
def test_the_encoder_undoes_an_escape(escape: Replacement, text: bytes) -> None:
    found = decoded(text, escape)
    assert encode_escaped(found, escape) == encode_escaped(map(ord, found), str(escape)) == text
    encoder = GoldenEncoder(ENCODINGS["utf-8"], unescape=escape)
    assert bytes(unit.value for unit in encoder.process(map(ord, found))) == text
    if escape is Replacement.SURROGATE_ESCAPE:
        assert found.encode("utf-8", "surrogateescape") == text


@given(text=st.text(st.one_of(st.characters(), st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF))))
def test_any_string_is_encoded_as_by_cpython(text: str) -> None:
    try:
        expected = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        refusal(ValueError, encode_escaped, text, Replacement.SURROGATE_ESCAPE)
    else:
        assert encode_escaped(text, Replacement.SURROGATE_ESCAPE) == expected


@by_escape
@given(text=texts)
def test_a_table_with_surrogates_is_escaped_without_loss(escape: Replacement, text: bytes) -> None:
    text += b"\xed\xb2\x80"
    items = decode_with(text, Practice.EACH_UNIT, GENERALISED_UTF_8, replace_with=escape)
    assert encode_escaped([item.code_point for item in items], escape, GENERALISED_UTF_8) == text


# Invalid arguments


@pytest.mark.parametrize("practice", [each for each in Practice if each is not Practice.EACH_UNIT])
def test_other_practices_have_marks_of_several_bytes(practice: Practice) -> None:
    wanted = f"question-mark replaces single code units: use practice each-unit, not {practice}"
    for call in (IncrementalDecoder, lambda *args, **others: decode_with(b"", *args, **others)):
        assert refusal(ValueError, call, practice, replace_with="question-mark") == wanted


def test_an_escape_requires_bytes_above_7f() -> None:
    for table in (UTF_16, MODIFIED_UTF_8_CODE_UNITS):
        wanted = f"surrogate-escape is for ill-formed bytes 80..FF, but not all of {table.name} are"
        assert refusal(ValueError, decode_with, b"", "each-unit", table, replace_with="surrogate-escape") == wanted
        assert refusal(ValueError, encode_escaped, "", "surrogate-escape", table) == wanted


def test_replacement_by_name() -> None:
    wanted = f"'nonsense' is not one of {', '.join(Replacement)}"
    assert refusal(ValueError, decode_with, b"", "each-unit", replace_with="nonsense") == wanted
    wanted = "'question-mark' is no escape: use surrogate-escape or private-use-escape"
    assert refusal(ValueError, encode_escaped, "", "question-mark") == wanted
    message = refusal(TypeError, encode_escaped, 5, "surrogate-escape")
    assert message == "code points must be a string or an iterable of integers, not int"
