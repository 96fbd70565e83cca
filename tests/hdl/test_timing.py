# SPDX-License-Identifier: BSD-2-Clause
"""The timing contract that every core states: the cycles that are measured, which are its bounds up to a slack."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Value
from support.benches import run_benches
from support.tiers import tiered

from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    RemoverParameters,
    SanitizerParameters,
    TranscoderParameters,
    ValidatorParameters,
    build,
    entry_of,
)
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.hdl.cores import CORES
from utf8fpga.hdl.parameters import OPTIMIZE
from utf8fpga.model import TABLE_3_7
from utf8fpga.sim.beats import Beat, BeatEncoder, text_beats

_FULL = 20
"""Cycles without a transfer at the input after which all buffers are taken to be full."""

_SETTLED = 24
"""Cycles after a reset in which components inside may still be reset, so that the latency is not measured."""

_MOST = 150
"""Beats that fill all buffers, if each has an output beat."""


@dataclass
class Cycles:
    """The attributes of a core that are cycles, or how far each may differ from what is measured."""

    latency: int = 0
    stall: int = 0
    drain: int = 0
    reset: int = 0


class Player:
    """Plays a core cycle by cycle, and measures.

    Args:
        core: the core.
        parameters: its parameters.
        domain: the clock domain.
        ctx: the context of the simulator.

    Attributes:
        most: the largest numbers of cycles so far.
        least_reset: the smallest number of cycles after a reset in which the input was not ready.
        determined: since the last reset, per cycle: symbols and ends of packets that the output is due to have.
    """

    def __init__(self, core: Any, parameters: CoreParameters, domain: ClockDomain, ctx: Any) -> None:
        self.core, self.parameters, self.domain, self.ctx = core, parameters, domain, ctx
        self.payload, self.encode = Value.cast(core.input.payload), BeatEncoder(core, entry_of(parameters))
        self.keep, self.full = Value.cast(core.output.payload.keep), lanes_of(core.output)
        self.most, self.least_reset = Cycles(), 1 << 30
        self.beats: Iterator[Beat] = iter(())

    async def reset(self, beats: Iterator[Beat]) -> None:
        """A reset of one cycle, after which other beats are sent."""
        self.beats, self.beat = beats, None
        self.golden, self.open = entry_of(self.parameters).golden(), 0
        self.known = self.given = self.accepted = self.low = self.since = self.waited = 0
        self.determined: list[int] = []
        self.fresh, self.smooth = True, False
        self.ctx.set(self.domain.rst, 1)
        await self.ctx.tick()
        self.ctx.set(self.domain.rst, 0)

    async def cycle(self, offers: bool, ready: bool) -> bool:
        """A cycle in which a beat is offered, or still is, and the consumer is ready or not; whether the beat moved."""
        ctx, source, output, most = self.ctx, self.core.input, self.core.output, self.most
        if self.beat is None and offers and (beat := next(self.beats, None)):
            self.beat = beat
            ctx.set(self.payload, self.encode(beat))
        ctx.set(source.valid, self.beat is not None)
        ctx.set(output.ready, ready)
        open_, valid = bool(ctx.get(source.ready)), bool(ctx.get(output.valid))
        waits, moves = valid and not ready, open_ and self.beat is not None
        self.low = 0 if open_ or waits else self.low + 1
        most.stall = max(most.stall, self.low)
        if self.fresh and (open_ or waits):
            most.reset, self.least_reset = max(most.reset, self.length), min(self.least_reset, self.length)
            self.fresh = False
        self.since = 0 if moves or waits else self.since + 1
        if waits:
            self.smooth, self.waited = False, self.length + 1
        due = self.determined[-1] if self.determined else 0
        if moves:
            due, self.accepted, self.beat = self._accept(self.beat), self.accepted + 1, None
        self.determined.append(due)
        if valid and ready:
            count, last = ctx.get(self.keep).bit_count(), ctx.get(output.payload.last)
            self.given += count + last
            most.drain = max(most.drain, self.since)
            # Others are not determined before more symbols follow.
            if (count == self.full or last) and self.given <= due:
                since = bisect_left(self.determined, self.given)
                # Where beats have waited, the latency is that of a drain.
                if self.smooth:
                    most.latency = max(most.latency, self.length - 1 - since)
                most.drain = max(most.drain, self.length - 1 - max(since, self.waited))
        await ctx.tick()
        return moves

    @property
    def length(self) -> int:
        """Cycles since the reset."""
        return len(self.determined)

    def _accept(self, beat: Any) -> int:
        """The symbols and ends of packets that are determined with a beat.

        Several lanes wait for the next beat if their beat ends within a sequence.
        """
        slots, last = beat
        symbols = [symbol for symbol in slots if symbol is not None]
        made = self.golden.process(symbols, last)
        before, self.known = self.known, self.known + len(made) + last
        self.open = 0 if last else self.open + len(symbols) - sum(each.length for each in made)
        return before if self.open and self.core.lanes > 1 else self.known

    async def drain(self) -> None:
        """No beats, until all symbols have been transferred, except those that wait for further symbols."""
        for _ in range(3 + self.core.drain_cycles + self.core.stall_cycles):
            if self.beat is None and self.given >= (self.determined or [0])[-1]:
                self.smooth = self.length > _SETTLED
                return
            await self.cycle(False, True)

    async def fill(self, most: int | None = None) -> int:
        """Beats, at most as many as given, until the input has not been ready for long; how many."""
        start, still = self.accepted, 0
        while still < _FULL and self.accepted < start + _MOST:
            offers = most is None or self.accepted + (self.beat is not None) - start < most
            still = 0 if await self.cycle(offers, False) else still + 1
        return self.accepted - start


def sequences_of(parameters: Any) -> list[list[int]]:
    """Input symbols: a short character, a long one, one that is ill-formed, and part of the long one."""
    code_points = [0x41, 0x1F600, 0xFFFD]
    if parameters.core == "encoder":
        return [[each] for each in (*code_points[:2], 0x110000)]
    if parameters.core == "remover":
        return [[each & 0xFF] for each in code_points]
    encoding = getattr(parameters, "given", None)
    form = encoding.form if encoding else getattr(parameters, "table", TABLE_3_7)
    found = [form.encode(each) for each in code_points[:2]]
    found += [found[1][-1:], found[1][:-1]] if len(found[1]) > 1 else [(0x110000,)]
    return [[encoding.swapped(unit) if encoding else unit for unit in each] for each in found]


def beats_of(parameters: Any, sequences: list[list[int]], size: int, rng: random.Random | None) -> Iterator[Beat]:
    """Packets of so many sequences: the first one repeated; with `rng` any of them, with gaps where they may be."""
    while True:
        chosen = rng.choices(sequences, k=rng.randrange(size)) if rng else [sequences[0]] * size
        symbols = list(chain.from_iterable(chosen))
        if entry_of(parameters).accepts_gaps and rng:
            yield from text_beats(symbols, parameters.lanes, gaps=iter(lambda: rng.random() < 0.4, None))
        else:
            yield from text_beats(symbols, parameters.lanes)


async def fill_and_drain(player: Player, parameters: Any, kind: list[int]) -> None:
    """One sequence all the time, in long packets and in short ones, with buffers that fill and drain."""
    core = player.core
    for size in (400, 1):
        await player.reset(beats_of(parameters, [kind], size * core.lanes, None))
        for cycles in (core.stall_cycles + 25, core.latency + core.reset_cycles + 10) if size > 1 else ():
            for _ in range(cycles):
                await player.cycle(True, True)
            await player.drain()
        full = await player.fill()
        for _ in range(core.stall_cycles + 5):
            await player.cycle(True, True)
        await player.drain()
        await player.fill(full)
        await player.drain()
    await player.fill()


async def single_beats(player: Player, parameters: Any, kind: list[int]) -> None:
    """A reset, and then beats of which each drains before the next."""
    await player.reset(islice(beats_of(parameters, [kind], 1, None), 2 * len(kind)))
    for _ in range(_SETTLED):
        await player.cycle(False, True)
    await player.drain()
    for _ in range(2 * len(kind)):
        while not await player.cycle(True, True):
            pass
        await player.drain()


async def play(player: Player, parameters: Any) -> None:
    """Each sequence by itself, resets while buffers are full, and all sequences with random pauses."""
    core, sequences = player.core, sequences_of(parameters)
    for kind in sequences[1:3] if core.lanes > 1 else sequences:
        await fill_and_drain(player, parameters, kind)
        await single_beats(player, parameters, kind)
    rng = random.Random(1)
    await player.reset(beats_of(parameters, sequences, 12, rng))
    for offers, ready in ((0.9, 1), (0.5, 1), (1, 0.2), (1, 0.6)):
        for _ in range(core.latency + core.reset_cycles + 10):
            await player.cycle(rng.random() < offers, rng.random() < ready)
        await player.drain()


def measured(parameters: CoreParameters) -> tuple[Any, Player]:
    """A core that was played, and what was measured."""
    domain, core, players = ClockDomain("sync"), build(parameters), list[Player]()

    async def bench(ctx: Any) -> None:
        players.append(Player(core, parameters, domain, ctx))
        await play(players[0], parameters)

    run_benches(core, bench, domain=domain)
    return core, players[0]


EVERY_RUN: list[tuple[CoreParameters, Cycles]] = [
    *((DecoderParameters(optimize=optimize), Cycles()) for optimize in OPTIMIZE),
    (DecoderParameters(lanes=4), Cycles(latency=1)),
    (DecoderParameters(lanes=4, packed=False), Cycles()),
    (DecoderParameters(lanes=2), Cycles(latency=1)),
    (EncoderParameters(), Cycles()),
    (EncoderParameters(lanes=2), Cycles(latency=1)),
    (TranscoderParameters(to="utf-16-le", optimize="area"), Cycles()),
    (TranscoderParameters(to="utf-8", optimize="speed"), Cycles()),
    *((SanitizerParameters(lanes=lanes, optimize=optimize), Cycles()) for lanes in (1, 4) for optimize in OPTIMIZE),
    (ValidatorParameters(), Cycles()),
    (RemoverParameters(lanes=3), Cycles(latency=1)),
]
"""Cores, and the slack. The second of two rows that a beat closes, which takes a cycle more, is rare in the texts."""

LONGER: list[tuple[CoreParameters, Cycles]] = [
    (DecoderParameters(lanes=2, packed=False), Cycles()),
    (DecoderParameters(lanes=5), Cycles(latency=1)),
    (TranscoderParameters(to="utf-16-le", lanes=2), Cycles()),
    (TranscoderParameters(from_="utf-16-le", optimize="area"), Cycles(1, 2, 1)),
    (TranscoderParameters(to="utf-16-le", optimize="speed"), Cycles()),
    (ValidatorParameters(lanes=3), Cycles()),
]
"""Those whose parts or whose contract another one has, too."""


@pytest.mark.parametrize(
    ("parameters", "slack"), tiered({case[0].name: case for case in EVERY_RUN + LONGER}, len(EVERY_RUN))
)
def test_the_cycles_are_at_most_those_stated_and_reach_them_up_to_the_slack(
    parameters: CoreParameters, slack: Cycles
) -> None:
    core, player = measured(parameters)
    stated = Cycles(core.latency, core.stall_cycles, core.drain_cycles, core.reset_cycles)
    assert player.least_reset == core.reset_cycles
    differences = {name: most - getattr(player.most, name) for name, most in asdict(stated).items()}
    assert differences == asdict(slack)


def test_every_core_is_measured() -> None:
    assert {type(parameters) for parameters, _ in EVERY_RUN} == set(CORES.values())
