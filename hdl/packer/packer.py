# SPDX-License-Identifier: BSD-2-Clause
"""A packer, which closes gaps: the words of its output beats are contiguous from word 0."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.fan_out import LateReset
from utf8fpga.hdl.memory_buffer import Front, Level
from utf8fpga.hdl.packer.network import Network
from utf8fpga.hdl.packer.pipeline import ZERO, Number, Pipeline, Timed, latest
from utf8fpga.hdl.packer.route import WordCounts
from utf8fpga.hdl.payloads import HasItemOptions
from utf8fpga.model import TABLE_3_7, EncodingTable

__all__ = ["PackedDecoder", "Packer"]

_READ_GROUP = 2
"""Lanes that share a read pointer. More lanes make the nets from a pointer longer, fewer lanes those to the pointers."""

_WRITE_GROUP = 8
"""Lanes that share the pointer to the row in which a beat begins."""

_REGION = 4
"""Lanes that share the enable of their read pointers."""

_ANNOUNCE = 4
"""Cycles from the announcement of a row to `valid` at the output."""


class Packer(wiring.Component):
    """Sparse beats in, packed beats out: words contiguous from word 0, in the same order.

    Words of several beats are merged to *rows*, which are the output beats. A row is closed when it is full, when its
    packet ends, or when `sparse.valid` is not asserted although `sparse.ready` is. So no word waits for a beat that may
    never be transferred.

    Throughput: one beat per cycle. `sparse.ready` is deasserted for `reset_cycles` cycles after a reset; after that it
    is asserted once no row has waited for `stall_cycles` cycles.

    Latency: a word is at `packed` at most `latency` cycles after its row was closed by an input beat, or by the lack of
    one, as long as the consumer does not stall.

    Structure: a pipeline that never pauses. It counts words, moves them by a reverse banyan network (`Network`) to the
    lanes where the beat before ended, and writes them to memories, one per lane. A beat begins in lane `base` of a
    row; its words from there on fill that row and continue in the next one. A beat can close both rows: the first
    because it is full, the second because the packet ends there. The second one is then announced a cycle later: only
    a beat that closes no row can precede another one that closes two.

    `sparse.ready` is deasserted while more than `threshold` closed rows wait, so that there is room for all beats in
    the pipeline.

    Pointers and counts that are desynchronised, by a flipped bit, remain so until a reset.

    Args:
        symbol: the layout of a word. Its fields are moved as they are, except that a field `error` is 0 in lanes
            without a word.
        lanes: words per beat, at least 2.

    Attributes:
        lanes: words per beat.
        ready, paused: registers, `sparse.ready` and its complement (kept apart so that synthesis does not merge them).
        depth: rows of the memories, a power of two.
        threshold: closed rows that may wait while `sparse.ready` is asserted.

    Ports:
        sparse: stream of `beat_layout` in. A beat must have a word or end its packet: one with neither would close a
            row without a word.
        packed: stream of `beat_layout` out.
    """

    def __init__(self, symbol: data.StructLayout, lanes: int) -> None:
        self.lanes = lanes
        layout = beat_layout(symbol, lanes)
        super().__init__({"sparse": In(stream.Signature(layout)), "packed": Out(stream.Signature(layout))})
        self.names = [str(name) for name, _ in symbol]
        self.marked = [name for name in self.names if name == "error"]
        self.ready, self.paused = Signal(name="ready"), Signal(name="paused", init=1)

    @property
    def steps(self) -> int:
        """Steps of the network."""
        return (self.lanes - 1).bit_length()

    depth = 16
    threshold = 5

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.pipeline = pipeline = Pipeline(m)
        lanes, steps, sparse = self.lanes, self.steps, self.sparse.payload
        m.d.comb += self.sparse.ready.eq(self.ready)
        self._cleared: list[Signal] = []
        valid = pipeline.register("valid", self.sparse.valid & ~self.paused, 0)
        # Not while `ready` is deasserted: the next beat may be at the input already.
        idle = pipeline.register("idle", ~self.sparse.valid & ~self.paused, 0)
        last = pipeline.register("last", sparse.last, 0)
        keep = [pipeline.register(f"keep_{lane}", sparse.keep[lane], 0) for lane in range(lanes)]
        words = [self._word(sparse.symbols[lane], keep[lane], valid, lane) for lane in range(lanes)]

        counts = WordCounts(pipeline, [*keep, *[ZERO] * ((1 << steps) - lanes)], valid)
        ends = pipeline.compute("ends", [last, valid], lambda last, valid: last & valid)
        leaves = pipeline.compute("leaves", [last, valid, idle], lambda last, valid, idle: (last & valid) | idle)
        self._advance(m, counts.total, leaves)
        self.network = network = Network(pipeline, lanes, keep, words, self.base, counts)

        # Which rows a beat closes.
        waits = pipeline.compute("waits", [*self.base, idle], lambda *bits: Cat(*bits[:-1]).any() & bits[-1])
        self.full = pipeline.compute("full", self._overflow, lambda *bits: Cat(*bits).any())
        self.closes = pipeline.compute("closes", [*self._overflow, ends, waits], lambda *bits: Cat(*bits).any())
        early, late = self.rest[:-2], self.rest[-2:]
        if early:
            late = [*late, pipeline.compute("rest_low", early, lambda *bits: Cat(*bits).any())]
        self.closes_next = pipeline.compute(
            "closes_next",
            [ends, *self._overflow, *late],
            lambda ends, *bits: ends & Cat(*bits[: len(self._overflow)]).any() & Cat(*bits[len(self._overflow) :]).any(),
        )
        self.ends = ends
        self._store(m)
        return m

    def _word(self, item: Value, keep: Timed, valid: Timed, lane: int) -> Timed:
        """The fields of a word, those that are marked in front."""
        pipeline = self.pipeline
        fields = [Value.cast(item[name]) for name in self.names if name not in self.marked]
        moved = pipeline.register(f"word_{lane}", Cat(*fields), 0)
        inputs = [moved, keep, valid]
        for name in self.marked:
            inputs.append(pipeline.register(f"{name}_{lane}", Value.cast(item[name]), 0))
        return pipeline.compute(
            f"given_{lane}", inputs, lambda moved, keep, valid, *marks: Cat(*(mark & keep & valid for mark in marks), moved)
        )

    def _advance(self, m: Module, total: Number, leaves: Timed) -> None:
        """Where the next beat begins.

        The lowest bits of the sum are computed first, two in a cycle, if the lanes are a power of two. So the feedback
        has few inputs.
        """
        pipeline, lanes, steps = self.pipeline, self.lanes, self.steps
        self.base: list[Timed] = []
        self.rest: list[Timed] = []
        if lanes == 1 << steps:
            carry: list[Timed] = []
            for start in range(0, steps, 2):
                size = min(2, steps - start)
                inputs = [*total[start : start + size], *carry]
                cycle = latest(inputs)
                base = Signal(size, name=f"base_{start}", reset_less=True)
                self._cleared.append(base)
                words = Cat(*(pipeline.at(bit, cycle) for bit in inputs[:size]))
                sum_ = Signal(size + 1, name=f"sum_{start}")
                m.d.comb += sum_.eq(sum((pipeline.at(bit, cycle) for bit in carry), base + words))
                m.d.sync += base.eq(sum_[:size] & ~pipeline.at(leaves, cycle).replicate(size))
                self.base += [Timed(bit, cycle) for bit in base]
                self.rest += [pipeline.register(f"rest_{start + bit}", sum_[bit], cycle) for bit in range(size)]
                carry = [pipeline.register(f"carry_{start}", sum_[size], cycle)]
            # The beat fills its row if there is a carry, or if it has as many words as there are lanes.
            self._overflow = [*carry, total[steps]]
        else:
            cycle = latest(total)
            base = Signal(steps, name="base_0", reset_less=True)
            self._cleared.append(base)
            sum_, rest, full = Signal(steps + 1, name="sum_0"), Signal(steps, name="rest"), Signal(name="is_full")
            m.d.comb += [
                sum_.eq(base + Cat(*(pipeline.at(bit, cycle) for bit in total))),
                full.eq(sum_ >= lanes),
                rest.eq(Mux(full, sum_ - lanes, sum_)),
            ]
            m.d.sync += base.eq(rest & ~pipeline.at(leaves, cycle).replicate(steps))
            self.base = [Timed(bit, cycle) for bit in base]
            self.rest = [pipeline.register(f"rest_{bit}", rest[bit], cycle) for bit in range(steps)]
            self._overflow = [pipeline.register("carry_0", full, cycle)]

    def _store(self, m: Module) -> None:
        pipeline, lanes, depth, steps = self.pipeline, self.lanes, self.depth, self.steps
        network = self.network
        pointer_bits = (depth - 1).bit_length()
        decided = latest([self.closes, self.closes_next])
        written = network.cycle
        # The row in which a beat begins, and the next one. Groups of lanes number the rows in different ways, so that
        # synthesis does not merge their pointers.
        closes, closes_next = (pipeline.at(each, decided) for each in (self.closes, self.closes_next))
        closed_rows = Cat(closes ^ closes_next, closes_next)
        rows: list[tuple[Timed, Timed]] = []
        for group in range(-(-lanes // _WRITE_GROUP)):
            pair = []
            for name, ahead in (("row", 0), ("next_row", 1)):
                code = group % depth
                row = Signal(pointer_bits, name=f"{name}_{group}", init=ahead ^ code, reset_less=True)
                m.d.sync += row.eq(((row ^ code) + closed_rows)[:pointer_bits] ^ code)
                self._cleared.append(row)
                pair.append(Timed(row, decided))
            rows.append((pair[0], pair[1]))

        # The stream of closed rows: at most one in a cycle.
        pending, later = Signal(name="pending", reset_less=True), Signal(steps + 2, name="later", reset_less=True)
        self._cleared.append(pending)
        rest, full, ends = Cat(*(pipeline.at(b, decided) for b in self.rest)), pipeline.at(self.full, decided), pipeline.at(self.ends, decided)
        own = Cat(rest, full, ends & ~closes_next)
        m.d.sync += [
            pending.eq(closes_next | (pending & closes)),
            later.eq(Mux(closes_next, Cat(rest, Const(0, 1), Const(1, 1)), own)),
        ]
        closed = pipeline.register("closed", closes | pending, decided)
        filled = pipeline.register("filled", Mux(pending, later, own), decided)
        marks: list[list[Timed]] = [
            [pipeline.compute(f"mark_{lane}", [filled], partial(_is_filled, lane, steps))] for lane in range(lanes)
        ]
        end = pipeline.compute("mark_last", [filled], lambda filled: filled[-1])
        was_pending = Timed(pending, decided)
        for lane in range(lanes):
            for place, name in enumerate(self.marked):
                marks[lane].append(self._mark(m, f"{name}_{lane}", place, lane, was_pending))
        marked = latest([end, *(mark for each in marks for mark in each)])

        # Output.
        announced = max(decided + 1, marked - 3)
        flight = max(announced + 3, marked + 2)
        regions = -(-lanes // _REGION)
        self.reset = reset = LateReset(max(2, -(-regions // 2)), flight)
        front, behind, inside = Front(1 + regions), Level(depth), Level(depth)
        m.submodules.reset, m.submodules.front = reset, front
        m.submodules.behind, m.submodules.inside = behind, inside
        valid, ready = front.valid[0], self.packed.ready
        arrive, near, announces = Signal(reset_less=True), Signal(reset_less=True), Signal()

        def next_arrives(arrives: Value) -> Value:
            return front.room(arrives) & Mux(arrives, behind.more_than[1], behind.more_than[0])

        copies = reset.copies
        m.d.comb += [
            announces.eq(next_arrives(near)),
            behind.up.eq(pipeline.at(closed, announced)),
            behind.down.eq(announces),
            behind.reset.eq(copies[-1]),
            inside.up.eq(closed.value),
            inside.down.eq(valid & ready),
            inside.reset.eq(copies[-2]),
            front.arrives.eq(arrive),
            front.ready.eq(ready),
            self.packed.valid.eq(valid),
        ]
        m.d.sync += [arrive.eq(next_arrives(arrive)), near.eq(announces)]
        with m.If(reset.busy | ResetSignal()):
            m.d.sync += [arrive.eq(0), near.eq(0)]
        # The level of the next cycle, so that fewer beats are accepted after it was reached.
        more, at = inside.more_than, self.threshold
        many = Signal()
        m.d.comb += many.eq(Mux(inside.changes, Mux(inside.grows, more[at - 1], more[at + 1]), more[at]))
        m.d.sync += [self.ready.eq(~many & ~reset.busy), self.paused.eq(many | reset.busy)]
        with m.If(copies[-3]):
            m.d.sync += [register.eq(register.init) for register in self._cleared]

        for group, start in enumerate(range(0, lanes, _READ_GROUP)):
            part = range(start, min(lanes, start + _READ_GROUP))
            code, region = group % depth, start // _REGION
            mark_row, read = (
                Signal(pointer_bits, name=f"{name}_{group}", init=code, reset_less=True) for name in ("mark_row", "read")
            )
            m.d.sync += mark_row.eq(((mark_row ^ code) + pipeline.at(closed, marked))[:pointer_bits] ^ code)
            with m.If(ready):
                m.d.sync += read.eq(((read ^ code) + front.valid[1 + region])[:pointer_bits] ^ code)
            with m.If(copies[region // 2]):
                m.d.sync += [mark_row.eq(mark_row.init), read.eq(read.init)]
            entry = [mark for lane in part for mark in marks[lane]]
            if part[-1] == lanes - 1:
                entry.append(end)
            shown = self._memory(m, f"marks_{start}", Cat(pipeline.at(e, marked) for e in entry), mark_row, read)
            if part[-1] == lanes - 1:
                m.d.comb += self.packed.payload.last.eq(shown[-1])
            for lane in part:
                row, next_row = rows[lane // _WRITE_GROUP]
                recode = code ^ (lane // _WRITE_GROUP) % depth
                address = pipeline.compute(f"address_{lane}", [network.wraps[lane], next_row, row], partial(_address, recode))
                word = pipeline.at(network.words[-1][lane], written)
                stored = self._memory(m, f"lane_{lane}", word[len(self.marked) :], pipeline.at(address, written), read)
                item, at_bit = self.packed.payload.symbols[lane], 0
                each = len(self.marked) + 1
                own_marks = shown[(lane - start) * each : (lane - start + 1) * each]
                m.d.comb += self.packed.payload.keep[lane].eq(own_marks[0])
                for name in self.names:
                    field = Value.cast(item[name])
                    if name in self.marked:
                        m.d.comb += field.eq(own_marks[1 + self.marked.index(name)])
                    else:
                        m.d.comb += field.eq(stored[at_bit : at_bit + len(field)])
                        at_bit += len(field)

    def _mark(self, m: Module, name: str, place: int, lane: int, pending: Timed) -> Timed:
        """A marked field of the lane in the row that is closed: of this beat, or of an earlier one that began the row."""
        pipeline, written = self.pipeline, self.network.cycle
        mark = pipeline.at(self.network.words[-1][lane], written)[place]
        wraps, closes, closes_next, was_pending = (
            pipeline.at(each, written) for each in (self.network.wraps[lane], self.closes, self.closes_next, pending)
        )
        waiting, later = Signal(name=f"waiting_{name}", reset_less=True), Signal(name=f"later_{name}", reset_less=True)
        own, following = Mux(wraps, waiting, mark), wraps & mark
        m.d.sync += [waiting.eq(Mux(closes, following, own)), later.eq(Mux(closes_next, following, own))]
        return pipeline.register(f"closed_{name}", Mux(was_pending, later, own), written)

    def _memory(self, m: Module, name: str, entry: Value, write: Value, read: Value) -> Value:
        """A memory that is written in each cycle; the row that is read."""
        m.submodules[name] = rows = memory.Memory(shape=len(entry), depth=self.depth, init=[])
        into, out = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [into.en.eq(1), into.addr.eq(write), into.data.eq(entry), out.addr.eq(read)]
        return out.data


def _is_filled(lane: int, steps: int, filled: Value) -> Value:
    return (lane < filled[:steps]) | filled[steps]


def _address(code: int, wraps: Value, next_row: Value, row: Value) -> Value:
    return Mux(wraps, next_row, row) ^ code


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
