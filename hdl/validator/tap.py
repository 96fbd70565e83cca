# SPDX-License-Identifier: BSD-2-Clause
"""The tap: a validator that watches the transfers of a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.minimise import Network
from utf8fpga.hdl.pipeline import ZERO, Staged
from utf8fpga.hdl.validator.logic import ValidatorControl
from utf8fpga.hdl.validator.pipeline import (
    First,
    Leaf,
    TapPipeline,
    any_of_all,
    first_of,
    hop,
    ones_of_prefix,
    total_of,
    value_of,
)
from utf8fpga.hdl.validator.report import report_layout, tap_ports
from utf8fpga.hdl.validator.tally import tally_of
from utf8fpga.model.validator import COUNTER_WIDTH

if TYPE_CHECKING:
    from utf8fpga.hdl.validator.parameters import ValidatorParameters


class ValidatorTap(wiring.Component):
    """Watches a stream of code units, and outputs one report for each packet.

    All ports of the stream are inputs, and nothing is added to it: no cycle, no gate. A beat is transferred in a cycle
    in which `valid` and `ready` are asserted. Null beats have no effect. The payload must be one of `beat_layout` at an
    input: units contiguous from lane 0, and all lanes full unless the packet ends.

    Throughput: a beat per cycle on any input; also packets of one beat, or without a unit, back to back.

    Latency: `report_valid` is asserted for one cycle, exactly `latency` cycles after the last beat of the packet was
    transferred. There is no back-pressure; the report is undefined in other cycles. Reports are in the order of the
    packets. A reset discards the packet and all reports in flight.

    Structure: a sliding window without feedback, see `WindowControl`. It finds for each unit whether it starts an item,
    well-formed or not, and whether that item is complete. So the numbers are sums of bits, the lengths need no look at
    the next beat, and only the last few units of a beat wait for the next one. There are registers after each look-up
    table, and adders have parts of a few bits. A register with a number that overflows is all ones.

    Ports:
        payload: a beat of `beat_layout`, code units.
        valid: `valid` of the watched stream.
        ready: `ready` of the watched stream.
        report: the report, of `report_layout`.
        report_valid: the report is valid in this cycle.

    Raises:
        TableError: the table does not allow a sliding window, or one of the numbers; see `ValidatorControl`.
    """

    def __init__(self, parameters: ValidatorParameters) -> None:
        self.parameters, self.lanes = parameters, parameters.lanes
        table, lanes = parameters.table, parameters.lanes
        self.control = ValidatorControl.of(table)
        super().__init__(tap_ports(table.unit_width, lanes, report_layout()))

    @cached_property
    def state(self) -> TapCircuit:
        """The registers, created at first use."""
        return TapCircuit(self)

    @property
    def latency(self) -> int:
        """Cycles from the last beat of a packet to its report."""
        return self.state.stage

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = self.state
        state.pipeline.connect(m)
        m.d.comb += [
            *(self.report[name].eq(value) for name, value in state.fields.items()),
            self.report_valid.eq(state.strobe),
        ]
        return m


class Lanes(NamedTuple):
    """A value of each lane as seen from another lane.

    Attributes:
        away: the distance to the lane of the value.
        bit: the bit of it; None for all bits.
    """

    values: Sequence[Staged]
    away: int = 0
    bit: int | None = None

    def moved(self, away: int) -> Lanes:
        """The same of a lane that is as much further away."""
        return self._replace(away=self.away + away)


def _where(place: int) -> str:
    return f"in lane {place}" if place >= 0 else f"{-place} before lane 0"


class TapCircuit:
    """The registers of a tap.

    A place is the number of a unit relative to lane 0 of the beat in a stage; it is negative in beats before.

    Attributes:
        starts: by lane, whether the unit starts an item.
        members: by number and lane, whether the unit is the one of that number, 2 at least, in its sequence.
        reach: upper bound on the units after the first one of a sequence.
        bad: by place, from -`reach`, whether an ill-formed item starts there; 0 if that depends on the next beat.
        strobe: the report is valid in this cycle.
    """

    def __init__(self, tap: ValidatorTap) -> None:
        self._tap, self._control = tap, tap.control
        self._lanes, self._longest = tap.lanes, tap.parameters.table.longest
        units = tap.payload
        arrives = tap.valid & tap.ready & (units.keep[0] | units.last)
        self.pipeline = pipeline = TapPipeline(arrives, units.last)
        # One cycle late, so that `arrives` has one load.
        self.units = [pipeline.register(f"unit_{lane}", units.symbols[lane], 0) for lane in range(tap.lanes)]
        self.keep = [pipeline.register(f"keep_{lane}", units.keep[lane], 0) for lane in range(tap.lanes)]
        starts_packet = Signal(init=1, name="starts_packet")
        pipeline.add(starts_packet.eq(pipeline.at(pipeline.last, 1)), enable=pipeline.at(pipeline.valid, 1))
        self._first = Staged(starts_packet, 1)
        self._find_items()
        fields = self._fields()
        # One stage more, so that what is set or reset together need not be at the ports.
        self.stage = max(part.stage for parts in fields.values() for part in parts) + 1
        self.fields = {name: Cat(*(pipeline.at(part, self.stage) for part in parts)) for name, parts in fields.items()}
        self.strobe = pipeline.strobes(self.stage, arrives & units.last, "ends")[-1]

    def at(self, values: Sequence[Staged], place: int, *, of_packet: bool = False) -> Staged:
        """The value of a lane; a negative place is in the beats before, a place after the last lane is 0."""
        if place >= self._lanes:
            return ZERO
        value = values[place % self._lanes]
        for _ in range((-place - 1) // self._lanes + 1):
            value = self.pipeline.before(value, of_packet=of_packet)
        return value

    def _each(self, name: str, function: Callable[..., Value], *values: Lanes, comment: str = "") -> list[Staged]:
        """A function in each lane, of values of lanes at distances from it."""
        bits = [each.bit for each in values]

        def of_bits(*words: Value) -> Value:
            return function(*(word if bit is None else word[bit] for word, bit in zip(words, bits, strict=True)))

        return [
            self.pipeline.apply(
                f"{name}_{lane}",
                of_bits,
                *(self.at(each.values, lane + each.away) for each in values),
                comment=comment,
            )
            for lane in range(self._lanes)
        ]

    def _find_items(self) -> None:
        """For each unit whether it starts an item, and for each place whether the item that starts there is bad."""
        control, longest = self._control, self._longest
        units, keep, pipeline = self.units, self.keep, self.pipeline
        self._trail = trail = self._each(
            "trail",
            lambda unit, present, before: control.serial.is_trail(unit) & present & control.precedes(before),
            *(Lanes(units), Lanes(keep), Lanes(units, -1)),
            comment="A unit that may continue a sequence, after one that may be before it.",
        )
        # The unit before the first one of a packet is in another packet.
        trail[0] = pipeline.apply(
            "trail_of_packet",
            Value.__pos__,
            trail[0],
            clear=hop(pipeline, self._first),
            comment="The same of lane 0, not in the first beat of a packet.",
        )
        self._lead = self._last_inputs(
            "lead",
            control.lead_network,
            units,
            comment="A term, or its complement, of: the unit is the first one of a sequence of several.",
        )
        forbidden = self._forbidden()
        second = self._each(
            "second",
            lambda trail, forbidden, *lead: trail & control.lead_network.last.function(Cat(*lead)) & ~forbidden,
            *(Lanes(values) for values in (trail, forbidden)),
            *(bit.moved(-1) for bit in self._lead),
            comment="The second unit of a sequence.",
        )
        # By the number of a unit in its sequence: the unit is that.
        members = {2: second}
        for number in range(3, longest + 1):
            longer = control.longer_than(number - 1)
            members[number] = self._each(
                f"number_{number}",
                lambda trail, member, lead, longer=longer: trail & member & longer(lead),
                Lanes(trail),
                Lanes(members[number - 1], -1),
                Lanes(units, 1 - number),
                comment=f"Unit {number} of a sequence.",
            )
        self.members = members
        self.starts = self._each(
            "starts",
            lambda keep, *members: keep & ~Cat(*members).any(),
            Lanes(keep),
            *(Lanes(member) for member in members.values()),
            comment="The first unit of an item, well-formed or not.",
        )
        # An item may start in this beat, or be as many units before it as a sequence may go on.
        self.reach = longest - 1
        places = range(-self.reach, self._lanes)
        self.bad = [self._is_bad(place) for place in places]

    def _forbidden(self) -> list[Staged]:
        """Of a unit that may continue a sequence, after a lead: the lead does not allow it."""
        restricts, fits = self._control.restricts, self._control.fits
        if restricts.last.function.is_zero:
            return [ZERO] * self._lanes
        leads = self._last_inputs(
            "restricts",
            restricts,
            self.units,
            comment="A term, or its complement, of: the unit is a lead that allows only some next units.",
        )
        (fit,) = self._last_inputs(
            "fits",
            fits,
            self.units,
            [self.at(self.units, lane - 1) for lane in range(self._lanes)],
            comment="A term, or its complement, of: the unit is one of those that such a lead before it allows.",
        )
        return self._each(
            "forbidden",
            lambda fit, *lead: restricts.last.function(Cat(*lead)) & ~fits.last.function(fit),
            fit,
            *(bit.moved(-1) for bit in leads),
            comment="The lead before the unit does not allow it.",
        )

    def _last_inputs(self, name: str, network: Network, *words: Sequence[Staged], comment: str = "") -> list[Lanes]:
        """The inputs of the last gate of a network in each lane, with registers behind each inner gate.

        By lane, `words` are the parts of its input word, the lowest bits first.
        """
        signals = [Lanes(word, 0, bit) for word in words for bit in range(len(word[0].value))]
        for number, gate in enumerate(network.inner):
            inputs = [signals[each] for each in gate.inputs]
            found = self._each(
                f"{name}_{number}", lambda *bits, gate=gate: gate.function(Cat(*bits)), *inputs, comment=comment
            )
            signals.append(Lanes(found, 0, 0))
        return [signals[each] for each in network.last.inputs]

    def _is_bad(self, place: int) -> Staged:
        """Whether an ill-formed item starts at a place, from -`reach`; 0 if that depends on the next beat."""
        control, longest = self._control, self._longest
        name = f"at_{place + self.reach}"
        unit = self.at(self.units, place)
        # The first of these conditions fit one look-up table, the others the next.
        own = control.lengths
        early = [length for length in own if longest > 4 or length in (own[0], own[-1])]
        late = [length for length in own if length not in early]

        def complete(lengths: Sequence[int], unit: Value, members: Sequence[Value]) -> list[Value]:
            return [
                member if length == longest else member & ~control.longer_than(length)(unit)
                for length, member in zip(lengths, members, strict=True)
            ]

        done = self.pipeline.apply(
            f"{name}_done",
            lambda unit, *members: Cat(control.serial.is_single(unit), *complete(early, unit, members)).any(),
            unit,
            *(self.at(self.members[length], place + length - 1) for length in early),
            comment=f"The unit {_where(place)} is a whole sequence, or the first one of a complete one.",
        )
        inside = place < self._lanes - self.reach
        return self.pipeline.apply(
            f"{name}_bad",
            lambda starts, unit, done, last, *members: (
                starts & ~done & ~Cat(*complete(late, unit, members)).any() & (1 if inside else last)
            ),
            self.at(self.starts, place, of_packet=True),
            unit,
            done,
            ZERO if inside else self.pipeline.last,
            *(self.at(self.members[length], place + length - 1) for length in late),
            comment=f"An ill-formed item starts at the unit {_where(place)}.",
        )

    def _fields(self) -> dict[str, list[Staged]]:
        """The fields of the report, in parts, of which those of the last beat of a packet are the report."""
        pipeline = self.pipeline
        # The first place at which an ill-formed item starts, which is negative before lane 0.
        leaves = [Leaf(bad, place, self._payload(place)) for place, bad in enumerate(self.bad, -self.reach)]
        first = first_of(pipeline, "first", leaves)
        amount = ones_of_prefix(pipeline, "present", self.keep)
        units = tally_of(pipeline, self._first, "units", amount, COUNTER_WIDTH, first.number)
        well_formed, is_first = self._verdict(first.found)
        faults = {"offset": [self._captured(f"offset_{at}", part, is_first) for at, part in enumerate(units.start)]}
        faults["kind"] = self._kind(first, is_first)
        numbers = {"units": units.total, **self._counts()}
        # Without an error these fields are 0.
        cleared = {
            name: [
                pipeline.apply(f"{name}_{at}", Value.__pos__, part, clear=well_formed) for at, part in enumerate(parts)
            ]
            for name, parts in faults.items()
        }
        return {"well_formed": [well_formed], **cleared, **numbers}

    def _payload(self, place: int) -> tuple[Staged, ...]:
        """What the cause of an error of an item that starts at a place depends on."""
        width = self._tap.parameters.table.unit_width
        unit, stage = self.at(self.units, place), self.bad[0].stage
        name = getattr(unit.value, "name", "unit")
        return tuple(
            self._is_definite(place)
            if bit == width
            else Staged(self.pipeline.at(unit, stage)[bit], stage, f"{name}_bit{bit}")
            for bit in self._control.kind_support
            if bit <= width
        )

    def _is_definite(self, place: int) -> Staged:
        """Of an ill-formed item that starts at a place: it is ill-formed whatever follows it."""
        is_lead = self._control.lead_network.last.function
        lead = [self.at(each.values, place) for each in self._lead]
        bits = [each.bit for each in self._lead]

        def is_definite(trail: Value, second: Value, *lead: Value) -> Value:
            return (trail & ~second) | ~is_lead(Cat(*(word[bit] for word, bit in zip(lead, bits, strict=True))))

        return self.pipeline.apply(
            f"definite_{place + self.reach}",
            is_definite,
            self.at(self._trail, place + 1),
            self.at(self.members[2], place + 1),
            *lead,
            comment=f"Bit k: the item that starts {self.reach} units before lane k is ill-formed whatever follows it.",
        )

    def _goes_on(self) -> Staged:
        """The packet goes on after an ill-formed item that starts in this beat: another item starts after it."""
        return any_of_all(
            self.pipeline,
            "goes_on",
            [
                self.pipeline.apply(
                    f"goes_on_{number}",
                    lambda bad, *starts: bad & Cat(*starts).any(),
                    bad,
                    *(self.at(self.starts, number - self.reach + distance) for distance in range(1, self._longest)),
                    comment="Another item starts after an ill-formed one.",
                )
                for number, bad in enumerate(self.bad)
            ],
        )

    def _kind(self, first: First, is_first: Staged) -> list[Staged]:
        """The bits of the cause of the first error."""
        support = self._control.kind_support
        sources = dict(zip(support, [*first.payload, self._goes_on()], strict=False))
        bits = {bit: self._captured(f"payload_{bit}", source, is_first) for bit, source in sources.items()}
        return [
            value_of(self.pipeline, f"cause_{bit}", function, bits) for bit, function in enumerate(self._control.kind)
        ]

    def _verdict(self, found: Staged) -> tuple[Staged, Staged]:
        """Whether there was no error in the packet so far, and whether this beat has the first one."""
        pipeline, stage = self.pipeline, found.stage
        seen = commented(Signal(name="seen", reset_less=True), "There was an error in an earlier beat of the packet.")
        pipeline.add(seen.eq(1), enable=pipeline.at(pipeline.valid, stage) & found.value)
        pipeline.add(seen.eq(0), enable=pipeline.clears(stage))
        before = Staged(seen, stage)
        well_formed = pipeline.apply("no_error", lambda found, seen: ~(found | seen), found, before)
        is_first = pipeline.apply(
            "first_error", lambda valid, found, seen: valid & found & ~seen, pipeline.valid, found, before
        )
        return well_formed, is_first

    def _captured(self, name: str, value: Staged, is_first: Staged) -> Staged:
        """A value of the first beat of a packet with an error."""
        stage = max(value.stage, is_first.stage)
        kept = commented(
            Signal(len(value.value), name=f"first_{name}", reset_less=True), f"{name} of the first beat with an error."
        )
        self.pipeline.add(kept.eq(self.pipeline.at(value, stage)), enable=self.pipeline.at(is_first, stage))
        return Staged(kept, stage + 1)

    def _counts(self) -> dict[str, list[Staged]]:
        """The numbers of errors and of code points, in parts."""
        pipeline = self.pipeline
        starts = total_of(pipeline, "start", {0: self.starts})
        errors = total_of(pipeline, "error", {0: self.bad})
        return {
            "errors": tally_of(pipeline, self._first, "errors", errors, COUNTER_WIDTH).total,
            "code_points": tally_of(pipeline, self._first, "code_points", starts, COUNTER_WIDTH).total,
        }
