# SPDX-License-Identifier: BSD-2-Clause
"""Where the words of a beat belong: behind those of the row that is open."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import named
from utf8fpga.hdl.minimise import minimised_word
from utf8fpga.hdl.registers import delayed, duplicate

GROUP = 4
"""Lanes that are counted in the first cycle, and that share duplicates of registers."""


def place_bits(lanes: int) -> int:
    """The bits of the number of a lane."""
    return max(1, (lanes - 1).bit_length())


def groups_of(lanes: int) -> list[range]:
    """The lanes in groups of neighbours."""
    return [range(first, min(first + GROUP, lanes)) for first in range(0, lanes, GROUP)]


def _count(bits: Value) -> Value:
    """The number of bits that are set. A bit of it is one look-up table of up to four bits, where a sum is a chain."""
    numbers = {value: value.bit_count() for value in range(1 << len(bits))}
    return minimised_word(numbers, len(bits).bit_length(), len(bits))(bits)


class Ranks(wiring.Component):
    """How many words a beat has in front of each lane, and in all.

    Latency: `latency` cycles: one for the groups of lanes by themselves, then one for each doubling of their size.

    Ports:
        keep: the lanes with a word.
        valid: there is a beat; otherwise `total` is 0.
        ranks: for each lane the words in front of it.
        total: the words of the beat.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.latency = 1 + (len(groups_of(lanes)) - 1).bit_length()
        super().__init__(
            {
                "keep": In(lanes),
                "valid": In(1),
                "ranks": Out(data.ArrayLayout(range(lanes), lanes)),
                "total": Out(range(lanes + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        blocks = groups_of(self.lanes)
        ranks = [Const(0)] * self.lanes
        counts = Signal(data.ArrayLayout(range(GROUP + 1), len(blocks)), name=f"counts_of_{GROUP}")
        # Without a beat, counts are 0. A reset of them by logic would be a slow net.
        keep = self.keep & self.valid.replicate(self.lanes)
        for number, block in enumerate(blocks):
            m.d.sync += counts[number].eq(_count(keep[block.start : block.stop]))
            for lane in block:
                ranks[lane] = delayed(m, _count(self.keep[block.start : lane]), f"rank_of_{GROUP}_{lane}")
        span = GROUP
        while span < self.lanes:
            span *= 2
            pairs = range(0, len(counts), 2)
            doubled = Signal(data.ArrayLayout(range(span + 1), len(pairs)), name=f"counts_of_{span}")
            for number, first in enumerate(pairs):
                both = counts[first] + (counts[first + 1] if first + 1 < len(counts) else 0)
                m.d.sync += doubled[number].eq(both)
            for lane in range(self.lanes):
                block = lane * 2 // span
                before = counts[block - 1] if block % 2 else Const(0)
                ranks[lane] = delayed(m, (ranks[lane] + before)[: place_bits(span)], f"rank_of_{span}_{lane}")
            counts = doubled
        m.d.comb += [self.ranks[lane].eq(rank) for lane, rank in enumerate(ranks)]
        m.d.comb += self.total.eq(counts[0])
        return m


class OpenRow(wiring.Component):
    """The places of a beat's words behind those of the open row, and the rows that the beat closes.

    Latency: one cycle for the places, one more for the rows.

    Ports:
        keep, ranks, total, last, valid: a beat and its `Ranks`.
        closes: the last row of the beat is closed; also without a beat.
        out_keep, places: the words, and for each the words in front of it since the open row began, modulo a power of
            two: see `Fold`.
        size: the words in the row that is open behind the beat, before `ends` closes it; also without a beat.
        full: the row that was open in front of the beat is full.
        ends: the last row of the beat is closed, although it is not full.
        out_last: the packet ends with it.
        begins_none: the beat begins no row.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(
            {
                "keep": In(lanes),
                "ranks": In(data.ArrayLayout(range(lanes), lanes)),
                "total": In(range(lanes + 1)),
                "last": In(1),
                "valid": In(1),
                "closes": In(1),
                "out_keep": Out(lanes),
                "places": Out(data.ArrayLayout(place_bits(lanes), lanes)),
                "size": Out(range(lanes)),
                "full": Out(1),
                "ends": Out(1),
                "out_last": Out(1),
                "begins_none": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        places = Signal(self.places.shape(), name="place", reset_less=True)
        for number, group in enumerate(groups_of(self.lanes)):
            fill = duplicate(f"fill_{number}", range(self.lanes))
            next_fill, full = self._filled(m, f"next_fill_{number}", fill)
            m.d.sync += fill.eq(next_fill & ~self.closes.replicate(len(fill)))
            for lane in group:
                m.d.sync += places[lane].eq(fill + self.ranks[lane])
            if number == 0:
                self._close(m, fill.any(), next_fill, full)
        keep = self.keep & self.valid.replicate(self.lanes)
        m.d.comb += [self.places.eq(places), self.out_keep.eq(delayed(m, keep, "is_placed", reset_less=False))]
        return m

    def _filled(self, m: Module, name: str, fill: Value) -> tuple[Value, Value]:
        """The words in the last row when the beat has followed, and whether the row before that is full."""
        total, bits = fill + self.total, len(self.size)
        full = total >= self.lanes
        if self.lanes == 1 << bits:
            return named(m, name, total[:bits]), full
        return named(m, name, Mux(full, (total - self.lanes)[:bits], total[:bits])), full

    def _close(self, m: Module, was_open: Value, size: Value, full: Value) -> None:
        """Which rows a beat closes and begins."""
        size, full = delayed(m, size, "rest"), delayed(m, full, "is_full", reset_less=False)
        was_open, last = delayed(m, was_open, "was_open"), delayed(m, self.last, "is_last", reset_less=False)
        closes, valid = (
            delayed(m, self.closes, "is_closed", reset_less=False),
            delayed(m, self.valid, "is_valid", reset_less=False),
        )
        comment = "After this beat a row has words, or a packet has ended without a word to close a row."
        has_rest = named(m, "has_rest", size.any() | (last & ~full), comment)
        ends = named(m, "closes_rest", has_rest & closes)
        comment = "If a row was open, the beat begins another one only if it filled that one and words are left."
        begins = named(m, "begins", Mux(was_open, full & has_rest, full | has_rest), comment)
        m.d.comb += [
            self.size.eq(delayed(m, size, "last_size")),
            self.full.eq(delayed(m, full, "has_filled", reset_less=False)),
            self.ends.eq(delayed(m, ends, "has_ended", reset_less=False)),
            self.out_last.eq(delayed(m, last, "was_last")),
            self.begins_none.eq(delayed(m, valid & ~begins, "began_none", reset_less=False)),
        ]
