# SPDX-License-Identifier: BSD-2-Clause
"""The totals of a packet, and its report."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import register
from utf8fpga.hdl.payloads import Kind
from utf8fpga.hdl.registers import delayed_by
from utf8fpga.model.validator import COUNTER_WIDTH


def report_layout() -> data.StructLayout:
    """The report on a packet, see `ValidatorReport`. Its numbers saturate: all ones is this number or more.

    Fields:
        well_formed: the packet is well-formed.
        offset: the units before the first ill-formed maximal subpart; 0 if well-formed.
        kind: the cause of this error; `Kind.NONE` if well-formed.
        errors: the number of ill-formed maximal subparts.
        units: the number of code units.
        code_points: the number of code points, with one U+FFFD for each ill-formed maximal subpart.
    """
    numbers = dict.fromkeys(("errors", "units", "code_points"), COUNTER_WIDTH)
    return data.StructLayout({"well_formed": 1, "offset": COUNTER_WIDTH, "kind": Kind, **numbers})


class Number(NamedTuple):
    """A number in two halves, so that no carry runs through all bits in one cycle.

    Attributes:
        low: the lower half.
        high: a cycle later, the upper half, and above it bits of which one is set if the number has more bits. From
            then on the upper half is not counted.
    """

    low: Value
    high: Value


class PacketTotals(wiring.Component):
    """Adds up the beats of a packet, keeps its first error, and outputs the report when it ends.

    In the report a number that does not fit is all ones.

    Throughput: a beat per cycle, and a report per cycle. Latency: `latency` cycles from the last beat of a packet to
    its report. A reset discards the packet and the reports inside, and the next beat begins a packet.

    Args:
        group: the layout of the port `group`.

    Ports:
        group, last, valid: a beat, as `BeatSummary` has it.
        report: the report.
        report_valid: the report is valid in this cycle.
    """

    latency = 6

    def __init__(self, group: data.StructLayout) -> None:
        self._distance_bits = max(group["units"].width, group["back"].width) + 1
        # No beat adds or subtracts more than the lower half of a number.
        self._half = max(COUNTER_WIDTH // 2, self._distance_bits)
        report = {"report": Out(report_layout()), "report_valid": Out(1)}
        super().__init__({"group": In(group), "last": In(1), "valid": In(1), **report})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        starts = register("starts", "The next beat is the first one of its packet.", init=1)
        with m.If(self.valid):
            m.d.sync += starts.eq(self.last)
        # Bit k is of k cycles ago: a beat, the first one of a packet, the last one of a packet.
        valids = Signal(4)
        firsts = Signal(4, reset_less=True)
        ends = Signal(self.latency)
        valid, first = Cat(self.valid, valids), Cat(self.valid & starts, firsts)
        m.d.sync += [valids.eq(valid), firsts.eq(first), ends.eq(Cat(self.valid & self.last, ends))]
        m.d.comb += self.report_valid.eq(ends[-1])

        # A number in the name of a delayed value is that of cycles after the beat.
        group = self.group
        after = register("after", "The units after the place of the first error.", len(group.units))
        m.d.sync += after.eq(group.units - group.place)
        error_2, units_2 = delayed_by(m, 2, group.any_error, "error"), delayed_by(m, 2, group.units, "units")
        errors_3, code_points_3 = (delayed_by(m, 3, group[name], name) for name in ("errors", "code_points"))
        units = self._total(m, "units", units_2, valid[2:], first[2:], COUNTER_WIDTH + 1)
        totals = {
            "errors": self._total(m, "errors", errors_3, valid[3:], first[3:], COUNTER_WIDTH),
            "code_points": self._total(m, "code_points", code_points_3, valid[3:], first[3:], COUNTER_WIDTH),
        }

        ill_formed = register("ill_formed", "There was an error in this packet.")
        with m.If(valid[2]):
            m.d.sync += ill_formed.eq(error_2 | (ill_formed & ~first[2]))
        loads = register("loads", "The beat has the first error of its packet.")
        clears = register("clears", "It is the first beat of a packet and has no error.")
        m.d.sync += [loads.eq(valid[2] & error_2 & (first[2] | ~ill_formed)), clears.eq(first[2] & ~error_2)]
        distance = register("distance", bits=self._distance_bits)
        m.d.sync += distance.eq(after + delayed_by(m, 1, group.back, "back"))
        totals["offset"] = self._offset(m, units, delayed_by(m, 1, distance, "distance"), loads, clears)
        beat_kind = delayed_by(m, 3, group.kind, "beat_kind")
        kind = Signal(Kind, reset_less=True)
        with m.If(clears):
            m.d.sync += kind.eq(Kind.NONE)
        with m.Elif(loads):
            m.d.sync += kind.eq(beat_kind)

        # The units were there a cycle earlier.
        totals["units"] = Number(delayed_by(m, 1, units.low, "low"), delayed_by(m, 1, units.high, "high"))
        # The initial value is that of the set: an ECP5's flip-flop has one value for both.
        all_ones = (1 << COUNTER_WIDTH) - 1
        report = Signal(report_layout(), name="packet_report", init=dict.fromkeys(totals, all_ones), reset_less=True)
        m.d.sync += [
            report.well_formed.eq(delayed_by(m, 2, ~ill_formed, "well_formed")),
            report.kind.eq(delayed_by(m, 1, kind, "first_kind")),
        ]
        for name, total in totals.items():
            number = Cat(delayed_by(m, 1, total.low, f"low_{name}"), total.high)
            m.d.sync += report[name].eq(Mux(number[COUNTER_WIDTH:].any(), all_ones, number[:COUNTER_WIDTH]))
        m.d.comb += self.report.eq(report)
        return m

    def _total(self, m: Module, name: str, amount: Value, valid: Value, first: Value, width: int) -> Number:
        """The sum of an amount over the beats of a packet, with the current one.

        Args:
            valid, first: in bit 0 of the beat that has this amount, in bit k of that of k cycles before.
            width: the bits of the number.
        """
        low = register(f"{name}_low", bits=self._half + 1)
        high = register(f"{name}_high", bits=width - self._half + 1)
        with m.If(first[0]):
            m.d.sync += low.eq(amount)
        with m.Elif(valid[0]):
            m.d.sync += low.eq(low[:-1] + amount)
        with m.If(first[1]):
            m.d.sync += high.eq(0)
        with m.Elif(valid[1] & ~high[-1]):
            m.d.sync += high.eq(high + low[-1])
        return Number(low[:-1], high)

    def _offset(self, m: Module, units: Number, distance: Value, loads: Value, clears: Value) -> Number:
        """The offset of the first error of a packet: the units up to the end of its beat, less a distance.

        Args:
            distance, loads, clears: with `units.low`.
        """
        low = register("offset_low", bits=self._half + 1)
        high = register("offset_high", bits=len(units.high))
        with m.If(clears):
            m.d.sync += low.eq(0)
        with m.Elif(loads):
            m.d.sync += low.eq(units.low - distance)
        clears_high, loads_high = delayed_by(m, 1, clears, "clears"), delayed_by(m, 1, loads, "loads")
        with m.If(clears_high):
            m.d.sync += high.eq(0)
        with m.Elif(loads_high):
            m.d.sync += high.eq(units.high - low[-1])
        return Number(low[:-1], high)
