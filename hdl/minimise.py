# SPDX-License-Identifier: BSD-2-Clause
"""Two-level minimisation: what must be 1 and what must be 0 → a small sum of products.

Between the two lies freedom. A decoder has much of it (a unit that cannot occur there, a state
that nothing asks about), and the fewer inputs are left, the fewer look-up tables a bit takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Const, Value

__all__ = ["Cube", "Function", "minimise"]

Cube = tuple[int, int]
"""A product term as (care, value): it holds where ``input & care == value``."""


@dataclass(frozen=True)
class Function:
    """A sum of products of an input word, or its complement.

    Attributes:
        cubes: the products.
        inverted: whether the function is 0, not 1, where one of them holds.
    """

    cubes: tuple[Cube, ...]
    inverted: bool = False

    def __call__(self, bits: Value) -> Value:
        """The function's one-bit value for `bits`, which holds input bit 0 first."""
        value = _factored(self.cubes, bits)
        return ~value if self.inverted else value

    def compute(self, word: int) -> int:
        """The function's value for an input word, in software."""
        return int(any(word & care == value for care, value in self.cubes) != self.inverted)

    @property
    def support(self) -> int:
        """A mask of the input bits that the function looks at."""
        return reduce(or_, (care for care, _ in self.cubes), 0)

    @property
    def is_zero(self) -> bool:
        """Whether the function is 0 everywhere."""
        return not self.inverted and not self.cubes

    @property
    def literals(self) -> int:
        """How many input bits all products mention together."""
        return sum(care.bit_count() for care, _ in self.cubes)


def minimise(on: Iterable[int], off: Iterable[int], width: int) -> Function:
    """A function that is 1 on `on` and 0 on `off`: the smaller of a sum of products and of its complement.

    Inputs that the two can be told apart without are left out first, from bit 0 upwards; then
    Minato and Morreale's method covers what is left.

    Args:
        on: inputs for which the result must be 1.
        off: inputs for which it must be 0; all others may be either.
        width: number of input bits; the bits that stay needed should be 16 or fewer.

    Raises:
        ValueError: an input is in both sets.

    >>> minimise(on=[0b110, 0b111], off=[0b000, 0b001], width=3)
    Function(cubes=((4, 4),), inverted=False)
    """
    ones, zeros = set(on), set(off)
    if clash := ones & zeros:
        raise ValueError(f"input {min(clash):#b} must be both 0 and 1")
    needed = []
    for bit in range(width):
        fewer_ones, fewer_zeros = ({value & ~(1 << bit) for value in side} for side in (ones, zeros))
        if fewer_ones & fewer_zeros:
            needed.append(bit)
        else:
            ones, zeros = fewer_ones, fewer_zeros

    def packed(value: int) -> int:
        return sum((value >> bit & 1) << place for place, bit in enumerate(needed))

    def spread(value: int) -> int:
        return sum((value >> place & 1) << bit for place, bit in enumerate(needed))

    lower, forbidden = _table(map(packed, ones)), _table(map(packed, zeros))
    full = (1 << (1 << len(needed))) - 1
    choices = []
    for inverted, (least, never) in enumerate([(lower, forbidden), (forbidden, lower)]):
        cubes, _ = _isop(least, full & ~never, len(needed))
        spread_out = sorted((spread(care), spread(value)) for care, value in cubes)
        choices.append(Function(tuple(spread_out), bool(inverted)))
    return min(choices, key=lambda choice: (choice.literals, len(choice.cubes), choice.inverted))


def _table(inputs: Iterable[int]) -> int:
    table = 0
    for value in inputs:
        table |= 1 << value
    return table


def _isop(lower: int, upper: int, width: int) -> tuple[list[Cube], int]:
    """Cubes between `lower` and `upper` (truth tables, bit i for input i), and their own truth table."""
    full = (1 << (1 << width)) - 1
    if not lower:
        return [], 0
    if upper == full:
        return [(0, 0)], full
    top = 1 << (width - 1)
    half = (1 << top) - 1
    lower0, lower1, upper0, upper1 = lower & half, lower >> top, upper & half, upper >> top
    cubes0, table0 = _isop(lower0 & ~upper1, upper0, width - 1)
    cubes1, table1 = _isop(lower1 & ~upper0, upper1, width - 1)
    rest = (lower0 & ~table0) | (lower1 & ~table1)
    cubes, table = _isop(rest, upper0 & upper1, width - 1)
    table0, table1 = table0 | table, table1 | table
    cubes += [(care | top, value) for care, value in cubes0]
    cubes += [(care | top, value | top) for care, value in cubes1]
    return cubes, table0 | table1 << top


def _factored(cubes: Sequence[Cube], bits: Value) -> Value:
    """The sum of `cubes`, the literal that most of them share taken out first, and so on."""
    if not cubes:
        return Const(0, 1)
    shared = Counter((i, value >> i & 1) for care, value in cubes for i in range(len(bits)) if care >> i & 1)
    if not shared or any(not care for care, _ in cubes):
        return Const(1, 1)
    (bit, polarity), _ = max(shared.items(), key=lambda entry: (entry[1], entry[0]))
    with_it = [c for c in cubes if c[0] >> bit & 1 and c[1] >> bit & 1 == polarity]
    without = [c for c in cubes if c not in with_it]
    literal = bits[bit] if polarity else ~bits[bit]
    inner = [(care & ~(1 << bit), value & ~(1 << bit)) for care, value in with_it]
    term = literal if inner == [(0, 0)] else literal & _factored(inner, bits)
    return term | _factored(without, bits) if without else term
