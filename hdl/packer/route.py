# SPDX-License-Identifier: BSD-2-Clause
"""How the words of a beat pass a reverse banyan network: the settings of its switches, from the gaps of the beat."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import add

from amaranth.hdl import Cat, Const, Value

from utf8fpga.hdl.fan_out import are_many
from utf8fpga.hdl.pipeline import Pipeline, Staged, latest

Number = Sequence[Staged]
"""An unsigned number: its bits, the lowest one first. The bits may be known in different stages."""

_CHUNK = 2
"""Bits of a number that are added in one cycle: five inputs, the carry among them, fit two look-up tables."""

_TURN = "turn_S_N_L_C: for step S the word at place L of the left half of block N belongs in its right half."
"""A comment on registers."""


class WordCounts:
    """Numbers of words of a beat, in blocks of lanes and before them.

    Blocks are aligned, and of a power of two of lanes.

    Args:
        keep: per lane of the network whether it holds a word; at least two, a power of two of them.
        valids: duplicates of "there is a beat"; None if no lane holds a word where there is none.

    Attributes:
        total: the number of words of the beat; 0 where there is none.
        before: for each step of the network and each block of the lanes that it connects, the number of words before
            the block modulo its lanes, if there is a beat; empty where it is 0.
    """

    def __init__(self, pipeline: Pipeline, keep: Sequence[Staged], valids: Sequence[Staged] | None) -> None:
        self._pipeline = pipeline
        steps = (len(keep) - 1).bit_length()
        # Of two and of four lanes at once, of more from the halves.
        in_blocks = {level: self._count(keep, valids, level) for level in (1, 2)[:steps]}
        for level in range(3, steps + 1):
            halves = in_blocks[level - 1]
            in_blocks[level] = [
                _sum(pipeline, f"count_{level}_{block}", halves[2 * block : 2 * block + 2], level + 1)
                for block in range(len(halves) // 2)
            ]
        self.total = in_blocks[steps][0]
        self.before: list[list[Number]] = []
        for step in range(steps):
            size = step + 1
            before: list[Number] = [[] for _ in range(len(keep) >> size)]
            for level in range(size, steps):
                for block in range(len(before)):
                    around = block >> (level - size)
                    if around % 2:
                        left = in_blocks[level][around - 1][:size]
                        before[block] = _sum(pipeline, f"before_{step}_{level}_{block}", [before[block], left], size)
            self.before.append(before)

    def _count(self, keep: Sequence[Staged], valids: Sequence[Staged] | None, level: int) -> list[Number]:
        found: list[Number] = []
        for start in range(0, len(keep), 1 << level):
            lanes = keep[start : start + (1 << level)]
            valid = valids[start * len(valids) // len(keep)] if valids else None
            cycle = latest([*lanes, *(valids or [])])
            block = f"{level}_{start >> level}"
            number = reduce(add, (self._pipeline.at(lane, cycle) for lane in lanes))
            number = self._pipeline.wire(f"words_{block}", len(number), number)
            if valid:
                # In logic: a reset of the registers by `valid` would be a long net.
                number = number & self._pipeline.at(valid, cycle).replicate(level + 1)
            comment = "count_K_N_B_C: bit B of the number of words in block N of 2^K lanes."
            found.append(
                [
                    self._pipeline.register(f"count_{block}_{bit}", number[bit], cycle, comment=comment)
                    for bit in range(level + 1)
                ]
            )
        return found


def turns(pipeline: Pipeline, step: int, block: int, base: Number, before: Number, cycle: int) -> list[Staged]:
    """Whether the left words of a block belong to its right half.

    The words of a block have destinations that follow each other, from the block's start on: the lane in which the
    beat begins plus the words before the block. Each half holds its words in lanes that are equal to their
    destinations modulo the size of the half. So the destination of the word at a place of the left half is in the
    right half if the start is, unless it wrapped around: then it is if the start is not. The word at the same place of
    the right half has the other destination if there are both; if there is no left word, the rule is the same for it.

    Args:
        step: the step of the network; the block has 2 to the power of `step` + 1 lanes.
        block: the index of the block, for names.
        before: the number of words before the block.
        cycle: the cycle in which they are needed. They may be late, but they are not early, since there are more of
            them than of the values that determine them.

    Returns:
        A bit for each place of the left half.
    """
    name, half = f"turn_{step}_{block}", 1 << step
    if step == 0:
        bits = [base[0], *before]
        if len(bits) == 1:
            return bits
        return [pipeline.apply(name, lambda *values: Cat(*values).xor(), *bits, earliest=cycle, comment=_TURN)]
    if step == 1:
        inputs = [*base[:2], *before[:2]]

        def turn(place: int, *values: Value) -> Value:
            start = Cat(*values[:2]) + Cat(*values[2:])
            return start[1] ^ (place < start[0])

        return [
            pipeline.apply(f"{name}_{place}", partial(turn, place), *inputs, earliest=cycle, comment=_TURN)
            for place in range(half)
        ]
    if step == 2:
        # The highest bit of the start is not in a register: the carry is one of the inputs.
        low = _sum(pipeline, f"start_{step}_{block}", [base[:2], before[:2]], 3)
        top = [*base[2:3], *before[2:3], *low[2:]]
        low = low[:2]
    else:
        *low, only = _sum(pipeline, f"start_{step}_{block}", [base[: step + 1], before], step + 1)
        top = [only]

    def turn_of(place: int, *values: Value) -> Value:
        return Cat(*values[: len(top)]).xor() ^ exceeds(Cat(*values[len(top) :]), place)

    return [
        pipeline.apply(f"{name}_{place}", partial(turn_of, place), *top, *low, earliest=cycle, comment=_TURN)
        for place in range(half)
    ]


def _sum(pipeline: Pipeline, name: str, numbers: Sequence[Number], width: int) -> Number:
    """The sum of up to two numbers modulo 2 to the power of `width`, two bits per cycle."""
    result: list[Staged] = []
    carry: list[Staged] = []
    for start in range(0, width, _CHUNK):
        size = min(_CHUNK, width - start)
        parts = [part for part in (*(number[start : start + size] for number in numbers), carry) if part]
        if not parts:
            break
        carry = []
        if len(parts) == 1:
            result += parts[0]
            continue
        cycle = latest([bit for part in parts for bit in part])
        total = sum((Cat(pipeline.at(bit, cycle) for bit in part) for part in parts), Const(0, 1))
        bits = min(size, len(total))
        result += [pipeline.register(f"{name}_{start + bit}", total[bit], cycle) for bit in range(bits)]
        if start + size < width and len(total) > size:
            carry = [pipeline.register(f"{name}_carry_{start}", total[size], cycle)]
    return result


def exceeds(number: Value, bound: int) -> Value:
    """Whether a number is greater than a constant, without the multiplexers of a comparison.

    Synthesis makes a reset of such a multiplexer in front of a register, which is a long net.

    Args:
        bound: the constant, less than 2 to the power of the number's bits.
    """
    result: Value = Const(0, 1)
    for bit in range(len(number)):
        result = number[bit] & result if bound >> bit & 1 else number[bit] | result
    return result


_LOW_BITS = 2
"""Bits of such a number that are compared by themselves."""


def copies_of(pipeline: Pipeline, name: str, value: Value, lanes: int, stage: int = 0) -> list[Staged]:
    """A bit in a register, or for many lanes in two, of which the second one holds the complement.

    So synthesis does not merge them.
    """
    found = [pipeline.register(name, value, stage)]
    if are_many(lanes):
        inverted = pipeline.register(f"not_{name}", ~value, stage, init=1)
        found.append(Staged(~inverted.value, inverted.stage, inverted.name))
    return found


def duplicates(pipeline: Pipeline, name: str, number: Number, lanes: int) -> list[Number]:
    """A number in registers, see `copies_of`."""
    bits = [copies_of(pipeline, f"{name}_{bit}", each.value, lanes, each.stage) for bit, each in enumerate(number)]
    return [list(each) for each in zip(*bits, strict=True)]


def which_exceeds(
    pipeline: Pipeline, name: str, number: Number, lanes: int, *, full: Staged | None = None, earliest: int = 0
) -> list[Staged]:
    """Per lane whether a number is greater than that of the lane.

    For many lanes the number's high and low bits are compared by themselves first, in each half of the lanes.

    Args:
        full: it is greater than all of them, whatever `number` is.
        earliest: the first cycle in which the result is needed.
    """
    top = [] if full is None else [full]
    if len(number) + len(top) <= _DIRECT_BITS:
        return [
            pipeline.apply(f"{name}_{lane}", partial(_exceeds_or, len(number), lane), *number, *top, earliest=earliest)
            for lane in range(lanes)
        ]
    found = []
    parts = duplicates(pipeline, f"{name}_of", [*number, *top], lanes)
    for part, bits in enumerate(parts):
        own = range(part * lanes // len(parts), (part + 1) * lanes // len(parts))
        low, high = bits[:_LOW_BITS], bits[_LOW_BITS:]
        early, digits = earliest - 1, len(number) - _LOW_BITS
        beyond = [
            pipeline.apply(
                f"{name}_low_exceeds_{place}_{part}", partial(_exceeds_or, len(low), place), *low, earliest=early
            )
            for place in range((1 << _LOW_BITS) - 1)
        ]
        blocks = {
            block: [
                pipeline.apply(
                    f"{name}_high_{which}_{block}_{part}", partial(function, digits, block), *high, earliest=early
                )
                for which, function in (("exceeds", _exceeds_or), ("is", _is_not_full))
            ]
            for block in range(own[0] >> _LOW_BITS, (own[-1] >> _LOW_BITS) + 1)
        }
        for lane in own:
            above, within = blocks[lane >> _LOW_BITS]
            place = lane % (1 << _LOW_BITS)
            inputs = [above, *([within, beyond[place]] if place < len(beyond) else [])]
            found.append(pipeline.apply(f"{name}_{lane}", _reaches, *inputs, earliest=earliest))
    return found


_DIRECT_BITS = 4
"""Upper bound on the bits of a number of which a look-up table computes whether it is greater than a constant."""


def _exceeds_or(digits: int, bound: int, *number: Value) -> Value:
    """Whether the number of so many bits is greater than a constant, or one of the bits after them is set."""
    return exceeds(Cat(*number[:digits]), bound) | Cat(*number[digits:]).any()


def _is_not_full(digits: int, wanted: int, *number: Value) -> Value:
    return (Cat(*number[:digits]) == wanted) & ~Cat(*number[digits:]).any()


def _reaches(above: Value, *within: Value) -> Value:
    return above | Cat(*within).all() if within else above
