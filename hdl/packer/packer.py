# SPDX-License-Identifier: BSD-2-Clause
"""A packer, which closes gaps: the words of its output beats are contiguous from word 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.payloads import HasItemOptions
from utf8fpga.model import TABLE_3_7, EncodingTable

__all__ = ["MovingBeat", "PackedDecoder", "Packer", "Phase", "Stage"]

_LEVELS = 2
"""Levels of adders or multiplexers between two pipeline stages."""

_STROBES = ("valid", "idle", "closes", "closes_next")
"""The scalars that a reset clears in every pipeline stage; all other registers of a stage are not reset."""


class Phase(StrEnum):
    """The phase of processing that the beat in a pipeline stage of a `Packer` has reached."""

    INPUT = "input"
    """The beat is as it was accepted; `counts` is 1 for each lane without a word."""
    GAPS = "gaps"
    """After step k, `counts` of a lane is the number of lanes without a word among it and the 2^(k+1) - 1 before it."""
    DOWN = "down"
    """After step k, each word has moved down by the low k + 1 bits of the number of gaps before it.

    `counts` of a lane is the number of gaps before the word that is in it.
    """
    AROUND = "around"
    """After step k, the lanes have been rotated up by the low k + 1 bits of `base`."""


@dataclass(frozen=True)
class MovingBeat:
    """A beat on its way from the input to the memories.

    Attributes:
        words: per lane the fields of the item without `keep`, concatenated.
        present: per lane whether it holds a word.
        counts: per lane a number that depends on the `Phase`; empty once no phase needs it.
        scalars: values of the whole beat, by name. In every phase `valid` (there is a beat), `idle` (there is none
            although the packer was ready) and `last` (the packet ends after it). In `Phase.DOWN` also `words`, the
            number of words. In `Phase.AROUND` also `base` and `row`, the lane and the row in which it begins; `full`,
            it fills that row; `rest`, the number of words in the last row that it reaches; `closes` and
            `closes_next`, it closes that row, and the next one as well.
    """

    words: Sequence[Value]
    present: Sequence[Value]
    counts: Sequence[Value]
    scalars: dict[str, Value]

    def register(self, m: Module, name: str) -> MovingBeat:
        """The registers that hold this beat one cycle later.

        Args:
            m: the module that the registers are added to.
            name: the prefix of their names.
        """

        def keep(part: str, value: Value) -> Signal:
            kept = Signal(len(value), name=f"{name}_{part}", reset_less=part not in _STROBES)
            m.d.sync += kept.eq(value)
            return kept

        return MovingBeat(
            [keep(f"word_{lane}", word) for lane, word in enumerate(self.words)],
            [keep(f"present_{lane}", present) for lane, present in enumerate(self.present)],
            [keep(f"count_{lane}", count) for lane, count in enumerate(self.counts)],
            {part: keep(part, value) for part, value in self.scalars.items()},
        )


@dataclass(frozen=True)
class Stage:
    """One pipeline stage of a `Packer`.

    Attributes:
        phase: the phase that the beat has reached.
        step: the last completed step of that phase; 0 in `Phase.INPUT`, which has no steps.
        beat: the registers.
    """

    phase: Phase
    step: int
    beat: MovingBeat


class Packer(wiring.Component):
    """Sparse beats in, packed beats out: words contiguous from word 0, in the same order.

    Words of several beats are merged until an output beat is full. An output beat that is not full is closed when
    its packet ends, or when `sparse.valid` is not asserted although `sparse.ready` is. So no word waits for a beat
    that may never be transferred.

    Throughput: one beat per cycle. `sparse.ready` is deasserted only in the cycle after a reset, or if in one of the
    three preceding cycles `packed.valid` was asserted and `packed.ready` was not.

    Latency: a word is at `packed` at most `latency` cycles after its output beat was closed by an input beat, or by
    the lack of one, as long as the consumer does not stall.

    Structure: a pipeline moves each word down by the number of gaps before it, one power of two per step. It then
    rotates the words to the lane where the previous beat ended, and writes them to memories, one per lane. A row of
    these memories is one output beat. A beat begins in lane `base` of row `row`; its words from there on fill that
    row and continue in the next one. A beat can close both rows: the first because it is full, the second because
    the packet ends there.

    Args:
        symbol: the layout of a word. Its fields are moved as they are, except that a field `error` is 0 in lanes
            without a word.
        lanes: words per beat, at least 2.

    Attributes:
        lanes: words per beat.
        ready: register, `sparse.ready`.
        base: register, the lane in which the next beat to be rotated begins. The lanes before it hold words of a row
            that is not closed.
        row: register, the row in which that beat begins.
        merged: register, the beat handled in the previous cycle fitted into a row that an earlier beat had begun: the
            row reserved for it is free again.
        rows_reserved: register, the number of rows of the memories that are reserved. Each accepted beat reserves one
            in advance; it is freed by `merged`, otherwise when the row is transferred at `packed`.
        rows_closed, rows_read: registers, the numbers of rows closed and of rows transferred at `packed`, modulo twice
            the depth of the memories. `packed.valid` is asserted while they differ.

    Attributes that `elaborate` sets, so that a proof or a simulation can refer to the state:
        stages: the pipeline stages, in the order in which a beat passes them.
        mask_memories: the memories of the even and of the odd rows: per row one bit for each lane that holds a word,
            and above them `last`. There are two, since one beat can close two rows.
        word_memories: per lane the memory of the words.

    Ports:
        sparse: stream of `beat_layout` in. A beat must have a word or end its packet: one with neither would reserve
            a row that is never freed.
        packed: stream of `beat_layout` out.
    """

    def __init__(self, symbol: data.StructLayout, lanes: int) -> None:
        self.lanes = lanes
        layout = beat_layout(symbol, lanes)
        super().__init__({"sparse": In(stream.Signature(layout)), "packed": Out(stream.Signature(layout))})
        self.base = Signal(range(lanes))
        self.row = Signal(range(self.depth))
        self.merged = Signal()
        self.rows_reserved = Signal(range(self.depth + 1), name="rows_reserved")
        self.ready = Signal(name="ready")
        # One bit more than an address: equal numbers mean that no row is closed, not that all are.
        numbers = range(2 * self.depth)
        self.rows_closed, self.rows_read = Signal(numbers, name="rows_closed"), Signal(numbers, name="rows_read")

    @property
    def _steps(self) -> int:
        """Number of powers of two below the number of lanes."""
        return (self.lanes - 1).bit_length()

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from the beat that fills or ends an output beat to that output beat.

        It holds while the consumer has accepted every beat at once since `packed.valid` was last deasserted.
        """
        stages_per_phase = -(-self._steps // _LEVELS)
        return 3 * stages_per_phase + 3

    stall_cycles = 3
    """Cycles without an output beat that waits, after which `sparse.ready` is asserted."""

    @property
    def capacity(self) -> int:
        """Number of output beats that the packer holds, those in flight included, while the consumer stalls."""
        return self.depth - 1

    @property
    def depth(self) -> int:
        """Rows of the memories: a power of two, enough for all beats that can be in flight."""
        return 1 << (self.latency + 4).bit_length()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, bits = self.lanes, range(self._steps)
        sparse, ready, inside = self.sparse.payload, self.ready, self.rows_reserved
        m.d.comb += self.sparse.ready.eq(ready)
        names = [str(name) for name, _ in sparse.symbols[0].shape()]
        beat = MovingBeat(
            [Cat(Value.cast(sparse.symbols[lane][name]) for name in names) for lane in range(lanes)],
            [sparse.keep[lane] for lane in range(lanes)],
            [~sparse.keep[lane] for lane in range(lanes)],
            {
                "valid": self.sparse.valid & ready,
                # Not while `ready` is deasserted: the next beat may be at the input already.
                "idle": ~self.sparse.valid & ready,
                "last": sparse.last,
            },
        ).register(m, "input")
        self.stages = [Stage(Phase.INPUT, 0, beat)]

        # Gaps up to and including each lane, then before each lane.
        for step in bits:
            counts = beat.counts
            summed = [counts[lane] + counts[lane - (1 << step)] for lane in range(1 << step, lanes)]
            beat = self._end_step(m, replace(beat, counts=[*counts[: 1 << step], *summed]), Phase.GAPS, step)
        gaps = beat.counts
        words_of_beat = Signal(range(lanes + 1))
        m.d.comb += words_of_beat.eq(lanes - gaps[-1])
        beat = replace(beat, counts=[Const(0, 1), *gaps[:-1]], scalars=beat.scalars | {"words": words_of_beat})
        # Each word moves down by the number of gaps before it, one bit of that number at a time.
        for step in bits:
            beat = self._end_step(m, self._move_down(beat, step), Phase.DOWN, step)
        beat = replace(beat, counts=[])

        # Where the beat begins, and which rows it closes.
        base, row = self.base, self.row
        scalars = beat.scalars
        valid, last, idle = scalars["valid"], scalars["last"], scalars["idle"]
        total = Signal(range(2 * lanes))
        m.d.comb += total.eq(base + Mux(valid, scalars["words"], 0))
        full = total >= lanes
        rest = Signal(range(lanes))
        m.d.comb += rest.eq(Mux(full, total - lanes, total))
        closes = (valid & (full | last)) | (idle & (base != 0))
        closes_next = valid & full & last & (rest != 0)
        with m.If(valid | idle):
            m.d.sync += base.eq(Mux(idle | last, 0, rest))
        m.d.sync += row.eq(row + closes + closes_next)
        # A beat that does not begin a row frees the row that was reserved for it.
        opens = Mux(base == 0, 1, full & (rest != 0))
        m.d.sync += self.merged.eq(valid & ~opens)
        beat = replace(
            beat,
            scalars={
                "valid": valid,
                "idle": idle,
                "base": base,
                "row": row,
                "rest": rest,
                "full": full,
                "closes": closes,
                "closes_next": closes_next,
                "last": valid & last,
            },
        )
        for step in bits:
            beat = self._end_step(m, self._rotate(beat, step), Phase.AROUND, step)
        self._store(m, beat, names)

        # Rows reserved for the beats that are accepted.
        leaves = self.packed.valid & self.packed.ready
        m.d.sync += [
            inside.eq(inside + (self.sparse.valid & ready) - leaves - self.merged),
            ready.eq(inside < self.depth - 2),
        ]
        return m

    def _end_step(self, m: Module, beat: MovingBeat, phase: Phase, step: int) -> MovingBeat:
        """The beat after a step; in a new pipeline stage after every `_LEVELS` steps and after the last one."""
        if step % _LEVELS == _LEVELS - 1 or step == self._steps - 1:
            beat = beat.register(m, f"{phase}_{step}")
            self.stages.append(Stage(phase, step, beat))
        return beat

    def _move_down(self, beat: MovingBeat, step: int) -> MovingBeat:
        far, words, present, counts = 1 << step, [], [], []
        for lane in range(self.lanes):
            stays = beat.present[lane] & ~_bit(beat.counts[lane], step)
            comes = Const(0, 1)
            source = lane
            if lane + far < self.lanes:
                source = lane + far
                comes = beat.present[source] & _bit(beat.counts[source], step)
            words.append(Mux(comes, beat.words[source], beat.words[lane]))
            present.append(comes | stays)
            counts.append(Mux(comes, beat.counts[source], beat.counts[lane]))
        return replace(beat, words=words, present=present, counts=counts)

    def _rotate(self, beat: MovingBeat, step: int) -> MovingBeat:
        turns = _bit(beat.scalars["base"], step)
        sources = [(lane - (1 << step)) % self.lanes for lane in range(self.lanes)]
        return replace(
            beat,
            words=[Mux(turns, beat.words[source], beat.words[lane]) for lane, source in enumerate(sources)],
            present=[Mux(turns, beat.present[source], beat.present[lane]) for lane, source in enumerate(sources)],
        )

    def _store(self, m: Module, beat: MovingBeat, names: Sequence[str]) -> None:
        """Write words and masks to the memories, and present the closed rows in order at `packed`.

        Args:
            m: the module that the memories are added to.
            beat: the rotated beat.
            names: the fields that a word of the beat consists of.
        """
        lanes, depth, given = self.lanes, self.depth, beat.scalars
        row, rest = given["row"], given["rest"]
        following = (row + 1)[: len(row)]
        ended, reading = self.rows_closed, self.rows_read
        m.d.sync += ended.eq(ended + given["closes"] + given["closes_next"])
        valid = ended != reading
        m.d.comb += self.packed.valid.eq(valid)
        with m.If(valid & self.packed.ready):
            m.d.sync += reading.eq(reading + 1)

        # Which lanes of a row hold a word. Even and odd rows have separate memories, since a beat can close two rows.
        filled = Cat(lane < rest for lane in range(lanes))
        here = Cat(Mux(given["full"], ~Const(0, lanes), filled), given["last"] & ~given["closes_next"])
        after = Cat(filled, Const(1, 1))
        self.mask_memories, self.word_memories = [], []
        masks = []
        for odd in (0, 1):
            is_here = row[0] == odd
            mask = memory.Memory(shape=lanes + 1, depth=depth // 2, init=[])
            m.submodules[f"mask_{('even', 'odd')[odd]}"] = mask
            into, out = mask.write_port(), mask.read_port(domain="comb")
            self.mask_memories.append(mask)
            m.d.comb += [
                into.en.eq(Mux(is_here, given["closes"], given["closes_next"])),
                into.addr.eq(Mux(is_here, row[1:], following[1:])),
                into.data.eq(Mux(is_here, here, after)),
                out.addr.eq(reading[1:]),
            ]
            masks.append(out.data)
        mask = Mux(reading[0], masks[1], masks[0])
        m.d.comb += self.packed.payload.last.eq(mask[lanes])
        for lane in range(lanes):
            m.submodules[f"lane_{lane}"] = rows = memory.Memory(shape=len(beat.words[lane]), depth=depth, init=[])
            into, out = rows.write_port(), rows.read_port(domain="comb")
            self.word_memories.append(rows)
            m.d.comb += [
                into.en.eq(given["valid"] & beat.present[lane]),
                into.addr.eq(Mux(lane < given["base"], following, row)),
                into.data.eq(beat.words[lane]),
                out.addr.eq(reading),
            ]
            at, item = 0, self.packed.payload.symbols[lane]
            for name in names:
                field = Value.cast(item[name])
                value = out.data[at : at + len(field)]
                at += len(field)
                m.d.comb += field.eq(value & mask[lane] if name == "error" else value)
            m.d.comb += self.packed.payload.keep[lane].eq(mask[lane])


def _bit(value: Value, place: int) -> Value:
    return value[place] if place < len(value) else Const(0, 1)


class PackedDecoder(HasItemOptions, wiring.Component):
    """A `ParallelDecoder` followed by a `Packer`.

    Throughput: one beat per cycle on any input. Latency: the sum of both. Null beats have no effect.

    Args: those of `ParallelDecoder`.

    Attributes:
        sparse, packer: the two components.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout`, items of `item_layout`, its words contiguous from word 0.

    Raises:
        InvalidArgumentError, TableError: see `ParallelDecoder`.
    """

    practice = ParallelDecoder.practice
    packed = True

    def __init__(
        self,
        table: EncodingTable = TABLE_3_7,
        *,
        lanes: int,
        pipeline: int | None = None,
        buffer: str | None = None,
        **options: bool,
    ) -> None:
        self.sparse = decoder = ParallelDecoder(table, lanes=lanes, pipeline=pipeline, buffer=buffer, **options)
        self.table, self.lanes, self.pipeline, self.buffer = table, lanes, decoder.pipeline, decoder.buffer
        self.item_options = decoder.item_options
        self.packer = Packer(self.item_options.layout(table), lanes)
        super().__init__(
            {
                "input": In(stream.Signature(beat_layout(table.unit_width, lanes))),
                "output": Out(stream.Signature(beat_layout(self.item_options.layout(table), lanes))),
            }
        )

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from the beat that determines an item, and fills or ends its beat, to the item."""
        return self.sparse.latency + self.packer.latency

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `input.ready` is deasserted."""
        return self.sparse.reset_cycles

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is deasserted while no output beat waits."""
        return self.sparse.stall_cycles + self.packer.stall_cycles

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all determined items have been transferred, while no beat waits."""
        # One row is transferred per cycle; meanwhile, or later, the items of the sparse decoder enter the packer.
        return self.packer.capacity + self.sparse.drain_cycles + self.packer.latency

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decoder, m.submodules.packer = self.sparse, self.packer
        wiring.connect(m, wiring.flipped(self.input), self.sparse.input)
        wiring.connect(m, self.sparse.output, self.packer.sparse)
        wiring.connect(m, wiring.flipped(self.output), self.packer.packed)
        return m
