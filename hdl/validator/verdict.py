# SPDX-License-Identifier: BSD-2-Clause
"""The smallest tap: the verdict, one code unit per cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring

from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.validator.logic import ValidatorControl
from utf8fpga.hdl.validator.report import report_layout, tap_ports

if TYPE_CHECKING:
    from utf8fpga.hdl.validator.parameters import ValidatorParameters


class VerdictTap(wiring.Component):
    """A tap like `ValidatorTap`, with one lane and the verdict as its report, but smaller.

    It counts the units that the open sequence needs. After the first error in a packet the count has no meaning.

    Throughput: a beat per cycle on any input. Latency: `report_valid` is asserted exactly `latency` cycles after the
    last beat of a packet was transferred. A reset discards the packet and all reports in flight.

    Attributes:
        needs: bit k: the open sequence needs more than k units.

    Ports: those of `ValidatorTap`.

    Raises:
        TableError: the table does not allow a sliding window, or the leads of sequences of one length distinguish more
            than two classes of units after them.
    """

    lanes = 1
    latency = 2

    def __init__(self, parameters: ValidatorParameters) -> None:
        self.parameters, table = parameters, parameters.table
        self.control = ValidatorControl.of(table)
        self.control.check_two_classes()
        self.needs = commented(
            Signal(table.longest - 1, name="needs"), "Bit k: the open sequence needs more than k units."
        )
        self.failed = commented(Signal(name="failed"), "There was an error in this packet.")
        super().__init__(tap_ports(table.unit_width, 1, report_layout("verdict", 0)))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control, serial = self.control, self.control.serial
        unit, keep, last = self.payload.symbols[0], self.payload.keep[0], self.payload.last

        # What is known of the unit by itself.
        arrived = Signal()
        ends = Signal(reset_less=True)
        trail = commented(Signal(name="trail", reset_less=True), "The unit may continue a sequence.")
        begins = commented(Signal(name="begins", reset_less=True), "It is neither that nor a whole sequence.")
        allows = {name: Signal(name=name, reset_less=True) for name in control.next_allowed}
        current = Signal(len(unit), reset_less=True)
        m.d.sync += [
            arrived.eq(self.valid & self.ready & (keep | last)),
            ends.eq(last),
            trail.eq(serial.is_trail(unit) & keep),
            begins.eq(control.begins(unit) & keep),
            current.eq(unit),
            *(allows[name].eq(function(unit)) for name, function in control.next_allowed.items()),
        ]

        # The unit before it, and the sequence.
        before = Signal(len(unit), reset_less=True)
        allowed = {name: Signal(name=f"before_{name}", reset_less=True) for name in allows}
        upper = control.upper_class(Cat(current, before))
        fits = Mux(upper, allowed["allows_high"], allowed["allows_low"])
        fails = self.failed | (trail ^ self.needs[0]) | (trail & ~fits)
        needed = [
            (begins & (serial.needs_more_than[more](current) if more else 1)) | (trail & above)
            for more, above in enumerate([*self.needs[1:], 0])
        ]
        well_formed = Signal(reset_less=True)
        valid = Signal()
        m.d.sync += [well_formed.eq(~(fails | needed[0])), valid.eq(arrived & ends)]
        with m.If(arrived):
            m.d.sync += [
                before.eq(current),
                *(allowed[name].eq(allows[name]) for name in allows),
                self.needs.eq(Cat(*needed)),
                self.failed.eq(fails),
            ]
            with m.If(ends):
                m.d.sync += [self.needs.eq(0), self.failed.eq(0)]
        m.d.comb += [self.report.well_formed.eq(well_formed), self.report_valid.eq(valid)]
        return m
