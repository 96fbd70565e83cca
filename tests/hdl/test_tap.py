# SPDX-License-Identifier: BSD-2-Clause
"""The tap of the validator: numbers that saturate, transfers that it only watches, and reports that are on time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from amaranth.hdl import ClockDomain
from support.benches import run_benches
from support.oracle import drawn, report_of
from support.tiers import tiered

from utf8fpga.hdl import ValidatorParameters, ValidatorTap, build
from utf8fpga.hdl.validator import totals
from utf8fpga.hdl.validator.totals import PacketTotals
from utf8fpga.model import TABLE_3_7, validator
from utf8fpga.sim import Simulation
from utf8fpga.sim.beats import StreamOptions, beats_of


def check(lanes: int, texts: Sequence[bytes]) -> None:
    found = Simulation(build(ValidatorParameters(lanes=lanes))).run(texts).texts
    assert found == [[report_of(text).saturated()] for text in texts]


def check_saturation(lanes: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the reports on texts with as many units, errors and code points as the numbers can hold, or more."""
    for module in (totals, validator):
        monkeypatch.setattr(module, "COUNTER_WIDTH", width)
    limit = 1 << width
    long = [b"a" * (4 * limit + 2) + b"\xff", b"\xff" * (2 * limit + 3), b"\xf0\x9f\x98\x80" * (limit + 1)]
    # The first error is before the limit, and is known only in a beat after it.
    long += [b"a" * length + error for error in (b"\x80", b"\xf0\x9f\x98a") for length in range(limit - 9, limit + 9)]
    check(lanes, [text for pair in zip(long, ["é".encode() + b"\xff"] * len(long), strict=True) for text in pair])


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


@pytest.mark.slow
def test_numbers_above_the_lower_half_are_exact() -> None:
    check(8, [b"a" * (1 << 17) + b"\xff"])


Cycle = tuple[bytes, bool, bool, bool, bool]
"""The units of a beat, `last`, `valid`, `ready` and the reset."""


def traffic(rng: random.Random, lanes: int, latency: int) -> tuple[list[Cycle], list[tuple[int, bool]]]:
    """Packets with pauses and resets; and the cycles in which reports are due, each with whether it is well-formed."""
    cycles: list[Cycle] = []
    due: list[tuple[int, bool]] = []
    for number in range(60):
        text = drawn(rng, rng.randint(0, 7))
        for slots, last in beats_of([text], lanes, StreamOptions(separate_ends=[rng.random() < 0.5])):
            while rng.random() < 0.5:
                valid = rng.random() < 0.5
                cycles.append((b"\xff", rng.random() < 0.5, valid, not valid and rng.random() < 0.5, False))
            cycles.append((bytes(slot for slot in slots if slot is not None), last, True, True, False))
        due.append((len(cycles) - 1 + latency, report_of(text).well_formed))
        if number % 7 == 6:
            # An open sequence, and a beat in the cycle of the reset.
            cycles += [(b"\xc3" * lanes, False, True, True, False), (b"\xff" * lanes, True, True, True, True)]
            due = [(at, verdict) for at, verdict in due if at < len(cycles)]
    return [*cycles, *[(b"", False, False, False, False)] * (latency + 1)], due


def watched(tap: Any, cycles: Sequence[Cycle]) -> list[tuple[int, bool]]:
    """The cycles in which a tap reports, each with whether the packet is well-formed."""
    domain, found = ClockDomain("sync"), list[tuple[int, bool]]()

    async def bench(ctx: Any) -> None:
        for cycle, (units, *flags) in enumerate(cycles):
            for symbol, unit in zip(tap.payload.symbols, units.ljust(tap.lanes, b"\x80"), strict=True):
                ctx.set(symbol, unit)
            ctx.set(tap.payload.keep, (1 << len(units)) - 1)
            for port, value in zip((tap.payload.last, tap.valid, tap.ready, domain.rst), flags, strict=True):
                ctx.set(port, value)
            if ctx.get(tap.report_valid):
                found.append((cycle, bool(ctx.get(tap.report.well_formed))))
            await ctx.tick()

    run_benches(tap, bench, domain=domain)
    return found


@pytest.mark.parametrize("lanes", [1, 3])
def test_only_transfers_count_and_reports_are_exactly_as_late_as_stated(lanes: int) -> None:
    """Also after resets, which discard the packet and the reports in flight."""
    tap = ValidatorTap(TABLE_3_7, lanes)
    cycles, due = traffic(random.Random(4), lanes, tap.latency)
    assert watched(tap, cycles) == due
