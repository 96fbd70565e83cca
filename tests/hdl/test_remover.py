# SPDX-License-Identifier: BSD-2-Clause
"""The null-word remover: every sentence of its contract, by enumeration in plain Python."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engines import ENGINE
from support.strategies import pauses
from support.tiers import tiered
from support.verilog_ports import declared_ports, header_of

from utf8fpga.hdl import RemoverParameters, axi_verilog, build
from utf8fpga.sim import Simulation
from utf8fpga.sim.beats import PLAIN, Beat, StreamOptions
from utf8fpga.sim.engine import Events

CHOICES: dict[str, dict[str, Any]] = {
    "2-user": {"lanes": 2, "width": 20, "user": 3},
    "2": {"lanes": 2},
    "3": {"lanes": 3, "width": 3},
    "4": {},
    "5-user": {"lanes": 5, "width": 12, "user": 2},
    "8-wide": {"lanes": 8, "width": 64, "user": 64},
    "16-bits": {"lanes": 16, "width": 1},
    "64": {"lanes": 64, "width": 4},
}
CHOICES |= {f"{lanes}-of-8": {"lanes": lanes} for lanes in (*range(5, 18), 32)}
IN_EVERY_RUN = ("2", "3")


@cache
def engine_of(name: str) -> tuple[RemoverParameters, Any]:
    parameters = RemoverParameters(**CHOICES[name])
    return parameters, Simulation(build(parameters), engine=ENGINE)._engine(ENGINE)


@pytest.fixture(scope="module", params=tiered({name: name for name in CHOICES}, IN_EVERY_RUN, smoke=("2",)))
def choice(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def packed(beats: Iterable[Beat], lanes: int) -> list[tuple[list[int], bool]]:
    """The output beats of a remover: symbols and `last`."""
    found: list[tuple[list[int], bool]] = []
    row: list[int] = []
    for slots, last in beats:
        row += [slot for slot in slots if slot is not None]
        if len(row) > lanes or (len(row) == lanes and not last):
            found.append((row[:lanes], False))
            row = row[lanes:]
        if last:
            found.append((row, True))
            row = []
    assert not row
    return found


def output_beats(core: Any, payloads: Iterable[int], bits: int) -> list[tuple[list[int], bool]]:
    """The symbols and `last` of output payloads, whose symbols must be contiguous from lane 0."""
    layout = core.output.payload.shape()
    found = []
    for payload in payloads:
        keep = payload >> layout["keep"].offset & (1 << core.lanes) - 1
        count = keep.bit_count()
        assert keep == (1 << count) - 1, f"a gap: {keep:b}"
        start = layout["symbols"].offset
        row = [payload >> start + lane * bits & (1 << bits) - 1 for lane in range(count)]
        found.append((row, bool(payload >> layout["last"].offset & 1)))
    return found


def run(name: str, beats: Sequence[Beat], **patterns: Sequence[bool]) -> list[tuple[list[int], bool]]:
    """The output beats of a remover for input beats."""
    parameters, engine = engine_of(name)
    payloads: list[int] = []
    events = Events(lambda payload, _cycle, _since: payloads.append(payload))
    engine.run(iter(beats), events, StreamOptions(**patterns))
    return output_beats(build(parameters), payloads, parameters.width + parameters.user)


def joined(beats: Iterable[tuple[Iterable[int | None], bool]]) -> list[list[int]]:
    """The symbols of each packet."""
    found: list[list[int]] = [[]]
    for slots, last in beats:
        found[-1] += [slot for slot in slots if slot is not None]
        if last:
            found.append([])
    assert found.pop() == []
    return found


def numbered(kinds: Iterable[tuple[int, bool]], lanes: int, bits: int) -> Iterator[Beat]:
    """Beats with these values of `keep` and `last`, whose symbols are successive numbers."""
    count = 0
    for keep, last in kinds:
        slots: list[int | None] = []
        for lane in range(lanes):
            slots.append(count % (1 << bits) if keep >> lane & 1 else None)
            count += keep >> lane & 1
        yield tuple(slots), last


@pytest.mark.smoke
@pytest.mark.parametrize(("name", "length"), tiered({"2": ("2", 4), "3": ("3", 3), "4": ("4", 3)}, 3))
def test_every_short_sequence_of_beats(name: str, length: int) -> None:
    """All values of `keep` and `last` in each of some beats, then the end of the packet with a symbol or without."""
    parameters = RemoverParameters(**CHOICES[name])
    lanes = parameters.lanes
    kinds = list(product(range(1 << lanes), (False, True)))
    sequences = [
        [*middle, (end, True)] for middle in product(kinds, repeat=length - 1) for end in (0, (1 << lanes) - 1)
    ]
    beats = list(numbered((kind for sequence in sequences for kind in sequence), lanes, parameters.width))
    expected = packed(beats, lanes)
    assert run(name, beats) == expected
    assert run(name, beats, input_pauses=(False, True), output_pauses=(True, False, False, True)) == expected


@st.composite
def streams(draw: st.DrawFn, lanes: int, bits: int) -> list[Beat]:
    """Beats with any `keep`, of which the last one ends its packet."""
    draws = random.Random(draw(st.integers(0, 1 << 32)))
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
    ends = draw(st.sampled_from([0.02, 0.2, 0.6]))
    count = draw(st.integers(0, 60))
    beats: list[Beat] = []
    for number in range(count):
        slots = tuple(draws.getrandbits(bits) if draws.random() < share else None for _ in range(lanes))
        beats.append((slots, number == count - 1 or draws.random() < ends))
    return beats


@given(data=st.data(), input_pauses=pauses(), output_pauses=pauses())
@settings(max_examples=40, deadline=None)
def test_any_stream_with_pauses_on_both_sides(
    choice: str, data: st.DataObject, input_pauses: list[bool], output_pauses: list[bool]
) -> None:
    parameters, _ = engine_of(choice)
    beats = data.draw(streams(parameters.lanes, parameters.width + parameters.user))
    found = run(choice, beats, input_pauses=input_pauses, output_pauses=output_pauses)
    assert joined(found) == joined(beats)
    assert all(row or last for row, last in found)
    assert found == packed(beats, parameters.lanes)


@pytest.mark.smoke
@pytest.mark.parametrize("name", tiered({name: name for name in CHOICES}, IN_EVERY_RUN))
def test_one_beat_per_cycle_and_full_beats_where_words_are_dense(name: str) -> None:
    parameters, engine = engine_of(name)
    lanes = parameters.lanes
    accepted: list[int] = []
    cycles: list[int] = []
    beats: list[Beat] = [((1,) * lanes, False)] * 50 + [((1,) * lanes, True)]
    events = Events(lambda _payload, cycle, _since: cycles.append(cycle), accepted.append)
    engine.run(iter(beats), events, PLAIN)
    assert accepted == list(range(accepted[0], accepted[0] + 51))
    assert cycles == list(range(cycles[0], cycles[0] + 51))


@pytest.mark.parametrize("lanes", [2, 3, 4])
def test_when_a_partial_beat_is_output(lanes: int) -> None:
    """Not before the beat is full or the packet ends."""
    parameters = RemoverParameters(lanes=lanes)
    core = build(parameters)
    quiet = core.latency + 20
    pattern = [False, *[True] * quiet]
    simulation = Simulation(core, engine=ENGINE)
    # Lane 0 only, in each beat.
    gaps = [False, *[True] * (lanes - 1)]
    result = simulation.run([range(lanes)], input_pauses=pattern, gaps=gaps)
    assert result.texts == [list(range(lanes))]
    assert len(result.accepted) == lanes
    waited = [since - accepted for since, accepted in zip(result.valid_since, result.accepted, strict=True)]
    assert set(result.valid_since) == {result.valid_since[-1]}
    assert waited[-1] <= core.latency


def test_ports_and_header_of_the_verilog() -> None:
    verilog = axi_verilog(build(RemoverParameters(lanes=3, width=12, user=2)))
    widths = {"tdata": 3 * 16, "tkeep": 3 * 2, "tuser": 3 * 2}
    expected = {f"{port}_{name}": widths.get(name, 1) for port in ("s_axis", "m_axis") for name in (*widths, "tlast")}
    expected |= {f"{port}_{name}": 1 for port in ("s_axis", "m_axis") for name in ("tvalid", "tready")}
    assert {name: width for _, name, width in declared_ports(verilog)} == {"clk": 1, "rst": 1, **expected}
    header = header_of(verilog)
    for sentence in (
        "Null-word remover for symbols of 12 bits of data and 2 of tuser, 3 symbols per cycle.",
        "Command: utf8fpga generate remover --lanes 3 --width 12 --user 2 ",
        "s_axis_tdata    3 symbols, the first in the low bits"
        " 16 bits each, of which those above the low 12 are ignored",
        "s_axis_tkeep    11 for each symbol that is present, in any lanes of any beat;",
        "s_axis_tuser    2 bits per symbol ",
        "A beat is output when it is full or its packet ends. ",
    ):
        assert sentence in header, header
    assert "m_axis_tuser" not in axi_verilog(build(RemoverParameters(lanes=2)))
