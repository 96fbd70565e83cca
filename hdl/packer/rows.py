# SPDX-License-Identifier: BSD-2-Clause
"""In which lane and in which row each beat of a packer begins, and which rows it closes."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from utf8fpga.hdl.packer.route import Number
from utf8fpga.hdl.pipeline import Pipeline, Staged, latest

_CHUNK = 2
"""Bits of a register with feedback that are computed in one cycle."""


class Begin:
    """The lane in which each beat begins: a register with feedback.

    The lowest bits of the sum are computed first, two in a cycle, if the lanes are a power of two. So the feedback has
    few inputs.

    Args:
        pipeline: the pipeline.
        lanes: words per row.
        total: the number of words of the beat.
        leaves: the next beat begins in lane 0 of a row.

    Attributes:
        base: the lane in which the beat begins.
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
            base = pipeline.state(f"base_{start}", size)
            carried = (pipeline.at(bit, cycle) for bit in carry)
            value = sum(carried, base + Cat(*(pipeline.at(bit, cycle) for bit in words)))
            sum_ = pipeline.wire(f"sum_{start}", size + 1, value)
            self._drive(base, sum_[:size], cycle)
            self.rest += [pipeline.register(f"rest_{start + bit}", sum_[bit], cycle) for bit in range(size)]
            carry = [pipeline.register(f"carry_{start}", sum_[size], cycle)]
        return carry

    def _add_modulo(self, lanes: int, total: Number) -> Staged:
        """Add the words to the lane, modulo the lanes; whether the sum reaches them."""
        pipeline, cycle = self._pipeline, latest(total)
        size = len(total) - 1
        base = pipeline.state("base_0", size)
        words = Cat(*(pipeline.at(bit, cycle) for bit in total))
        sum_ = pipeline.wire("sum_0", size + 1, base + words)
        full = pipeline.wire("is_full", 1, sum_ >= lanes)
        rest = pipeline.wire("rest", size, Mux(full, sum_ - lanes, sum_))
        self._drive(base, rest, cycle)
        self.rest = [pipeline.register(f"rest_{bit}", rest[bit], cycle) for bit in range(size)]
        return pipeline.register("carry_0", full, cycle)

    def _drive(self, base: Signal, following: Value, cycle: int) -> None:
        pipeline = self._pipeline
        pipeline.add(base.eq(following & ~pipeline.at(self._leaves, cycle).replicate(len(base))))
        self.base += [Staged(bit, cycle) for bit in base]


class ClosedRows:
    """The rows that each beat closes, and the stream of closed rows, at most one in a cycle.

    A beat can close two rows: the first because it is full, the second because its packet ends there. The second one is
    announced a cycle later. Only a beat that closes no row can precede another one that closes two, so rows do not
    accumulate.

    Args:
        pipeline: the pipeline.
        begin: where each beat begins.
        ends: the beat ends its packet.
        idle: there is no beat, and the row that has words is closed.

    Attributes:
        decided: the cycle in which it is known which rows the beat closes.
        closes, closes_next: the beat closes a row; it closes two.
        pending: register with feedback, a row that an earlier beat closed has not been announced.
        later: register, the contents of that row, as in `filled`.
        closed: a row is announced.
        filled: its contents: the number of its words modulo the lanes, then whether it is full and whether its packet
            ends with it, a bit each.
    """

    def __init__(self, pipeline: Pipeline, begin: Begin, ends: Staged, idle: Staged) -> None:
        overflow, rest = begin.overflow, begin.rest
        waits = pipeline.apply("waits", lambda *bits: _any(*bits[:-1]) & bits[-1], *begin.base, idle)
        full = pipeline.apply("full", _any, *overflow)
        self.closes = pipeline.apply("closes", _any, *overflow, ends, waits)
        low, late = rest[:-2], rest[-2:]
        if low:
            late = [*late, pipeline.apply("rest_low", _any, *low)]
        self.closes_next = pipeline.apply(
            "closes_next",
            lambda ends, *bits: ends & _any(*bits[: len(overflow)]) & _any(*bits[len(overflow) :]),
            ends,
            *overflow,
            *late,
        )
        decided = self.decided = latest([self.closes, self.closes_next])
        closes, closes_next, is_full, is_end = (
            pipeline.at(each, decided) for each in (self.closes, self.closes_next, full, ends)
        )
        self.one = pipeline.register("closes_one", closes ^ closes_next, decided)
        self.two = pipeline.register("closes_two", closes_next, decided)
        words = Cat(*(pipeline.at(bit, decided) for bit in rest))
        own = Cat(words, is_full, is_end & ~closes_next)
        self.pending = pending = pipeline.state("pending", 1)
        pipeline.add(pending.eq(closes_next | (pending & closes)))
        self.later = later = pipeline.state("later", len(own), cleared=False)
        pipeline.add(later.eq(Mux(closes_next, Cat(words, Const(0, 1), Const(1, 1)), own)))
        self.closed = pipeline.register("closed", closes | pending, decided)
        self.filled = pipeline.register("filled", Mux(pending, later, own), decided)


def row_numbers(pipeline: Pipeline, closed: ClosedRows, depth: int, code: int, name: str) -> tuple[Number, Number]:
    """The numbers of the row in which each beat begins and of the next one, modulo `depth` and combined with `code`.

    Args:
        pipeline: the pipeline.
        closed: the rows that the beats close.
        depth: a power of two.
        code: the numbers are exclusive ors with it. Synthesis does not merge registers whose codes differ.
        name: the suffix of the registers' names.
    """
    step = [closed.one, closed.two]
    row, following = (
        _row_number(pipeline, f"{prefix}_{name}", (depth - 1).bit_length(), ahead, code, step)
        for ahead, prefix in enumerate(("row", "next_row"))
    )
    return row, following


def _row_number(pipeline: Pipeline, name: str, size: int, first: int, code: int, step: Number) -> Number:
    """A count that starts at `first`: two bits in each cycle, like the lane in which a beat begins."""
    result: list[Staged] = []
    for start in range(0, size, _CHUNK):
        width = min(_CHUNK, size - start)
        low = (1 << width) - 1
        part = code >> start & low
        row = pipeline.state(f"{name}_{start}", width, init=first >> start & low ^ part)
        cycle = latest(step)
        added = Cat(*(pipeline.at(bit, cycle) for bit in step))
        sum_ = pipeline.wire(f"{name}_sum_{start}", width + 1, (row ^ part) + added)
        pipeline.add(row.eq(sum_[:width] ^ part))
        result += [Staged(bit, cycle) for bit in row]
        step = [pipeline.register(f"{name}_carry_{start}", sum_[width], cycle)]
    return result


def _any(*bits: Value) -> Value:
    return Cat(*bits).any()
