# SPDX-License-Identifier: BSD-2-Clause
"""The parallel decoder: a sliding window over several code units a clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.buffers import (
    CAPACITY,
    Front,
    LaneMemory,
    Level,
    Pair,
    Reset,
    fan_out,
)
from utf8fpga.hdl.decoder.window import (
    CUTS,
    Beat,
    WindowControl,
    any_of,
    build_window,
    word,
)
from utf8fpga.hdl.payloads import Kind, beat_layout, items_layout, offers
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.practices import Practice
from utf8fpga.model.table import checked_table

__all__ = ["BUFFERS", "MAX_LANES", "ParallelDecoder"]

MAX_LANES = 256
"""The most lanes of a parallel decoder."""

BUFFERS = ("registers", "memory")
"""What holds beats back while the consumer waits."""

FASTEST = 5
"""The setting of the pipeline that place and route gave the highest clock for."""

_GROUP = 4
"""Lanes that share pointers: more make the nets from a pointer longer, fewer those to the pointers."""

_REGION = 8
"""Lanes that share what tells pointers to step: more make the nets from it longer, fewer those to it."""

_UNCOUNTED = 3
"""Beats that may be on their way in when the count of those inside is looked at."""


@dataclass(frozen=True)
class BeforeBuffer:
    """The decoder before its buffer.

    Attributes:
        beat: the window's, as it is looked at.
        held: by name what is kept of the beat before.
        waiting: there is one.
    """

    beat: Beat
    held: Mapping[str, Value]
    waiting: Value


@dataclass(frozen=True)
class Merged(BeforeBuffer):
    """What a buffer in registers is given: beats of items.

    Attributes:
        width: an item's bits.
        word: the beat that is offered: the items, and whether the text ends.
    """

    width: int
    word: Value


@dataclass(frozen=True)
class Rows(BeforeBuffer):
    """What a buffer in memory is given, clock by clock.

    Attributes:
        items: of all lanes but the last.
        advances: copies of "these items are a beat's".
        passing: per row of registers up to them copies of "a beat is here".
        tail: the item of the last lane, and whether the text ends.
        leaves: these two are a beat's.
    """

    items: Sequence[Value]
    advances: Sequence[Value]
    passing: Sequence[Sequence[Value]]
    tail: Value
    leaves: Value


@dataclass(frozen=True)
class MemoryBuffer:
    """A buffer in memory, for those who look into it.

    Attributes:
        reset: of its registers.
        inside: the count of beats taken in and not yet shown.
        behind: the count of those written that have not come to the front.
        arrive, near: one does; each keeps itself.
        front: those there.
        groups: per group of lanes what tells it that there are some, and its memory.
    """

    reset: Reset
    inside: Level
    behind: Level
    arrive: Value
    near: Value
    front: Front
    groups: Sequence[tuple[Value, LaneMemory]]


class ParallelDecoder(wiring.Component):
    """Beats of several code units in, as many items or fewer out, one U+FFFD per maximal subpart (D93b).

    Each lane is the same window over a unit, those before it and the one after it; nothing is fed
    back. An item lies in the lane of its last unit, so the words of a beat are in order and may
    have gaps between them (*sparse*; `Packer` closes the gaps).

    Throughput: a beat a clock on any input; `units.ready` is low only while beats wait for
    `items.ready`. Back-to-back texts need no gap and no reset.

    Latency: a beat's items are shown no later than `latency` clocks after it was taken, if it ends
    its text or does not end within a sequence. Otherwise whether its last unit is the end of an
    item depends on the next beat, and the clocks count from that. Beats that hold no item and no
    end are not shown. Nor are null beats, those with neither a unit nor `last`: they are transferred and have
    no effect.

    The buffer keeps `units.ready` and `items.valid` registers, so no path leads through the
    decoder. In *registers* each stage holds still while the two beats at the output wait; copies
    of one flip-flop say so. In *memory* no stage ever holds still: what comes out of the window is
    written to small memories, and beats are taken in while there is room for all. That is smaller
    for many lanes where look-up tables serve as memory, as on ECP5.

    `units.ready` is low for `reset_cycles` cycles after a reset.

    Args:
        table: the encoding form; UTF-8 unless given.
        lanes: code units a beat, 1 to `MAX_LANES`.
        pipeline: rows of registers in the window, 0 to 6; 5 if None.
        buffer: one of `BUFFERS`; memory from as many lanes as the longest sequence has units if
            None. With fewer lanes a beat may hold no item, which memory cannot drop.
        replacement: see `SerialDecoder`.
        kind: see `SerialDecoder`.
        length: see `SerialDecoder`.

    Ports:
        units: stream of `beat_layout`.
        items: stream of `items_layout`.

    Raises:
        ValueError: `lanes`, `pipeline` or `buffer` is out of range, or they do not go together.
        TableError: the table is not of a kind that a parallel decoder is made for.
    """

    practice = Practice.MAXIMAL_SUBPARTS
    packed = False

    def __init__(
        self,
        table: EncodingTable = TABLE_3_7,
        *,
        lanes: int,
        pipeline: int | None = None,
        buffer: str | None = None,
        replacement: bool = True,
        kind: bool = False,
        length: bool = False,
    ) -> None:
        checked_table(table)
        if not 1 <= lanes <= MAX_LANES:
            raise InvalidArgumentError(f"lanes {lanes} is not in 1..{MAX_LANES}")
        if pipeline is not None and not 0 <= pipeline < len(CUTS):
            raise InvalidArgumentError(f"pipeline {pipeline} is not in 0..{len(CUTS) - 1}")
        if buffer is not None and buffer not in BUFFERS:
            raise InvalidArgumentError(f"buffer {buffer!r} is not one of {', '.join(BUFFERS)}")
        if buffer == "memory" and lanes < table.longest:
            raise InvalidArgumentError(
                f"a buffer in memory is for {table.longest} lanes or more, not {lanes}: use registers"
            )
        self.table = table
        self.lanes = lanes
        self.buffer = buffer or ("memory" if lanes >= table.longest else "registers")
        self.pipeline = FASTEST if pipeline is None else pipeline
        self.replacement = replacement
        self.kind = kind
        self.length = length
        self._control = WindowControl.of(table)
        if kind:
            self._control.serial.check_kinds()
        super().__init__(
            {
                "units": In(stream.Signature(beat_layout(table, lanes))),
                "items": Out(stream.Signature(items_layout(table, lanes, kind=kind, length=length))),
            }
        )

    @property
    def latency(self) -> int:
        """Clocks, at most, from the beat that determines an item to the item, while nothing waits."""
        cuts = CUTS[self.pipeline]
        # In memory the last lane, which needs no words of its own, is the latest.
        return len(cuts - {"words"}) + 6 if self.buffer == "memory" else len(cuts) + 3

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.buffer == "memory":
            self.buffer_in_memory(m)
        else:
            self.buffer_in_registers(m)
        return m

    # The window, and what is made of it. What the methods return is for those who look inside.

    def _window(self, m: Module, arrives: Value, first: Signal, runs: Callable[[], Value] | None) -> Beat:
        units = self.units.payload
        values: dict[str, Sequence[Value]] = {
            "unit": [units.units[lane] for lane in range(self.lanes)],
            "keep": [units.keep[lane] for lane in range(self.lanes)],
            "first": [first],
        }
        beat = Beat(m, self.lanes, arrives, values, units.last, runs)
        return build_window(self._control, beat, CUTS[self.pipeline] - {"words"}, spans=self.kind or self.length)

    def _contents(self, beat: Beat, lane: int) -> dict[str, Value]:
        """What is in a lane if no unit follows its own."""
        serial = self._control.serial
        completed, keep = beat.at("completed", lane), beat.at("keep", lane)
        contents = {
            "code_point": word(self._control, beat, lane, replacement=self.replacement),
            "error": keep & ~completed,
            "keep": keep,
        }
        if self.kind:
            unit, is_open = beat.at("unit", lane), beat.at("open", lane)
            alone = Mux(is_open, Kind.INCOMPLETE, serial.stray_kind(unit))
            contents["kind"] = Mux(completed, Kind.NONE, alone)
            contents |= {"unit": unit, "needed": beat.at("needed", lane), "is_open": is_open}
        if self.length:
            contents["length"] = beat.at("length", lane)
        return contents

    def _item(self, contents: dict[str, Value], goes_on: Value, next_unit: Value, next_keep: Value) -> Value:
        """The fields of an item, as `items_layout` has them, once the unit after it is known.

        Args:
            contents: what would be in the lane if none came.
            goes_on: the unit after continues the sequence.
            next_unit: that unit.
            next_keep: whether there is one in this text.
        """
        fields = [contents["code_point"], contents["error"] & ~goes_on, contents["keep"] & ~goes_on]
        if self.kind:
            serial = self._control.serial
            unit = contents["unit"]
            code = serial.code_after_unit(unit)
            code = code & serial.opens(unit).replicate(len(code))
            broken = serial.broken_kind(serial.context(next_unit, contents["needed"], code, unit))
            fields.append(Mux(contents["is_open"] & next_keep, broken, contents["kind"]))
        if self.length:
            fields.append(contents["length"])
        return Cat(*fields)

    def _inner_item(self, beat: Beat, lane: int) -> Value:
        """The item of a lane that is not the last."""
        after = (beat.at(name, lane + 1) for name in ("continued", "unit", "keep"))
        return self._item(self._contents(beat, lane), *after)

    def _show(self, m: Module, items: list[Value], last: Value) -> None:
        for lane, item in enumerate(items):
            m.d.comb += Value.cast(self.items.payload.items[lane]).eq(item)
        m.d.comb += self.items.payload.last.eq(last)

    # A buffer in registers.

    def buffer_in_registers(self, m: Module) -> Pair:
        """The decoder with its buffer in registers."""
        wanted = self.items.ready
        offered = Signal()
        pair = Pair(m, "front", offered, wanted)
        with m.If(ResetSignal()):
            m.d.sync += [register.eq(0) for register in pair.registers]
        copies = 0

        def run() -> Signal:
            """A copy of "the output is not full"."""
            nonlocal copies
            # Not 1 at the start, which iCE40 would store inverted, a look-up table away from the enables.
            copy = Signal(name=f"run_{copies}")
            m.d.sync += copy.eq(wanted | ~pair.shown | (copy & ~offered))
            copies += 1
            return copy

        # A window without registers moves with the input.
        accepts = run()
        m.d.comb += self.units.ready.eq(accepts)
        merged = self.merge(m, accepts, run, offered)
        width = merged.width

        # Two beats, one of which is shown.
        m.d.comb += self.items.valid.eq(pair.shown)
        shown = pair.hold(m, merged.word)
        self._show(m, [shown[lane * width : (lane + 1) * width] for lane in range(self.lanes)], shown[-1])
        return pair

    def merge(self, m: Module, accepts: Value, run: Callable[[], Value], offered: Signal) -> Merged:
        """The beats of items, each held until the beat after it is known.

        Args:
            m: where the logic goes.
            accepts: a beat on offer is taken.
            run: gives what lets beats move on, a copy for each use.
            offered: is set while there is a beat of items.
        """
        first = Signal(init=1)
        arrives = offers(self.units)
        taken = arrives & accepts
        m.d.sync += first.eq((taken & self.units.payload.last) | (~taken & first))
        beat = self._window(m, arrives, first, run)
        tail = self._contents(beat, self.lanes - 1)
        items = [self._inner_item(beat, lane) for lane in range(self.lanes - 1)]
        given = {f"tail_{name}": value for name, value in tail.items()}
        given |= {f"item_{lane}": item for lane, item in enumerate(items)}
        given["settled"] = beat.last | ~beat.at("open", self.lanes - 1)
        if items:
            # Of a beat that is not the last of its text, some may hold nothing but a piece of a sequence.
            here = (beat.at("keep", lane) & ~beat.at("continued", lane + 1) for lane in range(self.lanes - 1))
            given["filled"] = beat.last | any_of(here)
        beat.values |= {name: [value] for name, value in given.items()}
        if "words" in CUTS[self.pipeline]:
            beat = beat.register("words", [*given, "unit", "keep", "continued"])
        with m.If(ResetSignal()):
            m.d.sync += [valid.eq(0) for valid in beat.valids]

        # A beat waits here for the one after it, unless it is plain that no unit continues its last.
        moves, waiting = run(), Signal()

        def hold(name: str, value: Value) -> Signal:
            held = Signal(len(value), name=f"held_{name}", reset_less=True)
            loads = (beat.valid & moves).replicate(len(value))
            m.d.sync += held.eq((value & loads) | (held & ~loads))
            return held

        held = {name: hold(name, beat.at(name, 0)) for name in given}
        last = hold("last", beat.last)
        goes_on = beat.valid & beat.at("continued", 0)
        m.d.sync += waiting.eq((moves & (beat.valid | (waiting & ~held["settled"]))) | (waiting & ~moves))
        leaves = waiting & Mux(beat.valid, ~goes_on | held["filled"] if items else ~goes_on, held["settled"])
        contents = {name: held[f"tail_{name}"] for name in tail}
        next_keep = beat.valid & beat.at("keep", 0) & ~last
        items = [held[f"item_{lane}"] for lane in range(self.lanes - 1)]
        items.append(self._item(contents, goes_on, beat.at("unit", 0), next_keep))
        word_out = Signal(sum(map(len, items)) + 1, reset_less=True)
        emits = run()
        m.d.sync += offered.eq((leaves & emits) | (offered & ~emits))
        with m.If(emits):
            m.d.sync += word_out.eq(Cat(*items, last))
        return Merged(beat, held | {"last": last}, waiting, len(items[0]), word_out)

    # A buffer in memory.

    def late_reset(self, m: Module) -> Reset:
        """The reset of what is before the buffer, and of the buffer."""
        return Reset(m, ResetSignal(), *self._reset_shape)

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `units.ready` is low."""
        return 1 + self.resetting

    @property
    def resetting(self) -> int:
        """Clocks after a reset for which registers of a buffer in memory, and before it, are still to be reset."""
        return Reset.clocks(*self._reset_shape) if self.buffer == "memory" else 0

    @property
    def _reset_shape(self) -> tuple[int, int]:
        """Places that have a copy of the late reset, and clocks from a beat to the steps of pointers and counts."""
        return max(2, -(-self.lanes // _REGION)), len(CUTS[self.pipeline]) + 3

    def buffer_in_memory(self, m: Module) -> MemoryBuffer:
        """The decoder with its buffer in memory."""
        tail = self.lanes - 1
        groups = -(-tail // _GROUP)
        regions = -(-self.lanes // _REGION)
        reset = self.late_reset(m)
        ready = Signal()
        arrives = offers(self.units) & ready
        m.d.comb += self.units.ready.eq(ready)
        rows = self.write(m, arrives, reset)

        # What has been written goes to the front, where each region of lanes knows by itself that there is some.
        wanted = self.items.ready
        # One says so to them, the other one to what counts: that is a loop, and shall not be drawn apart by them.
        arrive, near = Signal(reset_less=True), Signal(name="arrive_near", reset_less=True)
        front = Front(m, "front", arrive, wanted, 1 + regions)
        announced = Signal()
        behind = Level(m, "behind", rows.leaves, announced, reset)

        def announces(arrives: Value) -> Value:
            return front.room(arrives) & Mux(arrives, behind.more_than[1], behind.more_than[0])

        m.d.comb += announced.eq(announces(near))
        m.d.sync += [arrive.eq(announces(arrive)), near.eq(announced)]
        with m.If(reset.busy | ResetSignal()):
            m.d.sync += [arrive.eq(0), near.eq(0)]
        m.d.comb += self.items.valid.eq(front.shown[0])
        shown: list[Value] = []
        parts: list[tuple[Value, LaneMemory]] = []
        for number in range(groups + 1):
            # The last lane lies near the group before it.
            place = min(number, groups - 1) * regions // groups
            if number < groups:
                name, words = f"lanes_{number * _GROUP}", rows.items[number * _GROUP : (number + 1) * _GROUP]
                advance = rows.advances[number * len(rows.advances) // groups]
            else:
                name, words, advance = "last_lane", [rows.tail], rows.leaves
            own = front.shown[1 + place]
            lane_memory = LaneMemory(m, name, words, advance, own, wanted, number, reset, place)
            shown += lane_memory.words
            parts.append((own, lane_memory))
        self._show(m, [*shown[:tail], shown[tail][:-1]], shown[tail][-1])

        # Beats come in while all that are inside have a row.
        inside = Level(m, "inside", arrives, front.shown[0] & wanted, reset)
        m.d.sync += ready.eq(~inside.more_than[CAPACITY - _UNCOUNTED] & ~reset.busy)
        return MemoryBuffer(reset, inside, behind, arrive, near, front, parts)

    def write(self, m: Module, arrives: Value, reset: Reset) -> Rows:
        """What is written to the memories.

        Args:
            m: where the logic goes.
            arrives: a beat is taken.
            reset: of its registers.
        """
        tail = self.lanes - 1
        cuts = CUTS[self.pipeline]
        first = Signal(init=1, reset_less=True)
        # Written out: the enable would be one more look-up table away.
        m.d.sync += first.eq((self.units.payload.last & arrives) | (first & ~arrives))
        beat = self._window(m, arrives, first, None)
        reset(first)
        passing: list[list[Value]] = []
        advances = fan_out(m, "advance", arrives, len(cuts), passing)

        # All lanes but the last are known now.
        items = [self._inner_item(beat, lane) for lane in range(tail)]
        if "words" in cuts:
            for lane, item in enumerate(items):
                items[lane] = Signal(len(item), name=f"words_{lane}", reset_less=True)
                m.d.sync += items[lane].eq(item)

        # The last lane waits for the beat after, unless it is plain that no unit continues it.
        given = self._contents(beat, tail)
        given |= {"last": beat.last, "settled": beat.last | ~beat.at("open", tail)}
        held = {name: Signal(len(value), name=f"tail_{name}", reset_less=True) for name, value in given.items()}
        waiting = Signal(reset_less=True)
        m.d.sync += waiting.eq(beat.valid | (waiting & ~held["settled"]))
        with m.If(beat.valid):
            m.d.sync += [held[name].eq(value) for name, value in given.items()]
        goes_on = beat.valid & beat.at("continued", 0)
        next_keep = beat.valid & beat.at("keep", 0) & ~held["last"]
        item = self._item(held, goes_on, beat.at("unit", 0), next_keep)
        leaves = Signal(reset_less=True)
        tail_item = Signal(len(item) + 1, reset_less=True)
        m.d.sync += [
            leaves.eq(waiting & (beat.valid | held["settled"])),
            tail_item.eq(Cat(item, held["last"])),
        ]
        reset(waiting)
        return Rows(beat, held, waiting, items, advances, passing, tail_item, leaves)
