# SPDX-License-Identifier: BSD-2-Clause
"""The decoders, serial, sparse and packed: equal to the model, and every sentence of their contract."""

from __future__ import annotations

import random
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable
from functools import cache
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.engines import ENGINE
from support.strategies import stream_patterns, texts
from support.tiers import tiered
from support.verilog_ports import declared_ports

from utf8fpga.hdl import (
    DecoderParameters,
    PackedDecoder,
    ParallelDecoder,
    SerialAreaDecoder,
    SerialSpeedDecoder,
    axi_verilog,
    decoder_core,
)
from utf8fpga.hdl.parameters import OPTIMIZE
from utf8fpga.model import decode
from utf8fpga.model.forms import GENERALISED_UTF_8, RFC_2279
from utf8fpga.sim import Simulation
from utf8fpga.sim.stimulus import boundary_units

FULL: dict[str, Any] = {"kind": True}
LANES = (*range(2, 18), 32, 64)


def parallel(**parameters: Any) -> Any:
    return decoder_core(**{"packed": False, **parameters})


PACKED: dict[str, dict[str, Any]] = {f"{lanes}-packed": {"lanes": lanes, "packed": True} for lanes in LANES}
SHAPES: dict[str, dict[str, Any]] = {f"{lanes}": {"lanes": lanes} for lanes in LANES} | PACKED
SHAPES |= {
    "2-area": {"lanes": 2, "optimize": "area"},
    "4-area": {"lanes": 4, "optimize": "area"},
    "4-packed-area": {"lanes": 4, "packed": True, "optimize": "area"},
}

SERIAL = {f"serial-{each}": {"lanes": 1, "optimize": each} for each in OPTIMIZE}
"""With all fields, and marks as in CPython."""

VARIANTS: dict[str, dict[str, Any]] = {
    "bare": {"kind": False},
}
SERIAL_VARIANTS = {
    f"{name}-{variant}": shape | options
    for (name, shape), (variant, options) in product(SERIAL.items(), VARIANTS.items())
}
SHAPES |= SERIAL | SERIAL_VARIANTS

NARROW = {name: shape for name, shape in SHAPES.items() if shape["lanes"] <= 4 and name not in SERIAL_VARIANTS}
"""The others have the same window, and are slower to simulate."""

SPARSE = {name: shape for name, shape in NARROW.items() if not shape.get("packed") and name not in SERIAL}
"""Parallel decoders without a packer, which may hold items back until a row is full or the input is idle."""


IN_EVERY_RUN = {
    *(
        "2",
        "4",
        "2-area",
        "3-packed",
        "4-packed",
        *SERIAL,
    ),
    *(f"serial-{OPTIMIZE[n % 2]}-{variant}" for n, variant in enumerate(VARIANTS)),
}
"""One of each kind: a buffer in registers or in memory, few stages or many, a packer for each kind of number of lanes.

Decoders of more lanes have the same circuit in each lane, and take seconds to build or to simulate.
"""


def by_shape(shapes: dict[str, dict[str, Any]], *also: str) -> list[Any]:
    """Parameters of a test, of which those in `IN_EVERY_RUN` and `also` are in every run."""
    return [
        pytest.param(shape, id=name, marks=[] if name in {*IN_EVERY_RUN, *also} else [pytest.mark.slow])
        for name, shape in shapes.items()
    ]


@cache
def simulation_of(**shape: Any) -> Simulation:
    """The simulation of a decoder with all fields, elaborated once for all tests of this process."""
    return Simulation(parallel(**{**FULL, **shape}), engine=ENGINE)


@pytest.fixture(scope="module", params=by_shape(SHAPES))
def full(request: pytest.FixtureRequest) -> Simulation:
    return simulation_of(**request.param)


def long_text(rng: random.Random, units: int) -> bytes:
    """Text with characters of all lengths, in which some bytes are changed."""
    characters = "AZ\x7f\x80é߿ࠀ€\ud7ff\ue000\uffff\U00010000😀\U0010ffff"
    text = bytearray("".join(rng.choices(characters, k=units)).encode()[:units])
    for _ in range(units // 12):
        text[rng.randrange(units)] = rng.choice(boundary_units())
    return bytes(text)


def shifted(lanes: int, piece: Iterable[int], before: int) -> tuple[int, ...]:
    """A text in which `piece` begins in lane `before`."""
    return (*[0x41] * (before % lanes), *piece)


@pytest.mark.smoke
@given(data=st.data(), patterns=stream_patterns())
@settings(max_examples=40, suppress_health_check=[HealthCheck.data_too_large])  # many or long texts are intended
def test_equals_the_model(full: Simulation, data: st.DataObject, patterns: dict[str, list[bool]]) -> None:
    lanes = full.core.lanes
    # Pieces of text, damaged or not, each of which begins in a drawn lane.
    joined: list[tuple[int, ...]] = []
    for piece in data.draw(texts(max_size=5)):
        text = shifted(lanes, piece, data.draw(st.integers(0, lanes - 1)))
        if joined and data.draw(st.booleans()):
            joined[-1] += text
        else:
            joined.append(text)
    run = full.run(joined, **patterns)
    assert run.texts == [full.expected(text) for text in joined]


@pytest.mark.smoke
def test_ill_formed_sequences_across_the_boundaries_of_beats(full: Simulation) -> None:
    """Complete, truncated and ill-formed sequences, each of which begins in each lane."""
    lanes = full.core.lanes
    pieces = [b"\xf0\x90\x80\x80", b"\xf0\x90\x80", b"\xf0\x90\x80A", b"\xf0\x90A", b"\xf0\x80\x80\x80", b"\xe0\xa0"]
    pieces += [
        b"\xe1\x80\xe1\x80\x80",
        b"\xed\xa0\x80",
        b"\xc2",
        b"\xc2\xc2\x80",
        b"\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\xff",
    ]
    starts = range(lanes) if lanes <= 8 else range(lanes - 5, lanes)
    all_texts = [shifted(lanes, piece, start) for piece in pieces for start in starts]
    all_texts += [(*text, 0x5A) for text in all_texts]
    for pattern in ([False], [True, False, False]):
        run = full.run(all_texts, output_pauses=pattern)
        assert run.texts == [full.expected(text) for text in all_texts]


@pytest.mark.smoke
def test_long_damaged_text_with_pauses_on_both_sides(full: Simulation) -> None:
    rng = random.Random(full.core.lanes)
    beats = 20 if full.core.lanes < 64 else 6
    several = [long_text(rng, beats * full.core.lanes + rng.randrange(20)) for _ in range(4)]
    for input_pauses, output_pauses in product(([False], [True, False, True]), repeat=2):
        run = full.run(several, input_pauses=input_pauses, output_pauses=output_pauses)
        assert run.texts == [full.expected(text) for text in several]


@pytest.mark.parametrize("full", by_shape(SPARSE), indirect=True)
@pytest.mark.parametrize("piece", [b"\xf0\xa0\x00\xe6\xe0\xa0\x00p", "é€😀a".encode()], ids=["damaged", "whole"])
def test_determined_items_are_transferred_although_no_beat_follows(full: Simulation, piece: bytes) -> None:
    """After a stall, in which stages that wait have already compared the next beat. A mutant lost that result."""
    lanes = full.core.lanes
    stalled, silent = 40, 60
    for start in range(min(lanes, 2)):
        text = bytes(shifted(lanes, piece * (30 * lanes), start))[: 30 * lanes]
        run = full.run(
            [text], input_pauses=[False] * stalled + [True] * silent, output_pauses=[True] * stalled + [False] * silent
        )
        taken = lanes * sum(clock < stalled for clock in run.accepted)
        assert 0 < taken < len(text)
        ends = [(item.offset + item.length, item.error) for item in decode(text)]
        determined = sum(end < taken or (end == taken and error is None) for end, error in ends)
        assert max(run.valid_since[:determined]) < stalled + silent


@pytest.mark.smoke
def test_one_beat_per_cycle_on_any_input(full: Simulation) -> None:
    lanes = full.core.lanes
    for text in (b"\xc2A", b"\xf0\x90\x80", b"\xff", b"\xe0\x80", "é€😀a".encode()):
        whole = (text * (40 * lanes))[: 40 * lanes]
        run = full.run([whole, whole, b"A" * lanes])
        first = run.accepted[0]
        assert run.accepted == list(range(first, first + 81))


@pytest.mark.smoke
def test_a_long_run_of_null_beats_stalls_neither_side(full: Simulation) -> None:
    """A null beat in each cycle, more than any buffer holds, before, between and after the texts."""
    text = b"A" * full.core.lanes
    run = full.run([text, b""], null_beats=[True] * 300 + [False])
    assert run.texts == [full.expected(text), []]
    assert run.accepted[1] - run.accepted[0] == 301


@pytest.mark.smoke
def test_back_to_back_packets_need_no_gap_and_are_independent(full: Simulation) -> None:
    pieces = [b"\xf0\x90\x80", b"\x80", b"\xe0", b"\xa0\x80", b"", b"\xc2", b"\x80", b"A", b""] * 4
    for ends in ([False], [True]):
        run = full.run(pieces, separate_ends=ends)
        assert run.texts == [full.expected(piece) for piece in pieces]
        assert run.accepted == list(range(run.accepted[0], run.accepted[0] + len(run.accepted)))


def test_a_beat_that_ends_within_a_sequence_waits_for_the_next(full: Simulation) -> None:
    lanes = full.core.lanes
    text = b"A" * (lanes - 1) + b"\xc2" + b"\xa9"
    run = full.run([text], input_pauses=[False, *[True] * (full.core.latency + 30)])
    assert run.texts == [full.expected(text)]
    assert run.valid_since[-1] > run.accepted[1]


@pytest.mark.smoke
@pytest.mark.parametrize("full", by_shape(NARROW), indirect=True)
def test_all_triples_of_classes_against_cpython(full: Simulation) -> None:
    members = [0x41, 0x80, 0x90, 0xA0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4, 0xF5, 0xF8]
    triples = [bytes(triple) for triple in product(members, repeat=3)]
    for triple, items in zip(triples, full.run(triples).texts, strict=True):
        assert "".join(chr(item.code_point) for item in items) == triple.decode("utf-8", "replace"), triple.hex(" ")


# Beats of two lanes may hold no item.
@pytest.mark.parametrize("full", by_shape(PACKED, "2-packed"), indirect=True)
def test_packed_beats_are_full_where_text_is_dense(full: Simulation) -> None:
    lanes = full.core.lanes
    # A character has so many units: so many beats fill an output beat, and no other output beat is closed.
    for character in "A\xe9中😀":
        text = character.encode() * (20 * lanes)
        run = full.run([text])
        assert run.texts == [full.expected(text)]
        assert run.accepted == list(range(run.accepted[0], run.accepted[0] + len(text) // lanes))
        assert [run.valid_since.count(clock) for clock in dict.fromkeys(run.valid_since)] == [lanes] * 20
        if character == "A":
            assert run.valid_since[-1] - run.valid_since[0] == 19, "N words in each cycle"


@pytest.mark.parametrize("full", by_shape(PACKED), indirect=True)
def test_nothing_is_held_back_while_the_input_pauses(full: Simulation) -> None:
    """After a beat that ends on a boundary, all items so far are at the output, one cycle later than after an end."""
    lanes, latency = full.core.lanes, full.core.latency
    text = long_text(random.Random(lanes), 48 * lanes)
    checked = 0
    for busy, stalled in ((1, [False]), (3, [False]), (2, [False, False, True])):
        run = full.run([text], input_pauses=[*[False] * busy, *[True] * (2 * latency + 40)], output_pauses=stalled)
        assert run.texts == [full.expected(text)]
        reader = getincrementaldecoder("utf-8")("replace")
        count = 0
        for beat, (accepted, following) in enumerate(pairwise(run.accepted)):
            count += len(reader.decode(text[beat * lanes : (beat + 1) * lanes]))
            if following == accepted + 1 or reader.getstate()[0]:
                continue
            checked += 1
            assert all(since < following for since in run.valid_since[:count])
            if stalled == [False]:
                assert all(since <= accepted + latency + 1 for since in run.valid_since[:count])
    assert checked > 10


@pytest.mark.parametrize("full", by_shape(PACKED), indirect=True)
def test_words_of_every_number_follow_every_fill_level(full: Simulation) -> None:
    """Packets of one beat and a part of the next: every number of words from each place of an output beat on."""
    lanes = full.core.lanes
    numbers = range(lanes) if lanes <= 8 else (0, 1, lanes // 2 - 1, lanes // 2, lanes - 2, lanes - 1)
    heads = ["é" * pairs + "A" * (lanes - 2 * pairs) for pairs in range(lanes // 2 + 1)]
    several = [
        (head + tail * count).encode() for head in heads for count in numbers for tail in ("A", "é", "😀", "中A")
    ]
    for patterns in ({}, {"input_pauses": [False, False, True], "output_pauses": [True, False, False]}):
        run = full.run(several, **patterns)
        assert run.texts == [full.expected(text) for text in several]


FORMS = (RFC_2279, GENERALISED_UTF_8)

OTHER_TABLES = {f"{table.name}-{lanes}": (table, {"lanes": lanes}) for table, lanes in product(FORMS, (3, 6))}
OTHER_TABLES |= {
    f"{table.name}-serial-{optimize}": (table, {"optimize": optimize}) for table, optimize in product(FORMS, OPTIMIZE)
}
OTHERS_IN_EVERY_RUN = (
    # Longer sequences.
    f"{RFC_2279.name}-3",
    # Each table with one setting.
    *(f"{table.name}-serial-{OPTIMIZE[n % 2]}" for n, table in enumerate(FORMS)),
)


@pytest.fixture(
    scope="module", params=tiered({name: (case,) for name, case in OTHER_TABLES.items()}, OTHERS_IN_EVERY_RUN)
)
def other(request: pytest.FixtureRequest) -> Simulation:
    table, options = request.param
    return Simulation(parallel(table=table, **options, **FULL), engine=ENGINE)


@given(data=st.data(), patterns=stream_patterns())
@settings(max_examples=40, deadline=None)
def test_other_tables_equal_their_models(
    other: Simulation, data: st.DataObject, patterns: dict[str, list[bool]]
) -> None:
    table = other.core.parameters.table
    drawn = data.draw(st.lists(texts(table, max_size=2).map(lambda pair: sum(pair, ())), max_size=4))
    run = other.run(drawn, **patterns)
    assert run.texts == [other.expected(text) for text in drawn]


# Parameters and tables that are rejected.


@pytest.mark.parametrize("lanes", [4, *(pytest.param(lanes, marks=pytest.mark.slow) for lanes in (5, 7, 8)), 16])
def test_a_packer_has_room_for_all_beats_that_it_accepted(lanes: int) -> None:
    """Each beat ends with an open sequence and is full of items, so all that are in flight need a row of their own."""
    decoder = decoder_core(lanes=lanes)
    assert isinstance(decoder, PackedDecoder)
    text, silent = (b"A" * (lanes - 1) + b"\xc2") * 60, 90
    run = Simulation(decoder, engine="python").run(
        [text, b"\xc2" * lanes], output_pauses=[True] * silent + [False] * 100
    )
    assert run.texts[0] == [(0x41, False)] * (lanes - 1) + ([(0xFFFD, True)] + [(0x41, False)] * (lanes - 1)) * 59 + [
        (0xFFFD, True)
    ]
    assert run.texts[1] == [(0xFFFD, True)] * lanes
    # Nearly as many beats as there are rows were accepted before the consumer was ready.
    accepted, rows = sum(cycle < silent for cycle in run.accepted), decoder.packer.depth
    assert rows - 3 <= accepted <= rows


def test_decoder_picks_the_architecture() -> None:
    assert type(decoder_core()) is type(decoder_core(packed=True)) is SerialSpeedDecoder
    assert type(decoder_core(optimize="area")) is SerialAreaDecoder
    assert type(decoder_core(lanes=2)) is type(decoder_core(lanes=16)) is PackedDecoder
    assert type(decoder_core(lanes=2, packed=False)) is ParallelDecoder
    assert DecoderParameters(lanes=256).lanes == 256


# The generated Verilog.

VERILOG = {name: (PACKED | SHAPES)[name] for name in ("2", "4", "3-packed", *SERIAL)}


@pytest.mark.parametrize("shape", VERILOG.values(), ids=VERILOG)
def test_ports_and_text_of_the_verilog(shape: dict[str, Any]) -> None:
    verilog = axi_verilog(parallel(**shape))
    lanes = shape["lanes"]
    widths = {"s_axis_tdata": 8 * lanes, "s_axis_tkeep": lanes, "m_axis_tdata": 32 * lanes, "m_axis_tkeep": 4 * lanes}
    widths |= {"m_axis_tuser": lanes}
    names = ["clk", "rst", *(f"s_axis_t{n}" for n in ("data", "keep", "last", "valid", "ready"))]
    names += [f"m_axis_t{n}" for n in ("data", "keep", "user", "last", "valid", "ready")]
    ways = {name: "output" if name.startswith("m_axis") != name.endswith("ready") else "input" for name in names}
    assert declared_ports(verilog) == [(ways[name], name, widths.get(name, 1)) for name in names]
    assert set(re.findall(r"\(\*.*?\*\)", verilog)) <= {"(* keep *)"}
    assert "`" not in verilog
    # Words that are not present are 0, or those of an earlier row, but not unknown in simulation.
    for memory in re.findall(r"^  reg \[\d+:0\] (\w+) \[0:\d+\];$", verilog, re.MULTILINE):
        assert f"{memory}[row] = " in verilog
