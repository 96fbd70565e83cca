# SPDX-License-Identifier: BSD-2-Clause
"""The serial encoder: one code point at a time in, one code unit per cycle out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from utf8fpga.hdl.beats import is_effective, stage_ports
from utf8fpga.hdl.commented import named
from utf8fpga.hdl.encoder.logic import REPLACED, WORD_BITS, EncoderLogic
from utf8fpga.hdl.payloads import unit_layout
from utf8fpga.hdl.window import any_of
from utf8fpga.model.encodings import Encoding


class SerialEncoder(wiring.Component):
    """Words or the items of a decoder in, code units out (Unicode D79); U+FFFD with a flag for what is no code point.

    All units of a code point are entered into a queue at once, and one is output per cycle. The queue has room for the
    longest sequence. So a source with at least as many cycles for a code point as it has units never waits, such as a
    decoder of well-formed text of the same form.

    Throughput: a unit per cycle. `input.ready` is deasserted while there is no room for all units of the code point.

    Latency: one cycle to the first unit of an empty queue, `latency` cycles to the last one of a full queue. There are
    combinational paths from `output.ready` and from the payload of the input to `input.ready`.

    Args:
        target: the encoding of the units.
        item: the layout of the items of a decoder; default: words of 32 bits.

    Attributes:
        growth: the cycles that a word takes at most.

    Ports:
        input: stream of `beat_layout`, one lane, words or items.
        output: stream of `beat_layout`, one lane, with symbols of `unit_layout`.
    """

    packed = True
    lanes = 1

    def __init__(self, target: Encoding, item: data.StructLayout | None = None) -> None:
        self.target, self.logic = target, EncoderLogic(target, any_number=item is None)
        self.growth = self.latency = self.drain_cycles = target.table.longest
        # An entry is free in the cycle in which a unit is transferred.
        self.stall_cycles = target.table.longest - 1
        super().__init__(stage_ports(item or WORD_BITS, unit_layout(target.table.unit_width), 1))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        room, source, output = self.target.table.longest, self.input.payload, self.output
        entries: list[Any] = [Signal(output.payload.shape(), name=f"entry_{n}", reset_less=True) for n in range(room)]
        valid = Signal(room)
        # After the unit at the output has been transferred.
        left = Signal(room)
        symbol, any_number = source.symbols[0], self.logic.any_number
        code_point = symbol if any_number else symbol.code_point
        classes = self.logic.classes(m, code_point)
        error = classes[REPLACED] if any_number else symbol.error
        error = named(m, "is_error", error & source.keep, "The unit is one of a U+FFFD for something ill-formed.")
        slots: list[Value] = []
        # By number n: more than n entries are needed. One is needed always.
        needed: list[Value] = [Const(1, 1)]
        for from_end, (is_there, bits) in enumerate(self.logic.units(code_point, classes)):
            # Of a packet that ends without a code point there is one entry, without a unit.
            last = Const(0, 1) if from_end else source.last
            slots.append(named(m, f"slot_{from_end}", Cat(*bits, error, source.keep, last)))
            if from_end:
                comment = f"The code point needs more than {from_end} of the entries."
                needed.append(named(m, f"needs_more_than_{from_end}", source.keep & is_there, comment))
        moves = output.ready | ~valid[0]
        m.d.comb += left.eq(Mux(moves, valid >> 1, valid))
        overflows = [left[room - 1], *(needed[n] & left[room - 1 - n] for n in range(1, room))]
        m.d.comb += self.input.ready.eq(~any_of(overflows))
        # By number n: with the new ones more than n entries are in use.
        sums: list[Value] = [Const(1, 1)]
        for n in range(1, room):
            terms = [left[n - 1], needed[n], *(needed[k] & left[n - 1 - k] for k in range(1, n))]
            comment = f"With the new entries more than {n} are in use."
            sums.append(named(m, f"sum_exceeds_{n}", any_of(terms), comment))
        accepts = is_effective(self.input) & self.input.ready
        m.d.sync += valid.eq(Mux(accepts, Cat(sums), left))
        for n, entry in enumerate(entries):
            # The unit that ends `place` entries before the last one in use.
            new = slots[0]
            for place in range(1, room - n):
                new = Mux(sums[n + place], slots[place], new)
            if n + 1 < room:
                new = Mux(left[n], Value.cast(entries[n + 1]), new)
            with m.If(moves | ~valid[n] if n else moves):
                m.d.sync += Value.cast(entry).eq(new)
        m.d.comb += [output.valid.eq(valid[0]), output.payload.eq(entries[0])]
        return m
