# SPDX-License-Identifier: BSD-2-Clause
"""From code points to code units, several lanes per cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.encoder.logic import EncoderLogic
from utf8fpga.hdl.encoder.unit_queue import symbol_classes
from utf8fpga.hdl.registers import delayed


class Units(wiring.Component):
    """The code units of each code point, in as many lanes as the longest sequence has units.

    The last unit is in the last of these lanes, so that fewer multiplexers are needed.

    Throughput: a beat per cycle; it never pauses. Latency: `latency` cycles, for the classes of the code points and for
    their units.

    Args:
        logic: the functions of the encoding form.
        lanes: code points per beat.
        bits: bits of a code point.

    Ports:
        code_points, keep, errors, last, valid: a beat; `errors`: the code point stands for something ill-formed.
        out_words, out_keep, out_last, out_valid: a beat of `unit_layout`.
    """

    latency = 2

    def __init__(self, logic: EncoderLogic, lanes: int, bits: int) -> None:
        self.logic, self.lanes, self.slots = logic, lanes, logic.longest
        wide = lanes * self.slots
        super().__init__(
            {
                "code_points": In(data.ArrayLayout(bits, lanes)),
                "keep": In(lanes),
                "errors": In(lanes),
                "last": In(1),
                "valid": In(1),
                "out_words": Out(data.ArrayLayout(logic.table.unit_width + 1, wide)),
                "out_keep": Out(wide),
                "out_last": Out(1),
                "out_valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last, valid = self.last, self.valid
        for cycle in ("classified", "coded"):
            last, valid = delayed(m, last, f"{cycle}_last"), delayed(m, valid, f"{cycle}_valid", reset_less=False)
        m.d.comb += [self.out_last.eq(last), self.out_valid.eq(valid)]
        code_points = delayed(m, self.code_points, "code_points_classified")
        keep = delayed(m, self.keep, "keep_classified")
        for lane in range(self.lanes):
            error, classes = self._classify(m, lane)
            slots = self.logic.slots(code_points[lane], classes)
            for place, slot in enumerate(slots):
                at = (lane + 1) * self.slots - 1 - place
                unit = self._unit(m, slot.bits, f"unit_{at}")
                slot_keep = delayed(m, keep[lane] & slot.keep, f"keep_{at}")
                slot_error = delayed(m, error & keep[lane] & slot.keep, f"error_{at}")
                m.d.comb += [self.out_words[at].eq(Cat(unit, slot_error)), self.out_keep[at].eq(slot_keep)]
        return m

    def _classify(self, m: Module, lane: int) -> tuple[Value, dict[int, Value]]:
        """Whether the code point of a lane stands for something ill-formed, and its class, in registers."""
        error, classes = symbol_classes(self.logic, self.code_points[lane], self.errors[lane])
        found = {units: delayed(m, value, f"class_{units}_{lane}") for units, value in classes.items()}
        return delayed(m, error, f"error_classified_{lane}"), found

    @staticmethod
    def _unit(m: Module, bits: list[Value], name: str) -> Value:
        """The bits of a unit in registers, but constants as they are: a register may have an initial value."""
        varying = delayed(m, Cat(bit for bit in bits if not isinstance(bit, Const)), name)
        registers = iter(varying)
        return Cat(bit if isinstance(bit, Const) else next(registers) for bit in bits)
