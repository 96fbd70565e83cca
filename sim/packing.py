# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of the packer, by induction over one clock.

A packer has memories, whose contents no engine finds an invariant for by itself. So the invariant is
written down here, beside ghosts: registers that only the proof has. Three questions to a SAT engine
make the proof:

- after a clock of reset, from any contents of all registers and memories, the invariant holds;
- where it holds it holds a clock later, whatever comes in, a reset included;
- where it holds no monitor raises its bit.

Nothing is assumed but what `_Top` builds: a beat that is offered has a word or ends its text. Even that
it stays until it is taken is not needed. What the ghosts are is no part of what has to be believed: a
wrong one only makes the proof fail. What has to be believed are the monitors, which look at nothing but
the two streams: `_Watching._monitor` and what it calls.

How: beside each row of the pipeline goes a ghost of the beat in it, as it came in, with where it begins:
in which row and lane of the memories, and how many words and ends came before it. The invariant says
what the registers of each row are, as functions of that ghost which know only ranks and not how the
packer computes them; how each ghost follows from that of the beat before it; what the rows of the memory
that wait are; and where one word, any, has got to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Mux, Signal, Value

from utf8fpga.hdl.packer import Packer
from utf8fpga.model import TABLE_3_7
from utf8fpga.sim.engine import Aig, Verdict, aig_of, hold
from utf8fpga.sim.properties import Property
from utf8fpga.sim.prove import Result

__all__ = ["PACKER_COVERS", "PACKER_PROPERTIES", "packer_aig", "prove_packer"]


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
        self.ranks = [name(f"rank_{lane}", _count(keep[:lane]), bits) for lane in range(lanes)]
        self.gaps = [name(f"gap_{lane}", _count(~keep[:lane]), bits) for lane in range(lanes)]
        self.words = name("words", _count(keep), bits)
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


class _Watching(Packer):
    """A packer with ghosts, monitors and an invariant in it: to be mixed with a class of packers.

    Attributes:
        pick: an input, which of the events that come in is watched, if any: a bit per word and for the end.
        holds: the invariant, in parts with names; of registers alone.
        bad: per property what must never be 1.
        covers: what must be possible, by `PACKER_COVERS`.
    """

    def __init__(self, lanes: int) -> None:
        super().__init__(TABLE_3_7, lanes)
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

    def _show(self, name: str, **inner: Any) -> None:
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

    def _say(self, name: str, value: Any) -> None:
        """Make it a part of the invariant."""
        self.holds[name] = self._name(f"holds_{len(self.holds)}", Value.cast(value).bool())

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
        self.coming = self._name("coming", Mux(self.taken, _count(self.keep_in) + sparse.last, 0))
        self.count_out = self._name("count_out", _count(self.keep_out))
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
                    self.ahead.eq(self.pending - self.going + _count(events[:place])),
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
                self._say(f"{field} after {n}", linked)
            self._say(f"base of {n}", beat.base < self.lanes)
            self._say(f"strobes of {n}", (beat.valid | beat.idle) == (beat.valid ^ beat.idle))
            # The surroundings see to it.
            self._say(f"beat of {n}", ~beat.valid | beat.keep.any() | beat.last)
            behind = self._name(f"behind_{n}", self.entry.number - beat.number, self._number_bits)
            self._say(f"numbers of {n}", behind <= (self.lanes + 1) * (n + 1))
            self._say_stage(n, name, beat, stage, step)
            following = beat
        self._say("base of the entry", self.entry.base < self.lanes)

    def _say_stage(self, n: int, name: str, beat: _Beat, stage: Any, step: int) -> None:
        lanes, part = self.lanes, (2 << step) - 1
        places: list[Value] = [Const(lane, lanes.bit_length()) for lane in range(lanes)]
        counts: list[Value] = []
        if name == "input":
            counts = [~beat.keep[lane] for lane in range(lanes)]
        elif name == "gaps":
            counts = [_count(~beat.keep[max(0, lane - part) : lane + 1]) for lane in range(lanes)]
        elif name == "down":
            places = [lane - (beat.gaps[lane] & part) for lane in range(lanes)]
        elif name == "around":
            turned = beat.base & part
            places = [_modulo(beat.ranks[lane] + turned, lanes) for lane in range(lanes)]
        else:
            raise AssertionError(f"no row of registers is known as {name!r}")
        places = [self._name(f"place_{n}_{lane}", place, lanes.bit_length()) for lane, place in enumerate(places)]
        self._say(f"counts of {n}", ~beat.valid | _all(a == b for a, b in zip(counts, stage.counts, strict=False)))
        for lane in range(lanes):
            here = [self._name(f"here_{n}_{lane}_{i}", beat.keep[i] & (places[i] == lane)) for i in range(lanes)]
            right = stage.present[lane] == Cat(here).any()
            if name == "down":
                right = right & _all(~here[i] | (stage.counts[lane] == beat.gaps[i]) for i in range(lanes))
            watched = Cat(here[i] & beat.watched[i] for i in range(lanes)).any()
            self._say(f"lane {lane} of {n}", ~beat.valid | right & (~watched | (stage.words[lane] == self.token)))
        given = stage.scalars
        self._say(f"valid of {n}", (given["valid"] == beat.valid) & (given["idle"] == beat.idle))
        if name == "down":
            self._say(f"words of {n}", ~beat.valid | (given["words"] == beat.words))
        if name == "around":
            self._say(f"closes of {n}", given["closes"] + given["closes_next"] == beat.closes)
            self._say(f"order of {n}", given["closes"] | ~given["closes_next"])
            expected = {"row": beat.row[: len(given["row"])], "rest": beat.rest, "full": beat.full, "base": beat.base}
            expected["last"] = beat.valid & beat.last
            right = _all(given[part] == value for part, value in expected.items())
            self._say(f"scalars of {n}", ~(beat.valid | beat.idle) | right)
        else:
            self._say(f"last of {n}", ~beat.valid | (given["last"] == beat.last))
        # One that is watched is there, and has its number.
        now = (self.number_out + self.ahead)[: self._number_bits]
        events = Cat(beat.keep, beat.last)
        numbers = [*beat.ranks, beat.words]
        for place in range(lanes + 1):
            there = beat.valid & events[place] & (now == (beat.number + numbers[place])[: len(beat.number)])
            there = there & (self.is_end == (place == lanes))
            if place == lanes:
                there = there & (self.wordless == (beat.words == 0))
            self._say(f"watched {place} of {n}", ~beat.watched[place] | there)
        just_before = self.watching & ((now + 1)[: self._number_bits] == beat.number)
        self._say(f"idle of {n}", ~(beat.idle & just_before) | self.idled)

    def _say_rows(self) -> None:
        """What the memory holds of rows that wait, and how many beats and rows there are."""
        depth, lanes, size = self._depth, self.lanes, self._number_bits
        written, inner = self.written, self._registers
        self.waiting = self._name("waiting", (self.ended - self.reading)[: len(self.ended)])
        self._say("base", inner["base"] == self.decided.base)
        self._say("row", inner["row"] == self.decided.row[: len(inner["row"])])
        self._say("merged", inner["merged"] == (self.after.valid & ~self._opened(self.after)))
        self._say("ended", self.ended == written.row)
        beats = self.beats[: self.beats.index(self.decided) + 1]
        rows = self._name("rows", (self.decided.row - self.reading)[: len(self.ended)])
        inside = _count(Cat(beat.valid for beat in beats)) + inner["merged"] + rows + (self.decided.base != 0)
        self._say("inside", inner["inside"] == inside)
        self._say("room", inner["inside"] <= Mux(self.sparse.ready, depth - 2, depth - 1))
        self._say("rows in the memory", self.waiting <= rows)

        pending = (self.entry.number - self.number_out)[:size]
        self._say("pending", self.pending == pending)
        out = Mux(self.waiting == 0, written.start, _select(self.starts, self.reading[: len(self.row)]))
        self._say("number out", self.number_out == out)
        self._say("the open row", (written.start - self.number_out)[:size] <= (lanes + 1) * depth)
        self.masks, self.nexts, self.distances = [], [], []
        for row in range(depth):
            port = self._masks[row % 2].read_port(domain="comb")
            self.m.d.comb += port.addr.eq(row // 2)
            mask = self._name(f"mask_{row}", port.data, lanes + 1)
            distance = self._name(f"distance_{row}", (row - self.reading)[: len(self.row)])
            is_next = distance + 1 == self.waiting
            following = Mux(is_next, written.start, self.starts[(row + 1) % depth])
            keep, start = mask[:lanes], self.starts[row]
            count = self._name(f"count_{row}", _count(mask))
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
        self._say("one is watched", (places & (places - 1)[: len(places)]) == 0)
        self._say("it is somewhere", self.watching == places.any())
        self._say("ahead", ~self.watching | (self.ahead < self.pending))
        distance = self._name("distance", (self.row - self.reading)[: len(self.row)])
        closed = self._name("is_closed", distance < self.waiting)
        mask = self._name("mask", _select(self.masks, self.row))
        count = self._name("count", _count(mask[:lanes]))
        start = Mux(closed, _select(self.starts, self.row), written.start)
        now = self._name("now", self.number_out + self.ahead, size)
        offset = Mux(self.is_end, count, self.lane)
        self._say("its number", ~self.stored | (now == (start + offset)[:size]))
        self._say("its row", ~self.stored | (distance <= self.waiting))
        held = Mux(closed, self.lane < count, self.lane < written.base)
        self._say("it is held", ~self.stored | Mux(self.is_end, closed & mask[lanes], held))
        tokens = []
        for memory in self._words:
            port = memory.read_port(domain="comb")
            self.m.d.comb += port.addr.eq(self.row)
            tokens.append(port.data)
        for lane, token in enumerate(tokens):
            at = self.stored & ~self.is_end & (self.lane == lane)
            self._say(f"word in lane {lane}", ~at | (token == self.token))
        partial = self.stored & ~self.is_end & closed & ~mask[lanes] & (count < lanes) & (self.lane + 1 == count)
        self._say("why a beat is not full", ~partial | self.idled)
        self._say("why an end is alone", ~(self.stored & self.is_end & (count == 0)) | self.wordless)
        for row, there in enumerate(self.distances):
            after = self._name(f"now_after_{row}", (now - self.starts[row])[:size])
            earlier = self.stored & (there < self.waiting) & (there < distance)
            right = (after >= _count(self.masks[row])) & (after <= self._most)
            self._say(f"rows before it {row}", ~earlier | right)

    def _say_rates(self) -> None:
        """How full it is while nothing waits."""
        depth, inside = self._depth, self._registers["inside"]
        lately = [~self.waited[:n].any() for n in (1, 2, 3)]
        self._say("room after a clock", ~lately[0] | (inside <= Mux(self.sparse.ready, depth - 3, depth - 2)))
        self._say("room after two", ~lately[1] | (inside <= depth - 3))
        self._say("ready after three", ~lately[2] | self.sparse.ready | self.fresh)
        for n, beat in enumerate(self.beats):
            self._say(f"closed at {n}", self.closed[n + 1] == beat.start)
        before = self._name("before", (self.ended_before - self.reading)[: len(self.ended)])
        start = _select(self.starts, self.ended_before[: len(self.row)])
        at = Mux(before == self.waiting, self.written.start, start)
        self._say("closed before", (before <= self.waiting) & (self.closed[len(self.beats) + 1] == at))
        self._say("prompt", ~self.prompt | (self.waiting + (self.written.base != 0) <= 2))
        self._say("prompt before", ~self.prompt | (before <= 1))


    def _cover(self) -> dict[str, Value]:
        """What the invariant must not rule out."""
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


class _Top(Elaboratable):
    """A packer, its surroundings, and the questions of the induction as outputs.

    Args:
        packer: the class of packers.
        lanes: its lanes.

    Attributes:
        parts: the names of the parts of the invariant.
        broken: per part whether it does not hold in the second clock, after a first one with a reset or where all
            of it held; or in the first, for registers that start with their own values.
        bad: per property of `_MONITORED` whether it does not hold where the invariant does.
        covered: what there is to be covered.
    """

    def __init__(self, packer: type[Packer], lanes: int) -> None:
        self.packer = type("Watching", (_Watching, packer), {})(lanes)
        self.clk, self.reset, self.offer, self.ready = (Signal(name=n) for n in ("clk", "reset", "offer", "ready"))
        self.fresh = Signal(len(Value.cast(self.packer.sparse.payload)))
        self.pick = Signal(lanes + 1)
        self.parts = list(self.packer.holds)
        self.base, self.step, self.start = (Signal(len(self.parts), name=n) for n in ("base", "step", "start"))
        self.bad = Signal(len(_MONITORED))
        self.covered = Signal(len(self.packer.covers))
        self.right = Signal()
        self.packed_valid, self.sparse_ready = Signal(), Signal()
        self.packed_payload = Signal(len(Value.cast(self.packer.packed.payload)))

    @property
    def ports(self) -> list[Signal]:
        """The ports of the top module."""
        inputs = [self.clk, self.reset, self.offer, self.ready, self.fresh, self.pick]
        outputs = [self.base, self.step, self.start, self.bad, self.covered, self.right]
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
        wrong = Signal(len(self.parts))
        m.d.comb += [
            wrong.eq(~Cat(packer.holds.values())),
            self.right.eq(packer.right),
            self.base.eq(Mux(second & was_reset, wrong, 0)),
            self.step.eq(Mux(second & held, wrong, 0)),
            self.start.eq(wrong),
            self.bad.eq(Mux(packer.right, Cat(packer.bad[wanted] for wanted in _MONITORED), 0)),
            self.covered.eq(Cat(packer.covers.values())),
        ]
        return m


_MONITORED = (Property.EQUIVALENCE, Property.STEADY, Property.STALL, Property.LATENCY)


def _items(payload: Any) -> list[Any]:
    return [payload.items[lane] for lane in range(payload.shape().members["items"].length)]


def _word(item: Any) -> Value:
    """All of a word but whether it is there."""
    return Cat(Value.cast(item[name]) for name, _ in item.shape() if name != "keep")


def _count(bits: Value) -> Value:
    total: Value = Const(0, 1)
    for bit in bits:
        total = total + bit
    return total


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
