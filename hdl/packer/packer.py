# SPDX-License-Identifier: BSD-2-Clause
"""Closing the gaps: sparse beats in, beats out whose words are contiguous from word 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.decoder.parallel import ParallelDecoder
from utf8fpga.hdl.payloads import beat_layout, items_layout
from utf8fpga.model import TABLE_3_7, EncodingTable

__all__ = ["PackedDecoder", "Packer"]

_LEVELS = 2
"""Levels of adders or multiplexers between two rows of registers."""

_STROBES = ("valid", "idle", "closes", "closes_next")
"""What must not be left of a beat after a reset."""


@dataclass(frozen=True)
class _Stage:
    """A beat between two rows of registers.

    Attributes:
        words: per lane an item less its `keep`.
        present: per lane whether there is one.
        counts: per lane what is still to be done with it.
        scalars: what goes with the whole beat.
    """

    words: Sequence[Value]
    present: Sequence[Value]
    counts: Sequence[Value]
    scalars: dict[str, Value]

    def register(self, m: Module, name: str) -> _Stage:
        """The same a clock later; `_STROBES` are 0 after a reset."""

        def keep(part: str, value: Value) -> Signal:
            kept = Signal(len(value), name=f"{name}_{part}", reset_less=part not in _STROBES)
            m.d.sync += kept.eq(value)
            return kept

        return _Stage(
            [keep(f"word_{lane}", word) for lane, word in enumerate(self.words)],
            [keep(f"present_{lane}", present) for lane, present in enumerate(self.present)],
            [keep(f"count_{lane}", count) for lane, count in enumerate(self.counts)],
            {part: keep(part, value) for part, value in self.scalars.items()},
        )


class Packer(wiring.Component):
    """Sparse beats in, packed beats out: words contiguous from word 0, the order kept.

    Words of several beats are merged until a beat is full. A beat that is not full goes out when
    its text ends, and when the input has no next beat to offer just then: nothing waits for text
    that may not come.

    Throughput: a beat a clock. `sparse.ready` is only low in the clock after a reset, or where in one of the
    three clocks before a beat of `packed` was not taken.

    Latency: a word is shown no later than `latency` clocks after its beat was taken, or after the
    beat was that filled its own, while nothing waits.

    How: each word is moved down by the gaps before it, step by step of a power of two; then all
    are rotated to where the last beat ended, and written to a memory for each lane.

    Args:
        table: the encoding form.
        lanes: words a beat.
        kind, length: the fields of the items.

    Ports:
        sparse: stream of `items_layout`, in. A beat has a word or ends its text: one with neither would take a
            place for ever.
        packed: stream of `items_layout`, out.
    """

    def __init__(self, table: EncodingTable, lanes: int, *, kind: bool = False, length: bool = False) -> None:
        self.lanes = lanes
        layout = items_layout(table, lanes, kind=kind, length=length)
        super().__init__({"sparse": In(stream.Signature(layout)), "packed": Out(stream.Signature(layout))})

    @property
    def _steps(self) -> int:
        """Powers of two below the number of lanes."""
        return (self.lanes - 1).bit_length()

    @property
    def latency(self) -> int:
        """Clocks, at most, from a beat that fills or ends a beat to the output, while nothing waits.

        Nothing waits as long as the consumer takes each beat at once since it was last shown none.
        """
        rows = -(-self._steps // _LEVELS)
        return 3 * rows + 3

    @property
    def capacity(self) -> int:
        """Beats of `packed` that it holds, those on their way included, while the consumer takes none."""
        return self._depth - 1

    @property
    def _depth(self) -> int:
        """Rows that the memories hold: as many as beats may be on their way, and a power of two."""
        return 1 << (self.latency + 4).bit_length()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, bits = self.lanes, range(self._steps)
        sparse, inside = self.sparse.payload, Signal(range(self._depth + 1))
        ready = Signal()
        m.d.comb += self.sparse.ready.eq(ready)
        # An item's bits, less `keep`.
        layout = sparse.items[0].shape()
        names = [name for name, _ in layout if name != "keep"]
        stage = _Stage(
            [Cat(Value.cast(sparse.items[lane][name]) for name in names) for lane in range(lanes)],
            [sparse.items[lane].keep for lane in range(lanes)],
            [~sparse.items[lane].keep for lane in range(lanes)],
            {
                "valid": self.sparse.valid & ready,
                # Not when this side is the one that waits: then the next beat may well be there.
                "idle": ~self.sparse.valid & ready,
                "last": sparse.last,
            },
        ).register(m, "input")
        self._reveal("input", stage=stage)

        # Gaps up to each lane, then before it.
        for step in bits:
            counts = stage.counts
            summed = [counts[lane] + counts[lane - (1 << step)] for lane in range(1 << step, lanes)]
            stage = replace(stage, counts=[*counts[: 1 << step], *summed])
            stage = self._cut(m, stage, "gaps", step)
        gaps = stage.counts
        words_of_beat = Signal(range(lanes + 1))
        m.d.comb += words_of_beat.eq(lanes - gaps[-1])
        stage = replace(stage, counts=[Const(0, 1), *gaps[:-1]], scalars=stage.scalars | {"words": words_of_beat})
        # Down by as many lanes, a bit of the number at a time.
        for step in bits:
            stage = self._cut(m, self._move_down(stage, step), "down", step)
        stage = replace(stage, counts=[])

        # Where the beat begins, and which rows it closes.
        base = Signal(range(lanes))
        row = Signal(range(self._depth))
        scalars = stage.scalars
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
        # A beat that does not open a row of its own gives its place back.
        opens = Mux(base == 0, 1, full & (rest != 0))
        merged = Signal()
        m.d.sync += merged.eq(valid & ~opens)
        stage = replace(
            stage,
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
            stage = self._cut(m, self._rotate(stage, step), "around", step)

        self._keep(m, stage, names)
        self._reveal("state", base=base, row=row, merged=merged, inside=inside)

        # Places for beats that come in.
        leaves = self.packed.valid & self.packed.ready
        m.d.sync += [
            inside.eq(inside + (self.sparse.valid & ready) - leaves - merged),
            ready.eq(inside < self._depth - 2),
        ]
        return m

    def _reveal(self, name: str, **inner: Any) -> None:
        """A proof overloads this, to look at a row of registers, a memory, or what else goes by such a name."""

    def _cut(self, m: Module, stage: _Stage, name: str, step: int) -> _Stage:
        if step % _LEVELS == _LEVELS - 1 or step == self._steps - 1:
            stage = stage.register(m, f"{name}_{step}")
            self._reveal(name, stage=stage, step=step)
        return stage

    def _move_down(self, stage: _Stage, step: int) -> _Stage:
        far, words, present, counts = 1 << step, [], [], []
        for lane in range(self.lanes):
            stays = stage.present[lane] & ~_bit(stage.counts[lane], step)
            comes = Const(0, 1)
            source = lane
            if lane + far < self.lanes:
                source = lane + far
                comes = stage.present[source] & _bit(stage.counts[source], step)
            words.append(Mux(comes, stage.words[source], stage.words[lane]))
            present.append(comes | stays)
            counts.append(Mux(comes, stage.counts[source], stage.counts[lane]))
        return replace(stage, words=words, present=present, counts=counts)

    def _rotate(self, stage: _Stage, step: int) -> _Stage:
        turns = _bit(stage.scalars["base"], step)
        sources = [(lane - (1 << step)) % self.lanes for lane in range(self.lanes)]
        return replace(
            stage,
            words=[Mux(turns, stage.words[source], stage.words[lane]) for lane, source in enumerate(sources)],
            present=[Mux(turns, stage.present[source], stage.present[lane]) for lane, source in enumerate(sources)],
        )

    def _keep(self, m: Module, stage: _Stage, names: Sequence[str]) -> None:
        """Write the words to the lanes' memories and closed rows to theirs, and show rows in order."""
        lanes, depth, given = self.lanes, self._depth, stage.scalars
        row, rest = given["row"], given["rest"]
        following = (row + 1)[: len(row)]
        # Rows closed and rows shown, in numbers with a bit to spare.
        ended, reading = Signal(range(2 * depth)), Signal(range(2 * depth))
        self._reveal("rows", ended=ended, reading=reading)
        m.d.sync += ended.eq(ended + given["closes"] + given["closes_next"])
        valid = ended != reading
        m.d.comb += self.packed.valid.eq(valid)
        with m.If(valid & self.packed.ready):
            m.d.sync += reading.eq(reading + 1)

        # Which lanes of a row hold a word: rows with even and with odd numbers apart, since a beat may close two.
        filled = Cat(lane < rest for lane in range(lanes))
        here = Cat(Mux(given["full"], ~Const(0, lanes), filled), given["last"] & ~given["closes_next"])
        after = Cat(filled, Const(1, 1))
        masks = []
        for odd in (0, 1):
            is_here = row[0] == odd
            mask = memory.Memory(shape=lanes + 1, depth=depth // 2, init=[])
            m.submodules[f"mask_{('even', 'odd')[odd]}"] = mask
            into, out = mask.write_port(), mask.read_port(domain="comb")
            self._reveal("mask", memory=mask)
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
            m.submodules[f"lane_{lane}"] = rows = memory.Memory(shape=len(stage.words[lane]), depth=depth, init=[])
            into, out = rows.write_port(), rows.read_port(domain="comb")
            self._reveal("lane", memory=rows)
            m.d.comb += [
                into.en.eq(given["valid"] & stage.present[lane]),
                into.addr.eq(Mux(lane < given["base"], following, row)),
                into.data.eq(stage.words[lane]),
                out.addr.eq(reading),
            ]
            at, item = 0, self.packed.payload.items[lane]
            for name in names:
                field = Value.cast(item[name])
                value = out.data[at : at + len(field)]
                at += len(field)
                m.d.comb += field.eq(value & mask[lane] if name == "error" else value)
            m.d.comb += item.keep.eq(mask[lane])


def _bit(value: Value, place: int) -> Value:
    return value[place] if place < len(value) else Const(0, 1)


class PackedDecoder(wiring.Component):
    """A `ParallelDecoder` with a `Packer` behind it.

    Throughput: a beat a clock on any input. Latency: that of both. Null beats have no effect.

    Args: those of `ParallelDecoder`.

    Attributes:
        sparse, packer: the two.

    Ports:
        units: stream of `beat_layout`.
        items: stream of `items_layout`, its words contiguous from word 0.

    Raises:
        ValueError, TableError: see `ParallelDecoder`.
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
        replacement: bool = True,
        kind: bool = False,
        length: bool = False,
    ) -> None:
        self.sparse = decoder = ParallelDecoder(
            table, lanes=lanes, pipeline=pipeline, buffer=buffer, replacement=replacement, kind=kind, length=length
        )
        self.table, self.lanes, self.pipeline, self.buffer = table, lanes, decoder.pipeline, decoder.buffer
        self.replacement, self.kind, self.length = replacement, kind, length
        self.packer = Packer(table, lanes, kind=kind, length=length)
        super().__init__(
            {
                "units": In(stream.Signature(beat_layout(table, lanes))),
                "items": Out(stream.Signature(items_layout(table, lanes, kind=kind, length=length))),
            }
        )

    @property
    def latency(self) -> int:
        """Clocks, at most, from the beat that determines an item, and fills or ends its beat, to the item."""
        return self.sparse.latency + self.packer.latency

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset in which `units.ready` is low."""
        return self.sparse.reset_cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decoder, m.submodules.packer = self.sparse, self.packer
        wiring.connect(m, wiring.flipped(self.units), self.sparse.units)
        wiring.connect(m, self.sparse.items, self.packer.sparse)
        wiring.connect(m, wiring.flipped(self.items), self.packer.packed)
        return m
