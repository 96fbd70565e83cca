# SPDX-License-Identifier: BSD-2-Clause
"""Simulation of a core as a function from texts and pauses to symbols, with a check of the stream contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, islice, takewhile
from operator import index
from pathlib import Path
from typing import Any, cast

from amaranth.hdl import Shape, Value
from amaranth.lib import data
from amaranth.sim import Simulator

from utf8fpga.hdl import Core, CoreParameters, DecoderParameters, parameters_of
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.model import InvalidArgumentError
from utf8fpga.sim.waveform import recorded

__all__ = [
    "NULL_BEAT",
    "Beat",
    "ContractError",
    "Run",
    "Simulation",
    "beat_payload",
    "simulate",
    "text_beats",
    "with_null_beats",
]

CLOCK_PERIOD = 10e-9
"""The period of the simulated clock in seconds, which is visible only in waveforms."""

PATIENCE = 64
"""Cycles without a transfer, while the output is ready and the input is valid or finished, after which a core is
reported as stuck; more for a core whose timing contract allows more."""


Beat = tuple[tuple[int, ...], bool]
"""An input beat: its symbols, at most as many as there are lanes, and `last`."""

NULL_BEAT: Beat = ((), False)
"""A null beat: neither a symbol nor `last`. It has no effect."""


class ContractError(AssertionError):
    """The core violated the stream contract, or transferred no beat for too many cycles."""


Take = Callable[[Any, bool, int], None]
"""Called with each symbol of an output beat, or None for a beat without symbols; whether it is the last of the text;
and the first cycle in which `valid` was asserted for the beat."""


@dataclass
class Run:
    """The result of one simulation run; cycles are counted from its start.

    Attributes:
        texts: the output symbols of each text.
        accepted: for each input beat except null beats, the cycle in which it was transferred.
        valid_since: for each symbol, the first cycle in which `valid` was asserted for its beat.
        cycles: the length of the run in cycles.
    """

    texts: list[list[Any]] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    valid_since: list[int] = field(default_factory=list)
    cycles: int = 0


class Simulation:
    """A core in Amaranth's simulator, elaborated once for any number of runs.

    Args:
        core: the core. The symbols of its output are those of `CoreParameters.observed`; for a decoder with `kind` and
            `length` they are the model's `Item`, otherwise `Word`. Default: a serial decoder of UTF-8 with both.
        parameters: its parameters; default: see `parameters_of`.
    """

    def __init__(self, core: Core | None = None, parameters: CoreParameters | None = None) -> None:
        self.core = core or DecoderParameters(kind=True, length=True).build()
        self.parameters = parameters or parameters_of(self.core)
        self._play: Callable[[Any], Any] | None = None

    @cached_property
    def _simulator(self) -> Simulator:
        # Created in the first run, since Python warns of a test bench that is never run.
        simulator = Simulator(self.core)
        simulator.add_clock(CLOCK_PERIOD)
        simulator.add_testbench(self._testbench)
        return simulator

    def expected(self, text: Iterable[int]) -> list[Any]:
        """The symbols of the golden function for `text`, in the form of this core's symbols."""
        return [self.parameters.comparable(symbol) for symbol in self.parameters.golden().process(text, final=True)]

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
        """Send `texts` back to back to the core, each as one packet, and collect the output.

        A pattern is repeated as often as necessary.

        Args:
            texts: the input symbols of each text.
            input_pauses: for each cycle, whether the next input beat is delayed. Once `valid` is
                asserted it stays asserted until the beat is transferred.
            output_pauses: for each cycle, whether `ready` is deasserted at the output.
            separate_ends: for each text, whether `last` is in a beat without symbols. It always is
                where the text is empty.
            null_beats: for each input beat, whether it is a null beat; otherwise it is the next beat
                of the texts.
            vcd: a file for the waveform.

        Raises:
            ContractError: a payload changed or `valid` was deasserted before the transfer, `last`
                was set too often, a beat had neither a symbol nor `last`, packed symbols had a gap, the flags of a
                symbol contradicted each other, or no beat was transferred for too many cycles.
            InvalidArgumentError: a pattern is empty or consists of pauses only, a text is not an iterable
                of symbols, or a symbol is wider than those of the core.
        """
        if not separate_ends:
            raise InvalidArgumentError("separate_ends is empty: give at least one bool")
        result = Run()
        result.texts.append([])

        def take(symbol: Any, last: bool, valid_since: int) -> None:
            if symbol is not None:
                result.texts[-1].append(symbol)
                result.valid_since.append(valid_since)
            if last:
                result.texts.append([])

        beats = with_null_beats(_beats(texts, separate_ends, self.core), null_beats)
        result.cycles = self.stream(
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
            take: called with the symbols of each output beat.
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
        bench = _Bench(self.core, self.parameters, self.symbol, beats, take, accepted)

        async def play(ctx: Any) -> None:
            await bench.play(ctx, input_pauses, output_pauses)

        if self._play is not None:
            self._simulator.reset()
        self._play = play
        with recorded(self._simulator, self.core, vcd, name=self.parameters.core) if vcd else nullcontext():
            self._simulator.run()
        return bench.clock

    async def _testbench(self, ctx: Any) -> None:
        assert self._play is not None
        await self._play(ctx)

    @cached_property
    def _fields(self) -> list[dict[str, tuple[int, int]]]:
        """For each lane the position and the mask of each field of a symbol, and of `keep`, in the output payload."""
        layout = self.core.output.payload.shape()
        symbols, keep = layout["symbols"], layout["keep"].offset
        shape = symbol_shape(self.core.output)
        size = Shape.cast(shape).width
        fields = (
            {str(name): (field.offset, field.width) for name, field in shape}
            if isinstance(shape, data.StructLayout)
            else {"value": (0, size)}
        )
        return [
            {name: (symbols.offset + lane * size + at, (1 << width) - 1) for name, (at, width) in fields.items()}
            | {"keep": (keep + lane, 1)}
            for lane in range(self.core.lanes)
        ]

    def symbol(self, payload: int, lane: int, previous: Any) -> Any:
        """The symbol in a lane of an output beat.

        Args:
            payload: the payload of the beat.
            lane: the number of the lane.
            previous: the symbol before it in its text; None for the first.

        Returns:
            The symbol, see `CoreParameters.observed`; None where `keep` of the lane is 0.

        Raises:
            ContractError: the flags of the lane contradict each other.
        """
        values = {name: payload >> place & mask for name, (place, mask) in self._fields[lane].items()}
        if not values.pop("keep"):
            if values.get("error"):
                raise ContractError(f"the error flag of word {lane} is set, but there is no word")
            return None
        try:
            return self.parameters.observed(values, previous)
        except InvalidArgumentError as error:
            raise ContractError(str(error)) from None


@dataclass
class _Bench:
    """The drivers of both streams of a core during one run, and the check of the stream contract."""

    core: Core
    parameters: CoreParameters
    symbol: Callable[[int, int, Any], Any]
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
    previous: Any = None
    """The last output symbol of the present text."""
    waiting: int | None = None
    valid_since: int = 0

    def __post_init__(self) -> None:
        self.upcoming = next(self.beats, None)
        core = self.core
        self.patience = max(PATIENCE, core.stall_cycles + core.latency + core.drain_cycles)
        self.given = Value.cast(core.input.payload)
        self.payload = Value.cast(core.output.payload)
        self.last = len(self.payload) - 1

    async def play(self, ctx: Any, input_pauses: Sequence[bool], output_pauses: Sequence[bool]) -> None:
        source, output = self.core.input, self.core.output
        while self.upcoming is not None or self.ended or self.inside:
            if self.upcoming is not None and not self.offered and not input_pauses[self.clock % len(input_pauses)]:
                ctx.set(self.given, beat_payload(self.core, self.upcoming, self.parameters))
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
        if not ctx.get(self.core.output.valid):
            if self.waiting is not None:
                raise ContractError(
                    f"cycle {self.clock}: valid was deasserted before the transfer of payload {self.waiting:#x}"
                )
            return
        payload = ctx.get(self.payload)
        if self.waiting is None:
            self.valid_since = self.clock
        elif payload != self.waiting:
            raise ContractError(
                f"cycle {self.clock}: the payload changed from {self.waiting:#x} to {payload:#x} before its transfer"
            )
        self.waiting = payload
        if ready:
            self.deliver(payload)

    def deliver(self, payload: int) -> None:
        last, lanes = bool(payload >> self.last & 1), self.core.lanes
        found: list[Any] = []
        for lane in range(lanes):
            symbol = self.symbol(payload, lane, self.previous)
            if symbol is None:
                continue
            if self.core.packed and len(found) != lane:
                raise ContractError(f"cycle {self.clock}: a gap before word {lane} of packed words")
            found.append(symbol)
            self.previous = symbol
        if not found and not last:
            raise ContractError(f"cycle {self.clock}: a beat with neither a word nor last")
        for symbol in found[:-1]:
            self.take(symbol, False, self.valid_since)
        self.take(found[-1] if found else None, last, self.valid_since)
        if last:
            self.previous = None
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


def symbol_width(core: Core) -> int:
    """The bits of an input symbol of a core."""
    return int(Shape.cast(symbol_shape(core.input)).width)


def _beats(texts: Iterable[Iterable[int]], separate_ends: Sequence[bool], core: Core) -> Iterator[Beat]:
    """The input beats of all texts, in order."""
    width = symbol_width(core)
    for number, text in enumerate(texts):
        symbols = _checked(text, number, width)
        yield from text_beats(symbols, core.lanes, separate_end=separate_ends[number % len(separate_ends)])


def _checked(text: Iterable[int], number: int, width: int) -> Iterator[int]:
    """The symbols of a text; each is checked to be an integer of a width in bits when it is read."""
    try:
        symbols = iter(text)
    except TypeError:
        raise InvalidArgumentError(
            f"text {number} is {text!r}, which is not an iterable of code units: give one text as [text]"
        ) from None
    top = (1 << width) - 1
    for offset, symbol in enumerate(symbols):
        try:
            value = index(symbol)
        except TypeError:
            value = -1
        if not 0 <= value <= top:
            raise InvalidArgumentError(
                f"code unit {symbol!r} at offset {offset} of text {number} is not an integer of {width} bits: "
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
        text: the symbols.
        lanes: the number of symbols in a full beat.
        separate_end: `last` is in a beat without symbols if the beat before is full; it always is where the
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


def beat_payload(core: Core, beat: Beat, parameters: CoreParameters | None = None) -> int:
    """An input beat as an integer with the layout of the core's input payload.

    Lanes without a symbol have the value `CoreParameters.absent_symbol`: a core that does not ignore them fails.

    Args:
        core: the core.
        beat: the beat.
        parameters: those of the core; default: see `parameters_of`.
    """
    (given, last), width, lanes = beat, symbol_width(core), core.lanes
    absent = (parameters or parameters_of(core)).absent_symbol
    symbols = (*given, *[(1 << width) - 1 if absent is None else absent] * (lanes - len(given)))
    payload = sum(symbol << width * lane for lane, symbol in enumerate(symbols))
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
) -> list[list[Any]]:
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
    simulation = Simulation(DecoderParameters(kind=True, length=True, **parameters).build())
    return simulation.run(
        several,
        input_pauses=input_pauses,
        output_pauses=output_pauses,
        separate_ends=separate_ends,
        null_beats=null_beats,
        vcd=vcd,
    ).texts
