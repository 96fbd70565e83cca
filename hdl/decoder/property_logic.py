# SPDX-License-Identifier: BSD-2-Clause
"""The logic of property flags: sums of products over the units of a sequence, derived from the rows of a table.

Each unit is divided into digits of four bits. A product is a condition on some digits of the last units: a set of
values for each digit, which is a look-up table. Whether a unit completes a sequence is known from elsewhere, so a
product only has to distinguish the sequences of the table from each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import product
from operator import and_, or_
from typing import TypeVar

from amaranth.hdl import Const, Value

from utf8fpga.hdl.cover import Box, Term, cover
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.minimise import Function, minimise
from utf8fpga.model import EncodingTable, ErrorKind, Range, Row, TableError
from utf8fpga.model.properties import CharacterProperty, code_points_of
from utf8fpga.model.table import outside, runs

_DIGIT = 4
_ALL = (1 << (1 << _DIGIT)) - 1
_TOGETHER = 4
"""Products in a partial sum, as many as a look-up table has inputs."""


@dataclass(frozen=True)
class Digit:
    """A condition on a digit of a unit.

    Attributes:
        function: the condition, a function of the bits of the digit.
    """

    low: int
    function: Function

    def __call__(self, unit: Value) -> Value:
        """Whether it holds for a unit."""
        return self.function(unit[self.low : self.low + _DIGIT])

    def compute(self, unit: int) -> int:
        """The same in software."""
        return self.function.compute(unit >> self.low & (1 << _DIGIT) - 1)


_T = TypeVar("_T")

_Condition = frozenset[int]
"""A condition on a unit: the numbers of the digits' conditions, all of which must hold."""


@dataclass(frozen=True)
class PropertyLogic:
    """The products of the properties of a table.

    Attributes:
        units: the conditions on units, each as the numbers of conditions on digits.
        products: each as pairs: the number of units between a unit and the last one, and the number of a condition on
            it.
        sums: for each property the numbers of the products. One of them is 1 if a unit completes a sequence whose code
            point has the property, none if it completes another one.
        breaks: the numbers of the products of `CharacterProperty.SURROGATE` for ill-formed items. One of them is 1 if
            the unit before the last one begins an encoded surrogate that the last one breaks.
    """

    digits: tuple[Digit, ...]
    units: tuple[tuple[int, ...], ...]
    products: tuple[tuple[tuple[int, int], ...], ...]
    sums: Mapping[CharacterProperty, tuple[int, ...]]
    breaks: tuple[int, ...]

    @staticmethod
    @lru_cache(maxsize=32)
    def of(table: EncodingTable, properties: tuple[CharacterProperty, ...]) -> PropertyLogic:
        """The products for some properties.

        Args:
            table: the encoding form, for which there must be a serial decoder.
        """
        space = _Space(table)
        numbers = _Numbers()

        def numbered(terms: Iterable[Term]) -> tuple[int, ...]:
            return tuple(_number(space, term, numbers) for term in terms)

        sums = {each: numbered(space.cover_of(code_points_of(each))) for each in properties}
        breaks = numbered(space.breaks()) if CharacterProperty.SURROGATE in properties else ()
        units = tuple(tuple(sorted(unit)) for unit in numbers.units)
        return PropertyLogic(tuple(numbers.digits), units, tuple(numbers.products), sums, breaks)

    @property
    def history(self) -> tuple[int, ...]:
        """For each condition on a unit, the upper bound on the units after it in a product."""
        used = dict.fromkeys(range(len(self.units)), 0)
        for each in self.products:
            for back, number in each:
                used[number] = max(used[number], back)
        return tuple(used.values())

    def unit(self, number: int, digits: Callable[[int], Value]) -> Value:
        """A condition on a unit, from the values of the conditions on its digits."""
        return all_of(map(digits, self.units[number]))

    def product(self, number: int, units: Callable[[int, int], Value]) -> Value:
        """A product, from the values of the conditions on units, by the number of units after them."""
        return all_of(units(back, condition) for back, condition in self.products[number])

    def compute(self, numbers: Iterable[int], units: Sequence[int]) -> bool:
        """Whether one of some products is 1, in software.

        Args:
            units: the last units, the oldest first; as many as the longest sequence has.
        """

        def holds(back: int, condition: int) -> bool:
            return all(self.digits[digit].compute(units[-1 - back]) for digit in self.units[condition])

        return any(all(holds(*each) for each in self.products[number]) for number in numbers)


def grouped(products: Sequence[_T]) -> list[Sequence[_T]]:
    """The products of a sum in groups, each of which is a partial sum."""
    return [products[at : at + _TOGETHER] for at in range(0, len(products), _TOGETHER)]


def all_of(values: Iterable[Value]) -> Value:
    """The AND of one-bit values; 1 of none."""
    return reduce(and_, values, Const(1, 1))


class _Numbers:
    """The distinct conditions and products, each with its number in the order in which they were made."""

    def __init__(self) -> None:
        self.digits: dict[Digit, int] = {}
        self.units: dict[_Condition, int] = {}
        self.products: dict[tuple[tuple[int, int], ...], int] = {}


def _numbered(values: dict[_T, int], value: _T) -> int:
    """The number of a value, which is added if it is new."""
    return values.setdefault(value, len(values))


def _number(space: _Space, term: Term, numbers: _Numbers) -> int:
    """The number of the product that a term describes."""
    parts: list[tuple[int, int]] = []
    for back in range(space.longest):
        conditions: set[int] = set()
        for at, low in enumerate(space.lows):
            least, most = (box[back * len(space.lows) + at] for box in (term.least, term.most))
            if most != space.digits[at]:
                digit = _digit(low, _values(least), _values(space.digits[at] & ~most), numbers.digits)
                conditions.add(_numbered(numbers.digits, digit))
        if conditions:
            parts.append((back, _numbered(numbers.units, _Condition(conditions))))
    return _numbered(numbers.products, tuple(parts))


def _digit(low: int, on: Sequence[int], off: Sequence[int], known: Iterable[Digit]) -> Digit:
    """A condition that holds for some values of a digit and not for others: one that is known, if possible."""
    for digit in known:
        if digit.low == low:
            holds = digit.function.compute
            if all(map(holds, on)) and not any(map(holds, off)):
                return digit
    return Digit(low, minimise(on, off, _DIGIT))


def _values(mask: int) -> list[int]:
    return [value for value in range(1 << _DIGIT) if mask >> value & 1]


class _Space:
    """The units around the end of a sequence as boxes: the digits of the last unit first, then those before it."""

    def __init__(self, table: EncodingTable) -> None:
        self._table = table
        self.longest = table.longest
        self.lows = range(0, table.unit_width, _DIGIT)
        self.digits = [(1 << (1 << min(_DIGIT, table.unit_width - low))) - 1 for low in self.lows]
        self._full: Box = tuple(self.digits) * self.longest

    def cover_of(self, points: Sequence[Range]) -> tuple[Term, ...]:
        """The products for the sequences of some code points, among all sequences."""
        return cover(self._sequences(points), self._sequences(outside(points, self._table.last_code_point)), self._full)

    def breaks(self) -> tuple[Term, ...]:
        """The products for two units of which the first one begins an encoded surrogate that the second one breaks."""
        table = self._table
        serial = SerialControl.of(table)
        broken: dict[int, set[int]] = {}
        for (state, unit), kind in serial.causes.items():
            if kind is ErrorKind.SURROGATE:
                broken.setdefault(state, set()).add(unit)
        if later := [state for state in broken if state in serial.later_states]:
            shown = serial.dfa.states[later[0]].name
            raise TableError(f"{table.name}: an encoded surrogate is broken in state {shown!r}: leave out surrogate")
        on: list[Box] = []
        off: list[Box] = []
        for state, ending in broken.items():
            first = {unit for unit, opened in serial.leads.items() if opened == state}
            on += self._pairs(first, ending)
            off += self._pairs(first, serial.units - ending)
        others = {unit for unit in serial.units if serial.leads.get(unit) not in broken}
        off += self._pairs(others, serial.units)
        return cover(on, off, self._full)

    def _pairs(self, first: Iterable[int], second: Iterable[int]) -> Iterator[Box]:
        rest = self._full[2 * len(self.lows) :]
        one, two = ([box for each in runs(units) for box in _boxes(each, self._width)] for units in (first, second))
        for lead, breaking in product(one, two):
            yield (*breaking, *lead, *rest)

    @property
    def _width(self) -> int:
        return self._table.unit_width

    def _sequences(self, points: Sequence[Range]) -> Iterator[Box]:
        """The sequences of some code points; the units before a sequence are arbitrary."""
        for row in self._table.rows:
            for each in points:
                first, last = max(each.first, row.code_points.first), min(each.last, row.code_points.last)
                if first <= last:
                    for part in row.within(first, last):
                        yield from self._row(part)

    def _row(self, row: Row) -> Iterator[Box]:
        before = self._full[len(row.units) * len(self.lows) :]
        for boxes in product(*(_boxes(each, self._width) for each in reversed(row.units))):
            yield (*(mask for box in boxes for mask in box), *before)


def _boxes(units: Range, width: int) -> list[Box]:
    """A range of units as boxes of digits, the lowest digit first."""
    if width <= _DIGIT:
        return [(reduce(or_, (1 << unit for unit in units)),)]
    size = _DIGIT * ((width - 1) // _DIGIT)
    rest = (1 << size) - 1
    low, high = units.first >> size, units.last >> size
    parts: list[Box] = []
    whole = 0
    for top in range(low, high + 1):
        first = units.first & rest if top == low else 0
        last = units.last & rest if top == high else rest
        if (first, last) == (0, rest):
            whole |= 1 << top
        else:
            parts += [(*box, 1 << top) for box in _boxes(Range(first, last), size)]
    if whole:
        parts.append((*(_ALL,) * (size // _DIGIT), whole))
    return parts
