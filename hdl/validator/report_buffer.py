# SPDX-License-Identifier: BSD-2-Clause
"""A buffer of beats that wait for the report of their packet, in small memories.

For a high clock frequency there is at most one look-up table between two registers. So a memory of many rows is made of
banks of as many rows as one look-up table holds, which are read in turn into registers; their contents are 0 unless
their bank is read, so that a row is an OR of them. What is read waits at the output in memories of that size.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.delay import access
from utf8fpga.hdl.fan_out import LateReset
from utf8fpga.hdl.memory_buffer import CAPACITY, UNCOUNTED, Front, LaneMemory, Level

_ROWS = 16
"""Rows of a bank."""

_GROUP = 64
"""Upper bound on the bits that share pointers. More bits make the nets from a pointer longer."""

_DECIDED = 3
"""Cycles from the announcement of a beat until it is read, if there is room at the output."""

_READING = 4
"""Cycles from that until its report is read: whether there is one is read first."""

_COUNTED = 3
"""Cycles after which `ready` depends on a beat that was entered."""


class RowBanks(wiring.Component):
    """Rows that are read in the order in which they are written, in banks that are written and read in turn.

    Args:
        banks: the number of banks, at least 2.
        number: the index of the component. Neighbouring ones start at different rows, so that synthesis does not merge
            their pointers.

    Ports:
        entry: a row to write, in the cycle after `enters`.
        enters: there will be one.
        takes: the next row is read. For it, `enters` must have been asserted in the cycle before, or earlier.
        reset: the next row to write and to read is the first one.
        row: what is read, three cycles after `takes`; 0 if nothing is.
    """

    def __init__(self, width: int, banks: int, number: int = 0) -> None:
        self._banks, self._number = banks, number
        flags = dict.fromkeys(("enters", "takes", "reset"), In(1))
        super().__init__({"entry": In(width), **flags, "row": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first, start = 1 << self._number % self._banks, self._number % _ROWS
        writes, reads = (
            commented(Signal(self._banks, name=name, init=first, reset_less=True), f"Bit k: bank k is {next_}.")
            for name, next_ in (("writes_bank", "written next"), ("reads_bank", "read next"))
        )
        write_row, read_row = (
            commented(Signal(range(_ROWS), name=name, init=start, reset_less=True), f"The row to {what}.")
            for name, what in (("write_row", "write"), ("read_row", "read"))
        )
        # Registers of each group with a reset of its own, so that synthesis does not merge them: long nets end at them.
        entering, taking = (
            commented(Signal(name=name, reset_less=True), f"{name_of} in the preceding cycle.")
            for name, name_of in (("entering", "enters"), ("taking", "takes"))
        )
        written, unread = (
            commented(Signal(self._banks, name=name, init=init, reset_less=True), comment)
            for name, init, comment in (
                ("written", 0, "Bit k: bank k is written."),
                ("unread", (1 << self._banks) - 1, "Bit k: the row of bank k is not the one that is read."),
            )
        )
        entry = Signal(len(self.entry), name="entered", reset_less=True)
        m.d.sync += [
            entry.eq(self.entry),
            entering.eq(self.enters),
            taking.eq(self.takes),
            written.eq(writes & entering.replicate(self._banks)),
            unread.eq(~(reads & taking.replicate(self._banks))),
        ]
        with m.If(entering):
            m.d.sync += writes.eq(writes.rotate_left(1))
        with m.If(written[-1]):
            m.d.sync += write_row.eq(_next(write_row))
        with m.If(taking):
            m.d.sync += reads.eq(reads.rotate_left(1))
        with m.If(~unread[-1]):
            m.d.sync += read_row.eq(_next(read_row))
        rows_of_banks = []
        for bank in range(self._banks):
            m.submodules[f"bank_{bank}"] = rows = memory.Memory(shape=len(entry), depth=_ROWS, init=[])
            into, out = rows.write_port(), rows.read_port(domain="comb")
            held = Signal(len(entry), name=f"row_of_bank_{bank}", reset_less=True)
            m.d.comb += access((into, out), write_row, entry, read_row, written[bank])
            m.d.sync += held.eq(out.data)
            with m.If(unread[bank]):
                m.d.sync += held.eq(0)
            rows_of_banks.append(held)
        m.d.comb += self.row.eq(reduce(or_, rows_of_banks))
        with m.If(self.reset):
            m.d.sync += [each.eq(each.init) for each in (writes, reads, write_row, read_row, entering, taking)]
        return m


def _next(row: Signal) -> Value:
    """The next row, without a carry: each bit is a function of four at most."""
    return Cat(bit ^ row[:place].all() for place, bit in enumerate(row))


class ReportBuffer(wiring.Component):
    """Holds beats until the report of their packet is known, and outputs the last beat of a packet with it.

    No path leads from `output.ready` to `ready`, nor from `beat_valid` to `output.valid`.

    Throughput: a beat per cycle. Latency: a beat is valid at `output` `latency` cycles after it was entered, while no
    earlier beat waits. After a reset `ready` is deasserted for `reset_cycles` cycles.

    Args:
        delay: upper bound on the cycles from the entry of the last beat of a packet to its report.
        flight: cycles from the acceptance of a beat to its entry, if it waits for no other.
        waiting: upper bound on the beats that have been so long in flight and wait for others.

    Attributes:
        capacity: upper bound on the beats that have been accepted and not read.

    Ports:
        beat, last, beat_valid: a beat, whether its packet ends, and whether there is one.
        report, report_next: a report, and in the cycle before, that there will be one: for each packet, after its last
            beat.
        ready: a beat may be accepted: there is room for all that may be in flight.
        output: stream of beats; `report` is 0 unless `last` is set.
    """

    def __init__(
        self, beat: data.StructLayout, report: data.StructLayout, *, delay: int, flight: int, waiting: int
    ) -> None:
        # A report is read some cycles later than its beat is announced.
        self._announcement = max(0, delay - _DECIDED - _READING)
        self._uncounted = flight + _COUNTED + waiting
        # A beat is counted for so many cycles, if none waits at the output.
        self.banks = -(-(self._uncounted + self._announcement + 2) // _ROWS)
        self.capacity = self.banks * _ROWS
        super().__init__(
            {
                "beat": In(beat),
                "last": In(1),
                "beat_valid": In(1),
                "report": In(report),
                "report_next": In(1),
                "ready": Out(1),
                "output": Out(stream.Signature(data.StructLayout({"beat": beat, "last": 1, "report": report}))),
            }
        )
        self._groups = [
            range(start, min(start + _GROUP, len(word)))
            for word in (self.beat.as_value(), self.report.as_value())
            for start in range(0, len(word), _GROUP)
        ]
        self.reset = LateReset(max(2, len(self._groups) + 1), 10)
        self.latency, self.stall_cycles = self._announcement + 11, self._uncounted + 8
        self.reset_cycles = 1 + self.reset.cycles
        # After the beats at the output there is a cycle without one.
        self.drain_cycles = self.capacity + CAPACITY + 1

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reset = reset = self.reset
        m.submodules.held, m.submodules.behind = held, behind = Level(self.capacity), Level(self.capacity)
        m.submodules.ahead, m.submodules.queued = ahead, queued = Level(), Level()
        m.submodules.front = front = Front(3)
        resets = reset.copies[len(self._groups) :]
        output = self.output

        # A beat is announced when its report will have been entered before it is read.
        beat_announced: Value = self.beat_valid
        for cycle in range(self._announcement):
            later = Signal(name=f"announced_{cycle}", reset_less=True)
            m.d.sync += later.eq(beat_announced)
            with m.If(resets[-1]):
                m.d.sync += later.eq(0)
            beat_announced = later

        # It is read if there is room at the output.
        room = commented(
            Signal(name="room"), f"At most {CAPACITY - UNCOUNTED} beats are counted at the output, see `RowBuffer`."
        )
        taken = [Signal(name=f"taken_{cycle}", reset_less=True) for cycle in range(7)]
        takes, takes_next = taken[0], Signal()
        m.d.comb += takes_next.eq(room & Mux(takes, behind.more_than[1], behind.more_than[0]))
        ready = commented(
            Signal(name="is_ready"), f"There is room for the {self._uncounted} beats that may not be counted."
        )
        m.d.sync += [
            *(new.eq(old) for new, old in zip(taken, [takes_next, *taken], strict=False)),
            room.eq(~ahead.more_than[CAPACITY - UNCOUNTED]),
            ready.eq(~held.more_than[self.capacity - self._uncounted] & ~reset.busy),
        ]
        m.d.comb += [
            self.ready.eq(ready),
            held.up.eq(self.beat_valid),
            held.down.eq(takes_next),
            behind.up.eq(beat_announced),
            behind.down.eq(takes_next),
            ahead.up.eq(takes),
            ahead.down.eq(front.valid[0] & output.ready),
            *(level.reset.eq(resets[number]) for number, level in enumerate((held, behind, ahead, queued))),
        ]

        # Whether a report is read, too, depends on the end of a packet, which is read first.
        m.submodules.ends = ends = RowBanks(1, self.banks)
        beat = Signal(1 + len(self.beat.as_value()), reset_less=True)
        last = [Signal(name=f"last_{cycle}", reset_less=True) for cycle in range(4)]
        m.d.comb += [
            ends.entry.eq(beat[0]),
            ends.enters.eq(self.beat_valid),
            ends.takes.eq(takes),
            ends.reset.eq(resets[0]),
        ]
        m.d.sync += [
            beat.eq(Cat(self.last, self.beat.as_value())),
            *(new.eq(old) for new, old in zip(last, [ends.row, *last], strict=False)),
        ]
        with m.If(resets[-1]):
            m.d.sync += [each.eq(0) for each in (*taken, *last)]

        # At the output, where `queued` counts a row before it is written.
        arrive, near = (
            commented(Signal(name=name, reset_less=True), f"A row reaches the front; a register for {loads}.")
            for name, loads in (("arrive", "its count there"), ("near", "the count of those behind it"))
        )
        announced = Signal(name="announced")

        def announces(arrives: Value) -> Value:
            return front.room(arrives) & Mux(arrives, queued.more_than[1], queued.more_than[0])

        m.d.comb += [
            announced.eq(announces(near)),
            queued.up.eq(taken[4]),
            queued.down.eq(announced),
            front.arrives.eq(arrive),
            front.ready.eq(output.ready),
            front.reset.eq(Cat(resets[3], reset.copies[0], reset.copies[len(self._groups) - 1])),
            output.valid.eq(front.valid[0] & ~reset.busy),
        ]
        m.d.sync += [arrive.eq(announces(arrive)), near.eq(announced)]
        outputs: list[Value] = []
        beats = -(-len(self.beat.as_value()) // _GROUP)
        sources = [(beat[1:], self.beat_valid, taken[4])] * beats
        sources += [(self.report.as_value(), self.report_next, last[0])] * (len(self._groups) - beats)
        for number, (bits, (word, enters, reads)) in enumerate(zip(self._groups, sources, strict=True)):
            m.submodules[f"banks_{number}"] = banks = RowBanks(len(bits), self.banks, number)
            row = [banks.row] if number else [last[-1], banks.row]
            advance = Signal(name=f"advance_{number}", reset_less=True)
            m.d.sync += advance.eq(taken[6])
            with m.If(reset.copies[number]):
                m.d.sync += advance.eq(0)
            width = len(Cat(*row))
            m.submodules[f"rows_{number}"] = rows = LaneMemory(width, number)
            m.d.comb += [
                banks.entry.eq(word[bits.start : bits.stop]),
                banks.enters.eq(enters),
                banks.takes.eq(reads),
                banks.reset.eq(reset.copies[number]),
                rows.entry.eq(Cat(*row)),
                rows.advance.eq(advance),
                # The beats are near each other, and the reports.
                rows.valid.eq(front.valid[1 if number < beats else 2]),
                rows.ready.eq(output.ready),
                rows.reset.eq(reset.copies[number]),
            ]
            outputs.append(rows.row)
        payload, (first, *others) = output.payload, outputs
        m.d.comb += [
            payload.last.eq(first[0]),
            Cat(payload.beat.as_value(), payload.report.as_value()).eq(Cat(first[1:], *others)),
        ]
        return m
