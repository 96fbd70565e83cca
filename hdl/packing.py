# SPDX-License-Identifier: BSD-2-Clause
"""The packer: beats with gaps in, rows whose words are contiguous from lane 0 out.

Prefix sums count the words in front of each lane. So each word knows its place behind the words of the open row, and
finds its way there through a network of switches, a reverse banyan network. A memory for each lane holds the rows.
"""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.fifo import Credits, Reader
from utf8fpga.hdl.registers import delayed, duplicate

GROUP = 4
"""Lanes that are counted in the first cycle, and that share duplicates of registers."""

FEW_ROWS, MANY_ROWS = 16, 32
"""Rows of a memory of look-up tables, and of two such banks."""

_ROUND_TRIP = 4
"""Cycles in which a credit is of no use, apart from those of its beat on the way to the memory."""


def place_bits(lanes: int) -> int:
    """The bits of the number of a lane."""
    return max(1, (lanes - 1).bit_length())


def is_wide(lanes: int) -> bool:
    """Whether a packer is so wide that nets from one lane to all others have one more register."""
    return lanes > GROUP


class Ranks(wiring.Component):
    """How many words a beat has up to each lane, by prefix sums.

    Latency: `latency` cycles: one for groups of `GROUP` lanes, then one for each doubling.

    Ports:
        keep: the lanes with a word.
        valid: there is a beat; otherwise all counts are 0.
        counts: the words in each lane and those in front of it.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.latency = max(1, place_bits(lanes) - 1)
        super().__init__(
            {"keep": In(lanes), "valid": In(1), "counts": Out(data.ArrayLayout(lanes.bit_length(), lanes))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = range(self.lanes)
        counts = self._counts(GROUP)
        for lane in lanes:
            m.d.sync += counts[lane].eq(sum(self.keep[lane - lane % GROUP : lane + 1]))
        with m.If(~self.valid):
            m.d.sync += counts.eq(0)
        span = GROUP
        while span < self.lanes:
            doubled = self._counts(2 * span)
            for lane in lanes:
                block = lane // span
                before = counts[block * span - 1] if block % 2 else 0
                m.d.sync += doubled[lane].eq(counts[lane] + before)
            counts, span = doubled, 2 * span
        m.d.comb += [self.counts[lane].eq(counts[lane]) for lane in lanes]
        return m

    def _counts(self, span: int) -> Signal:
        """Registers for the words of each lane and of those in front of it in a block of `span` lanes."""
        width = min(span, self.lanes).bit_length()
        return Signal(data.ArrayLayout(width, self.lanes), name=f"counts_of_{span}", reset_less=True)


class OpenRow(wiring.Component):
    """The places of a beat's words behind those of the open row, and the rows that the beat closes.

    Latency: `latency` cycles for the places, two for the rows.

    Ports:
        keep, counts, last, valid: a beat and its `Ranks`.
        flush: there is no beat, and the open row must not wait for one.
        out_keep, places: the words, and the lane of a row where each of them belongs.
        size: the words in the last row of the beat.
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
                "counts": In(data.ArrayLayout(lanes.bit_length(), lanes)),
                "last": In(1),
                "valid": In(1),
                "flush": In(1),
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
        lanes, last = self.lanes, self.last & self.valid
        fill = duplicate("fill", range(lanes))
        total, rest, full = Signal(range(2 * lanes)), Signal(range(lanes)), Signal()
        m.d.comb += [
            total.eq(fill + self.counts[-1]),
            full.eq(total >= lanes),
            rest.eq(Mux(full, total - lanes, total)),
        ]
        m.d.sync += fill.eq(Mux(last | self.flush, 0, rest))
        keep, counts, starts = self.keep & self.valid.replicate(lanes), self.counts, [fill]
        if is_wide(lanes):
            keep, counts = delayed(m, keep, "keep_behind", reset_less=False), delayed(m, counts, "counts_behind")
            starts = [duplicate(f"start_{number}", range(lanes)) for number in range(-(-lanes // GROUP))]
            m.d.sync += [start.eq(fill) for start in starts]
        places = Signal(self.places.shape(), name="place", reset_less=True)
        for lane in range(lanes):
            before = counts[lane - 1] if lane else 0
            m.d.sync += places[lane].eq(starts[lane // GROUP] + before)
        m.d.comb += [self.places.eq(places), self.out_keep.eq(delayed(m, keep, "is_placed", reset_less=False))]
        self._close(m, rest, full, fill.any())
        return m

    def _close(self, m: Module, rest: Value, full: Value, is_open: Value) -> None:
        """Which rows the beat closes and begins, one cycle later."""
        size = delayed(m, rest, "rest_size")
        was_full = delayed(m, full, "was_full", reset_less=False)
        was_open = delayed(m, is_open, "was_open")
        was_last = delayed(m, self.last & self.valid, "was_last", reset_less=False)
        was_flushed = delayed(m, self.flush, "was_flushed", reset_less=False)
        was_valid = delayed(m, self.valid, "was_valid", reset_less=False)
        has_rest, ends, begins = Signal(), Signal(), Signal()
        m.d.comb += [
            # Words behind a full row, or none at the end of a packet, are a row of their own.
            has_rest.eq(size.any() | (was_last & ~was_full)),
            ends.eq(has_rest & (was_last | was_flushed)),
            # Behind an open row only a second row of the beat is new.
            begins.eq(Mux(was_open, was_full & has_rest, was_full | has_rest)),
        ]
        m.d.comb += [
            self.size.eq(delayed(m, size, "last_size")),
            self.full.eq(delayed(m, was_full, "is_full", reset_less=False)),
            self.ends.eq(delayed(m, ends, "has_ended", reset_less=False)),
            self.out_last.eq(delayed(m, was_last, "is_last")),
            self.begins_none.eq(delayed(m, was_valid & ~begins, "began_none", reset_less=False)),
        ]


class Network(wiring.Component):
    """A reverse banyan network: each word goes to the lane that is its place, modulo the lanes.

    Words whose places follow one another never meet in it. Step k settles bit k of the place: a switch exchanges two
    lanes whose numbers differ in this bit. The words come `behind` cycles after their places, so that registers set the
    switches.

    Latency: `latency` cycles from `keep` to `out_keep`, one for each bit of a place.

    Args:
        width: bits of a word.
        lanes: a power of two.

    Ports:
        keep, places: the lanes with a word, and where it goes.
        words: the words, `behind` cycles later.
        out_keep, out_words: the lanes with a word, and one cycle later the words.
    """

    def __init__(self, width: int, lanes: int) -> None:
        self.lanes, self.steps, self.behind = lanes, place_bits(lanes), 1 + is_wide(lanes)
        self.latency = self.steps + self.behind - 1
        super().__init__(
            {
                "keep": In(lanes),
                "places": In(data.ArrayLayout(self.steps, lanes)),
                "words": In(data.ArrayLayout(width, lanes)),
                "out_keep": Out(lanes),
                "out_words": Out(data.ArrayLayout(width, lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        keep, places, words = self.keep, self.places, self.words
        for step in range(self.steps):
            bits = data.ArrayLayout(self.steps - step - 1, self.lanes)
            next_keep = Signal(self.lanes, name=f"keep_after_{step}")
            next_places = Signal(bits, name=f"places_after_{step}", reset_less=True)
            next_words = Signal(words.shape(), name=f"words_after_{step}", reset_less=True)
            for lane in range(self.lanes):
                other = lane ^ 1 << step
                low, high = min(lane, other), max(lane, other)
                crosses = Mux(keep[low], places[low][0], ~places[high][0])
                crossed = duplicate(f"crossed_{step}_{lane}", reset_less=True)
                setting = crosses
                if self.behind > 1:
                    setting = delayed(m, crosses, f"crosses_{step}_{lane}")
                m.d.sync += [
                    crossed.eq(setting),
                    next_keep[lane].eq(Mux(crosses, keep[other], keep[lane])),
                    next_places[lane].eq(Mux(crosses, places[other], places[lane])[1:]),
                    next_words[lane].eq(Mux(crossed, words[other], words[lane])),
                ]
            keep, places, words = next_keep, next_places, next_words
        if self.behind > 1:
            keep = delayed(m, keep, "keep_behind", reset_less=False)
        m.d.comb += [self.out_keep.eq(keep), self.out_words.eq(words)]
        return m


class Fold(wiring.Component):
    """From a network whose lanes are a power of two to rows of fewer lanes.

    The place of a word is a lane, or from the number of lanes on a lane of the row behind the open one.

    Latency: one cycle.

    Ports:
        keep, words: the output of the `Network`.
        wrapped: the place of a word here is the lane plus the lanes of the network.
        out_keep, out_words: the lanes of rows with a word, and one cycle later the words.
    """

    def __init__(self, width: int, lanes: int) -> None:
        self.lanes, self.wide = lanes, 1 << place_bits(lanes)
        super().__init__(
            {
                "keep": In(self.wide),
                "wrapped": In(self.wide),
                "words": In(data.ArrayLayout(width, self.wide)),
                "out_keep": Out(lanes),
                "out_words": Out(data.ArrayLayout(width, lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        keep = Signal(self.lanes, name="keep_folded")
        words = Signal(self.out_words.shape(), name="words_folded", reset_less=True)
        straight = self.keep & ~self.wrapped
        for lane in range(self.lanes):
            # The place lane + lanes is in this lane of the network.
            other = (lane + self.lanes) % self.wide
            folds = self.keep[other]
            if other < lane:
                folds &= self.wrapped[other]
            is_straight = delayed(m, straight[lane], f"is_straight_{lane}")
            m.d.sync += [
                keep[lane].eq(straight[lane] | folds),
                words[lane].eq(Mux(is_straight, self.words[lane], self.words[other])),
            ]
        m.d.comb += [self.out_keep.eq(keep), self.out_words.eq(words)]
        return m


class _Group(NamedTuple):
    """Registers that the memories of a group of lanes share.

    Attributes:
        row: the row that is read.
        loads: the registers behind the memories are loaded.
        bank: the bank of the row in these registers.
    """

    row: Value
    loads: Value
    bank: Value


class Rows(wiring.Component):
    """The rows: a memory of words for each lane, and one of marks, which tell which words a closed row has.

    Many rows are in two banks, which have registers behind them.

    Latency: `latency` cycles from the beat that closes a row to the row at the output, while none waits.

    Ports:
        keep: the lanes with a word.
        words: the words, one cycle later.
        wrapped: a word in this lane belongs to the row behind the open one.
        size, full, ends, last: see `OpenRow`.
        output, output_keep, output_last, output_valid, output_ready: a closed row.
        left: a row left the memory.
    """

    def __init__(self, width: int, lanes: int, depth: int) -> None:
        self.width, self.lanes, self.depth = width, lanes, depth
        self.banks = depth // FEW_ROWS
        self.latency = 1 + self.banks
        self.groups = [range(lane, min(lane + GROUP, lanes)) for lane in range(0, lanes, GROUP)]
        words = data.ArrayLayout(width, lanes)
        super().__init__(
            {
                "keep": In(lanes),
                "words": In(words),
                "wrapped": In(lanes),
                "size": In(range(lanes)),
                "full": In(1),
                "ends": In(1),
                "last": In(1),
                "output": Out(words),
                "output_keep": Out(lanes),
                "output_last": Out(1),
                "output_valid": Out(1),
                "output_ready": In(1),
                "left": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        announces, marks = self._announce(m)
        for number, lanes in enumerate(self.groups):
            row = duplicate(f"row_{number}", range(self.depth))
            following = duplicate(f"following_{number}", range(self.depth), init=1)
            m.d.sync += [row.eq(row + self.full + self.ends), following.eq(following + self.full + self.ends)]
            write = duplicate(f"write_{number}", range(self.depth))
            with m.If(announces):
                m.d.sync += write.eq(write + 1)
            group = self._read(m, number, announces, write)
            for lane in lanes:
                target = delayed(m, Mux(self.wrapped[lane], following, row), f"row_of_{lane}")
                writes = delayed(m, self.keep[lane], f"writes_{lane}", reset_less=False)
                stored = self._memory(m, f"words_{lane}", group, writes, target, self.words[lane])
                m.d.comb += self.output[lane].eq(stored)
            # The last group has the end of the packet, too. The row that is written next is free, so no enable.
            own = slice(lanes.start, self.lanes + 1 if lanes.stop == self.lanes else lanes.stop)
            stored = self._memory(m, f"marks_{number}", group, Const(1), write, marks[own])
            m.d.comb += Cat(self.output_keep, self.output_last)[own].eq(stored)
        return m

    def _read(self, m: Module, number: int, announces: Value, write: Value) -> _Group:
        """The handshake at the output, as each group of lanes has it for itself."""
        m.submodules[f"reader_{number}"] = reader = Reader(self.depth)
        m.d.comb += [reader.stored.eq(announces), reader.write.eq(write)]
        loads, bank, valid = Const(1), Const(0), reader.output_valid
        if self.banks == 1:
            m.d.comb += reader.output_ready.eq(self.output_ready)
        else:
            valid = duplicate(f"is_valid_{number}")
            loads = ~valid | self.output_ready
            m.d.comb += reader.output_ready.eq(loads)
            m.d.sync += valid.eq(reader.output_valid | (valid & ~self.output_ready))
            bank = duplicate(f"bank_{number}", reset_less=True)
            with m.If(loads):
                m.d.sync += bank.eq(reader.row[-1])
        if number == 0:
            m.d.comb += [self.output_valid.eq(valid), self.left.eq(reader.left)]
        return _Group(reader.row, loads, bank)

    def _memory(self, m: Module, name: str, group: _Group, writes: Value, target: Value, entry: Value) -> Value:
        """A memory that is written where `writes` is asserted, and what is read from it."""
        outputs = []
        bits = FEW_ROWS.bit_length() - 1
        for bank in range(self.banks):
            m.submodules[f"{name}_{bank}"] = rows = memory.Memory(shape=len(entry), depth=FEW_ROWS, init=[])
            into, out = rows.write_port(), rows.read_port(domain="comb")
            m.d.comb += [
                into.en.eq(writes & (target[bits:] == bank)),
                into.addr.eq(target[:bits]),
                into.data.eq(entry),
                out.addr.eq(group.row[:bits]),
            ]
            outputs.append(out.data)
        if self.banks == 1:
            return outputs[0]
        registers = [Signal(len(entry), name=f"{name}_of_bank_{bank}", reset_less=True) for bank in range(self.banks)]
        with m.If(group.loads):
            m.d.sync += [register.eq(output) for register, output in zip(registers, outputs, strict=True)]
        return Mux(group.bank, registers[1], registers[0])

    def _announce(self, m: Module) -> tuple[Value, Value]:
        """Whether a closed row is announced, and its marks: the lanes with a word, and whether the packet ends.

        Of two rows that a beat closes the second is announced a cycle later. A beat that closes two comes behind one
        that closes none, so that one place to wait suffices.
        """
        lanes, two = self.lanes, self.full & self.ends
        mask = Cat(self.size > lane for lane in range(lanes))
        own = Cat(mask | self.full.replicate(lanes), self.last & ~two)
        waits, second = Signal(), Signal(lanes + 1, reset_less=True)
        announces = delayed(m, self.full | self.ends | waits, "announces", reset_less=False)
        m.d.sync += [
            waits.eq(two | (waits & (self.full | self.ends))),
            second.eq(Mux(two, Cat(mask, 1), own)),
        ]
        return announces, delayed(m, Mux(waits, second, own), "marks")


class Packer(wiring.Component):
    """Beats with gaps in, rows without gaps out: the same words of each packet in the same order.

    A row is output when it is full, when its packet ends, or when a `flush` comes in place of a beat. The pipeline
    never pauses: its beats have credits.

    Throughput: a beat per cycle, or what the consumer accepts. Latency: `latency` cycles from the beat that closes a
    row. A reset discards all words; beats that were accepted before must not arrive after it.

    Args:
        width: bits of a word.
        lanes: words of a beat and of a row.
        in_front: cycles from `accepted` to the beat at the input.

    Ports:
        ready: register, a beat may be accepted.
        accepted: a beat is accepted, and arrives `in_front` cycles later.
        words, keep, last, valid: a beat, with words in any lanes.
        flush: there is no beat in this cycle, and the words of the open row must not wait for one.
        output, output_keep, output_last, output_valid, output_ready: the rows.
    """

    def __init__(self, width: int, lanes: int, in_front: int) -> None:
        self.width, self.lanes = width, lanes
        self.ranks, self.open_row = Ranks(lanes), OpenRow(lanes)
        self.network = Network(width, 1 << place_bits(lanes))
        self.fold = Fold(width, lanes) if self.network.lanes != lanes else None
        to_rows = self.ranks.latency + self.open_row.latency + self.network.latency + (self.fold is not None)
        credits_needed = in_front + to_rows + 1 + _ROUND_TRIP
        self.depth = FEW_ROWS if credits_needed < FEW_ROWS else MANY_ROWS
        self.rows = Rows(width, lanes, self.depth)
        self.latency = to_rows + self.rows.latency
        words = data.ArrayLayout(width, lanes)
        super().__init__(
            {
                "ready": Out(1),
                "accepted": In(1),
                "words": In(words),
                "keep": In(lanes),
                "last": In(1),
                "valid": In(1),
                "flush": In(1),
                "output": Out(words),
                "output_keep": Out(lanes),
                "output_last": Out(1),
                "output_valid": Out(1),
                "output_ready": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.credits = credits = Credits(self.depth)
        m.submodules.rows = rows = self.rows
        open_row, words = self._place(m)
        self._route(m, open_row, words)
        m.d.comb += [
            self.ready.eq(credits.ready),
            credits.accepted.eq(self.accepted),
            credits.dropped.eq(open_row.begins_none),
            credits.left.eq(rows.left),
            self.output.eq(rows.output),
            self.output_keep.eq(rows.output_keep),
            self.output_last.eq(rows.output_last),
            self.output_valid.eq(rows.output_valid),
            rows.output_ready.eq(self.output_ready),
        ]
        return m

    def _place(self, m: Module) -> tuple[OpenRow, Value]:
        """The place of each word, and later the words, as the network needs them."""
        m.submodules.ranks, m.submodules.open_row = ranks, open_row = self.ranks, self.open_row
        keep, last, valid, flush, words = self.keep, self.last, self.valid, self.flush, self.words
        for cycle in range(ranks.latency):
            keep, last = delayed(m, keep, f"keep_{cycle}"), delayed(m, last, f"last_{cycle}")
            valid = delayed(m, valid, f"valid_{cycle}", reset_less=False)
            flush = delayed(m, flush, f"flush_{cycle}", reset_less=False)
            words = delayed(m, words, f"words_{cycle}")
        m.d.comb += [
            ranks.keep.eq(self.keep),
            ranks.valid.eq(self.valid),
            open_row.keep.eq(keep),
            open_row.counts.eq(ranks.counts),
            open_row.last.eq(last),
            open_row.valid.eq(valid),
            open_row.flush.eq(flush),
        ]
        for cycle in range(open_row.latency + self.network.behind):
            words = delayed(m, words, f"words_waiting_{cycle}")
        return open_row, words

    def _route(self, m: Module, open_row: OpenRow, words: Value) -> None:
        """Through the network to the rows. What is known of the rows of a beat is delayed as long."""
        rows, fold, lanes = self.rows, self.fold, self.lanes
        m.submodules.network = network = self.network
        m.d.comb += [network.keep.eq(open_row.out_keep)]
        for lane in range(lanes):
            m.d.comb += [network.places[lane].eq(open_row.places[lane]), network.words[lane].eq(words[lane])]
        marks = {"size": open_row.size, "last": open_row.out_last, "full": open_row.full, "ends": open_row.ends}
        # The words of a beat begin where those of the beat before end. Lanes in front of that have words of a next row.
        start = marks["size"] & ~marks["ends"].replicate(len(open_row.size))
        for step in range(2, open_row.latency + network.latency):
            start = delayed(m, start, f"start_{step}")
            for name, value in marks.items():
                marks[name] = delayed(m, value, f"{name}_{step}", reset_less=name in ("size", "last"))
        wrapped = delayed(m, Cat(start > lane for lane in range(network.lanes)), "is_wrapped")
        keep, words = network.out_keep, network.out_words
        if fold:
            m.submodules.fold = fold
            m.d.comb += [fold.keep.eq(keep), fold.wrapped.eq(wrapped), fold.words.eq(words)]
            keep, words, wrapped = fold.out_keep, fold.out_words, delayed(m, wrapped, "wrapped_folded")
            for name, value in marks.items():
                marks[name] = delayed(m, value, f"{name}_folded", reset_less=name in ("size", "last"))
        m.d.comb += [rows.keep.eq(keep), rows.words.eq(words), rows.wrapped.eq(wrapped[:lanes])]
        m.d.comb += [getattr(rows, name).eq(value) for name, value in marks.items()]
