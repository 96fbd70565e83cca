# SPDX-License-Identifier: BSD-2-Clause
"""Two-level minimisation: from the inputs for 1 and the inputs for 0 to a small sum of products.

For all other inputs the value is a don't-care. A decoder has many of these: a unit that cannot occur in a state, or a
state in which the value is not used. The fewer inputs a function depends on, the fewer look-up tables it needs.

A function of more inputs than a look-up table has can be decomposed into a network of such tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import or_

from amaranth.hdl import Cat, Const, Value

LUT_INPUTS = 4
"""Inputs of a look-up table."""

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

    def __call__(self, bits: Value) -> Value:
        """The value of the function, one bit, for the input `bits`, with input bit 0 first."""
        value = _factored(self.cubes, bits)
        return ~value if self.inverted else value

    def compute(self, word: int) -> int:
        """The function's value for an input word, in software."""
        return int(any(word & care == value for care, value in self.cubes) != self.inverted)

    @property
    def support(self) -> int:
        """A mask of the input bits that the function depends on."""
        return reduce(or_, (care for care, _ in self.cubes), 0)

    @property
    def is_zero(self) -> bool:
        """Whether the function is 0 everywhere."""
        return not self.inverted and not self.cubes

    @property
    def literals(self) -> int:
        """The total number of literals in all products."""
        return sum(care.bit_count() for care, _ in self.cubes)


def minimise(on: Iterable[int], off: Iterable[int], width: int) -> Function:
    """A function that is 1 on `on` and 0 on `off`: the smaller of a sum of products and of its complement.

    First input bits that are not needed to distinguish the two sets are removed, from bit 0 upwards. Then the method of
    Minato and Morreale finds the products.

    Args:
        on: inputs for which the result must be 1.
        off: inputs for which the result must be 0; for all others it may be either.
        width: the number of input bits. At most about 16 of them should be needed, since the method uses truth tables.

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
        return _selected(value, needed)

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


def minimised(values: Mapping[int, int], width: int) -> Function:
    """`minimise` for inputs with their values, which are true or false."""
    ones = {word for word, value in values.items() if value}
    return minimise(ones, values.keys() - ones, width)


class Word(tuple[Function, ...]):
    """The functions of the bits of a word, bit 0 first."""

    def __call__(self, bits: Value) -> Value:
        """The value of the word."""
        return Cat(*(function(bits) for function in self))


def minimised_word(values: Mapping[int, int], bits: int, width: int) -> Word:
    """`minimise` for each bit of a word, bit 0 first, for inputs with their words."""
    return Word(minimised({word: value >> bit & 1 for word, value in values.items()}, width) for bit in range(bits))


@dataclass(frozen=True)
class Gate:
    """A look-up table of a network.

    Attributes:
        function: its function of them, the first one as bit 0.
    """

    inputs: tuple[int, ...]
    function: Function


@dataclass(frozen=True)
class Network:
    """A function as a network of gates. The signals are the bits of the input word, and after them the inner gates.

    Attributes:
        inner: the inner gates, each of which depends only on signals with lower numbers than its own.
    """

    width: int
    inner: tuple[Gate, ...]
    last: Gate

    def compute(self, word: int) -> int:
        """The function's value for an input word, in software."""
        signals = [word >> bit & 1 for bit in range(self.width)]
        for gate in (*self.inner, self.last):
            signals.append(gate.function.compute(_packed([signals[number] for number in gate.inputs])))
        return signals[-1]


_MOST_INNER = 3


def decompose(on: Iterable[int], off: Iterable[int], width: int, *, last: int = LUT_INPUTS) -> Network:
    """A network for a function that is 1 on `on` and 0 on `off`, with the fewest inner gates that are found.

    If `_MOST_INNER` do not suffice there is none, and the last gate has as many inputs as the function needs.

    The method is that of Ashenhurst and Curtis: an inner gate takes the place of a few signals if the function needs
    only one bit of them. Some of them may be signals that the function depends on in addition (a decomposition that is
    not disjoint).

    Args:
        on: inputs for which the result must be 1.
        off: inputs for which the result must be 0; for all others it may be either.
        last: upper bound on the inputs of the last gate, for which the caller may have other inputs.

    Raises:
        ValueError: an input is in both sets.

    >>> network = decompose(on=[0b11111], off=range(0b11111), width=5)
    >>> [gate.inputs for gate in (*network.inner, network.last)]
    [(0, 1, 2, 3), (4, 5)]
    """
    whole = minimise(on, off, width)
    start = _Partial(tuple(range(width)), frozenset(on), frozenset(off)).reduced()
    for count in range(_MOST_INNER + 1):
        found = _decomposed(start, width, count, last)
        if found is not None:
            inner, rest = found
            return Network(width, tuple(inner), Gate(rest.signals, rest.function))
    return Network(width, (), Gate(tuple(range(width)), whole))


@dataclass(frozen=True)
class _Partial:
    """What is left of a function to be decomposed.

    Attributes:
        signals: the numbers of the signals that it depends on; bit k of an input is the signal number k of these.
    """

    signals: tuple[int, ...]
    on: frozenset[int]
    off: frozenset[int]

    @property
    def function(self) -> Function:
        return minimise(self.on, self.off, len(self.signals))

    def reduced(self) -> _Partial:
        """The same without signals that are not needed."""
        support = self.function.support
        return self.of([place for place in range(len(self.signals)) if support >> place & 1])

    def of(self, places: Sequence[int]) -> _Partial:
        """The same as a function of a part of the signals, given by their places."""
        on, off = (frozenset(_selected(word, places) for word in side) for side in (self.on, self.off))
        return _Partial(tuple(self.signals[place] for place in places), on, off)


def _decomposed(rest: _Partial, new: int, count: int, last: int) -> tuple[list[Gate], _Partial] | None:
    """At most `count` inner gates, the first of which is signal `new`, and a function of `last` signals at most."""
    excess = len(rest.signals) - last
    if excess <= 0:
        return [], rest
    if excess > count * (LUT_INPUTS - 1):
        return None
    places = range(len(rest.signals))
    size = min(LUT_INPUTS, len(rest.signals))
    for shared_size in range(size - 1):
        for inner in combinations(places, size):
            for shared in combinations(inner, shared_size):
                outer = [place for place in places if place not in inner or place in shared]
                gate = _inner_gate(rest, inner, shared, outer)
                if gate is None:
                    continue
                values = {word: gate.compute(_selected(word, inner)) for word in rest.on | rest.off}
                top = len(outer)
                on, off = (
                    frozenset(_selected(word, outer) | values[word] << top for word in side)
                    for side in (rest.on, rest.off)
                )
                signals = (*(rest.signals[place] for place in outer), new)
                found = _decomposed(_Partial(signals, on, off).reduced(), new + 1, count - 1, last)
                if found is not None:
                    gates, last_part = found
                    return [Gate(tuple(rest.signals[place] for place in inner), gate), *gates], last_part
    return None


def _inner_gate(rest: _Partial, inner: Sequence[int], shared: Sequence[int], outer: Sequence[int]) -> Function | None:
    """A function of the signals at the places `inner`, with which the whole one depends only on it and on `outer`.

    Two words of `inner` that agree in `shared` and lead to different values of the whole must have different values of
    this function. So it exists if the graph of these pairs has two colours.
    """
    by_word: dict[int, tuple[set[int], set[int]]] = {}
    for side, words in enumerate((rest.off, rest.on)):
        for word in words:
            by_word.setdefault(_selected(word, inner), (set(), set()))[side].add(_selected(word, outer))
    colours: dict[int, int] = {}
    for start in sorted(by_word):
        if start in colours:
            continue
        colours[start] = 0
        pending = [start]
        while pending:
            word = pending.pop()
            off, on = by_word[word]
            for other, (other_off, other_on) in by_word.items():
                # Words that differ in `shared` differ in `outer`, too.
                if off.isdisjoint(other_on) and on.isdisjoint(other_off):
                    continue
                if other not in colours:
                    colours[other] = 1 - colours[word]
                    pending.append(other)
                elif colours[other] == colours[word]:
                    return None
    return minimised(colours, len(inner))


def _packed(bits: Sequence[int]) -> int:
    """The word of bits, the first one as bit 0."""
    return sum(bit << place for place, bit in enumerate(bits))


def _selected(word: int, places: Sequence[int]) -> int:
    """The word of the bits of another word at some places."""
    return _packed([word >> place & 1 for place in places])


def _table(inputs: Iterable[int]) -> int:
    return reduce(or_, (1 << value for value in inputs), 0)


def _isop(lower: int, upper: int, width: int) -> tuple[list[Cube], int]:
    """Cubes whose sum is between `lower` and `upper` (truth tables, bit i for input i), and its truth table."""
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
    """The sum of `cubes`, factored: the literal that most of them share first, then recursively."""
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
