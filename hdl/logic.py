# SPDX-License-Identifier: BSD-2-Clause
"""Two-level minimisation: what must be 1 and what must be 0 → a small sum of products.

Between the two lies freedom. A decoder has much of it (a unit that cannot occur there, a state
that nothing asks about), and the fewer inputs are left, the fewer look-up tables a bit takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amaranth.hdl import Const, Value

__all__ = ["Cube", "minimise", "sum_of_products"]

Cube = tuple[int, int]
"""A product term as (care, value): it holds where ``input & care == value``."""


def minimise(on: Iterable[int], off: Iterable[int], width: int) -> tuple[Cube, ...]:
    """An irredundant sum of products that is 1 on `on` and 0 on `off`.

    Inputs that the two can be told apart without are left out first, from bit 0 upwards; then
    Minato and Morreale's method covers what is left.

    Args:
        on: inputs for which the result must be 1.
        off: inputs for which it must be 0; all others may be either.
        width: number of input bits; the bits that stay needed should be 16 or fewer.

    Raises:
        ValueError: an input is in both sets.

    >>> minimise(on=[0b110, 0b111], off=[0b000, 0b001], width=3)
    ((4, 4),)
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

    upper = ((1 << (1 << len(needed))) - 1) & ~_table(map(packed, zeros))
    cubes, _ = _isop(_table(map(packed, ones)), upper, len(needed))
    return tuple(sorted((spread(care), spread(value)) for care, value in cubes))


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


def sum_of_products(cubes: Sequence[Cube], bits: Value) -> Value:
    """The one-bit value of `cubes` over `bits`, which holds input bit 0 first."""
    terms: list[Value] = []
    for care, value in cubes:
        literals = [bits[i] if value >> i & 1 else ~bits[i] for i in range(len(bits)) if care >> i & 1]
        term: Value = Const(1, 1)
        for number, literal in enumerate(literals):
            term = term & literal if number else literal
        terms.append(term)
    result: Value = Const(0, 1)
    for number, term in enumerate(terms):
        result = result | term if number else term
    return result
