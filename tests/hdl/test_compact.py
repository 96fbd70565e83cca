# SPDX-License-Identifier: BSD-2-Clause
"""Decoders that accept gaps at the input: equal to CPython for any `keep` of any beat."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engines import ENGINE
from support.tiers import tiered

from utf8fpga.hdl import DecoderParameters, axi_verilog
from utf8fpga.model import InvalidArgumentError
from utf8fpga.model.forms import RFC_2279
from utf8fpga.sim import Simulation, compare, simulate
from utf8fpga.sim.beats import Beat, StreamOptions
from utf8fpga.sim.soak import soak
from utf8fpga.sim.strategies import pauses, texts

SHAPES = {
    f"{lanes}{'' if packed else '-sparse'}": {"lanes": lanes, "packed": packed}
    for lanes in (2, 3, 4, 5, 8, 16, 64)
    for packed in (True, False)
}
SHAPES["4-sparse-registers"] = {"lanes": 4, "packed": False, "buffer": "registers", "pipeline": 0}
IN_EVERY_RUN = ("2", "3", "4", "4-sparse")


@cache
def simulation_of(name: str) -> Simulation:
    return Simulation(DecoderParameters(**SHAPES[name], compact_input=True).build(), engine=ENGINE)


@pytest.fixture(scope="module", params=tiered({name: name for name in SHAPES}, IN_EVERY_RUN))
def simulation(request: pytest.FixtureRequest) -> Simulation:
    return simulation_of(request.param)


def characters(items: Iterable[Any]) -> str:
    return "".join(chr(item.code_point) for item in items)


def decoded(simulation: Simulation, beats: Iterable[Beat], **patterns: Any) -> list[str]:
    """The text of each packet."""
    found = [""]

    def take(item: Any, last: bool, _since: int) -> None:
        if item is not None:
            found[-1] += chr(item.code_point)
        if last:
            found.append("")

    simulation.stream(iter(beats), take, StreamOptions(**patterns))
    assert found.pop() == ""
    return found


@pytest.mark.parametrize("packed", [True, False])
def test_a_partial_beat_within_a_packet(packed: bool) -> None:
    """Without the option, these bytes would be two marks: the decoder takes lanes without a byte for the text's end."""
    simulation = simulation_of("4" if packed else "4-sparse")
    beats: list[Beat] = [((0x61, 0xC3), False), ((0xA9, 0x62, 0x63, 0x64), True)]
    assert decoded(simulation, beats) == ["aébcd"]


@pytest.mark.parametrize("name", ["2", "3", "4-sparse"])
def test_a_sequence_with_gaps_and_null_beats_at_every_place(name: str) -> None:
    """Each byte of a text of four lengths in a beat of its own or not, in each lane, after a null beat or not."""
    simulation = simulation_of(name)
    lanes = simulation.core.lanes
    text = "é€😀a".encode()
    streams = []
    for lane, null, share in product(range(lanes), (False, True), (1, 2)):
        slots = [[None] * lane + [byte] + [None] * (lanes - 1 - lane) for byte in text]
        if share == 2:
            slots = [[text[at], *[None] * (lanes - 2), *text[at + 1 : at + 2]] for at in range(0, len(text), 2)]
        beats: list[Beat] = []
        for row in slots:
            beats += [((None,) * lanes, False)] * null + [(tuple(row), False)]
        streams.append([*beats, ((), True)])
    found = decoded(simulation, (beat for stream in streams for beat in stream))
    assert found == ["é€😀a"] * len(streams)


@given(
    given=texts(max_size=5),
    gaps=pauses(),
    input_pauses=pauses(),
    output_pauses=pauses(),
    null_beats=pauses(),
    separate_ends=st.lists(st.booleans(), min_size=1, max_size=5),
)
@settings(max_examples=40, deadline=None)
def test_any_gaps_and_pauses_against_cpython(
    simulation: Simulation, given: list[tuple[int, ...]], **patterns: list[bool]
) -> None:
    run = simulation.run(given, **patterns)
    assert list(map(characters, run.texts)) == [bytes(text).decode("utf-8", "replace") for text in given]


def test_one_beat_per_cycle(simulation: Simulation) -> None:
    run = simulation.run([b"A" * (50 * simulation.core.lanes)])
    assert run.accepted == list(range(run.accepted[0], run.accepted[0] + 50))


def test_gaps_are_for_cores_that_accept_them() -> None:
    plain = DecoderParameters(lanes=4)
    message = r"^gaps \[True, False\], but decoder-4 does not accept gaps: leave them out$"
    with pytest.raises(InvalidArgumentError, match=message):
        Simulation(plain.build(), plain).run([b"A"], gaps=[True, False])
    with pytest.raises(InvalidArgumentError, match=r"^gaps \[True\] has no lane with a symbol: include one False$"):
        simulation_of("4").run([b"A"], gaps=[True])
    assert characters(simulate("aé".encode(), lanes=2, compact_input=True, gaps=[True, False, False])[0]) == "aé"


def test_a_missing_remover_is_found_with_its_gaps() -> None:
    parameters = DecoderParameters(lanes=2, packed=False, compact_input=True)
    core = parameters.build()
    broken = Simulation(core.decoder, parameters, engine=ENGINE)
    found = compare(broken, "aéaé".encode(), gaps=[False, True, False])
    words = list(found.replay)
    assert words[:3] == ["utf8fpga", "simulate", "--hex"]
    assert words[4:-2] == ["--lanes", "2", "--sparse", "--compact-input"]
    assert (words[-2], set(words[-1])) == ("--gaps", {"0", "1"})
    totals, mismatch = soak(broken, symbols=100_000)
    assert "--gaps" in mismatch.replay
    assert totals.rounds


def test_the_header_says_that_gaps_are_accepted() -> None:
    parameters = DecoderParameters(lanes=2, compact_input=True)
    header = axi_verilog(parameters.build())
    assert "// s_axis_tkeep    1 for each code unit that is present, in any lanes of any beat;\n" in header
    assert "// Bytes wait until there are 2 of them, or until s_axis_tlast.\n" in header


def test_other_tables() -> None:
    parameters = DecoderParameters(table=RFC_2279, lanes=3, compact_input=True)
    simulation = Simulation(parameters.build(), parameters, engine=ENGINE)
    given = [b"\xfc\x84\x80\x80\x80\x80A", b"\xfd\xbf"]
    assert simulation.run(given, gaps=[False, True, True]).texts == [simulation.expected(text) for text in given]
