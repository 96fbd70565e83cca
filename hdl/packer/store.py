# SPDX-License-Identifier: BSD-2-Clause
"""Rows of a packer in memories, one for each lane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import memory

from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.delay import access
from utf8fpga.hdl.memory_buffer import in_logic
from utf8fpga.hdl.packer.network import Network
from utf8fpga.hdl.packer.route import which_exceeds
from utf8fpga.hdl.packer.rows import ClosedRows, RowCode, row_numbers, spread
from utf8fpga.hdl.pipeline import Pipeline, Staged, latest

RESET_LANES = 4
"""Lanes that share a duplicate of the reset."""

BANK_BITS = 4
"""Bits of an address in a memory that needs no multiplexers."""


class RowMemory:
    """A memory of which a row is read in each cycle, by default into registers.

    More than 16 rows are in banks, which have registers of their own: the multiplexer is behind these.

    Args:
        depth: rows, a power of two.
        bank: a register with the upper bits of `read` of the preceding cycle; None: registers of other banks than that
            of the row are cleared.
        registers: the row that is read is in registers; otherwise it is read without, and there is one bank.

    Attributes:
        banks: the memories, of up to 16 rows each. The upper bits of an address are the index of the bank.
        held: per bank the row that is read, or registers with that which was read.
    """

    def __init__(self, width: int, depth: int, name: str, bank: Value | None = None, *, registers: bool = True) -> None:
        count = max(1, depth >> BANK_BITS)
        assert registers or count == 1
        self.banks = [memory.Memory(shape=width, depth=depth // count, init=[]) for _ in range(count)]
        # Made once, so that the store can be elaborated more than once.
        self._ports = [(each.write_port(), each.read_port(domain="comb")) for each in self.banks]
        names = [f"{name}_bank_{number}" for number in range(count)] if count > 1 else [name]
        self._domain, comment = ("sync", "Of the row that was read.") if registers else ("comb", "Of the oldest row.")
        self.held = [commented(Signal(width, name=each, reset_less=registers), comment) for each in names]
        self._clears = bank is None
        self.output = reduce(or_, self.held) if bank is None else self.choose(self.held, bank)

    @staticmethod
    def choose(banks: Sequence[Value], number: Value) -> Value:
        """The value of the bank with this index."""
        if len(banks) == 1:
            return banks[0]
        half = len(banks) // 2
        parts = (RowMemory.choose(each, number[:-1]) for each in (banks[half:], banks[:half]))
        return Mux(number[-1], *parts)

    def connect(
        self, m: Module, name: str, address: Value, entry: Value, read: Value, writes: Value | None = None
    ) -> None:
        """Add it to a module.

        Args:
            address, entry: the row that is written, and its address.
            writes: it is written in this cycle; only if there is one bank. Default: in each.
        """
        for number, (rows, (into, out), held) in enumerate(zip(self.banks, self._ports, self.held, strict=True)):
            is_only = len(self.banks) == 1
            m.submodules[name if is_only else f"{name}_bank_{number}"] = rows
            size = len(into.addr)
            # The address may be longer than that of a row.
            enable = (Const(1, 1) if writes is None else writes) if is_only else address[size : len(read)] == number
            m.d.comb += access((into, out), address[:size], entry, read[:size], enable)
            m.d[self._domain] += held.eq(out.data)
            if self._clears and not is_only:
                with m.If(read[size:] != number):
                    m.d.sync += held.eq(0)


class RowStore:
    """Memories of words, one for each lane, and of marks: which lanes of a row hold a word, and whether it is the last.

    The words of a beat are written to the row in which the beat begins, and to the next one in the lanes before that in
    which it begins. Groups of lanes code the rows in different ways, so that synthesis does not merge their pointers.
    Two neighbouring groups share the pointer with which words are written.

    Args:
        depth: rows of each memory, a power of two.
        closed: the rows that the beats close, which have marks.
        beat: whether there is a beat. Words are written in cycles with one, and rows are read without registers, see
            `RowMemory`. Default: words are written in each cycle.

    Attributes:
        group: lanes that share the pointers with which rows are read. More lanes make the nets from a pointer longer,
            fewer lanes those to the pointers.
        codes: per group of lanes the code of rows.
        numbers: per two groups of lanes the row in which a beat begins, and the next one, see `row_numbers`.
        written, marked: the cycle in which the words of a beat are written, and in which the marks of a row are.
        mark_rows, read_rows: registers, per group of lanes the row whose marks are written next, and the one that is
            read next.
        next_rows: registers, per group of lanes the row after that in `read_rows`; empty if there is one bank.
        read_banks: registers, per group of lanes the bank of the row that was read.
        mark_memories, word_memories: the memories, per group of lanes and per lane.
        kept, stored: per group of lanes the marks, and per lane the word, of the row that is, or was, read.
        keep, last: per lane whether that row holds a word; whether a packet ends with it.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        lanes: int,
        depth: int,
        closed: ClosedRows,
        network: Network,
        beat: Staged | None = None,
    ) -> None:
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
        groups, registers = len(self.codes), beat is None
        self._writes = [each.value for each in spread(pipeline, beat, written, groups)] if beat else []
        *filled, full, last = (Staged(bit, closed.filled.stage) for bit in closed.filled.value)
        marks = which_exceeds(pipeline, "mark", filled, lanes, full=full)
        last = pipeline.apply("mark_last", Value.__pos__, last)
        marked = self.marked = latest([*marks, last])
        self._closed = pipeline.at(closed.closed, marked)
        self.mark_rows: list[Signal] = []
        self.read_rows: list[Signal] = []
        self.next_rows: list[Signal] = []
        self.read_banks: list[Signal] = []
        self.mark_memories: list[RowMemory] = []
        self.word_memories: list[RowMemory] = []
        self._entries: list[Value] = []
        self._words: list[tuple[Value, Value]] = []
        for group, code in enumerate(self.codes):
            start = group * self.group
            part = range(start, min(lanes, start + self.group))
            for pointers, name, what in (
                (self.mark_rows, "mark_row", "whose marks are written"),
                (self.read_rows, "read_row", "that is read"),
            ):
                pointer = Signal(bits, name=f"{name}_{group}", init=code.row(0), reset_less=True)
                pointers.append(commented(pointer, f"Per group of lanes the code of the row {what} next."))
            if bits > BANK_BITS:
                self.next_rows.append(Signal(bits, name=f"next_row_{group}", init=code.row(1), reset_less=True))
            own = [marks[lane] for lane in part] + [last] * (part[-1] == lanes - 1)
            self._entries.append(Cat(pipeline.at(mark, marked) for mark in own))
            # The bits of an address above those within a bank.
            bank = Signal(len(self.read_rows[-1][BANK_BITS:]), name=f"read_bank_{group}", reset_less=True)
            self.read_banks.append(bank)
            self.mark_memories.append(RowMemory(len(own), depth, f"kept_{start}", registers=registers))
            for lane in part:
                rows = [network.wraps[lane], *self.numbers[group // 2]]
                address = pipeline.apply(
                    f"address_{lane}",
                    partial(_address, code.inverted),
                    *rows,
                    earliest=written,
                    comment="address_L_C: code of the row to which the word of lane L is written.",
                )
                word = pipeline.at(network.words[-1][lane], written)
                self._words.append((pipeline.at(address, written), word))
                self.word_memories.append(RowMemory(len(word), depth, f"stored_{lane}", bank, registers=registers))
        self.kept = [each.output for each in self.mark_memories]
        self.stored = [each.output for each in self.word_memories]
        self.keep = [self.kept[lane // self.group][lane % self.group] for lane in range(lanes)]
        self.last = self.kept[-1][-1]

    def present(self, lane: int, bits: slice) -> Value:
        """Bits of the word of that row, if it holds one in the lane."""
        words, marks = self.word_memories[lane].held, self.mark_memories[lane // self.group].held
        each = (
            word[bits] & mark[lane % self.group].replicate(len(word[bits]))
            for word, mark in zip(words, marks, strict=True)
        )
        return reduce(or_, each)

    def connect(self, m: Module, reads: Sequence[Value], resets: Sequence[Value], valid: Value | None = None) -> None:
        """Add memories and pointers to a module.

        Args:
            reads: duplicates of "a row is read in this cycle, if there is one".
            resets: duplicates of a reset, one for each `RESET_LANES` lanes at least.
            valid: there is a row. Default: in each cycle in which one is read.
        """
        groups = len(self.read_rows)
        for group, (mark_row, row) in enumerate(zip(self.mark_rows, self.read_rows, strict=True)):
            start, code = group * self.group, self.codes[group]
            read = reads[group * len(reads) // groups]
            # The nets of both conditions are long, so each is an enable without a look-up table in front.
            with m.If(self._closed):
                m.d.sync += mark_row.eq(Cat(mark_row[1:], code.next_bit(mark_row)))
            # Of several banks `row` has so many loads that it is not in the feedback.
            ahead = self.next_rows[group] if self.next_rows else row
            following = Cat(ahead[1:], code.next_bit(ahead))
            with m.If(read):
                m.d.sync += ahead.eq(following if valid is None else in_logic(valid, following, ahead))
                if self.next_rows:
                    m.d.sync += row.eq(ahead)
            with m.If(resets[start // RESET_LANES]):
                m.d.sync += [mark_row.eq(mark_row.init), row.eq(row.init)]
                if self.next_rows:
                    m.d.sync += ahead.eq(ahead.init)
                if group % 2 == 0:
                    m.d.sync += self._pairs[group // 2].value.eq(code.pair(0))
            m.d.sync += self.read_banks[group].eq(row[BANK_BITS:])
            # Marks of rows that beats close; not in other cycles, since all rows may be in use.
            marks = self._closed if self._writes else None
            writes = self._writes[group * len(self._writes) // groups] if self._writes else None
            self.mark_memories[group].connect(m, f"marks_{start}", mark_row, self._entries[group], row, marks)
            for lane in range(start, min(self.lanes, start + self.group)):
                self.word_memories[lane].connect(m, f"lane_{lane}", *self._words[lane], row, writes)


def _address(is_inverted: bool, wraps: Value, *pair: Value) -> Value:
    return Mux(wraps, Cat(*pair[1:]), Cat(*pair[:-1])) ^ Const(-is_inverted, len(pair) - 1)
