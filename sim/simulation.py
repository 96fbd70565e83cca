# SPDX-License-Identifier: BSD-2-Clause
"""Simulation as a function: texts and pauses in, items out, with the stream contract watched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, islice, takewhile
from operator import index
from pathlib import Path
from typing import Any, NamedTuple, cast

from amaranth.hdl import Value
from amaranth.lib import data
from amaranth.sim import Simulator

from utf8fpga.hdl import AnyDecoder, Decoder, RefreshedDecoder, SerialDecoder
from utf8fpga.model import (
    REPLACEMENT_CHARACTER,
    TABLE_3_7,
    EncodingTable,
    ErrorKind,
    InvalidArgumentError,
    Item,
)
from utf8fpga.model.practices import decode_with

__all__ = [
    "NULL_BEAT",
    "Beat",
    "ContractError",
    "Run",
    "Simulation",
    "Word",
    "beat_payload",
    "simulate",
    "text_beats",
    "with_null_beats",
]

CLOCK_PERIOD = 10e-9
"""Seconds; only waveforms show it."""

PATIENCE = 64
"""Clocks in which both sides are willing but nothing moves, after which a decoder counts as stuck; a refresh may
take `Refresh.still` more."""


Beat = tuple[tuple[int, ...], bool]
"""An input beat: its code units, at most as many as there are lanes, and `last`."""

NULL_BEAT: Beat = ((), False)
"""A beat with neither a code unit nor `last`, which has no effect."""


class ContractError(AssertionError):
    """The decoder broke the stream contract, or stopped."""


class Word(NamedTuple):
    """An item as a decoder without the fields `kind` and `length` gives it."""

    code_point: int
    error: bool


Take = Callable[[Item | Word | None, bool, int], None]
"""What is called with each item of an output beat, or None for a beat without one: whether it is the text's end
that comes with it, and the clock that first showed the beat."""


@dataclass
class Run:
    """What one simulation run did; clocks are counted from its start.

    Attributes:
        texts: per text its items.
        accepted: per input beat, null beats left out, the clock in which it was taken.
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

    def __init__(self, decoder: AnyDecoder | None = None) -> None:
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
        null_beats: Sequence[bool] = (False,),
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
            null_beats: per input beat, repeated, whether it is a null beat; otherwise it is the next
                of the texts.
            vcd: a file for the waveform.

        Raises:
            ContractError: a payload changed while it waited, an item was taken back, `last` came
                too often, a beat held neither an item nor `last`, packed words had a gap, or nothing
                moved though both sides were willing.
            InvalidArgumentError: a pattern pauses for ever or is empty, a text is no text, or a code unit
                does not fit its width.
        """
        if not separate_ends:
            raise InvalidArgumentError("separate_ends is empty: give at least one bool")
        result = Run()
        result.texts.append([])

        def take(item: Item | Word | None, last: bool, shown: int) -> None:
            if item is not None:
                result.texts[-1].append(item)
                result.shown.append(shown)
            if last:
                result.texts.append([])

        if not separate_ends:
            raise InvalidArgumentError("separate_ends [] has no value for any text: give [False] for no end of its own")
        beats = with_null_beats(_beats(texts, separate_ends, self.decoder), null_beats)
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
            accepted: called with the clock in which an input beat was taken that is no null beat.
            vcd: a file for the waveform.

        Raises:
            ContractError: see `run`.
            InvalidArgumentError: a pattern pauses for ever or is empty.
        """
        for name, pattern in (("input_pauses", input_pauses), ("output_pauses", output_pauses)):
            if all(pattern):
                raise InvalidArgumentError(f"{name} has no clock without a pause: {list(pattern)!r}")
        bench = _Bench(self.decoder, self.item, beats, take, accepted)

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

    @cached_property
    def _fields(self) -> list[dict[str, tuple[int, int]]]:
        """Per lane the place and the mask of each field in the output's payload."""
        layout = self.decoder.items.payload.shape()
        items = layout["items"]
        places = [items.offset + lane * items.shape.elem_shape.size for lane in range(self.decoder.lanes)]
        return [{name: _place(field, start) for name, field in items.shape.elem_shape} for start in places]

    def item(self, payload: int, lane: int, offset: int) -> Item | Word | None:
        """The item in a lane of an output beat.

        Args:
            payload: the beat.
            lane: which.
            offset: of the item in its text, for a decoder with `kind` and `length`.

        Returns:
            the item, None where there is none.

        Raises:
            ContractError: the flags of the lane contradict each other.
            ValueError: no item has such fields.
        """
        values = {name: payload >> place & mask for name, (place, mask) in self._fields[lane].items()}
        error = bool(values["error"])
        if not values["keep"]:
            if error:
                raise ContractError(f"the error flag of word {lane} is set, but there is no word")
            return None
        code_point = REPLACEMENT_CHARACTER if error and not self.decoder.replacement else values["code_point"]
        if not self._complete:
            return Word(code_point, error)
        kind = ErrorKind(values["kind"]) if values["kind"] else None
        if error != (kind is not None):
            raise ContractError(
                f"the error flag is {values['error']}, but the kind is Kind.{kind.name if kind else 'NONE'}"
            )
        return Item(offset, values["length"], code_point, kind)


def _place(field: data.Field, start: int = 0) -> tuple[int, int]:
    return start + field.offset, (1 << field.width) - 1


@dataclass
class _Bench:
    """Both ends of a decoder during one run, and a watch on the stream contract."""

    decoder: AnyDecoder
    item: Callable[[int, int, int], Item | Word | None]
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
        self.patience = PATIENCE
        if isinstance(self.decoder, RefreshedDecoder):
            self.patience += self.decoder.refresh.still
        self.given = Value.cast(self.decoder.units.payload)
        self.payload = Value.cast(self.decoder.items.payload)
        self.last = len(self.payload) - 1

    async def play(self, ctx: Any, input_pauses: Sequence[bool], output_pauses: Sequence[bool]) -> None:
        units, items = self.decoder.units, self.decoder.items
        while self.upcoming is not None or self.ended or self.inside:
            if self.upcoming is not None and not self.offered and not input_pauses[self.clock % len(input_pauses)]:
                ctx.set(self.given, beat_payload(self.decoder, self.upcoming))
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
            if self.idle > self.patience:
                raise ContractError(f"clock {self.clock}: nothing has moved for {self.patience} clocks")
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
            self.deliver(payload)

    def deliver(self, payload: int) -> None:
        last, lanes = bool(payload >> self.last & 1), self.decoder.lanes
        found: list[Item | Word] = []
        for lane in range(lanes):
            item = self.item(payload, lane, self.offset)
            if item is None:
                continue
            if self.decoder.packed and len(found) != lane:
                raise ContractError(f"clock {self.clock}: a gap before word {lane} of packed words")
            found.append(item)
            self.offset += item.length if isinstance(item, Item) else 0
        if not found and not last:
            raise ContractError(f"clock {self.clock}: a beat with neither a word nor last")
        for item in found[:-1]:
            self.take(item, False, self.shown)
        self.take(found[-1] if found else None, last, self.shown)
        if last:
            self.offset = 0
        self.ended -= last
        self.waiting, self.idle = None, 0

    def accept(self) -> None:
        assert self.upcoming is not None
        _, last = self.upcoming
        if self.upcoming != NULL_BEAT:
            if self.accepted:
                self.accepted(self.clock)
            self.ended += last
            self.inside = not last
        self.upcoming, self.offered, self.idle = next(self.beats, None), False, 0


def _beats(texts: Iterable[Iterable[int]], separate_ends: Sequence[bool], decoder: AnyDecoder) -> Iterator[Beat]:
    """The input beats of texts, one after the other."""
    for number, text in enumerate(texts):
        units = _checked(text, number, decoder.table)
        yield from text_beats(units, decoder.lanes, separate_end=separate_ends[number % len(separate_ends)])


def _checked(text: Iterable[int], number: int, table: EncodingTable) -> Iterator[int]:
    """The units of a text, each an integer of the table's width."""
    try:
        units = iter(text)
    except TypeError:
        raise InvalidArgumentError(
            f"text {number} is {text!r}, which is not an iterable of code units: give one text as [text]"
        ) from None
    top = (1 << table.unit_width) - 1
    for offset, unit in enumerate(units):
        try:
            value = index(unit)
        except TypeError:
            value = -1
        if not 0 <= value <= top:
            raise InvalidArgumentError(
                f"code unit {unit!r} at offset {offset} of text {number} is not an integer of {table.unit_width} bits: "
                f"give one in 0..{top:#x}"
            )
        yield value


def with_null_beats(beats: Iterable[Beat], null_beats: Sequence[bool]) -> Iterator[Beat]:
    """The input beats with null beats between them.

    Args:
        beats: the other ones.
        null_beats: per beat of the result, repeated, whether it is a null beat.

    Raises:
        InvalidArgumentError: the pattern has nothing but null beats or is empty.
    """
    if all(null_beats):
        raise InvalidArgumentError(f"null_beats has no place for another beat: {list(null_beats)!r}")
    return _filled(beats, cycle(null_beats))


def _filled(beats: Iterable[Beat], null_beats: Iterator[bool]) -> Iterator[Beat]:
    for beat in beats:
        yield from (NULL_BEAT for _ in takewhile(bool, null_beats))
        yield beat
    yield from (NULL_BEAT for _ in takewhile(bool, null_beats))


def text_beats(text: Iterable[int], lanes: int, *, separate_end: bool = False) -> Iterator[Beat]:
    """The input beats of a text.

    Args:
        text: its code units.
        lanes: how many a beat has room for.
        separate_end: its end is a beat of its own where the one before is full; it always is where the
            text is empty.
    """
    units = iter(text)
    beat = tuple(islice(units, lanes))
    while len(beat) == lanes:
        following = tuple(islice(units, lanes))
        if not following and not separate_end:
            break
        yield beat, False
        beat = following
    yield beat, True


def beat_payload(decoder: AnyDecoder, beat: Beat) -> int:
    """An input beat as the payload of a decoder's input."""
    (given, last), width, lanes = beat, decoder.table.unit_width, decoder.lanes
    # What is in a lane without a unit must not matter: it would continue most sequences.
    absent = max(decoder.table.rows, key=lambda row: len(row.units)).units[-1].last
    units = (*given, *[absent] * (lanes - len(given)))
    payload = sum(unit << width * lane for lane, unit in enumerate(units))
    return payload | (1 << len(given)) - 1 << width * lanes | last << (width + 1) * lanes


def simulate(
    texts: bytes | bytearray | memoryview | Iterable[Iterable[int]],
    *,
    input_pauses: Sequence[bool] = (False,),
    output_pauses: Sequence[bool] = (False,),
    separate_ends: Sequence[bool] = (False,),
    null_beats: Sequence[bool] = (False,),
    vcd: Path | None = None,
    **parameters: Any,
) -> list[list[Item | Word]]:
    """The items that the simulated UTF-8 decoder gives for one text or several.

    A bytes-like object is one text; any other iterable is of texts. See `Simulation.run` and `DecoderParameters` for
    the other arguments; to run often, keep a `Simulation`.

    >>> from utf8fpga.model import decode
    >>> simulate(b"\\xc2A") == [list(decode(b"\\xc2A"))]
    True
    """
    try:
        several: Iterable[Iterable[int]] = [bytes(memoryview(texts))]  # type: ignore[arg-type]  # TypeError if not
    except TypeError:
        several = cast("Iterable[Iterable[int]]", texts)
    decoder = Decoder(TABLE_3_7, kind=True, length=True, **parameters)
    simulation = Simulation(decoder)
    return simulation.run(
        several,
        input_pauses=input_pauses,
        output_pauses=output_pauses,
        separate_ends=separate_ends,
        null_beats=null_beats,
        vcd=vcd,
    ).texts
