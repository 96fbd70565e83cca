# SPDX-License-Identifier: BSD-2-Clause
"""From code points to code units, several lanes per cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import named
from utf8fpga.hdl.encoder.logic import EncoderLogic, class_name
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
        for lane in range(self.lanes):
            m.submodules[f"units_{lane}"] = units = UnitsOfOne(self.logic, self.code_points.shape().elem_shape)
            slots = slice(lane * self.slots, (lane + 1) * self.slots)
            m.d.comb += [
                units.code_point.eq(self.code_points[lane]),
                units.keep.eq(self.keep[lane]),
                units.error.eq(self.errors[lane]),
                Value.cast(self.out_words).word_select(lane, len(units.out_words.as_value())).eq(units.out_words),
                self.out_keep[slots].eq(units.out_keep),
            ]
        return m


class UnitsOfOne(wiring.Component):
    """The code units of one code point, the last one in the last lane.

    Latency: 2 cycles, for the class of the code point and for its units.

    Ports:
        code_point, keep, error: whether there is one, and whether it stands for something ill-formed.
        out_words, out_keep: units and flags of `unit_layout`.
    """

    def __init__(self, logic: EncoderLogic, bits: int) -> None:
        self.logic, self.slots = logic, logic.longest
        words = data.ArrayLayout(logic.table.unit_width + 1, self.slots)
        ports = {"code_point": In(bits), "keep": In(1), "error": In(1)}
        super().__init__(ports | {"out_words": Out(words), "out_keep": Out(self.slots)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        error, found = symbol_classes(self.logic, self.code_point, self.error, m)
        classes = {units: delayed(m, value, f"{class_name(units)[0]}_classified") for units, value in found.items()}
        code_point, keep = (
            delayed(m, self.code_point, "code_point_classified"),
            delayed(m, self.keep, "keep_classified"),
        )
        error = delayed(m, error, "is_error")
        for place, slot in enumerate(self.logic.slots(code_point, classes)):
            at = self.slots - 1 - place
            is_there = named(m, f"has_unit_{at}", keep & slot.keep)
            unit = self._unit(m, slot.bits, f"unit_{at}")
            m.d.comb += [
                self.out_words[at].eq(Cat(unit, delayed(m, error & is_there, f"error_{at}"))),
                self.out_keep[at].eq(delayed(m, is_there, f"keep_{at}")),
            ]
        return m

    @staticmethod
    def _unit(m: Module, bits: list[Value], name: str) -> Value:
        """The bits of a unit in registers, but constants as they are: a register may have an initial value."""
        varying = delayed(m, Cat(bit for bit in bits if not isinstance(bit, Const)), name)
        registers = iter(varying)
        return Cat(bit if isinstance(bit, Const) else next(registers) for bit in bits)
