# SPDX-License-Identifier: BSD-2-Clause
"""The minimal DFA as an Amaranth monitor, to which decoders are proved equal.

It shares only the rows with the decoders: states and transitions are those of the DFA, a code point is the row's first
one plus the mixed-radix index of its units, a cause is the model's `cause`. It is written for the reader; its size and
speed do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.hdl.payloads import code_point_bits
from utf8fpga.model import DFA, REJECT, REPLACEMENT_CHARACTER, START, EncodingTable, ErrorKind, TableError, cause
from utf8fpga.model.errors import representatives
from utf8fpga.model.ranges import Range


class Event:
    """An item, or the end of a text, that a beat causes if it is `valid`.

    Attributes:
        word: `end`, the text ends here and the other fields are 0; or `error`, `code_point` and `kind` of an item.
        length: the number of units of the item.
        units: these, in order; the others are undefined.
        stop: the number of units of the beat up to the end of the item.
    """

    def __init__(self, table: EncodingTable) -> None:
        self.valid = Signal()
        self.word = Signal(event_layout(table))
        self.length = Signal(range(table.longest + 1))
        self.units = [Signal(table.unit_width) for _ in range(table.longest)]
        self.stop: Value = Const(0)


def event_layout(table: EncodingTable) -> data.StructLayout:
    """The layout of `Event.word`."""
    kind = max(ErrorKind).bit_length()
    return data.StructLayout({"end": 1, "error": 1, "code_point": code_point_bits(table), "kind": kind})


class _Machine:
    """The DFA's steps as logic; each adds its events to `events`."""

    def __init__(self, m: Module, table: EncodingTable) -> None:
        self._m, self._table, self._dfa = m, table, DFA.of(table)
        self._states = range(len(self._dfa.states))
        self._causes = causes(table)
        self.events: list[Event] = []

    def _event(self, valid: Value) -> Event:
        event = Event(self._table)
        self._m.d.comb += event.valid.eq(valid)
        self.events.append(event)
        return event

    def _error(self, place: _Place, kind: Value | int, valid: Value) -> None:
        event = self._event(valid)
        self._m.d.comb += [
            event.word.error.eq(1),
            event.word.code_point.eq(REPLACEMENT_CHARACTER),
            event.word.kind.eq(kind),
            event.length.eq(place.count),
            *(unit.eq(kept) for unit, kept in zip(event.units, place.units, strict=False)),
        ]

    def _unit(self, before: _Place, unit: Value, keep: Value, *, broken: bool = True, own: bool = True) -> _Place:
        """The place after a unit; without the events `broken` and `own` if they are not needed."""
        m, dfa = self._m, self._dfa
        classes = [Signal() for _ in dfa.classes]
        for there, unit_class in zip(classes, dfa.classes, strict=True):
            m.d.comb += there.eq(_any(_inside(unit, r.first, r.last) for r in unit_class.ranges))

        # Continue what is open; else it is broken, and the unit is looked at from the start. Each value has a name
        # of its own, since Amaranth would write it out again wherever it is used.
        at = {number: self._name(before.state == number) for number in self._states if number != START}
        fits, follows = self._step(at, classes)
        is_open = self._name(before.state != START)
        continued = self._name(is_open & fits)
        if broken:
            self._error(before, self._broken(before.state, unit), keep & is_open & ~continued)

        starts, opened = self._step({START: Const(1)}, classes)
        lead = self._name(Mux(continued, before.count, 0))
        after = _Place(
            Signal(self._states),
            Signal(range(self._table.longest + 1)),
            [self._name(Mux(keep & (lead == n), unit, kept)) for n, kept in enumerate(before.units)],
        )
        ok, target = self._name(continued | starts), self._name(Mux(continued, follows, opened))
        m.d.comb += [after.state.eq(before.state), after.count.eq(before.count)]
        with m.If(keep):
            m.d.comb += [after.state.eq(Mux(ok, target, START)), after.count.eq(lead + 1)]
        with m.If(after.state == START):
            m.d.comb += after.count.eq(0)
        if own:
            self._own(before, unit, lead, ok, keep & (~ok | (target == START)))
        return after

    def _own(self, before: _Place, unit: Value, lead: Value, ok: Value, valid: Value) -> None:
        """The event of a unit that completes a sequence, or that is in no sequence."""
        m = self._m
        whole = Signal(code_point_bits(self._table))
        for row in self._table.rows:
            sequence = [*before.units[: len(row.units) - 1], unit]
            inside = [_inside(u, r.first, r.last) for u, r in zip(sequence, row.units, strict=True)]
            with m.If((lead == len(row.units) - 1) & _all(inside)):
                m.d.comb += whole.eq(_code_point(row.code_points.first, row.units, sequence))
        own = self._event(valid)
        m.d.comb += [
            own.word.error.eq(~ok),
            own.word.code_point.eq(Mux(ok, whole, REPLACEMENT_CHARACTER)),
            own.word.kind.eq(Mux(ok, 0, _looked_up(self._causes.stray, unit))),
            own.length.eq(lead + 1),
            *(known.eq(kept) for known, kept in zip(own.units, before.units, strict=False)),
        ]
        for place, known in enumerate(own.units):
            with m.If(lead == place):
                m.d.comb += known.eq(unit)

    def _broken(self, state: Value, unit: Value) -> Value:
        kind = Signal(max(ErrorKind).bit_length())
        with self._m.Switch(state):
            for number, kinds in sorted(self._causes.broken.items()):
                with self._m.Case(number):
                    self._m.d.comb += kind.eq(_looked_up(kinds, unit))
        return kind

    def _step(self, at: Mapping[int, Value], classes: Sequence[Value]) -> tuple[Value, Value]:
        """Whether there is a transition from one of the states in `at` for a unit of these classes, and its target."""
        leading: dict[int, list[Value]] = {}
        for number, here in at.items():
            transitions = self._dfa.states[number].transitions
            for to in sorted(set(transitions) - {REJECT}):
                chosen = [there for there, leads in zip(classes, transitions, strict=True) if leads == to]
                leading.setdefault(to, []).append(here & _any(chosen))
        taken = {to: self._name(_any(ways)) for to, ways in leading.items()}
        bits = range(max(self._states).bit_length())
        return _any(taken.values()), Cat(_any(way for to, way in taken.items() if to >> bit & 1) for bit in bits)

    def _name(self, value: Value) -> Signal:
        """A signal with this value."""
        signal = Signal.like(value)
        self._m.d.comb += signal.eq(value)
        return signal


class Reference(_Machine):
    """The DFA with the units of its open sequence, stepped beat by beat.

    Args:
        units: per lane the unit of the beat at the input, and whether it is present; contiguous from the first lane.
        last: the text ends after the beat.
        accepted: the beat is accepted in this cycle.

    Attributes:
        events: in order, the events of the beat at the input if it is accepted; those that occur are `valid`.
        state: the number of the DFA's state before the beat.
        count, open_units: of the open sequence before the beat, the number of its units, and these.
        state_after: the number of its state after the units of the beat, even if the text ends with it.
    """

    def __init__(
        self, m: Module, table: EncodingTable, units: Sequence[tuple[Value, Value]], last: Value, accepted: Value
    ) -> None:
        super().__init__(m, table)
        self.table, self.state = table, Signal(self._states, name="ref_state")
        self.count = Signal(range(table.longest + 1), name="ref_count")
        self.open_units = [Signal(table.unit_width, name=f"ref_unit{n}") for n in range(table.longest - 1)]

        place: _Place = _Place(self.state, self.count, self.open_units)
        for number, (unit, keep) in enumerate(units):
            place = self._unit(place, unit, keep)
            broken, own = self.events[-2:]
            broken.stop, own.stop = Const(number), Const(number + 1)
        self.state_after = place.state
        self._error(place, ErrorKind.INCOMPLETE, last & (place.state != START))
        self.events[-1].stop = how_many(keep for _, keep in units)
        end = self._event(last)
        m.d.comb += end.word.end.eq(1)
        with m.If(accepted):
            m.d.sync += [
                self.state.eq(Mux(last, START, place.state)),
                self.count.eq(Mux(last, 0, place.count)),
                *(kept.eq(unit) for kept, unit in zip(self.open_units, place.units, strict=True)),
            ]


def how_many(bits: Iterable[Value]) -> Value:
    """The number of bits that are set, in as many bits as it needs."""
    total: Value = Const(0, 1)
    for bit in bits:
        total = total + bit
    return total


class Slot(_Machine):
    """The expected item in the lane of one unit, as a function of the units around it.

    In a self-synchronising table the state after `longest` - 1 units of one text, and the units of the sequence
    that is open then, do not depend on the state before these units. So no earlier units are needed.

    Args:
        before: the units before, the oldest first, and whether each is in this text; at least `longest` - 1.
        unit: the unit of the lane, and whether there is one.
        after: the next unit, and whether there is one in this text; the text ends if there is none.

    Attributes:
        valid: there is an item.
        word: the item, of `event_layout`.
        open: the unit is in a sequence that needs more units.
        count: the units of that sequence up to this one.
    """

    def __init__(
        self,
        m: Module,
        table: EncodingTable,
        before: Sequence[tuple[Value, Value]],
        unit: tuple[Value, Value],
        after: tuple[Value, Value],
    ) -> None:
        super().__init__(m, table)
        place = _Place(Const(START, self._states), Const(0), [Const(0, table.unit_width)] * (table.longest - 1))
        for each in before:
            place = self._unit(place, *each, broken=False, own=False)
        place = self._unit(place, *unit, broken=False)
        own = self.events[-1]
        self.open, self.count = Signal(), place.count
        m.d.comb += self.open.eq(unit[1] & (place.state != START))
        self._unit(place, *after, own=False)
        broken = self.events[-1]
        self._error(place, ErrorKind.INCOMPLETE, self.open & ~after[1])
        incomplete = self.events[-1]
        self.valid, self.word = Signal(), Signal(event_layout(table))
        for event in (own, broken, incomplete):
            with m.If(unit[1] & event.valid):
                m.d.comb += [self.valid.eq(1), self.word.eq(event.word)]


class _Place:
    """A state of the DFA, and the units of the open sequence."""

    def __init__(self, state: Value, count: Value, units: Sequence[Value]) -> None:
        self.state, self.count, self.units = state, count, units


@dataclass(frozen=True)
class Causes:
    """The causes of errors, as functions of the state and the next unit; 0 where there is no error.

    Attributes:
        stray: per unit its cause if no sequence is open.
        broken: per open state and unit the cause of the open sequence if the unit breaks it.
    """

    stray: list[int]
    broken: dict[int, list[int]]


@lru_cache(maxsize=32)
def causes(table: EncodingTable) -> Causes:
    """The causes of a table.

    Raises:
        TableError: a cause depends on more than the state and the unit after it.
    """
    dfa = DFA.of(table)
    alphabet = range(1 << table.unit_width)
    broken: dict[int, list[int]] = {}
    for subpart, state in representatives(table):
        kinds = [int(cause(table, subpart, unit)) if dfa.step(state, unit) == REJECT else 0 for unit in alphabet]
        if broken.setdefault(state, kinds) != kinds:
            raise TableError(f"{table.name}: a cause depends on more than the state {dfa.states[state].name!r}")
    stray = [int(cause(table, [unit], None)) if dfa.step(START, unit) == REJECT else 0 for unit in alphabet]
    return Causes(stray, broken)


def _looked_up(values: Sequence[int], unit: Value) -> Value:
    """The value for a unit, of a list by unit, by comparisons with the bounds of its runs of equal values."""
    found: Value = Const(0, max(ErrorKind).bit_length())
    for wanted, group in groupby(range(len(values)), key=values.__getitem__):
        run = list(group)
        found = Mux(_inside(unit, run[0], run[-1]), wanted, found)
    return found


def _inside(unit: Value, first: int, last: int) -> Value:
    return (unit >= first) & (unit <= last)


def _any(conditions: Iterable[Value]) -> Value:
    return Cat(Const(0, 1), *conditions).any()


def _all(conditions: Sequence[Value]) -> Value:
    return Cat(*conditions).all()


def _code_point(first: int, ranges: Sequence[Range], units: Sequence[Value]) -> Value:
    """The code point by the row's mixed-radix index, as in `Row.code_point`, with all constants combined."""
    total: Value = Const(0)
    radix = 1
    for allowed, unit in zip(reversed(ranges), reversed(units), strict=True):
        # A unit with one possible value does not change the index.
        if len(allowed) > 1:
            total = total + unit * radix
            first -= allowed.first * radix
            radix *= len(allowed)
    return total + first
