# SPDX-License-Identifier: BSD-2-Clause
"""Pipelines without back-pressure: values with the stage in which they are valid, and trees of them.

Each step has registers behind it. Where a step has inputs of several stages, the earlier ones are delayed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from amaranth.hdl import Cat, Const, ResetSignal, Signal, Value

from utf8fpga.hdl.decoder.window_logic import Registers
from utf8fpga.hdl.minimise import Function

__all__ = [
    "ZERO",
    "First",
    "Leaf",
    "Pipeline",
    "Staged",
    "any_of_all",
    "first_of",
    "ones_of_prefix",
    "total_of",
    "value_of",
]


@dataclass(frozen=True, eq=False)
class Staged:
    """A value of a beat.

    Attributes:
        value: the value.
        stage: the number of cycles after the beat was transferred in which it is valid.
    """

    value: Value
    stage: int


ZERO = Staged(Const(0, 1), 0)
"""The constant 0, in any stage."""


class Pipeline:
    """The registers of a pipeline, which advances in each cycle.

    Args:
        valid: a beat is transferred in this cycle.
        last: it ends its packet.

    Attributes:
        registers: the registers and their next values.
        valid: `valid`; a reset discards only beats that are accepted in its cycle.
        last: `last`.
    """

    def __init__(self, valid: Value, last: Value) -> None:
        self.registers = Registers()
        self.valid, self.last = Staged(valid, 0), Staged(last, 0)
        self._delayed: dict[tuple[Staged, int], Value] = {}
        self._before: dict[tuple[Staged, bool], Staged] = {}
        self._clears: dict[int, Signal] = {}

    def at(self, staged: Staged, stage: int) -> Value:
        """A value in a stage, which is not before its own."""
        if stage == staged.stage or isinstance(staged.value, Const):
            return staged.value
        key = staged, stage
        if key not in self._delayed:
            earlier = self.at(staged, stage - 1)
            name = getattr(staged.value, "name", "late")
            is_accepted = staged is self.valid and stage == 1
            later = Signal(len(earlier), name=f"{name}_{stage - staged.stage}", reset_less=not is_accepted)
            self.registers.add(later.eq(earlier))
            self._delayed[key] = later
        return self._delayed[key]

    def apply(self, name: str, function: Callable[..., Value], *inputs: Staged) -> Staged:
        """The value of a function of values, one cycle after the last of them."""
        stage = max(each.stage for each in inputs)
        value = function(*(self.at(each, stage) for each in inputs))
        result = Signal(len(value), name=name, reset_less=True)
        self.registers.add(result.eq(value))
        return Staged(result, stage + 1)

    def before(self, staged: Staged, *, of_packet: bool = False) -> Staged:
        """The value of the preceding beat, in the same stage.

        Args:
            staged: the value.
            of_packet: 0 if the preceding beat is of another packet or was accepted before a reset.
        """
        key = staged, of_packet
        if key not in self._before:
            kept = Signal(len(staged.value), name=f"before_{getattr(staged.value, 'name', 'late')}", reset_less=True)
            self.registers.add(kept.eq(staged.value), enable=self.at(self.valid, staged.stage))
            if of_packet:
                self.registers.add(kept.eq(0), enable=self.clears(staged.stage))
            self._before[key] = Staged(kept, staged.stage)
        return self._before[key]

    def clears(self, stage: int) -> Value:
        """What is accumulated over a packet begins anew after this cycle: its last beat is valid.

        So it does as many cycles after a reset as the stage is late: beats that were accepted before are ahead of it.
        """
        if stage not in self._clears:
            clears = Signal(name=f"clears_{stage}", init=1, reset_less=stage > 1)
            before = self.clears(stage - 1) if stage > 1 else self.valid.value & self.last.value
            self.registers.add(clears.eq(before))
            self._clears[stage] = clears
        return self._clears[stage]

    @cached_property
    def _late_reset(self) -> Signal:
        late = Signal(name="late_reset", reset_less=True)
        self.registers.add(late.eq(ResetSignal(allow_reset_less=True)))
        return late

    def strobe(self, stage: int, value: Value, name: str) -> Value:
        """A beat for which `value` was 1 is in this stage, 2 at least, and there was no reset since it was accepted.

        Args:
            stage: the stage.
            value: whether there is such a beat, in stage 0.
            name: the first part of the names of its registers.
        """
        late = self._late_reset
        for number in range(1, stage + 1):
            # The reset itself has few loads; most stages are reset one cycle later.
            ends = Signal(name=f"{name}_{number}", reset_less=number not in (1, stage))
            self.registers.add(ends.eq(value))
            if number > 1:
                self.registers.add(ends.eq(0), enable=late)
            value = ends
        return value


def any_of_all(pipeline: Pipeline, name: str, values: Sequence[Staged]) -> Staged:
    """The OR of values of one bit, as a tree of four at a time."""
    if not values:
        return ZERO
    if len(values) == 1:
        return values[0]
    if len(values) <= 4:
        return pipeline.apply(f"{name}_any", lambda *bits: Cat(*bits).any(), *values)
    near = [hop(pipeline, value) for value in values]
    parts = [near[place : place + 4] for place in range(0, len(near), 4)]
    level = [hop(pipeline, any_of_all(pipeline, f"{name}_{number}", part)) for number, part in enumerate(parts)]
    return any_of_all(pipeline, f"{name}_any", level)


def value_of(pipeline: Pipeline, name: str, function: Function, bits: Mapping[int, Staged]) -> Staged:
    """The value of a function of many bits: its products of four factors at a time, and their sum.

    Args:
        pipeline: the pipeline.
        name: the first part of the names of its registers.
        function: the function.
        bits: by number the bits of its input that it depends on.
    """
    products = []
    for number, (care, value) in enumerate(function.cubes):
        factors = [bit for bit in bits if care >> bit & 1]
        parts = [
            pipeline.apply(f"{name}_{number}_{place}", partial(_is_product, value, part), *(bits[bit] for bit in part))
            for place in range(0, len(factors), 4)
            for part in [factors[place : place + 4]]
        ]
        every = pipeline.apply(f"{name}_{number}", lambda *parts: Cat(*parts).all(), *parts)
        products.append(every)
    found = any_of_all(pipeline, name, products)
    return pipeline.apply(f"{name}_value", Value.__invert__ if function.inverted else Value.__pos__, found)


def _is_product(value: int, places: Sequence[int], *bits: Value) -> Value:
    return Cat(*(bit if value >> place & 1 else ~bit for place, bit in zip(places, bits, strict=True))).all()


def hop(pipeline: Pipeline, value: Staged) -> Staged:
    """The value one stage later, for one that comes from afar: a long wire has a register in it."""
    return Staged(pipeline.at(value, value.stage + 1), value.stage + 1)


def total_of(pipeline: Pipeline, name: str, columns: Mapping[int, Sequence[Staged]]) -> list[Staged]:
    """The sum of bits, bit 0 first, by full adders with registers behind each.

    Args:
        pipeline: the pipeline.
        name: the first part of the names of its registers.
        columns: by the binary logarithm of its weight, the bits.
    """
    order = count()
    waiting = {weight: [(bit.stage, next(order), bit) for bit in bits] for weight, bits in columns.items()}
    result: list[Staged] = []
    while any(column for weight, column in waiting.items() if weight >= len(result)):
        weight = len(result)
        column = waiting.pop(weight, [])
        heapify(column)
        for number in count():
            if len(column) <= 1:
                break
            bits = [heappop(column)[2] for _ in range(min(3, len(column)))]
            here = pipeline.apply(f"{name}_{weight}_{number}", _parity, *bits)
            carry = pipeline.apply(f"{name}_{weight}_{number}_carry", _majority, *bits)
            # The bits of the first step are near each other, those of later ones are not.
            if number >= len(columns.get(weight, ())) // 3:
                here, carry = hop(pipeline, here), hop(pipeline, carry)
            heappush(column, (here.stage, next(order), here))
            waiting.setdefault(weight + 1, []).append((carry.stage, next(order), carry))
        result.append(column[0][2] if column else ZERO)
    return result


def _parity(*bits: Value) -> Value:
    return Cat(*bits).xor()


def _majority(*bits: Value) -> Value:
    first, second, *rest = bits
    return (first & second) | ((first | second) & rest[0]) if rest else first & second


def ones_of_prefix(pipeline: Pipeline, name: str, bits: Sequence[Staged]) -> list[Staged]:
    """The number of ones in bits of which all ones precede all zeros, bit 0 first.

    A bit of it is 1 if the ones end within the upper half of some block.
    """

    def bit(place: int) -> Staged:
        return hop(pipeline, bits[place]) if place < len(bits) else ZERO

    found = []
    for level in range(len(bits).bit_length()):
        half = 1 << level
        ends = [(bit(start + half - 1), bit(start + 2 * half - 1)) for start in range(0, len(bits), 2 * half)]
        pairs = [
            pipeline.apply(
                f"{name}_{level}_{number}", _or_of_ends, *(each for end in ends[number : number + 2] for each in end)
            )
            for number in range(0, len(ends), 2)
        ]
        found.append(any_of_all(pipeline, f"{name}_{level}_any", pairs))
    return found


def _or_of_ends(*bits: Value) -> Value:
    return Cat(*(one & ~other for one, other in zip(bits[::2], bits[1::2], strict=True))).any()


class Leaf(NamedTuple):
    """A value among those of which `first_of` finds the first.

    Attributes:
        found: whether it counts.
        number: its number, in two's complement.
        payload: bits that belong to it.
    """

    found: Staged
    number: int
    payload: tuple[Staged, ...] = ()


class First(NamedTuple):
    """The first of values that counts; all bits are 0 if none does.

    Attributes:
        found: whether any does.
        number: the bits of its number, bit 0 first, the last one of which is the sign.
        payload: its bits.
    """

    found: Staged
    number: list[Staged]
    payload: list[Staged]


def first_of(pipeline: Pipeline, name: str, leaves: Sequence[Leaf]) -> First:
    """The first leaf that counts.

    In each group of four neighbours the first one selects its bits, then in each group of four groups, and so on. So
    only few bits wait for others that come from afar.

    Args:
        pipeline: the pipeline.
        name: the first part of the names of its registers.
        leaves: the leaves, with successive numbers, the first of which is negative and the last of which is not.
    """
    negative = [leaf for leaf in leaves if leaf.number < 0]
    others = [leaf for leaf in leaves if leaf.number >= 0]
    assert [leaf.number for leaf in leaves] == list(range(-len(negative), len(others)))
    none = tuple(ZERO for _ in leaves[0].payload)
    absent = [Leaf(ZERO, number, none) for number in range(-(1 << (len(negative) - 1).bit_length()), -len(negative))]
    early = _first_of_tree(pipeline, f"{name}_early", [*absent, *negative])
    late = _first_of_tree(pipeline, f"{name}_late", others)

    def join(kind: str, one: Staged, other: Staged) -> Staged:
        return pipeline.apply(f"{name}_{kind}", _earlier, early.found, one, other)

    width = max(len(early.number), len(late.number))
    ones = [*early.number, *(early.found for _ in range(width - len(early.number)))]
    zeros = [*late.number, *(ZERO for _ in range(width - len(late.number)))]
    number = [join(f"number{bit}", one, other) for bit, (one, other) in enumerate(zip(ones, zeros, strict=True))]
    pairs = zip(early.payload, late.payload, strict=True)
    payload = [join(f"payload{bit}", one, other) for bit, (one, other) in enumerate(pairs)]
    found = pipeline.apply(f"{name}_found", Value.__or__, early.found, late.found)
    return First(found, [*number, early.found], payload)


def _first_of_tree(pipeline: Pipeline, name: str, leaves: Sequence[Leaf]) -> First:
    """The first of leaves, whose number is its place among them, without a sign."""
    level = [First(leaf.found, [], list(leaf.payload)) for leaf in leaves]
    for depth in count():
        if len(level) == 1:
            break
        groups = [level[place : place + 4] for place in range(0, len(level), 4)]
        level = [_first_of_group(pipeline, f"{name}_{depth}_{at}", group) for at, group in enumerate(groups)]
        if len(level) > 1:
            level = [
                First(hop(pipeline, one.found), *([hop(pipeline, bit) for bit in bits] for bits in one[1:]))
                for one in level
            ]
    return level[0]


def _first_of_group(pipeline: Pipeline, name: str, group: Sequence[First]) -> First:
    """The first of four at most, with two more bits of its number. If none is found all bits are 0."""
    founds = [each.found for each in group]
    first = [
        pipeline.apply(f"{name}_is_{place}", _none_before, *founds[: place + 1]) if place else founds[0]
        for place in range(len(group))
    ]

    def selected(kind: str, bits: Sequence[Staged]) -> Staged:
        terms = list(zip(first, bits, strict=True))
        parts = [
            pipeline.apply(
                f"{name}_{kind}_{half}", _or_of_ands, *(each for term in terms[half : half + 2] for each in term)
            )
            for half in range(0, len(terms), 2)
        ]
        return any_of_all(pipeline, f"{name}_{kind}", parts)

    places = [[Staged(Const(place >> bit & 1, 1), 0) for place in range(len(group))] for bit in range(2)]
    numbers = [*zip(*(each.number for each in group), strict=True), *places]
    payloads = zip(*(each.payload for each in group), strict=True)
    return First(
        any_of_all(pipeline, f"{name}_found", founds),
        [selected(f"number{bit}", bits) for bit, bits in enumerate(numbers)],
        [selected(f"payload{bit}", bits) for bit, bits in enumerate(payloads)],
    )


def _none_before(*bits: Value) -> Value:
    *before, value = bits
    return value & ~Cat(*before).any()


def _or_of_ands(*values: Value) -> Value:
    return Cat(*(one & other for one, other in zip(values[::2], values[1::2], strict=True))).any()


def _earlier(found: Value, one: Value, other: Value) -> Value:
    """A bit of the first of two, where bits are 0 if nothing is found."""
    return one | (~found & other)
