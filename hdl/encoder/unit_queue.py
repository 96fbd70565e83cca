# SPDX-License-Identifier: BSD-2-Clause
"""The serial encoder: one code point at a time in, one code unit per cycle out."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, wiring

from utf8fpga.hdl.beats import stage_ports
from utf8fpga.hdl.commented import named
from utf8fpga.hdl.encoder.logic import REPLACED, EncoderLogic, class_name
from utf8fpga.hdl.payloads import unit_layout


def symbol_fields(symbol: Any) -> tuple[Value, Value]:
    """The code point of a symbol, and whether it stands for something ill-formed.

    Args:
        symbol: a code point, or an item with the fields `code_point` and `error`.
    """
    if isinstance(symbol, data.View):
        return Value.cast(symbol.code_point), symbol.error
    return Value.cast(symbol), Const(0, 1)


def symbol_classes(
    logic: EncoderLogic, code_point: Value, error: Value, m: Module | None = None
) -> tuple[Value, dict[int, Value]]:
    """Whether a symbol stands for something ill-formed, and its classes, which have names in a module."""
    classes = logic.classes(code_point, error)
    if m is not None:
        classes = {
            units: named(m, class_name(units)[0], value, class_name(units)[1]) for units, value in classes.items()
        }
    if REPLACED not in classes:
        return error, classes
    return classes[REPLACED] if isinstance(error, Const) else error | classes[REPLACED], classes


class UnitQueue(wiring.Component):
    """A queue of code units into which all units of a code point are entered at once, and from which one is output.

    It has room for the longest sequence. So a source with at least as many cycles for a code point as it has units
    never waits, such as a decoder of well-formed text of the same form.

    Throughput: a unit per cycle. `input.ready` is deasserted while there is no room for all units of the code point.

    Latency: one cycle to the first unit of an empty queue, `latency` cycles to the last one of a full queue. There are
    combinational paths from `output.ready` and from the payload of the input to `input.ready`.

    Args:
        symbol: the shape of a code point: a number, or an item of a decoder.

    Ports:
        input: stream of `beat_layout`, one lane. Null beats must not be `valid`.
        output: stream of `beat_layout`, one lane, with symbols of `unit_layout`.
    """

    reset_cycles = 0

    def __init__(self, logic: EncoderLogic, symbol: ShapeLike) -> None:
        self.logic = logic
        self.latency = self.drain_cycles = logic.longest
        # An entry is free in the cycle in which a unit is transferred.
        self.stall_cycles = logic.longest - 1
        width = logic.table.unit_width
        self._entry = data.StructLayout({"unit": width, "error": 1, "keep": 1, "last": 1})
        super().__init__(stage_ports(symbol, unit_layout(width), 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        room, source, output = self.logic.longest, self.input.payload, self.output
        entries: list[Any] = [Signal(self._entry, name=f"entry_{n}", reset_less=True) for n in range(room)]
        valid = Signal(room)
        # After the unit at the output has been transferred.
        left = Signal(room)
        code_point, error = symbol_fields(source.symbols[0])
        error, classes = symbol_classes(self.logic, code_point, error, m)
        error = named(m, "is_error", error & source.keep, "The unit is one of a U+FFFD for something ill-formed.")
        slots: list[Any] = []
        # By number n: more than n entries are needed. One is needed always.
        needed: list[Value] = [Const(1, 1)]
        for place, slot in enumerate(self.logic.slots(code_point, classes)):
            slots.append(Signal(self._entry, name=f"slot_{place}"))
            # Of a packet that ends without a code point there is one entry, without a unit.
            m.d.comb += [
                slots[-1].unit.eq(slot.unit),
                slots[-1].error.eq(error),
                slots[-1].keep.eq(source.keep),
                slots[-1].last.eq(Const(0, 1) if place else source.last),
            ]
            if place:
                comment = f"Number of entries that the code point needs: more than {place}."
                needed.append(named(m, f"needs_more_than_{place}", source.keep & slot.keep, comment))
        moves = output.ready | ~valid[0]
        m.d.comb += left.eq(Mux(moves, valid >> 1, valid))
        overflows = [left[room - 1], *(needed[n] & left[room - 1 - n] for n in range(1, room))]
        m.d.comb += self.input.ready.eq(~reduce(or_, overflows))
        # By number n: with the new ones more than n entries are in use.
        sums: list[Value] = [Const(1, 1)]
        for n in range(1, room):
            terms = [left[n], left[n - 1], needed[n], *(needed[k] & left[n - 1 - k] for k in range(1, n))]
            comment = f"Number of entries in use with the new ones: more than {n}."
            sums.append(named(m, f"sum_exceeds_{n}", reduce(or_, terms), comment))
        accepts = self.input.valid & self.input.ready
        m.d.sync += valid.eq(Mux(accepts, Cat(sums), left))
        for n, entry in enumerate(entries):
            # The unit that ends `place` entries before the last one in use.
            new = Value.cast(slots[0])
            for place in range(1, room - n):
                new = Mux(sums[n + place], Value.cast(slots[place]), new)
            shifts = Value.cast(entries[n + 1]) if n + 1 < room else new
            with m.If(moves | ~valid[n]):
                m.d.sync += Value.cast(entry).eq(Mux(left[n], shifts, new) if n + 1 < room else new)
        first = entries[0]
        beat = output.payload
        m.d.comb += [
            output.valid.eq(valid[0]),
            beat.symbols[0].unit.eq(first.unit),
            beat.symbols[0].error.eq(first.error),
            beat.keep.eq(first.keep),
            beat.last.eq(first.last),
        ]
        return m
