# SPDX-License-Identifier: BSD-2-Clause
"""The validator against CPython's reports and items."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Const
from hypothesis import given, settings
from hypothesis import strategies as st
from support.benches import run_benches
from support.oracle import REPRESENTATIVES, drawn, report_of
from support.strategies import any_text, stream_patterns
from support.tiers import tiered

from utf8fpga.hdl import ValidatorParameters, ValidatorTap, axi_verilog, build
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.validator import report, totals
from utf8fpga.hdl.validator.totals import PacketTotals
from utf8fpga.model import GENERALISED_UTF_8, RFC_2279, TABLE_3_7, EncodingTable, validate, validator
from utf8fpga.sim import Simulation
from utf8fpga.sim.beats import text_beats

LANES = {str(lanes): lanes for lanes in (*range(1, 9), 16, *range(9, 16), 17, 32, 64)}
LANES_IN_EVERY_RUN = 9

BYTE_TABLES = [TABLE_3_7, RFC_2279, GENERALISED_UTF_8]


@cache
def simulation_of(lanes: int) -> Simulation:
    return Simulation(build(ValidatorParameters(lanes=lanes)))


def check(simulation: Simulation, texts: Sequence[bytes], **patterns: Sequence[bool]) -> Sequence[int]:
    """Compare the output; the cycles in which the input beats are accepted."""
    found = simulation.run(texts, **patterns)
    assert found.texts == [[report_of(text).saturated()] for text in texts]
    return found.accepted


TEXT = "aé€😀".encode()


@pytest.fixture(scope="module", params=tiered(LANES, LANES_IN_EVERY_RUN))
def simulation(request: pytest.FixtureRequest) -> Simulation:
    return simulation_of(request.param)


def test_short_texts_at_every_place_of_a_beat(simulation: Simulation) -> None:
    lanes = simulation.core.lanes
    ends = [bytes(units) for length in range(3) for units in product(REPRESENTATIVES, repeat=length)]
    texts = [b"a" * (place % (lanes + 1)) + end for place, end in enumerate(ends)]
    check(simulation, texts)


def test_texts_of_every_length(simulation: Simulation) -> None:
    rng, lanes = random.Random(1), simulation.core.lanes
    texts = [drawn(rng, length) for length in range(3 * lanes + 10) for _ in range(3)]
    for separate_ends in ((False,), (True,), (False, True)):
        check(simulation, texts, separate_ends=separate_ends)


@pytest.mark.smoke
@given(texts=st.lists(any_text().map(bytes), max_size=8), patterns=stream_patterns())
@settings(max_examples=15, deadline=None)
def test_any_texts_with_pauses_and_null_beats(
    simulation: Simulation, texts: list[bytes], patterns: dict[str, list[bool]]
) -> None:
    check(simulation, texts, **patterns)


def test_the_only_error_is_in_any_place(simulation: Simulation) -> None:
    lanes = simulation.core.lanes
    long = (TEXT * (3 * lanes // len(TEXT) + 2))[: 3 * lanes + 4]
    check(simulation, [long[:place] + b"\xff" + long[place:] for place in range(len(long) + 1)])


@pytest.mark.smoke
def test_a_beat_is_accepted_in_every_cycle(simulation: Simulation) -> None:
    rng, lanes = random.Random(2), simulation.core.lanes
    for texts in (
        [drawn(rng, rng.randint(0, lanes)) for _ in range(80)],
        [drawn(rng, 80 * lanes)],
        [drawn(rng, rng.randint(0, 3 * lanes)) for _ in range(60)],
    ):
        accepted = check(simulation, texts)
        assert accepted == list(range(accepted[0], accepted[0] + len(accepted)))


def test_beats_that_wait_pause_the_input_and_none_is_lost(simulation: Simulation) -> None:
    rng, waits = random.Random(3), 3 * simulation.core.drain_cycles
    texts = [drawn(rng, rng.randint(0, 2 * simulation.core.lanes)) for _ in range(2 * waits)]
    pauses = [True] * waits + [False] * simulation.core.drain_cycles
    accepted = check(simulation, texts, output_pauses=pauses)
    assert accepted[-1] - accepted[0] > len(accepted), "the input was never paused"


@pytest.mark.slow
def test_short_texts_exhaustively() -> None:
    texts = [bytes(units) for length in (3, 4) for units in product(REPRESENTATIVES, repeat=length)]
    for lanes in (1, 3, 4):
        check(simulation_of(lanes), texts)


def check_saturation(lanes: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the reports on texts with as many units, errors and code points as the numbers can hold, or more."""
    for module in (totals, report, validator):
        monkeypatch.setattr(module, "COUNTER_WIDTH", width)
    limit = 1 << width
    long = [b"a" * (4 * limit + 2) + b"\xff", b"\xff" * (2 * limit + 3), b"\xf0\x9f\x98\x80" * (limit + 1)]
    # The first error is before the limit, and is known only in a beat after it.
    long += [b"a" * length + error for error in (b"\x80", b"\xf0\x9f\x98a") for length in range(limit - 9, limit + 9)]
    texts = [text for pair in zip(long, ["é".encode() + b"\xff"] * len(long), strict=True) for text in pair]
    check(Simulation(build(ValidatorParameters(lanes=lanes))), texts)


@pytest.mark.parametrize(("lanes", "width"), tiered({"8": (8, 6), "2": (2, 5), "17": (17, 9)}, ["8", "2"]))
def test_numbers_saturate_and_the_next_packet_begins_at_zero(
    lanes: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_saturation(lanes, width, monkeypatch)


def test_a_lost_carry_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    total = PacketTotals._total
    monkeypatch.setattr(PacketTotals, "_total", lambda *given: total(*given)._replace(high=total(*given).high & ~1))
    with pytest.raises(AssertionError):
        check_saturation(2, 5, monkeypatch)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        # A sequence that the next beat continues counts twice; one that it breaks has the cause of the end of a text.
        ("_goes_on", lambda items: Const(0, items.lanes)),
        ("_next_unit", lambda items, held: (Const(0, 1), Const(0, 1))),
    ],
)
def test_a_beat_that_ignores_the_next_one_is_found(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Items, name, fault)
    with pytest.raises(AssertionError):
        check(Simulation(build(ValidatorParameters(lanes=4))), [b"aaa\xe2\x82\xac", b"aaa\xe2a"])


@pytest.mark.slow
def test_numbers_above_the_lower_half_are_exact() -> None:
    check(simulation_of(8), [b"a" * (1 << 17) + b"\xff"])
    check(simulation_of(1), ["😀".encode() * (1 << 14) + b"\xff\xff", b"\xff" * ((1 << 16) + 5), b"b"])


def watched(tap: Any, cycles: Sequence[tuple[bytes, bool, bool, bool, bool]]) -> list[tuple[int, int]]:
    """The cycles in which a tap reports, and whether the packet is well-formed.

    Args:
        tap: the tap.
        cycles: for each cycle the units, and `last`, `valid`, `ready` and the reset.
    """
    found = []

    async def bench(ctx: Any) -> None:
        for cycle in range(len(cycles) + tap.latency + 1):
            units, last, valid, ready, reset = (
                cycles[cycle] if cycle < len(cycles) else (b"", False, False, False, False)
            )
            for lane in range(tap.lanes):
                ctx.set(tap.payload.symbols[lane], units[lane] if lane < len(units) else 0x80)
            ctx.set(tap.payload.keep, (1 << len(units)) - 1)
            ctx.set(tap.payload.last, last)
            ctx.set(tap.valid, valid)
            ctx.set(tap.ready, ready)
            ctx.set(resets.rst, reset)
            if ctx.get(tap.report_valid):
                found.append((cycle, ctx.get(tap.report.well_formed)))
            await ctx.tick()

    resets = ClockDomain("sync")
    run_benches(tap, bench, domain=resets)
    return found


@pytest.mark.parametrize("lanes", [1, 3])
def test_only_transfers_count_and_reports_are_exactly_as_late_as_stated(lanes: int) -> None:
    tap = ValidatorTap(TABLE_3_7, lanes)
    rng = random.Random(4)
    cycles: list[tuple[bytes, bool, bool, bool, bool]] = []
    expected = []
    for _ in range(40):
        text = drawn(rng, rng.randint(0, 7))
        for slots, last in text_beats(text, tap.lanes, separate_end=rng.random() < 0.5):
            while rng.random() < 0.5:
                valid = rng.random() < 0.5
                cycles.append((b"\xff", rng.random() < 0.5, valid, not valid and rng.random() < 0.5, False))
            cycles.append((bytes(slot for slot in slots if slot is not None), last, True, True, False))
        expected.append((len(cycles) - 1 + tap.latency, int(report_of(text).well_formed)))
    assert watched(tap, cycles) == expected


@pytest.mark.parametrize("lanes", [1, 3])
def test_a_reset_discards_the_packet_and_reports_in_flight(lanes: int) -> None:
    tap = ValidatorTap(TABLE_3_7, lanes)
    cycles: list[tuple[bytes, bool, bool, bool, bool]] = []
    expected = []
    for place in range(tap.latency + 3):
        # Ill-formed packets before the reset, and an open sequence at the reset.
        begin = len(cycles)
        cycles += [(b"\xff", number % 3 == 0, True, True, False) for number in range(place)]
        reset = len(cycles)
        expected += [(n + tap.latency, 0) for n in range(begin, reset, 3) if n + tap.latency <= reset]
        cycles += [(b"\xc3", False, True, True, True), (b"a", True, True, True, False), (b"b", True, True, True, False)]
        expected += [(reset + 1 + tap.latency, 1), (reset + 2 + tap.latency, 1)]
        cycles += [(b"", False, False, True, False)] * tap.latency
    assert watched(tap, cycles) == expected


OF_TABLES = {table.name: table for table in BYTE_TABLES}


@pytest.mark.parametrize("table", tiered(OF_TABLES, 2))
def test_all_tables_of_bytes_that_have_a_window(table: EncodingTable) -> None:
    rng = random.Random(5)
    units = sorted({bound for row in table.rows for each in row.units for bound in (each.first, each.last)})
    texts = [bytes(rng.choice(units) for _ in range(rng.randint(0, 9))) for _ in range(60)]
    found = Simulation(build(ValidatorParameters(table=table))).run(texts).texts
    assert found == [[validate(text, table)] for text in texts]


@pytest.mark.smoke
def test_the_verilog_of_a_tap_watches_and_reports() -> None:
    text = axi_verilog(build(ValidatorParameters(lanes=2)))
    ports = text[text.index("module utf8_validator (") :].partition(");\n")[0]
    assert "input wire s_axis_tready," in ports
    assert "input wire [15:0] s_axis_tdata," in ports
    assert "output wire report_tvalid" in ports
    assert "m_axis" not in text
    assert "All ones in a number means this number or more." in text
    assert "Combinational paths from input ports to output ports: none." in text
