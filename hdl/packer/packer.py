# SPDX-License-Identifier: BSD-2-Clause
"""A packer, which closes gaps: the words of its output beats are contiguous from word 0."""

from __future__ import annotations

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.fan_out import LateReset
from utf8fpga.hdl.packer.egress import BufferedEgress, DirectEgress
from utf8fpga.hdl.packer.network import Network
from utf8fpga.hdl.packer.route import WordCounts, copies_of
from utf8fpga.hdl.packer.rows import Begin, ClosedRows
from utf8fpga.hdl.packer.store import RESET_LANES, RowStore
from utf8fpga.hdl.pipeline import ZERO, Pipeline, Staged

_FEW_LANES, _FEW_AHEAD = 4, 3
"""Upper bounds on the lanes of a packer, and on the cycles in front of it, with which a network that takes a cycle less
makes a buffer unnecessary."""


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

    Structure: a pipeline that never pauses, then memories, one per lane. The pipeline counts words, moves them by a
    reverse banyan network (`Network`) to the lanes where the beat before ended (`Begin`), and writes them to the
    memories (`RowStore`). The words of a beat fill the row in which it begins and continue in the next one. The rows
    that it closes (`ClosedRows`) are at the output once they are complete (`DirectEgress`). Where the memories are too
    small for all rows of beats in the pipeline, they are read into a buffer in front of it (`BufferedEgress`).

    `sparse.ready` is deasserted while too many rows wait, so that there is room for all beats in the pipeline.

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
        begin, network, closed, store, egress: the parts, in the order in which a beat passes them.
        words_written: the cycle in which the words of a beat are written to the memories.
        depth: rows of the memories, a power of two.
        overrun: upper bound on the rows that are reached by beats accepted after so many wait, before `sparse.ready` is
            deasserted.
        capacity: upper bound on the rows that hold words of accepted beats, or that such a beat closes, and that have
            not been transferred.
        ready, paused: registers, `sparse.ready` and its complement (kept apart so that synthesis does not merge them).
        slots: per lane whether the row that is, or was, read holds a word, and the word.
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
        # As a stage of a `Chain`.
        self.input, self.output = self.sparse, self.packed
        self._symbol = symbol
        self.ready, self.paused = Signal(name="ready"), Signal(name="paused", init=1)
        self._move_words()
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
        is_short = lanes <= _FEW_LANES and self.ahead <= _FEW_AHEAD
        self.network = Network(pipeline, lanes, keep, words, self.begin.base, counts, is_short=is_short)
        self.closed = ClosedRows(pipeline, self.begin, ends, idle)

    @property
    def words_written(self) -> int:
        """See the class; also `RowStore.written`, which is made later."""
        return max(self.network.cycle, self.closed.decided + 2)

    def _hold_rows(self) -> None:
        """Make the memories, what is behind them, and the reset."""
        slot = data.StructLayout({"keep": 1, **{str(name): field.shape for name, field in self._symbol}})
        row = data.StructLayout({"slots": data.ArrayLayout(slot, self.lanes), "last": 1})
        kind = DirectEgress if DirectEgress.fits(self) else BufferedEgress
        self.egress: DirectEgress | BufferedEgress = kind(self, row)
        self.depth, self.overrun, self.capacity = self.egress.depth, self.egress.overrun, self.egress.capacity
        beat = self.valids[0] if isinstance(self.egress, DirectEgress) else None
        self.store = RowStore(self.pipeline, self.lanes, self.depth, self.closed, self.network, beat)
        settled = max(self.store.written, self.store.marked)
        assert settled <= self.egress.deadline
        self.slots = [Cat(keep, self._word(lane)) for lane, keep in enumerate(self.store.keep)]
        # One cycle for the second of two rows, or for a pause of the input.
        self.latency = self.egress.latest + 1
        # Not tight: the rows that are held are transferred while later ones pass through.
        self.drain_cycles = self.capacity + self.latency
        self.stall_cycles = self.egress.stall_cycles
        # The store has a duplicate for each part of it, and up to three other parts have one each.
        copies = -(-self.lanes // RESET_LANES) + 3
        self.reset = LateReset(-(-copies // 2), settled + 4)
        self.reset_cycles = 1 + self.reset.cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name, part in self.egress.submodules.items():
            m.submodules[name] = part
        m.submodules.reset = self.reset
        copies = self.reset.copies
        self.pipeline.connect(m, copies[-3])
        if self.ahead:
            m.d.comb += self.late_reset.eq(copies[:2])
        self.egress.connect(m)
        self._accept_beats(m)
        return m

    def _accept_beats(self, m: Module) -> None:
        """Beats are accepted while there is room for the rows of all beats in the pipeline."""
        comment = f"No beat is accepted in the next cycle: more than {self.egress.threshold} rows wait."
        pauses = commented(Signal(name="pauses"), comment)
        m.d.comb += [pauses.eq(self.egress.pauses_next), self.sparse.ready.eq(self.ready)]
        m.d.sync += [self.ready.eq(~pauses), self.paused.eq(pauses)]
        self.egress.count_rows(m)
        with m.If(self.reset.busy):
            m.d.sync += [self.ready.eq(0), self.paused.eq(1)]
        m.d.sync += [later.eq(earlier) for earlier, later in pairwise(self.was_paused)]

    def _word(self, lane: int) -> Value:
        """The word of a lane, without an error where there is none."""
        word, fields = self.store.stored[lane], {}
        for name, field in self._symbol:
            bits = slice(field.offset, field.offset + field.width)
            fields[name] = self.store.present(lane, bits) if name == "error" else word[bits]
        return Cat(fields.values())
