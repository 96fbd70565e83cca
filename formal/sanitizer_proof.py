# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a sanitizer: the window, the beats whose units later ones may still complete, and a FIFO.

A unit is well-formed if it is in a sequence of some row, all of whose units are of its packet. Since the table is
self-synchronising, such sequences never overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from utf8fpga.formal.accepted import Beat
from utf8fpga.formal.beat_claims import BeatClaims
from utf8fpga.hdl.window import any_of
from utf8fpga.model import EncodingTable, Row

Unit: TypeAlias = tuple[Value, Value]
"""A unit, and whether there is one."""


def _begins(row: Row, units: Sequence[Unit]) -> Value:
    """Units are the first ones of a sequence of a row."""
    pairs = zip(units, row.units, strict=False)
    return Cat(keep & (unit >= each.first) & (unit <= each.last) for (unit, keep), each in pairs).all()


def well_formed(table: EncodingTable, units: Sequence[Unit]) -> list[Value]:
    """For each unit whether it is in a sequence of a row."""
    found: list[Value] = [Const(0, 1)] * len(units)
    for row in table.rows:
        length = len(row.units)
        for start in range(len(units) - length + 1):
            whole = _begins(row, units[start : start + length])
            for place in range(start, start + length):
                found[place] = found[place] | whole
    return found


def is_open(table: EncodingTable, units: Sequence[Unit], after: int) -> Value:
    """The last units, more of them than so many, begin a sequence that needs more."""
    starts = [(row, count) for row in table.rows for count in range(after + 1, len(row.units))]
    return any_of(_begins(row, units[-count:]) for row, count in starts)


class _Waiting:
    """A beat behind the window, and the units after it that have passed the window.

    Attributes:
        beat: the beat, and the units before it.
        after: the units of the newer beats, the last of which is in the first place behind the window.
        ended: the packet ends with one of these beats.
    """

    def __init__(self, beat: Beat, after: Sequence[Unit], ended: Value) -> None:
        self.beat, self.after, self.ended = beat, list(after), ended

    @property
    def units(self) -> list[Unit]:
        """All units."""
        return [*self.beat.units(), *self.after]

    def is_open(self, table: EncodingTable) -> Value:
        """Units that are not yet known may complete a sequence with units of the beat."""
        return self.beat.valid & ~self.ended & is_open(table, self.units, len(self.after))

    def well_formed(self, table: EncodingTable) -> list[Value]:
        """For each unit of the beat whether it is in a well-formed sequence."""
        return well_formed(table, self.units)[self.beat.past : self.beat.past + self.beat.lanes]

    def followed(self, newest: Beat) -> _Waiting:
        """The same with another beat, if there is one."""
        there = newest.valid & ~self.ended
        lanes = range(newest.lanes)
        units = [(newest.here.word_select(lane, newest.width), newest.keep[lane] & there) for lane in lanes]
        return _Waiting(self.beat, [*self.after, *units], self.ended | (there & newest.last))


class SanitizerProof(BeatClaims):
    """A sanitizer."""

    def __init__(self, core: Any, table: EncodingTable | None = None) -> None:
        super().__init__(core, table or core.window.table)
        self.latency = core.window.latency + core.waiting_beats + 1 + core.fifo.latency

    def specify(self, m: Module) -> None:
        core, table = self.core, self.table
        accepted = self.follow_window(m, core.window, "")
        newest, first = accepted.beats[-1], accepted.held
        places = [_Waiting(first, [], first.last)]
        places += [self._place(number) for number in range(1, core.waiting_beats)]
        opens = [place.is_open(table) for place in places]
        m.d.sync += first.valid.eq(newest.valid | opens[0])
        for older, newer, stays, blocked in zip(places[1:], places, opens[1:], opens, strict=False):
            self._move(m, newer.followed(newest), older, newest.valid | ~blocked, stays)
        for number, (place, stays) in enumerate(zip(places, opens, strict=True)):
            suffix = f"_{number + 1}_before" if number else "_before"
            self._claim_place(suffix, place)
            # The last beat that has passed the window says which of those in front of it it may still complete.
            needs = ~first.last & is_open(table, first.units(), number * core.lanes)
            self.holds("is_open" + suffix, self.inside["is_open" + suffix], needs, accepted.loaded)
            self.claim("is_open" + suffix, ~place.beat.valid | (accepted.loaded & (needs == stays)))
        for older, newer, stays in zip(places[1:], places, opens[1:], strict=False):
            self._claim_neighbours(older, newer, stays)
        last = places[-1]
        m.d.sync += self.leaves.eq(last.beat.valid & (newest.valid | ~opens[-1]))
        self._expect(m, last.followed(newest))
        self.in_flight = [beat.valid for beat in (*accepted.beats[1:], *(place.beat for place in places))]
        self.in_flight.append(self.leaves)
        self.claim_fifo(m, core.fifo, self.row, self.leaves, Const(0, 1))

    def _place(self, number: int) -> _Waiting:
        """A place for a beat with so many newer ones."""
        beat = Beat(self.table, self.core.lanes, f"place_{number}")
        after = [
            (
                Signal(beat.width, name=f"after_{number}_{at}", reset_less=True),
                Signal(name=f"keep_after_{number}_{at}", reset_less=True),
            )
            for at in range(number * beat.lanes)
        ]
        return _Waiting(beat, after, Signal(name=f"ended_{number}", reset_less=True))

    def _move(self, m: Module, newer: _Waiting, older: _Waiting, moves: Value, stays: Value) -> None:
        """A beat moves into the next place."""
        with m.If(moves):
            for name in ("here", "keep", "last", "before", "keep_before", "valid"):
                m.d.sync += getattr(older.beat, name).eq(getattr(newer.beat, name))
            m.d.sync += older.ended.eq(newer.ended)
            for (unit, keep), (source, is_there) in zip(older.after, newer.after, strict=True):
                m.d.sync += [unit.eq(source), keep.eq(is_there)]
        with m.Elif(~stays):
            m.d.sync += older.beat.valid.eq(0)

    def _claim_place(self, suffix: str, place: _Waiting) -> None:
        """What the registers of a place hold."""
        beat = place.beat
        self.holds("valid" + suffix, self.inside["valid" + suffix], beat.valid)
        for name, value in (("units", beat.here), ("keep", beat.keep), ("last", beat.last)):
            self.holds(name + suffix, self.inside[name + suffix], value, beat.valid)
        register = self.inside["well_formed" + suffix]
        for lane, value in enumerate(place.well_formed(self.table)):
            self.holds(f"well_formed{suffix} {lane}", register[lane], value, beat.valid & beat.keep[lane])

    def _claim_neighbours(self, older: _Waiting, newer: _Waiting, stays: Value) -> None:
        """A beat with an open sequence is directly in front of the beat that continues it."""
        before, keep_before = older.beat.passed()
        same = [newer.beat.valid, newer.beat.before == before, newer.beat.keep_before == keep_before]
        following = [*newer.beat.units()[newer.beat.past :], *newer.after]
        for (unit, keep), (source, is_there) in zip(older.after, following, strict=True):
            same += [unit == source, keep == is_there]
        self.claim("neighbours", ~stays | Cat(*same, older.ended == newer.ended).all())

    def _expect(self, m: Module, place: _Waiting) -> None:
        """The output beat of a beat that leaves."""
        beat, row, replacement = place.beat, self.row, self.core.replacement
        m.d.sync += [row.last.eq(beat.last), row.keep.eq(beat.keep)]
        for lane, is_right in enumerate(place.well_formed(self.table)):
            unit, symbol = beat.here.word_select(lane, beat.width), row.symbols[lane]
            other = unit if replacement is None else Const(replacement, beat.width)
            m.d.sync += [
                symbol.error.eq(beat.keep[lane] & ~is_right),
                symbol.unit.eq(Mux(is_right, unit, other)),
            ]
