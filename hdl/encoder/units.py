# SPDX-License-Identifier: BSD-2-Clause
"""From code points to code units, several lanes per cycle: never pausing, `LATENCY` cycles later."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.commented import named
from utf8fpga.hdl.encoder.logic import REPLACED, EncoderLogic, chosen
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.packer.packer import Sparse
from utf8fpga.hdl.registers import delayed

_STAGES = ("classified", "coded")
"""The cycles: for the classes of code points, and for their units."""

LATENCY = len(_STAGES)


def encoded(m: Module, logic: EncoderLogic, points: Sparse, errors: Value) -> Sparse:
    """The code units of a beat of code points, in as many lanes for each as the longest sequence has units.

    Args:
        errors: the lanes with something ill-formed, in which the code point is undefined.
    """
    words, keep = [], []
    for lane, point in enumerate(points.words):
        m.submodules[f"units_{lane}"] = units = CodePointUnits(logic, len(point))
        m.d.comb += [units.code_point.eq(point), units.keep.eq(points.keep[lane]), units.error.eq(errors[lane])]
        words.extend(units.out_words)
        keep.append(units.out_keep)
    return _with_control(m, words, keep, points.last, points.valid)


def paired(m: Module, logic: EncoderLogic, items: Items) -> Sparse:
    """The code units of items, at most two each, in the lanes of the last units of their sequences.

    An item with two units comes from a sequence of four. The high surrogate is known with the third of them, whose lane
    has no other item (Unicode D91). So the text does not grow, and has one unit in each lane.
    """
    words, keep = [], []
    for lane in range(items.lanes):
        m.submodules[f"unit_{lane}"] = unit = LaneUnit(logic, items.bits, items.window.control.trail_bits)
        m.d.comb += [unit.payload.eq(items.payloads[lane]), unit.head.eq(items.heads[lane])]
        m.d.comb += [unit.keep.eq(items.items[lane]), unit.error.eq(items.errors[lane])]
        words.append(unit.out_word)
        keep.append(unit.out_keep)
    return _with_control(m, words, keep, items.ends, items.leaves)


def _with_control(m: Module, words: list[Value], keep: list[Value], last: Value, valid: Value) -> Sparse:
    """A beat of code units, with what is known of the beat `LATENCY` cycles before."""
    for cycle in _STAGES:
        last, valid = delayed(m, last, f"{cycle}_last"), delayed(m, valid, f"{cycle}_valid", reset_less=False)
    return Sparse(words, Cat(keep), last, valid)


class CodePointUnits(wiring.Component):
    """The code units of one code point. The last one is in the last lane, so that fewer multiplexers are needed.

    Ports:
        code_point, keep, error: whether there is one, and whether it is ill-formed, so that it is undefined.
        out_words, out_keep: units and flags of `unit_layout`.
    """

    def __init__(self, logic: EncoderLogic, bits: int) -> None:
        self.logic, self.slots = logic, logic.table.longest
        words = data.ArrayLayout(logic.table.unit_width + 1, self.slots)
        ports = {"code_point": In(bits), "keep": In(1), "error": In(1)}
        super().__init__(ports | {"out_words": Out(words), "out_keep": Out(self.slots)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        found = self.logic.classes(m, self.code_point, self.error)
        classes = {units: delayed(m, value, f"class_{units}") for units, value in found.items()}
        code_point = delayed(m, self.code_point, "code_point_classified")
        keep = delayed(m, self.keep, "keep_classified")
        error = classes[REPLACED]
        for from_end, (is_there, bits) in enumerate(self.logic.units(code_point, classes)):
            lane = self.slots - 1 - from_end
            has_unit = named(m, f"has_unit_{lane}", keep & is_there)
            unit = self._unit(m, bits, f"unit_{lane}")
            m.d.comb += self.out_words[lane].eq(Cat(unit, delayed(m, error & has_unit, f"error_{lane}")))
            m.d.comb += self.out_keep[lane].eq(delayed(m, has_unit, f"keep_{lane}"))
        return m

    @staticmethod
    def _unit(m: Module, bits: list[Value], name: str) -> Value:
        """The bits of a unit in registers, but constants as they are: a register may have an initial value."""
        varying = delayed(m, Cat(bit for bit in bits if not isinstance(bit, Const)), name)
        registers = iter(varying)
        return Cat(bit if isinstance(bit, Const) else next(registers) for bit in bits)


class LaneUnit(wiring.Component):
    """The only or the second code unit of an item, or the first one of the item that the next input unit completes.

    Ports:
        payload: that of the sequence up to this unit of it.
        head: the next unit of the input completes a sequence of four.
        keep, error: there is an item, and it is ill-formed.
        out_word, out_keep: a unit of `unit_layout`, and whether there is one.
    """

    def __init__(self, logic: EncoderLogic, bits: int, trail_bits: int) -> None:
        self.logic, self._trail_bits = logic, trail_bits
        flags = dict.fromkeys(("head", "keep", "error"), In(1))
        made = {"out_word": Out(logic.table.unit_width + 1), "out_keep": Out(1)}
        super().__init__({"payload": In(bits)} | flags | made)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        found = self.logic.classes(m, self.payload, self.error)
        classes = {units: delayed(m, value, f"class_{units}") for units, value in found.items()}
        payload, head = delayed(m, self.payload, "payload_classified"), delayed(m, self.head, "head_classified")
        keep = delayed(m, self.keep | self.head, "keep_classified")
        error = delayed(m, self.error, "is_error")
        # The high surrogate, as of a pair whose low payload bits are 0.
        whole = Cat(Const(0, self._trail_bits), payload)[: len(payload)]
        _, (_, first) = self.logic.units(whole, {2: Const(1, 1)})
        (_, last), _ = self.logic.units(payload, classes)
        unit = Cat(chosen(head, *bits) for bits in zip(first, last, strict=True))
        m.d.comb += self.out_word.eq(Cat(delayed(m, unit, "unit"), delayed(m, error, "error")))
        m.d.comb += self.out_keep.eq(delayed(m, keep, "keep"))
        return m
