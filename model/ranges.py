# SPDX-License-Identifier: BSD-2-Clause
"""Ranges of integers: those of code points and of code units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from utf8fpga.model.exceptions import InvalidArgumentError


class TableError(InvalidArgumentError):
    """Invalid rows of an encoding form; the message names the rows and the reason."""


@dataclass(frozen=True, slots=True)
class Range:
    """The integers from ``first`` to ``last``, both inclusive, as the standard writes ``A0..BF``."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise TableError(
                f"range {self.first:X}..{self.last:X} is empty or negative: "
                f"its first value must be 0 or more and not above its last"
            )

    @classmethod
    def parse(cls, text: str) -> Range:
        """The range written as ``"A0..BF"`` or, for a single value, ``"E0"`` (hexadecimal).

        Raises:
            TableError: `text` has another format, or the range is empty.
        """
        found = re.fullmatch(r"([0-9A-Fa-f]+)(?:\.\.([0-9A-Fa-f]+))?", text)
        if not found:
            raise TableError(f"{text!r} is not a range: write it as A0..BF or E0")
        return cls(int(found[1], 16), int(found[2] or found[1], 16))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.first <= value <= self.last

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))

    def __str__(self) -> str:
        return f"{self.first:02X}" if self.first == self.last else f"{self.first:02X}..{self.last:02X}"

    def overlaps(self, other: Range) -> bool:
        """Whether the ranges have a value in common."""
        return self.first <= other.last and other.first <= self.last

    def aligned_hull(self) -> Range:
        """The smallest aligned power-of-two block that contains this range.

        >>> str(Range(0xC2, 0xDF).aligned_hull())
        'C0..DF'
        """
        mask = (1 << (self.first ^ self.last).bit_length()) - 1
        return Range(self.first & ~mask, self.last | mask)


def joined(ranges: Iterable[Range]) -> list[Range]:
    """Ranges in ascending order, adjacent and overlapping ones as one."""
    found: list[Range] = []
    for each in sorted(ranges, key=lambda each: each.first):
        if found and found[-1].last + 1 >= each.first:
            before = found.pop()
            each = Range(before.first, max(before.last, each.last))
        found.append(each)
    return found


def runs(values: Iterable[int]) -> list[Range]:
    """Integers as ranges.

    >>> [str(each) for each in runs([3, 2, 1, 9])]
    ['01..03', '09']
    """
    return joined(Range(value, value) for value in values)


def pieces(ranges: Iterable[Range], unit_width: int) -> list[Range]:
    """All code units of a width as ascending ranges, each of which is within or outside each of `ranges`."""
    edges = {0, 1 << unit_width}.union(*((each.first, each.last + 1) for each in ranges))
    return [Range(first, after - 1) for first, after in pairwise(sorted(edges))]
