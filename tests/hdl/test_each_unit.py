# SPDX-License-Identifier: BSD-2-Clause
"""Cores that replace each ill-formed byte by something else than U+FFFD, and the encoder that undoes an escape."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.engines import ENGINE
from support.oracle import BOUNDARY
from support.replacements import REPLACED
from support.transcoders import check, simulation_of, symbols_of

from utf8fpga.hdl import DecoderParameters, EncoderParameters, TranscoderParameters
from utf8fpga.model import ESCAPES, UTF_16, Replacement
from utf8fpga.sim import Simulation
from utf8fpga.sim.strategies import stream_patterns

BLOCK = [chr(point).encode() for point in (0xEF7F, 0xEF80, 0xEFFF, 0xF000)]
texts = st.lists(
    st.lists(st.one_of(st.sampled_from([bytes([unit]) for unit in BOUNDARY]), st.sampled_from(BLOCK)), max_size=12).map(
        b"".join
    ),
    max_size=4,
)
OTHERS = [each for each in Replacement if each is not Replacement.REPLACEMENT_CHARACTER]
SHORT = [
    bytes(units)
    for length in range(4)
    for units in product(bytes.fromhex("41 80 A0 BE C2 E0 EE ED F0 F4"), repeat=length)
]
TARGETS = [
    *product(("question-mark", "substitute"), ("utf-8", "utf-16-le")),
    *product(("private-use-escape",), ("utf-8", "utf-16-be", "utf-32-le", "cesu-8")),
]


@cache
def decoder(replacement: Replacement) -> Simulation:
    return Simulation(DecoderParameters(practice="each-unit", replace_with=replacement).build(), engine=ENGINE)


@cache
def encoder(escape: Replacement, lanes: int) -> Simulation:
    return Simulation(EncoderParameters(unescape=escape, lanes=lanes).build(), engine=ENGINE)


def decoded(given: list[bytes], replacement: Replacement, **patterns: Any) -> list[str]:
    """The texts that a decoder outputs."""
    run = decoder(replacement).run(given, **patterns)
    assert run.texts == [decoder(replacement).expected(text) for text in given]
    return ["".join(chr(word.code_point) for word in words) for words in run.texts]


@pytest.mark.parametrize("replacement", OTHERS)
def test_short_texts(replacement: Replacement) -> None:
    assert decoded(SHORT, replacement) == list(map(REPLACED[replacement], SHORT))


@pytest.mark.smoke
@pytest.mark.parametrize("replacement", OTHERS)
@given(given=texts, patterns=stream_patterns())
def test_any_texts_with_any_pauses(replacement: Replacement, given: list[bytes], patterns: dict[str, Any]) -> None:
    assert decoded(given, replacement, **patterns) == list(map(REPLACED[replacement], given))


@pytest.mark.parametrize(("escape", "lanes"), [*((escape, 1) for escape in ESCAPES), (ESCAPES[0], 2)])
@given(given=texts)
def test_the_encoder_undoes_what_the_decoder_does(escape: Replacement, lanes: int, given: list[bytes]) -> None:
    words = [list(map(ord, text)) for text in decoded(given, escape)]
    run = encoder(escape, lanes).run(words)
    assert [bytes(unit.value for unit in units) for units in run.texts] == given


@pytest.mark.smoke
@pytest.mark.parametrize(("replacement", "to"), TARGETS)
@given(given=texts, patterns=stream_patterns())
def test_transcoders(replacement: str, to: str, given: list[bytes], patterns: dict[str, Any]) -> None:
    check({"replace_with": replacement, "to": to}, given, REPLACED[Replacement(replacement)], **patterns)


@pytest.mark.parametrize("lanes", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("stored", ["utf-8", pytest.param("utf-16-be", marks=pytest.mark.slow)])
@given(given=texts, patterns=stream_patterns())
def test_a_transcoder_undoes_what_another_one_does(
    lanes: int, stored: str, given: list[bytes], patterns: dict[str, Any]
) -> None:
    escaped = [REPLACED[Replacement.PRIVATE_USE_ESCAPE](text).encode(stored) for text in given]
    units = [symbols_of(each, stored) for each in escaped]
    simulation = simulation_of(TranscoderParameters(from_=stored, unescape="private-use-escape", lanes=lanes))
    run = simulation.run(units, **patterns)
    assert [bytes(unit.value for unit in made) for made in run.texts] == given
    assert run.texts == [simulation.expected(each) for each in units]


@given(given=st.lists(st.binary(max_size=40), max_size=3), patterns=stream_patterns())
def test_a_sanitizer_in_place_keeps_the_length(given: list[bytes], patterns: dict[str, Any]) -> None:
    run = simulation_of(TranscoderParameters(replace_with="substitute")).run(given, **patterns)
    assert list(map(len, run.texts)) == list(map(len, given))
    assert [[unit.error for unit in units] for units in run.texts] == [
        # The bytes of all other characters are not marked.
        [mark for mark, size in _characters(text) for _ in range(size)]
        for text in given
    ]


def _characters(text: bytes) -> list[tuple[bool, int]]:
    characters = text.decode("utf-8", "surrogateescape")
    return [(mark := "\udc80" <= each <= "\udcff", 1 if mark else len(each.encode())) for each in characters]


def test_a_sanitizer_of_utf_16_in_place() -> None:
    fields = {"from_": "utf-16-be", "to": "utf-16-be", "replace_with": "question-mark"}
    check(fields, [b"\x00A\xd8\x00\xd8\x3d\xde\x00\xdc\x00"], lambda _text: "A?\U0001f600?")


def test_other_tables() -> None:
    simulation = Simulation(DecoderParameters(table=UTF_16, practice="each-unit", replace_with="substitute").build())
    (found,) = simulation.run([[0x41, 0xD83D, 0xD83D, 0xDE00, 0xDC00]]).texts
    assert [(word.code_point, word.error) for word in found] == [
        (0x41, False),
        (0x1A, True),
        (0x1F600, False),
        (0x1A, True),
    ]
