# SPDX-License-Identifier: BSD-2-Clause
"""Where the words of a beat belong: behind those of the row that is open."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import commented, named
from utf8fpga.hdl.minimise import minimised_bits
from utf8fpga.hdl.registers import delayed, duplicate

LANES_PER_COUNT = 4
"""Lanes that are counted in the first cycle."""

MANY_LANES = 33
"""From here on larger groups share duplicates of registers, for area."""


def place_bits(lanes: int) -> int:
    """The bits of the number of a lane."""
    return max(1, (lanes - 1).bit_length())


def _blocks(lanes: int, size: int) -> list[range]:
    """The lanes in groups of neighbours."""
    return [range(first, min(first + size, lanes)) for first in range(0, lanes, size)]


def groups_of(lanes: int) -> list[range]:
    """The groups of neighbouring lanes that share duplicates of registers."""
    return _blocks(lanes, 4 if lanes < MANY_LANES else 8)


def _count(bits: Value) -> Value:
    """The number of bits that are set. A bit of it is one look-up table of up to four bits, where a sum is a chain."""
    numbers = {value: value.bit_count() for value in range(1 << len(bits))}
    return minimised_bits(numbers, len(bits).bit_length(), len(bits))(bits)


class Places(wiring.Component):
    """Where each word of a beat belongs, and which rows the beat closes.

    Latency: `latency` cycles: one to count in groups of lanes, one for each doubling of their size, and one to add the
    fill of the open row.

    Ports:
        keep, last, valid: a beat, and the lanes with a word.
        closes: the last row of the beat is closed; also without a beat.
        out_keep, places: the words, and for each the words in front of it since the open row began, modulo a power of
            two: see `Fold`.
        open_size: the words in the row that is open behind the beat, before `ends` closes it; also without a beat.
        full: the row that was open in front of the beat is full.
        ends: the last row of the beat is closed, although it is not full.
        out_last: the packet ends with it.
        begins_none: the beat begins no row; one cycle later.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.blocks = _blocks(lanes, LANES_PER_COUNT)
        self.latency = 2 + (len(self.blocks) - 1).bit_length()
        beat = {"keep": In(lanes), "last": In(1), "valid": In(1), "closes": In(1)}
        words = {"out_keep": Out(lanes), "places": Out(data.ArrayLayout(place_bits(lanes), lanes))}
        rows = {"open_size": Out(range(lanes)), "full": Out(1), "ends": Out(1), "begins_none": Out(1)}
        super().__init__(beat | words | rows | {"out_last": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ranks, total = self._ranks(m)
        keep, last, valid, closes = self.keep, self.last, self.valid, self.closes
        for cycle in range(self.latency - 1):
            keep = delayed(m, keep, f"keep_{cycle}")
            last = delayed(m, last, f"last_{cycle}", reset_less=False)
            valid = delayed(m, valid, f"valid_{cycle}", reset_less=False)
            closes = delayed(m, closes, f"closes_{cycle}", reset_less=False)
        places = Signal(self.places.shape(), name="place", reset_less=True)
        for number, group in enumerate(groups_of(self.lanes)):
            fill = duplicate(f"fill_{number}", range(self.lanes))
            next_fill, full = self._filled(m, f"next_fill_{number}", fill, total)
            m.d.sync += fill.eq(next_fill & ~closes.replicate(len(fill)))
            for lane in group:
                m.d.sync += places[lane].eq(fill + ranks[lane])
            if number == 0:
                self._close(m, fill, next_fill, full, last, valid, closes)
        keep = delayed(m, keep & valid.replicate(self.lanes), "is_placed", reset_less=False)
        m.d.comb += [self.places.eq(places), self.out_keep.eq(keep)]
        return m

    def _ranks(self, m: Module) -> tuple[list[Value], Value]:
        """For each lane the words of the beat in front of it, and the words in all, by prefix sums."""
        # Without a beat all counts are 0. A reset of them by logic would be a slow net.
        keep = named(m, "present", self.keep & self.valid.replicate(self.lanes))
        ranks: list[Value] = [Const(0)] * self.lanes
        sizes = data.ArrayLayout(range(LANES_PER_COUNT + 1), len(self.blocks))
        counts = Signal(sizes, name=f"counts_of_{LANES_PER_COUNT}")
        commented(Value.cast(counts), f"The words in each {LANES_PER_COUNT} lanes.")
        for number, block in enumerate(self.blocks):
            m.d.sync += counts[number].eq(_count(keep[block.start : block.stop]))
            for lane in block[1:]:
                ranks[lane] = delayed(m, _count(self.keep[block.start : lane]), f"rank_of_{LANES_PER_COUNT}_{lane}")
        span = LANES_PER_COUNT
        while span < self.lanes:
            span *= 2
            firsts = range(0, len(counts), 2)
            doubled = Signal(data.ArrayLayout(range(span + 1), len(firsts)), name=f"counts_of_{span}")
            for number, first in enumerate(firsts):
                second = counts[first + 1] if first + 1 < len(counts) else 0
                m.d.sync += doubled[number].eq(counts[first] + second)
            for lane in range(self.lanes):
                half = lane * 2 // span
                before = counts[half - 1] if half % 2 else 0
                ranks[lane] = delayed(m, (ranks[lane] + before)[: place_bits(span)], f"rank_of_{span}_{lane}")
            counts = doubled
        return ranks, counts[0]

    def _filled(self, m: Module, name: str, fill: Value, count: Value) -> tuple[Value, Value]:
        """The words in the last row when a beat has followed, and whether the row before that is full."""
        total, bits = fill + count, len(self.open_size)
        full = total >= self.lanes
        rest = total if self.lanes == 1 << bits else Mux(full, total - self.lanes, total)
        return named(m, name, rest[:bits]), full

    def _close(self, m: Module, fill: Value, size: Value, full: Value, last: Value, beat: Value, closes: Value) -> None:
        """Which rows a beat closes and begins."""
        size, was_open = delayed(m, size, "open_size"), delayed(m, fill.any(), "was_open")
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
