# SPDX-License-Identifier: BSD-2-Clause
"""The serial decoder: the DFA as a state machine, one code unit per cycle."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.commented import commented, named
from utf8fpga.hdl.decoder.serial_logic import SerialControl
from utf8fpga.hdl.parameters import DecoderParameters
from utf8fpga.hdl.payloads import Kind, item_layout
from utf8fpga.hdl.pipeline import loaded
from utf8fpga.model import REPLACEMENT_CHARACTER


class SerialDecoder(wiring.Component):
    """Code units in, items out, with one U+FFFD per maximal subpart (D93b).

    Every unit has one output slot. If the unit completes a sequence, or is ill-formed by itself, its slot holds that
    item. If a sequence is open after the unit, its slot holds the error item of that sequence, which is output only if
    the next unit, or the end of the packet, breaks the sequence. So n units cause at most n items, and the decoder
    never stalls its input by itself.

    Throughput: one unit per cycle on any input; `input.ready` is deasserted only while an item waits for
    `output.ready`. Back-to-back packets need no gap and no reset.

    Latency: an item is valid at most 3 cycles after the unit that determines it, and at most 1 cycle if optimised for
    area. That unit is the last one of the item, or the unit (or end of the packet) after it that breaks it. Optimised
    for area, a broken item is valid in the cycle of the unit that breaks it.

    A beat without a unit and with `last` ends the packet: an open sequence becomes an error without `last`, and a
    beat without an item and with `last` follows. The first unit after `last` begins a new packet.

    A beat without a unit and without `last`, a *null beat*, has no effect: it is transferred, neither continues nor
    breaks a sequence, and determines no item.

    `input.ready` may be asserted during a reset; a beat that is transferred then is lost. The reset is that of the
    clock domain, which the logic uses, too: a `ResetInserter` would not close an open sequence. There are combinational
    paths from `output.ready` to `input.ready` and, optimised for area, from `input.valid` and its payload to
    `output.valid` and `input.ready`.

    Args:
        parameters: the parameters. For speed there are registers at the output, and of the class of a unit and whether
            it may follow the unit before it, in addition to the slot.
        replacement: the code point of an ill-formed item is U+FFFD; otherwise it is undefined, which saves a
            multiplexer where an encoder follows.

    Ports:
        input: stream of `beat_layout`, code units, one lane.
        output: stream of `beat_layout`, items of `item_layout`, one lane.

    Raises:
        TableError: the table does not allow a serial decoder, see `SerialControl.of`; or, with `kind`, the cause of
            an error depends on more than the state.
    """

    lanes = 1
    packed = True
    reset_cycles = 0
    stall_cycles = 0

    def __init__(self, parameters: DecoderParameters, *, replacement: bool = True) -> None:
        table = parameters.table
        self.replacement = replacement
        self.parameters, self.is_fast = parameters, parameters.optimize == "speed"
        self.control = SerialControl.of(table)
        if parameters.kind:
            self.control.check_kinds()
        self.latency = self.drain_cycles = 3 if self.is_fast else 1
        super().__init__(stage_ports(table.unit_width, item_layout(table, kind=parameters.kind), 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.is_fast:
            self._register_output(m)
        else:
            self._show_slot(m)
        return m

    def _show_slot(self, m: Module) -> None:
        """Without a pipeline: the slot is the output, and the unit at the input determines whether it is valid."""
        control, source, output = self.control, self.input, self.output
        beat = source.payload
        arriving = _Unit(beat.symbols[0], beat.keep, beat.last)
        slot = _Slot(m, self)
        arrives = named(m, "arrives", is_effective(source), "A beat other than a null beat is at the input.")
        # The slot is also loaded during a reset, which closes a sequence: so one that is open is in an occupied slot.
        # A reset of `remaining` by itself would need a look-up table for another enable.
        reset = ResetSignal(allow_reset_less=True)  # 0 in a domain without a reset
        loads = named(
            m,
            "loads",
            (arrives & (output.ready | ~output.valid)) | reset,
            "The slot takes the unit at the input; in a reset, whatever is there, and no sequence is open.",
        )
        fits = control.continues(slot.context(arriving.unit), m)
        m.d.comb += [
            slot.continued.eq(slot.open & arriving.keep & fits),
            output.valid.eq(slot.occupied & (~slot.open | (arrives & ~slot.continued))),
            source.ready.eq(output.ready | ~output.valid),
            Value.cast(output.payload).eq(slot.payload(arriving)),
        ]
        # An item is transferred also if no unit arrives; an open sequence stays in the slot until one does.
        m.d.sync += slot.occupied.eq(arrives | (slot.occupied & ~(output.ready & ~slot.open)))
        slot.load_unit(arriving, loads, closes=reset)
        if self.replacement:
            self._keep_payload_apart(m, slot, arriving, loads, arrives)

    def _keep_payload_apart(self, m: Module, slot: _Slot, arriving: _Unit, loads: Value, arrives: Value) -> None:
        """While a sequence is open the output already holds U+FFFD; the payload bits are in separate registers.

        This is smaller than a multiplexer behind the output.
        """
        control = self.control
        gathered = control.accumulate(slot.gathered, arriving.unit, len(slot.gathered), singles=False)
        whole = control.accumulate(slot.gathered, arriving.unit, len(slot.code_point), leads=False)
        with m.If(loads):
            m.d.sync += slot.code_point.eq(Cat(*whole))
            with m.If(~slot.completed):
                m.d.sync += slot.code_point.eq(REPLACEMENT_CHARACTER)
            m.d.sync += [
                slot.gathered[bit].eq(value)
                for bit, value in enumerate(gathered)
                if control.payload_is_read(bit, kind=self.parameters.kind)
            ]
        # The other bits are used only if the sequence continues, and then no item waits at the output. So their
        # enable need not depend on the output, which makes its path short.
        with m.If(arrives):
            m.d.sync += [
                slot.gathered[bit].eq(value)
                for bit, value in enumerate(gathered)
                if not control.payload_is_read(bit, kind=self.parameters.kind)
            ]

    def _register_output(self, m: Module) -> None:
        """With a pipeline: the slot is in front of the output register; all stages move unless an item waits."""
        control, source, output = self.control, self.input, self.output
        slot = _Slot(m, self)
        # Duplicate registers for "there is an item at the output", the second one inverted: so there is one look-up
        # table, not two, between registers and each enable.
        full = commented(Signal(name="full"), "There is an item at the output.")
        empty = commented(Signal(name="empty", init=1), "There is none.")
        move = output.ready | empty
        advance = slot.arrived & (output.ready | ~full)
        fills = Signal()
        m.d.comb += [
            output.valid.eq(full),
            source.ready.eq(move),
            fills.eq(slot.occupied & (~slot.open | (slot.arrived & ~slot.continued))),
        ]
        m.d.sync += empty.eq(~(fills | (full & ~output.ready)))
        with m.If(output.ready | ~full):
            m.d.sync += [
                full.eq(fills),
                # An open sequence stays in the slot until a unit arrives, even if the other stages move.
                slot.occupied.eq(slot.arrived | (slot.occupied & slot.open)),
            ]

        arriving, opens, code, shifts = self._register_unit(m, slot, move, output.ready | ~full)
        slot.load(arriving, advance, opens=opens, code=code, closes=arriving.last)
        slot.load_data(arriving, advance, shifts=shifts)

        payload = slot.payload(arriving)
        if self.replacement:
            width = control.code_point_bits
            payload = Cat(Mux(slot.error, Const(REPLACEMENT_CHARACTER, width), payload[:width]), payload[width:])
        register = Signal(output.payload.shape(), reset_less=True, name="output")
        m.d.comb += output.payload.eq(register)
        m.d.sync += loaded(Value.cast(register), payload, move)

    def _register_unit(self, m: Module, slot: _Slot, move: Value, free: Value) -> tuple[_Unit, Value, Value, Value]:
        """A stage for the last accepted unit and its class; it assigns `arrived` and `continued` of the slot.

        Returned are the unit, whether it opens a sequence, its constraint code, and whether it shifts the payload.
        """
        control, beat = self.control, self.input.payload
        given, arrives = beat.symbols[0], is_effective(self.input)
        unit = _Unit(
            Signal(self.parameters.table.unit_width, name="unit", reset_less=True),
            Signal(name="unit_keep", reset_less=True),
            Signal(name="unit_last", reset_less=True),
        )
        present = Signal()
        opens = Signal(reset_less=True)
        code = Signal(control.code_bits, name="unit_restricts", reset_less=True)
        shifts = Signal(reset_less=True)
        m.d.comb += slot.arrived.eq(present)
        m.d.sync += [
            loaded(present, arrives, move),
            loaded(unit.keep, beat.keep, move),
            loaded(unit.last, beat.last, move),
        ]
        with m.If(move):
            m.d.sync += opens.eq(control.is_lead(given))
        # The unit is kept until the next one, even if it has moved on: the next one is compared with it.
        enters = self.input.valid & beat.keep & free
        m.d.sync += [
            loaded(unit.unit, given, enters),
            loaded(shifts, control.shifts()(given), enters),
        ]
        with m.If(enters):
            m.d.sync += code.eq(control.code_after_unit(given))
        if control.pairwise:
            # Whether the unit may follow the one before it is known before the state is. The first unit after a reset
            # follows none.
            follows = Signal()
            fits = Signal(reset_less=True)
            pair = control.context(given, Const(0, control.longest - 1), code, unit.unit)
            m.d.sync += follows.eq(follows | arrives)
            with m.If(move):
                m.d.sync += fits.eq(beat.keep & follows & control.continues(pair))
            m.d.comb += slot.continued.eq(fits)
        else:
            m.d.comb += slot.continued.eq(slot.occupied & unit.keep & control.continues(slot.context(unit.unit)))
        return unit, opens, code, shifts


@dataclass
class _Unit:
    """A beat with a unit that is to be loaded into the slot."""

    unit: Value
    keep: Value
    last: Value


def _state_name(remaining: int) -> str:
    """The name in waveforms of a value of `_Slot.remaining`, without spaces: the units that the sequence needs."""
    return f"{remaining.bit_length()}_MORE" if remaining else "START"


class _Slot:
    """The output slot of the last unit: an item, or the error item of the open sequence."""

    def __init__(self, m: Module, decoder: SerialDecoder) -> None:
        self._m, self._decoder, self._parameters = m, decoder, decoder.parameters
        self._control = control = decoder.control
        width = control.code_point_bits
        self.occupied = commented(Signal(name="occupied"), "The slot holds an item, or the error of an open sequence.")
        self.arrived = commented(Signal(name="arrived"), "A unit arrives, which continues or breaks the open sequence.")
        self.continued = commented(Signal(name="continued"), "The unit that arrives continues the open sequence.")
        """Without an open sequence the value has no meaning, unless `only_open`."""
        self.only_open = not decoder.is_fast
        """Without an open sequence `continued` is 0."""
        # Only `occupied` is reset: the other registers are not used before a unit has been loaded. With `only_open` a
        # reset also closes the sequence.
        self.remaining = commented(
            Signal(control.longest - 1, name="remaining", reset_less=True, decoder=_state_name),
            "Bit k: the open sequence needs more than k units; all 0 where none is open. The leads that set them:"
            f" {control.comments['needs']}.",
        )
        self.code = commented(
            Signal(control.code_bits, name="restricts", reset_less=True),
            control.comments["code"]
            if control.reads_lead
            else "The number of the state among those that need equally many units.",
        )
        self.error = Signal(reset_less=True)
        self.keep = Signal(reset_less=True)
        self.last = Signal(reset_less=True)
        self.completed: Value = Const(0, 1)
        """The arriving unit completes a sequence; assigned by `load`."""
        self.code_point = Signal(width, reset_less=True)
        separate = not decoder.is_fast and decoder.replacement
        self.gathered = (
            commented(
                Signal(width - control.trail_bits, reset_less=True, name="gathered"),
                "The payload bits of the open sequence so far. Those that the next unit is compared with are loaded"
                " with the slot, the others with each unit: they are read only if the sequence goes on.",
            )
            if separate
            else self.code_point
        )
        self.kind = Signal(Kind, reset_less=True)

    @property
    def open(self) -> Value:
        return self.remaining[0]

    def context(self, unit: Value) -> Value:
        """The context, see `SerialControl`, of an arriving unit."""
        return self._control.context(unit, self.remaining, self.code, self.gathered)

    def load_unit(self, arriving: _Unit, enable: Value, *, closes: Value | None = None) -> None:
        """Put the item of a unit into the slot if `enable` is asserted, all of it from the unit itself.

        Args:
            closes: no sequence is open after the unit, whatever it is; default: never.
        """
        m, control, unit = self._m, self._control, arriving.unit
        opens, code = control.opens(unit), control.code_after_unit(unit)
        ends = arriving.last | ~control.may_stay_open(unit)
        self.load(arriving, enable, opens=opens, code=code, closes=ends if closes is None else closes | ends)
        with m.If(enable):
            m.d.sync += [self.keep.eq(arriving.keep), self.last.eq(arriving.last)]
            if self.gathered is self.code_point:
                m.d.sync += self.code_point.eq(Cat(control.accumulate(self.code_point, unit, len(self.code_point))))

    def load_data(self, arriving: _Unit, enable: Value, *, shifts: Value) -> None:
        """Put code point, `keep` and `last` into the slot if `enable` is asserted; for `shifts` see `SerialControl`."""
        width = len(self.code_point)
        bits = self._control.accumulate(self.code_point, arriving.unit, width, shifts=shifts)
        self._m.d.sync += [
            loaded(self.code_point, Cat(bits), enable),
            loaded(self.keep, arriving.keep, enable),
            loaded(self.last, arriving.last, enable),
        ]

    def load(self, arriving: _Unit, enable: Value, *, opens: Value, code: Value, closes: Value) -> None:
        """Put the state after a unit, and the error of its item, into the slot if `enable` is asserted.

        Args:
            opens: the unit opens a sequence, unless `closes`.
            code: the constraint code after the unit.
            closes: no sequence is open after the unit.
        """
        m, control, unit, continued = self._m, self._control, arriving.unit, self.continued
        needed = len(self.remaining)
        last_of_sequence = ~self.remaining[1] if needed > 1 else Const(1, 1)
        if not self.only_open:
            last_of_sequence &= self.open
        self.completed = named(
            m,
            "completed",
            control.is_single(unit) | (continued & last_of_sequence),
            "The unit is a whole sequence or the last one of the open sequence.",
        )
        opens = named(m, "opens", opens, control.comments["opens"])
        if not control.reads_lead:
            code = Mux(continued, control.code_after_trail(self.context(unit)), code)
        with m.If(enable):
            for k, starts in enumerate(control.needed(opens, unit)):
                goes_on = continued & self.remaining[k + 1] if k + 1 < needed else Const(0, 1)
                m.d.sync += self.remaining[k].eq(starts | goes_on)
            m.d.sync += [self.code.eq(code), self.error.eq(~self.completed & arriving.keep)]
            if self._parameters.kind:
                unfinished = opens | (continued & self.open)
                m.d.sync += self.kind.eq(
                    Mux(self.completed, Kind.NONE, Mux(unfinished, Kind.INCOMPLETE, control.stray_kind(unit)))
                )
            with m.If(closes):
                m.d.sync += self.remaining.eq(0)

    def payload(self, arriving: _Unit) -> Value:
        """The output beat, in the order of `beat_layout`."""
        fields = [self.code_point, self.error]
        if self._parameters.kind:
            broken = self._control.broken_kind(self.context(arriving.unit))
            ended = Mux(arriving.keep, broken, Kind.INCOMPLETE)
            fields.append(Mux(self.open, ended, self.kind))
        return Cat(*fields, self.keep, self.last)
