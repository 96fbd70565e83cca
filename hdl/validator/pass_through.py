# SPDX-License-Identifier: BSD-2-Clause
"""The pass-through: a validator through which the stream goes on unchanged, with a flag for each code unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, fifo, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_stream, is_effective
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.hdl.validator.report import report_layout
from utf8fpga.hdl.validator.tap import ValidatorTap

if TYPE_CHECKING:
    from utf8fpga.hdl.validator.parameters import ValidatorParameters

_SLACK = 4
"""Beats that the memories hold in addition to those in the pipelines, so that the input need not wait for them."""


class PassThrough(wiring.Component):
    """Outputs the units of a stream as they are, each with a flag, and one report for each packet.

    The flag of a unit is asserted if the unit belongs to an ill-formed maximal subpart (D93b). Beats are output as they
    are accepted, except for null beats. A beat waits for its flags: for the next beats if it ends within a sequence.

    The report is valid with the last beat of its packet. It is on the whole packet also if this is cut.

    Throughput: a beat per cycle on any input. `input.ready` is a register.

    Structure: a tap watches the input, whose beats wait in a memory for their flags, and for the report where a packet
    ends.

    Args:
        parameters: the parameters. A packet with more units than `limit` is cut after the last item, well-formed or
            not, that ends within the limit, and the rest is discarded.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout`, with symbols of `unit_layout`.
        report: the report, of `report_layout`, while `output.valid` and `output.payload.last` are asserted.
    """

    packed = True
    reset_cycles = 0
    stall_cycles = 2
    """Cycles without a waiting beat, after which `input.ready` is asserted."""

    def __init__(self, parameters: ValidatorParameters) -> None:
        self.parameters, self.lanes, self.limit = parameters, parameters.lanes, parameters.limit
        self._tap = ValidatorTap(parameters, flags=True)
        table = parameters.table
        self._reach = table.longest - 1
        super().__init__(
            {
                "input": In(beat_stream(table.unit_width, self.lanes)),
                "output": Out(beat_stream(unit_layout(table.unit_width), self.lanes)),
                "report": Out(report_layout(parameters.report, parameters.counters)),
            }
        )

    @property
    def _ages(self) -> int:
        """Beats after a beat that its flags may depend on."""
        return -(-self._reach // self.lanes)

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from the beat that determines the flags of a beat to that, while no beat waits."""
        # A beat is one cycle in each memory, and its flags are one cycle in a register for each beat that they wait
        # for, and one before their memory.
        return max(self._tap.flags_latency + self._ages + 1, self._tap.latency) + 2

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all determined symbols have been transferred."""
        return self._depth

    @property
    def _depth(self) -> int:
        """Beats in the memory."""
        return self.latency + _SLACK

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tap = tap = self._tap
        source, output, lanes = self.input, self.output, self.lanes
        ready = Signal(init=1)
        accepts = Signal()
        m.d.comb += [
            tap.payload.eq(source.payload),
            tap.valid.eq(source.valid),
            tap.ready.eq(ready),
            source.ready.eq(ready),
            accepts.eq(is_effective(source) & ready),
        ]
        beats = fifo.SyncFIFOBuffered(width=len(source.payload.as_value()), depth=self._depth)
        reports = fifo.SyncFIFOBuffered(width=len(tap.report.as_value()), depth=self._depth)
        flags = fifo.SyncFIFOBuffered(width=lanes * (1 + (self.limit is not None)), depth=self._depth)
        m.submodules.beats, m.submodules.reports, m.submodules.flags = beats, reports, flags

        # Into the memories.
        arriving = _Limit(m, "arriving", self.limit, lanes, accepts, source.payload.last)
        watched = _Limit(m, "watched", self.limit, lanes, tap.flags_valid, tap.flags.last)
        beat = data.View(source.payload.shape(), beats.w_data)
        m.d.comb += [
            beat.symbols.eq(source.payload.symbols),
            beat.keep.eq(arriving.within(source.payload.keep)),
            beat.last.eq(source.payload.last | arriving.ends),
            beats.w_en.eq(accepts & ~arriving.exceeds),
            reports.w_data.eq(tap.report),
            reports.w_en.eq(tap.report_valid),
        ]
        self._determine(m, watched, flags)

        # Out of them. The beat and its flags are written so that a beat is never later than its flags.
        taken = data.View(beat.shape(), beats.r_data)
        keep, ill_formed = taken.keep, flags.r_data[:lanes]
        if self.limit is not None:
            keep = keep & ~flags.r_data[lanes:]
            ill_formed = ill_formed & keep
        # With few lanes the units of a beat may all belong to the item that is not within the limit.
        is_null = ~keep.any() & ~taken.last if self.limit is not None and lanes < self._reach else Const(0, 1)
        leaves = Signal()
        m.d.comb += [
            output.payload.keep.eq(keep),
            output.payload.last.eq(taken.last),
            *(output.payload.symbols[lane].eq(Cat(taken.symbols[lane], ill_formed[lane])) for lane in range(lanes)),
            output.valid.eq(flags.r_rdy & ~is_null & (~taken.last | reports.r_rdy)),
            leaves.eq((output.valid & output.ready) | (flags.r_rdy & is_null)),
            beats.r_en.eq(leaves),
            flags.r_en.eq(leaves),
            reports.r_en.eq(leaves & taken.last),
            self.report.eq(reports.r_data),
        ]

        # Room for all accepted beats.
        held = Signal(range(self._depth + 1))
        now = held + beats.w_en - leaves
        m.d.sync += [held.eq(now), ready.eq(now < self._depth)]
        return m

    def _determine(self, m: Module, watched: _Limit, memory: Any) -> None:
        """Write the flags of each beat when no further beat can change them."""
        lanes, reach, flags, strobe = self.lanes, self._reach, self._tap.flags, self._tap.flags_valid
        dropped = watched.dropped(flags, reach)
        shape = data.StructLayout({"ill_formed": lanes, "dropped": 0 if self.limit is None else lanes})
        waiting = [Signal(shape, name=f"waiting_{age}", reset_less=True) for age in range(1, self._ages + 1)]
        occupied = Signal(self._ages)
        determined = Signal(self._ages)

        # Of each beat, from the latest, with what the arriving beat says.
        known: list[Value] = []
        certain: list[Value] = [flags.ends]
        for age, entry in enumerate(waiting, 1):
            here = [lane - age * lanes + reach for lane in range(lanes)]
            ill_formed = [
                flags.ill_formed[place] if place >= 0 else entry.ill_formed[lane] for lane, place in enumerate(here)
            ]
            # The first unit beyond the limit says which ones are dropped, whatever follows.
            drops = [
                drop | (dropped[place] if place >= 0 else 0) for drop, place in zip(entry.dropped, here, strict=False)
            ]
            shown = Mux(strobe & ~determined[age - 1], Cat(*ill_formed, *drops), entry.as_value())
            known.append(shown)
            certain.append(determined[age - 1] | flags.ends | flags.starts[reach:].any() | Const(age == self._ages, 1))

        # The earliest beat that waits is written if its flags are certain.
        eldest = [occupied[age] & ~occupied[age + 1 :].any() for age in range(self._ages)]
        writes = [
            eldest[age] & (determined[age] | (strobe if age + 1 == self._ages else Const(0, 1)))
            for age in range(self._ages)
        ]
        written = known[0]
        for is_eldest, value in zip(eldest[1:], known[1:], strict=True):
            written = Mux(is_eldest, value, written)
        write, stored = Signal(), Signal(len(memory.w_data), reset_less=True)
        m.d.sync += [write.eq(Cat(*writes).any()), stored.eq(written)]
        m.d.comb += [memory.w_en.eq(write), memory.w_data.eq(stored)]

        entered = Cat(flags.ill_formed[reach:], dropped[reach:])
        remaining = occupied & ~Cat(*writes)
        with m.If(strobe):
            m.d.sync += [
                occupied.eq(Cat(~watched.exceeds, remaining[:-1])),
                determined.eq(Cat(*certain[:-1])),
                *(later.as_value().eq(earlier) for later, earlier in zip(waiting, [entered, *known[:-1]], strict=True)),
            ]
        with m.Else():
            m.d.sync += occupied.eq(remaining)


class _Limit:
    """The place of a beat in its packet, relative to the limit, if there is one.

    Attributes:
        ends: this beat is the last one with units within the limit.
        exceeds: it is after that one.
    """

    def __init__(self, m: Module, name: str, limit: int | None, lanes: int, strobe: Value, last: Value) -> None:
        self._lanes, self._limit = lanes, limit
        self.ends: Value = Const(0, 1)
        self.exceeds: Value = Const(0, 1)
        self._holds: Value = Const(0, 1)
        """The limit is in this beat: the first unit beyond it would be in lane `_lane`."""
        if limit is None:
            return
        whole, self._lane = divmod(limit, lanes)
        number = Signal(range(whole + 2), name=f"{name}_beats")
        with m.If(strobe):
            m.d.sync += number.eq(Mux(last, 0, Mux(number == whole + 1, number, number + 1)))
        self._holds = number == whole
        self.ends = number == (whole if self._lane else whole - 1)
        self.exceeds = number >= (whole + 1 if self._lane else whole)

    def within(self, bits: Value) -> Value:
        """The bits of the lanes within the limit."""
        if self._limit is None:
            return bits
        return bits & Mux(self._holds, Const((1 << self._lane) - 1, self._lanes), Const(-1, self._lanes))

    def dropped(self, flags: Any, reach: int) -> Value:
        """For each unit with flags, whether it is within the limit, but belongs to an item that is not."""
        found: list[Value] = [Const(0, 1)] * (self._lanes + reach)
        if self._limit is None:
            return Const(0, 0)
        at = self._lane + reach
        is_torn = self._holds & flags.present[self._lane] & ~flags.starts[at]
        for place in range(at - 1, at - 1 - reach, -1):
            found[place] = is_torn
            is_torn = is_torn & ~flags.starts[place]
        return Cat(*found)
