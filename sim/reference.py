# SPDX-License-Identifier: BSD-2-Clause
"""The reference, to which cores are compared in simulations and proofs: a table's DFA and rows, as gates.

From the items of a beat, or its symbols, follows what each core is expected to output.

It shares only the rows with the circuits: states, transitions and causes are those of the model, a code point is the
row's first one plus the mixed-radix index of its units, and an encoder's units are the digits of that index. It is
written for the reader; its size and speed do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.hdl import CoreEntry
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.hdl.payloads import code_point_bits
from utf8fpga.model import DFA, REJECT, REPLACEMENT_CHARACTER, START, EncodingTable, ErrorKind, Row, TableError, cause
from utf8fpga.model.encodings import Encoding
from utf8fpga.model.errors import representatives, unit_pieces
from utf8fpga.model.ranges import Range, joined

_KIND = range(max(ErrorKind) + 1)


class Step(NamedTuple):
    """What a unit does in a state of the DFA.

    Attributes:
        state: the state after it; `START` if there is a cause.
        cause: the cause of the open sequence if the unit does not continue it, or, if none is open, that of the unit;
            otherwise 0.
    """

    state: int
    cause: int


@lru_cache(maxsize=32)
def steps_of(table: EncodingTable) -> dict[tuple[Step, ...], list[Range]]:
    """The units, by what they do in each state.

    Raises:
        TableError: a cause depends on more than the state and the unit after it.
    """
    dfa, found = DFA.of(table), dict[tuple[Step, ...], list[Range]]()
    for piece in unit_pieces(table):
        steps: dict[int, Step] = {}
        for subpart, state in [((), START), *representatives(table)]:
            step = Step(dfa.step(state, piece.first), 0)
            if step.state == REJECT:
                step = Step(START, cause(table, subpart or [piece.first], piece.first))
            if steps.setdefault(state, step) != step:
                raise TableError(f"{table.name}: a cause depends on more than the state {dfa.states[state].name!r}")
        found.setdefault(tuple(steps[state] for state in sorted(steps)), []).append(piece)
    return {steps: joined(pieces) for steps, pieces in found.items()}


@dataclass
class Item:
    """An item, if it is `valid`.

    Attributes:
        word: its `error`, `code_point` and `kind`.
        length: the number of its units.
        units: the last ones of these are its units, in order.
        stop: the number of units of the beat up to its end.
    """

    valid: Value
    word: Any
    length: Value
    units: Sequence[Value]
    stop: Value | int = 0


def item_layout(table: EncodingTable) -> data.StructLayout:
    """The layout of `Item.word`."""
    return data.StructLayout({"error": 1, "code_point": code_point_bits(table), "kind": _KIND})


class Place(NamedTuple):
    """A state of the DFA, the number of units of the open sequence, and the last units, of which these are the end."""

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
        word = Signal(item_layout(self.table))
        self.m.d.comb += [word.error.eq(1), word.code_point.eq(REPLACEMENT_CHARACTER), Value.cast(word.kind).eq(kind)]
        return Item(valid, word, place.count, [Const(0, self.table.unit_width), *place.units])

    def unit(self, before: Place, unit: Value, keep: Value) -> tuple[Place, Item, Item]:
        """The place after a unit; the item that it breaks; and the one that it completes, or is by itself.

        The last one needs `find_code_point`.
        """
        m, table = self.m, self.table
        state, lead = Signal(self.states), Signal(range(table.longest))
        continued, broken, begun, stray = Signal(self.states), Signal(_KIND), Signal(self.states), Signal(_KIND)
        for steps, ranges in steps_of(table).items():
            with m.If(any_of(is_inside(unit, each) for each in ranges)):
                m.d.comb += [begun.eq(steps[START].state), stray.eq(steps[START].cause)]
                with m.Switch(before.state):
                    for number, step in enumerate(steps):
                        with m.Case(number):
                            m.d.comb += [continued.eq(step.state), broken.eq(step.cause)]
        is_open = before.state != START
        continues = is_open & ~broken.any()
        m.d.comb += [state.eq(Mux(continues, continued, begun)), lead.eq(Mux(continues, before.count, 0))]
        units = [*before.units, unit]
        after = Place(Signal(self.states), Signal(range(table.longest)), [Signal.like(kept) for kept in before.units])
        m.d.comb += [
            after.state.eq(Mux(keep, state, before.state)),
            after.count.eq(Mux(keep, Mux(state == START, 0, lead + 1), before.count)),
            Cat(after.units).eq(Mux(keep, Cat(units[1:]), Cat(before.units))),
        ]
        word, is_stray = Signal(item_layout(table)), ~continues & stray.any()
        m.d.comb += [word.error.eq(is_stray), Value.cast(word.kind).eq(Mux(is_stray, stray, 0))]
        broken_item = self.error(before, broken, keep & is_open & broken.any())
        return after, broken_item, Item(keep & (state == START), word, lead + 1, units)

    def find_code_point(self, item: Item) -> None:
        """Find the code point of an item that a unit completes, or is by itself."""
        word = item.word
        self.m.d.comb += word.code_point.eq(REPLACEMENT_CHARACTER)
        for row in self.table.rows:
            own = item.units[-len(row.units) :]
            inside = [is_inside(*each) for each in zip(own, row.units, strict=True)]
            with self.m.If((item.length == len(row.units)) & ~word.error & Cat(inside).all()):
                self.m.d.comb += word.code_point.eq(_code_point(row, own))


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
        walk = Walk(m, table)
        start = Place(
            Signal(walk.states, name="ref_state"),
            Signal(range(table.longest), name="ref_count"),
            [Signal(table.unit_width, name=f"ref_unit{n}") for n in range(table.longest - 1)],
        )
        place, self.items = start, list[Item]()
        for number, (unit, keep) in enumerate(units):
            place, broken, own = walk.unit(place, unit, keep)
            walk.find_code_point(own)
            broken.stop, own.stop = number, number + 1
            self.items += [broken, own]
        incomplete = walk.error(place, ErrorKind.INCOMPLETE, last & (place.state != START))
        incomplete.stop = how_many(keep for _, keep in units)
        self.items.append(incomplete)
        with m.If(accepted):
            m.d.sync += [
                start.state.eq(Mux(last, START, place.state)),
                start.count.eq(Mux(last, 0, place.count)),
                Cat(start.units).eq(Cat(place.units)),
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
        self.units = [Signal(table.unit_width) for _ in range(table.longest)]
        self.number = Signal(range(table.longest + 1))
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
    for allowed, unit in reversed(list(zip(row.units, units, strict=True))):
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
    return sum(bits, Const(0, 1))


def any_of(conditions: Iterable[Value]) -> Value:
    """Whether one of the conditions is 1."""
    return Cat(Const(0, 1), *conditions).any()


def is_inside(value: Value, allowed: Range) -> Value:
    """Whether a value is in a range."""
    return (value >= allowed.first) & (value <= allowed.last)


class Expected(NamedTuple):
    """A symbol, or the end of a text if `symbol` is 0, that is expected if `valid` is 1."""

    valid: Value
    symbol: Value


class Accepted:
    """The beats at the input of a core, and what it is to output for them.

    Args:
        accepted: a beat is transferred in this cycle.
    """

    def __init__(self, m: Module, core: Any, entry: CoreEntry[Any], accepted: Value) -> None:
        self._m, self._accepted = m, accepted
        self._entry: Any = entry
        self._beat, self._shape = core.input.payload, symbol_shape(core.output)

    def symbols(self) -> list[Expected]:
        """The symbols for the beat at the input, in order, if it is accepted."""
        makers: dict[str, Callable[[], Iterator[Expected]]] = {
            "decoder": self._decoded,
            "encoder": self._encoded,
            "transcoder": self._transcoded,
            "sanitizer": self._sanitized,
            "validator": self._reported,
            "remover": self._kept,
        }
        return list(makers[self._entry.parameters.core]())

    def _symbol(self, **fields: Value | int) -> Value:
        """An output symbol; fields that it does not have are left out."""
        symbol: Any = Signal(self._shape)
        known = self._shape.members if isinstance(self._shape, data.StructLayout) else {}
        self._m.d.comb += [Value.cast(symbol[name]).eq(value) for name, value in fields.items() if name in known]
        return Value.cast(symbol)

    def _items(self, table: EncodingTable, encoding: Encoding | None = None) -> list[Item]:
        """The items of a table."""
        lanes = [(_swapped(encoding, unit), self._beat.keep[lane]) for lane, unit in enumerate(self._beat.symbols)]
        return Reference(self._m, table, lanes, self._beat.last, self._accepted).items

    def _decoded(self) -> Iterator[Expected]:
        for item in self._items(self._entry.input_table):
            word = item.word
            yield Expected(item.valid, self._symbol(code_point=word.code_point, error=word.error, kind=word.kind))

    def _encoded(self) -> Iterator[Expected]:
        for lane, word in enumerate(self._beat.symbols):
            yield from self._units(self._beat.keep[lane], word, Const(0, 1))

    def _transcoded(self) -> Iterator[Expected]:
        source = self._entry.source
        for item in self._items(source.table, source):
            yield from self._units(item.valid, item.word.code_point, item.word.error)

    def _units(self, valid: Value, code_point: Value, error: Value) -> Iterator[Expected]:
        encoded = Encoded(self._m, self._entry.target.table, code_point)
        for place, unit in enumerate(encoded.units):
            symbol = self._symbol(unit=_swapped(self._entry.target, unit), error=error | ~encoded.known)
            yield Expected(valid & (place < encoded.number), symbol)

    def _sanitized(self) -> Iterator[Expected]:
        replaces = self._entry.parameters.replace_with == "question-mark"
        for item in self._items(self._entry.input_table):
            error = item.word.error
            for place, unit in enumerate(item.units):
                symbol = self._symbol(unit=Mux(error & replaces, ord("?"), unit), error=error)
                yield Expected(item.valid & (len(item.units) - place <= item.length), symbol)

    def _reported(self) -> Iterator[Expected]:
        m, beat, items = self._m, self._beat, self._items(self._entry.input_table)
        before: Any = Signal(self._shape, init={"well_formed": 1})
        after: Any = Signal(self._shape)
        m.d.comb += [
            after.eq(before),
            after.units.eq(before.units + how_many(beat.keep)),
            after.code_points.eq(before.code_points + how_many(item.valid for item in items)),
            after.errors.eq(before.errors + how_many(item.valid & item.word.error for item in items)),
        ]
        for item in reversed(items):
            with m.If(before.well_formed & item.valid & item.word.error):
                start = before.units + item.stop - item.length
                m.d.comb += [after.well_formed.eq(0), after.offset.eq(start)]
                m.d.comb += Value.cast(after.kind).eq(item.word.kind)
        with m.If(self._accepted):
            m.d.sync += Value.cast(before).eq(Mux(beat.last, Value.cast(before).init, after))
        yield Expected(beat.last, Value.cast(after))

    def _kept(self) -> Iterator[Expected]:
        for lane, symbol in enumerate(self._beat.symbols):
            yield Expected(self._beat.keep[lane], Value.cast(symbol))


def _swapped(encoding: Encoding | None, unit: Any) -> Any:
    return Cat(unit[8:], unit[:8]) if encoding and encoding.is_swapped else unit
