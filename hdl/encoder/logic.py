# SPDX-License-Identifier: BSD-2-Clause
"""The logic functions of an encoder, derived from the rows of its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, reduce
from math import inf
from operator import and_, or_

from amaranth.hdl import Cat, Const, Mux, Value

from utf8fpga.hdl.minimise import Function, minimised
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable, InvalidArgumentError, Range
from utf8fpga.model.ranges import joined, outside
from utf8fpga.model.render import counted

WORD_BITS = 32
"""The bits of a word."""

_LAST_WORD = (1 << WORD_BITS) - 1

REPLACED = 0
"""The class of a code point that has no sequence: it is encoded as U+FFFD."""


def class_name(units: int) -> tuple[str, str]:
    """The name of the signal of a class, and a comment."""
    if units == REPLACED:
        return "is_replaced", "U+FFFD is in the place of the code point."
    return f"has_{units}_units", f"The code point has {counted(units, 'unit')}."


@dataclass(frozen=True)
class UnitSlot:
    """One code unit of an encoded code point.

    Attributes:
        bits: the bits of the code unit, bit 0 first, undefined where it is not present; constants are `Const`.
    """

    keep: Value
    bits: list[Value]

    @property
    def unit(self) -> Value:
        """The code unit."""
        return Cat(self.bits)


@dataclass(frozen=True)
class EncoderLogic:
    """The functions from a code point to its code units.

    The *class* of a code point is the number of its code units, or `REPLACED` if no row has it. Within a
    class the units are the fixed and the payload bits of its `BitPattern` (Tables 3-5 and 3-6), which is derived from
    the rows.

    Args:
        table: the encoding form.
        given: the code points that occur, ascending.
        marks: the code point of an ill-formed item is undefined; otherwise it is U+FFFD.

    Raises:
        InvalidArgumentError: the table has no U+FFFD, but must replace a code point.
        TableError: the rows of one length have no bit distribution in common.
    """

    table: EncodingTable
    given: tuple[Range, ...]
    marks: bool = False

    @staticmethod
    @lru_cache(maxsize=32)
    def behind(source: EncodingTable, table: EncodingTable, *, marks: bool = False) -> EncoderLogic:
        """The functions for a table behind a decoder.

        Args:
            source: the form that is decoded: its code points occur, and U+FFFD.
        """
        points = [*(row.code_points for row in source.rows), Range(REPLACEMENT_CHARACTER, REPLACEMENT_CHARACTER)]
        return EncoderLogic(table, tuple(joined(points)), marks)

    @staticmethod
    @lru_cache(maxsize=32)
    def of_bits(table: EncodingTable, bits: int) -> EncoderLogic:
        """The functions for a table where all numbers of some bits occur."""
        return EncoderLogic(table, (Range(0, (1 << bits) - 1),))

    def __post_init__(self) -> None:
        assert self.table.patterns
        if self.replaces:
            try:
                self.table.encode(REPLACEMENT_CHARACTER)
            except ValueError:
                raise InvalidArgumentError(
                    f"{self.table.name} has no U+FFFD for code points without a sequence"
                ) from None

    @property
    def longest(self) -> int:
        """Units of the longest sequence that occurs."""
        return max(map(self.units_of, self.names))

    @cached_property
    def replacement(self) -> tuple[int, ...]:
        """The code units of U+FFFD."""
        return self.table.encode(REPLACEMENT_CHARACTER)

    def units_of(self, length: int) -> int:
        """The units of a code point of a class."""
        return len(self.replacement) if length == REPLACED else length

    @cached_property
    def ranges(self) -> Mapping[int, tuple[Range, ...]]:
        """Per class the code points that occur."""
        found = {}
        for length in self.table.patterns:
            rows = [row.code_points for row in self.table.rows if len(row.units) == length]
            if common := _intersection(self.given, rows):
                found[length] = common
        known = [row.code_points for row in self.table.rows]
        if rest := _intersection(self.given, outside(known, _LAST_WORD)):
            found[REPLACED] = rest
        return found

    @property
    def replaces(self) -> bool:
        """Whether there is a class `REPLACED`."""
        return self.marks or REPLACED in self.ranges

    @property
    def names(self) -> tuple[int, ...]:
        """The classes."""
        return (*(length for length in self.ranges if length != REPLACED), *([REPLACED] if self.replaces else []))

    def classes(self, code_point: Value, error: Value) -> dict[int, Value]:
        """Per class whether an item belongs to it; exactly one is set for code points that occur.

        Args:
            error: the item is ill-formed; with `marks` it belongs to `REPLACED`.
        """
        found = self._classes(code_point)
        if self.marks:
            of_code_point = found.pop(REPLACED, Const(0, 1))
            found = {each: value & ~error for each, value in found.items()}
            found[REPLACED] = error | of_code_point
        return found

    def _classes(self, code_point: Value) -> dict[int, Value]:
        regions: list[tuple[int, int]] = []
        """The first code point and the class of each region; those between two regions do not occur."""
        for first, each in sorted((points.first, each) for each, ranges in self.ranges.items() for points in ranges):
            if not regions or regions[-1][1] != each:
                regions.append((first, each))
        found: dict[int, list[Value]] = {}
        bounds = [_at_least(code_point, first) for first, _ in regions[1:]]
        # Whether the code point is in the region before and, complemented, in an earlier one.
        for number, (_, each) in enumerate(regions):
            terms = [*bounds[number - 1 : number], *(~bound for bound in bounds[number : number + 1])]
            found.setdefault(each, []).append(reduce(and_, terms) if terms else Const(1, 1))
        return {each: _any(terms) for each, terms in found.items()}

    def slots(self, code_point: Value, classes: Mapping[int, Value]) -> list[UnitSlot]:
        """The code units of a code point, the last one first.

        Args:
            classes: those of the code point; see `classes`.
        """
        return [
            UnitSlot(
                _any(value for each, value in classes.items() if self.units_of(each) > place),
                [self._bit(code_point, classes, place, bit) for bit in range(self.table.unit_width)],
            )
            for place in range(self.longest)
        ]

    def _bit(self, code_point: Value, classes: Mapping[int, Value], place: int, bit: int) -> Value:
        """A bit of the unit at a place, counted as in `slots`; undefined for classes with fewer units."""
        sources: dict[tuple[str, int, int], list[int]] = {}
        for each in classes:
            if self.units_of(each) > place:
                sources.setdefault(self._source(each, place, bit), []).append(each)
        # The most frequent source is the one without a condition.
        *others, (default, _) = sorted(sources.items(), key=lambda entry: len(entry[1]))
        value = self._value(code_point, *default)
        for source, members in others:
            value = chosen(_any(classes[each] for each in members), self._value(code_point, *source), value)
        return value

    def _source(self, each: int, place: int, bit: int) -> tuple[str, int, int]:
        """Where a bit of the unit at a place, counted from the last one, comes from.

        It is a constant or a bit of the code point minus a base: the kind, the value or the number, and the base.
        """
        if each == REPLACED:
            return "constant", self.replacement[-1 - place] >> bit & 1, 0
        pattern = self.table.patterns[each]
        sizes = pattern.payload_bits
        at = len(sizes) - 1 - place
        if bit >= sizes[at]:
            return "constant", pattern.blocks[at].first >> bit & 1, 0
        number = sum(sizes[at + 1 :]) + bit
        # The base has no effect on the bits below its lowest one.
        return "payload", number, pattern.base if pattern.base & (2 << number) - 1 else 0

    def _value(self, code_point: Value, kind: str, number: int, base: int) -> Value:
        if kind == "constant":
            return Const(number, 1)
        if number >= len(code_point):
            return Const(0, 1)
        return self._function(number, base)(code_point)

    @cache  # noqa: B019 - as many entries as payload bits, and the tables are few
    def _function(self, number: int, base: int) -> Function:
        """A bit of the code point minus a base."""
        steady = (base & -base).bit_length() - 1 if base else inf
        if number < steady:
            return Function(((1 << number, 1 << number),))
        assert isinstance(steady, int)
        last = max(points.last for each, ranges in self.ranges.items() if each for points in ranges)
        start, end = base >> steady, last >> steady
        bits = {value: value - start >> number - steady & 1 for value in range(start, end + 1)}
        found = minimised(bits, end.bit_length())
        return Function(tuple((care << steady, value << steady) for care, value in found.cubes), found.inverted)


def chosen(which: Value, one: Value, other: Value) -> Value:
    """A bit if another one is set, otherwise a third one.

    With a constant it is no multiplexer: synthesis would make a reset of one in front of a register, and the net of a
    reset is long.
    """
    if isinstance(one, Const) and isinstance(other, Const):
        return one if one.value == other.value else which if one.value else ~which
    if isinstance(one, Const):
        return which | other if one.value else other & ~which
    if isinstance(other, Const):
        return one | ~which if other.value else one & which
    return Mux(which, one, other)


def _any(values: Iterable[Value]) -> Value:
    return reduce(or_, values)


def _at_least(number: Value, bound: int) -> Value:
    """Whether a number is a constant or greater, without a carry chain."""
    lowest = (bound & -bound).bit_length() - 1
    result = number[lowest]
    # As a chain, whose parts several bounds share.
    for bit in range(lowest + 1, len(number)):
        result = number[bit] & result if bound >> bit & 1 else number[bit] | result
    return result


def _intersection(some: Iterable[Range], others: Iterable[Range]) -> tuple[Range, ...]:
    wanted = joined(others)
    return tuple(
        Range(max(one.first, other.first), min(one.last, other.last))
        for one in joined(some)
        for other in wanted
        if one.overlaps(other)
    )
