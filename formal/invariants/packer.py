# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of the packer, by induction over one clock.

A packer has memories, and no engine finds an invariant of their contents by itself. So the invariant is
written down here, with ghosts: registers that only the proof has. Three questions to a SAT engine make
the proof:

- after a clock of reset, from any contents of all registers and memories, the invariant holds;
- where it holds it holds a clock later, whatever comes in, a reset included;
- where it holds no monitor raises its bit.

Nothing is assumed but what `_Top` builds: a beat that is offered has a word or ends its text. Of a beat
with neither the packer would keep a place for ever. That a beat stays until it is taken is not needed.

What has to be believed are the monitors, `_Watching._monitor` and what it calls. They look at the two
streams alone. What else the ghosts are need not be believed: wrong ones only make a proof fail.

All bits of a word are watched but the one that says whether it is there.

How: beside each row of the pipeline goes a ghost of the beat in it, as it came in, with where it begins:
in which row and lane of the memories, and how many words and ends came before it. The invariant says
what the registers of each row are, as functions of that ghost, which know ranks and not how the packer
computes them; how the ghost of a beat follows from that of the beat before; that the rows of the memory
that wait hold as many events as came in, without a gap; and where one event, any, has got to.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Mux, Signal, Value

from utf8fpga.formal.abc import Verdict, hold, hold_each
from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.formal.helpers import how_many
from utf8fpga.formal.properties import Property
from utf8fpga.formal.report import Result
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.model import TABLE_3_7, EncodingTable
from utf8fpga.model.exceptions import InvalidArgumentError

__all__ = ["PACKER_COVERS", "PACKER_PROPERTIES", "Words", "prove_packer"]


@dataclass(frozen=True)
class Words:
    """What the words of a packer are.

    Attributes:
        table, kind, length: as of a `Packer`.
    """

    table: EncodingTable = TABLE_3_7
    kind: bool = False
    length: bool = False


class _Beat:
    """The ghost of a beat, or of a clock without one.

    Attributes:
        valid: there is a beat.
        idle: there was none, though it would have been taken.
        last, keep: of the beat.
        base, row: the lane and the row where it begins; `base` words wait in that row.
        number: how many words and ends of texts came before it.
        watched: per word, and for the end, whether that is the one that is watched.
    """

    FIELDS = ("valid", "idle", "last", "keep", "base", "row", "number", "watched")

    def __init__(self, name: str, lanes: int, row: int, number: int) -> None:
        sizes = {"keep": lanes, "base": (lanes - 1).bit_length(), "row": row, "number": number, "watched": lanes + 1}
        for field in self.FIELDS:
            setattr(self, field, Signal(sizes.get(field, 1), name=f"{name}_{field}"))
        self.name, self.lanes = name, lanes

    valid: Signal
    idle: Signal
    last: Signal
    keep: Signal
    base: Signal
    row: Signal
    number: Signal
    watched: Signal

    def derive(self, m: Module) -> None:
        """Compute what follows: the ranks of the words, and where the next beat begins."""
        lanes, keep = self.lanes, self.keep

        def name(what: str, value: Value, size: int) -> Signal:
            signal = Signal(size, name=f"{self.name}_{what}")
            m.d.comb += signal.eq(value)
            return signal

        bits = (lanes + 1).bit_length()
        self.ranks = [name(f"rank_{lane}", how_many(keep[:lane]), bits) for lane in range(lanes)]
        self.gaps = [name(f"gap_{lane}", how_many(~keep[:lane]), bits) for lane in range(lanes)]
        self.words = name("words", how_many(keep), bits)
        self.total = name("total", self.base + Mux(self.valid, self.words, 0), bits + 1)
        self.full = name("full", self.total >= lanes, 1)
        self.rest = name("rest", Mux(self.full, self.total - lanes, self.total), bits)
        ends = self.valid & self.last
        # A full row closes; at the end of a text, or without a next beat, what remains closes, too. The end
        # of a text is in the last of the rows, and that may hold nothing else.
        remains = Mux(self.idle, self.rest != 0, ends & ((self.rest != 0) | ~self.full))
        self.closes = name("closed", self.full + remains, 2)
        self.opens = name("opens", (self.rest != 0) & (self.full | (self.base == 0)), 1)
        self.events = name("events", Mux(self.valid, self.words + self.last, 0), bits)
        self.next_base = name("next_base", Mux(self.idle | ends, 0, self.rest), len(self.base))
        self.next_row = name("next_row", self.row + self.closes, len(self.row))
        self.next_number = name("next_number", self.number + self.events, len(self.number))
        self.start = name("start", self.number - self.base, len(self.number))


# The class of packers is mixed in, and is another where a broken one is looked at.
if TYPE_CHECKING:
    _Base = Packer
else:
    _Base = object


class _Watching(_Base):
    """A packer with ghosts, monitors and an invariant in it: to be mixed with a class of packers.

    Attributes:
        pick: an input, which of the events that come in is watched, if any: a bit per word and for the end.
        holds: the invariant, in parts with names; of registers alone.
        bad: per property what must never be 1.
        covers: what must be possible, by `PACKER_COVERS`.
    """

    def __init__(self, lanes: int, words: Words) -> None:
        super().__init__(words.table, lanes, kind=words.kind, length=words.length)
        self.pick = Signal(lanes + 1)
        self._rows: list[tuple[str, Any, int]] = []
        self._registers: dict[str, Any] = {}
        self._masks: list[Any] = []
        self._words: list[Any] = []
        self.holds: dict[str, Value] = {}
        self.bad: dict[Property, Value] = {}
        self.m = m = super().elaborate(None)
        # Events that are on their way: some for each row of memories and of registers. Numbers have bits
        # for more than that, and are compared by their differences.
        self._most = (lanes + 1) * (self._depth + len(self._rows) + 2)
        self._number_bits = self._most.bit_length() + 1
        self._surround()
        self._monitor()
        self._follow()
        self._say_pipeline()
        self._say_rows()
        self._say_watched()
        self._say_rates()
        self.right = Signal()
        m.d.comb += self.right.eq(Cat(self.holds.values()).all())
        self.covers = self._cover()

    def _reveal(self, name: str, **inner: Any) -> None:
        if "stage" in inner:
            self._rows.append((name, inner["stage"], inner.get("step", 0)))
        elif name in ("mask", "lane"):
            {"mask": self._masks, "lane": self._words}[name].append(inner["memory"])
        else:
            self._registers |= inner

    def elaborate(self, platform: object) -> Module:
        """What was made already, since the size of the invariant is asked for before."""
        return self.m

    def _name(self, name: str, value: Any, size: int | None = None) -> Signal:
        """A signal of that value, so that an expression used often is written once."""
        signal = Signal(len(Value.cast(value)) if size is None else size, name=f"ghost_{name}")
        self.m.d.comb += signal.eq(value)
        return signal

    def _say(self, part: str, value: Any) -> None:
        """Make it a part of the invariant, or of a part of it: of as much as is checked at a time."""
        before = self.holds.get(part, Const(1, 1))
        self.holds[part] = self._name("holds", before & Value.cast(value).bool())

    # The two streams, as a monitor sees them.

    def _surround(self) -> None:
        sparse, packed = self.sparse.payload, self.packed.payload
        self.taken = self._name("taken", self.sparse.valid & self.sparse.ready)
        self.idle = self._name("idle", ~self.sparse.valid & self.sparse.ready)
        self.waits = self._name("waits", self.packed.valid & ~self.packed.ready)
        self.leaves = self._name("leaves", self.packed.valid & self.packed.ready)
        self.keep_in = self._name("keep_in", Cat(item.keep for item in _items(sparse)))
        self.keep_out = self._name("keep_out", Cat(item.keep for item in _items(packed)))
        self.words_in = [self._name(f"in_{n}", _word(item)) for n, item in enumerate(_items(sparse))]
        self.words_out = [self._name(f"out_{n}", _word(item)) for n, item in enumerate(_items(packed))]
        self.coming = self._name("coming", Mux(self.taken, how_many(self.keep_in) + sparse.last, 0))
        self.count_out = self._name("count_out", how_many(self.keep_out))
        self.going = self._name("going", Mux(self.leaves, self.count_out + packed.last, 0))

    def _monitor(self) -> None:
        self._monitor_order()
        self.bad[Property.STEADY] = self._monitor_steady()
        self.bad[Property.STALL] = self._monitor_stall()
        self.bad[Property.LATENCY] = self._monitor_latency()

    def _monitor_order(self) -> None:
        """Words and ends of texts, all called events, are counted, and one is watched, any.

        So nothing is lost, doubled, invented or out of order, an end and its place between the words included.
        """
        m, lanes, last = self.m, self.lanes, self.packed.payload.last
        size = self._number_bits
        self.pending, self.ahead = Signal(size, name="ghost_pending"), Signal(size, name="ghost_ahead")
        self.watching, self.is_end = Signal(name="ghost_watching"), Signal(name="ghost_is_end")
        self.wordless, self.idled = Signal(name="ghost_wordless"), Signal(name="ghost_idled")
        self.token = Signal(len(self.words_in[0]), name="ghost_token")
        m.d.sync += self.pending.eq(self.pending + self.coming - self.going)
        events = Cat(self.keep_in, self.sparse.payload.last)
        self.chosen = Signal(lanes + 1, name="ghost_chosen")
        m.d.sync += self.ahead.eq(self.ahead - self.going)
        for place in range(lanes + 1):
            earlier = self.chosen[:place].any() if place else Const(0, 1)
            wanted = self.taken & events[place] & self.pick[place]
            m.d.comb += self.chosen[place].eq(wanted & ~earlier & ~self.watching)
            with m.If(self.chosen[place]):
                m.d.sync += [
                    self.watching.eq(1),
                    self.ahead.eq(self.pending - self.going + how_many(events[:place])),
                    self.is_end.eq(place == lanes),
                    self.token.eq(self.words_in[place] if place < lanes else 0),
                    self.wordless.eq(~self.keep_in.any()),
                    self.idled.eq(0),
                ]
        comes_out = self._name("comes_out", self.watching & (self.ahead < self.going))
        with m.If(comes_out):
            m.d.sync += self.watching.eq(0)
        # The input was looked at, and had no beat, before anything followed what is watched.
        with m.If(self.watching & self.idle & (self.ahead + 1 == self.pending)):
            m.d.sync += self.idled.eq(1)

        is_word = Const(0, 1)
        for lane, word in enumerate(self.words_out):
            is_word = is_word | ((self.ahead == lane) & self.keep_out[lane] & (word == self.token))
        is_right = Mux(self.is_end, last & (self.ahead == self.count_out), is_word)
        partial = self.leaves & ~last & (self.count_out < lanes)
        wrong = {
            "invented": self.going > self.pending,
            "overfull": self.pending > self._most,
            "empty": self.leaves & (self.going == 0),
            "apart": self.leaves & (self.keep_out & (self.keep_out + 1)).any(),
            "stray": self.leaves & Cat(item.error & ~item.keep for item in _items(self.packed.payload)).any(),
            "wrong": comes_out & ~is_right,
            "partial": comes_out & partial & (self.ahead + 1 == self.count_out) & ~self.idled,
            "alone": comes_out & self.is_end & (self.count_out == 0) & ~self.wordless,
        }
        self.bad[Property.EQUIVALENCE] = Cat(self._name(name, value, 1) for name, value in wrong.items()).any()

    def _monitor_steady(self) -> Value:
        payload = Value.cast(self.packed.payload)
        waited, before = Signal(name="ghost_waited"), Signal(len(payload), name="ghost_before")
        self.m.d.sync += [waited.eq(self.waits), before.eq(payload)]
        restless = self._name("restless", waited & (~self.packed.valid | (before != payload)))
        self._say("what waits is steady", ~restless)
        return restless

    def _monitor_stall(self) -> Value:
        """The input waits only in the clock after a reset, or where the output waited in one of three clocks before."""
        self.waited = Signal(3, name="ghost_waited_lately")
        self.fresh = Signal(init=1, name="ghost_fresh")
        self.m.d.sync += [self.waited.eq(Cat(self.waits, self.waited)), self.fresh.eq(0)]
        return ~self.sparse.ready & ~self.waited.any() & ~self.fresh

    def _monitor_latency(self) -> Value:
        """While nothing waited since the output last had nothing to show, what was closed is out in time.

        What was closed is every event up to where, by what had come in `latency` clocks before, the last beat
        had to be full, the last text ended, or the input had nothing to offer.
        """
        m, size = self.m, self._number_bits
        self.entry = _Beat("ghost_entry", self.lanes, len(self._registers["ended"]), size)
        self.entry.derive(m)
        m.d.comb += [
            self.entry.valid.eq(self.taken),
            self.entry.idle.eq(self.idle),
            self.entry.last.eq(self.sparse.payload.last),
            self.entry.keep.eq(self.keep_in),
            self.entry.watched.eq(self.chosen),
        ]
        m.d.sync += [
            self.entry.base.eq(self.entry.next_base),
            self.entry.row.eq(self.entry.next_row),
            self.entry.number.eq(self.entry.next_number),
        ]
        self.prompt, now = Signal(init=1, name="ghost_prompt"), Signal(name="ghost_prompt_now")
        m.d.comb += now.eq((self.prompt | ~self.packed.valid) & ~self.waits)
        m.d.sync += self.prompt.eq(now)
        # All events up to there, by their number, at the end of the clock before and so on.
        self.closed = [self.entry.start]
        for clocks in range(1, max(self.latency - 1, len(self._rows) + 1) + 1):
            earlier = Signal(size, name=f"ghost_closed_{clocks}")
            m.d.sync += earlier.eq(self.closed[-1])
            self.closed.append(earlier)
        later = (self.entry.next_number - self.closed[self.latency - 1])[:size]
        return now & ((self.pending + self.coming - self.going)[:size] > later)

    # Ghosts.

    def _follow(self) -> None:
        """Beats go through their rows, and are written; rows are remembered by the number of their first event."""
        m, lanes, size = self.m, self.lanes, self._number_bits
        self.ended, self.reading = self._registers["ended"], self._registers["reading"]
        before, self.beats = self.entry, []
        for n in range(len(self._rows)):
            beat = _Beat(f"ghost_{n}", lanes, len(self.ended), size)
            beat.derive(m)
            m.d.sync += [getattr(beat, field).eq(getattr(before, field)) for field in _Beat.FIELDS]
            self.beats.append(beat)
            before = beat
        self.written = written = before
        # The first of the rows that rotate knows what the row before it decided.
        self.decided = self.beats[next(n for n, row in enumerate(self._rows) if row[0] == "around") - 1]
        self.after = self.beats[self.beats.index(self.decided) + 1]

        self.number_out = Signal(size, name="ghost_number_out")
        m.d.sync += self.number_out.eq(self.number_out + self.going)
        self.starts = [Signal(size, name=f"ghost_start_{row}") for row in range(self._depth)]
        here, following = written.row[: (self._depth - 1).bit_length()], Signal(range(self._depth))
        m.d.comb += following.eq(here + 1)
        for row, start in enumerate(self.starts):
            with m.If((written.closes >= 1) & (here == row)):
                m.d.sync += start.eq(written.start)
            with m.If((written.closes >= 2) & (following == row)):
                m.d.sync += start.eq(written.start + lanes)

        # What is watched, once it is written.
        self.stored = Signal(name="ghost_stored")
        self.row = Signal(range(self._depth), name="ghost_row")
        self.lane = Signal(range(lanes), name="ghost_lane")
        with m.If(self.leaves & (self.row == self.reading[: len(self.row)])):
            m.d.sync += self.stored.eq(0)
        for place in range(lanes + 1):
            with m.If(written.watched[place]):
                m.d.sync += self.stored.eq(1)
                if place == lanes:
                    m.d.sync += self.row.eq(Mux(written.closes >= 2, following, here))
                else:
                    at = self._name(f"at_{place}", written.base + written.ranks[place])
                    m.d.sync += [
                        self.row.eq(Mux(at >= lanes, following, here)),
                        self.lane.eq(Mux(at >= lanes, at - lanes, at)),
                    ]
        self.ended_before = Signal.like(self.ended, name="ghost_ended_before")
        m.d.sync += self.ended_before.eq(self.ended)

    # The invariant.

    def _say_pipeline(self) -> None:
        """Each row of registers is a function of its beat; each beat begins where the one before it ends."""
        following = self.entry
        for n, (beat, (name, stage, step)) in enumerate(zip(self.beats, self._rows, strict=True)):
            for field in ("base", "row", "number"):
                linked = getattr(following, field) == getattr(beat, f"next_{field}")
                self._say(f"stage {n}", linked)
            self._say(f"stage {n}", beat.base < self.lanes)
            self._say(f"stage {n}", (beat.valid | beat.idle) == (beat.valid ^ beat.idle))
            # The surroundings see to it.
            self._say(f"stage {n}", ~beat.valid | beat.keep.any() | beat.last)
            behind = self._name(f"behind_{n}", self.entry.number - beat.number, self._number_bits)
            self._say(f"stage {n}", behind <= (self.lanes + 1) * (n + 1))
            self._say_stage(n, name, beat, stage, step)
            following = beat
        self._say("counters", self.entry.base < self.lanes)

    def _say_stage(self, n: int, name: str, beat: _Beat, stage: Any, step: int) -> None:
        lanes, part = self.lanes, (2 << step) - 1
        places: list[Value] = [Const(lane, lanes.bit_length()) for lane in range(lanes)]
        counts: list[Value] = []
        if name == "input":
            counts = [~beat.keep[lane] for lane in range(lanes)]
        elif name == "gaps":
            counts = [how_many(~beat.keep[max(0, lane - part) : lane + 1]) for lane in range(lanes)]
        elif name == "down":
            places = [lane - (beat.gaps[lane] & part) for lane in range(lanes)]
        elif name == "around":
            turned = beat.base & part
            places = [_modulo(beat.ranks[lane] + turned, lanes) for lane in range(lanes)]
        else:
            raise AssertionError(f"no row of registers is known as {name!r}")
        places = [self._name(f"place_{n}_{lane}", place, lanes.bit_length()) for lane, place in enumerate(places)]
        self._say(f"stage {n}", ~beat.valid | _all(a == b for a, b in zip(counts, stage.counts, strict=False)))
        for lane in range(lanes):
            here = [self._name(f"here_{n}_{lane}_{i}", beat.keep[i] & (places[i] == lane)) for i in range(lanes)]
            right = stage.present[lane] == Cat(here).any()
            if name == "down":
                right = right & _all(~here[i] | (stage.counts[lane] == beat.gaps[i]) for i in range(lanes))
            watched = Cat(here[i] & beat.watched[i] for i in range(lanes)).any()
            self._say(f"stage {n}", ~beat.valid | right & (~watched | (stage.words[lane] == self.token)))
        self._say_scalars(n, name, beat, stage.scalars)
        self._say_numbers(n, beat)

    def _say_scalars(self, n: int, name: str, beat: _Beat, given: dict[str, Value]) -> None:
        """What goes with the whole beat."""
        self._say(f"stage {n}", (given["valid"] == beat.valid) & (given["idle"] == beat.idle))
        if name == "down":
            self._say(f"stage {n}", ~beat.valid | (given["words"] == beat.words))
        if name == "around":
            self._say(f"stage {n}", given["closes"] + given["closes_next"] == beat.closes)
            self._say(f"stage {n}", given["closes"] | ~given["closes_next"])
            expected = {"row": beat.row[: len(given["row"])], "rest": beat.rest, "full": beat.full, "base": beat.base}
            expected["last"] = beat.valid & beat.last
            right = _all(given[part] == value for part, value in expected.items())
            self._say(f"stage {n}", ~(beat.valid | beat.idle) | right)
        else:
            self._say(f"stage {n}", ~beat.valid | (given["last"] == beat.last))

    def _say_numbers(self, n: int, beat: _Beat) -> None:
        """What is watched is where its number is; and it was the last before the input had nothing, if it says so."""
        lanes, now = self.lanes, (self.number_out + self.ahead)[: self._number_bits]
        events = Cat(beat.keep, beat.last)
        numbers = [*beat.ranks, beat.words]
        for place in range(lanes + 1):
            there = beat.valid & events[place] & (now == (beat.number + numbers[place])[: len(beat.number)])
            there = there & (self.is_end == (place == lanes))
            if place == lanes:
                there = there & (self.wordless == (beat.words == 0))
            self._say(f"stage {n}", ~beat.watched[place] | there)
        just_before = self.watching & ((now + 1)[: self._number_bits] == beat.number)
        self._say(f"stage {n}", ~(beat.idle & just_before) | self.idled)

    def _say_rows(self) -> None:
        """What the memory holds of rows that wait, and how many beats and rows there are."""
        depth, lanes, size = self._depth, self.lanes, self._number_bits
        written, inner = self.written, self._registers
        self.waiting = self._name("waiting", (self.ended - self.reading)[: len(self.ended)])
        self._say("counters", inner["base"] == self.decided.base)
        self._say("counters", inner["row"] == self.decided.row[: len(inner["row"])])
        self._say("counters", inner["merged"] == (self.after.valid & ~self._opened(self.after)))
        self._say("counters", self.ended == written.row)
        beats = self.beats[: self.beats.index(self.decided) + 1]
        rows = self._name("rows", (self.decided.row - self.reading)[: len(self.ended)])
        inside = how_many(Cat(beat.valid for beat in beats)) + inner["merged"] + rows + (self.decided.base != 0)
        self._say("counters", inner["inside"] == inside)
        self._say("counters", inner["inside"] <= Mux(self.sparse.ready, depth - 2, depth - 1))
        self._say("counters", self.waiting <= rows)

        pending = (self.entry.number - self.number_out)[:size]
        self._say("numbers", self.pending == pending)
        out = Mux(self.waiting == 0, written.start, _select(self.starts, self.reading[: len(self.row)]))
        self._say("numbers", self.number_out == out)
        self._say("the open row", (written.start - self.number_out)[:size] <= (lanes + 1) * depth)
        self.masks: list[Value] = []
        self.distances: list[Value] = []
        for row in range(depth):
            port = self._masks[row % 2].read_port(domain="comb")
            self.m.d.comb += port.addr.eq(row // 2)
            mask = self._name(f"mask_{row}", port.data, lanes + 1)
            distance = self._name(f"distance_{row}", (row - self.reading)[: len(self.row)])
            is_next = distance + 1 == self.waiting
            following = Mux(is_next, written.start, self.starts[(row + 1) % depth])
            keep, start = mask[:lanes], self.starts[row]
            count = self._name(f"count_{row}", how_many(mask))
            behind = self._name(f"row_behind_{row}", (written.start - start)[:size])
            right = (start + count)[:size] == following
            right = right & ~(keep & (keep + 1)).any() & (count != 0)
            right = right & (behind >= count) & (behind <= (lanes + 1) * (self.waiting - distance))
            self._say(f"row {row}", (distance >= self.waiting) | right)
            self.masks.append(mask)
            self.distances.append(distance)

    def _opened(self, beat: _Beat) -> Value:
        """The beat keeps the place that it took: for a row that it began, and that is not out."""
        return (beat.base == 0) | (beat.full & (beat.rest != 0))

    def _say_watched(self) -> None:
        """What is watched is in one place, and once it is written its row says so."""
        lanes, size, written = self.lanes, self._number_bits, self.written
        places = Cat(*(beat.watched for beat in self.beats), self.stored)
        self._say("numbers", (places & (places - 1)[: len(places)]) == 0)
        self._say("it is somewhere", self.watching == places.any())
        self._say("numbers", ~self.watching | (self.ahead < self.pending))
        distance = self._name("distance", (self.row - self.reading)[: len(self.row)])
        closed = self._name("is_closed", distance < self.waiting)
        mask = self._name("mask", _select(self.masks, self.row))
        count = self._name("count", how_many(mask[:lanes]))
        start = Mux(closed, _select(self.starts, self.row), written.start)
        now = self._name("now", self.number_out + self.ahead, size)
        offset = Mux(self.is_end, count, self.lane)
        self._say("its number", ~self.stored | (now == (start + offset)[:size]))
        self._say("numbers", ~self.stored | (distance <= self.waiting))
        held = Mux(closed, self.lane < count, self.lane < written.base)
        self._say("its row", ~self.stored | Mux(self.is_end, closed & mask[lanes], held))
        tokens = []
        for memory in self._words:
            port = memory.read_port(domain="comb")
            self.m.d.comb += port.addr.eq(self.row)
            tokens.append(port.data)
        for lane, token in enumerate(tokens):
            at = self.stored & ~self.is_end & (self.lane == lane)
            self._say(f"word in lane {lane}", ~at | (token == self.token))
        partial = self.stored & ~self.is_end & closed & ~mask[lanes] & (count < lanes) & (self.lane + 1 == count)
        self._say("its row", ~partial | self.idled)
        self._say("its row", ~(self.stored & self.is_end & (count == 0)) | self.wordless)
        for row, there in enumerate(self.distances):
            after = self._name(f"now_after_{row}", (now - self.starts[row])[:size])
            earlier = self.stored & (there < self.waiting) & (there < distance)
            right = (after >= how_many(self.masks[row])) & (after <= self._most)
            self._say(f"rows before it {row}", ~earlier | right)

    def _say_rates(self) -> None:
        """How full it is while nothing waits."""
        depth, inside = self._depth, self._registers["inside"]
        lately = [~self.waited[:n].any() for n in (1, 2, 3)]
        self._say("room", ~lately[0] | (inside <= Mux(self.sparse.ready, depth - 3, depth - 2)))
        self._say("room", ~lately[1] | (inside <= depth - 3))
        self._say("room", ~lately[2] | self.sparse.ready | self.fresh)
        for n, beat in enumerate(self.beats):
            self._say("in time", self.closed[n + 1] == beat.start)
        before = self._name("before", (self.ended_before - self.reading)[: len(self.ended)])
        start = _select(self.starts, self.ended_before[: len(self.row)])
        at = Mux(before == self.waiting, self.written.start, start)
        self._say("in time", (before <= self.waiting) & (self.closed[len(self.beats) + 1] == at))
        self._say("in time", ~self.prompt | (self.waiting + (self.written.base != 0) <= 2))
        self._say("in time", ~self.prompt | (before <= 1))

    def _cover(self) -> dict[str, Value]:
        """By `PACKER_COVERS`."""
        written, stored = self.written, self.stored & ~self.is_end
        full = self._registers["inside"] == self._depth - 1
        return {
            "full, and a word is watched": full & stored,
            "full, and an end is watched": full & self.stored & self.is_end,
            "a watched word waits in an open row": stored & (self.row == self.ended[: len(self.row)]),
            "two rows closed at once": written.closes == 2,
            "a row closed without a beat": written.idle & (written.base != 0),
            "an end alone": self.waits & ~self.keep_out.any(),
            "a full beat with an end": self.waits & self.keep_out.all() & self.packed.payload.last,
            "the input waits": ~self.sparse.ready & ~self.fresh,
        }


_MONITORED = (Property.EQUIVALENCE, Property.STEADY, Property.STALL, Property.LATENCY)

PACKER_PROPERTIES = (*_MONITORED, Property.INDEPENDENCE, Property.POWER_UP, Property.COVER)
"""What `prove_packer` knows."""

PACKER_COVERS = (
    "full, and a word is watched",
    "full, and an end is watched",
    "a watched word waits in an open row",
    "two rows closed at once",
    "a row closed without a beat",
    "an end alone",
    "a full beat with an end",
    "the input waits",
)
"""What the invariant must not rule out."""


class _Top(Elaboratable):
    """A packer, its surroundings, and the questions of the induction as outputs.

    Args:
        packer: the class of packers.
        lanes: its lanes.
        words: its words.

    Attributes:
        parts: the names of the parts of the invariant.
        start: the invariant does not hold.
        base: it does not hold in the second clock, after a first one with a reset.
        step: per part, it does not hold in the second clock, though all did in the first.
        bad: per property of `_MONITORED`, it does not hold, though the invariant does.
        seen: the same whether or not the invariant does.
        covered: per `PACKER_COVERS` whether it is so.
    """

    def __init__(self, packer: type[Packer], lanes: int, words: Words) -> None:
        self.packer = type("Watching", (_Watching, packer), {})(lanes, words)
        self.clk, self.reset, self.offer, self.ready = (Signal(name=n) for n in ("clk", "reset", "offer", "ready"))
        self.fresh = Signal(len(Value.cast(self.packer.sparse.payload)))
        self.pick = Signal(lanes + 1)
        self.parts = list(self.packer.holds)
        self.start = Signal()
        self.base = Signal()
        self.step = Signal(len(self.parts))
        self.bad = Signal(len(_MONITORED))
        self.seen = Signal(len(_MONITORED))
        self.covered = Signal(len(PACKER_COVERS))
        self.packed_valid = Signal()
        self.sparse_ready = Signal()
        self.packed_payload = Signal(len(Value.cast(self.packer.packed.payload)))

    @property
    def ports(self) -> list[Signal]:
        """The ports of the top module."""
        inputs = [self.clk, self.reset, self.offer, self.ready, self.fresh, self.pick]
        outputs = [self.start, self.base, self.step, self.bad, self.seen, self.covered]
        return [*inputs, *outputs, self.packed_valid, self.packed_payload, self.sparse_ready]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain("sync")
        m.submodules.dut = packer = self.packer
        sparse, packed = packer.sparse, packer.packed
        payload = Signal(sparse.payload.shape())
        m.d.comb += [
            domain.clk.eq(self.clk),
            domain.rst.eq(self.reset),
            Value.cast(payload).eq(self.fresh),
            sparse.valid.eq(self.offer),
            sparse.payload.eq(payload),
            # A beat has a word or ends its text.
            sparse.payload.last.eq(payload.last | ~Cat(item.keep for item in _items(payload)).any()),
            packed.ready.eq(self.ready),
            packer.pick.eq(self.pick),
            self.packed_valid.eq(packed.valid),
            self.packed_payload.eq(packed.payload),
            self.sparse_ready.eq(sparse.ready),
        ]
        second, held, was_reset = (Signal(name=n, reset_less=True) for n in ("second", "held", "was_reset"))
        m.d.sync += [second.eq(1), held.eq(packer.right), was_reset.eq(self.reset)]
        m.d.comb += [
            self.start.eq(~packer.right),
            self.base.eq(second & was_reset & ~packer.right),
            self.step.eq(Mux(second & held, ~Cat(packer.holds.values()), 0)),
            self.seen.eq(Cat(packer.bad[wanted] for wanted in _MONITORED)),
            self.bad.eq(Mux(packer.right, self.seen, 0)),
            self.covered.eq(Cat(packer.covers[target] for target in PACKER_COVERS)),
        ]
        return m


_PLAIN = Words()


@dataclass(frozen=True)
class _Design:
    """The questions of an induction.

    Attributes:
        rtlil: as a design.
        aig: as a graph, from any contents.
        parts: the parts of the invariant.
    """

    rtlil: str
    aig: Aig
    parts: list[str]

    @staticmethod
    @lru_cache(maxsize=4)
    def of(packer: type[Packer], lanes: int, words: Words) -> _Design:
        """Of a packer."""
        top = _Top(packer, lanes, words)
        text = str(rtlil.convert(top, name="top", ports=top.ports, emit_src=False))
        return _Design(text, aig_of(text, free=True), top.parts)


@lru_cache(maxsize=4)
def _induction(packer: Any, lanes: int, words: Words, seconds: int) -> tuple[bool | None, str]:
    """What came of the base and the step, and where they fail the part of the invariant that does not follow."""
    design = _Design.of(packer, lanes, words)
    bits = design.aig.output_bits
    questions = [("a reset", bits["base"][0]), *zip(design.parts, bits["step"], strict=True)]
    for at in range(0, len(questions), _BATCH):
        batch = questions[at : at + _BATCH]
        verdicts = hold_each(design.aig, {output: 2 for _, output in batch}, seconds=seconds)
        for (part, _), verdict in zip(batch, verdicts, strict=True):
            if not verdict.proved:
                return verdict.proved, part
    return True, ""


_BATCH = 16
"""Parts that are checked before it is looked whether one failed."""


def prove_packer(
    lanes: int,
    wanted: str,
    *,
    words: Words = _PLAIN,
    seconds: int = 600,
    packer: type[Packer] = Packer,
) -> list[Result]:
    """Prove one property of a packer.

    The properties:

    - equivalence: after any reset the words and the ends of texts that come out are those that went in, in number
      and order. A beat has a word or an end; its words are contiguous from word 0; it has fewer than all only if
      it has an end, or if the input was looked at and had nothing to offer before more came. An end comes without
      a word only if it came in so.
    - power-up: the same, and all the others, from the start values of the registers, before any reset.
    - steady: a beat that waits stays as it is.
    - stall: the input is ready but in the clock after a reset, and where in one of the three clocks before the
      output waited: a beat was shown that was not taken.
    - latency: since a clock in which no beat was shown the consumer took each at once. Then all is out that
      `latency` clocks before was due: up to where a beat was full, a text ended, or the input had nothing to offer.
    - independence: `valid` and payload do not depend on the consumer's `ready` within the clock, and the input's
      `ready` depends on no input.
    - cover: what the invariant must not rule out is seen in random runs; a result for each of `PACKER_COVERS`.

    The induction is the same for all, and made once. Where it fails, the packer may still be right; if one of some
    random runs breaks the property, it is refuted.

    Args:
        lanes: of the packer.
        wanted: one of `PACKER_PROPERTIES`.
        words: of the packer; those of UTF-8 with the error flag alone unless given.
        seconds: how long the engine may think about one question.
        packer: the class of packers.

    Raises:
        ToolError: Yosys is missing or failed.
        ValueError: there is no such property.
    """
    if wanted not in PACKER_PROPERTIES:
        raise InvalidArgumentError(f"unknown property {wanted!r} (known: {', '.join(PACKER_PROPERTIES)})")
    started, name = time.monotonic(), f"packer-{lanes}"
    # To mypy the class is not hashable, since its instances' method takes the place of its own.
    key: Any = packer
    design = _Design.of(key, lanes, words)
    aig = design.aig
    if wanted == Property.COVER:
        clocks, _ = _play(aig)
        taken = (time.monotonic() - started) / len(PACKER_COVERS)
        return [
            Result(name, wanted, "trace", clocks.get(target, 0), taken, target in clocks, target)
            for target in PACKER_COVERS
        ]
    if wanted == Property.INDEPENDENCE:
        bits, inputs = aig.output_bits, aig.input_bits
        outward = aig.fan_in([*bits["packed_valid"], *bits["packed_payload"]]) & set(inputs["ready"])
        surroundings = {bit for port in ("ready", "offer", "fresh", "reset") for bit in inputs[port]}
        inward = aig.fan_in(bits["sparse_ready"]) & surroundings
        return [Result(name, wanted, "structure", 0, time.monotonic() - started, not (outward or inward))]
    proved, part = _induction(key, lanes, words, seconds)
    note = f"not inductive: {part}" if part else ""
    if proved:
        proved = _follows(design, wanted, seconds)
        note = "" if proved else "not of the invariant"
    result = Result(name, wanted, "induction", 0, 0, proved or None, note)
    if not proved and wanted in _MONITORED:
        _, broken = _play(aig)
        if wanted in broken:
            result.proved, result.method, result.depth = False, "trace", broken[Property(wanted)]
    result.seconds = time.monotonic() - started
    return [result]


def _follows(design: _Design, wanted: str, seconds: int) -> bool | None:
    """Whether a property follows from the invariant."""
    aig = design.aig
    monitors = aig.output_bits["bad"]
    verdicts: list[Verdict]
    if wanted == Property.POWER_UP:
        begun = aig_of(design.rtlil)
        verdicts = [hold(begun, begun.output_bits["start"][0], 1, seconds=seconds)]
        verdicts += hold_each(aig, dict.fromkeys(monitors, 1), seconds=seconds)
    else:
        verdicts = [hold(aig, monitors[_MONITORED.index(Property(wanted))], 1, seconds=seconds)]
    return all(verdict.proved for verdict in verdicts)


_RUNS, _CLOCKS = 192, 150
"""Random runs, and how long they are."""


def _play(aig: Aig) -> tuple[dict[str, int], dict[Property, int]]:
    """Random runs from a reset: when each of `PACKER_COVERS` was seen, and when a monitor raised its bit.

    Runs differ in how dense the words are, and change how willing both sides are.
    """
    rng, all_runs = random.Random(1), (1 << _RUNS) - 1
    inputs, outputs = aig.input_bits, aig.output_bits
    wanted = [*outputs["covered"], *outputs["seen"]]
    names = [*PACKER_COVERS, *_MONITORED]
    step, state = aig.stepper(wanted), [0] * len(aig.latches)
    seen: dict[str, int] = {}

    def draw(chances: Sequence[float], period: int, clock: int) -> int:
        at = clock // period
        return sum((rng.random() < chances[(at + run) % len(chances)]) << run for run in range(_RUNS))

    for clock in range(_CLOCKS):
        frame = [rng.getrandbits(_RUNS) for _ in range(aig.inputs)]
        # The last bit of a beat is that of `last`.
        *words, last = inputs["fresh"]
        dense = draw((0, 0.5, 0, 1, 0), _CLOCKS, 0)
        for bit in words:
            frame[bit] |= dense & rng.getrandbits(_RUNS) | dense & rng.getrandbits(_RUNS)
        frame[last] = draw((0.1, 0.3, 0.02), _CLOCKS, 0)
        frame[inputs["offer"][0]] = draw((0.5, 0.9, 1, 0.97), 40, clock)
        frame[inputs["ready"][0]] = draw((0, 1, 0.5), 25, clock)
        frame[inputs["reset"][0]] = draw((0.003,), 1, clock) if clock else all_runs
        state, found = step(state, frame, all_runs)
        if clock:
            for name, value in zip(names, found, strict=True):
                if value:
                    seen.setdefault(name, clock)
    covers = {target: seen[target] for target in PACKER_COVERS if target in seen}
    return covers, {wanted: seen[wanted] for wanted in _MONITORED if wanted in seen}


def _items(payload: Any) -> list[Any]:
    return [payload.items[lane] for lane in range(payload.shape().members["items"].length)]


def _word(item: Any) -> Value:
    """All of a word but whether it is there."""
    return Cat(Value.cast(item[name]) for name, _ in item.shape() if name != "keep")


def _all(bits: Any) -> Value:
    return Cat(Value.cast(bit).bool() for bit in bits).all()


def _select(values: Sequence[Value], index: Value) -> Value:
    """One of as many values as the index has."""
    for bit in index:
        values = [Mux(bit, odd, even) for even, odd in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def _modulo(value: Value, lanes: int) -> Value:
    """Of less than twice the lanes."""
    return Mux(value >= lanes, value - lanes, value)
