# SPDX-License-Identifier: BSD-2-Clause
"""The invariant of a packer, for a proof by induction over one cycle.

A packer has memories, and no proof engine finds an invariant of their contents by itself. So the invariant is written
down here, in terms of the packer's public attributes and of *ghosts*: registers that only the proof has. It need not be
trusted. An incorrect invariant or incorrect ghost registers only make a proof fail.

Each pipeline stage is paired with a `GhostBeat`, which holds the beat of that stage as it was accepted. The invariant
consists of these claims:

- the registers of each stage are functions of its ghost. They are defined by the ranks of the words, not by the
  steps with which the packer computes them;
- each ghost begins where the ghost of the beat before it ends;
- the closed rows in the memories hold as many events as were accepted, without a gap;
- the watched event is in one place, and that place holds its word;
- while the output is not stalled, at most so many rows are reserved, and what is due is closed.

All fields of a word are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from utf8fpga.formal.helpers import how_many, named
from utf8fpga.formal.packer_monitors import GhostBeat, PackerMonitors
from utf8fpga.hdl.packer.packer import MovingBeat, Packer, Phase, Stage

__all__ = ["PACKER_COVERS", "PackerInvariant"]

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
"""What must be reachable, so that the invariant does not rule it out."""


class PackerInvariant:
    """The invariant of a packer, added to a module that has the packer as a submodule.

    Args:
        m: that module.
        packer: the packer. It has been elaborated, so its attributes are set; its memories have not been, since
            they are given more read ports.
        monitors: of the packer, in the same module.

    Attributes:
        parts: the invariant in parts, by name: one bit each, of registers and memories alone.
        holds: all parts hold.
        covers: by name of `PACKER_COVERS`, whether it is so in this cycle.
    """

    def __init__(self, m: Module, packer: Packer, monitors: PackerMonitors) -> None:
        self._m, self._packer, self._monitors = m, packer, monitors
        self.parts: dict[str, Value] = {}
        self._follow_beats()
        self._follow_rows()
        self._follow_watched()
        self._claim("steady", ~monitors.restless)
        self._claim_pipeline()
        self._claim_rows()
        self._claim_watched()
        self._claim_rates()
        self.holds = Signal(name="ghost_invariant")
        m.d.comb += self.holds.eq(Cat(self.parts.values()).all())
        self.covers = self._cover()

    def _name(self, name: str, value: Any, size: int | None = None) -> Signal:
        return named(self._m, f"ghost_{name}", value, size)

    def _claim(self, part: str, value: Any) -> None:
        """Add a claim to a part of the invariant. The claims of a part are proved by one question to the engine."""
        before = self.parts.get(part, Const(1, 1))
        self.parts[part] = self._name("claim", before & Value.cast(value).bool())

    # Ghosts.

    def _follow_beats(self) -> None:
        """Beats pass the stages of the pipeline."""
        packer, monitors = self._packer, self._monitors
        before, self._beats = monitors.entry, list[GhostBeat]()
        for n in range(len(packer.stages)):
            beat = GhostBeat(f"ghost_{n}", packer.lanes, len(before.row), len(before.number))
            beat.derive(self._m)
            self._m.d.sync += [getattr(beat, field).eq(getattr(before, field)) for field in GhostBeat.FIELDS]
            self._beats.append(beat)
            before = beat
        # Of the beat in the last stage before the rotation it is computed where it begins; the words of the beat in
        # the last stage are being written to the memories.
        self._decided = next(n for n, stage in enumerate(packer.stages) if stage.phase == Phase.AROUND) - 1
        self._written = self._beats[-1]

    def _follow_rows(self) -> None:
        """The number of the first event is remembered for each row, and the number of events delivered is counted."""
        m, packer, written, size = self._m, self._packer, self._written, self._monitors.number_bits
        self._delivered = Signal(size, name="ghost_number_out")
        m.d.sync += self._delivered.eq(self._delivered + self._monitors.events_out)
        self._starts = [Signal(size, name=f"ghost_start_{row}") for row in range(packer.depth)]
        self._this_row = written.row[: (packer.depth - 1).bit_length()]
        self._next_row = Signal(range(packer.depth), name="ghost_next_row")
        m.d.comb += self._next_row.eq(self._this_row + 1)
        for row, start in enumerate(self._starts):
            with m.If((written.closes >= 1) & (self._this_row == row)):
                m.d.sync += start.eq(written.start)
            with m.If((written.closes >= 2) & (self._next_row == row)):
                m.d.sync += start.eq(written.start + packer.lanes)
        self._closed_before = Signal.like(packer.rows_closed, name="ghost_closed_before")
        m.d.sync += self._closed_before.eq(packer.rows_closed)

    def _follow_watched(self) -> None:
        """The row and the lane of the watched event are remembered, once it is in the memories."""
        m, packer, written = self._m, self._packer, self._written
        self._stored = Signal(name="ghost_stored")
        self._row = Signal(range(packer.depth), name="ghost_row")
        self._lane = Signal(range(packer.lanes), name="ghost_lane")
        with m.If(self._monitors.delivered & (self._row == packer.rows_read[: len(self._row)])):
            m.d.sync += self._stored.eq(0)
        for place in range(packer.lanes + 1):
            with m.If(written.watched[place]):
                m.d.sync += self._stored.eq(1)
                if place == packer.lanes:
                    m.d.sync += self._row.eq(Mux(written.closes >= 2, self._next_row, self._this_row))
                else:
                    at = self._name(f"at_{place}", written.base + written.ranks[place])
                    m.d.sync += [
                        self._row.eq(Mux(at >= packer.lanes, self._next_row, self._this_row)),
                        self._lane.eq(Mux(at >= packer.lanes, at - packer.lanes, at)),
                    ]

    # The invariant.

    def _claim_pipeline(self) -> None:
        """Each stage is a function of its ghost; each ghost begins where the one before it ends."""
        lanes, entry = self._packer.lanes, self._monitors.entry
        following = entry
        for n, (beat, stage) in enumerate(zip(self._beats, self._packer.stages, strict=True)):
            part = f"stage {n}"
            for field in ("base", "row", "number"):
                self._claim(part, getattr(following, field) == getattr(beat, f"next_{field}"))
            self._claim(part, beat.base < lanes)
            self._claim(part, (beat.valid | beat.idle) == (beat.valid ^ beat.idle))
            # The producer guarantees it.
            self._claim(part, ~beat.valid | beat.keep.any() | beat.last)
            behind = self._name(f"behind_{n}", entry.number - beat.number, len(beat.number))
            self._claim(part, behind <= (lanes + 1) * (n + 1))
            self._claim_lanes(n, beat, stage)
            self._claim_scalars(part, beat, stage)
            self._claim_number(part, beat)
            following = beat
        self._claim("counters", entry.base < lanes)

    def _claim_lanes(self, n: int, beat: GhostBeat, stage: Stage) -> None:
        """Each word is in the lane that the phase and the step of the stage require, and so are the counts."""
        part, lanes, low_bits = f"stage {n}", self._packer.lanes, (2 << stage.step) - 1
        places: list[Value] = [Const(lane, lanes.bit_length()) for lane in range(lanes)]
        counts: list[Value] = []
        if stage.phase == Phase.INPUT:
            counts = [~beat.keep[lane] for lane in range(lanes)]
        elif stage.phase == Phase.GAPS:
            counts = [how_many(~beat.keep[max(0, lane - low_bits) : lane + 1]) for lane in range(lanes)]
        elif stage.phase == Phase.DOWN:
            places = [lane - (beat.gaps[lane] & low_bits) for lane in range(lanes)]
        elif stage.phase == Phase.AROUND:
            rotated = beat.base & low_bits
            places = [_modulo(beat.ranks[lane] + rotated, lanes) for lane in range(lanes)]
        else:
            raise AssertionError(f"no claim about the phase {stage.phase!r}")
        places = [self._name(f"place_{n}_{lane}", place, lanes.bit_length()) for lane, place in enumerate(places)]
        held: MovingBeat = stage.beat
        self._claim(part, ~beat.valid | _all(a == b for a, b in zip(counts, held.counts, strict=False)))
        for lane in range(lanes):
            here = [self._name(f"here_{n}_{lane}_{i}", beat.keep[i] & (places[i] == lane)) for i in range(lanes)]
            correct = held.present[lane] == Cat(here).any()
            if stage.phase == Phase.DOWN:
                correct = correct & _all(~here[i] | (held.counts[lane] == beat.gaps[i]) for i in range(lanes))
            watched = Cat(here[i] & beat.watched[i] for i in range(lanes)).any()
            is_token = held.words[lane] == self._monitors.token
            self._claim(part, ~beat.valid | correct & (~watched | is_token))

    def _claim_scalars(self, part: str, beat: GhostBeat, stage: Stage) -> None:
        """The values of the whole beat are as expected."""
        given = stage.beat.scalars
        self._claim(part, (given["valid"] == beat.valid) & (given["idle"] == beat.idle))
        if stage.phase == Phase.DOWN:
            self._claim(part, ~beat.valid | (given["words"] == beat.words))
        if stage.phase == Phase.AROUND:
            self._claim(part, given["closes"] + given["closes_next"] == beat.closes)
            self._claim(part, given["closes"] | ~given["closes_next"])
            expected = {"row": beat.row[: len(given["row"])], "rest": beat.rest, "full": beat.full, "base": beat.base}
            expected["last"] = beat.valid & beat.last
            correct = _all(given[name] == value for name, value in expected.items())
            self._claim(part, ~(beat.valid | beat.idle) | correct)
        else:
            self._claim(part, ~beat.valid | (given["last"] == beat.last))

    def _claim_number(self, part: str, beat: GhostBeat) -> None:
        """The watched event has its number, and `idled` is set if a cycle without a beat follows it."""
        lanes, monitors, size = self._packer.lanes, self._monitors, self._monitors.number_bits
        now = (self._delivered + monitors.ahead)[:size]
        events = Cat(beat.keep, beat.last)
        numbers = [*beat.ranks, beat.words]
        for place in range(lanes + 1):
            is_it = beat.valid & events[place] & (now == (beat.number + numbers[place])[:size])
            is_it = is_it & (monitors.is_end == (place == lanes))
            if place == lanes:
                is_it = is_it & (monitors.wordless == (beat.words == 0))
            self._claim(part, ~beat.watched[place] | is_it)
        just_before = monitors.watching & ((now + 1)[:size] == beat.number)
        self._claim(part, ~(beat.idle & just_before) | monitors.idled)

    def _claim_rows(self) -> None:
        """The counters, and the masks and the first events of the closed rows."""
        packer, monitors, written = self._packer, self._monitors, self._written
        depth, lanes, size = packer.depth, packer.lanes, monitors.number_bits
        decided, after = self._beats[self._decided : self._decided + 2]
        self._waiting = self._name("waiting", (packer.rows_closed - packer.rows_read)[: len(packer.rows_closed)])
        self._claim("counters", packer.base == decided.base)
        self._claim("counters", packer.row == decided.row[: len(packer.row)])
        begins_row = (after.base == 0) | (after.full & (after.rest != 0))
        self._claim("counters", packer.merged == (after.valid & ~begins_row))
        self._claim("counters", packer.rows_closed == written.row)
        undecided = how_many(Cat(beat.valid for beat in self._beats[: self._decided + 1]))
        rows = self._name("rows", (decided.row - packer.rows_read)[: len(packer.rows_closed)])
        self._claim("counters", packer.rows_reserved == undecided + packer.merged + rows + (decided.base != 0))
        self._claim("counters", packer.rows_reserved <= Mux(packer.sparse.ready, depth - 2, depth - 1))
        self._claim("counters", self._waiting <= rows)

        self._claim("numbers", monitors.pending == (monitors.entry.number - self._delivered)[:size])
        first = _select(self._starts, packer.rows_read[: len(packer.row)])
        self._claim("numbers", self._delivered == Mux(self._waiting == 0, written.start, first))
        self._claim("the open row", (written.start - self._delivered)[:size] <= (lanes + 1) * depth)
        self._masks: list[Value] = []
        self._distances: list[Value] = []
        for row in range(depth):
            port = packer.mask_memories[row % 2].read_port(domain="comb")
            self._m.d.comb += port.addr.eq(row // 2)
            mask = self._name(f"mask_{row}", port.data, lanes + 1)
            distance = self._name(f"distance_{row}", (row - packer.rows_read)[: len(packer.row)])
            is_newest = distance + 1 == self._waiting
            following = Mux(is_newest, written.start, self._starts[(row + 1) % depth])
            keep, start = mask[:lanes], self._starts[row]
            count = self._name(f"count_{row}", how_many(mask))
            behind = self._name(f"row_behind_{row}", (written.start - start)[:size])
            correct = (start + count)[:size] == following
            correct = correct & ~(keep & (keep + 1)).any() & (count != 0)
            correct = correct & (behind >= count) & (behind <= (lanes + 1) * (self._waiting - distance))
            self._claim(f"row {row}", (distance >= self._waiting) | correct)
            self._masks.append(mask)
            self._distances.append(distance)

    def _claim_watched(self) -> None:
        """The watched event is in one place; once it is in the memories, its row has its word and its number."""
        packer, monitors, written = self._packer, self._monitors, self._written
        lanes, size = packer.lanes, monitors.number_bits
        places = Cat(*(beat.watched for beat in self._beats), self._stored)
        self._claim("numbers", (places & (places - 1)[: len(places)]) == 0)
        self._claim("the watched event is somewhere", monitors.watching == places.any())
        self._claim("numbers", ~monitors.watching | (monitors.ahead < monitors.pending))
        distance = self._name("distance", (self._row - packer.rows_read)[: len(self._row)])
        closed = self._name("is_closed", distance < self._waiting)
        mask = self._name("mask", _select(self._masks, self._row))
        count = self._name("count", how_many(mask[:lanes]))
        start = Mux(closed, _select(self._starts, self._row), written.start)
        now = self._name("now", self._delivered + monitors.ahead, size)
        offset = Mux(monitors.is_end, count, self._lane)
        self._claim("the number of the watched event", ~self._stored | (now == (start + offset)[:size]))
        self._claim("numbers", ~self._stored | (distance <= self._waiting))
        its_row = "the row of the watched event"
        held = Mux(closed, self._lane < count, self._lane < written.base)
        self._claim(its_row, ~self._stored | Mux(monitors.is_end, closed & mask[lanes], held))
        for lane, memory in enumerate(packer.word_memories):
            port = memory.read_port(domain="comb")
            self._m.d.comb += port.addr.eq(self._row)
            is_here = self._stored & ~monitors.is_end & (self._lane == lane)
            self._claim(f"the word in lane {lane}", ~is_here | (port.data == monitors.token))
        is_final = self._stored & ~monitors.is_end & closed & (self._lane + 1 == count)
        self._claim(its_row, ~(is_final & ~mask[lanes] & (count < lanes)) | monitors.idled)
        self._claim(its_row, ~(self._stored & monitors.is_end & (count == 0)) | monitors.wordless)
        for row, its_distance in enumerate(self._distances):
            after = self._name(f"now_after_{row}", (now - self._starts[row])[:size])
            earlier = self._stored & (its_distance < self._waiting) & (its_distance < distance)
            correct = (after >= how_many(self._masks[row])) & (after <= monitors.most)
            self._claim(f"row {row} before the watched event", ~earlier | correct)

    def _claim_rates(self) -> None:
        """Upper bounds on the rows that are reserved, and on the events that wait, while the output is not stalled."""
        packer, monitors, written = self._packer, self._monitors, self._written
        depth, reserved = packer.depth, packer.rows_reserved
        lately = [~monitors.was_stalled[:n].any() for n in (1, 2, 3)]
        self._claim("room", ~lately[0] | (reserved <= Mux(packer.sparse.ready, depth - 3, depth - 2)))
        self._claim("room", ~lately[1] | (reserved <= depth - 3))
        self._claim("room", ~lately[2] | packer.sparse.ready | monitors.fresh)
        while len(monitors.due) < len(self._beats) + 2:
            monitors.delay_due()
        for n, beat in enumerate(self._beats):
            self._claim("in time", monitors.due[n + 1] == beat.start)
        before = self._name("before", (self._closed_before - packer.rows_read)[: len(packer.rows_closed)])
        start = _select(self._starts, self._closed_before[: len(packer.row)])
        at = Mux(before == self._waiting, written.start, start)
        self._claim("in time", (before <= self._waiting) & (monitors.due[len(self._beats) + 1] == at))
        self._claim("in time", ~monitors.prompt | (self._waiting + (written.base != 0) <= 2))
        self._claim("in time", ~monitors.prompt | (before <= 1))

    def _cover(self) -> dict[str, Value]:
        packer, monitors, written = self._packer, self._monitors, self._written
        full = packer.rows_reserved == packer.capacity
        stored_word, stored_end = self._stored & ~monitors.is_end, self._stored & monitors.is_end
        return {
            "full, and a word is watched": full & stored_word,
            "full, and an end is watched": full & stored_end,
            "a watched word waits in an open row": stored_word & (self._row == packer.rows_closed[: len(self._row)]),
            "two rows closed at once": written.closes == 2,
            "a row closed without a beat": written.idle & (written.base != 0),
            "an end alone": monitors.stalled & ~monitors.keep_out.any(),
            "a full beat with an end": monitors.stalled & monitors.keep_out.all() & packer.packed.payload.last,
            "the input waits": ~packer.sparse.ready & ~monitors.fresh,
        }


def _all(bits: Any) -> Value:
    return Cat(Value.cast(bit).bool() for bit in bits).all()


def _select(values: Sequence[Value], index: Value) -> Value:
    """One of as many values as the index has."""
    for bit in index:
        values = [Mux(bit, odd, even) for even, odd in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def _modulo(value: Value, lanes: int) -> Value:
    """The remainder of a value that is less than twice the lanes."""
    return Mux(value >= lanes, value - lanes, value)
