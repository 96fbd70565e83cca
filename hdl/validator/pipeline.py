# SPDX-License-Identifier: BSD-2-Clause
"""The pipeline of a tap, and trees of its values. Each step has registers behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from amaranth.hdl import Cat, ResetSignal, Signal, Value

from utf8fpga.hdl.minimise import LUT_INPUTS, Function
from utf8fpga.hdl.pipeline import ZERO, Pipeline, Staged

_NEIGHBOURS = 4
"""Values of which one look-up table finds the OR."""


class TapPipeline(Pipeline):
    """A pipeline that advances in each cycle, and whose values may depend on the beats before.

    Args:
        valid: a beat is transferred in this cycle.

    Attributes:
        valid: `valid`; a reset discards only beats that are accepted in its cycle.
    """

    def __init__(self, valid: Value, last: Value) -> None:
        super().__init__()
        self.valid, self.last = Staged(valid, 0, "valid", resets=True), Staged(last, 0, "last")
        self._before: dict[tuple[Staged, bool], Staged] = {}
        self._clears: dict[int, Signal] = {}

    def before(self, staged: Staged, *, of_packet: bool = False) -> Staged:
        """The value of the preceding beat, in the same stage.

        Args:
            of_packet: 0 if the preceding beat is of another packet or was accepted before a reset.
        """
        key = staged, of_packet
        if key not in self._before:
            kept = Signal(len(staged.value), name=f"before_{getattr(staged.value, 'name', 'late')}", reset_less=True)
            self.add(kept.eq(staged.value), enable=self.at(self.valid, staged.stage))
            if of_packet:
                self.add(kept.eq(0), enable=self.clears(staged.stage))
            self._before[key] = Staged(kept, staged.stage)
        return self._before[key]

    def clears(self, stage: int) -> Value:
        """What is accumulated over a packet begins anew after this cycle: its last beat is valid.

        So it does as many cycles after a reset as the stage is late: beats that were accepted before are ahead of it.
        """
        if stage not in self._clears:
            clears = Signal(name=f"clears_{stage}", init=1, reset_less=stage > 1)
            before = self.clears(stage - 1) if stage > 1 else self.valid.value & self.last.value
            self.add(clears.eq(before))
            self._clears[stage] = clears
        return self._clears[stage]

    @cached_property
    def _late_reset(self) -> Signal:
        late = Signal(name="late_reset", reset_less=True)
        self.add(late.eq(ResetSignal(allow_reset_less=True)))
        return late

    def strobes(self, stage: int, value: Value, name: str) -> list[Signal]:
        """For each stage up to this one, 2 at least, a beat for which `value` was 1 is in it.

        In the last one there is none that was accepted before a reset.

        Args:
            value: whether there is such a beat, in stage 0.
        """
        late, found = self._late_reset, []
        for number in range(1, stage + 1):
            # The reset itself has few loads; most stages are reset one cycle later.
            ends = Signal(name=f"{name}_{number}", reset_less=number not in (1, stage))
            if number == stage > 1:
                # Not a second reset, which would need a look-up table in front of that of the register.
                self.add(ends.eq(value & ~late))
            else:
                self.add(ends.eq(value))
                if number > 1:
                    self.add(ends.eq(0), enable=late)
            found.append(ends)
            value = ends
        return found


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
    if value is ZERO:
        return ZERO
    return Staged(pipeline.at(value, value.stage + 1), value.stage + 1)


def total_of(pipeline: Pipeline, name: str, columns: Mapping[int, Sequence[Staged]]) -> list[Staged]:
    """The sum of bits, bit 0 first, by full adders with registers behind each.

    Args:
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
            here = pipeline.apply(f"{name}_{weight}_{number}", parity, *bits)
            carry = pipeline.apply(f"{name}_{weight}_{number}_carry", majority, *bits)
            # The bits of the first step are near each other, those of later ones are not.
            if number >= len(columns.get(weight, ())) // 3:
                here, carry = hop(pipeline, here), hop(pipeline, carry)
            heappush(column, (here.stage, next(order), here))
            waiting.setdefault(weight + 1, []).append((carry.stage, next(order), carry))
        result.append(column[0][2] if column else ZERO)
    return result


def parity(*bits: Value) -> Value:
    return Cat(*bits).xor()


def majority(*bits: Value) -> Value:
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
        ends = [
            pipeline.apply(
                f"{name}_{level}_{start}", Value.__pos__, bit(start + half - 1), clear=bit(start + 2 * half - 1)
            )
            for start in range(0, len(bits) - half + 1, 2 * half)
        ]
        found.append(any_of_all(pipeline, f"{name}_{level}", ends))
    return found


class Leaf(NamedTuple):
    """A value among those of which `first_of` finds the first."""

    found: Staged
    number: int
    payload: tuple[Staged, ...] = ()


class First(NamedTuple):
    """The first of values that counts; all bits are 0 if none does.

    Attributes:
        found: whether any does.
        number: the bits of its number, bit 0 first, the last one of which is the sign.
    """

    found: Staged
    number: list[Staged]
    payload: list[Staged]


def first_of(pipeline: Pipeline, name: str, leaves: Sequence[Leaf]) -> First:
    """The first leaf that counts.

    Each leaf finds whether it is the first one, by its neighbours in a group of four and a bit of the group, that any
    leaf before the group counts. Then its payload is 0 if it is not: a reset of registers. So a bit of the number or of
    the payload of the first one is an OR.

    Args:
        leaves: the leaves, with successive numbers.
    """
    groups: dict[int, list[Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(leaf.number // _NEIGHBOURS, []).append(leaf)
    found, others, first_groups = _where_first(pipeline, name, groups)

    def any_leaf(bit: int) -> Staged:
        """Any leaf with a bit in its number is the first one."""
        among = [other for number, other in others.items() if number >> bit & 1]
        parts = [
            pipeline.apply(f"{name}_number{bit}_{at}", _not_all, *among[at : at + LUT_INPUTS])
            for at in range(0, len(among), LUT_INPUTS)
        ]
        return any_of_all(pipeline, f"{name}_number{bit}", parts)

    def any_group(bit: int) -> Staged:
        """The same of a bit of the numbers of groups."""
        among = [each for number, each in first_groups.items() if number >> bit & 1]
        return any_of_all(pipeline, f"{name}_group_number{bit}", among)

    def payload(bit: int) -> Staged:
        """A bit of the payload of the first one."""
        return any_of_all(
            pipeline,
            f"{name}_payload{bit}",
            [
                pipeline.apply(f"{name}_payload{bit}_{at}", Value.__pos__, leaf.payload[bit], clear=near_others[at])
                for at, leaf in enumerate(leaves)
            ],
        )

    # Registers that reset those of the payload and have no other load.
    near_others = [hop(pipeline, others[leaf.number]) for leaf in leaves]
    low = (_NEIGHBOURS - 1).bit_length()
    # One bit more than the numbers of groups need is the sign.
    high = max(number.bit_length() for number in groups) + 1
    return First(
        found,
        [*(any_leaf(bit) for bit in range(low)), *(any_group(bit) for bit in range(high))],
        [payload(bit) for bit in range(len(leaves[0].payload))],
    )


def _where_first(
    pipeline: Pipeline, name: str, groups: Mapping[int, Sequence[Leaf]]
) -> tuple[Staged, dict[int, Staged], dict[int, Staged]]:
    """Whether any leaf counts; and by number, whether a leaf is not the first one, and whether a group has that."""
    founds = [
        any_of_all(pipeline, f"{name}_{at}", [leaf.found for leaf in group]) for at, group in enumerate(groups.values())
    ]
    *befores, found = any_before(pipeline, f"{name}_before", founds)
    others: dict[int, Staged] = {}
    first_groups: dict[int, Staged] = {}
    for at, ((number, group), any_here, far) in enumerate(zip(groups.items(), founds, befores, strict=True)):
        before = hop(pipeline, far)
        first_groups[number] = pipeline.apply(f"{name}_group_{at}", Value.__pos__, any_here, clear=before)
        for place, leaf in enumerate(group):
            bits = [each.found for each in group[: place + 1]]
            fits = len(bits) < LUT_INPUTS
            others[leaf.number] = pipeline.apply(
                f"{name}_others_{at}_{place}",
                lambda *bits: ~_none_before(*bits),
                *([before] if fits else []),
                *bits,
                preset=None if fits else before,
            )
    return found, others, first_groups


def any_before(pipeline: Pipeline, name: str, values: Sequence[Staged]) -> list[Staged]:
    """For each value whether any one before it is 1, and last whether any is, by blocks of four values."""
    if len(values) <= _NEIGHBOURS:
        return [_any(pipeline, f"{name}_{size}", values[:size]) for size in range(len(values) + 1)]
    blocks = [values[at : at + _NEIGHBOURS] for at in range(0, len(values), _NEIGHBOURS)]
    # The more blocks there are, the longer are the wires between them.
    hops = 1 if len(blocks) <= _NEIGHBOURS else 2
    wholes = [_any(pipeline, f"{name}_any_{at}", block) for at, block in enumerate(blocks)]
    for _ in range(hops):
        wholes = [hop(pipeline, whole) for whole in wholes]
    *befores, found = any_before(pipeline, f"{name}_of", wholes)
    result = []
    for at, (block, before) in enumerate(zip(blocks, befores, strict=True)):
        near = before
        for _ in range(hops):
            near = hop(pipeline, near)
        result += [_any(pipeline, f"{name}_{at}_{size}", [near, *block[:size]]) for size in range(len(block))]
    return [*result, found]


def _any(pipeline: Pipeline, name: str, values: Sequence[Staged]) -> Staged:
    """The OR of values that fit one look-up table; constants need none."""
    values = [value for value in values if value is not ZERO]
    return any_of_all(pipeline, name, values)


def _not_all(*bits: Value) -> Value:
    return ~Cat(*bits).all()


def _none_before(*bits: Value) -> Value:
    *before, value = bits
    return value & ~Cat(*before).any()
