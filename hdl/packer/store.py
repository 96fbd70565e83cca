# SPDX-License-Identifier: BSD-2-Clause
"""Rows of a packer in memories, one for each lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import memory

from utf8fpga.hdl.packer.network import Network
from utf8fpga.hdl.packer.route import exceeds
from utf8fpga.hdl.packer.rows import ClosedRows, row_numbers
from utf8fpga.hdl.pipeline import Pipeline, Staged, latest

_READ_GROUP = 2
"""Lanes that share pointers. More lanes make the nets from a pointer longer, fewer lanes those to the pointers."""

_LOW_BITS = 2
"""Bits of the number of words of a row from which blocks of marks are made."""

_WRITE_GROUP = 8
"""Lanes that share the pointer to the row in which a beat begins."""

RESET_LANES = 4
"""Lanes that share a duplicate of the reset."""


class RowStore:
    """Memories of words, one for each lane, and of marks: which lanes of a row hold a word, and whether it is the last.

    The words of a beat are written to the row in which the beat begins, and to the next one in the lanes before that in
    which it begins. Groups of lanes number the rows in different ways, so that synthesis does not merge their pointers.

    Args:
        pipeline: the pipeline.
        lanes: words per row.
        depth: rows of each memory, a power of two.
        closed: the rows that the beats close, which have marks.
        network: delivers the words in their lanes.

    Attributes:
        numbers: per group of lanes the number of the row in which a beat begins, and of the next one.
        written, marked: the cycle in which the words of a beat are written, and in which the marks of a row are.
        mark_rows, read_rows: registers, per group of lanes the row whose marks are written next, and the one that is
            read next.
        mark_memories, word_memories: the memories, per group of lanes and per lane.
        kept, stored: registers, per group of lanes the marks and per lane the word of the row that was read.
    """

    def __init__(self, pipeline: Pipeline, lanes: int, depth: int, closed: ClosedRows, network: Network) -> None:
        self.lanes = lanes
        groups = -(-lanes // _WRITE_GROUP)
        self.numbers = [row_numbers(pipeline, closed, depth, group % depth, str(group)) for group in range(groups)]
        known = latest([bit for pair in self.numbers for number in pair for bit in number])
        # The address of a word is a register, too.
        written = self.written = max(network.cycle, known + 1)
        steps, filled = (lanes - 1).bit_length(), closed.filled
        marks = _marks(pipeline, filled, lanes, steps)
        last = pipeline.apply("mark_last", lambda filled: filled[-1], filled)
        marked = self.marked = latest([*marks, last])
        self._closed = pipeline.at(closed.closed, marked)
        self.mark_rows: list[Signal] = []
        self.read_rows: list[Signal] = []
        self.mark_memories: list[memory.Memory] = []
        self.word_memories: list[memory.Memory] = []
        self.kept: list[Signal] = []
        self.stored: list[Signal] = []
        self._entries: list[Value] = []
        # Made once, so that the store can be elaborated more than once.
        self._ports: dict[memory.Memory, tuple[Any, Any]] = {}
        self._words: list[tuple[Value, Value]] = []
        bits = (depth - 1).bit_length()
        for group, start in enumerate(range(0, lanes, _READ_GROUP)):
            part = range(start, min(lanes, start + _READ_GROUP))
            code = group % depth
            for pointers, name in ((self.mark_rows, "mark_row"), (self.read_rows, "read_row")):
                pointers.append(Signal(bits, name=f"{name}_{group}", init=code, reset_less=True))
            own = [marks[lane] for lane in part] + [last] * (part[-1] == lanes - 1)
            self._entries.append(Cat(pipeline.at(mark, marked) for mark in own))
            self.mark_memories.append(self._memory(len(own), depth))
            self.kept.append(Signal(len(own), name=f"kept_{start}", reset_less=True))
            for lane in part:
                number, following = self.numbers[lane // _WRITE_GROUP]
                recode = code ^ (lane // _WRITE_GROUP) % depth
                rows = [network.wraps[lane], *following, *number]
                address = pipeline.apply(f"address_{lane}", partial(_address, recode), *rows)
                word = pipeline.at(network.words[-1][lane], written)
                self._words.append((pipeline.at(address, written), word))
                self.word_memories.append(self._memory(len(word), depth))
                self.stored.append(Signal(len(word), name=f"stored_{lane}", reset_less=True))

    @property
    def keep(self) -> list[Value]:
        """Per lane whether the row that was read holds a word."""
        return [self.kept[lane // _READ_GROUP][lane % _READ_GROUP] for lane in range(self.lanes)]

    @property
    def last(self) -> Value:
        """Whether a packet ends with the row that was read."""
        return self.kept[-1][-1]

    def connect(self, m: Module, reads: Sequence[Value], resets: Sequence[Value]) -> None:
        """Add memories and pointers to a module.

        Args:
            m: the module.
            reads: duplicates of "a row is read in this cycle".
            resets: duplicates of a reset, one for each `RESET_LANES` lanes at least.
        """
        groups = len(self.read_rows)
        for group, (mark_row, row) in enumerate(zip(self.mark_rows, self.read_rows, strict=True)):
            start, code = group * _READ_GROUP, row.init
            read = reads[group * len(reads) // groups]
            # The nets of both conditions are long, so each is an enable without a look-up table in front.
            with m.If(self._closed):
                m.d.sync += mark_row.eq(((mark_row ^ code) + 1)[: len(mark_row)] ^ code)
            with m.If(read):
                m.d.sync += row.eq(((row ^ code) + 1)[: len(row)] ^ code)
            with m.If(resets[start // RESET_LANES]):
                m.d.sync += [mark_row.eq(mark_row.init), row.eq(row.init)]
            marks = self.mark_memories[group]
            m.submodules[f"marks_{start}"] = marks
            m.d.sync += self.kept[group].eq(self._connect(m, marks, mark_row, self._entries[group], row))
            for lane in range(start, min(self.lanes, start + _READ_GROUP)):
                words = self.word_memories[lane]
                m.submodules[f"lane_{lane}"] = words
                m.d.sync += self.stored[lane].eq(self._connect(m, words, *self._words[lane], row))

    def _memory(self, width: int, depth: int) -> memory.Memory:
        rows = memory.Memory(shape=width, depth=depth, init=[])
        self._ports[rows] = rows.write_port(), rows.read_port(domain="comb")
        return rows

    def _connect(self, m: Module, rows: memory.Memory, address: Value, entry: Value, read: Value) -> Value:
        """Write a memory in each cycle; the row that is read."""
        into, out = self._ports[rows]
        m.d.comb += [into.en.eq(1), into.addr.eq(address), into.data.eq(entry), out.addr.eq(read)]
        found: Value = out.data
        return found


def _marks(pipeline: Pipeline, filled: Staged, lanes: int, steps: int) -> list[Staged]:
    """Per lane whether a row has a word in it: the number of its words, high and low bits by themselves, then both."""
    low = min(_LOW_BITS, steps)

    def part(name: str, places: int, function: Callable[[int, Value], Value]) -> list[Staged]:
        return [pipeline.apply(f"{name}_{place}", partial(function, place), filled) for place in range(places)]

    beyond = part("low_exceeds", (1 << low) - 1, lambda place, row: exceeds(row[:low], place))
    blocks = -(-lanes >> low)
    above = part("high_exceeds", blocks, lambda place, row: exceeds(row[low:steps], place) | row[steps])
    within = part("high_is", blocks, lambda place, row: (row[low:steps] == place) & ~row[steps])
    marks = []
    for lane in range(lanes):
        block, place = lane >> low, lane % (1 << low)
        inputs = [above[block], *([within[block], beyond[place]] if place < len(beyond) else [])]
        marks.append(pipeline.apply(f"mark_{lane}", _reaches, *inputs))
    return marks


def _reaches(above: Value, *within: Value) -> Value:
    return above | Cat(*within).all() if within else above


def _address(code: int, wraps: Value, *rows: Value) -> Value:
    return Mux(wraps, Cat(*rows[: len(rows) // 2]), Cat(*rows[len(rows) // 2 :])) ^ code
