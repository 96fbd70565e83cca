# SPDX-License-Identifier: BSD-2-Clause
"""Simulation as a function from texts and pauses to items, with a check of the stream contract."""

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
"""The period of the simulated clock in seconds, which is visible only in waveforms."""

PATIENCE = 64
"""Upper bound on the cycles without a transfer while the output is ready and the input is valid or finished; a
decoder that exceeds it is reported as stuck. A periodic reset may take `Refresh.still` cycles more."""


Beat = tuple[tuple[int, ...], bool]
"""An input beat: its code units, at most as many as there are lanes, and `last`."""

NULL_BEAT: Beat = ((), False)
"""A null beat: neither a code unit nor `last`. It has no effect."""


class ContractError(AssertionError):
    """The decoder violated the stream contract, or transferred no beat for too many cycles."""


class Word(NamedTuple):
    """The output word of a decoder without the fields `kind` and `length`.

    Attributes:
        code_point: the code point; U+FFFD where ill-formed.
        error: whether the item is ill-formed.
    """

    code_point: int
    error: bool


Take = Callable[[Item | Word | None, bool, int], None]
"""Called with each item of an output beat, or None for a beat without items; whether it is the last of the text;
and the first cycle in which `valid` was asserted for the beat."""


@dataclass
class Run:
    """The result of one simulation run; cycles are counted from its start.

    Attributes:
        texts: the items of each text.
        accepted: for each input beat except null beats, the cycle in which it was transferred.
        shown: for each item, the first cycle in which `valid` was asserted for its beat.
        clocks: the length of the run in cycles.
    """

    texts: list[list[Item | Word]] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    clocks: int = 0


class Simulation:
    """A decoder in Amaranth's simulator, elaborated once for any number of runs.

    Args:
        decoder: the decoder; with `kind` and `length` its items are the model's `Item`, otherwise
            `Word`. Default: a serial decoder of UTF-8 with both.
    """

    def __init__(self, decoder: AnyDecoder | None = None) -> None:
        self.decoder = decoder or SerialDecoder(kind=True, length=True)
        self._complete = self.decoder.kind and self.decoder.length
        self._play: Callable[[Any], Any] | None = None

    @cached_property
    def _simulator(self) -> Simulator:
        # Created in the first run, since Python warns of a test bench that is never run.
        simulator = Simulator(self.decoder)
        simulator.add_clock(CLOCK_PERIOD)
        simulator.add_testbench(self._testbench)
        return simulator

    def expected(self, text: Iterable[int]) -> list[Item | Word]:
        """The items of the golden model for `text`, in the form of this decoder's items."""
        return [self.like(item) for item in decode_with(text, self.decoder.practice, self.decoder.table)]

    def like(self, item: Item) -> Item | Word:
        """An item of the model in the form of this decoder's items: an `Item` or a `Word`."""
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
        """Send `texts` back to back to the decoder, each as one packet, and collect the output.

        A pattern is repeated as often as necessary.

        Args:
            texts: the code units of each text.
            input_pauses: for each cycle, whether the next input beat is delayed. Once `valid` is
                asserted it stays asserted until the beat is transferred.
            output_pauses: for each cycle, whether `ready` is deasserted at the output.
            separate_ends: for each text, whether `last` is in a beat without units. It always is
                where the text is empty.
            null_beats: for each input beat, whether it is a null beat; otherwise it is the next beat
                of the texts.
            vcd: a file for the waveform.

        Raises:
            ContractError: a payload changed or `valid` was deasserted before the transfer, `last`
                was set too often, a beat had neither an item nor `last`, packed words had a gap, or no
                beat was transferred for more than `PATIENCE` cycles.
            InvalidArgumentError: a pattern is empty or consists of pauses only, a text is not an iterable
                of code units, or a code unit is outside the table's width.
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
        """Like `run`, but with beats that are read on demand, for input of any length.

        Args:
            beats: the input beats.
            take: called with the items of each output beat.
            input_pauses: see `run`.
            output_pauses: see `run`.
            accepted: called with the cycle of each transfer at the input, except for null beats.
            vcd: a file for the waveform.

        Returns:
            The length of the run in cycles.

        Raises:
            ContractError: see `run`.
            InvalidArgumentError: a pattern is empty or consists of pauses only.
        """
        for name, pattern in (("input_pauses", input_pauses), ("output_pauses", output_pauses)):
            if all(pattern):
                raise InvalidArgumentError(f"{name} {list(pattern)!r} has no cycle without a pause: include one False")
        bench = _Bench(self.decoder, self.item, beats, take, accepted)

        async def play(ctx: Any) -> None:
            await bench.play(ctx, input_pauses, output_pauses)

        if self._play is not None:
            self._simulator.reset()
        self._play = play
        ports = [self.decoder.input, self.decoder.output]
        with self._simulator.write_vcd(str(vcd), traces=ports) if vcd else nullcontext():
            self._simulator.run()
        return bench.clock

    async def _testbench(self, ctx: Any) -> None:
        assert self._play is not None
        await self._play(ctx)

    @cached_property
    def _fields(self) -> list[dict[str, tuple[int, int]]]:
        """For each lane the position and the mask of each field in the output payload."""
        layout = self.decoder.output.payload.shape()
        symbols = layout["symbols"]
        item, keep = symbols.shape.elem_shape, layout["keep"].offset
        return [
            {name: _place(field, symbols.offset + lane * item.size) for name, field in item} | {"keep": (keep + lane, 1)}
            for lane in range(self.decoder.lanes)
        ]

    def item(self, payload: int, lane: int, offset: int) -> Item | Word | None:
        """The item in a lane of an output beat.

        Args:
            payload: the payload of the beat.
            lane: the number of the lane.
            offset: the offset of the item in its text, for a decoder with `kind` and `length`.

        Returns:
            The item; None where `keep` of the lane is 0.

        Raises:
            ContractError: the flags of the lane contradict each other.
            ValueError: the field `kind` has a value that is not an `ErrorKind`.
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
    """The drivers of both streams of a decoder during one run, and the check of the stream contract."""

    decoder: AnyDecoder
    item: Callable[[int, int, int], Item | Word | None]
    beats: Iterator[Beat]
    take: Take
    accepted: Callable[[int], None] | None

    clock: int = 0
    offered: bool = False
    idle: int = 0
    """Cycles since the last transfer in which the output was ready and the input was valid or finished."""
    inside: bool = False
    """Whether the last input beat did not end its text."""
    ended: int = 0
    """The number of texts that have ended at the input and not yet at the output."""
    offset: int = 0
    waiting: int | None = None
    shown: int = 0

    def __post_init__(self) -> None:
        self.upcoming = next(self.beats, None)
        self.patience = PATIENCE
        if isinstance(self.decoder, RefreshedDecoder):
            self.patience += self.decoder.refresh.still
        self.given = Value.cast(self.decoder.input.payload)
        self.payload = Value.cast(self.decoder.output.payload)
        self.last = len(self.payload) - 1

    async def play(self, ctx: Any, input_pauses: Sequence[bool], output_pauses: Sequence[bool]) -> None:
        source, output = self.decoder.input, self.decoder.output
        while self.upcoming is not None or self.ended or self.inside:
            if self.upcoming is not None and not self.offered and not input_pauses[self.clock % len(input_pauses)]:
                ctx.set(self.given, beat_payload(self.decoder, self.upcoming))
                self.offered = True
            ready = not output_pauses[self.clock % len(output_pauses)]
            ctx.set(source.valid, self.offered)
            ctx.set(output.ready, ready)
            self.idle += ready and (self.offered or self.upcoming is None)
            self.watch_output(ctx, ready)
            if self.offered and ctx.get(source.ready):
                self.accept()
            if self.ended < 0:
                raise ContractError(f"cycle {self.clock}: last is set at the output before a text has ended")
            if self.idle > self.patience:
                raise ContractError(f"cycle {self.clock}: no beat was transferred for {self.patience} cycles")
            await ctx.tick()
            self.clock += 1

    def watch_output(self, ctx: Any, ready: bool) -> None:
        if not ctx.get(self.decoder.output.valid):
            if self.waiting is not None:
                raise ContractError(
                    f"cycle {self.clock}: valid was deasserted before the transfer of payload {self.waiting:#x}"
                )
            return
        payload = ctx.get(self.payload)
        if self.waiting is None:
            self.shown = self.clock
        elif payload != self.waiting:
            raise ContractError(
                f"cycle {self.clock}: the payload changed from {self.waiting:#x} to {payload:#x} before its transfer"
            )
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
                raise ContractError(f"cycle {self.clock}: a gap before word {lane} of packed words")
            found.append(item)
            self.offset += item.length if isinstance(item, Item) else 0
        if not found and not last:
            raise ContractError(f"cycle {self.clock}: a beat with neither a word nor last")
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
    """The input beats of all texts, in order."""
    for number, text in enumerate(texts):
        units = _checked(text, number, decoder.table)
        yield from text_beats(units, decoder.lanes, separate_end=separate_ends[number % len(separate_ends)])


def _checked(text: Iterable[int], number: int, table: EncodingTable) -> Iterator[int]:
    """The units of a text; each is checked to be an integer of the table's width when it is read."""
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
    """Insert null beats into a sequence of input beats.

    Args:
        beats: the input beats.
        null_beats: for each beat of the result, repeated, whether it is a null beat.

    Raises:
        InvalidArgumentError: the pattern is empty or consists of null beats only.
    """
    if all(null_beats):
        raise InvalidArgumentError(f"null_beats {list(null_beats)!r} has only null beats: include one False")
    return _filled(beats, cycle(null_beats))


def _filled(beats: Iterable[Beat], null_beats: Iterator[bool]) -> Iterator[Beat]:
    for beat in beats:
        yield from (NULL_BEAT for _ in takewhile(bool, null_beats))
        yield beat
    yield from (NULL_BEAT for _ in takewhile(bool, null_beats))


def text_beats(text: Iterable[int], lanes: int, *, separate_end: bool = False) -> Iterator[Beat]:
    """The input beats of a text, all full except the last.

    Args:
        text: the code units.
        lanes: the number of code units in a full beat.
        separate_end: `last` is in a beat without units if the beat before is full; it always is where the
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
    """An input beat as an integer with the layout of the decoder's input payload.

    Lanes without a unit have a value that would continue a sequence, so that a decoder that does not ignore them fails.
    """
    (given, last), width, lanes = beat, decoder.table.unit_width, decoder.lanes
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
    """Simulate a UTF-8 decoder on one text or several.

    A bytes-like object is one text; any other iterable consists of texts. See `Simulation.run` for the other arguments
    and for the errors raised. For many runs, create a `Simulation` once.

    Args:
        texts: the text or texts.
        input_pauses: see `Simulation.run`.
        output_pauses: see `Simulation.run`.
        separate_ends: see `Simulation.run`.
        null_beats: see `Simulation.run`.
        vcd: a file for the waveform.
        parameters: the fields of `DecoderParameters` except the table, `kind` and `length`.

    Returns:
        The items of each text.

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
