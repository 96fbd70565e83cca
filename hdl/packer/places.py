# SPDX-License-Identifier: BSD-2-Clause
"""Where the words of a beat belong: behind those of the row that is open."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import named
from utf8fpga.hdl.registers import delayed, duplicate

GROUP = 4
"""Lanes that are counted in the first cycle, and that share duplicates of registers."""


def place_bits(lanes: int) -> int:
    """The bits of the number of a lane."""
    return max(1, (lanes - 1).bit_length())


def is_wide(lanes: int) -> bool:
    """Whether a packer is so wide that nets from one lane to all others have one more register."""
    return lanes > GROUP


def _count(bits: Value) -> Value:
    """The number of bits that are set."""
    return sum(bits[1:], bits[0]) if len(bits) else Const(0)


class Ranks(wiring.Component):
    """How many words a beat has in front of each lane: those in its group of `GROUP` lanes, and those up to each group.

    Latency: `latency` cycles: one for each group by itself, then prefix sums, one for each doubling of the groups.

    Ports:
        keep: the lanes with a word.
        valid: there is a beat; otherwise all counts are 0.
        ranks: for each lane the words in front of it in its group.
        counts: for each group the words in all groups up to and with it.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.groups = -(-lanes // GROUP)
        self.latency = 1 + (self.groups - 1).bit_length()
        super().__init__(
            {
                "keep": In(lanes),
                "valid": In(1),
                "ranks": Out(data.ArrayLayout(range(GROUP), lanes)),
                "counts": Out(data.ArrayLayout(lanes.bit_length(), self.groups)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ranks = Signal(self.ranks.shape(), name="ranks_in_group", reset_less=True)
        for lane in range(self.lanes):
            m.d.sync += ranks[lane].eq(_count(self.keep[lane - lane % GROUP : lane]))
        counts = Signal(data.ArrayLayout(min(GROUP, self.lanes).bit_length(), self.groups), name="counts_of_1")
        for group in range(self.groups):
            m.d.sync += counts[group].eq(_count(self.keep[group * GROUP : (group + 1) * GROUP]))
        with m.If(~self.valid):
            m.d.sync += counts.eq(0)
        span = 1
        while span < self.groups:
            width = min(2 * span * GROUP, self.lanes).bit_length()
            doubled = Signal(data.ArrayLayout(width, self.groups), name=f"counts_of_{2 * span}")
            for group in range(self.groups):
                block = group // span
                before = counts[block * span - 1] if block % 2 else 0
                m.d.sync += doubled[group].eq(counts[group] + before)
            counts, ranks, span = doubled, delayed(m, ranks, f"ranks_behind_{span}"), 2 * span
        m.d.comb += self.ranks.eq(ranks)
        m.d.comb += [self.counts[group].eq(counts[group]) for group in range(self.groups)]
        return m


class OpenRow(wiring.Component):
    """The places of a beat's words behind those of the open row, and the rows that the beat closes.

    Latency: `latency` cycles for the places, one more for the rows.

    Ports:
        keep, ranks, counts, last, valid: a beat and its `Ranks`.
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
        self.lanes, self.latency = lanes, 1 + is_wide(lanes)
        super().__init__(
            {
                "keep": In(lanes),
                "ranks": In(data.ArrayLayout(range(GROUP), lanes)),
                "counts": In(data.ArrayLayout(lanes.bit_length(), -(-lanes // GROUP))),
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
        lanes = self.lanes
        keep, ranks, total = self.keep & self.valid.replicate(lanes), self.ranks, self.counts[-1]
        last, valid, closes = self.last, self.valid, self.closes
        fill = duplicate("fill", range(lanes))
        next_fill, full = self._filled(m, "next_fill", fill, total)
        with m.If(closes):
            m.d.sync += fill.eq(0)
        with m.Else():
            m.d.sync += fill.eq(next_fill)
        # Where the words of each group begin.
        starts, rest = [fill], next_fill
        if is_wide(lanes):
            starts = [delayed(m, fill, "start_of_0", reset_less=False)]
            for group in range(1, len(self.counts)):
                start = Signal(place_bits(lanes), name=f"start_of_{group}", reset_less=True)
                m.d.sync += start.eq(fill + self.counts[group - 1])
                starts.append(start)
            ranks, total = delayed(m, ranks, "ranks_behind"), delayed(m, total, "total", reset_less=False)
            keep = delayed(m, keep, "keep_behind", reset_less=False)
            last, valid, closes = (
                delayed(m, value, f"{name}_behind", reset_less=False)
                for name, value in (("last", last), ("valid", valid), ("closes", closes))
            )
        places = Signal(self.places.shape(), name="place", reset_less=True)
        for lane in range(lanes):
            m.d.sync += places[lane].eq(starts[lane // GROUP] + ranks[lane])
        m.d.comb += [self.places.eq(places), self.out_keep.eq(delayed(m, keep, "is_placed", reset_less=False))]
        if is_wide(lanes):
            rest, full = self._filled(m, "next_rest", starts[0], total)
        self._close(
            m,
            size=delayed(m, rest, "rest"),
            full=delayed(m, full, "is_full", reset_less=False),
            was_open=delayed(m, starts[0].any(), "was_open"),
            last=delayed(m, last, "is_last", reset_less=False),
            closes=delayed(m, closes, "is_closed", reset_less=False),
            valid=delayed(m, valid, "is_valid", reset_less=False),
        )
        return m

    def _filled(self, m: Module, name: str, fill: Value, count: Value) -> tuple[Value, Value]:
        """The words in the last row when a beat has followed, and whether the row before that is full."""
        total, bits = fill + count, len(self.size)
        full = total >= self.lanes
        if self.lanes == 1 << bits:
            return named(m, name, total[:bits]), full
        return named(m, name, Mux(full, (total - self.lanes)[:bits], total[:bits])), full

    def _close(
        self, m: Module, size: Value, full: Value, was_open: Value, last: Value, closes: Value, valid: Value
    ) -> None:
        """Which rows a beat closes and begins."""
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
