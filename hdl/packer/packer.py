# SPDX-License-Identifier: BSD-2-Clause
"""A packer, which closes gaps: the words of its output beats are contiguous from word 0."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.fan_out import FanOut, LateReset
from utf8fpga.hdl.memory_buffer import CAPACITY, Level, MemoryBuffer
from utf8fpga.hdl.packer.network import Network
from utf8fpga.hdl.packer.pipeline import ZERO, Number, Pipeline, Timed, latest
from utf8fpga.hdl.packer.route import WordCounts
from utf8fpga.hdl.payloads import HasItemOptions, beat_of_slots
from utf8fpga.model import TABLE_3_7, EncodingTable

__all__ = ["PackedDecoder", "Packer"]

_READ_GROUP = 2
"""Lanes that share a read pointer. More lanes make the nets from a pointer longer, fewer lanes those to the pointers."""

_WRITE_GROUP = 8
"""Lanes that share the pointer to the row in which a beat begins."""

_READ_CYCLES = 3
"""Cycles from the decision to read a row to its words in registers."""


class Packer(wiring.Component):
    """Sparse beats in, packed beats out: words contiguous from word 0, in the same order.

    Words of several beats are merged to *rows*, which are the output beats. A row is closed when it is full, when its
    packet ends, or, with `flushes`, when `sparse.valid` is not asserted although `sparse.ready` is. So no word waits for
    a beat that may never be transferred. Without `flushes` all rows but the last one of a packet are full.

    A beat that has no word and does not end its packet has no effect.

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
        flushes: a row is also closed when the input pauses.

    Attributes:
        lanes, flushes: as given.
        ready, paused: registers, `sparse.ready` and its complement (kept apart so that synthesis does not merge them).
        depth: rows of the memories, a power of two.
        threshold: closed rows that may wait while `sparse.ready` is asserted.

    Ports:
        sparse: stream of `beat_layout` in. A beat must have a word or end its packet: one with neither would close a
            row without a word.
        packed: stream of `beat_layout` out.
    """

    def __init__(self, symbol: data.StructLayout, lanes: int, *, flushes: bool = True) -> None:
        self.lanes, self.flushes = lanes, flushes
        layout = beat_layout(symbol, lanes)
        super().__init__({"sparse": In(stream.Signature(layout)), "packed": Out(stream.Signature(layout))})
        self.names = [str(name) for name, _ in symbol]
        slot = data.StructLayout({"keep": 1, **{str(name): field.shape for name, field in symbol}})
        self.buffer = MemoryBuffer(
            data.StructLayout({"slots": data.ArrayLayout(slot, lanes), "last": 1}),
            row_cycles=_READ_CYCLES,
            row_copies=FanOut.copies_after(_READ_CYCLES),
        )
        self.ready, self.paused = Signal(name="ready"), Signal(name="paused", init=1)

    @property
    def steps(self) -> int:
        """Steps of the network."""
        return (self.lanes - 1).bit_length()

    depth = 16

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.pipeline = pipeline = Pipeline(m)
        lanes, steps, sparse = self.lanes, self.steps, self.sparse.payload
        m.d.comb += self.sparse.ready.eq(self.ready)
        self._cleared: list[Signal] = []
        valid = pipeline.register("valid", self.sparse.valid & ~self.paused, 0)
        # Not while `ready` is deasserted: the next beat may be at the input already.
        idle = pipeline.register("idle", ~self.sparse.valid & ~self.paused if self.flushes else Const(0, 1), 0)
        last = pipeline.register("last", sparse.last, 0)
        keep = [pipeline.register(f"keep_{lane}", sparse.keep[lane], 0) for lane in range(lanes)]
        words = [
            pipeline.register(f"word_{lane}", Cat(Value.cast(sparse.symbols[lane][name]) for name in self.names), 0)
            for lane in range(lanes)
        ]

        self.roots = [each.value for each in (valid, idle, last, *keep)]
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
            lambda ends, *bits: (
                ends & Cat(*bits[: len(self._overflow)]).any() & Cat(*bits[len(self._overflow) :]).any()
            ),
        )
        self.ends = ends
        self._store(m)
        return m

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
        decided = self.decided = latest([self.closes, self.closes_next])
        # The row in which a beat begins, and the next one. Groups of lanes number the rows in different ways, so that
        # synthesis does not merge their pointers.
        closes, closes_next = (pipeline.at(each, decided) for each in (self.closes, self.closes_next))
        one = pipeline.register("closes_one", closes ^ closes_next, decided)
        two = pipeline.register("closes_two", closes_next, decided)
        rows = self.rows = [
            [
                self._row_number(m, f"{name}_{group}", ahead, group % depth, [one, two])
                for name, ahead in (("row", 0), ("next_row", 1))
            ]
            for group in range(-(-lanes // _WRITE_GROUP))
        ]

        written = self.written = max(
            network.cycle, latest([bit for pair in rows for number in pair for bit in number]) + 1
        )

        # The stream of closed rows: at most one in a cycle.
        self.pending = pending = Signal(name="pending", reset_less=True)
        self.later = later = Signal(steps + 2, name="later", reset_less=True)
        self._cleared.append(pending)
        rest, full, ends = (
            Cat(*(pipeline.at(b, decided) for b in self.rest)),
            pipeline.at(self.full, decided),
            pipeline.at(self.ends, decided),
        )
        own = Cat(rest, full, ends & ~closes_next)
        m.d.sync += [
            pending.eq(closes_next | (pending & closes)),
            later.eq(Mux(closes_next, Cat(rest, Const(0, 1), Const(1, 1)), own)),
        ]
        closed = pipeline.register("closed", closes | pending, decided)
        filled = pipeline.register("filled", Mux(pending, later, own), decided)
        marks = [pipeline.compute(f"mark_{lane}", [filled], partial(_is_filled, lane, steps)) for lane in range(lanes)]
        marks.append(pipeline.compute("mark_last", [filled], lambda filled: filled[-1]))
        marked = self.marked = latest(marks)

        # Complete rows are read as soon as the buffer accepts them.
        # A row is read two cycles after the decision, which is two cycles after the announcement at the earliest.
        complete = self.complete = max(decided + 1, written - _READ_CYCLES, marked - _READ_CYCLES)
        shown_at = complete + 2 + _READ_CYCLES + MemoryBuffer.latency
        self.threshold = shown_at - decided
        self.latency = shown_at + 1
        self.overrun = decided + 2
        row_layout = self.buffer.output.payload.shape()
        behind, inside, buffer = Level(depth), Level(depth + CAPACITY), self.buffer
        self.behind, self.inside = behind, inside
        m.submodules.buffer, m.submodules.behind, m.submodules.inside = buffer, behind, inside
        m.submodules.leaves = self.reads = leaves = FanOut(_READ_CYCLES)
        groups = -(-lanes // _READ_GROUP)
        self.reset = reset = LateReset(max(2, -(-lanes // 8)), max(complete, written, marked) + 4)
        m.submodules.reset = reset
        self.reset_cycles = 1 + reset.cycles
        self.stall_cycles = decided + 6
        read, was_read = Signal(name="reads"), Signal(name="was_read", reset_less=True)
        self.was_read = was_read
        self.mark_rows: list[Signal] = []
        self.read_rows: list[Signal] = []
        self.mark_memories: list[memory.Memory] = []
        self.word_memories: list[memory.Memory] = []
        self.kept: list[Value] = []
        self.stored: list[Value] = []
        copies = reset.copies
        m.d.comb += [
            read.eq(Mux(was_read, behind.more_than[1], behind.more_than[0]) & buffer.ready),
            behind.up.eq(pipeline.at(closed, complete)),
            behind.down.eq(read),
            behind.reset.eq(copies[-1]),
            inside.up.eq(closed.value),
            inside.down.eq(self.packed.valid & self.packed.ready),
            inside.reset.eq(copies[-2]),
            buffer.accepted.eq(read),
            leaves.value.eq(read),
            buffer.row_valid.eq(leaves.copies),
            buffer.tail_valid.eq(leaves.copies[-1]),
            self.packed.valid.eq(buffer.output.valid),
            buffer.output.ready.eq(self.packed.ready),
        ]
        m.d.sync += was_read.eq(read)
        # The level of the next cycle, so that fewer beats are accepted after it was reached.
        more, at = inside.more_than, self.threshold
        many = Signal()
        m.d.comb += many.eq(Mux(inside.changes, Mux(inside.grows, more[at - 1], more[at + 1]), more[at]))
        m.d.sync += [self.ready.eq(~many & ~reset.busy), self.paused.eq(many | reset.busy)]
        with m.If(copies[-3]):
            m.d.sync += [register.eq(register.init) for register in [*self._cleared, was_read]]

        steps_of_reads = leaves.tree[_READ_CYCLES - 2]
        shown: list[Value] = []
        for group, start in enumerate(range(0, lanes, _READ_GROUP)):
            part = range(start, min(lanes, start + _READ_GROUP))
            code = group % depth
            mark_row, row = (
                Signal(pointer_bits, name=f"{name}_{group}", init=code, reset_less=True)
                for name in ("mark_row", "read_row")
            )
            m.d.sync += [
                mark_row.eq(((mark_row ^ code) + pipeline.at(closed, marked))[:pointer_bits] ^ code),
                row.eq(((row ^ code) + steps_of_reads[group * len(steps_of_reads) // groups])[:pointer_bits] ^ code),
            ]
            self.mark_rows.append(mark_row)
            self.read_rows.append(row)
            with m.If(copies[start // 8]):
                m.d.sync += [mark_row.eq(mark_row.init), row.eq(row.init)]
            own = [marks[lane] for lane in part] + marks[lanes:] * (part[-1] == lanes - 1)
            entry = Cat(pipeline.at(mark, marked) for mark in own)
            stored_marks = self._register(
                m, f"kept_{start}", self._memory(m, self.mark_memories, f"marks_{start}", entry, mark_row, row)
            )
            self.kept.append(stored_marks)
            for lane in part:
                row_number, next_number = rows[lane // _WRITE_GROUP]
                recode = code ^ (lane // _WRITE_GROUP) % depth
                inputs = [network.wraps[lane], *next_number, *row_number]
                address = pipeline.at(pipeline.compute(f"address_{lane}", inputs, partial(_address, recode)), written)
                word = pipeline.at(network.words[-1][lane], written)
                stored = self._register(
                    m, f"stored_{lane}", self._memory(m, self.word_memories, f"lane_{lane}", word, address, row)
                )
                self.stored.append(stored)
                keep = stored_marks[lane - start]
                at_bit = 0
                fields: dict[str, Value] = {"keep": keep}
                for name in self.names:
                    size = len(Value.cast(self.sparse.payload.symbols[lane][name]))
                    value = stored[at_bit : at_bit + size]
                    fields[name] = value & keep.replicate(size) if name == "error" else value
                    at_bit += size
                shown += [fields[str(name)] for name, _ in row_layout["slots"].shape.elem_shape]
        each = len(shown) // lanes
        m.d.comb += [
            Value.cast(buffer.row).eq(Cat(*shown[: (lanes - 1) * each])),
            Value.cast(buffer.tail).eq(Cat(*shown[(lanes - 1) * each :], stored_marks[-1])),
            *beat_of_slots(self.packed.payload, buffer.output.payload),
        ]

    def _register(self, m: Module, name: str, value: Value) -> Value:
        held = Signal(len(value), name=name, reset_less=True)
        m.d.sync += held.eq(value)
        return held

    def _row_number(self, m: Module, name: str, first: int, code: int, step: Number) -> Number:
        """A count of rows, combined with `code`: two bits in each cycle, like the lane in which a beat begins."""
        pipeline = self.pipeline
        result: list[Timed] = []
        for start in range(0, (self.depth - 1).bit_length(), 2):
            size = min(2, (self.depth - 1).bit_length() - start)
            part = code >> start & 3 >> (2 - size)
            row = Signal(size, name=f"{name}_{start}", init=(first >> start ^ part) & 3 >> (2 - size), reset_less=True)
            self._cleared.append(row)
            cycle = latest(step)
            sum_ = Signal(size + 1, name=f"{name}_sum_{start}")
            m.d.comb += sum_.eq((row ^ part) + Cat(*(pipeline.at(bit, cycle) for bit in step)))
            m.d.sync += row.eq(sum_[:size] ^ part)
            result += [Timed(bit, cycle) for bit in row]
            step = [pipeline.register(f"{name}_carry_{start}", sum_[size], cycle)]
        return result

    def _memory(
        self, m: Module, memories: list[memory.Memory], name: str, entry: Value, write: Value, read: Value
    ) -> Value:
        """A memory that is written in each cycle; the row that is read."""
        m.submodules[name] = rows = memory.Memory(shape=len(entry), depth=self.depth, init=[])
        memories.append(rows)
        into, out = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [into.en.eq(1), into.addr.eq(write), into.data.eq(entry), out.addr.eq(read)]
        return out.data


def _is_filled(lane: int, steps: int, filled: Value) -> Value:
    return (lane < filled[:steps]) | filled[steps]


def _address(code: int, wraps: Value, *rows: Value) -> Value:
    return Mux(wraps, Cat(*rows[: len(rows) // 2]), Cat(*rows[len(rows) // 2 :])) ^ code


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
