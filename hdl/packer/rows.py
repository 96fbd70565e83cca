# SPDX-License-Identifier: BSD-2-Clause
"""In which lane and in which row each beat of a packer begins, and which rows it closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from utf8fpga.hdl.packer.route import Number
from utf8fpga.hdl.pipeline import Pipeline, Staged, latest

_CHUNK = 2
"""Bits of a register with feedback that are computed in one cycle."""

_BASE, _REST, _CARRY = (
    "Bits of the lane in which the beat begins.",
    "Bits of the number of words in the last row that the beat reaches; 0 if the row before that is just full.",
    "A carry; out of the highest bits: the beat fills the row in which it begins.",
)
"""Comments on registers."""


class Begin:
    """The lane in which each beat begins: a register with feedback.

    The lowest bits of the sum are computed first, two in a cycle, if the lanes are a power of two. So the feedback has
    few inputs.

    Args:
        leaves: the next beat begins in lane 0 of a row.

    Attributes:
        rest: the words in the last row that it reaches, those of earlier beats included; 0 if the row before that is
            just full.
        overflow: values of which one is 1 if the beat fills the row in which it begins.
    """

    def __init__(self, pipeline: Pipeline, lanes: int, total: Number, leaves: Staged) -> None:
        self._pipeline, self._leaves = pipeline, leaves
        steps = (lanes - 1).bit_length()
        self.base: list[Staged] = []
        self.rest: list[Staged] = []
        if lanes == 1 << steps:
            carry = self._add_chunks(total[:steps])
            # The beat fills its row if there is a carry, or if it has as many words as there are lanes.
            self.overflow = [*carry, total[steps]]
        else:
            self.overflow = [self._add_modulo(lanes, total)]

    def _add_chunks(self, total: Number) -> list[Staged]:
        """Add the words to the lane, modulo a power of two; the carry."""
        pipeline = self._pipeline
        carry: list[Staged] = []
        for start in range(0, len(total), _CHUNK):
            words = total[start : start + _CHUNK]
            size, cycle = len(words), latest([*words, *carry])
            base = pipeline.state(f"base_{start}", size, comment=_BASE)
            carried = (pipeline.at(bit, cycle) for bit in carry)
            value = sum(carried, base + Cat(*(pipeline.at(bit, cycle) for bit in words)))
            sum_ = pipeline.wire(f"sum_{start}", size + 1, value)
            self._drive(base, sum_[:size], cycle)
            self.rest += [
                pipeline.register(f"rest_{start + bit}", sum_[bit], cycle, comment=_REST) for bit in range(size)
            ]
            carry = [pipeline.register(f"carry_{start}", sum_[size], cycle, comment=_CARRY)]
        return carry

    def _add_modulo(self, lanes: int, total: Number) -> Staged:
        """Add the words to the lane, modulo the lanes; whether the sum reaches them."""
        pipeline, cycle = self._pipeline, latest(total)
        size = len(total) - 1
        base = pipeline.state("base_0", size, comment=_BASE)
        words = Cat(*(pipeline.at(bit, cycle) for bit in total))
        sum_ = pipeline.wire("sum_0", size + 1, base + words)
        full = pipeline.wire("is_full", 1, sum_ >= lanes)
        rest = pipeline.wire("rest", size, Mux(full, sum_ - lanes, sum_))
        self._drive(base, rest, cycle)
        self.rest = [pipeline.register(f"rest_{bit}", rest[bit], cycle, comment=_REST) for bit in range(size)]
        return pipeline.register("carry_0", full, cycle, comment=_CARRY)

    def _drive(self, base: Signal, following: Value, cycle: int) -> None:
        pipeline = self._pipeline
        pipeline.add(base.eq(following & ~pipeline.at(self._leaves, cycle).replicate(len(base))))
        self.base += [Staged(bit, cycle, f"begins_{number}") for number, bit in enumerate(base, len(self.base))]


class ClosedRows:
    """The rows that each beat closes, and the stream of closed rows, at most one in a cycle.

    A beat can close two rows: the first because it is full, the second because its packet ends there. The second one is
    announced a cycle later. Only a beat that closes no row can precede another one that closes two, so rows do not
    accumulate.

    Args:
        idle: there is no beat, and the row that has words is closed.

    Attributes:
        decided: the cycle in which it is known which rows the beat closes.
        closes, closes_next: the beat closes a row; it closes two.
        pending: register with feedback, a row that an earlier beat closed has not been announced.
        later: register, the contents of that row, as in `filled`.
        filled: its contents: the number of its words modulo the lanes, then whether it is full and whether its packet
            ends with it, a bit each.
    """

    def __init__(self, pipeline: Pipeline, begin: Begin, ends: Staged, idle: Staged) -> None:
        overflow, rest = begin.overflow, begin.rest
        waits = pipeline.apply(
            "waits",
            lambda *bits: _any(*bits[:-1]) & bits[-1],
            *begin.base,
            idle,
            comment="There is no beat, so the row that has words is closed.",
        )
        full = pipeline.apply("full", _any, *overflow, comment="The beat fills the row in which it begins.")
        self.closes = pipeline.apply("closes", _any, *overflow, ends, waits, comment="The beat closes a row.")
        low, late = rest[:-2], rest[-2:]
        if low:
            late = [*late, pipeline.apply("rest_low", _any, *low)]
        self.closes_next = pipeline.apply(
            "closes_next",
            lambda ends, *bits: ends & _any(*bits[: len(overflow)]) & _any(*bits[len(overflow) :]),
            ends,
            *overflow,
            *late,
            comment="The beat closes two rows: the first is full, and its packet ends in the second.",
        )
        decided = self.decided = latest([self.closes, self.closes_next])
        closes, closes_next, is_full, is_end = (
            pipeline.at(each, decided) for each in (self.closes, self.closes_next, full, ends)
        )
        words = Cat(*(pipeline.at(bit, decided) for bit in rest))
        own = Cat(words, is_full, is_end & ~closes_next)
        waiting = "A row that an earlier beat closed has not been announced."
        self.pending = pending = pipeline.state("pending", 1, comment=waiting)
        pipeline.add(pending.eq(closes_next | (pending & closes)))
        contents = "its words modulo the lanes, whether it is full, whether its packet ends."
        self.later = later = pipeline.state("later", len(own), cleared=False, comment=f"Of that row {contents}")
        pipeline.add(later.eq(Mux(closes_next, Cat(words, Const(0, 1), Const(1, 1)), own)))
        self.closed = pipeline.register("closed", closes | pending, decided, comment="A row is announced.")
        filled = Mux(pending, later, own)
        self.filled = pipeline.register("filled", filled, decided, comment=f"Of the announced row {contents}")


@dataclass(frozen=True)
class RowCode:
    """How rows are numbered: consecutive ones have consecutive states of a shift register with feedback.

    The number of the next row needs no carry: all its bits but one are those of the number before it.

    Attributes:
        size: bits of a row; there are 2 to the power of it.
        start: the index of the state of row 0.
        inverted: a row is the complement of the state.
    """

    size: int
    start: int = 0
    inverted: bool = False

    def row(self, number: int) -> int:
        """The code of a row, given its number modulo the rows."""
        states = _states(self.size)
        return states[(self.start + number) % len(states)] ^ -self.inverted & (1 << self.size) - 1

    def pair(self, number: int) -> int:
        """The codes of a row and of the next one: those bits of both that differ from each other."""
        return self.row(number) | self.row(number + 1) >> self.size - 1 << self.size

    def next_bit(self, row: Value) -> Value:
        """The highest bit of the next row's code; the others are the upper bits of this one."""
        return _feedback([~bit for bit in row] if self.inverted else list(row)) ^ Const(self.inverted, 1)


_TAPS = {4: 3, 5: 2, 6: 1}
"""By the bits of a state, the bit that is added to the lowest one to make the bit that is shifted in."""


def _feedback(state: Sequence[Value]) -> Value:
    """The bit that is shifted in.

    With the last term there are as many states as the bits have values: without it all zeros would follow itself.
    """
    return state[0] ^ state[_TAPS[len(state)]] ^ ~Cat(*state[1:]).any()


@lru_cache
def _states(size: int) -> tuple[int, ...]:
    found = [0]
    while len(found) < 1 << size:
        state = found[-1]
        bit = (state ^ state >> _TAPS[size] ^ (state < 2)) & 1
        found.append(state >> 1 | bit << size - 1)
    return tuple(found)


def row_numbers(pipeline: Pipeline, closed: ClosedRows, codes: Sequence[RowCode], until: int) -> list[Staged]:
    """Per code a register with feedback: the row in which each beat begins and the next one, see `RowCode.pair`.

    Args:
        until: the cycle in which they are needed. The later that is, the more duplicates there are of what they depend
            on.
    """
    cycle = max(closed.decided + 1, until - 1)
    any_closes, two_close = (spread(pipeline, each, cycle, len(codes)) for each in (closed.closes, closed.closes_next))
    found: list[Staged] = []
    for number, code in enumerate(codes):
        comment = "Code of the row in which the beat begins, and above it the highest bit of that of the next row."
        pair = pipeline.state(f"row_{number}", code.size + 1, init=code.pair(0), cleared=False, comment=comment)
        following = Cat(pair[1:], code.next_bit(pair[1:]))
        after = Cat(following[1:], code.next_bit(following[1:]))
        is_any, are_two = (each[number * len(each) // len(codes)].value for each in (any_closes, two_close))
        pipeline.add(pair.eq(Mux(are_two, after, following)), enable=is_any)
        found.append(Staged(pair, cycle))
    return found


def spread(pipeline: Pipeline, value: Staged, until: int, wanted: int) -> list[Staged]:
    """Up to so many duplicates of a bit, from a tree of registers.

    Of two registers that hold the same value one holds the complement, so that synthesis does not merge them. Those of
    the last cycle hold the value itself, as an enable needs it.
    """
    start = max(value.stage, until - 1 - (wanted - 1).bit_length())
    found = [Staged(pipeline.at(value, start), start, value.name)]
    for cycle in range(start, until):
        doubles = cycle < until - 1 and len(found) < wanted
        registers = [
            pipeline.register(f"{value.name}_{2 * number + inverted}", each.value ^ inverted, cycle, init=inverted)
            for number, each in enumerate(found)
            for inverted in range(1 + doubles)
        ]
        found = [
            Staged(~each.value, each.stage) if doubles and number % 2 else each for number, each in enumerate(registers)
        ]
    return found


def _any(*bits: Value) -> Value:
    return Cat(*bits).any()
