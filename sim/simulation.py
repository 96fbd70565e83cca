# SPDX-License-Identifier: BSD-2-Clause
"""Simulation as a function: texts and pauses in, items out, with the stream contract watched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.hdl import Value
from amaranth.lib import data
from amaranth.sim import Simulator

from utf8fpga.hdl import PracticeDecoder, SerialDecoder
from utf8fpga.model import REPLACEMENT_CHARACTER, TABLE_3_7, ErrorKind, Item
from utf8fpga.model.practices import decode_with

__all__ = ["ContractError", "Run", "Simulation", "Word", "simulate"]

CLOCK_PERIOD = 10e-9
"""Seconds; only waveforms show it."""

PATIENCE = 64
"""Clocks in which both sides are willing but nothing moves, after which a decoder counts as stuck."""


Beat = tuple[int | None, bool]
"""An input beat: the code unit or None, and `last`."""


class ContractError(AssertionError):
    """The decoder broke the stream contract, or stopped."""


class Word(NamedTuple):
    """An item as a decoder without the fields `kind` and `length` gives it."""

    code_point: int
    error: bool


Take = Callable[[Item | Word | None, bool, int], None]
"""What is called with an output beat: its item or None, its `last`, and the clock that first showed it."""


@dataclass
class Run:
    """What one simulation run did; clocks are counted from its start.

    Attributes:
        texts: per text its items.
        accepted: per input beat the clock in which it was taken.
        shown: per item the clock in which it first stood at the output.
        clocks: how long the run took.
    """

    texts: list[list[Item | Word]] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    clocks: int = 0


class Simulation:
    """A decoder in Amaranth's simulator, built once for any number of runs.

    Args:
        decoder: the decoder; with `kind` and `length` its items are the model's `Item`, otherwise
            they are `Word`.
    """

    def __init__(self, decoder: SerialDecoder | PracticeDecoder | None = None) -> None:
        self.decoder = decoder or SerialDecoder(kind=True, length=True)
        self._complete = self.decoder.kind and self.decoder.length
        self._play: Callable[[Any], Any] | None = None

    @cached_property
    def _simulator(self) -> Simulator:
        # Not before the first run: a testbench that is never run makes Python warn.
        simulator = Simulator(self.decoder)
        simulator.add_clock(CLOCK_PERIOD)
        simulator.add_testbench(self._testbench)
        return simulator

    def expected(self, text: Iterable[int]) -> list[Item | Word]:
        """What the golden model gives for `text`, in the fields that this decoder has."""
        return [self.like(item) for item in decode_with(text, self.decoder.practice, self.decoder.table)]

    def like(self, item: Item) -> Item | Word:
        """A model's item, in the fields that this decoder has."""
        return item if self._complete else Word(item.code_point, item.error is not None)

    def run(
        self,
        texts: Iterable[Iterable[int]],
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
        separate_ends: Sequence[bool] = (False,),
        vcd: Path | None = None,
    ) -> Run:
        """Send `texts` back to back through the decoder and collect what comes out.

        Args:
            texts: the code units of each text.
            input_pauses: per clock, repeated, whether the input holds back its next beat. A beat
                once offered stays until it is taken.
            output_pauses: per clock, repeated, whether the output is not ready.
            separate_ends: per text, repeated, whether its end is a beat of its own. It always is
                where a text is empty.
            vcd: a file for the waveform.

        Raises:
            ContractError: a payload changed while it waited, an item was taken back, `last` came
                too often, or nothing moved though both sides were willing.
            ValueError: a pattern pauses for ever.
        """
        result = Run()
        result.texts.append([])

        def take(item: Item | Word | None, last: bool, shown: int) -> None:
            if item is not None:
                result.texts[-1].append(item)
                result.shown.append(shown)
            if last:
                result.texts.append([])

        beats = _beats(texts, separate_ends)
        result.clocks = self.stream(
            beats,
            take,
            input_pauses=input_pauses,
            output_pauses=output_pauses,
            accepted=result.accepted.append,
            vcd=vcd,
        )
        result.texts.pop()
        return result

    def stream(
        self,
        beats: Iterator[Beat],
        take: Take,
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
        accepted: Callable[[int], None] | None = None,
        vcd: Path | None = None,
    ) -> int:
        """The same for input of any length, piece by piece; returns how many clocks it took.

        Args:
            beats: the input.
            take: called with each output beat.
            input_pauses: see `run`.
            output_pauses: see `run`.
            accepted: called with the clock in which an input beat was taken.
            vcd: a file for the waveform.

        Raises:
            ContractError: see `run`.
            ValueError: a pattern pauses for ever.
        """
        for name, pattern in (("input_pauses", input_pauses), ("output_pauses", output_pauses)):
            if all(pattern):
                raise ValueError(f"{name} has no clock without a pause: {list(pattern)!r}")
        bench = _Bench(self.decoder, self._item, beats, take, accepted)

        async def play(ctx: Any) -> None:
            await bench.play(ctx, input_pauses, output_pauses)

        if self._play is not None:
            self._simulator.reset()
        self._play = play
        ports = [self.decoder.units, self.decoder.items]
        with self._simulator.write_vcd(str(vcd), traces=ports) if vcd else nullcontext():
            self._simulator.run()
        return bench.clock

    async def _testbench(self, ctx: Any) -> None:
        assert self._play is not None
        await self._play(ctx)

    def _item(self, beat: data.Const, offset: int) -> Item | Word:
        code_point = beat.code_point
        if beat.error and not self.decoder.replacement:
            code_point = REPLACEMENT_CHARACTER
        if not self._complete:
            return Word(code_point, bool(beat.error))
        kind = ErrorKind(beat.kind.value) if beat.kind.value else None
        if bool(beat.error) != (kind is not None):
            raise ContractError(f"the error flag is {beat.error}, but the kind is {beat.kind}")
        return Item(offset, beat.length, code_point, kind)


@dataclass
class _Bench:
    """Both ends of a decoder during one run, and a watch on the stream contract."""

    decoder: SerialDecoder | PracticeDecoder
    item: Callable[[data.Const, int], Item | Word]
    beats: Iterator[Beat]
    take: Take
    accepted: Callable[[int], None] | None

    clock: int = 0
    offered: bool = False
    idle: int = 0
    """Clocks in which both sides were willing and nothing moved."""
    inside: bool = False
    """A text has begun and not ended."""
    ended: int = 0
    """Texts that have ended at the input and not yet at the output."""
    offset: int = 0
    waiting: int | None = None
    shown: int = 0

    def __post_init__(self) -> None:
        self.upcoming = next(self.beats, None)
        self.payload = Value.cast(self.decoder.items.payload)

    async def play(self, ctx: Any, input_pauses: Sequence[bool], output_pauses: Sequence[bool]) -> None:
        units, items = self.decoder.units, self.decoder.items
        while self.upcoming is not None or self.ended or self.inside:
            if self.upcoming is not None and not self.offered and not input_pauses[self.clock % len(input_pauses)]:
                unit, last = self.upcoming
                ctx.set(units.payload, {"unit": unit or 0, "keep": unit is not None, "last": last})
                self.offered = True
            ready = not output_pauses[self.clock % len(output_pauses)]
            ctx.set(units.valid, self.offered)
            ctx.set(items.ready, ready)
            self.idle += ready and (self.offered or self.upcoming is None)
            self.watch_output(ctx, ready)
            if self.offered and ctx.get(units.ready):
                self.accept()
            if self.ended < 0:
                raise ContractError(f"clock {self.clock}: last came out before a text had ended")
            if self.idle > PATIENCE:
                raise ContractError(f"clock {self.clock}: nothing has moved for {PATIENCE} clocks")
            await ctx.tick()
            self.clock += 1

    def watch_output(self, ctx: Any, ready: bool) -> None:
        if not ctx.get(self.decoder.items.valid):
            if self.waiting is not None:
                raise ContractError(f"clock {self.clock}: valid fell before the payload {self.waiting:#x} was taken")
            return
        payload = ctx.get(self.payload)
        if self.waiting is None:
            self.shown = self.clock
        elif payload != self.waiting:
            raise ContractError(f"clock {self.clock}: a waiting payload changed from {self.waiting:#x} to {payload:#x}")
        self.waiting = payload
        if ready:
            self.deliver(self.decoder.items.payload.shape().from_bits(payload))

    def deliver(self, beat: data.Const) -> None:
        item = self.item(beat, self.offset) if beat.keep else None
        self.take(item, bool(beat.last), self.shown)
        length = item.length if isinstance(item, Item) else 0
        self.offset = 0 if beat.last else self.offset + length
        self.ended -= beat.last
        self.waiting, self.idle = None, 0

    def accept(self) -> None:
        assert self.upcoming is not None
        _, last = self.upcoming
        if self.accepted:
            self.accepted(self.clock)
        self.ended += last
        self.inside = not last
        self.upcoming, self.offered, self.idle = next(self.beats, None), False, 0


def _beats(texts: Iterable[Iterable[int]], separate_ends: Sequence[bool]) -> Iterator[Beat]:
    """The input beats of texts, one after the other."""
    for number, text in enumerate(texts):
        held: int | None = None
        for unit in text:
            if held is not None:
                yield held, False
            held = unit
        if held is not None and not separate_ends[number % len(separate_ends)]:
            yield held, True
        else:
            if held is not None:
                yield held, False
            yield None, True


def simulate(
    texts: bytes | Sequence[Iterable[int]],
    *,
    input_pauses: Sequence[bool] = (False,),
    output_pauses: Sequence[bool] = (False,),
    separate_ends: Sequence[bool] = (False,),
    pipeline: int = 0,
    vcd: Path | None = None,
) -> list[list[Item | Word]]:
    """The items that the simulated UTF-8 decoder gives for one text or several.

    See `Simulation.run` for the arguments; whoever runs often keeps a `Simulation`.

    >>> from utf8fpga.model import decode
    >>> simulate(b"\\xc2A") == [list(decode(b"\\xc2A"))]
    True
    """
    several: Sequence[Iterable[int]] = [texts] if isinstance(texts, bytes) else texts
    simulation = Simulation(SerialDecoder(TABLE_3_7, pipeline=pipeline, kind=True, length=True))
    return simulation.run(
        several, input_pauses=input_pauses, output_pauses=output_pauses, separate_ends=separate_ends, vcd=vcd
    ).texts
