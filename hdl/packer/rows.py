# SPDX-License-Identifier: BSD-2-Clause
"""The rows of a packer, in memories of look-up tables."""

from __future__ import annotations

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


class Rows(wiring.Component):
    """The rows: a memory of words for each lane, and one of marks, which tell which words a closed row has.

    Many rows are in two banks, for even and odd rows, with registers behind them. While a row of
    one bank is at the output, the other bank already reads the next row into its register, which needs no enable.

    To announce a row is to write its marks and to tell the readers. A beat that closes two rows is the last one of its
    packet. Its second row waits for a cycle, and its marks are in `second`.

    Latency: `latency` cycles from the port `last` of the beat that closes a row to the row at the output, while none
    waits.

    Ports:
        full, ends: see `Places`.
        open_lanes_before, open_lanes: the lanes with a word in the row that is open in front of the beat, and in that
            behind it, before `ends` closes it; one cycle after `full`.
        last: see `Places`; one cycle after `full`.
        words: the words of a beat in their lanes; two cycles after `full`.
        output: stream of `beat_layout`, the closed rows.
        left: a row left the memory; with two banks, two cycles before.
    """

    def __init__(self, symbol: ShapeLike, lanes: int, depth: int) -> None:
        self.lanes, self.depth = lanes, depth
        self.banks = banks_of(depth)
        self.latency = 1 + self.banks
        self.groups = groups_of(lanes)
        words = data.ArrayLayout(Shape.cast(symbol).width, lanes)
        beat = {"words": In(words)} | dict.fromkeys(("open_lanes_before", "open_lanes"), In(lanes))
        events = dict.fromkeys(("last", "full", "ends"), In(1))
        super().__init__(beat | events | {"output": Out(beat_stream(symbol, lanes)), "left": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        full = [delayed_duplicate(m, self.full, f"full_{number}") for number in range(len(self.groups))]
        ends = [delayed_duplicate(m, self.ends, f"ends_{number}") for number in range(len(self.groups))]
        announced_row, marks, has_second = self._announce(m, full[-1], ends[-1])
        output = self.output.payload
        for number, lanes in enumerate(self.groups):
            open_row = duplicate(f"open_row_{number}", range(self.depth))
            next_row = duplicate(f"next_row_{number}", range(self.depth), init=1)
            closed_rows = full[number] + ends[number]
            m.d.sync += [open_row.eq(open_row + closed_rows), next_row.eq(next_row + closed_rows)]
            announces = delayed_duplicate(m, full[number] | ends[number] | has_second, f"announces_{number}")
            reader = self._reader(m, number, announces)
            # Row r is row r[1:] of bank r[0]. The open row and the next one are in both banks: if the open one is even,
            # r[1:] is the same for both.
            shared = [delayed(m, row[1:], f"row_of_bank_{n}_{number}") for n, row in enumerate((next_row, open_row))]
            for lane in lanes:
                is_open, for_next_row = self.open_lanes[lane], self.open_lanes_before[lane]
                gets_word = Mux(for_next_row, full[number] & is_open, full[number] | is_open)
                if self.banks == 1:
                    target = Mux(for_next_row, next_row, open_row)
                    writes, targets = [gets_word], [delayed(m, target, f"row_of_{lane}")]
                else:
                    is_odd = for_next_row ^ open_row[0]
                    writes, targets = [gets_word & ~is_odd, gets_word & is_odd], shared
                enables = [delayed(m, each, f"writes_{lane}_{n}", reset_less=False) for n, each in enumerate(writes)]
                stored = self._memory(m, f"words_{lane}", reader, enables, targets, self.words[lane])
                symbol = output.symbols[lane]
                m.d.comb += Value.cast(symbol).eq(stored)
                if isinstance(symbol, data.View) and "error" in symbol.shape().members:
                    # Where a row has no word in this lane, there is an older one.
                    m.d.comb += symbol.error.eq(stored[symbol.shape()["error"].offset] & output.keep[lane])
            # The last group has the end of the packet, too. The row that is written next is free.
            part = slice(lanes.start, self.lanes + 1 if lanes.stop == self.lanes else lanes.stop)
            enables, target = [Const(1)], announced_row
            if self.banks > 1:
                enables, target = [~announced_row[0], announced_row[0]], announced_row[1:]
            stored = self._memory(m, f"marks_{number}", reader, enables, [target] * self.banks, marks[part])
            m.d.comb += Cat(output.keep, output.last)[part].eq(stored)
        return m

    def _reader(self, m: Module, number: int, announces: Value) -> Reader:
        """What is read of a group of lanes, and the handshake at the output."""
        m.submodules[f"reader_{number}"] = reader = Reader(self.depth, self.banks)
        m.d.comb += reader.output_ready.eq(self.output.ready)
        if number == 0:
            # With many lanes, the count of credits is far from here.
            left = delayed(m, reader.has_left, "left_before", reset_less=False) if self.banks > 1 else reader.left
            m.d.comb += [self.output.valid.eq(reader.output_valid), self.left.eq(left)]
        # With two banks, there is a register behind the memory.
        late = delayed(m, announces, f"announced_{number}", reset_less=False) if self.banks > 1 else announces
        m.d.comb += reader.stored.eq(late)
        return reader

    def _memory(
        self, m: Module, name: str, reader: Reader, enables: list[Value], targets: list[Value], entry: Value
    ) -> Value:
        """A memory whose banks are written at their targets where `enables` are asserted, and what is read from it."""
        outputs = []
        for bank, row in enumerate(reader.rows):
            rows = memory.Memory(shape=len(entry), depth=self.depth // self.banks, init=[])
            m.submodules[f"{name}_{bank}"] = rows
            into, out = rows.write_port(), rows.read_port(domain="comb")
            m.d.comb += [into.en.eq(enables[bank]), into.addr.eq(targets[bank]), into.data.eq(entry), out.addr.eq(row)]
            outputs.append(out.data if self.banks == 1 else delayed(m, out.data, f"{name}_of_bank_{bank}"))
        return outputs[0] if self.banks == 1 else Mux(reader.bank, outputs[1], outputs[0])

    def _announce(self, m: Module, full: Value, ends: Value) -> tuple[Value, Value, Value]:
        """The number of the row that is announced, its marks, and whether one waits to be announced after the others.

        The marks are the lanes with a word, and whether the packet ends.

        A beat that closes two rows is the last one of its packet, since `closes` equals `last` with `valid`, see
        `Packer`. One place to wait suffices for the second one: behind a beat that closes two no row is open, and until
        a beat closes none, each closes exactly one and leaves none open. So between two beats that close two there is
        one that closes none, in whose cycle the waiting row is announced.
        """
        lanes, two = self.lanes, full & ends
        own = named(m, "own_marks", Cat(self.open_lanes | full.replicate(lanes), self.last & ~two))
        has_second = Signal()
        second = Signal(lanes + 1, reset_less=True)
        announces = delayed(m, full | ends | has_second, "announces", reset_less=False)
        # With the attribute `keep` synthesis needs ten cells less.
        row = duplicate("announced_row", range(self.depth))
        with m.If(announces):
            m.d.sync += row.eq(row + 1)
        m.d.sync += [
            has_second.eq(two | (has_second & (full | ends))),
            second.eq(Mux(two, Cat(self.open_lanes, 1), own)),
        ]
        return row, delayed(m, Mux(has_second, second, own), "marks"), has_second
