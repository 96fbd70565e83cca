# SPDX-License-Identifier: BSD-2-Clause
"""Encoders: equal to CPython's codecs for all words, with pauses on both sides, at the stated rate."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.codecs_oracle import encoded_by_cpython, scalar_values, units_of_bytes
from support.engines import ENGINE
from support.strategies import stream_patterns
from support.tiers import tiered

from utf8fpga.hdl import EncoderParameters, build
from utf8fpga.hdl.cores import EncoderEntry
from utf8fpga.model.encoder import GoldenEncoder
from utf8fpga.model.encodings import ENCODINGS, encoding_named
from utf8fpga.sim import Simulation, compare

CHOICES: dict[str, dict[str, Any]] = {
    "utf-8": {},
    "utf-8-2": {"lanes": 2},
    "utf-8-16": {"lanes": 16},
    "utf-16-le": {"to": "utf-16-le"},
    "utf-16-le-4": {"to": "utf-16-le", "lanes": 4},
}
IN_EVERY_RUN = (
    "utf-8",
    "utf-8-2",
)

BOUNDS = [
    point + step
    for point in (0, 0x80, 0x800, 0xD800, 0xDC00, 0xE000, 0xFFFD, 0x10000, 0x20000, 0x100000, 0x110000, 1 << 31)
    for step in (-1, 0, 1)
    if point + step >= 0
]
WORDS = st.sampled_from([*BOUNDS, (1 << 32) - 1]) | st.integers(0, 0x10FFFF) | st.integers(0, (1 << 32) - 1)


@cache
def simulation_of(name: str) -> Simulation:
    return Simulation(build(EncoderParameters(**CHOICES[name])), engine=ENGINE)


@pytest.fixture(scope="module", params=tiered({name: name for name in CHOICES}, IN_EVERY_RUN))
def choice(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def expected(words: list[int], to: str) -> list[tuple[int, bool]]:
    """The units of words, each with its flag, by CPython."""
    found = []
    for word in words:
        is_scalar = word < 0xD800 or 0xE000 <= word < 0x110000
        data = encoded_by_cpython(chr(word) if is_scalar else "\ufffd", to)
        found += [(unit, not is_scalar) for unit in units_of_bytes(data, to)]
    return found


@pytest.mark.smoke
@given(
    texts=st.lists(st.lists(WORDS, max_size=9), max_size=5),
    patterns=stream_patterns(),
)
@settings(max_examples=20)
def test_words_become_the_units_of_cpython(choice: str, texts: list[list[int]], patterns: dict[str, Any]) -> None:
    simulation = simulation_of(choice)
    found = simulation.run(texts, **patterns)
    assert found.texts == [expected(text, simulation.entry.parameters.to) for text in texts]


@pytest.mark.smoke
@pytest.mark.parametrize("name", ["utf-8", "utf-16-le"])
@pytest.mark.parametrize("step", [997, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_scalar_values(name: str, step: int) -> None:
    simulation = simulation_of(name)
    to = simulation.entry.parameters.to
    points = list(scalar_values(step))
    data = encoded_by_cpython("".join(map(chr, points)), to)
    found = simulation.run([points]).texts[0]
    assert ENCODINGS[to].to_bytes(unit.value for unit in found) == data
    assert not any(unit.error for unit in found)


@pytest.mark.smoke
@pytest.mark.parametrize("name", ["utf-8-2", "utf-16-le-4"])
def test_an_encoder_of_several_lanes_takes_a_beat_in_each_cycle(name: str) -> None:
    simulation = simulation_of(name)
    core = simulation.core
    words = [0x10FFFF, 0x41, 0x20AC, 0xD800] * 50
    accepted = simulation.run([words]).accepted
    assert accepted == list(range(accepted[0], accepted[0] + len(words) // core.lanes))


def test_a_replay_command_spells_words_as_in_a_file() -> None:
    """With another golden function, the first difference is reported with the bytes of the words."""

    class Wrong(EncoderEntry):
        def golden(self) -> Any:
            return GoldenEncoder(encoding_named("utf-16-be"))

    parameters = EncoderParameters()
    found = compare(Simulation(build(parameters), Wrong(parameters), engine=ENGINE), [0x41, 0x1F600])
    assert found.replay[:5] == ("utf8fpga", "simulate", "encoder", "--hex", "00 F6 01 00")
