# SPDX-License-Identifier: BSD-2-Clause
"""Transcoders from compositions, CESU-8 and Modified UTF-8, against CPython's surrogates and the model."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import chain, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.codecs_oracle import encoded_by_cpython, scalar_values
from support.tiers import tiered
from support.transcoders import check, simulation_of

from utf8fpga.hdl import TranscoderParameters
from utf8fpga.model import CESU_8, MODIFIED_UTF_8, decode
from utf8fpga.model.decoder import ComposedDecoder
from utf8fpga.model.table import Composition
from utf8fpga.sim.strategies import stream_patterns

CASES: dict[str, dict[str, Any]] = {
    "cesu-8": {"from_": "cesu-8"},
    "cesu-8-pipeline-0": {"from_": "cesu-8", "pipeline": 0},
    "cesu-16": {"from_": "cesu-8", "to": "utf-16-le", "pipeline": 2},
    "modified-8": {"from_": "modified-utf-8"},
    "cesu-8-2": {"from_": "cesu-8", "lanes": 2},
    "cesu-8-3-sparse": {"from_": "cesu-8", "lanes": 3, "packed": False},
    "cesu-16-4": {"from_": "cesu-8", "to": "utf-16-be", "lanes": 4},
    "cesu-cesu-4": {"from_": "cesu-8", "to": "cesu-8", "lanes": 4},
    "cesu-8-5-narrow": {"from_": "cesu-8", "lanes": 5, "narrow": True},
    "modified-8-4": {"from_": "modified-utf-8", "lanes": 4},
    "modified-32-8": {"from_": "modified-utf-8", "to": "utf-32-le", "lanes": 8},
    "modified-cesu-bom-2": {"from_": "modified-utf-8", "to": "cesu-8", "lanes": 2, "bom": "remove"},
}
QUICK = ["cesu-8", "cesu-8-pipeline-0"]

TAILS = rb"[\xe1-\xef][\x80-\xbf]{2}|\xe0[\xa0-\xbf][\x80-\xbf]"
BROKEN = rb"[\xe1-\xef][\x80-\xbf]?|\xe0[\xa0-\xbf]?"
UNITS = {
    # UTR 26: UTF-16 code units in the sequences of one to three bytes.
    "cesu-8": re.compile(rb"([\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|" + TAILS + rb")|" + BROKEN + rb"|.", re.DOTALL),
    # Java: NUL is C0 80.
    "modified-utf-8": re.compile(
        rb"([\x01-\x7f]|\xc0\x80|[\xc2-\xdf][\x80-\xbf]|" + TAILS + rb")|" + BROKEN + rb"|.", re.DOTALL
    ),
}
"""The code units of a text, and outside of the group the maximal subparts of what is none."""


def text_by_cpython(data: bytes, source: str) -> str:
    """A text with U+FFFD for what is ill-formed: each code unit by `surrogatepass`, pairs by the codec of UTF-16."""
    parts: list[str] = []
    for match in UNITS[source].finditer(data):
        unit = match[1]
        if unit is None:
            # A noncharacter that no test has elsewhere, since U+FFFD is well-formed.
            parts.append("\ufdd0")
        else:
            parts.append("\0" if unit == b"\xc0\x80" else unit.decode("utf-8", "surrogatepass"))
    pairs = "".join(parts).encode("utf-16-le", "surrogatepass")
    return pairs.decode("utf-16-le", "replace").replace("\ufdd0", "\ufffd")


def decoded_by(name: str) -> Callable[[bytes], str]:
    def decoded(text: bytes) -> str:
        characters = text_by_cpython(text, CASES[name]["from_"])
        return characters.removeprefix("\ufeff") if CASES[name].get("bom") == "remove" else characters

    return decoded


PIECES = [
    *(b"A", b"\0", b"\xc0\x80", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xef\xbf\xbd", b"\xff", b"\x80", b"\xe2\x82", b"\xc3"),
    # The bounds of the surrogates, which are halves of pairs or alone, and what is next to them.
    *(bytes.fromhex(each) for each in ("EDA080", "EDAFBF", "EDB080", "EDBFBF", "ED9FBF", "EE8080", "ED", "EDA0")),
    bytes.fromhex("EDA0BDEDB880"),
    bytes.fromhex("F09F9880"),
]


@pytest.mark.parametrize("form", [CESU_8, MODIFIED_UTF_8], ids=lambda form: form.name)
def test_golden_items_in_parts_are_those_of_the_model(form: Composition) -> None:
    rng = random.Random(form.name)
    golden = ComposedDecoder(form)
    texts = [
        b"".join(each) for each in chain(product(PIECES, repeat=2), (rng.choices(PIECES, k=9) for _ in range(300)))
    ]
    for text in texts:
        whole = list(decode(text, form))
        assert golden.process(text, final=True) == whole
        cut = rng.randrange(len(text) + 1)
        assert golden.process(text[:cut]) + golden.process(text[cut:], final=True) == whole
        name = "cesu-8" if form is CESU_8 else "modified-utf-8"
        assert "".join(chr(item.code_point) for item in whole) == text_by_cpython(text, name)


@pytest.mark.parametrize("name", tiered({each: each for each in CASES}, QUICK))
def test_pairs_and_single_surrogates_in_any_lane(name: str) -> None:
    rng = random.Random(name)
    texts = [b"".join(rng.choices(PIECES, k=12)) for _ in range(25)]
    texts += [b"A" * before + high + low for before in range(4) for high in PIECES[10:12] for low in PIECES]
    check(CASES[name], texts, decoded_by(name), output_pauses=[False, False, True])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@given(data=st.data(), patterns=stream_patterns())
@settings(max_examples=30)
def test_any_text_with_any_pauses(name: str, data: st.DataObject, patterns: dict[str, list[bool]]) -> None:
    texts = data.draw(st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join), max_size=4))
    check(CASES[name], texts, decoded_by(name), **patterns)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cesu-8", "cesu-16-4", "modified-8-4"])
def test_every_scalar_value(name: str) -> None:
    text = "".join(map(chr, (point for point in scalar_values(3) if point != 0xFDD0)))
    check(CASES[name], [encoded_by_cpython(text, CASES[name]["from_"])], decoded_by(name))


def test_from_cesu_8_a_byte_is_taken_in_each_cycle_of_pairs() -> None:
    text = bytes.fromhex("EDA0BDEDB880") * 20
    accepted = simulation_of(TranscoderParameters(from_="cesu-8", pipeline=0)).run([text]).accepted
    assert accepted == list(range(accepted[0], accepted[0] + len(text)))
