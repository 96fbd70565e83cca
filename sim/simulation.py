# SPDX-License-Identifier: BSD-2-Clause
"""Simulation as a function: texts and pauses in, items out, with the stream contract watched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from amaranth.hdl import Value
from amaranth.lib import data
from amaranth.sim import Simulator

from utf8fpga.hdl import SerialDecoder
from utf8fpga.model import REPLACEMENT_CHARACTER, TABLE_3_7, ErrorKind, Item, decode

__all__ = ["ContractError", "Run", "Simulation", "Word", "simulate"]

CLOCK_PERIOD = 10e-9
"""Seconds; only waveforms show it."""

PATIENCE = 64
"""Clocks in which both sides are willing but nothing moves, after which a decoder counts as stuck."""


class ContractError(AssertionError):
    """The decoder broke the stream contract, or stopped."""


class Word(NamedTuple):
    """An item as a decoder without the fields `kind` and `length` gives it."""

    code_point: int
    error: bool


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

    def __init__(self, decoder: SerialDecoder | None = None) -> None:
        self.decoder = decoder or SerialDecoder(kind=True, length=True)
        self._complete = self.decoder.kind and self.decoder.length
        self._play: Callable[[Any], Any] | None = None
        self._simulator = Simulator(self.decoder)
        self._simulator.add_clock(CLOCK_PERIOD)
        self._simulator.add_testbench(self._testbench)

    def expected(self, text: Iterable[int]) -> list[Item | Word]:
        """What the golden model gives for `text`, in the fields that this decoder has."""
        items = decode(text, self.decoder.table)
        return list(items) if self._complete else [Word(item.code_point, item.error is not None) for item in items]

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
            beats, take, input_pauses=input_pauses, output_pauses=output_pauses, accepted=result.accepted.append, vcd=vcd
        )
        result.texts.pop()
        return result

    def stream(
        self,
        beats: Iterator[tuple[int | None, bool]],
        take: Callable[[Item | Word | None, bool, int], None],
        *,
        input_pauses: Sequence[bool] = (False,),
        output_pauses: Sequence[bool] = (False,),
        accepted: Callable[[int], None] = lambda clock: None,
        vcd: Path | None = None,
    ) -> int:
        """The same for input of any length, piece by piece; returns how many clocks it took.

        Args:
            beats: (code unit or None, last).
            take: called for each output beat with its item or None, its `last` and the clock in
                which it was first shown.
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
        clocks = 0

        async def play(ctx: Any) -> None:
            nonlocal clocks
            clocks = await _Bench(self.decoder, self._item).play(
                ctx, beats, take, input_pauses, output_pauses, accepted
            )

        if self._play is not None:
            self._simulator.reset()
        self._play = play
        ports = [self.decoder.units, self.decoder.items]
        with self._simulator.write_vcd(str(vcd), traces=ports) if vcd else nullcontext():
            self._simulator.run()
        return clocks

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


class _Bench:
    def __init__(self, decoder: SerialDecoder, item: Callable[[data.Const, int], Item | Word]) -> None:
        self._units = decoder.units
        self._items = decoder.items
        self._item = item
        self._offset = 0

    async def play(
        self,
        ctx: Any,
        beats: Iterator[tuple[int | None, bool]],
        take: Callable[[Item | Word | None, bool, int], None],
        input_pauses: Sequence[bool],
        output_pauses: Sequence[bool],
        accepted: Callable[[int], None],
    ) -> int:
        units, items = self._units, self._items
        items_payload, layout = Value.cast(items.payload), items.payload.shape()
        upcoming = next(beats, None)
        clock = ended = idle = shown = 0
        offered = within = False
        waiting: int | None = None
        while upcoming is not None or ended or within:
            if upcoming is not None and not offered and not input_pauses[clock % len(input_pauses)]:
                unit, last = upcoming
                ctx.set(units.payload, {"unit": unit or 0, "keep": unit is not None, "last": last})
                offered = True
            ready = not output_pauses[clock % len(output_pauses)]
            ctx.set(units.valid, offered)
            ctx.set(items.ready, ready)
            # Both sides are willing, or there is nothing left to offer.
            idle = idle + 1 if ready and (offered or upcoming is None) else 0

            if ctx.get(items.valid):
                payload = ctx.get(items_payload)
                if waiting is None:
                    shown = clock
                elif payload != waiting:
                    raise ContractError(f"clock {clock}: a waiting payload changed from {waiting:#x} to {payload:#x}")
                waiting = payload
                if ready:
                    beat = layout.from_bits(payload)
                    self._take(beat, shown, take)
                    ended -= beat.last
                    waiting, idle = None, 0
            elif waiting is not None:
                raise ContractError(f"clock {clock}: valid fell before the payload {waiting:#x} was taken")

            if offered and ctx.get(units.ready):
                accepted(clock)
                assert upcoming is not None
                ended += upcoming[1]
                within = not upcoming[1]
                upcoming, offered, idle = next(beats, None), False, 0
            if ended < 0:
                raise ContractError(f"clock {clock}: last came out before a text had ended")
            if idle > PATIENCE:
                raise ContractError(f"clock {clock}: nothing has moved for {PATIENCE} clocks")
            await ctx.tick()
            clock += 1
        return clock

    def _take(self, beat: data.Const, shown: int, take: Callable[[Item | Word | None, bool, int], None]) -> None:
        item = self._item(beat, self._offset) if beat.keep else None
        take(item, bool(beat.last), shown)
        length = item.length if isinstance(item, Item) else 0
        self._offset = 0 if beat.last else self._offset + length


def _beats(texts: Iterable[Iterable[int]], separate_ends: Sequence[bool]) -> Iterator[tuple[int | None, bool]]:
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

    >>> simulate(b"\\xc2A") == [list(decode(b"\\xc2A"))]
    True
    """
    several: Sequence[Iterable[int]] = [texts] if isinstance(texts, bytes) else texts
    simulation = Simulation(SerialDecoder(TABLE_3_7, pipeline=pipeline, kind=True, length=True))
    return simulation.run(
        several, input_pauses=input_pauses, output_pauses=output_pauses, separate_ends=separate_ends, vcd=vcd
    ).texts
