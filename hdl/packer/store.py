# SPDX-License-Identifier: BSD-2-Clause
"""Rows of a packer in memories, one for each lane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import memory

from utf8fpga.hdl.packer.network import Network
from utf8fpga.hdl.packer.route import which_exceeds
from utf8fpga.hdl.packer.rows import ClosedRows, RowCode, row_numbers
from utf8fpga.hdl.pipeline import Pipeline, Staged, latest

RESET_LANES = 4
"""Lanes that share a duplicate of the reset."""


class RowStore:
    """Memories of words, one for each lane, and of marks: which lanes of a row hold a word, and whether it is the last.

    The words of a beat are written to the row in which the beat begins, and to the next one in the lanes before that in
    which it begins. Groups of lanes code the rows in different ways, so that synthesis does not merge their pointers.
    Two neighbouring groups share the pointer with which words are written.

    Args:
        pipeline: the pipeline.
        lanes: words per row.
        depth: rows of each memory, a power of two.
        closed: the rows that the beats close, which have marks.
        network: delivers the words in their lanes.

    Attributes:
        group: lanes that share the pointers with which rows are read. More lanes make the nets from a pointer longer,
            fewer lanes those to the pointers.
        codes: per group of lanes the code of rows.
        numbers: per two groups of lanes the row in which a beat begins, and the next one, see `row_numbers`.
        written, marked: the cycle in which the words of a beat are written, and in which the marks of a row are.
        mark_rows, read_rows: registers, per group of lanes the row whose marks are written next, and the one that is
            read next.
        mark_memories, word_memories: the memories, per group of lanes and per lane.
        kept, stored: registers, per group of lanes the marks and per lane the word of the row that was read.
    """

    def __init__(self, pipeline: Pipeline, lanes: int, depth: int, closed: ClosedRows, network: Network) -> None:
        self.lanes = lanes
        bits, self.group = (depth - 1).bit_length(), network.group
        # Those of an odd group are the complements of the code of the group before it.
        self.codes = [RowCode(bits, group // 2, bool(group % 2)) for group in range(-(-lanes // self.group))]
        # The address of a word is a register, too.
        self._pairs = row_numbers(pipeline, closed, self.codes[::2], network.cycle - 1)
        self.numbers = [
            [Staged(bit, pair.stage, f"row_{number}_{at}") for at, bit in enumerate(pair.value)]
            for number, pair in enumerate(self._pairs)
        ]
        known = latest([bit for pair in self.numbers for bit in pair])
        written = self.written = max(network.cycle, known + 1)
        *filled, full, last = (Staged(bit, closed.filled.stage) for bit in closed.filled.value)
        marks = which_exceeds(pipeline, "mark", filled, lanes, full=full)
        last = pipeline.apply("mark_last", Value.__pos__, last)
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
        for group, code in enumerate(self.codes):
            start = group * self.group
            part = range(start, min(lanes, start + self.group))
            for pointers, name in ((self.mark_rows, "mark_row"), (self.read_rows, "read_row")):
                pointers.append(Signal(bits, name=f"{name}_{group}", init=code.row(0), reset_less=True))
            own = [marks[lane] for lane in part] + [last] * (part[-1] == lanes - 1)
            self._entries.append(Cat(pipeline.at(mark, marked) for mark in own))
            self.mark_memories.append(self._memory(len(own), depth))
            self.kept.append(Signal(len(own), name=f"kept_{start}", reset_less=True))
            for lane in part:
                rows = [network.wraps[lane], *self.numbers[group // 2]]
                address = pipeline.apply(f"address_{lane}", partial(_address, code.inverted), *rows, earliest=written)
                word = pipeline.at(network.words[-1][lane], written)
                self._words.append((pipeline.at(address, written), word))
                self.word_memories.append(self._memory(len(word), depth))
                self.stored.append(Signal(len(word), name=f"stored_{lane}", reset_less=True))

    @property
    def keep(self) -> list[Value]:
        """Per lane whether the row that was read holds a word."""
        return [self.kept[lane // self.group][lane % self.group] for lane in range(self.lanes)]

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
            start, code = group * self.group, self.codes[group]
            read = reads[group * len(reads) // groups]
            # The nets of both conditions are long, so each is an enable without a look-up table in front.
            with m.If(self._closed):
                m.d.sync += mark_row.eq(Cat(mark_row[1:], code.next_bit(mark_row)))
            with m.If(read):
                m.d.sync += row.eq(Cat(row[1:], code.next_bit(row)))
            with m.If(resets[start // RESET_LANES]):
                m.d.sync += [mark_row.eq(mark_row.init), row.eq(row.init)]
                if group % 2 == 0:
                    m.d.sync += self._pairs[group // 2].value.eq(code.pair(0))
            marks = self.mark_memories[group]
            m.submodules[f"marks_{start}"] = marks
            m.d.sync += self.kept[group].eq(self._connect(m, marks, mark_row, self._entries[group], row))
            for lane in range(start, min(self.lanes, start + self.group)):
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


def _address(is_inverted: bool, wraps: Value, *pair: Value) -> Value:
    return Mux(wraps, Cat(*pair[1:]), Cat(*pair[:-1])) ^ Const(-is_inverted, len(pair) - 1)
