# SPDX-License-Identifier: BSD-2-Clause
"""Numbers that are accumulated over the beats of a packet, with one look-up table between registers.

The low bits are added one per cycle, each a cycle after the one below it, so a beat per cycle can be added. They are so
many that a carry out of them is rare: never in the first beat of a packet, and not again in the next few beats. So the
bits above count carries in groups, which are reset one cycle late, when they have been copied.
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Signal, Value

from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.pipeline import ZERO, Staged
from utf8fpga.hdl.validator.pipeline import TapPipeline, hop, majority, parity

_RARE = 3
"""Binary logarithm of the lower bound on the beats from one carry out of the low bits to the next.

1 would be enough: then no carry is in the first two beats of a packet, nor in the beat after a carry, and whether a
group is full is known two cycles after the carry that changes it.
"""

_GROUP = 3
"""Bits that are counted together."""

PART = 8
"""Bits of a number that are set, or reset, by one register."""


class Tally(NamedTuple):
    """A number that is accumulated over a packet.

    Attributes:
        total: the number with the current beat; all ones if it does not fit. It is in parts of `PART` bits, the lowest
            first, each of which is valid a cycle after the one before it or later.
        start: with an offset, the number before the current beat, plus the offset, in the same way; empty without one.
    """

    total: list[Staged]
    start: list[Staged]


def tally_of(
    pipeline: TapPipeline,
    first: Staged,
    name: str,
    amount: list[Staged],
    width: int,
    offset: list[Staged] | None = None,
) -> Tally:
    """Accumulate a number.

    Args:
        amount: what a beat adds, bit 0 first.
        width: the bits of the result, of which all are ones if the number does not fit.
        offset: a number that is added to `start`, in two's complement; not more than `amount`, and the sum is not
            negative.
    """
    # With one bit more the number is exact until both results are known not to fit.
    bits = max(width, len(amount)) + 1
    low = min(bits, len(amount) + _RARE)
    total: list[Staged] = []
    start: list[Staged] = []
    carry = start_carry = Staged(Const(0, 1), 0)
    for place in range(low):
        given = amount[place] if place < len(amount) else ZERO
        shift = ZERO if offset is None else offset[min(place, len(offset) - 1)]
        stage = max(each.stage for each in (first, given, carry, shift, start_carry))
        kept = commented(
            Signal(name=f"{name}_{place}", reset_less=True), f"Of the packet so far, the low bits of: {name}."
        )
        before = Staged(kept & ~pipeline.at(first, stage), stage)
        parts = (before, given, carry)
        sum_ = parity(*(pipeline.at(each, stage) for each in parts))
        pipeline.add(kept.eq(sum_), enable=pipeline.at(pipeline.valid, stage))
        total.append(Staged(kept, stage + 1))
        carry = pipeline.apply(f"{name}_{place}_carry", majority, *parts)
        if offset is not None:
            parts = (before, shift, start_carry)
            start.append(pipeline.apply(f"{name}_{place}_start", parity, *parts))
            start_carry = pipeline.apply(f"{name}_{place}_start_carry", majority, *parts)
    # The start is less than the total, so the bits above are the same or less by one.
    borrow = ZERO
    if offset is not None:
        borrow = pipeline.apply(
            f"{name}_borrow",
            lambda carry, start_carry, sign: (sign & carry) | ((sign | carry) & ~start_carry),
            carry,
            start_carry,
            offset[-1],
        )
    counts = pipeline.apply(f"{name}_counts", Value.__and__, carry, pipeline.valid)
    for number, place in enumerate(range(low, bits, _GROUP)):
        size = min(_GROUP, bits - place)
        group = commented(
            Signal(size, name=f"{name}_group_{number}", reset_less=True), "It counts the carries out of the bits below."
        )
        pipeline.add(group.eq(group + 1), enable=counts.value)
        # One cycle late: the first beat of the next packet has no carry.
        pipeline.add(group.eq(0), enable=pipeline.clears(counts.stage + 1))
        value = Staged(group, counts.stage + 1)
        total += [Staged(bit, value.stage, f"{name}_{place + at}") for at, bit in enumerate(group)]
        is_full = Signal(name=f"{name}_full_{number}", reset_less=True)
        pipeline.add(is_full.eq(group.all()))
        if offset is not None:
            less = pipeline.apply(f"{name}_start_{number}", lambda value, borrow: value - borrow, value, borrow)
            start += [Staged(bit, less.stage, f"{name}_start_{place + at}") for at, bit in enumerate(less.value[:size])]
            borrow = pipeline.apply(
                f"{name}_borrow_{number}", lambda value, borrow: borrow & ~value.any(), value, borrow
            )
        # The group was full before this carry: it changed last several beats ago.
        counts = pipeline.apply(f"{name}_counts_{number}", Value.__and__, counts, Staged(is_full, counts.stage))
    over = commented(Signal(name=f"{name}_over", reset_less=True), "The number does not fit its bits.")
    pipeline.add(over.eq(1), enable=counts.value)
    pipeline.add(over.eq(0), enable=pipeline.clears(counts.stage + 1))
    exceeds = hop(pipeline, Staged(over, counts.stage + 1))
    return Tally(
        _saturated(pipeline, f"{name}_total", total, exceeds, width),
        [] if offset is None else _saturated(pipeline, f"{name}_start", start, exceeds, width),
    )


def _saturated(pipeline: TapPipeline, name: str, bits: list[Staged], over: Staged, width: int) -> list[Staged]:
    """The parts of the number, or all ones if it does not fit.

    What sets the registers of a part is a register of its own, a cycle after that of the part before it: the wire from
    one register to those of all bits would be long.
    """
    exceeds = hop(pipeline, pipeline.apply(f"{name}_exceeds", lambda *bits: Cat(*bits).any(), over, *bits[width:]))
    return [
        pipeline.apply(
            f"{name}_{place}",
            lambda *bits: Cat(*bits),
            *bits[place : min(place + PART, width)],
            preset=Staged(pipeline.at(exceeds, exceeds.stage + number), exceeds.stage + number),
        )
        for number, place in enumerate(range(0, width, PART))
    ]
