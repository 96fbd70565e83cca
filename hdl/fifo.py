# SPDX-License-Identifier: BSD-2-Clause
"""A FIFO behind a pipeline that never pauses: credits in front of the pipeline, a memory of rows behind it.

For a high clock frequency the memory has a slice for each group of neighbouring lanes, with pointers of its own.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import connected
from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.registers import delayed, delayed_duplicate, duplicate, loaded

LANES_PER_POINTER = 8
"""Lanes whose entries share pointers: a slice."""

FEW_SLICES = 2
"""Slices that a signal reaches within a cycle, with logic."""

UNCOUNTED = 1
"""Beats that may be accepted after one that is not yet counted."""


class Credits(wiring.Component):
    """The count of the beats that may still be accepted, so that the FIFO behind a pipeline is never full.

    Each accepted beat needs a credit until it leaves the FIFO, or the pipeline drops it. One row of the FIFO is always
    free: that which is written next, so that a memory needs no enable. A credit is counted two cycles after its beat:
    `ready` is low once `depth` - 2 beats are counted; `UNCOUNTED` more may then be on its way, so `depth` - 1 at most.

    Throughput: a beat per cycle, while a beat returns its credit within `depth` - 3 cycles.

    Args:
        depth: rows of the FIFO, a power of two.

    Ports:
        ready: register, a beat may be accepted.
        accepted: a beat is accepted; only while `ready` is asserted.
        dropped: a beat needs no row.
        left: a row left the FIFO.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        super().__init__({"ready": Out(1), "accepted": In(1), "dropped": In(1), "left": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.depth.bit_length()
        zero = 1 << bits - 1
        count = Signal(bits, init=zero + self.depth - 2 - UNCOUNTED)
        change = Signal(signed(3))
        commented(count, f"{count.init} less the beats that hold a credit; from {zero} on, more may be accepted.")
        m.d.sync += [change.eq(self.dropped + self.left - self.accepted), count.eq(count + change)]
        m.d.comb += self.ready.eq(count[-1])
        return m


class Reader(wiring.Component):
    """What is read of a slice of the memory. All slices have equal readers, each near its memory.

    With two banks, the first one has the even rows, the second one the odd ones, and each has a register behind it.

    Latency: `output_valid` is asserted one cycle after `stored`.

    Args:
        depth: rows of the memory, a power of two.
        banks: 1 or 2.

    Ports:
        stored: a row has been written by the end of this cycle; with two banks, of the cycle before.
        rows: registers, in each bank the row that is read: that at the output, or the next one.
        bank: register, the bank of the row at the output.
        output_valid, output_ready: the handshake of this row.
        left, has_left: it is transferred; and a register, one was in the cycle before.
    """

    def __init__(self, depth: int, banks: int = 1) -> None:
        self.depth, self.banks = depth, banks
        rows = {"rows": Out(data.ArrayLayout(range(depth // banks), banks)), "bank": Out(1)}
        handshake = {"output_valid": Out(1), "output_ready": In(1), "left": Out(1), "has_left": Out(1)}
        super().__init__({"stored": In(1)} | rows | handshake)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held, valid, only_one = duplicate("held", range(self.depth)), duplicate("is_valid"), duplicate("only_one")
        # `output_ready` comes from afar, so little depends on it.
        commented(held, "The rows that are stored, and one more in the cycle after one left.")
        commented(only_one, "One row is stored.")
        left = valid & self.output_ready
        has_left = delayed(m, left, "has_left", reset_less=False)
        m.d.comb += [self.output_valid.eq(valid), self.left.eq(left), self.has_left.eq(has_left)]
        next_held = held + self.stored - has_left
        holds_two = delayed(m, next_held == 2, "holds_two", reset_less=False)
        holds_three = delayed(m, next_held == 3, "holds_three", reset_less=False)
        m.d.sync += held.eq(next_held)
        next_valid = self.stored | (valid & ~(self.output_ready & only_one))
        m.d.sync += valid.eq(next_valid)
        m.d.sync += loaded(
            only_one, Mux(self.stored, ~valid, Mux(has_left, holds_three, holds_two)), self.stored != left
        )
        self._advance(m, left, next_valid)
        return m

    def _advance(self, m: Module, left: Value, next_valid: Value) -> None:
        """The rows that are read."""
        rows = [duplicate(f"read_{number}", range(self.depth // self.banks)) for number in range(self.banks)]
        m.d.comb += [port.eq(row) for port, row in zip(self.rows, rows, strict=True)]
        if self.banks == 1:
            with m.If(left):
                m.d.sync += rows[0].eq(rows[0] + 1)
            return
        # `here`: a row is at the output, and it is in this bank.
        bank, here = duplicate("bank"), [duplicate(f"is_in_bank_{number}") for number in range(self.banks)]
        next_bank = Mux(self.output_ready, here[0] | (bank & ~here[1]), bank)
        m.d.sync += bank.eq(next_bank)
        m.d.comb += self.bank.eq(bank)
        for number, row in enumerate(rows):
            # The same bank in another form, so that this depends on fewer registers.
            m.d.sync += here[number].eq(next_valid & ((bank ^ left) == number))
            # It may be a cycle old, since a bank's row changes in every other cycle at most.
            following = delayed(m, (row + 1)[: len(row)], f"following_{number}")
            m.d.sync += loaded(row, following, here[number] & self.output_ready)


class CreditFifo(wiring.Component):
    """Entries behind a pipeline that never pauses, and the handshake of the beats in front of it.

    The FIFO is never full: `Credits` count the beats in the pipeline and the FIFO. It has the rate of any consumer if
    the beats take at most `depth` - 3 - `latency` cycles from `accepted` to `stored`.

    Throughput: an entry per cycle. Latency: the output is valid `latency` cycles after `stored`: one, or two with more
    than `FEW_SLICES` slices, which are far from one another.

    A reset empties it. Beats that were accepted before must not be stored after it.

    Args:
        width: bits of an entry.
        lane_bits: bits of an entry for each lane; `LANES_PER_POINTER` lanes share pointers.
        depth: rows, a power of two.

    Ports:
        ready: register, a beat may be accepted. It follows an accepted beat two cycles later.
        accepted: a beat is accepted.
        dropped: a beat was discarded in the pipeline.
        entry, stored: an entry, and whether it is stored.
        output, output_valid, output_ready: the entries in their order; the entry is steady while it waits.
    """

    def __init__(self, width: int, lane_bits: int, depth: int = 16) -> None:
        self.width, self.lane_bits, self.depth = width, lane_bits, depth
        # Bits beside the lanes belong to the last slice.
        starts = range(0, width - width % lane_bits, LANES_PER_POINTER * lane_bits)
        self.slices = [slice(start, width if start == starts[-1] else start + starts.step) for start in starts]
        self.latency = 1 + (len(self.slices) > FEW_SLICES)
        credit = {"ready": Out(1), "accepted": In(1), "dropped": In(1)}
        entries = {"entry": In(width), "stored": In(1)}
        super().__init__(credit | entries | {"output": Out(width), "output_valid": Out(1), "output_ready": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.credits = counter = Credits(self.depth)
        m.d.comb += [self.ready.eq(counter.ready), *connected(counter, self, "accepted", "dropped")]
        for number, bits in enumerate(self.slices):
            reader = self._slice(m, number, bits)
            if number == 0:
                m.d.comb += [self.output_valid.eq(reader.output_valid), counter.left.eq(reader.left)]
        return m

    def _slice(self, m: Module, number: int, bits: slice) -> Reader:
        """The memory of some bits of the entries, with its pointers."""
        entry, stored = self.entry[bits], self.stored
        if self.latency > 1:
            entry, stored = delayed(m, entry, f"entry_{number}"), delayed_duplicate(m, stored, f"stored_{number}")
        m.submodules[f"slice_{number}"] = rows = memory.Memory(shape=len(entry), depth=self.depth, init=[])
        m.submodules[f"reader_{number}"] = reader = Reader(self.depth)
        write = duplicate(f"write_{number}", range(self.depth))
        with m.If(stored):
            m.d.sync += write.eq(write + 1)
        into, out = rows.write_port(), rows.read_port(domain="comb")
        m.d.comb += [
            # The row that is written next is free, so that the memory needs no enable.
            into.en.eq(1),
            into.addr.eq(write),
            into.data.eq(entry),
            out.addr.eq(reader.rows[0]),
            self.output[bits].eq(out.data),
            reader.stored.eq(stored),
            reader.output_ready.eq(self.output_ready),
        ]
        return reader
