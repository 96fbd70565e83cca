# SPDX-License-Identifier: BSD-2-Clause
"""A reset during traffic discards everything inside, and words do not wait for beats that may never come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from amaranth.hdl import ResetInserter, Signal
from support.benches import run_benches

from utf8fpga.hdl import DecoderParameters, build

BUSY, QUIET = 30, 40
"""Cycles with a beat each before the reset, and without one after it."""

CORES = [(1, False), (2, False), (3, True), (4, False), (4, True), (16, True)]
"""Lanes, and whether the words are packed."""


def words_by_cycle(lanes: int, packed: bool, beats: Iterable[tuple[bytes, bool] | None], reset_at: int) -> list[str]:
    """The words that leave a decoder in each cycle, given a beat and its `last` for each cycle."""
    core, reset, found = build(DecoderParameters(lanes=lanes, packed=packed)), Signal(), list[str]()

    async def bench(ctx: Any) -> None:
        ctx.set(core.output.ready, 1)
        for cycle, beat in enumerate(beats):
            units, last = beat or (b"", False)
            payload = core.input.payload
            for lane, unit in enumerate(units):
                ctx.set(payload.symbols[lane], unit)
            ctx.set(payload.keep, (1 << len(units)) - 1)
            ctx.set(payload.last, last)
            ctx.set(core.input.valid, beat is not None)
            ctx.set(reset, cycle == reset_at)
            row = core.output.payload
            words = [chr(ctx.get(word.code_point)) for lane, word in enumerate(row.symbols) if ctx.get(row.keep[lane])]
            found.append("".join(words) if ctx.get(core.output.valid) else "")
            await ctx.tick()

    run_benches(ResetInserter(reset)(core), bench)
    return found


@pytest.mark.smoke
@pytest.mark.parametrize(("lanes", "packed"), CORES)
@pytest.mark.parametrize("lasts", [(False, True), (False,)], ids=["packets", "open_rows"])
def test_nothing_from_before_a_reset_is_output_after_it(lanes: int, packed: bool, lasts: tuple[bool, ...]) -> None:
    # With fewer words than lanes in most beats, a row is open at the time of the reset.
    before = [((b"A" + b"\xf0\x9f\x98\x80" * lanes)[:lanes], lasts[cycle % len(lasts)]) for cycle in range(BUSY)]
    after = [None] * QUIET + [(b"Z" * lanes, True)] + [None] * QUIET
    found = words_by_cycle(lanes, packed, [*before, None, *after], reset_at=BUSY)
    assert any(found[:BUSY])
    assert [row for row in found[BUSY + 1 :] if row] == ["Z" * lanes]


@pytest.mark.smoke
@pytest.mark.parametrize(("lanes", "packed"), CORES)
def test_words_leave_although_no_beat_follows(lanes: int, packed: bool) -> None:
    second = ("é" + "B" * lanes).encode()[: max(2, lanes)] if lanes > 1 else b"B"
    # The words of the second beat do not fill a row.
    found = words_by_cycle(lanes, packed, [(b"A" * lanes, False), (second, False)] + [None] * 60, reset_at=-1)
    assert "".join(found) == "A" * lanes + second.decode()
