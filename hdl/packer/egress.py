# SPDX-License-Identifier: BSD-2-Clause
"""How closed rows leave the memories of a packer: directly, or through a buffer if more rows may wait."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import data

from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.fan_out import FanOut, are_many
from utf8fpga.hdl.memory_buffer import Level, MemoryBuffer
from utf8fpga.hdl.packer.store import BANK_BITS
from utf8fpga.hdl.payloads import beat_of_slots

_MIN_DEPTH = 1 << BANK_BITS
"""Rows of a memory that need no more cells than fewer rows."""

_MOST_LANES = 16
"""Upper bound on the lanes of a direct output: with more, the nets from the output to the pointers are too long."""

_READ_CYCLES = 3
"""Cycles from the decision to read a row to its words in registers."""

_MORE_ROWS = 2
"""Upper bound on the rows that are in use in the memories, in excess of the cycles until a row is complete."""


class DirectEgress:
    """The oldest closed row is at the output, and is read there from the memories.

    A row is counted when its last words are written. Beats are accepted while so few rows are counted that those in the
    pipeline may need all others. While more are, a beat is accepted for each row that is transferred. So the beats in
    the pipeline become no fewer than the rows that wait require, and the output has a row in each cycle. A pipeline in
    front that `lends` may output two beats for the first one that it accepts, so that needs two transfers.

    The memories are written in cycles with a beat only. So all of their rows may be in use.

    Attributes:
        depth, room: rows of the memories, and of all memories through which rows pass.
        count: the rows that are complete and have not been transferred.
        threshold: how many of them there may be while beats are accepted in each cycle.
        overrun, capacity: see `Packer`.
        earned: register, if the pipeline in front `lends`: beats are accepted, or a row was transferred since they are
            not; otherwise None.
        submodules: its components, by name.
        deadline, latest: the cycle up to which the words and marks of a row must be written, and the one in which it is
            at the output, if no other waits.
        stall_cycles: see `Packer`.
    """

    depth = room = _MIN_DEPTH

    def __init__(self, packer: Any, slots: data.StructLayout) -> None:
        self._packer, self._slots = packer, slots
        written = packer.words_written
        self.overrun, self.capacity = written + packer.ahead, self.depth
        self.threshold = self._threshold(packer)
        # A beat is accepted in the cycle after a row was transferred, or two were.
        self.deadline, self.latest, self.stall_cycles = written, written + 1, 1 + packer.lends
        earned = Signal(name="earned", reset_less=True)
        comment = "Beats are accepted, or a row was transferred since they are not."
        self.earned = commented(earned, comment) if packer.lends else None
        self.count = Level(self.capacity, registered=False)
        self.submodules = {"waiting": self.count}
        self._complete = packer.pipeline.at(packer.closed.closed, written)

    @staticmethod
    def _threshold(packer: Any) -> int:
        # Besides the rows that later beats reach, there are the one that makes it too many, and one that was open.
        return int(_MIN_DEPTH - (packer.words_written + packer.ahead) - 2)

    @staticmethod
    def fits(packer: Any) -> bool:
        """Whether beats are accepted in each cycle while one row is at the output in each."""
        return bool(packer.lanes <= _MOST_LANES) and DirectEgress._threshold(packer) >= 1

    @property
    def pauses_next(self) -> Value:
        """Whether no beat is accepted in the next cycle."""
        ready = self._packer.packed.ready
        return self._waits & ~(ready if self.earned is None else ready & self.earned)

    @property
    def _waits(self) -> Value:
        """Whether more than `threshold` rows wait in the next cycle, if none is transferred in this one."""
        more, at = self.count.more_than, self.threshold
        return Mux(self.count.up, more[at - 1], more[at])

    def connect(self, m: Module) -> None:
        """Add it to a packer's module."""
        packer, packed, store = self._packer, self._packer.packed, self._packer.store
        m.d.comb += [
            packed.valid.eq(self.count.more_than[0]),
            # So no row is at the output until those of beats before the reset have left the pipeline.
            self.count.reset.eq(packer.reset.busy | ResetSignal()),
            *beat_of_slots(packed.payload, data.View(self._slots, Cat(*packer.slots, store.last))),
        ]
        store.connect(m, [packed.ready], packer.reset.copies, packed.valid)
        if self.earned is not None:
            m.d.sync += self.earned.eq(~self._waits | packed.ready | (self.earned & ~packer.ready))

    def count_rows(self, m: Module) -> None:
        """Count the rows that are complete, and those that are transferred."""
        count = self.count
        m.d.comb += [count.up.eq(self._complete), count.down.eq(count.more_than[0] & self._packer.packed.ready)]


class BufferedEgress:
    """Complete rows are read as soon as a buffer accepts them, in which they wait for the consumer.

    Attributes:
        depth, room, threshold, overrun, capacity, deadline, latest, stall_cycles: as for `DirectEgress`.
        complete: the cycle in which a closed row is counted as complete. When it is read, its words are in the
            memories.
        count, behind: the closed rows that have not been transferred, and the complete rows that have not been read.
        left: register, a row was transferred in the preceding cycle; None with few lanes, where `count` counts it a
            cycle earlier.
        reads, was_read: duplicates of "a row is read", some cycles later; register, a row was read in the preceding
            cycle.
        buffer: of rows, in front of the output.
    """

    def __init__(self, packer: Any, slots: data.StructLayout) -> None:
        self._packer, decided, late = packer, packer.closed.decided, are_many(packer.lanes)
        self.complete = max(decided + 1, packer.network.cycle - _READ_CYCLES)
        self._completed = packer.pipeline.at(packer.closed.closed, self.complete)
        rows = self.complete + _MORE_ROWS + late + packer.ahead + packer.lends
        self.depth = max(_MIN_DEPTH, 1 << (rows - 1).bit_length())
        self.buffer = MemoryBuffer(slots, row_cycles=_READ_CYCLES, group=packer.network.group)
        self.room = self.depth + self.buffer.capacity
        # Complete rows are read two cycles after they are counted, and then pass the buffer.
        self.latest = self.complete + 2 + _READ_CYCLES + self.buffer.latency
        # The nets from the output to the count of rows are too long for one cycle.
        self.left = Signal(name="left", reset_less=True) if late else None
        self.threshold = self.latest - decided + late
        self.overrun = decided + 2 + packer.ahead
        self.capacity = self.threshold + self.overrun + 2
        self.deadline = self.complete + _READ_CYCLES
        self.stall_cycles = decided + 6 + packer.ahead + late
        self.behind, self.count = Level(self.depth), Level(self.capacity)
        self.reads = FanOut(_READ_CYCLES)
        self.submodules = {"buffer": self.buffer, "behind": self.behind, "inside": self.count, "leaves": self.reads}
        was_read = Signal(name="was_read", reset_less=True)
        self.was_read = commented(was_read, "A row was read in the preceding cycle.")

    @property
    def pauses_next(self) -> Value:
        """Whether no beat is accepted in the next cycle: more than `threshold` rows wait."""
        count, more, at = self.count, self.count.more_than, self.threshold
        return Mux(count.changes, Mux(count.grows, more[at - 1], more[at + 1]), more[at])

    def connect(self, m: Module) -> None:
        """Add it to a packer's module."""
        packer, packed, store, buffer = self._packer, self._packer.packed, self._packer.store, self.buffer
        # Those that hold the value itself, not the complement, since they are enables.
        store.connect(m, self.reads.tree[_READ_CYCLES - 2][::2], packer.reset.copies)
        self._read_rows(m)
        m.d.comb += [
            Value.cast(buffer.row).eq(Cat(*packer.slots[:-1])),
            Value.cast(buffer.tail).eq(Cat(packer.slots[-1], store.last)),
            packed.valid.eq(buffer.output.valid),
            buffer.output.ready.eq(packed.ready),
            *beat_of_slots(packed.payload, buffer.output.payload),
        ]

    def count_rows(self, m: Module) -> None:
        """Count the rows that were closed, and those that were transferred."""
        m.d.comb += [
            self.count.up.eq(self._packer.closed.closed.value),
            self.count.down.eq(self.buffer.leaves if self.left is None else self.left),
            self.count.reset.eq(self._packer.reset.copies[-2]),
        ]
        if self.left is not None:
            m.d.sync += self.left.eq(self.buffer.leaves)

    def _read_rows(self, m: Module) -> None:
        """Complete rows are read as soon as the buffer accepts them."""
        behind, buffer, leaves, reset = self.behind, self.buffer, self.reads, self._packer.reset.copies[-1]
        read = commented(Signal(name="reads"), "A complete row is read from the memories.")
        m.d.comb += [
            read.eq(Mux(self.was_read, behind.more_than[1], behind.more_than[0]) & buffer.ready),
            behind.up.eq(self._completed),
            behind.down.eq(read),
            behind.reset.eq(reset),
            buffer.accepted.eq(read),
            leaves.value.eq(read),
            buffer.row_valid.eq(leaves.copies),
            buffer.tail_valid.eq(leaves.copies[-1]),
        ]
        m.d.sync += self.was_read.eq(read)
        with m.If(reset):
            m.d.sync += self.was_read.eq(0)
