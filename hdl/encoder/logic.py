# SPDX-License-Identifier: BSD-2-Clause
"""The logic functions of an encoder, derived from the rows of its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from utf8fpga.hdl.commented import named
from utf8fpga.hdl.minimise import Function, minimised
from utf8fpga.hdl.window import any_of
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable
from utf8fpga.model.encodings import Encoding
from utf8fpga.model.render import counted

WORD_BITS = 32
"""The bits of a word."""

REPLACED = 0
"""The class of a code point that has no sequence: it is encoded as U+FFFD."""


@dataclass(frozen=True)
class EncoderLogic:
    """The functions from a code point to its code units.

    The *class* of a code point is the number of its code units, or `REPLACED` if no row has it. Within a
    class the units are the fixed and the payload bits of its `BitPattern` (Tables 3-5 and 3-6), which is derived from
    the rows.

    Args:
        any_number: all numbers of `WORD_BITS` may occur; otherwise only code points of the table.
    """

    encoding: Encoding
    any_number: bool = False

    @property
    def table(self) -> EncodingTable:
        """The encoding form."""
        return self.encoding.table

    @cached_property
    def _regions(self) -> list[tuple[int, int]]:
        """The first code point and the class of each region; code points between two regions do not occur."""
        found: list[tuple[int, int]] = []
        after = 0
        for row in sorted(self.table.rows, key=lambda row: row.code_points.first):
            if self.any_number and row.code_points.first > after:
                found.append((after, REPLACED))
            if not found or found[-1][1] != len(row.units):
                found.append((row.code_points.first, len(row.units)))
            after = row.code_points.last + 1
        return [*found, (after, REPLACED)] if self.any_number else found

    def classes(self, m: Module, code_point: Value, error: Value | None = None) -> dict[int, Value]:
        """Per class whether a code point belongs to it; exactly one is set for code points that occur.

        Args:
            error: it belongs to `REPLACED` in any case.
        """
        firsts = [first for first, _ in self._regions[1:]]
        bounds = [named(m, f"is_at_least_{first:x}", code_point >= first) for first in firsts]
        terms: dict[int, list[Value]] = {}
        for number, (_, unit_class) in enumerate(self._regions):
            # It is in the region before the next bound, and not in an earlier one.
            within = [*bounds[max(number - 1, 0) : number], *(~bound for bound in bounds[number : number + 1])]
            terms.setdefault(unit_class, []).append(reduce(and_, within))
        found = {unit_class: any_of(regions) for unit_class, regions in terms.items()}
        if error is not None:
            replaced = error | found.pop(REPLACED) if self.any_number else error
            found = {unit_class: value & ~error for unit_class, value in found.items()} | {REPLACED: replaced}
        return {unit_class: _named_class(m, unit_class, value) for unit_class, value in found.items()}

    def units(self, code_point: Value, classes: Mapping[int, Value]) -> list[tuple[Value, list[Value]]]:
        """The code units of a code point, the last one first: whether it is there, and its bits, bit 0 first.

        The bytes are in the order of the encoding. Bits are undefined where the unit is not there; constants are
        `Const`.

        Args:
            classes: those of the code point; see `classes`.
        """
        found = []
        for from_end in range(self.table.longest):
            having = {n: value for n, value in classes.items() if (n or len(self._replacement)) > from_end}
            bits = [self._bit(code_point, having, from_end, bit) for bit in range(self.table.unit_width)]
            found.append((any_of(having.values()), bits[8:] + bits[:8] if self.encoding.is_swapped else bits))
        return found

    @property
    def _replacement(self) -> tuple[int, ...]:
        return self.table.encode(REPLACEMENT_CHARACTER)

    def _bit(self, code_point: Value, classes: Mapping[int, Value], from_end: int, bit: int) -> Value:
        """A bit of the unit at a place, counted as in `units`; `classes` are those that have it."""
        sources: dict[Function, list[Value]] = {}
        for unit_class, value in classes.items():
            sources.setdefault(self._source(unit_class, from_end, bit), []).append(value)
        # The most frequent source is the one without a condition.
        *others, (default, _) = sorted(sources.items(), key=lambda entry: len(entry[1]))
        result = default(code_point)
        for source, members in others:
            result = chosen(any_of(members), source(code_point), result)
        return result

    def _source(self, unit_class: int, from_end: int, bit: int) -> Function:
        """A bit of the unit at a place, counted from the last one, as a function of the code point."""
        if unit_class == REPLACED:
            return Function((), inverted=bool(self._replacement[-1 - from_end] >> bit & 1))
        pattern, from_start = self.table.patterns[unit_class], unit_class - 1 - from_end
        sizes = pattern.payload_bits
        if bit >= sizes[from_start]:
            return Function((), inverted=bool(pattern.blocks[from_start].first >> bit & 1))
        number = sum(sizes[from_start + 1 :]) + bit
        step = pattern.base & -pattern.base
        if 1 << number < step or not step:
            return Function(((1 << number, 1 << number),))
        # A base is subtracted, which has no effect on the bits below its lowest one.
        last = self.table.last_code_point
        values = {value: value - pattern.base >> number & 1 for value in range(pattern.base, last + 1, step)}
        return minimised(values, last.bit_length())


def _named_class(m: Module, units: int, value: Value) -> Signal:
    if units == REPLACED:
        return named(m, "is_replaced", value, "U+FFFD is in the place of the code point.")
    return named(m, f"has_{units}_units", value, f"The code point has {counted(units, 'unit')}.")


def in_byte_order(unit: Value, encoding: Encoding) -> Value:
    """A code unit with its bytes in the order of an encoding, the first one in the low bits, or the other way round."""
    swapped = Cat(unit.word_select(byte, 8) for byte in reversed(range(len(unit) // 8)))
    return swapped if encoding.is_swapped else unit


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
