# SPDX-License-Identifier: BSD-2-Clause
"""Numbers that are accumulated over the beats of a packet, by pipelined adders.

A number has parts of a few bits. The carry from one part to the next is a register, so each part is added one cycle
after the one below it, also in packets of one beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from utf8fpga.hdl.validator.pipeline import Pipeline, Staged

__all__ = ["Tally", "tally_of"]

PART = 16
"""Bits that are added in a cycle."""


class Tally(NamedTuple):
    """A number that is accumulated over a packet.

    Attributes:
        total: the number with the current beat; all ones if it does not fit.
        start: with an offset, the number before the current beat, plus the offset; all ones if it does not fit.
    """

    total: Staged
    start: Staged | None


def tally_of(
    pipeline: Pipeline, name: str, amount: Sequence[Staged], width: int, offset: Sequence[Staged] | None = None
) -> Tally:
    """Accumulate a number.

    Args:
        pipeline: the pipeline.
        name: the first part of the names of its registers.
        amount: what a beat adds, bit 0 first.
        width: the bits of the result, of which all are ones if the number does not fit.
        offset: a number that is added to `start`, in two's complement; the sum is not negative.
    """
    # With one bit more the number is exact until both results are known not to fit.
    bits = max(width, len(amount), len(offset or ())) + 1
    stage = max(each.stage for each in (*amount, *(offset or ())))
    stage = max(stage, 1)
    parts = [range(low, min(low + PART, bits)) for low in range(0, bits, PART)]
    sums: list[Staged] = []
    starts: list[Staged] = []
    carry: Value = Const(0, 1)
    start_carry: Value = Const(0, 1)
    over: Value = Const(0, 1)
    for number, part in enumerate(parts):
        valid, clears = pipeline.at(pipeline.valid, stage), pipeline.clears(stage)
        kept = Signal(len(part), name=f"{name}_{number}")
        given = [pipeline.at(bit, stage) for bit in amount[part.start : part.stop]]
        total = _sum(kept, Cat(*given), carry)
        pipeline.registers.add(kept.eq(total), enable=valid)
        pipeline.registers.add(kept.eq(0), enable=clears)
        carry = Signal(name=f"{name}_{number}_carry", reset_less=True)
        sum_ = Signal(len(part), name=f"{name}_{number}_sum", reset_less=True)
        pipeline.registers.add(Cat(sum_, carry).eq(total))
        sums.append(Staged(sum_, stage + 1))
        if offset is not None:
            sign = offset[-1]
            # The uppermost bit also tells whether the start has one bit more.
            given = [pipeline.at(offset[bit] if bit < len(offset) else sign, stage) for bit in part]
            begin = _sum(kept, Cat(*given), start_carry)
            start_carry = Signal(name=f"{name}_{number}_start_carry", reset_less=True)
            start = Signal(len(part), name=f"{name}_{number}_start", reset_less=True)
            pipeline.registers.add(Cat(start, start_carry).eq(begin))
            starts.append(Staged(start, stage + 1))
        stage += 1
    over = Signal(name=f"{name}_over")
    valid, clears = pipeline.at(pipeline.valid, stage), pipeline.clears(stage)
    pipeline.registers.add(over.eq(over | carry), enable=valid)
    pipeline.registers.add(over.eq(0), enable=clears)
    total = Staged(_saturated(pipeline, f"{name}_total", sums, over | carry, stage, width), stage + 1)
    if offset is None:
        return Tally(total, None)
    sign = pipeline.at(offset[-1], stage)
    return Tally(
        total,
        # Without a carry out of a negative offset, or with one out of another, the start has one bit more or less.
        Staged(_saturated(pipeline, f"{name}_start", starts, over | (start_carry & ~sign), stage, width), stage + 1),
    )


def _sum(kept: Value, given: Value, carry: Value) -> Value:
    """The sum with its carry, as one adder."""
    if isinstance(carry, Const):
        return (kept + given)[: len(kept) + 1]
    if not len(given):
        return (kept + carry)[: len(kept) + 1]
    return (Cat(carry, kept) + Cat(carry, given))[1 : len(kept) + 2]


def _saturated(
    pipeline: Pipeline, name: str, parts: Sequence[Staged], over: Value, stage: int, width: int
) -> Signal:
    """A register with the number in the parts, or all ones."""
    value = Cat(*(pipeline.at(part, stage) for part in parts))
    result = Signal(width, name=name, reset_less=True)
    pipeline.registers.add(result.eq(Mux(over | value[width:].any(), (1 << width) - 1, value[:width])))
    return result
