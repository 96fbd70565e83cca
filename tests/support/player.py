# SPDX-License-Identifier: BSD-2-Clause
"""Plays a core cycle by cycle in Amaranth's simulator: compares its output, and measures its timing contract."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from amaranth.hdl import ClockDomain, Value

from support.benches import run_benches
from support.cores import sequences_of
from utf8fpga.hdl import CoreParameters, build, entry_of
from utf8fpga.hdl.beats import lanes_of
from utf8fpga.sim.beats import Beat, BeatEncoder, StreamOptions, SymbolReader, beats_of

_FULL = 20
"""Cycles without a transfer at the input after which all buffers are taken to be full."""

_SETTLED = 24
"""Cycles after a reset in which components inside may still be reset, so that the latency is not measured."""

_MOST = 150
"""Beats that fill all buffers, if each has an output beat."""

_STUCK = 200
"""Cycles in which the input is not ready and no beat waits, after which a core is taken to be stuck."""

END = "end of a packet"


@dataclass
class Cycles:
    """The attributes of a core that are cycles, or how far each may differ from what is measured."""

    latency: int = 0
    stall: int = 0
    drain: int = 0


class Player:
    """Plays a core.

    Args:
        core: the core.
        parameters: its parameters.
        domain: the clock domain.
        ctx: the context of the simulator.

    Attributes:
        most: the largest numbers of cycles so far.
        expected, given: since the last reset, the symbols and ends of packets that are due, and those at the output.
        determined: per cycle, how many of `expected` the output is due to have.
    """

    def __init__(self, core: Any, parameters: CoreParameters, domain: ClockDomain, ctx: Any) -> None:
        self.core, self.parameters, self.domain, self.ctx = core, parameters, domain, ctx
        self.entry = entry_of(parameters)
        self.payload, self.encode = Value.cast(core.input.payload), BeatEncoder(core, self.entry)
        self.read, self.full = SymbolReader(core, self.entry), lanes_of(core.output)
        self.most = Cycles()
        self.beats: Iterator[Beat] = iter(())
        self.expected: list[Any] = []
        self.given: list[Any] = []

    def check(self) -> None:
        """The output since the last reset is what was accepted since then, and nothing of what was before."""
        assert len(self.given) <= len(self.expected) + 1, "only an item at the end may be determined earlier"
        assert self.given[: len(self.expected)] == self.expected[: len(self.given)]

    async def reset(self, beats: Iterator[Beat]) -> None:
        """A reset of one cycle, after which other beats are sent."""
        self.check()
        self.beats, self.beat = beats, None
        self.golden, self.open = self.entry.golden(), 0
        self.expected, self.given, self.sizes = [], [], deque[int]()
        self.accepted = self.low = self.since = self.waited = 0
        self.determined, self.smooth = list[int](), False
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
        assert self.low <= _STUCK, "the input is never ready again"
        assert open_ or waits or self.length, "the input is not ready in the first cycle after a reset"
        self.since = 0 if moves or waits else self.since + 1
        if waits:
            self.smooth, self.waited = False, self.length + 1
        due = self.determined[-1] if self.determined else 0
        if moves:
            due, self.accepted, self.beat = self._accept(self.beat), self.accepted + 1, None
        self.determined.append(due)
        if valid and ready:
            self._take(ctx.get(Value.cast(output.payload)), bool(ctx.get(output.payload.last)), due)
        await ctx.tick()
        return moves

    def _take(self, payload: int, last: bool, due: int) -> None:
        """An output beat was transferred."""
        symbols, most = self.read(payload), self.most
        self.given += [*symbols, END] if last else symbols
        if self.parameters.core == "sanitizer":
            assert len(symbols) == self.sizes.popleft(), "each unit stays in its beat"
        most.drain = max(most.drain, self.since)
        # Others are not determined before more symbols follow.
        if (len(symbols) == self.full or last) and len(self.given) <= due:
            since = bisect_left(self.determined, len(self.given))
            # Where beats have waited, the latency is that of a drain.
            if self.smooth:
                most.latency = max(most.latency, self.length - 1 - since)
            most.drain = max(most.drain, self.length - 1 - max(since, self.waited))

    @property
    def length(self) -> int:
        """Cycles since the reset."""
        return len(self.determined)

    def _accept(self, beat: Any) -> int:
        """How many symbols and ends of packets are determined with a beat.

        Several lanes wait for the next beat if their beat ends within a sequence.
        """
        slots, last = beat
        symbols = [symbol for symbol in slots if symbol is not None]
        self.sizes.append(len(symbols))
        made, before = self.golden.process(symbols, last), len(self.expected)
        self.expected += [self.entry.comparable(each) for each in made]
        self.expected += [END] if last else []
        self.open = 0 if last else self.open + len(symbols) - sum(each.length for each in made)
        return before if self.open and self.core.lanes > 1 else len(self.expected)

    async def drain(self) -> None:
        """No beats, until all symbols have been transferred, except those that wait for further symbols."""
        for _ in range(3 + self.core.drain_cycles + self.core.stall_cycles):
            if self.beat is None and len(self.given) >= (self.determined or [0])[-1]:
                self.smooth = self.length > _SETTLED
                return
            await self.cycle(False, True)
        assert self.entry.accepts_gaps, "symbols that are determined wait for others"

    async def fill(self, most: int | None = None) -> int:
        """Beats, at most as many as given, until the input has not been ready for long; how many."""
        start, still = self.accepted, 0
        while still < _FULL and self.accepted < start + _MOST:
            offers = most is None or self.accepted + (self.beat is not None) - start < most
            still = 0 if await self.cycle(offers, False) else still + 1
        return self.accepted - start


def drawn_beats(parameters: Any, sequences: list[list[int]], size: int, rng: random.Random | None) -> Iterator[Beat]:
    """Packets of so many sequences: the first one repeated; with `rng` any of them, with gaps where they may be."""
    while True:
        chosen = rng.choices(sequences, k=rng.randrange(size)) if rng else [sequences[0]] * size
        symbols = list(chain.from_iterable(chosen))
        has_gaps = entry_of(parameters).accepts_gaps and rng
        gaps = [*(rng.random() < 0.4 for _ in symbols), False] if has_gaps else [False]
        yield from beats_of([symbols], parameters.lanes, StreamOptions(gaps=gaps))


async def fill_and_drain(player: Player, parameters: Any, kind: list[int]) -> None:
    """One sequence all the time, in long packets and in short ones, with buffers that fill and drain."""
    core = player.core
    for size in (400, 1):
        await player.reset(drawn_beats(parameters, [kind], size * core.lanes, None))
        for cycles in (core.stall_cycles + 25, core.latency + 10) if size > 1 else ():
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
    await player.reset(islice(drawn_beats(parameters, [kind], 1, None), 2 * len(kind)))
    for _ in range(_SETTLED):
        await player.cycle(False, True)
    await player.drain()
    for _ in range(2 * len(kind)):
        while not await player.cycle(True, True):
            pass
        await player.drain()


async def play(player: Player, parameters: Any) -> None:
    """Each sequence by itself, all sequences with random pauses, and resets in the middle of all this."""
    core, sequences = player.core, sequences_of(parameters)
    for kind in sequences[1:4] if core.lanes > 1 else sequences:
        await fill_and_drain(player, parameters, kind)
        await single_beats(player, parameters, kind)
    rng = random.Random(1)
    await player.reset(drawn_beats(parameters, sequences, 12, rng))
    for offers, ready in ((0.9, 1), (0.5, 1), (1, 0.2), (1, 0.6)):
        for _ in range(core.latency + 10):
            await player.cycle(rng.random() < offers, rng.random() < ready)
        await player.drain()
    for _ in range(20):
        await player.reset(drawn_beats(parameters, sequences, 6, rng))
        for _ in range(rng.randrange(2 * core.latency + 10)):
            await player.cycle(rng.random() < 0.8, rng.random() < 0.7)
    player.check()


def measured(parameters: CoreParameters) -> tuple[Any, Player]:
    """A core that was played, and what was measured."""
    domain, core, players = ClockDomain("sync"), build(parameters), list[Player]()

    async def bench(ctx: Any) -> None:
        players.append(Player(core, parameters, domain, ctx))
        await play(players[0], parameters)

    run_benches(core, bench, domain=domain)
    return core, players[0]
