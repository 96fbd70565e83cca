# SPDX-License-Identifier: BSD-2-Clause
"""The practice of one mark for each ill-formed code unit, with marks other than U+FFFD.

A `UnitMarker` determines which units are ill-formed. Behind it every sequence is complete, so a `MarkedDecoder` has
nothing to check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.chain import Chain
from utf8fpga.hdl.commented import commented, named
from utf8fpga.hdl.core import Stage
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.payloads import item_layout, unit_layout
from utf8fpga.model import EncodingTable, Replacement

if TYPE_CHECKING:
    from utf8fpga.hdl.decoder.parameters import DecoderParameters


class UnitMarker(wiring.Component):
    """Outputs the units of a stream as they are, each with a flag: whether it is ill-formed.

    A unit is ill-formed if it is in no well-formed sequence. Units of an open sequence wait until it is complete or
    broken. Null beats have no effect.

    Throughput: one unit per cycle on any input; `input.ready` is deasserted only while a unit waits for `output.ready`.

    Latency: one cycle to the first unit of a sequence after its last one, or after the unit or the end of the packet
    that breaks it, and one cycle more to each unit after it. There is a combinational path from `output.ready` to
    `input.ready`.

    Args:
        replacement: ill-formed units are replaced by this code point, which is one unit; default: they are output.

    Attributes:
        valid: bit k: there are more than k units, the oldest in entry 0.
        entries: units with `keep` and `last`.
        is_open, errors: bit k: the unit of entry k is in the open sequence; it is ill-formed, or open.
        remaining, code, lead: the state of the open sequence, see `SerialControl`.

    Ports:
        input: stream of `beat_layout`, code units, one lane.
        output: stream of `beat_layout` with symbols of `unit_layout`, one lane.
    """

    lanes = 1
    packed = True
    reset_cycles = stall_cycles = 0

    def __init__(self, table: EncodingTable, replacement: Replacement | None = None) -> None:
        self.table, self.replacement = table, replacement
        self._control = control = SerialControl.of(table)
        width, room, comments = table.unit_width, table.longest, control.comments
        self.latency = self.drain_cycles = room
        entry = data.StructLayout({"unit": width, "keep": 1, "last": 1})
        self.entries: list[Any] = [Signal(entry, name=f"entry_{n}", reset_less=True) for n in range(room)]
        self.valid = commented(Signal(room), "Bit k: there are more than k units, the oldest in entry 0.")
        self.is_open = commented(Signal(room), "Bit k: the unit of entry k is in the open sequence.")
        self.errors = commented(Signal(room), "Bit k: the unit of entry k is ill-formed, or is_open.")
        self.remaining = commented(
            Signal(control.longest - 1),
            f"Bit k: the open sequence needs more than k units; all 0 where none is open: {comments['needs']}.",
        )
        self.code = commented(Signal(control.code_bits, name="restricts", reset_less=True), comments["code"])
        self.lead = commented(Signal(control.payload_bits, reset_less=True), "The low bits of the lead.")
        super().__init__(stage_ports(width, unit_layout(width), 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, output, room = self.input, self.output, self.table.longest
        valid, is_open, errors, entries = self.valid, self.is_open, self.errors, self.entries
        leaves = Signal()
        left = named(m, "left", Mux(leaves, valid >> 1, valid), "The entries after the oldest unit has been output.")
        accepts = Signal()
        m.d.comb += [
            leaves.eq(output.valid & output.ready),
            source.ready.eq(~valid[-1] | leaves),
            accepts.eq(is_effective(source) & source.ready),
        ]
        whole, ends, stays = self._follow(m, accepts)
        m.d.sync += valid.eq(Mux(accepts, Cat(Const(1, 1), left[:-1]), left))

        # What the arriving unit says of those that wait.
        keeps_open = is_open & (stays | ~accepts).replicate(room)
        keeps_error = errors & ~(is_open & (accepts & ends).replicate(room))
        beat = source.payload
        unit = Cat(beat.symbols[0], beat.keep, beat.last)
        opens = named(m, "opens", stays | self._opened, "The unit is in a sequence that needs more.")
        fails = beat.keep & ~(whole | ends)
        for n, entry in enumerate(entries):
            shifted = [(Value.cast(entries[n + 1]), keeps_open[n + 1], keeps_error[n + 1])] if n + 1 < room else []
            arrives = (unit, opens, fails)
            after = [Mux(left[n], old, new) for old, new in zip(*shifted, arrives, strict=True)] if shifted else arrives
            moves = leaves | ~valid[n]
            with m.If(moves):
                m.d.sync += Value.cast(entry).eq(after[0])
            m.d.sync += [
                is_open[n].eq(Mux(moves, after[1], keeps_open[n])),
                errors[n].eq(Mux(moves, after[2], keeps_error[n])),
            ]
        first, shown = entries[0], output.payload
        m.d.comb += [
            output.valid.eq(valid[0] & ~is_open[0]),
            shown.symbols[0].unit.eq(Mux(errors[0], self.mark(first.unit), first.unit)),
            shown.symbols[0].error.eq(errors[0]),
            shown.keep.eq(first.keep),
            shown.last.eq(first.last),
        ]
        return m

    def mark(self, unit: Value) -> Value:
        """What an ill-formed unit is output as."""
        if self.replacement is None:
            return unit
        (made,) = self.table.encode(self.replacement.code_points.first)
        return Const(made, len(unit))

    def _follow(self, m: Module, accepts: Value) -> tuple[Value, Value, Value]:
        """Follow the open sequence.

        Returned is whether the unit at the input is a whole sequence, ends the open one, or leaves it open.
        """
        control, beat = self._control, self.input.payload
        unit, remaining, code, lead = beat.symbols[0], self.remaining, self.code, self.lead
        context = control.context(unit, remaining, code, lead)
        continued = named(
            m,
            "continued",
            remaining[0] & beat.keep & control.continues(context, m),
            "The unit continues the open sequence.",
        )
        further = Cat(remaining[1:], Const(0, 1)) & continued.replicate(len(remaining))
        closes = beat.last | ~control.may_stay_open(unit)
        starts = control.opens(unit)
        needed = Cat(control.needed(starts, unit))
        after_lead = control.code_after_unit(unit)
        after = after_lead if control.reads_lead else Mux(continued, control.code_after_trail(context), after_lead)
        self._opened = starts & ~closes
        with m.If(accepts):
            m.d.sync += [
                remaining.eq(Mux(closes, 0, needed | further)),
                code.eq(after),
                lead.eq(unit[: len(lead)]),
            ]
        return (
            control.is_single(unit),
            named(m, "ends", continued & ~further[0], "The unit is the last one of the open sequence."),
            named(m, "stays", further[0] & ~closes, "The unit continues the open sequence, which needs more."),
        )


class MarkedDecoder(wiring.Component):
    """Decodes the units of a `UnitMarker`: well-formed sequences, and ill-formed units, each of which is one mark.

    Throughput: one unit per cycle. Latency: one cycle. There is a combinational path from `output.ready` to
    `input.ready`.

    Attributes:
        remaining: bit k: the sequence needs more than k units.

    Ports:
        input: stream of `beat_layout` with symbols of `unit_layout`, one lane, without null beats.
        output: stream of `beat_layout`, items of `item_layout`, one lane.
    """

    lanes = 1
    packed = True
    accepts_null_beats = False
    reset_cycles = stall_cycles = 0
    latency = drain_cycles = 1

    def __init__(self, table: EncodingTable, replacement: Replacement) -> None:
        self.table, self.replacement = table, replacement
        self._control = control = SerialControl.of(table)
        self.remaining = commented(Signal(control.longest - 1), "Bit k: the sequence needs more than k units.")
        super().__init__(stage_ports(unit_layout(table.unit_width), item_layout(table), 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control, source, output = self._control, self.input, self.output
        beat = source.payload
        unit, error = beat.symbols[0].unit, beat.symbols[0].error
        item = Signal(output.payload.shape(), reset_less=True)
        full = commented(Signal(name="full"), "There is an item at the output.")
        remaining = self.remaining
        needed = Cat(control.needed(control.is_lead(unit), unit))
        after = named(m, "after", Mux(error | ~beat.keep, 0, needed | (remaining >> 1)))
        code_point = item.symbols[0].code_point
        whole = Cat(control.accumulate(code_point, unit, len(code_point)))
        m.d.comb += [
            output.valid.eq(full),
            Value.cast(output.payload).eq(item),
            source.ready.eq(output.ready | ~full),
        ]
        with m.If(source.ready):
            m.d.sync += full.eq(source.valid & ~after[0])
        with m.If(source.ready & source.valid):
            m.d.sync += [
                remaining.eq(after),
                code_point.eq(Mux(error, mark(self.replacement, unit), whole)),
                item.symbols[0].error.eq(error),
                item.keep.eq(beat.keep),
                item.last.eq(beat.last),
            ]
        return m


def mark(replacement: Replacement, unit: Value) -> Value:
    """The code point of the mark for a unit, as `Replacement.code_point`."""
    points = replacement.code_points
    bits = (len(points) - 1).bit_length()
    return Cat(unit[:bits], Const(points.first >> bits))


class EachUnitDecoder(Chain):
    """Code units in, items out, with one mark for each ill-formed unit, which becomes what the parameters say.

    Throughput: one unit per cycle on any input.

    Ports: those of `SerialDecoder`.
    """

    packed = True

    def __init__(self, parameters: DecoderParameters) -> None:
        table = parameters.replace_with.without_escapes(parameters.table)
        stages: dict[str, Stage] = {
            "marker": UnitMarker(table),
            "decoder": MarkedDecoder(table, parameters.replace_with),
        }
        super().__init__(parameters, stages, parameters.ports)
