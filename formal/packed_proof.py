# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a packed decoder with two lanes: `Items`, and a packer.

The specification of the packer has the beats of its stages, and at the last stage the word of the open row. It states
which rows a beat closes; one of these, any, is watched until it is output.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from utf8fpga.formal.beat_claims import BeatClaims
from utf8fpga.formal.helpers import selected
from utf8fpga.formal.insides import memories_in, rows_of
from utf8fpga.model import EncodingTable
from utf8fpga.sim.reference import how_many

LANES = 2


class _Stage:
    """A beat in a stage of the packer, and the words of the open row in front of it.

    Args:
        row: the words in their lanes, 0 in lanes without one.
        valid: there is a beat.

    Attributes:
        closes: the row is closed behind the words of the beat; also without a beat.
        fill: the words in the open row.
    """

    def __init__(self, row: Any, valid: Signal, number: int) -> None:
        self.row, self.valid = row, valid
        self.closes = Signal(name=f"stage_{number}_closes")
        self.fill = Signal(name=f"stage_{number}_fill")

    @property
    def keep(self) -> list[Value]:
        """Per lane, whether there is a word."""
        return [self.valid & keep for keep in self.row.keep]

    @property
    def counts(self) -> list[Value]:
        """The words up to each lane."""
        return [how_many(self.keep[: lane + 1]) for lane in range(LANES)]

    @property
    def total(self) -> Value:
        """The words of the open row and of the beat."""
        return self.fill + self.counts[-1]

    @property
    def full(self) -> Value:
        """The first row is full."""
        return self.total >= LANES

    @property
    def rest(self) -> Value:
        """There is a word in the last row."""
        return self.total[0]

    @property
    def last(self) -> Value:
        """The packet ends."""
        return self.valid & self.row.last

    @property
    def has_open_row(self) -> Value:
        """There is a row behind the full one, or the only one is not full."""
        return self.rest | (self.last & ~self.full)

    @property
    def ends(self) -> Value:
        """That row is closed."""
        return self.has_open_row & self.closes

    @property
    def begins(self) -> Value:
        """The beat begins a row."""
        return Mux(self.fill, self.full & self.has_open_row, self.full | self.has_open_row)

    @property
    def fill_after(self) -> Value:
        """The words in the open row behind the beat."""
        return Mux(self.closes, 0, self.rest)


class PackedProof(BeatClaims):
    """A packed decoder with two lanes.

    Attributes:
        pick: an input, which is arbitrary in a proof: which of the rows that a beat closes is watched, if any.
    """

    def __init__(self, core: Any, table: EncodingTable | None = None) -> None:
        super().__init__(core, table or core.items.table)
        self.pick = Signal(2)
        self.latency = core.items.window.latency + 8

    def specify(self, m: Module) -> None:
        self.follow_items(m, self.core.items)
        self._follow_stages(m)
        self._claim_stages()
        self._claim_network(m)
        self._claim_rows(m)

    def _holds(self, name: str, value: Any, condition: Value | None = None) -> None:
        self.holds(name, self.inside[f"packer.{name}"], value, condition)

    def _follow_stages(self, m: Module) -> None:
        """The beats in the stages; that behind `Items` is the first one."""
        core = self.core
        # With the last of the rows the words enter the network.
        self.stages = stages = [_Stage(*beat, number) for number, beat in enumerate(self.rows[:-1])]
        pauses = Signal(core.cycles, name="expected_pauses")
        m.d.sync += pauses.eq(Cat(core.input.ready & ~self.accepted, pauses))
        self.holds("pauses", self.inside["pauses"], pauses)
        first, *others = stages
        m.d.comb += first.closes.eq(Mux(first.valid, first.row.last, pauses[-1]))
        for earlier_stage, stage in zip(stages, others, strict=False):
            m.d.sync += stage.closes.eq(earlier_stage.closes)
            self.claim("only the end of a packet closes behind a beat", ~stage.valid | (stage.closes == stage.last))
            if stage is not stages[-1]:
                following = stages[stages.index(stage) + 1]
                m.d.comb += stage.fill.eq(following.fill_after)
        m.d.sync += stages[-1].fill.eq(stages[-1].fill_after)
        packer, row = core.packer, first.row
        self.claim("keep and last", ~first.valid | ((packer.keep == row.keep) & (packer.last == row.last)))
        self.claim("valid", packer.valid == first.valid)
        self.claim("closes", packer.closes == first.closes)

    def _claim_stages(self) -> None:
        """What the registers of the stages hold."""
        _, one, two, three = self.stages
        self._holds("places.last_after_1", one.last)
        self._holds("places.late_valid_after_1", one.valid)
        self._holds("places.closes_after_1", one.closes)
        self._holds("places.count_of_4_0", one.counts[-1])
        self._holds("places.rank_of_4_1", one.counts[0], one.valid)
        self._holds("places.fill", one.fill)
        for number, stage in enumerate((two, three), 1):
            self._holds(f"places.place_1_after_{number}", (stage.fill + stage.counts[0])[0], stage.valid)
        self._holds("places.open_size", two.rest)
        self._holds("places.is_full", two.full)
        self._holds("places.was_open", two.fill, two.valid)
        self._holds("places.is_last", two.last)
        self._holds("places.is_closed", two.closes)
        self._holds("places.is_valid", two.valid)
        self._holds("places.began_none", three.valid & ~three.begins)
        self._holds("open_lanes_after_1", three.rest)
        self._holds("last_after_1", three.last, three.valid | three.closes)
        self._holds("has_ended", three.ends)
        self._holds("rows.full_0", three.full)
        self._holds("rows.ends_0", three.ends)

    def _claim_network(self, m: Module) -> None:
        """The words at their places, and the rows to which they are written."""
        last = self.stages[-1]
        depth = self.core.packer.depth
        self._row = Signal(range(depth), name="row_number")
        m.d.sync += self._row.eq(self._row + last.full + last.ends)
        words = [Value.cast(symbol) for symbol in last.row.symbols]
        places = [last.fill, (last.fill + last.counts[0])[0]]
        self._writes, self._targets, self._words = [], [], []
        arrives = [
            Cat(keep & (at == lane) for keep, at in zip(last.keep, places, strict=True)) for lane in range(LANES)
        ]
        self._holds("open_lanes_before", last.fill, last.total.any())
        network_words = Value.cast(self.core.packer.words)
        for lane, here in enumerate(arrives):
            writes = Signal(name=f"writes_{lane}")
            target = Signal(range(depth), name=f"target_{lane}", reset_less=True)
            word = Signal(len(words[0]), name=f"written_{lane}", reset_less=True)
            m.d.sync += [
                writes.eq(here.any()),
                target.eq(self._row + (last.fill > lane)),
                word.eq(selected(words, here[1])),
            ]
            here_then, other = (network_words.word_select(each, len(word)) for each in (lane, 1 - lane))
            exchanges = self.inside[f"packer.network.exchange_0_{lane}"]
            self.claim(f"word at {lane}", ~writes | (Mux(exchanges, other, here_then) == word))
            self._holds(f"rows.writes_{lane}_0", writes)
            self._holds(f"rows.row_of_{lane}", target, writes)
            self._writes.append(writes)
            self._targets.append(target)
            self._words.append(word)

    def _claim_rows(self, m: Module) -> None:
        """The rows that are closed, of which one is watched."""
        last, output, depth = self.stages[-1], self.core.output, self.core.packer.depth
        full, ends, out = last.full, last.ends, Signal()
        announces, waits, closed, pending = Signal(), Signal(), Signal(8), Signal(8)
        total, read, write = Signal(8), Signal(range(depth)), Signal(range(depth))
        has_left = Signal()
        m.d.sync += [
            has_left.eq(out),
            announces.eq(full | ends | waits),
            waits.eq((full & ends) | (waits & (full | ends))),
            closed.eq(closed + full + ends - out),
        ]
        m.d.comb += [
            out.eq(output.valid & output.ready),
            pending.eq(closed - announces - waits),
            total.eq(closed + last.fill + how_many([*self.in_flight, *(stage.valid for stage in self.stages[1:])])),
            read.eq(self._row - closed),
            write.eq(self._row - announces - waits),
        ]
        self.claim("one row waits to be announced", ~waits | (announces & ~last.fill))
        self.claim("closed", (closed >= announces + waits) & (closed <= total))
        self.claim_credits(m, "packer.credits", depth, total)
        self._holds("rows.open_row_0", self._row)
        self._holds("rows.next_row_0", self._row + 1)
        self._holds("rows.announced_row", write)
        for name in ("announces", "announces_0"):
            self._holds(f"rows.{name}", announces)
        self._holds("rows.has_second", waits)
        self._holds("rows.reader_0.read_0", read)
        self._holds("rows.reader_0.has_left", has_left)
        held = pending + has_left
        self._holds("rows.reader_0.held", held)
        self._holds("rows.reader_0.holds_two", held == 2)
        self._holds("rows.reader_0.holds_three", held == 3)
        self._holds("rows.reader_0.is_valid", pending != 0)
        self._holds("rows.reader_0.only_one", pending == 1)

        # The rows that the beat closes, from the word of the open row and its own.
        words = [Value.cast(symbol) for symbol in last.row.symbols]
        open_word = Signal(len(words[0]), reset_less=True)
        first = Mux(last.keep[0], words[0], words[1])
        ahead_of_rest = Mux(last.fill, open_word, first)
        rest = Mux(last.full, words[1], ahead_of_rest)
        m.d.sync += open_word.eq(rest)
        filled: Any = Signal.like(self.row, name="filled")
        ended: Any = Signal.like(self.row, name="ended")
        m.d.comb += [
            Value.cast(filled.symbols).eq(Cat(ahead_of_rest, Mux(last.fill, first, words[1]))),
            filled.keep.eq(0b11),
            filled.last.eq(last.last & ~last.rest),
            Value.cast(ended.symbols).eq(rest & last.rest.replicate(len(rest))),
            ended.keep.eq(last.rest),
            ended.last.eq(last.last),
        ]
        watching, place, ahead = Signal(), Signal(range(depth), reset_less=True), Signal(8, reset_less=True)
        watched: Any = Signal.like(self.row, name="watched", reset_less=True)
        with m.If(~watching & full & self.pick[0]):
            m.d.sync += [watching.eq(1), watched.eq(filled), place.eq(self._row), ahead.eq(closed - out)]
        with m.Elif(~watching & ends & self.pick[1]):
            m.d.sync += [watching.eq(1), watched.eq(ended), place.eq(self._row + full), ahead.eq(closed + full - out)]
        with m.Elif(watching & out):
            m.d.sync += [ahead.eq(ahead - 1), watching.eq(ahead != 0)]
        is_there = (ahead < closed) & (place == (read + ahead)[: len(place)])
        self.claim("a watched row is in its place", ~watching | is_there)

        # Where the words and the marks of the watched row are, and the word of the open row.
        marks = Cat(watched.keep, watched.last)
        self._holds("rows.marks", marks, watching & announces & (place == write))
        self._holds("rows.second", marks, watching & waits & (place == (write + announces)[: len(place)]))
        memories = {path.rpartition(".")[2]: rows_of(each) for path, each in memories_in(self.circuit).items()}
        for number in range(depth):
            is_here = watching & (place == number)
            self.holds(f"marks {number}", memories["marks_0_0"][number], marks, is_here & (ahead < pending))
            for lane in range(LANES):
                is_written = self._writes[lane] & (self._targets[lane] == number)
                row = memories[f"words_{lane}_0"][number]
                word = Value.cast(watched.symbols[lane])
                self.holds(f"word {lane} of {number}", row, word, is_here & watched.keep[lane] & ~is_written)
                if lane == 0:
                    is_open = last.fill & (self._row == number)
                    self.holds(f"open word of {number}", row, open_word, is_open & ~is_written)
        for lane in range(LANES):
            is_written = watching & watched.keep[lane] & self._writes[lane] & (self._targets[lane] == place)
            same = self._words[lane] == Value.cast(watched.symbols[lane])
            self.claim(f"a word of the watched row is written, {lane}", ~is_written | same)
            # A row that is announced is not written.
            distance = (self._targets[lane] - read)[: len(read)]
            is_behind = (distance >= pending) & (distance <= closed)
            self.claim(f"a row that is not announced is written, {lane}", ~self._writes[lane] | is_behind)
        is_written = last.fill & self._writes[0] & (self._targets[0] == self._row)
        self.claim("the open word is written", ~is_written | (self._words[0] == open_word))
        self.claim_output(m, pending, total, watching & (ahead == 0), watched)
