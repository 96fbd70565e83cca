# SPDX-License-Identifier: BSD-2-Clause
"""A packer, which closes gaps: the words of its output beats are contiguous from word 0."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.fan_out import FanOut, LateReset, are_many
from utf8fpga.hdl.memory_buffer import Level, MemoryBuffer
from utf8fpga.hdl.packer.network import Network
from utf8fpga.hdl.packer.route import WordCounts, copies_of
from utf8fpga.hdl.packer.rows import Begin, ClosedRows
from utf8fpga.hdl.packer.store import RESET_LANES, RowStore
from utf8fpga.hdl.payloads import beat_of_slots
from utf8fpga.hdl.pipeline import ZERO, Pipeline, Staged

_READ_CYCLES = 3
"""Cycles from the decision to read a row to its words in registers."""

_MIN_DEPTH = 16
"""Rows of a memory that need no more cells than fewer rows."""

_MORE_ROWS = 2
"""Upper bound on the rows that are in use in the memories, in excess of the cycles until a row is complete."""


class Packer(wiring.Component):
    """Sparse beats in, packed beats out: words contiguous from word 0, in the same order.

    Words of several beats are merged to *rows*, which are the output beats. A row is closed when it is full, when its
    packet ends, or, with `flushes`, when `sparse.valid` is not asserted although `sparse.ready` is. So no word waits
    for a beat that may never be transferred. Without `flushes` all rows but the last one of a packet are full.

    A beat that has no word and does not end its packet has no effect.

    Throughput: one beat per cycle. `sparse.ready` is deasserted for `reset_cycles` cycles after a reset; after that it
    is asserted once no row has waited for `stall_cycles` cycles.

    Latency: a word is at `packed` at most `latency` cycles after its row was closed by an input beat, or by the lack of
    one, as long as the consumer does not stall.

    Structure: a pipeline that never pauses, then memories, one per lane, and a buffer. The pipeline counts words, moves
    them by a reverse banyan network (`Network`) to the lanes where the beat before ended (`Begin`), and writes them to
    the memories (`RowStore`). The words of a beat fill the row in which it begins and continue in the next one. The
    rows that it closes (`ClosedRows`) are read once they are complete, and enter the buffer.

    `sparse.ready` is deasserted while more than `threshold` closed rows wait, so that there is room for all beats in
    the pipeline.

    Pointers and counts that are desynchronised, by a flipped bit, remain so until a reset.

    Args:
        symbol: the layout of a word. Its fields are moved as they are, except that a field `error` is 0 in lanes
            without a word.
        lanes: words per beat, at least 2.
        flushes: a row is also closed when the input pauses.
        ahead: cycles between `sparse.ready` and the beat that is accepted with it, in a pipeline in front that never
            pauses: `sparse.valid` is asserted so many cycles after a beat was there and `sparse.ready` was asserted.
        lends: of such a pipeline, `sparse.valid` may also be asserted one cycle earlier.

    Attributes:
        pipeline: the registers up to the memories. The cycle of a value in it is counted from that in which its beat
            was accepted.
        valids: registers of the first cycle: duplicates of "there is a beat".
        roots: the registers of the first cycle, except words: `valids`, whether the input pauses, and `last` and `keep`
            of the beat.
        begin, network, closed, store: the parts, in the order in which a beat passes them.
        complete: the cycle in which a closed row is counted as complete. When it is read, its words are in the
            memories.
        depth: rows of the memories, a power of two.
        threshold: closed rows that may wait while `sparse.ready` is asserted.
        overrun: upper bound on the rows that are reached by beats accepted after that, before `sparse.ready` is
            deasserted.
        capacity: upper bound on the rows that hold words of accepted beats, or that such a beat closes, and that have
            not been transferred.
        inside, behind: the counts of closed rows that have not been transferred, and of complete rows that have not
            been read.
        ready, paused: registers, `sparse.ready` and its complement (kept apart so that synthesis does not merge them).
        left: register, a row was transferred in the preceding cycle; None with few lanes, where `inside` counts it a
            cycle earlier.
        reads, was_read: duplicates of "a row is read", some cycles later; register, a row was read in the preceding
            cycle.
        buffer: of rows, in front of `packed`.
        reset: the reset of the registers with feedback.

    Ports:
        sparse: stream of `beat_layout` in; any lanes may hold words.
        packed: stream of `beat_layout` out.
        late_reset: with `ahead`, two duplicates of the late reset for the pipeline in front, see `RowBuffer`.
    """

    def __init__(
        self, symbol: data.StructLayout, lanes: int, *, flushes: bool = True, ahead: int = 0, lends: bool = False
    ) -> None:
        self.lanes, self.flushes, self.ahead, self.lends = lanes, flushes, ahead, lends
        layout = beat_layout(symbol, lanes)
        streams = {"sparse": In(stream.Signature(layout)), "packed": Out(stream.Signature(layout))}
        super().__init__(streams | ({"late_reset": Out(2)} if ahead else {}))
        self._symbol = symbol
        self.ready, self.paused = Signal(name="ready"), Signal(name="paused", init=1)
        self._move_words()
        # The words of a row are in the memories when it is read.
        self.complete = max(self.closed.decided + 1, self.network.cycle - _READ_CYCLES)
        self._completed = self.pipeline.at(self.closed.closed, self.complete)
        rows = self.complete + _MORE_ROWS + are_many(lanes) + ahead + lends
        self.depth = max(_MIN_DEPTH, 1 << (rows - 1).bit_length())
        self.store = RowStore(self.pipeline, lanes, self.depth, self.closed, self.network)
        assert max(self.store.written, self.store.marked) <= self.complete + _READ_CYCLES
        self._hold_rows()

    def _move_words(self) -> None:
        """Make the pipeline up to the memories."""
        self.pipeline = pipeline = Pipeline(numbered=True)
        lanes, steps, sparse = self.lanes, (self.lanes - 1).bit_length(), self.sparse.payload
        self.was_paused = [self.paused, *(Signal(name=f"paused_{n}", init=1) for n in range(1, self.ahead + 1))]
        paused = self.was_paused[-1]
        accepted = self.sparse.valid if self.ahead else self.sparse.valid & ~paused
        self.valids = valids = copies_of(pipeline, "valid", accepted, 0 if self.ahead else lanes)
        valid = valids[0]
        # Not while `ready` is deasserted: the next beat may be at the input already.
        without_beat = ~self.sparse.valid & ~paused if self.flushes else Const(0, 1)
        idle = pipeline.register("idle", without_beat, 0, comment="There is no beat though one would be accepted.")
        last = pipeline.register("last", sparse.last, 0)
        # Behind a pipeline that never pauses `keep` is cleared here where there is no beat, so that a count of four
        # lanes is a function of four bits. Behind a memory that would be a look-up table more in a long path.
        masks = self.ahead > 0
        keep = [
            pipeline.register(f"keep_{lane}", sparse.keep[lane] & (accepted if masks else 1), 0)
            for lane in range(lanes)
        ]
        words = [Staged(Value.cast(sparse.symbols[lane]), 0) for lane in range(lanes)]
        self.roots = [each.value for each in (*valids, idle, last, *keep)]
        counts = WordCounts(pipeline, [*keep, *[ZERO] * ((1 << steps) - lanes)], None if masks else valids)
        ends = pipeline.apply("ends", Value.__and__, last, valid, comment="The packet ends with the beat.")
        leaves = pipeline.apply(
            "leaves",
            lambda last, valid, idle: (last & valid) | idle,
            *(last, valid, idle),
            comment="The next beat begins in lane 0 of a row.",
        )
        self.begin = Begin(pipeline, lanes, counts.total, leaves)
        self.network = Network(pipeline, lanes, keep, words, self.begin.base, counts)
        self.closed = ClosedRows(pipeline, self.begin, ends, idle)

    def _hold_rows(self) -> None:
        """Make the counts of rows, the buffer and the reset."""
        slot = data.StructLayout({"keep": 1, **{str(name): field.shape for name, field in self._symbol}})
        self.buffer = MemoryBuffer(
            data.StructLayout({"slots": data.ArrayLayout(slot, self.lanes), "last": 1}),
            row_cycles=_READ_CYCLES,
            row_copies=FanOut.copies_after(_READ_CYCLES),
            group=self.network.group,
        )
        # Complete rows are read two cycles after they are counted, and then pass the buffer.
        latest, decided = self.complete + 2 + _READ_CYCLES + self.buffer.latency, self.closed.decided
        # The nets from the output to the count of rows are too long for one cycle.
        self.left = Signal(name="left", reset_less=True) if are_many(self.lanes) else None
        late = self.left is not None
        self.threshold = latest - decided + late
        self.overrun = decided + 2 + self.ahead
        self.capacity = self.threshold + self.overrun + 2
        self.latency = latest + 1
        # Not tight: the rows that are held are transferred while later ones pass through.
        self.drain_cycles = self.capacity + self.latency
        self.stall_cycles = decided + 6 + self.ahead + late
        flight = max(self.complete, self.store.written, self.store.marked) + 4
        # The store has a duplicate for each part of it, and the three other parts have one each.
        copies = -(-self.lanes // RESET_LANES) + 3
        self.reset = LateReset(-(-copies // 2), flight)
        self.reset_cycles = 1 + self.reset.cycles
        self.behind, self.inside = Level(self.depth), Level(self.capacity)
        self.reads = FanOut(_READ_CYCLES)
        was_read = Signal(name="was_read", reset_less=True)
        self.was_read = commented(was_read, "A row was read in the preceding cycle.")

    @property
    def input(self) -> stream.Interface:
        """`sparse`, as the input of a stage of a `Chain`."""
        return self.sparse

    @property
    def output(self) -> stream.Interface:
        """`packed`, as the output of a stage of a `Chain`."""
        return self.packed

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer, m.submodules.behind, m.submodules.inside = self.buffer, self.behind, self.inside
        m.submodules.leaves, m.submodules.reset = self.reads, self.reset
        copies = self.reset.copies
        self.pipeline.connect(m, copies[-3])
        # Those that hold the value itself, not the complement, since they are enables.
        self.store.connect(m, self.reads.tree[_READ_CYCLES - 2][::2], copies)
        if self.ahead:
            m.d.comb += self.late_reset.eq(copies[:2])
        self._read_rows(m)
        self._accept_beats(m)
        self._show_rows(m)
        return m

    def _read_rows(self, m: Module) -> None:
        """Complete rows are read as soon as the buffer accepts them."""
        behind, buffer, leaves = self.behind, self.buffer, self.reads
        read = commented(Signal(name="reads"), "A complete row is read from the memories.")
        m.d.comb += [
            read.eq(Mux(self.was_read, behind.more_than[1], behind.more_than[0]) & buffer.ready),
            behind.up.eq(self._completed),
            behind.down.eq(read),
            behind.reset.eq(self.reset.copies[-1]),
            buffer.accepted.eq(read),
            leaves.value.eq(read),
            buffer.row_valid.eq(leaves.copies),
            buffer.tail_valid.eq(leaves.copies[-1]),
        ]
        m.d.sync += self.was_read.eq(read)
        with m.If(self.reset.copies[-1]):
            m.d.sync += self.was_read.eq(0)

    def _accept_beats(self, m: Module) -> None:
        """Beats are accepted while there is room for the rows of all beats in the pipeline."""
        inside, at = self.inside, self.threshold
        comment = f"More than {at} closed rows wait after the step of this cycle."
        more, many = inside.more_than, commented(Signal(name="many"), comment)
        m.d.comb += [
            inside.up.eq(self.closed.closed.value),
            inside.down.eq(self.buffer.leaves if self.left is None else self.left),
            inside.reset.eq(self.reset.copies[-2]),
            # The level of the next cycle, so that fewer beats are accepted after it was reached.
            many.eq(Mux(inside.changes, Mux(inside.grows, more[at - 1], more[at + 1]), more[at])),
            self.sparse.ready.eq(self.ready),
        ]
        m.d.sync += [self.ready.eq(~many), self.paused.eq(many)]
        if self.left is not None:
            m.d.sync += self.left.eq(self.buffer.leaves)
        with m.If(self.reset.busy):
            m.d.sync += [self.ready.eq(0), self.paused.eq(1)]
        m.d.sync += [later.eq(earlier) for earlier, later in pairwise(self.was_paused)]

    def _show_rows(self, m: Module) -> None:
        """Rows that were read enter the buffer, and leave it at the output."""
        buffer, packed = self.buffer, self.packed
        slots = [Cat(keep, self._word(lane)) for lane, keep in enumerate(self.store.keep)]
        m.d.comb += [
            Value.cast(buffer.row).eq(Cat(*slots[:-1])),
            Value.cast(buffer.tail).eq(Cat(slots[-1], self.store.last)),
            packed.valid.eq(buffer.output.valid),
            buffer.output.ready.eq(packed.ready),
            *beat_of_slots(packed.payload, buffer.output.payload),
        ]

    def _word(self, lane: int) -> Value:
        """The word of a lane, without an error where there is none."""
        word, fields = self.store.stored[lane], {}
        for name, field in self._symbol:
            bits = slice(field.offset, field.offset + field.width)
            fields[name] = self.store.present(lane, bits) if name == "error" else word[bits]
        return Cat(fields.values())
