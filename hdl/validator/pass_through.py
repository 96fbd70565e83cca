# SPDX-License-Identifier: BSD-2-Clause
"""The pass-through: a validator through which the stream goes on unchanged, with a flag for each code unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out

from utf8fpga.hdl.beats import stage_ports
from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.hdl.validator.report import report_layout
from utf8fpga.hdl.validator.report_buffer import ReportBuffer
from utf8fpga.hdl.validator.tap import ValidatorTap

if TYPE_CHECKING:
    from utf8fpga.hdl.validator.parameters import ValidatorParameters


class PassThrough(wiring.Component):
    """Outputs the units of a stream as they are, each with a flag, and one report for each packet.

    The flag of a unit is asserted if the unit belongs to an ill-formed maximal subpart (D93b). Beats are output as they
    are accepted, except for null beats. A beat waits for its flags: for the next beats if it ends within a sequence.

    The report is valid with the last beat of its packet. It is on the whole packet also if this is cut.

    Throughput: a beat per cycle on any input. `input.ready` is a register, deasserted for `reset_cycles` cycles after a
    reset.

    Structure: a tap watches the input and delays each beat until its flags are known. The beat waits for the next ones
    in registers until these flags are certain, and then in a `ReportBuffer`, as long as reports take.

    Args:
        parameters: the parameters. A packet with more units than `limit` is cut after the last item, well-formed or
            not, that ends within the limit, and the rest is discarded.

    Ports:
        input: stream of `beat_layout`, code units.
        output: stream of `beat_layout`, with symbols of `unit_layout`.
        report: the report, of `report_layout`, while `output.valid` and `output.payload.last` are asserted.
    """

    packed = True

    def __init__(self, parameters: ValidatorParameters) -> None:
        self.parameters, self.lanes, self.limit = parameters, parameters.lanes, parameters.limit
        self._tap = ValidatorTap(parameters, flags=True)
        table = parameters.table
        self._reach = table.longest - 1
        self._ages = -(-self._reach // self.lanes)
        """Beats after a beat that its flags may depend on."""
        report = report_layout(parameters.report, parameters.counters)
        streams = stage_ports(table.unit_width, unit_layout(table.unit_width), self.lanes)
        super().__init__(streams | {"report": Out(report)})
        # Flags are one cycle in `waiting`, and one in `entry`.
        flight = self._tap.flags_latency + 2
        self.buffer = ReportBuffer(
            data.StructLayout({"symbols": self.output.payload.shape()["symbols"].shape, "keep": self.lanes}),
            report,
            delay=self._tap.latency - flight,
            flight=flight,
            waiting=self._ages,
        )
        self.latency = self._tap.flags_latency + self._ages + 1 + self.buffer.latency
        self.reset_cycles, self.stall_cycles = self.buffer.reset_cycles, self.buffer.stall_cycles
        self.drain_cycles = self.buffer.drain_cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tap, m.submodules.buffer = tap, buffer = self._tap, self.buffer
        source, output, found = self.input, self.output, buffer.output
        m.d.comb += [
            tap.payload.eq(source.payload),
            tap.valid.eq(source.valid),
            tap.ready.eq(buffer.ready),
            source.ready.eq(buffer.ready),
            buffer.report.eq(tap.report),
            buffer.report_next.eq(tap.report_next),
            output.payload.symbols.eq(found.payload.beat.symbols),
            output.payload.keep.eq(found.payload.beat.keep),
            output.payload.last.eq(found.payload.last),
            output.valid.eq(found.valid),
            found.ready.eq(output.ready),
            self.report.eq(found.payload.report),
        ]
        self._determine(m)
        return m

    def _determine(self, m: Module) -> None:
        """Enter each beat in the buffer when no further beat can change its flags.

        A beat that is cut is entered at the end of its packet.
        """
        lanes, reach, ages, flags, strobe = self.lanes, self._reach, self._ages, self._tap.flags, self._tap.flags_valid
        limit = _Limit(m, self.limit, lanes, strobe, flags.last)
        dropped = limit.dropped(flags, reach)
        fields = {"units": len(flags.units.as_value()), "keep": lanes, "ill_formed": lanes, "last": 1}
        arriving = Cat(
            flags.units,
            limit.within(flags.present) & ~dropped[reach:],
            flags.ill_formed[reach:],
            flags.last | limit.ends,
            *([] if self.limit is None else [limit.ends & ~flags.last]),
        )
        shape = data.StructLayout(fields | ({} if self.limit is None else {"is_cut": 1}))
        waiting = [Signal(shape, name=f"waiting_{age}", reset_less=True) for age in range(1, ages + 1)]
        occupied = commented(Signal(ages, name="occupied"), "Bit k: a beat waits, after which k others came.")
        determined = commented(Signal(ages, name="determined", reset_less=True), "Bit k: its flags are certain.")

        # Of each beat, from the latest, with what the arriving beat says.
        known = [
            self._updated(beat, age, strobe & ~determined[age - 1], dropped) for age, beat in enumerate(waiting, 1)
        ]
        certain = [flags.ends, *(bit | flags.ends | flags.starts[reach:].any() for bit in determined)]

        # The earliest beat that waits is entered if its flags are certain, unless it is cut and its packet goes on.
        goes_on = commented(Signal(name="goes_on"), "The packet of a beat that is cut goes on.")
        is_held = [Const(0, 1) if self.limit is None else beat.is_cut & goes_on for beat in waiting]
        may = [*determined[:-1], determined[-1] | strobe]
        writes = [occupied[age] & ~occupied[age + 1 :].any() & may[age] & ~is_held[age] for age in range(ages)]
        # Only the flags of the last one may become certain in this cycle.
        chosen, *others = [*(beat.as_value() for beat in waiting[:-1]), known[-1]]
        for is_eldest, value in zip(occupied[1:], others, strict=True):
            chosen = Mux(is_eldest, value, chosen)
        enters, entry = Signal(), Signal(data.StructLayout(fields), name="entry", reset_less=True)
        beat, ill_formed, is_null = data.View(shape, chosen), entry.ill_formed, Const(0, 1)
        if self.limit is not None:
            ill_formed = ill_formed & entry.keep
            # With few lanes the units of a beat may all belong to the item that is not within the limit.
            is_null = ~beat.keep.any() & ~beat.last
        m.d.sync += [enters.eq(Cat(*writes).any() & ~is_null), entry.eq(chosen)]
        buffer, width = self.buffer, self.parameters.table.unit_width
        m.d.comb += [
            *(
                symbol.eq(Cat(entry.units.word_select(lane, width), ill_formed[lane]))
                for lane, symbol in enumerate(buffer.beat.symbols)
            ),
            buffer.beat.keep.eq(entry.keep),
            buffer.last.eq(entry.last),
            buffer.beat_valid.eq(enters),
        ]

        remaining = occupied & ~Cat(*writes)
        with m.If(strobe):
            m.d.sync += [
                occupied.eq(Cat(~limit.exceeds, remaining[:-1])),
                determined.eq(Cat(*certain[:-1])),
                *(later.eq(earlier) for later, earlier in zip(waiting, [arriving, *known[:-1]], strict=True)),
            ]
            if self.limit is not None:
                m.d.sync += goes_on.eq(~flags.last & (goes_on | limit.ends))
                # No beat is behind it.
                with m.If(occupied[-1] & is_held[-1]):
                    m.d.sync += [occupied[-1].eq(1), determined[-1].eq(1), waiting[-1].eq(known[-1])]
        with m.Else():
            m.d.sync += occupied.eq(remaining)

    def _updated(self, beat: Any, age: int, says: Value, dropped: Value) -> Value:
        """A beat that waits, after which as many came as its `age` says, with what the arriving beat `says` of it."""
        ill_formed, keep = [*beat.ill_formed], [*beat.keep]
        for lane in range(self.lanes):
            if (place := lane - age * self.lanes + self._reach) >= 0:
                ill_formed[lane] = Mux(says, self._tap.flags.ill_formed[place], ill_formed[lane])
                # The first unit beyond the limit says which ones are dropped, whatever follows.
                keep[lane] = keep[lane] & ~(says & dropped[place])
        return Cat(beat.units, *keep, *ill_formed, beat.last, [] if self.limit is None else beat.is_cut)


class _Limit:
    """The place of a beat in its packet, relative to the limit, if there is one; otherwise constants.

    Attributes:
        ends: this beat is the last one with units within the limit.
        exceeds: it is after that one.
    """

    def __init__(self, m: Module, limit: int | None, lanes: int, strobe: Value, last: Value) -> None:
        self._lanes, self._limit = lanes, limit
        self.ends: Value = Const(0, 1)
        self.exceeds: Value = Const(0, 1)
        self._holds: Value = Const(0, 1)
        """The limit is in this beat: the first unit beyond it would be in lane `_lane`."""
        if limit is None:
            return
        whole, self._lane = divmod(limit, lanes)
        number = Signal(range(whole + 2), name="beats")
        with m.If(strobe):
            m.d.sync += number.eq(Mux(last, 0, Mux(number == whole + 1, number, number + 1)))
        self._holds = number == whole
        self.ends = number == (whole if self._lane else whole - 1)
        self.exceeds = number >= (whole + 1 if self._lane else whole)

    def within(self, bits: Value) -> Value:
        """The bits of the lanes within the limit."""
        if self._limit is None:
            return bits
        return bits & (Const((1 << self._lane) - 1, self._lanes) | ~self._holds.replicate(self._lanes))

    def dropped(self, flags: Any, reach: int) -> Value:
        """For each unit with flags, whether it is within the limit, but belongs to an item that is not."""
        found: list[Value] = [Const(0, 1)] * (self._lanes + reach)
        if self._limit is None:
            return Cat(*found)
        at = self._lane + reach
        is_torn = self._holds & flags.present[self._lane] & ~flags.starts[at]
        for place in range(at - 1, at - 1 - reach, -1):
            found[place] = is_torn
            is_torn = is_torn & ~flags.starts[place]
        return Cat(*found)
