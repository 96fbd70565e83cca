# SPDX-License-Identifier: BSD-2-Clause
"""From code points to code units, several lanes per cycle: never pausing, `LATENCY` cycles later."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import named
from utf8fpga.hdl.encoder.logic import REPLACED, EncoderLogic, chosen, class_name, symbol_classes
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.packer.packer import Sparse
from utf8fpga.hdl.registers import delayed

LATENCY = 2
"""Cycles for the classes of code points, and for their units."""


def encoded(m: Module, logic: EncoderLogic, points: Sparse, errors: Value) -> Sparse:
    """The code units of a beat of code points, in as many lanes for each as the longest sequence has units.

    Args:
        errors: the code points that stand for something ill-formed.
    """
    words: list[Value] = []
    keep, last, valid = [], points.last, points.valid
    for lane, point in enumerate(points.words):
        m.submodules[f"units_{lane}"] = units = UnitsOfOne(logic, len(point))
        m.d.comb += [units.code_point.eq(point), units.keep.eq(points.keep[lane]), units.error.eq(errors[lane])]
        words.extend(units.out_words)
        keep.append(units.out_keep)
    for cycle in ("classified", "coded"):
        last, valid = delayed(m, last, f"{cycle}_last"), delayed(m, valid, f"{cycle}_valid", reset_less=False)
    return Sparse(words, Cat(keep), last, valid)


class UnitsOfOne(wiring.Component):
    """The code units of one code point. The last one is in the last lane, so that fewer multiplexers are needed.

    Ports:
        code_point, keep, error: whether there is one, and whether it stands for something ill-formed.
        out_words, out_keep: units and flags of `unit_layout`.
    """

    def __init__(self, logic: EncoderLogic, bits: int) -> None:
        self.logic, self.slots = logic, logic.table.longest
        words = data.ArrayLayout(logic.table.unit_width + 1, self.slots)
        ports = {"code_point": In(bits), "keep": In(1), "error": In(1)}
        super().__init__(ports | {"out_words": Out(words), "out_keep": Out(self.slots)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        error, found = symbol_classes(m, self.logic, self.code_point, self.error)
        classes = {units: delayed(m, value, f"{class_name(units)}_classified") for units, value in found.items()}
        code_point = delayed(m, self.code_point, "code_point_classified")
        keep = delayed(m, self.keep, "keep_classified")
        error = delayed(m, error, "is_error")
        for place, (is_there, bits) in enumerate(self.logic.units(code_point, classes)):
            at = self.slots - 1 - place
            has_unit = named(m, f"has_unit_{at}", keep & is_there)
            unit = self._unit(m, bits, f"unit_{at}")
            m.d.comb += self.out_words[at].eq(Cat(unit, delayed(m, error & has_unit, f"error_{at}")))
            m.d.comb += self.out_keep[at].eq(delayed(m, has_unit, f"keep_{at}"))
        return m

    @staticmethod
    def _unit(m: Module, bits: list[Value], name: str) -> Value:
        """The bits of a unit in registers, but constants as they are: a register may have an initial value."""
        varying = delayed(m, Cat(bit for bit in bits if not isinstance(bit, Const)), name)
        registers = iter(varying)
        return Cat(bit if isinstance(bit, Const) else next(registers) for bit in bits)


class UnitPairs(wiring.Component):
    """The code units of items, at most two each, in the lanes of the last units of their sequences.

    An item with two units comes from a sequence of four. The high surrogate is known with the third of them, whose lane
    has no other item (D91). So the text does not grow, and has one unit in each lane.

    Ports:
        payloads, heads, keep, errors, last, valid: a beat, as `Items` has it.
        out_words, out_keep, out_last, out_valid: a beat of `unit_layout`.
    """

    def __init__(self, logic: EncoderLogic, items: Items) -> None:
        self.logic, self.lanes = logic, items.lanes
        self._trail_bits = items.window.control.trail_bits
        payloads = data.ArrayLayout(items.bits, self.lanes)
        words = data.ArrayLayout(logic.table.unit_width + 1, self.lanes)
        given = {"payloads": In(payloads), **dict.fromkeys(("heads", "keep", "errors"), In(self.lanes))}
        made = {"out_words": Out(words), "out_keep": Out(self.lanes), "out_last": Out(1), "out_valid": Out(1)}
        super().__init__(given | {"last": In(1), "valid": In(1)} | made)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last, valid, keep = self.last, self.valid, self.keep | self.heads
        heads, payloads = delayed(m, self.heads, "heads_classified"), delayed(m, self.payloads, "payloads_classified")
        for cycle in ("classified", "coded"):
            keep, last = delayed(m, keep, f"{cycle}_keep"), delayed(m, last, f"{cycle}_last")
            valid = delayed(m, valid, f"{cycle}_valid", reset_less=False)
        m.d.comb += [self.out_keep.eq(keep), self.out_last.eq(last), self.out_valid.eq(valid)]
        for lane in range(self.lanes):
            classes = self.logic.classes(m, self.payloads[lane], self.errors[lane], f"_in_lane_{lane}")
            error = self.errors[lane] | classes[REPLACED]
            found = {units: delayed(m, value, f"class_{units}_{lane}") for units, value in classes.items()}
            last_unit = self.logic.units(payloads[lane], found)[0][1]
            first_unit = self._first_unit(payloads[lane])
            bits = [chosen(heads[lane], first, last) for first, last in zip(first_unit, last_unit, strict=True)]
            is_error = delayed(m, error & self.keep[lane], f"error_classified_{lane}")
            unit = delayed(m, Cat(bits), f"unit_{lane}")
            m.d.comb += self.out_words[lane].eq(Cat(unit, delayed(m, is_error, f"error_{lane}")))
        return m

    def _first_unit(self, payload: Value) -> list[Value]:
        """The first of two units, from the payload of a sequence without its last unit."""
        code_point = Cat(Const(0, self._trail_bits), payload)[: len(payload)]
        return self.logic.units(code_point, {2: Const(1, 1)})[1][1]
