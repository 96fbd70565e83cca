# SPDX-License-Identifier: BSD-2-Clause
"""Encoding forms as data: rows of code unit ranges, and the checks that a form must pass.

Everything else in the project, software and hardware, is derived from such rows. In every row
the sequences in lexicographic order represent the code points in ascending order, so the row
alone defines the mapping (Table 3-7 of the Unicode Standard is written this way).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from math import prod

from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.ranges import Range, TableError, joined

LAST_CODE_POINT = 0x7FFF_FFFF
"""The last code point a row may name: the 31 bits of ISO/IEC 10646-1:1993."""


def starts(prefix: Sequence[int], ranges: Sequence[Range]) -> bool:
    """Whether `prefix` starts, or is, a sequence with one unit in each of `ranges`."""
    return len(prefix) <= len(ranges) and all(map(Range.__contains__, ranges, prefix))


def _index(units: Sequence[int], ranges: Sequence[Range]) -> int:
    """The place of a sequence in the lexicographic order of those with one unit in each of `ranges`."""
    index = 0
    for unit, allowed in zip(units, ranges, strict=True):
        index = index * len(allowed) + unit - allowed.first
    return index


def _sequence(index: int, ranges: Sequence[Range]) -> tuple[int, ...]:
    """The inverse of `_index`."""
    units = []
    for allowed in reversed(ranges):
        index, digit = divmod(index, len(allowed))
        units.append(allowed.first + digit)
    return tuple(reversed(units))


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an encoding table.

    Attributes:
        code_points: the code points of the row.
        units: one range of code units per position, at least one.
    """

    code_points: Range
    units: tuple[Range, ...]

    @classmethod
    def parse(cls, text: str) -> Row:
        """The row written as in Table 3-7, in hexadecimal.

        >>> str(Row.parse("0800..0FFF  E0  A0..BF  80..BF"))
        'U+0800..U+0FFF as E0 A0..BF 80..BF'

        Raises:
            TableError: a range is malformed or there are no code units.
        """
        ranges = [Range.parse(word) for word in text.split()]
        if len(ranges) < 2:
            raise TableError(f"row {text!r} needs a range of code points and at least one of code units")
        return cls(ranges[0], tuple(ranges[1:]))

    def __str__(self) -> str:
        first, last = self.code_points.first, self.code_points.last
        points = f"U+{first:04X}" + (f"..U+{last:04X}" if last != first else "")
        return f"{points} as {' '.join(map(str, self.units))}"

    def matches(self, units: Sequence[int]) -> bool:
        """Whether `units` is a complete sequence of this row."""
        return len(units) == len(self.units) and starts(units, self.units)

    def code_point(self, units: Sequence[int]) -> int:
        """The code point of a sequence that the row `matches`: first + mixed-radix index."""
        return self.code_points.first + _index(units, self.units)

    def encode(self, code_point: int) -> tuple[int, ...]:
        """The sequence of a code point that is in `code_points`."""
        return _sequence(code_point - self.code_points.first, self.units)


@dataclass(frozen=True, slots=True)
class BitPattern:
    """The bit distribution of the sequences of one length (Tables 3-5 and 3-6).

    It is derived from the rows: at each position it has the smallest aligned power-of-two block
    that contains the ranges of all rows of that length. The size of the block determines the number
    of payload bits, its first unit the fixed bits.

    Attributes:
        blocks: for each position, all units with the fixed bits of that position.
        base: the constant added to the concatenated payload bits to give the code point
            (0 in UTF-8, 10000 hexadecimal for the surrogate pairs of UTF-16).
    """

    blocks: tuple[Range, ...]
    base: int

    @property
    def payload_bits(self) -> tuple[int, ...]:
        """For each position, the number of low bits of the unit that are payload."""
        return tuple((len(block) - 1).bit_length() for block in self.blocks)

    @property
    def code_points(self) -> Range:
        """The code points of all sequences of the pattern, well-formed or not."""
        return self.reachable(())

    def matches(self, prefix: Sequence[int]) -> bool:
        """Whether `prefix` starts some sequence of the pattern."""
        return starts(prefix, self.blocks)

    def reachable(self, prefix: Sequence[int]) -> Range:
        """The code points of the pattern's sequences that start with `prefix`."""
        rest = prod(map(len, self.blocks[len(prefix) :]))
        first = self.base + _index(prefix, self.blocks[: len(prefix)]) * rest
        return Range(first, first + rest - 1)

    def encode(self, code_point: int) -> tuple[int, ...]:
        """The sequence for a code point in `code_points`, well-formed or not."""
        return _sequence(code_point - self.base, self.blocks)


@dataclass(frozen=True)
class EncodingTable:
    """An encoding form (D79): a code unit width and rows, validated on construction.

    The checks: every unit fits the width; a row has as many code points as sequences; the code
    points of the rows are disjoint; no sequence is in two rows or is a prefix of another; and,
    if `self_synchronising` is true, no unit that starts a sequence may also continue one.

    Attributes:
        name: the name of the form in the standard.
        source: the document and table that the rows were taken from.
        unit_width: bits in a code unit, 1 to 32.
        rows: the rows, in the order of the source; at least one.
        self_synchronising: whether the rows must be self-synchronising; default: true.

    Raises:
        TableError: a check failed; the message names the rows and the reason.
    """

    name: str
    source: str = field(repr=False)
    unit_width: int
    rows: tuple[Row, ...] = field(repr=False)
    self_synchronising: bool = field(default=True, repr=False)

    @classmethod
    def parse(
        cls, name: str, text: str, *, source: str, unit_width: int = 8, self_synchronising: bool = True
    ) -> EncodingTable:
        """The table with the rows in `text`, one on each line in the format of `Row.parse`.

        Raises:
            TableError: a line has another format, or a check of the table failed.

        >>> EncodingTable.parse("ASCII", "0000..007F  00..7F", source="X3.4").encode(0x41)
        (65,)
        """
        rows = tuple(Row.parse(line) for line in text.splitlines() if line.strip())
        return cls(name, source, unit_width, rows, self_synchronising)

    def __hash__(self) -> int:
        return hash(self.name)  # Fast, for the caches keyed by table; few tables share a name.

    def __post_init__(self) -> None:
        if not 1 <= self.unit_width <= 32:
            raise TableError(f"{self.name}: unit width {self.unit_width} is not in 1..32 bits")
        if not self.rows:
            raise TableError(f"{self.name}: a table needs at least one row")
        for number, row in enumerate(self.rows, 1):
            self._check_row(number, row)
        for (i, a), (j, b) in combinations(enumerate(self.rows, 1), 2):
            self._check_pair(f"{self.name}: rows {i} ({a}) and {j} ({b})", a, b)
        if self.self_synchronising:
            self._check_self_synchronising()

    def _check_row(self, number: int, row: Row) -> None:
        where = f"{self.name}: row {number} ({row})"
        top = (1 << self.unit_width) - 1
        for position, allowed in enumerate(row.units, 1):
            if allowed.last > top:
                limit = f"a unit of {self.unit_width} bits ends at {top:X}"
                raise TableError(f"{where}: unit {position} reaches {allowed.last:X}, but {limit}")
        if row.code_points.last > LAST_CODE_POINT:
            raise TableError(f"{where}: code points end at U+{LAST_CODE_POINT:X}")
        sequences = prod(map(len, row.units))
        if sequences != len(row.code_points):
            raise TableError(f"{where}: {len(row.code_points)} code points, but {sequences} code unit sequences")

    @staticmethod
    def _check_pair(where: str, a: Row, b: Row) -> None:
        if a.code_points.overlaps(b.code_points):
            shared = max(a.code_points.first, b.code_points.first)
            raise TableError(f"{where}: both encode U+{shared:04X}")
        if all(x.overlaps(y) for x, y in zip(a.units, b.units, strict=False)):
            example = " ".join(f"{max(x.first, y.first):02X}" for x, y in zip(a.units, b.units, strict=False))
            verb = "is in both" if len(a.units) == len(b.units) else "is a sequence of one and starts one of the other"
            raise TableError(f"{where}: {example} {verb}")

    def _check_self_synchronising(self) -> None:
        for (i, a), (j, b) in product(enumerate(self.rows, 1), repeat=2):
            for position, allowed in enumerate(b.units[1:], 2):
                if allowed.overlaps(a.units[0]):
                    shared = max(allowed.first, a.units[0].first)
                    raise TableError(
                        f"{self.name}: not self-synchronising: {shared:02X} starts a sequence of row {i} ({a}) "
                        f"and continues one of row {j} ({b}) as unit {position}"
                    )

    @property
    def longest(self) -> int:
        """The number of code units in the longest sequence."""
        return max(len(row.units) for row in self.rows)

    @property
    def code_points(self) -> list[Range]:
        """The code points that have sequences, as few ascending ranges as possible."""
        return joined(row.code_points for row in self.rows)

    @property
    def last_code_point(self) -> int:
        """The last code point that has a sequence."""
        return max(row.code_points.last for row in self.rows)

    @cached_property
    def patterns(self) -> dict[int, BitPattern]:
        """The bit distribution for each length of sequence, derived from the rows.

        Raises:
            TableError: the rows of one length have no common bit distribution.
        """
        patterns: dict[int, BitPattern] = {}
        for length in sorted({len(row.units) for row in self.rows}):
            rows = [row for row in self.rows if len(row.units) == length]
            blocks = tuple(
                Range(min(row.units[k].first for row in rows), max(row.units[k].last for row in rows)).aligned_hull()
                for k in range(length)
            )
            placed = BitPattern(blocks, 0)
            bases = {row.code_points.first - placed.reachable([r.first for r in row.units]).first: row for row in rows}
            if len(bases) != 1 or min(bases) < 0 or not all(self._is_linear(row, placed) for row in rows):
                raise TableError(f"{self.name}: the rows of {length} units have no bit distribution in common")
            patterns[length] = BitPattern(blocks, bases.popitem()[0])
        return patterns

    @staticmethod
    def _is_linear(row: Row, pattern: BitPattern) -> bool:
        # The mixed-radix index equals the payload if the first and last sequence are as far apart in both.
        first = pattern.reachable([r.first for r in row.units]).first
        last = pattern.reachable([r.last for r in row.units]).first
        return last - first + 1 == len(row.code_points)

    def encode(self, code_point: int) -> tuple[int, ...]:
        """The code units of one code point (D79).

        Raises:
            ValueError: no row contains the code point.
        """
        for row in self.rows:
            if code_point in row.code_points:
                return row.encode(code_point)
        raise self.no_sequence(code_point, self.name)

    def no_sequence(self, code_point: int, name: str) -> InvalidArgumentError:
        """The error for a code point without a sequence in the encoding form of a name."""
        is_code_point = isinstance(code_point, int) and code_point >= 0
        quoted = f"U+{code_point:04X}" if is_code_point else repr(code_point)
        spans = " and ".join(f"U+{span.first:04X}..U+{span.last:04X}" for span in self.code_points)
        return InvalidArgumentError(f"{quoted} has no sequence in {name}: its code points are {spans}")

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows))


def spell(units: Sequence[int], unit_width: int) -> str:
    """Code units in the notation of the standard: hexadecimal, with the number of digits of the unit width.

    >>> spell([0xD800, 0xDF02], 16)
    'D800 DF02'
    """
    return " ".join(f"{unit:0{-(-unit_width // 4)}X}" for unit in units)
