# SPDX-License-Identifier: BSD-2-Clause
"""The encodings by name, and the golden functions of encoder and transcoder, against CPython's codecs."""

from __future__ import annotations

from itertools import product

import pytest
from support.codecs_oracle import (
    PYTHON_CODECS,
    encoded_by_cpython,
    scalar_values,
    transcoded_by_cpython,
    units_of_bytes,
)
from support.oracle import refusal

from utf8fpga.model import InvalidArgumentError, decode, encode_units
from utf8fpga.model.encoder import CodeUnit, GoldenEncoder, GoldenTranscoder
from utf8fpga.model.encodings import ENCODINGS, encoding_named

ORACLES = (*PYTHON_CODECS, "cesu-8", "modified-utf-8")

BOUNDARY_BYTES = bytes.fromhex("41 7F 80 8F 90 9F A0 BF C1 C2 E0 ED EF F0 F4 F5")
BOUNDARY_UNITS = (0x41, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFEFF)


def transcoder(source: str, target: str) -> GoldenTranscoder:
    return GoldenTranscoder(ENCODINGS[source], ENCODINGS[target])


def test_the_names_are_those_of_cpython_where_it_has_them() -> None:
    """The others are those in docs/transcoder.md. The tables of a composition are no encodings by themselves."""
    others = {"utf-8-of-rfc-2279", "generalised-utf-8", "cesu-8", "modified-utf-8"}
    assert set(ENCODINGS) == {*PYTHON_CODECS, *others}
    for name in PYTHON_CODECS:
        assert ENCODINGS[name].to_bytes(ENCODINGS[name].form.encode(0x1F600)) == "\U0001f600".encode(name)


def test_an_unknown_name_is_refused() -> None:
    known = ", ".join(ENCODINGS)
    message = f"encoding 'utf-7' is not one of {known}"
    assert refusal(InvalidArgumentError, encoding_named, "utf-7") == message


@pytest.mark.smoke
@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("step", [61, pytest.param(1, marks=pytest.mark.slow)])
def test_scalar_values_encode_as_in_cpython_and_decode_back(name: str, step: int) -> None:
    points, encoding = scalar_values(step), ENCODINGS[name]
    symbols = GoldenEncoder(encoding).process(points, final=True)
    assert not any(symbol.error for symbol in symbols)
    units = tuple(symbol.value for symbol in symbols)
    assert encoding.to_bytes(units) == encoded_by_cpython("".join(map(chr, points)), name)
    assert encode_units(points, encoding.form) == units
    items = list(decode(units, encoding.form))
    assert [item.code_point for item in items] == points
    assert not any(item.error for item in items)


@pytest.mark.parametrize("word", [0xD800, 0xDFFF, 0x110000, 0xFFFFFFFF])
def test_other_words_are_replaced(word: int) -> None:
    assert GoldenEncoder(ENCODINGS["utf-8"]).process([word]) == [
        CodeUnit(0, 0xEF, True),
        CodeUnit(0, 0xBF, True),
        CodeUnit(1, 0xBD, True),
    ]


@pytest.mark.smoke
@pytest.mark.parametrize("target", ORACLES)
def test_texts_of_boundary_bytes_are_transcoded_as_by_cpython(target: str) -> None:
    for text in map(bytes, product(BOUNDARY_BYTES, repeat=3)):
        units = transcoder("utf-8", target).process(text, final=True)
        assert ENCODINGS[target].to_bytes(unit.value for unit in units) == transcoded_by_cpython(text, "utf-8", target)
        assert sum(unit.length for unit in units) == len(text)


@pytest.mark.parametrize("source", ["utf-16-le", "utf-16-be"])
def test_texts_of_boundary_units_are_transcoded_as_by_cpython(source: str) -> None:
    for text in product(BOUNDARY_UNITS, repeat=4):
        data = ENCODINGS[source].to_bytes(text)
        given = [int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2)]
        units = transcoder(source, "utf-8").process(given, final=True)
        assert bytes(unit.value for unit in units) == transcoded_by_cpython(data, source, "utf-8")
        assert units_of_bytes(data, source) == list(text)
