# SPDX-License-Identifier: BSD-2-Clause
"""Where the words of a beat belong: behind those of the row that is open."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import named
from utf8fpga.hdl.minimise import minimised_bits
from utf8fpga.hdl.registers import delayed, delayed_by, delayed_duplicate

MANY_LANES = 33
"""From here on groups are larger, for fewer duplicates, and for a cycle less: a remover of 64 lanes has one bank."""


def place_bits(lanes: int) -> int:
    """The bits of the number of a lane."""
    return max(1, (lanes - 1).bit_length())


def lanes_per_group(lanes: int) -> int:
    """The neighbouring lanes that are counted in the first cycle, and that share duplicates of registers."""
    return 4 if lanes < MANY_LANES else 8


def groups_of(lanes: int) -> list[range]:
    """The lanes in groups of neighbours."""
    size = lanes_per_group(lanes)
    return [range(first, min(first + size, lanes)) for first in range(0, lanes, size)]


def words_latency(lanes: int) -> int:
    """The cycles from a beat to its words at the network.

    They are one to count in groups, one for each doubling of the groups, one for the places, and one for the switches;
    with two lanes, whose network is short, one more until it is known which rows the beat closes.
    """
    return 3 + (len(groups_of(lanes)) - 1).bit_length() + (lanes == 2)


def _count(bits: Value) -> Value:
    """The number of bits that are set, by tables of at most six bits: less logic than a chain of sums."""
    if len(bits) > 4:
        low, high = _count(bits[:4]), _count(bits[4:])
        sums = {a | b << len(low): a + b for a in range(5) for b in range(len(bits) - 3)}
        return minimised_bits(sums, len(bits).bit_length(), len(low) + len(high))(Cat(low, high))
    numbers = {value: value.bit_count() for value in range(1 << len(bits))}
    return minimised_bits(numbers, len(bits).bit_length(), len(bits))(bits)


def _step_of(lane: int) -> int:
    """The step of the network in which this lane is in the middle of a block; -1 for lane 0."""
    return (lane & -lane).bit_length() - 1


def middles(lanes: int, direction: Any) -> dict[str, Any]:
    """The ports ``middles_0`` and so on, for the blocks that have words."""
    blocks = {step: -(-lanes // (2 << step)) for step in range(place_bits(lanes))}
    return {f"middles_{step}": direction(data.ArrayLayout(step + 1, count)) for step, count in blocks.items()}


def front_lanes(count: Value, lanes: int) -> Value:
    """The lanes in front of lane `count`."""
    if lanes == 1:
        return Const(0, 1)
    masks = {size: (1 << size) - 1 for size in range(min(lanes, 1 << len(count)))}
    return minimised_bits(masks, lanes, len(count))(count)


class Places(wiring.Component):
    """Where the words of a beat belong, and which rows the beat closes.

    The place of a word is the number of words in front of it since the open row began. The `Network` asks for few of
    them: in step k, for each block of 2 << k lanes, the place of the first word behind its middle, modulo 2 << k.

    Latency: `latency` cycles to `middles_0`: one to count in groups of lanes, one for each doubling of their size, and
    one to add the fill of the open row. With two lanes the places come a cycle later, the ports about rows do not.

    Ports:
        keep, last, valid: a beat, and the lanes with a word.
        closes: the last row of the beat is closed; also without a beat.
        middles_0, middles_1, ...: the places for the steps of the network. Those of the first two steps come together,
            since a step behind the first one has a register more in the network; then each comes a cycle later.
        open_size: the words in the row that is open behind the beat, before `ends` closes it; also without a beat.
        full: the first row that the beat fills is full.
        ends: the last row of the beat is closed, although it is not full.
        out_last: the packet ends with it.
        begins_none: a beat, and it begins no row; one cycle later.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes, self.groups = lanes, groups_of(lanes)
        self.latency = words_latency(lanes) - 1
        self.extra_cycles = int(lanes == 2)
        self.count_cycles = self.latency - 1 - self.extra_cycles
        # The level of sums at which the counts of no beat become 0.
        self.gated = min(1, self.count_cycles - 1)
        beat = {"keep": In(lanes), "last": In(1), "valid": In(1), "closes": In(1)}
        rows = {"open_size": Out(range(lanes)), "full": Out(1), "ends": Out(1), "begins_none": Out(1)}
        super().__init__(beat | middles(lanes, Out) | rows | {"out_last": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last = delayed_by(m, self.count_cycles, self.last, "last", reset_less=False)
        closes = delayed_by(m, self.count_cycles, self.closes, "closes", reset_less=False)
        valid = delayed_by(m, self.gated, self.valid, "valid", reset_less=False)
        ranks, total = self._ranks(m, valid)
        valid = delayed_by(m, self.count_cycles - self.gated, valid, "late_valid", reset_less=False)
        fill = Signal(range(self.lanes))
        next_fill, full = self._filled(m, fill, total)
        m.d.sync += fill.eq(next_fill & ~closes.replicate(len(fill)))
        self._close(m, fill, next_fill, full, last, valid, closes)
        for step in range(place_bits(self.lanes)):
            # Later steps have time for a register behind the fill, which is far from them, and one behind their places.
            cycles, registers = max(0, step - 1 - (step > 2)), 1 + (step > 2) + self.extra_cycles
            late_fill = delayed_by(m, cycles, fill, f"fill_of_{step}")
            for number, middle in enumerate(getattr(self, f"middles_{step}")):
                lane = (2 * number + 1) << step
                rank = delayed_by(m, cycles, ranks[lane] if lane < self.lanes else total, f"rank_{lane}")
                place = (late_fill + rank)[: step + 1]
                m.d.comb += middle.eq(delayed_by(m, registers, place, f"place_{lane}"))
        return m

    def _ranks(self, m: Module, valid: Value) -> tuple[list[Value], Value]:
        """For each lane the words of the beat in front of it, modulo what its step needs; and the words in all.

        Args:
            valid: there is a beat, `gated` cycles after it came.
        """
        size = lanes_per_group(self.lanes)
        counts = [_count(self.keep[group.start : group.stop]) for group in self.groups]
        ranks = [_count(self.keep[lane - lane % size : lane]) for lane in range(self.lanes)]
        for level in range(self.count_cycles):
            span = size << level
            if level > 0:
                counts = [sum(counts[first : first + 2]) for first in range(0, len(counts), 2)]
            if level == self.gated:
                # Without a beat there is no word. A reset of the counts in front of this would be a slow net.
                counts = [count & valid.replicate(len(count)) for count in counts]
            # As many bits as the steps of the lanes need.
            needed = (rank[: _step_of(lane) + 1] for lane, rank in enumerate(ranks))
            ranks = [delayed(m, rank, f"rank_of_{span}_{lane}") for lane, rank in enumerate(needed)]
            for number in range(0, len(counts) - 1, 2):
                # The ranks of many lanes need it, so they have a register of their own.
                first = span * (number + 1)
                before = delayed_duplicate(m, counts[number], f"count_before_{first}", reset_less=True)
                for lane in range(first, min(first + span, self.lanes)):
                    ranks[lane] = ranks[lane] + before
            name, reset_less = f"count_of_{span}", level < self.gated
            counts = [delayed(m, count, f"{name}_{n}", reset_less=reset_less) for n, count in enumerate(counts)]
        [total] = counts
        return ranks, total

    def _filled(self, m: Module, fill: Signal, count: Value) -> tuple[Value, Value]:
        """The words in the row that is open behind a beat, and whether the beat fills a row."""
        total, bits = fill + count, len(self.open_size)
        full = total >= self.lanes
        rest = total if self.lanes == 1 << bits else Mux(full, total - self.lanes, total)
        return named(m, "next_fill", rest[:bits]), full

    def _close(self, m: Module, fill: Value, size: Value, full: Value, last: Value, beat: Value, closes: Value) -> None:
        """Which rows a beat closes and begins."""
        size, was_open = delayed(m, size, "open_size", reset_less=False), delayed(m, fill.any(), "was_open")
        full, last = delayed(m, full, "is_full", reset_less=False), delayed(m, last, "is_last", reset_less=False)
        beat, closed = delayed(m, beat, "is_valid", reset_less=False), delayed(m, closes, "is_closed", reset_less=False)
        comment = "After this beat a row has words, or a packet has ended without a word to close a row."
        has_open_row = named(m, "has_open_row", size.any() | (last & ~full), comment)
        comment = "If a row was open, the beat begins another one only if it filled that one and words are left."
        begins = named(m, "begins", Mux(was_open, full & has_open_row, full | has_open_row), comment)
        m.d.comb += [
            self.open_size.eq(size),
            self.full.eq(full),
            self.ends.eq(has_open_row & closed),
            self.out_last.eq(last),
            self.begins_none.eq(delayed(m, beat & ~begins, "began_none", reset_less=False)),
        ]
