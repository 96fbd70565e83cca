# SPDX-License-Identifier: BSD-2-Clause
"""Sanitizers: the units of the model in the lanes in which they came, with pauses on both sides and resets."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Const
from hypothesis import given, settings
from hypothesis import strategies as st
from support.benches import run_benches
from support.engines import ENGINE
from support.strategies import any_text, stream_patterns
from support.tiers import tiered
from support.verilog_ports import header_of

from utf8fpga.hdl import Sanitizer, SanitizerParameters, axi_verilog, build, entry_of
from utf8fpga.hdl.payloads import OutputUnit
from utf8fpga.model import RFC_2279, TABLE_3_7, UTF_16, InvalidArgumentError
from utf8fpga.sim import Simulation
from utf8fpga.sim.beats import BeatEncoder, text_beats

CHOICES: dict[str, dict[str, Any]] = {f"{lanes}": {"lanes": lanes} for lanes in (1, 2, 3, 4, 8, 16)}
CHOICES |= {"1-area": {"optimize": "area"}, "4-none": {"lanes": 4, "optimize": "area", "replace_with": "none"}}
CHOICES |= {f"utf-16-{lanes}": {"table": UTF_16, "lanes": lanes} for lanes in (1, 4)}
CHOICES |= {f"rfc-2279-{lanes}": {"table": RFC_2279, "lanes": lanes} for lanes in (1, 2, 4)}
IN_EVERY_RUN = tuple(CHOICES)
CHOICES |= {f"{lanes}": {"lanes": lanes} for lanes in (*range(5, 8), 17, 32, 64)}


@cache
def simulation_of(name: str) -> Simulation:
    return Simulation(build(SanitizerParameters(**CHOICES[name])), engine=ENGINE)


@pytest.fixture(scope="module", params=tiered({name: name for name in CHOICES}, IN_EVERY_RUN, smoke=("1", "4")))
def choice(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@given(data=st.data(), patterns=stream_patterns())
@settings(max_examples=20, deadline=None)
def test_texts_become_those_of_the_model(choice: str, data: st.DataObject, patterns: dict[str, Any]) -> None:
    """With pauses on both sides, null beats and empty packets."""
    simulation = simulation_of(choice)
    texts = data.draw(st.lists(any_text(CHOICES[choice].get("table", TABLE_3_7)), max_size=5))
    assert simulation.run(texts, **patterns).texts == [simulation.expected(text) for text in texts]


BOUNDS = sorted({bound for row in TABLE_3_7.rows for each in row.units for bound in (each.first, each.last)})


@pytest.mark.parametrize("lanes", tiered({"1": 1, "2": 2, "4": 4}, ["1", "4"]))
def test_all_sequences_of_three_boundary_bytes_end_a_packet_in_each_lane(lanes: int) -> None:
    simulation = simulation_of(f"{lanes}")
    texts = [b"A" * (number % lanes) + bytes(each) for number, each in enumerate(product(BOUNDS, repeat=3))]
    assert simulation.run(texts).texts == [simulation.expected(text) for text in texts]


@pytest.mark.smoke
@pytest.mark.parametrize("name", ["1", "3", "4"])
def test_a_beat_is_accepted_in_each_cycle_and_output_in_each_cycle(name: str) -> None:
    rng = random.Random(4)
    text = bytes(rng.choices(b"A\x80\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\xff", k=1000))
    result = simulation_of(name).run([text])
    beats = range(result.accepted[0], result.accepted[0] + -(-len(text) // CHOICES[name]["lanes"]))
    assert result.accepted == list(beats)
    assert result.valid_since[-1] - result.valid_since[0] == len(beats) - 1


Row = tuple[list[OutputUnit], bool]


def expected_beats(parameters: SanitizerParameters, text: bytes) -> list[Row]:
    """The output beats of a packet: the model's units in the beats of the input."""
    entry = entry_of(parameters)
    golden = entry.golden().process(text, final=True)
    units = [entry.comparable(unit) for unit in golden]
    starts = range(0, max(1, len(units)), parameters.lanes)
    return [(units[start : start + parameters.lanes], start == starts[-1]) for start in starts]


def run_with_resets(core: Sanitizer, rng: random.Random) -> Iterator[tuple[list[Row], list[Row]]]:
    """Packets with random pauses, each run of which a reset ends: the beats that are found, and those expected."""
    parameters, domain, lanes = core.parameters, ClockDomain("sync"), core.lanes
    encode = BeatEncoder(core, entry_of(parameters))
    pieces = [
        b"A",
        "\u20ac".encode(),
        "\U0001f600".encode(),
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xff",
        b"\xc3",
        b"",
    ]
    runs: list[tuple[list[Row], list[Row]]] = []

    def output_beat(ctx: Any) -> Row:
        payload = ctx.get(core.output.payload)
        units = [OutputUnit(each.unit, bool(each.error)) for each in payload.symbols]
        return units[: payload.keep.bit_count()], bool(payload.last)

    async def bench(ctx: Any) -> None:
        for _ in range(12):
            texts = [b"".join(rng.choices(pieces, k=rng.randrange(8))) for _ in range(rng.randrange(1, 9))]
            beats = [beat for text in texts for beat in text_beats(text, lanes)]
            expected = [beat for text in texts for beat in expected_beats(parameters, text)]
            found: list[Row] = []
            runs.append((found, expected))
            rates, offered, cycles = (rng.choice([0.3, 0.7, 1]), rng.choice([0.3, 0.7, 1])), False, 0
            stop = rng.choice([len(expected), rng.randrange(len(expected))])
            while len(found) < stop:
                cycles += 1
                assert cycles < 2000, f"{len(found)} of {len(expected)} beats"
                offered = bool(beats) and (offered or rng.random() < rates[0])
                ctx.set(core.input.valid, offered)
                if offered:
                    ctx.set(core.input.payload, core.input.payload.shape().from_bits(encode(beats[0])))
                wants = rng.random() < rates[1]
                ctx.set(core.output.ready, wants)
                if wants and ctx.get(core.output.valid):
                    found.append(output_beat(ctx))
                if offered and ctx.get(core.input.ready):
                    beats.pop(0)
                    offered = False
                await ctx.tick()
            ctx.set(core.input.valid, 0)
            ctx.set(domain.rst, 1)
            await ctx.tick()
            ctx.set(domain.rst, 0)

    run_benches(core, bench, domain=domain)
    yield from runs


@pytest.mark.parametrize(
    "name", tiered({name: name for name in ("1", "2", "3", "4", "8", "16", "64")}, 6, smoke=("4",))
)
def test_units_stay_in_their_lanes_and_a_reset_within_a_packet_discards_it(name: str) -> None:
    core = build(SanitizerParameters(**CHOICES[name]))
    for found, expected in run_with_resets(core, random.Random(5)):
        assert found == expected[: len(found)]


def test_a_fault_in_the_last_lane_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence that continues in the next beat is taken for complete."""
    monkeypatch.setattr(Sanitizer, "_is_open", lambda self, m, beats, suffix: Const(0, 1))
    core = build(SanitizerParameters(lanes=4))
    assert any(found != expected[: len(found)] for found, expected in run_with_resets(core, random.Random(5)))


def test_what_the_header_says() -> None:
    header = header_of(axi_verilog(build(SanitizerParameters(lanes=4))))
    for sentence in (
        "UTF-8 sanitizer, 4 code units per cycle.",
        "Each unit of an ill-formed subsequence becomes ? (U+003F) and has an error flag; all others are unchanged.",
    ):
        assert sentence in header, header
    unchanged = header_of(axi_verilog(build(SanitizerParameters(replace_with="none"))))
    assert "Each unit of an ill-formed subsequence remains as it is, and has an error flag;" in unchanged


def test_message_about_the_replacement() -> None:
    message = "replace_with 'U+FFFD' is not one of question-mark, none"
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        SanitizerParameters(replace_with="U+FFFD")
