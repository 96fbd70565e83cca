# SPDX-License-Identifier: BSD-2-Clause
"""Two-level minimisation: from the inputs for 1 and the inputs for 0 to a small sum of products.

For all other inputs the value is a don't-care. A decoder has many of these: a unit that cannot occur in a state, or a
state in which the value is not used. The fewer inputs a function depends on, the fewer look-up tables it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Value

Cube = tuple[int, int]
"""A product term as (care, value): it holds where ``input & care == value``."""


@dataclass(frozen=True)
class Function:
    """A sum of products of an input word, or its complement.

    Attributes:
        inverted: the function is the complement of the sum.
    """

    cubes: tuple[Cube, ...]
    inverted: bool = False

    def __call__(self, bits: Value | Sequence[Value]) -> Value:
        """The value of the function for the input `bits`, with input bit 0 first.

        It is one bit; of vectors, whose number k has input bit k of each of several inputs, it is a vector.
        """
        if not self.cubes:
            return Const(-self.inverted, len(bits[0]))
        value = _factored(self.cubes, bits)
        return ~value if self.inverted else value

    def compute(self, word: int) -> int:
        """The function's value for an input word, in software."""
        return int(_covers(self.cubes, word) != self.inverted)

    @property
    def support(self) -> int:
        """A mask of the input bits that the function depends on."""
        return reduce(or_, (care for care, _ in self.cubes), 0)


def minimise(on: Iterable[int], off: Iterable[int], width: int) -> Function:
    """A function that is 1 on `on` and 0 on `off`: the smaller of a sum of products and of its complement.

    First input bits that are not needed to distinguish the two sets are removed, from bit 0 upwards. Then the method of
    Minato and Morreale finds the products.

    Args:
        on: inputs for which the result must be 1.
        off: inputs for which the result must be 0; for all others it may be either.
        width: the number of input bits.

    >>> minimise(on=[0b110, 0b111], off=[0b000, 0b001], width=3)
    Function(cubes=((4, 4),), inverted=False)
    """
    ones, zeros, needed = set(on), set(off), list(range(width))
    assert not ones & zeros
    for bit in range(width):
        fewer_ones, fewer_zeros = ({value & ~(1 << bit) for value in side} for side in (ones, zeros))
        if not fewer_ones & fewer_zeros:
            needed.remove(bit)
            ones, zeros = fewer_ones, fewer_zeros
    direct = Function(tuple(sorted(_products(ones, zeros, needed))))
    complement = Function(tuple(sorted(_products(zeros, ones, needed))), inverted=True)
    return min(direct, complement, key=_cost)


def _cost(function: Function) -> tuple[int, int, bool]:
    return sum(care.bit_count() for care, _ in function.cubes), len(function.cubes), function.inverted


def minimised(values: Mapping[int, int], width: int) -> Function:
    """`minimise` for inputs with their values, which are true or false."""
    ones = {word for word, value in values.items() if value}
    return minimise(ones, values.keys() - ones, width)


class BitFunctions(tuple[Function, ...]):
    """The functions of the bits of a number, bit 0 first."""

    def __call__(self, bits: Value) -> Value:
        """The number for an input."""
        return Cat(*(function(bits) for function in self))


def minimised_bits(values: Mapping[int, int], bits: int, width: int) -> BitFunctions:
    """`minimise` for each bit of a number, bit 0 first, for inputs with their numbers."""
    return BitFunctions(minimised({at: value >> bit & 1 for at, value in values.items()}, width) for bit in range(bits))


def _products(on: set[int], off: set[int], places: Sequence[int]) -> list[Cube]:
    """Cubes that cover `on` and nothing of `off`: sets of words of which only the bits at some places may be set."""
    if not on or not off:
        return [(0, 0)] if on else []
    *lower, top = places
    bit = 1 << top
    on_0, off_0 = ({word for word in words if not word & bit} for words in (on, off))
    on_1, off_1 = ({word ^ bit for word in words if word & bit} for words in (on, off))
    # First what a cube without this bit cannot cover, since the word with the other value of the bit is in `off`.
    zero, one = _products(on_0 & off_1, off_0, lower), _products(on_1 & off_0, off_1, lower)
    rest = {word for word in on_0 if not _covers(zero, word)} | {word for word in on_1 if not _covers(one, word)}
    cubes = _products(rest, off_0 | off_1, lower)
    cubes += [(care | bit, value) for care, value in zero]
    return cubes + [(care | bit, value | bit) for care, value in one]


def _covers(cubes: Iterable[Cube], word: int) -> bool:
    return any(word & care == value for care, value in cubes)


def _factored(cubes: Sequence[Cube], bits: Value | Sequence[Value]) -> Value:
    """The sum of `cubes`, factored: the literal that most of them share first, then recursively."""
    shared = Counter((i, value >> i & 1) for care, value in cubes for i in range(len(bits)) if care >> i & 1)
    if not shared or any(not care for care, _ in cubes):
        return ~Const(0, len(bits[0]))
    (bit, polarity), _ = max(shared.items(), key=lambda entry: (entry[1], entry[0]))
    with_it = [c for c in cubes if c[0] >> bit & 1 and c[1] >> bit & 1 == polarity]
    without = [c for c in cubes if c not in with_it]
    literal = bits[bit] if polarity else ~bits[bit]
    inner = [(care & ~(1 << bit), value & ~(1 << bit)) for care, value in with_it]
    term = literal if inner == [(0, 0)] else literal & _factored(inner, bits)
    return term | _factored(without, bits) if without else term
