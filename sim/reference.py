# SPDX-License-Identifier: BSD-2-Clause
"""The reference, to which cores are compared in simulations and proofs: a table's DFA and rows, as gates.

It shares only the rows with the circuits: states, transitions and causes are those of the model, a code point is the
row's first one plus the mixed-radix index of its units, and an encoder's units are the digits of that index. It is
written for the reader; its size and speed do not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from operator import add
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.hdl.payloads import code_point_bits
from utf8fpga.model import DFA, REJECT, REPLACEMENT_CHARACTER, START, EncodingTable, ErrorKind, Row, TableError, cause
from utf8fpga.model.errors import representatives, unit_pieces
from utf8fpga.model.ranges import Range, joined

_KIND = range(max(ErrorKind) + 1)


class Step(NamedTuple):
    """What a unit does in a state of the DFA.

    Attributes:
        state: the state after it.
        broken: the cause of the open sequence if the unit breaks it; otherwise 0.
        stray: the cause of the unit if it is in no sequence; otherwise 0.
    """

    state: int
    broken: int
    stray: int

    @staticmethod
    def of(table: EncodingTable, subpart: Sequence[int], state: int, unit: int) -> Step:
        """What a unit does after an open sequence."""
        dfa = DFA.of(table)
        if (after := dfa.step(state, unit)) != REJECT:
            return Step(after, 0, 0)
        broken = cause(table, subpart, unit) if subpart else 0
        if (after := dfa.step(START, unit)) != REJECT:
            return Step(after, broken, 0)
        return Step(START, broken, cause(table, [unit], None))


@lru_cache(maxsize=32)
def steps_of(table: EncodingTable) -> dict[tuple[Step, ...], list[Range]]:
    """The units, by what they do in each state.

    Raises:
        TableError: a cause depends on more than the state and the unit after it.
    """
    found: dict[tuple[Step, ...], list[Range]] = {}
    for piece in unit_pieces(table):
        steps: dict[int, Step] = {}
        for subpart, state in [((), START), *representatives(table)]:
            step = Step.of(table, subpart, state, piece.first)
            if steps.setdefault(state, step) != step:
                name = DFA.of(table).states[state].name
                raise TableError(f"{table.name}: a cause depends on more than the state {name!r}")
        found.setdefault(tuple(steps[state] for state in sorted(steps)), []).append(piece)
    return {steps: joined(pieces) for steps, pieces in found.items()}


class Item:
    """An item, if it is `valid`.

    Attributes:
        word: its `error`, `code_point` and `kind`.
        length: the number of its units.
        units: these, in order; the others are undefined.
        stop: the number of units of the beat up to its end.
    """

    def __init__(self, table: EncodingTable) -> None:
        self.valid, self.word = Signal(), Signal(item_layout(table))
        self.length = Signal(range(table.longest + 1))
        self.units = [Signal(table.unit_width) for _ in range(table.longest)]
        self.stop: Value = Const(0)


def item_layout(table: EncodingTable) -> data.StructLayout:
    """The layout of `Item.word`."""
    return data.StructLayout({"error": 1, "code_point": code_point_bits(table), "kind": _KIND})


class Place(NamedTuple):
    """A state of the DFA, and the number of units of the open sequence, and these."""

    state: Value
    count: Value
    units: Sequence[Value]


class Walk:
    """The DFA's steps as gates."""

    def __init__(self, m: Module, table: EncodingTable) -> None:
        self.m, self.table = m, table
        self.states = range(len(DFA.of(table).states))

    def error(self, place: Place, kind: Value | int, valid: Value) -> Item:
        """The open sequence as an ill-formed item."""
        item = Item(self.table)
        self.m.d.comb += [
            item.valid.eq(valid),
            item.word.eq(item.word.shape().const({"error": 1, "code_point": REPLACEMENT_CHARACTER})),
            item.word.kind.eq(kind),
            item.length.eq(place.count),
            *(unit.eq(kept) for unit, kept in zip(item.units, place.units, strict=False)),
        ]
        return item

    def unit(self, before: Place, unit: Value, keep: Value) -> tuple[Place, Item, Item]:
        """The place after a unit; the item that it breaks; and the one that it completes, or is by itself."""
        m, table = self.m, self.table
        state, broken, stray = Signal(self.states), Signal(_KIND), Signal(_KIND)
        for steps, ranges in steps_of(table).items():
            with m.If(any_of(is_inside(unit, each) for each in ranges)), m.Switch(before.state):
                for number, step in enumerate(steps):
                    with m.Case(number):
                        m.d.comb += [state.eq(step.state), broken.eq(step.broken), stray.eq(step.stray)]
        continues, lead = (before.state != START) & ~broken.any(), Signal(range(table.longest))
        after = Place(Signal(self.states), Signal(range(table.longest)), [Signal.like(kept) for kept in before.units])
        m.d.comb += [
            lead.eq(Mux(continues, before.count, 0)),
            after.state.eq(Mux(keep, state, before.state)),
            after.count.eq(Mux(keep, Mux(state == START, 0, lead + 1), before.count)),
        ]
        own = Item(table)
        m.d.comb += [
            own.valid.eq(keep & (state == START)),
            own.word.error.eq(stray.any()),
            own.word.code_point.eq(REPLACEMENT_CHARACTER),
            own.word.kind.eq(stray),
            own.length.eq(lead + 1),
        ]
        units = [*before.units, unit]
        for place, known in enumerate(own.units):
            m.d.comb += known.eq(Mux(lead == place, unit, units[place]))
            if place < len(after.units):
                m.d.comb += after.units[place].eq(Mux(keep, known, units[place]))
        for row in table.rows:
            inside = [is_inside(*each) for each in zip(own.units, row.units, strict=False)]
            with m.If((lead == len(row.units) - 1) & ~stray.any() & Cat(inside).all()):
                m.d.comb += own.word.code_point.eq(_code_point(row, own.units))
        return after, self.error(before, broken, keep & broken.any()), own


class Reference:
    """The DFA with the units of its open sequence, stepped beat by beat.

    Args:
        units: per lane the unit of the beat at the input, and whether it is present; contiguous from the first lane.
        last: the text ends after the beat.
        accepted: the beat is accepted in this cycle.

    Attributes:
        items: in order, the items of the beat at the input if it is accepted; those that occur are `valid`.
    """

    def __init__(
        self, m: Module, table: EncodingTable, units: Sequence[tuple[Value, Value]], last: Value, accepted: Value
    ) -> None:
        walk, bytes_open = Walk(m, table), range(table.longest - 1)
        start = Place(
            Signal(walk.states, name="ref_state"),
            Signal(range(table.longest), name="ref_count"),
            [Signal(table.unit_width, name=f"ref_unit{n}") for n in bytes_open],
        )
        place, self.items = start, list[Item]()
        for number, (unit, keep) in enumerate(units):
            place, broken, own = walk.unit(place, unit, keep)
            broken.stop, own.stop = Const(number), Const(number + 1)
            self.items += [broken, own]
        incomplete = walk.error(place, ErrorKind.INCOMPLETE, last & (place.state != START))
        incomplete.stop = how_many(keep for _, keep in units)
        self.items.append(incomplete)
        with m.If(accepted):
            m.d.sync += [
                start.state.eq(Mux(last, START, place.state)),
                start.count.eq(Mux(last, 0, place.count)),
                *(kept.eq(unit) for kept, unit in zip(start.units, place.units, strict=True)),
            ]


class Encoded:
    """The units of a code point, by the rows of a table; those of U+FFFD if it is in no row.

    Attributes:
        units: in their order.
        number: how many of them there are.
        known: the code point is in a row.
    """

    def __init__(self, m: Module, table: EncodingTable, code_point: Value) -> None:
        self.known, point = Signal(), Signal(len(code_point))
        self.units, self.number = (
            [Signal(table.unit_width) for _ in range(table.longest)],
            Signal(range(table.longest + 1)),
        )
        m.d.comb += self.known.eq(any_of(is_inside(code_point, row.code_points) for row in table.rows))
        m.d.comb += point.eq(Mux(self.known, code_point, REPLACEMENT_CHARACTER))
        for row in table.rows:
            with m.If(is_inside(point, row.code_points)):
                m.d.comb += self.number.eq(len(row.units))
                m.d.comb += [unit.eq(digit) for unit, digit in zip(self.units, _digits(row, point), strict=False)]


def _code_point(row: Row, units: Sequence[Value]) -> Value:
    """The code point by the row's mixed-radix index, as in `Row.code_point`, with all constants combined."""
    total: Value = Const(0)
    first, radix = row.code_points.first, 1
    for allowed, unit in reversed(list(zip(row.units, units, strict=False))):
        # A unit with one possible value does not change the index.
        if len(allowed) > 1:
            total = total + unit * radix
            first -= allowed.first * radix
            radix *= len(allowed)
    return total + first


def _digits(row: Row, point: Value) -> list[Value]:
    """The units of a code point of a row."""
    index: Value = (point - row.code_points.first)[: len(point)]
    units: list[Value] = []
    for place, allowed in reversed(list(enumerate(row.units))):
        size, bits = len(allowed), (len(allowed) - 1).bit_length()
        # Yosys does not simplify divisions.
        if size == 1 << bits:
            digit, index = index[:bits], index[bits:]
        elif any(len(earlier) > 1 for earlier in row.units[:place]):
            digit, index = index % size, index // size
        else:
            digit, index = index, index[:0]
        units.insert(0, allowed.first + digit)
    return units


def how_many(bits: Iterable[Value]) -> Value:
    """The number of bits that are set, in as many bits as it needs."""
    return reduce(add, bits, Const(0, 1))


def any_of(conditions: Iterable[Value]) -> Value:
    """Whether one of the conditions is 1."""
    return Cat(Const(0, 1), *conditions).any()


def is_inside(value: Value, allowed: Range) -> Value:
    """Whether a value is in a range."""
    return (value >= allowed.first) & (value <= allowed.last)
