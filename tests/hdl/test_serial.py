# SPDX-License-Identifier: BSD-2-Clause
"""The serial decoder in Amaranth's simulator: equal to the model, and every sentence of its contract."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.benches import run_benches
from support.engines import ENGINE
from support.tiers import tiered

from utf8fpga.hdl import MARK_PRACTICES, MERGING_PRACTICES, PIPELINES, decoder_core
from utf8fpga.model import EncodingTable, ErrorKind, TableError
from utf8fpga.model.forms import CESU_8_CODE_UNITS, GENERALISED_UTF_8, MODIFIED_UTF_8_CODE_UNITS, RFC_2279
from utf8fpga.sim import Simulation
from utf8fpga.sim.boundaries import boundary_units
from utf8fpga.sim.strategies import stream_patterns, texts

FULL = {"kind": True, "length": True}
CONFIGURATIONS = {
    f"pipeline{pipeline}-{name}": {"pipeline": pipeline, **options}
    for pipeline in PIPELINES
    for name, options in {"full": FULL, "bare": {}, "no-replacement": {"replacement": False}}.items()
}
CONFIGURATIONS |= {
    f"pipeline{pipeline}-{practice}": {
        "pipeline": pipeline,
        "practice": practice,
        "kind": True,
        "length": practice not in MERGING_PRACTICES,
    }
    for pipeline, practice in product(PIPELINES, MARK_PRACTICES[1:])
}
IN_EVERY_RUN = {
    # Each number of registers, each choice of fields, and each practice.
    *(f"pipeline{n}-full" for n in PIPELINES),
    *("pipeline0-bare", "pipeline1-no-replacement"),
    *(f"pipeline{n % len(PIPELINES)}-{practice}" for n, practice in enumerate(MARK_PRACTICES[1:])),
}

FORMS = (RFC_2279, GENERALISED_UTF_8, CESU_8_CODE_UNITS, MODIFIED_UTF_8_CODE_UNITS)
LATER_CONSTRAINT = EncodingTable.parse(
    "a third unit constrained",
    """
    00..7F      00..7F
    80..7FF     C2..DF  80..BF
    1000..1FFF  E1      80..BF  80..BF
    2000..201F  E2      80      80..9F
    2080..20BF  E2      82      80..BF
    3FE0..3FFF  E3      BF      A0..BF
    """,
    source="made for this test",
)


@pytest.fixture(scope="module", params=tiered(CONFIGURATIONS, IN_EVERY_RUN))
def simulation(request: pytest.FixtureRequest) -> Simulation:
    return Simulation(decoder_core(**request.param), engine=ENGINE)


@pytest.fixture(scope="module", params=PIPELINES, ids=lambda pipeline: f"pipeline{pipeline}")
def full(request: pytest.FixtureRequest) -> Simulation:
    return Simulation(decoder_core(pipeline=request.param, **FULL), engine=ENGINE)


@pytest.mark.smoke
@given(texts=texts(), patterns=stream_patterns())
@settings(max_examples=60, deadline=None)
def test_equals_the_model(
    simulation: Simulation, texts: list[tuple[int, ...]], patterns: dict[str, list[bool]]
) -> None:
    run = simulation.run(texts, **patterns)
    assert run.texts == [simulation.expected(text) for text in texts]


@pytest.mark.smoke
def test_all_pairs_of_boundary_bytes_each_as_a_text(full: Simulation) -> None:
    pairs = [bytes(pair) for pair in product(boundary_units(), repeat=2)]
    assert len(pairs) == len(boundary_units()) ** 2 > 600
    assert full.run(pairs).texts == [full.expected(pair) for pair in pairs]


@pytest.mark.smoke
def test_one_unit_per_cycle_on_any_input(simulation: Simulation) -> None:
    for text in (b"\xc2A" * 60, b"\xf0\x90\x80" * 40, b"\xff" * 120, b"\xe0\x80" * 60, "é€😀a".encode() * 12):
        run = simulation.run([text, text])
        assert run.accepted == list(range(2 * len(text)))
        assert run.texts == [simulation.expected(text)] * 2


@pytest.mark.smoke
def test_a_long_run_of_null_beats_stalls_neither_side(simulation: Simulation) -> None:
    run = simulation.run([b"A", b""], null_beats=[True] * 300 + [False])
    assert run.texts == [simulation.expected(b"A"), []]
    assert run.accepted[1] - run.accepted[0] == 301


def test_an_end_that_waits_does_not_depend_on_the_next_packet(full: Simulation) -> None:
    # Proofs rejected mutants that drawn texts did not detect: the lead that ends a text must stay
    # INCOMPLETE while it waits, for any unit at the input.
    texts = [bytes([lead]) for lead in b"\xc2\xe0\xed\xf0\xf4"]
    for follower in (b"\x7f", b"\x80", b"\x90", b"\xff"):
        pieces = [piece for text in texts for piece in (text, follower)]
        for held in ([True, True, False, False], [True, False], [True, True, True, False]):
            assert full.run(pieces, output_pauses=held).texts == [full.expected(piece) for piece in pieces]


@pytest.mark.smoke
def test_reset_in_any_cycle_of_a_packet(full: Simulation) -> None:
    """After a reset of one cycle, at any time, the next packet is decoded like the first one."""
    from amaranth.hdl import ClockDomain, Module

    # The reset of the domain, not a `ResetInserter`: the decoder uses it in its logic, too.
    m = Module()
    m.domains.sync = domain = ClockDomain()
    m.submodules.decoder = decoder = decoder_core(pipeline=full.core.pipeline, **FULL)
    reset = domain.rst
    found: list[tuple[int, int]] = []

    async def bench(ctx) -> None:
        for junk in (b"\xf0\x90", b"\xf0\x90\x80", b"\xe0", b"\xed", b"\xc2", b"\xc2A", b"AAA", b"\xff\xff", b"\xf4"):
            for stalled in (False, True):
                ctx.set(decoder.output.ready, not stalled)
                for unit in junk:
                    ctx.set(decoder.input.payload, {"symbols": [unit], "keep": 1, "last": 0})
                    ctx.set(decoder.input.valid, 1)
                    await ctx.tick()
                ctx.set(reset, 1)
                await ctx.tick()
                ctx.set(reset, 0)
                ctx.set(decoder.output.ready, 1)
                found.clear()
                for unit in (*b"\xa0\x80\x80\x80Z", None, None, None, None):
                    ctx.set(decoder.input.valid, unit is not None)
                    ctx.set(decoder.input.payload, {"symbols": [unit or 0], "keep": 1, "last": unit == 0x5A})
                    if ctx.get(decoder.output.valid):
                        beat = ctx.get(decoder.output.payload).symbols[0]
                        found.append((beat.code_point, beat.kind.value))
                    await ctx.tick()
                stray = (0xFFFD, ErrorKind.UNEXPECTED_CONTINUATION)
                assert found == [stray] * 4 + [(0x5A, 0)], (junk, stalled)

    run_benches(m, bench)


NO_TRAILING_PAYLOAD = EncodingTable.parse("no payload after the first", "0 C0 80\n1 C1 80", source="made for this test")
LEADS_ALIKE = EncodingTable.parse(
    "constrained leads whose low bits are alike",
    "0..1 90 80..81\n4..7 91 80..83\n12..13 94 82..83",
    source="made for this test",
)
OTHER_TABLES = {table.name: table for table in (*FORMS, LATER_CONSTRAINT, NO_TRAILING_PAYLOAD, LEADS_ALIKE)}


@pytest.fixture(
    scope="module",
    # In every run each table with one number of registers, and one table with each.
    params=tiered(
        {f"{name}-{pipeline}": ((name, pipeline),) for name, pipeline in product(OTHER_TABLES, PIPELINES)},
        {f"{name}-{n % len(PIPELINES)}" for n, name in enumerate(OTHER_TABLES)},
    ),
)
def other(request: pytest.FixtureRequest) -> Simulation:
    name, pipeline = request.param
    return Simulation(decoder_core(OTHER_TABLES[name], pipeline=pipeline, **FULL), engine=ENGINE)


@given(data=st.data(), patterns=stream_patterns())
@settings(max_examples=30, deadline=None)
def test_other_tables_equal_their_models(
    other: Simulation, data: st.DataObject, patterns: dict[str, list[bool]]
) -> None:
    drawn = data.draw(texts(other.core.parameters.table))
    run = other.run(drawn, **patterns)
    assert run.texts == [other.expected(text) for text in drawn]


def test_units_that_are_too_wide_are_rejected() -> None:
    utf_32 = EncodingTable.parse("UTF-32", "0..D7FF 0..D7FF\nE000..10FFFF E000..10FFFF", source="D90", unit_width=32)
    with pytest.raises(TableError, match=r"^UTF-32: a serial decoder accepts units of up to 17 bits, not 32$"):
        decoder_core(utf_32)


def test_a_table_of_single_units_is_rejected() -> None:
    ascii_ = EncodingTable.parse("ASCII", "00..7F 00..7F", source="X3.4")
    message = "ASCII: a serial decoder requires sequences of several units, but all have one"
    with pytest.raises(TableError, match=f"^{message}$"):
        decoder_core(ascii_)


def test_a_cause_that_does_not_follow_from_the_state_is_rejected() -> None:
    rows = "00..7F 00..7F\n80..7FF C2..DF 80..BF\n800..FFF E0 A0..BF 80..BF\n1000..4FFF E1..E4 80..BF 80..BF\n"
    rows += "5800..5FFF E5 A0..BF 80..BF"
    ambiguous = EncodingTable.parse("two causes", rows, source="made for this test")
    message = (
        "two causes: E5 before 80 is SURROGATE, but another sequence in the same state is OVERLONG: leave out kind"
    )
    with pytest.raises(TableError, match=f"^{message}$"):
        decoder_core(ambiguous, kind=True)
    assert Simulation(decoder_core(ambiguous)).run([b"\xe5\x80\xe5\xa0\x80"]).texts == [
        [(0xFFFD, True), (0xFFFD, True), (0x5800, False)]
    ]


def test_an_offset_within_the_last_unit_is_rejected() -> None:
    rows = "0..D7FF 0..D7FF\n10001..110000 D800..DBFF DC00..DFFF\nE000..FFFF E000..FFFF"
    utf_16 = EncodingTable.parse("UTF-16", rows, source="D91", unit_width=16)
    message = (
        "UTF-16: a serial decoder adds nothing to the payload bits after the first unit, but sequences of 2 units need"
        " 10001 added"
    )
    with pytest.raises(TableError, match=f"^{message}$"):
        decoder_core(utf_16)
