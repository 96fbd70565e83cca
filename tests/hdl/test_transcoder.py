# SPDX-License-Identifier: BSD-2-Clause
"""Transcoders: equal to CPython's codecs on any text, with pauses on both sides, at the stated rate."""

from __future__ import annotations

import random
from importlib import resources
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.codecs_oracle import encoded_by_cpython
from support.strategies import any_text, stream_patterns
from support.tiers import tiered
from support.transcoders import check, simulation_of, symbols_of

from utf8fpga.hdl import TranscoderParameters
from utf8fpga.model.encodings import ENCODINGS

PAIRS = {
    "8-16": {"to": "utf-16-le"},
    "8-8": {},
    "16-8": {"from_": "utf-16-be"},
    "16-16": {"from_": "utf-16-le", "to": "utf-16-be"},
}
SHAPES: dict[str, dict[str, Any]] = {
    "": {"optimize": "area"},
    "-2": {"lanes": 2},
    "-3": {"lanes": 3},
    "-4": {"lanes": 4},
    "-16": {"lanes": 16},
}
CHOICES = {f"{pair}{shape}": PAIRS[pair] | SHAPES[shape] for pair in PAIRS for shape in SHAPES}
CHOICES |= {f"{pair}-pipelined": {**PAIRS[pair], "optimize": "speed"} for pair in ("8-16", "8-8", "16-8")}
CHOICES |= {
    f"8-{width}-{lanes}": {"to": to, "lanes": lanes}
    for width, to in ((8, "utf-8"), (16, "utf-16-le"))
    for lanes in (*range(5, 16), 17, 32)
}
IN_EVERY_RUN = ("8-16", "8-16-4", "8-8", "8-8-pipelined")

FACE = "\U0001f600"


@pytest.fixture(scope="module", params=tiered({name: name for name in CHOICES}, IN_EVERY_RUN, smoke=("8-8", "8-16")))
def parameters(request: pytest.FixtureRequest) -> dict[str, Any]:
    return CHOICES[request.param]


@given(data=st.data(), patterns=stream_patterns())
@settings(max_examples=20)
def test_texts_become_those_of_cpython(
    parameters: dict[str, Any], data: st.DataObject, patterns: dict[str, Any]
) -> None:
    source = ENCODINGS[parameters.get("from_", "utf-8")]
    check(parameters, map(source.to_bytes, data.draw(st.lists(any_text(source.form), max_size=5))), **patterns)


def test_a_text_at_every_alignment(parameters: dict[str, Any]) -> None:
    """Sequences of all lengths, marks and empty packets begin in every lane, and none waits for another one."""
    source = parameters.get("from_", "utf-8")
    texts = []
    for before, text in product(range(min(parameters.get("lanes", 1), 17)), (f"é€{FACE}a", FACE * 5, "a")):
        data = encoded_by_cpython("x" * before + text, source)
        texts += [data, data[: -ENCODINGS[source].unit_bytes]]
    for pause in ((False,), (False, True, True), (True, False, False, False)):
        check(parameters, texts, output_pauses=pause)


def test_a_surrogate_pair_does_not_share_a_beat_that_is_full_or_ends_a_packet() -> None:
    """The first three bytes of U+1F600 are a beat without an item, so its first unit would be in the beat before."""
    texts = ["abc" + f"{FACE}xy" * 60, "a", FACE, "ab", f"{FACE}abcdef{FACE}", "", FACE]
    # Where the output is not ready for long, beats without an item have left no gap in the decoder.
    for pause in ((False,), (True, True, False), [True] * 150 + [False] * 150):
        check(CHOICES["8-16-3"], map(str.encode, texts), output_pauses=pause)


def test_the_flag_is_that_of_marks_only() -> None:
    (found,) = simulation_of(TranscoderParameters()).run([b"\xef\xbf\xbd\xff"]).texts
    assert found == [(0xEF, False), (0xBF, False), (0xBD, False), (0xEF, True), (0xBF, True), (0xBD, True)]


WELL_FORMED_ONLY = ("8-8", "8-8-pipelined")
"""Transcoders that an ill-formed byte, with its three bytes of output, makes wait."""


@pytest.mark.smoke
@pytest.mark.parametrize(
    "name",
    tiered(
        {
            name: name
            for name in ("8-16", "8-8", "8-8-pipelined", "8-16-4", "8-16-5", "8-16-pipelined", "8-8-4", "16-8-4")
        },
        4,
    ),
)
def test_a_beat_is_accepted_in_each_cycle(name: str) -> None:
    rng, parameters = random.Random(3), TranscoderParameters(**CHOICES[name])
    text = ("".join(rng.choices(f"aé€{FACE}", k=400)) + f"{FACE}aaaaaaaa" * 8).encode(parameters.from_)
    damaged = bytes(each for each in text if rng.random() < 0.9)
    worst = bytes(rng.choices(b"A\x80\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\xff", k=1000)) + FACE.encode() * 5
    for data in (text,) if name in WELL_FORMED_ONLY else (text, damaged, worst):
        accepted = simulation_of(parameters).run([symbols_of(data, parameters.from_)]).accepted
        assert accepted == list(range(accepted[0], accepted[0] + len(accepted)))


@pytest.mark.parametrize(("name", "ahead"), [("8-8", 2), ("8-8-pipelined", 9)])
def test_utf_8_to_utf_8_with_one_lane_takes_a_byte_in_three_cycles_of_the_worst_input(name: str, ahead: int) -> None:
    accepted = simulation_of(TranscoderParameters(**CHOICES[name])).run([b"\xff" * 100]).accepted
    assert accepted[-1] - accepted[0] <= 3 * 99
    assert accepted[-1] - accepted[0] >= 3 * (99 - ahead)


@pytest.mark.smoke
@pytest.mark.parametrize("name", ["multilingual", "torture"])
@pytest.mark.parametrize("choice", tiered({name: name for name in ("8-16", "8-16-4", "8-8", "8-8-4")}, 3))
def test_real_texts(name: str, choice: str) -> None:
    check(CHOICES[choice], [resources.files("utf8fpga").joinpath("texts", f"{name}.txt").read_bytes()])
