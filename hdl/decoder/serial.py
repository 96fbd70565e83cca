# SPDX-License-Identifier: BSD-2-Clause
"""The serial decoders: the DFA as a state machine, one code unit per cycle."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.commented import commented, named, register
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.payloads import Kind, item_layout
from utf8fpga.hdl.registers import loaded
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable
from utf8fpga.model.ranges import runs


class SerialDecoder(wiring.Component):
    """What both serial decoders promise: code units in, items out, with one U+FFFD per maximal subpart (Unicode D93b).

    A beat without a unit and with `last` ends the packet: an open sequence becomes an error without `last`, and a
    beat without an item and with `last` follows. The first unit after `last` begins a new packet. A beat without a unit
    and without `last`, a *null beat*, has no effect: it is transferred, neither continues nor breaks a sequence, and
    determines no item.

    Back-to-back packets need no gap and no reset. `input.ready` may be asserted during a reset; a beat that is
    transferred then is lost. The reset is that of the clock domain, which the logic uses, too: a `ResetInserter` would
    not close an open sequence.

    Args:
        kind: items have the cause of their error.

    Ports:
        input: stream of `beat_layout`, code units, one lane.
        output: stream of `beat_layout`, items of `item_layout`, one lane.

    Raises:
        TableError: the table does not allow a serial decoder, see `SerialControl.of`.
    """

    lanes = 1
    packed = True
    stall_cycles = 0

    def __init__(self, table: EncodingTable, *, kind: bool = False) -> None:
        self.table, self.kind = table, kind
        self.control = SerialControl.of(table)
        super().__init__(stage_ports(table.unit_width, item_layout(table, kind=kind), 1))

    def _kind(self, m: Module, unit: Value, loads: Value, completes: Value, is_unfinished: Value) -> Signal:
        """The cause of the error of the item that a unit is by itself, which is loaded into the slot."""
        kind = Signal(Kind, reset_less=True)
        stray = Mux(is_unfinished, Kind.INCOMPLETE, self.control.kind_word(self.control.stray_kinds)(unit))
        with m.If(loads):
            m.d.sync += kind.eq(Mux(completes, Kind.NONE, stray))
        return kind


class SerialAreaDecoder(SerialDecoder):
    """Code units in, items out, with one U+FFFD per maximal subpart: the smallest decoder.

    Every unit has one output slot. If the unit completes a sequence, or is ill-formed by itself, its slot holds that
    item. If a sequence is open after the unit, its slot holds the error item of that sequence, which is output only if
    the next unit, or the end of the packet, breaks the sequence. So n units cause at most n items.

    A beat with `last` and without a unit has a slot, too: the error of an open sequence leaves in front of it. A null
    beat has none. Registers without a reset are read only while `occupied` is asserted.

    Throughput: one unit per cycle on any input; `input.ready` is deasserted only while an item waits for
    `output.ready`.

    Latency: 1 cycle from the last unit of an item. An item that the next unit breaks is valid in the cycle of that
    unit. There are combinational paths from `output.ready`, `input.valid` and its payload to `output.valid` and
    `input.ready`.
    """

    latency = drain_cycles = 1

    def elaborate(self, platform: object) -> Module:
        m, control, source, output = Module(), self.control, self.input, self.output
        unit, keep, last = source.payload.symbols[0], source.payload.keep, source.payload.last
        occupied = register("occupied", "The slot holds an item, or the error of an open sequence.", init=0)
        remaining = _remaining(control)
        restricts = register("restricts", control.comments["restricts"])
        bits = control.code_point_bits - control.trail_bits
        gathered = register("gathered", "The payload bits of the open sequence so far.", bits)
        error, slot_keep, slot_last = register("error"), register("slot_keep"), register("slot_last")
        is_open = remaining[0]
        context = control.context(unit, remaining, restricts, gathered)
        is_trail = named(m, "is_trail", control.is_trail(unit), control.comments["trail"])
        is_allowed = named(m, "is_allowed", control.allows(context), control.comments["allowed"])
        continues = is_open & keep & is_trail & is_allowed
        continues = named(m, "continues", continues, "The unit continues the open sequence.")
        completes = control.is_single(unit) | (continues & _needs_one(remaining))
        completes = named(m, "completes", completes, "The unit is the last one of a sequence.")
        opens = named(m, "opens", control.opens(unit), control.comments["opens"])

        arrives = named(m, "arrives", is_effective(source), "A beat other than a null beat is at the input.")
        # The slot is also loaded during a reset, which closes a sequence: so one that is open is in an occupied slot.
        reset = ResetSignal(allow_reset_less=True)  # 0 in a domain without a reset
        loads = named(m, "loads", (arrives & source.ready) | reset, "The slot takes the unit at the input.")
        m.d.comb += output.valid.eq(occupied & (~is_open | (arrives & ~continues)))
        m.d.comb += source.ready.eq(output.ready | ~output.valid)
        # An item is transferred also if no unit arrives; an open sequence stays in the slot until one does.
        m.d.sync += occupied.eq(arrives | (occupied & ~(output.ready & ~is_open)))
        with m.If(loads):
            m.d.sync += remaining.eq(_after(control, remaining, continues, opens, unit))
            m.d.sync += [restricts.eq(control.restricts(unit)), error.eq(~completes & keep)]
            m.d.sync += [slot_keep.eq(keep), slot_last.eq(last)]
            with m.If(reset | last | ~control.may_stay_open(unit)):
                m.d.sync += remaining.eq(0)
        self._gather(m, gathered, loads, arrives)
        item = [self._code_point(m, gathered, loads, completes), error]
        if self.kind:
            broken = Mux(keep, control.broken_kind(context), Kind.INCOMPLETE)
            held = self._kind(m, unit, loads, completes, opens | continues)
            item.append(Mux(is_open, broken, held))
        m.d.comb += Value.cast(output.payload).eq(Cat(*item, slot_keep, slot_last))
        return m

    def _gather(self, m: Module, gathered: Signal, loads: Value, arrives: Value) -> None:
        """The payload bits of the open sequence.

        Those that the next unit is compared with are loaded with the slot. The others are used only if the sequence
        continues, and then no item waits at the output. So their enable need not depend on the output.
        """
        control, unit = self.control, self.input.payload.symbols[0]
        shifts = control.shifts(singles=False)(unit)
        bits = control.accumulate(gathered, unit, shifts, singles=False)[: len(gathered)]
        read = [number for number in range(len(bits)) if control.payload_is_read(number, kind=self.kind)]
        for enable, numbers in ((loads, read), (arrives, set(range(len(bits))).difference(read))):
            with m.If(enable):
                for run in runs(numbers):
                    m.d.sync += gathered[run.first : run.last + 1].eq(bits[run.first : run.last + 1])

    def _code_point(self, m: Module, gathered: Signal, loads: Value, completes: Value) -> Signal:
        """The code point in the slot. While a sequence is open, it already is U+FFFD.

        This is smaller than a multiplexer behind the slot.
        """
        control, unit = self.control, self.input.payload.symbols[0]
        code_point = register("code_point", bits=control.code_point_bits)
        shifts = control.shifts(leads=False)(unit)
        whole = control.accumulate(gathered, unit, shifts, leads=False)
        with m.If(loads):
            m.d.sync += code_point.eq(Mux(completes, whole, REPLACEMENT_CHARACTER))
        return code_point


class SerialSpeedDecoder(SerialDecoder):
    """Code units in, items out, with one U+FFFD per maximal subpart: the decoder with the highest clock.

    Three stages of registers: a unit and its class; a slot, which holds the item that the unit completes, or the error
    of the sequence that is open after it; and the output. An open sequence stays in the slot until the next unit
    arrives; all else moves unless an item waits at the output.

    A beat with `last` closes the sequence behind it: `remaining` becomes 0. One without a unit takes the same way, and
    the error of an open sequence leaves in front of it; a null beat does not enter. Registers without a reset are read
    only where `unit_valid`, `occupied` or `follows` say that they have been loaded.

    Where the path to a clock enable would be too long, a register keeps its value by logic: it is the OR of the new
    value and of its own, each with a mask.

    Throughput: one unit per cycle on any input; `input.ready` is deasserted only while an item waits for
    `output.ready`.

    Latency: at most 3 cycles from the unit that determines an item: its last one, or the next one, which breaks it.
    There is a combinational path from `output.ready` to `input.ready`.
    """

    latency = drain_cycles = 3

    def elaborate(self, platform: object) -> Module:
        m, control, output = Module(), self.control, self.output
        # Duplicate registers, one inverted: so there is one look-up table, not two, between registers and each enable.
        full = register("full", "An item is at the output.", init=0)
        empty = register("empty", "No item is at the output.", init=1)
        moves = named(m, "moves", output.ready | empty, "The output is empty, or its item is transferred.")
        free = named(m, "free", output.ready | ~full, "The same, from the duplicate register.")
        occupied = register("occupied", "The slot holds an item, or the error of an open sequence.", init=0)
        remaining = _remaining(control)
        is_open = remaining[0]

        unit = self._register_unit(m, moves, free)
        completes = control.is_single(unit.unit) | (unit.continues & is_open & _needs_one(remaining))
        completes = named(m, "completes", completes, "The unit is the last one of a sequence.")
        loads = named(m, "loads", unit.valid & free, "The slot takes the unit.")
        fills = occupied & (~is_open | (unit.valid & ~unit.continues))
        fills = named(m, "fills", fills, "The item in the slot is determined, and goes to the output.")
        m.d.comb += [output.valid.eq(full), self.input.ready.eq(moves)]
        m.d.sync += empty.eq(~(fills | (full & ~output.ready)))
        with m.If(free):
            m.d.sync += [full.eq(fills), occupied.eq(unit.valid | (occupied & is_open))]
        with m.If(loads):
            m.d.sync += remaining.eq(_after(control, remaining, unit.continues, unit.opens, unit.unit))
            with m.If(unit.last):
                m.d.sync += remaining.eq(0)
        self._register_output(m, self._hold_item(m, unit, remaining, loads, completes), moves)
        return m

    def _register_unit(self, m: Module, moves: Value, free: Value) -> SimpleNamespace:
        """The first stage: the last unit that was accepted, and its class."""
        control, beat = self.control, self.input.payload
        given = beat.symbols[0]
        continues = f"If a sequence is open, the unit continues it. {control.comments['allowed']}"
        unit = SimpleNamespace(
            unit=register("unit", bits=self.table.unit_width),
            valid=register("unit_valid", "A beat waits in front of the slot.", init=0),
            keep=register("unit_keep"),
            last=register("unit_last"),
            continues=register("unit_continues", continues),
            opens=register("unit_opens", control.comments["opens"]),
            restricts=register("unit_restricts", control.comments["restricts"]),
            shifts=register("unit_shifts", control.comments["trail"]),
        )
        arrives = is_effective(self.input)
        takes = named(m, "takes", self.input.valid & beat.keep & free, "A unit is accepted.")
        follows = register("follows", "There was a unit since the reset, which the next one may follow.", init=0)
        allowed = control.allows_next(given, unit.restricts, unit.unit)
        m.d.sync += [
            follows.eq(follows | arrives),
            loaded(unit.valid, arrives, moves),
            loaded(unit.keep, beat.keep, moves),
            loaded(unit.last, beat.last, moves),
            # The unit is kept until the next one, even if it has moved on: the next one is compared with it.
            loaded(unit.unit, given, takes),
            loaded(unit.shifts, control.shifts()(given), takes),
        ]
        with m.If(takes):
            m.d.sync += unit.restricts.eq(control.restricts(given))
        with m.If(moves):
            m.d.sync += unit.opens.eq(control.is_lead(given))
            m.d.sync += unit.continues.eq(beat.keep & follows & control.is_trail(given) & allowed)
        return unit

    def _hold_item(self, m: Module, unit: Any, remaining: Signal, loads: Value, completes: Value) -> dict[str, Value]:
        """The second stage: the item in the slot, with the fields of the output."""
        control, is_open = self.control, remaining[0]
        code_point = register("code_point", bits=control.code_point_bits)
        error, keep, last = register("error"), register("keep"), register("last")
        m.d.sync += [
            loaded(keep, unit.keep, loads),
            loaded(last, unit.last, loads),
            loaded(code_point, control.accumulate(code_point, unit.unit, unit.shifts), loads),
        ]
        with m.If(loads):
            m.d.sync += error.eq(~completes & unit.keep)
        slot: dict[str, Value] = {"code_point": code_point, "error": error, "keep": keep, "last": last}
        if self.kind:
            restricts = register("restricts")
            with m.If(loads):
                m.d.sync += restricts.eq(unit.restricts)
            broken = control.broken_kind(control.context(unit.unit, remaining, restricts, code_point))
            held = self._kind(m, unit.unit, loads, completes, unit.opens | (unit.continues & is_open))
            slot["kind"] = Mux(is_open, Mux(unit.keep, broken, Kind.INCOMPLETE), held)
        return slot

    def _register_output(self, m: Module, slot: dict[str, Value], moves: Value) -> None:
        """The third stage: the item at the output, with U+FFFD where it is ill-formed."""
        item = Signal(self.output.payload.shape(), reset_less=True, name="item")
        m.d.comb += self.output.payload.eq(item)
        replaced = Const(REPLACEMENT_CHARACTER, len(slot["code_point"]))
        slot = {**slot, "code_point": Mux(slot["error"], replaced, slot["code_point"])}
        for name, value in slot.items():
            field = item[name] if name in ("keep", "last") else item.symbols[0][name]
            m.d.sync += loaded(Value.cast(field), value, moves)


def _state_name(remaining: int) -> str:
    """The name in waveforms of a value of `remaining`, without spaces: the units that the sequence needs."""
    return f"{remaining.bit_length()}_MORE" if remaining else "START"


def _remaining(control: SerialControl) -> Signal:
    """The state: see `SerialControl`. Only the slot's `occupied` needs a reset, without which this has no meaning."""
    signal = Signal(control.longest - 1, name="remaining", reset_less=True, decoder=_state_name)
    return commented(signal, control.comments["remaining"])


def _needs_one(remaining: Signal) -> Value:
    """An open sequence needs no more than one unit."""
    return ~remaining[1] if len(remaining) > 1 else Const(1, 1)


def _after(control: SerialControl, remaining: Signal, continues: Value, opens: Value, unit: Value) -> Value:
    """`remaining` after a unit that continues a sequence, opens one, or does neither."""
    return Cat(control.needs_after(opens, unit)) | (remaining[1:] & continues.replicate(len(remaining) - 1))


SERIAL = {"area": SerialAreaDecoder, "speed": SerialSpeedDecoder}
"""The serial decoders by what they are optimised for."""
