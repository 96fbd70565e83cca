# SPDX-License-Identifier: BSD-2-Clause
"""The rows of a packer, in memories of look-up tables."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Const, Module, Mux, Shape, ShapeLike, Signal, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_stream
from utf8fpga.hdl.commented import named
from utf8fpga.hdl.fifo import Reader
from utf8fpga.hdl.packer.places import groups_of
from utf8fpga.hdl.registers import delayed, delayed_duplicate, duplicate

FEW_ROWS = 16
"""The fewest rows of a packer, which are in one bank."""


def banks_of(depth: int) -> int:
    """The banks that have these rows."""
    return 1 if depth <= FEW_ROWS else 2


class _Group(NamedTuple):
    """Registers that the memories of a group of lanes share.

    Attributes:
        rows: by bank, the address of the row in it that is read.
        bank: the bank of the row at the output.
    """

    rows: list[Value]
    bank: Value


class Rows(wiring.Component):
    """The rows: a memory of words for each lane, and one of marks, which tell which words a closed row has.

    Many rows are in two banks, for even and odd rows, with registers behind them. While a row of
    one bank is at the output, the other bank already reads the next row into its register, which needs no enable.

    To announce a row is to write its marks and to tell the readers. A beat that closes two rows is the last one of its
    packet. Its second row waits for a cycle, and its marks are in `second`.

    Latency: `latency` cycles from the beat that closes a row to the row at the output, while none waits.

    Ports:
        keep: the lanes with a word.
        words: the words, one cycle later.
        wrapped: a word in this lane belongs to the row behind the open one.
        open_lanes: the lanes of the words in the last row of the beat.
        last: see `Places`; it comes with `keep`, `wrapped` and `open_lanes`.
        full, ends: see `Places`; one cycle before `keep`.
        output: stream of `beat_layout`, the closed rows.
        left: a row left the memory.
    """

    def __init__(self, symbol: ShapeLike, lanes: int, depth: int) -> None:
        self.lanes, self.depth = lanes, depth
        self.banks = banks_of(depth)
        self.latency = 1 + self.banks
        self.groups = groups_of(lanes)
        words = data.ArrayLayout(Shape.cast(symbol).width, lanes)
        beat = {"keep": In(lanes), "words": In(words), "wrapped": In(lanes), "open_lanes": In(lanes), "last": In(1)}
        closed = {"full": In(1), "ends": In(1)}
        super().__init__(beat | closed | {"output": Out(beat_stream(symbol, lanes)), "left": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        full = [delayed_duplicate(m, self.full, f"full_{number}") for number in range(len(self.groups))]
        ends = [delayed_duplicate(m, self.ends, f"ends_{number}") for number in range(len(self.groups))]
        announces, announced_row, marks = self._announce(m, full[-1], ends[-1])
        output = self.output.payload
        for number, lanes in enumerate(self.groups):
            open_row = duplicate(f"open_row_{number}", range(self.depth))
            next_row = duplicate(f"next_row_{number}", range(self.depth), init=1)
            closed = full[number] + ends[number]
            m.d.sync += [open_row.eq(open_row + closed), next_row.eq(next_row + closed)]
            group = self._read(m, number, announces)
            for lane in lanes:
                keep, row = self.keep[lane], Mux(self.wrapped[lane], next_row, open_row)
                target = delayed(m, row, f"row_of_{lane}")
                writes = [keep] if self.banks == 1 else [keep & ~row[0], keep & row[0]]
                enables = [delayed(m, each, f"writes_{lane}_{n}", reset_less=False) for n, each in enumerate(writes)]
                stored = self._memory(m, f"words_{lane}", group, enables, target, self.words[lane])
                symbol = output.symbols[lane]
                m.d.comb += Value.cast(symbol).eq(stored)
                if isinstance(symbol, data.View) and "error" in symbol.shape().members:
                    # Where a row has no word in this lane, there is an older one.
                    m.d.comb += symbol.error.eq(stored[symbol.shape()["error"].offset] & output.keep[lane])
            # The last group has the end of the packet, too. The row that is written next is free.
            part = slice(lanes.start, self.lanes + 1 if lanes.stop == self.lanes else lanes.stop)
            enables = [Const(1)] if self.banks == 1 else [~announced_row[0], announced_row[0]]
            stored = self._memory(m, f"marks_{number}", group, enables, announced_row, marks[part])
            m.d.comb += Cat(output.keep, output.last)[part].eq(stored)
        return m

    def _read(self, m: Module, number: int, announces: Value) -> _Group:
        """The handshake at the output, as each group of lanes has it for itself."""
        m.submodules[f"reader_{number}"] = reader = Reader(self.depth)
        m.d.comb += reader.output_ready.eq(self.output.ready)
        if number == 0:
            # With many lanes, the count of credits is far from here.
            left = reader.has_left if self.banks > 1 else reader.left
            m.d.comb += [self.output.valid.eq(reader.output_valid), self.left.eq(left)]
        if self.banks == 1:
            m.d.comb += reader.stored.eq(announces)
            return _Group([reader.row], Const(0))
        m.d.comb += reader.stored.eq(delayed_duplicate(m, announces, f"announced_{number}"))
        following = duplicate(f"read_next_{number}", range(self.depth), init=1)
        with m.If(reader.left):
            m.d.sync += following.eq(following + 1)
        next_even, next_odd = following[1:], reader.row[1:]
        return _Group([next_even, next_odd], reader.row[0])

    def _memory(self, m: Module, name: str, group: _Group, enables: list[Value], target: Value, entry: Value) -> Value:
        """A memory whose banks are written where `enables` are asserted, and what is read from it."""
        if self.banks == 1:
            return self._bank(m, name, group.rows[0], enables[0], target, entry)
        outputs = []
        for bank, row in enumerate(group.rows):
            output = self._bank(m, f"{name}_{bank}", row, enables[bank], target[1:], entry)
            outputs.append(delayed(m, output, f"{name}_of_bank_{bank}"))
        return Mux(group.bank, outputs[1], outputs[0])

    def _bank(self, m: Module, name: str, row: Value, writes: Value, target: Value, entry: Value) -> Value:
        """A memory of look-up tables."""
        m.submodules[name] = rows = memory.Memory(shape=len(entry), depth=self.depth // self.banks, init=[])
        into, out = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [into.en.eq(writes), into.addr.eq(target), into.data.eq(entry), out.addr.eq(row)]
        return out.data

    def _announce(self, m: Module, full: Value, ends: Value) -> tuple[Value, Value, Value]:
        """Whether a closed row is announced, its number, and its marks: the lanes with a word; the packet ends.

        A beat that closes two rows is the last one of its packet, since `closes` equals `last` with `valid`, see
        `Packer`. One place to wait suffices for the second one: behind a beat that closes two no row is open, and until
        a beat closes none, each closes exactly one and leaves none open. So between two beats that close two there is
        one that closes none, in whose cycle the waiting row is announced.
        """
        lanes, two = self.lanes, full & ends
        own = named(m, "own_marks", Cat(self.open_lanes | full.replicate(lanes), self.last & ~two))
        waits = Signal()
        second = Signal(lanes + 1, reset_less=True)
        announces = delayed(m, full | ends | waits, "announces", reset_less=False)
        # With the attribute `keep` synthesis needs ten cells less.
        row = duplicate("announced_row", range(self.depth))
        with m.If(announces):
            m.d.sync += row.eq(row + 1)
        m.d.sync += [waits.eq(two | (waits & (full | ends))), second.eq(Mux(two, Cat(self.open_lanes, 1), own))]
        return announces, row, delayed(m, Mux(waits, second, own), "marks")
