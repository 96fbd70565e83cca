# SPDX-License-Identifier: BSD-2-Clause
"""From items to code units where the text does not grow: one unit in each lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.encoder.logic import EncoderLogic, chosen
from utf8fpga.hdl.encoder.unit_queue import symbol_classes
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.registers import delayed


class UnitPairs(wiring.Component):
    """The code units of items, at most two each, in the lanes of the last units of their sequences.

    An item with two units comes from a sequence of four. The high surrogate is known with the third of them, whose lane
    has no other item (D91).

    Throughput: a beat per cycle; it never pauses. Latency: `latency` cycles, for the classes of the code points and for
    their units.

    Args:
        logic: the functions of the encoding form of the output.
        items: the items.

    Ports:
        payloads, heads, keep, errors, last, valid: a beat, as `Items` has it.
        out_words, out_keep, out_last, out_valid: a beat of `unit_layout`.
    """

    latency = 2

    def __init__(self, logic: EncoderLogic, items: Items) -> None:
        self.logic, self.lanes, self.slots = logic, items.lanes, 1
        self._trail_bits = items.window.control.serial.trail_bits
        flags = ("heads", "keep", "errors")
        super().__init__(
            {
                "payloads": In(data.ArrayLayout(items.bits, self.lanes)),
                **dict.fromkeys(flags, In(self.lanes)),
                "last": In(1),
                "valid": In(1),
                "out_words": Out(data.ArrayLayout(logic.table.unit_width + 1, self.lanes)),
                "out_keep": Out(self.lanes),
                "out_last": Out(1),
                "out_valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last, valid, keep = self.last, self.valid, self.keep | self.heads
        heads, payloads = delayed(m, self.heads, "heads_classified"), delayed(m, self.payloads, "payloads_classified")
        for cycle in ("classified", "coded"):
            keep, last = delayed(m, keep, f"{cycle}_keep"), delayed(m, last, f"{cycle}_last")
            valid = delayed(m, valid, f"{cycle}_valid", reset_less=False)
        m.d.comb += [self.out_keep.eq(keep), self.out_last.eq(last), self.out_valid.eq(valid)]
        for lane in range(self.lanes):
            error, classes = symbol_classes(self.logic, self.payloads[lane], self.errors[lane])
            found = {units: delayed(m, value, f"class_{units}_{lane}") for units, value in classes.items()}
            last_unit = self.logic.slots(payloads[lane], found)[0].bits
            first_unit = self._first_unit(payloads[lane])
            bits = [chosen(heads[lane], first, last) for first, last in zip(first_unit, last_unit, strict=True)]
            is_error = delayed(m, error & self.keep[lane], f"error_classified_{lane}")
            m.d.comb += self.out_words[lane].eq(
                Cat(delayed(m, Cat(bits), f"unit_{lane}"), delayed(m, is_error, f"error_{lane}"))
            )
        return m

    def _first_unit(self, payload: Value) -> list[Value]:
        """The first of two units, from the payload of a sequence without its last unit."""
        code_point = Cat(Const(0, self._trail_bits), payload)[: len(payload)]
        return self.logic.slots(code_point, {2: Const(1, 1)})[1].bits
