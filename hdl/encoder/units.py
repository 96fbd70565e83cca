# SPDX-License-Identifier: BSD-2-Clause
"""From code points to code units, several lanes per cycle."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Const, Module, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Member, Out

from utf8fpga.hdl.commented import named
from utf8fpga.hdl.encoder.logic import REPLACED, EncoderLogic, chosen, class_name, symbol_classes
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.registers import delayed


class UnitStage(wiring.Component):
    """A beat of code points becomes one of code units.

    Throughput: a beat per cycle; it never pauses. Latency: `latency` cycles, for the classes of the code points and for
    their units.

    Args:
        logic: the functions of the encoding form.
        lanes: code points per beat.
        slots: lanes of the output for each code point.
        inputs: the ports with the code points.

    Ports:
        keep, errors, last, valid: of a beat; `errors`: the code point stands for something ill-formed.
        out_words, out_keep, out_last, out_valid: a beat of `unit_layout`.
    """

    latency = 2

    def __init__(self, logic: EncoderLogic, lanes: int, slots: int, inputs: Mapping[str, Member]) -> None:
        self.logic, self.lanes, self.slots = logic, lanes, slots
        super().__init__(
            {
                **inputs,
                "keep": In(lanes),
                "errors": In(lanes),
                "last": In(1),
                "valid": In(1),
                "out_words": Out(data.ArrayLayout(logic.table.unit_width + 1, lanes * slots)),
                "out_keep": Out(lanes * slots),
                "out_last": Out(1),
                "out_valid": Out(1),
            }
        )


class Units(UnitStage):
    """The code units of each code point, in as many lanes as the longest sequence has units.

    The last unit is in the last of these lanes, so that fewer multiplexers are needed.

    Args:
        bits: bits of a code point.

    Ports: those of a `UnitStage`, and `code_points`.
    """

    def __init__(self, logic: EncoderLogic, lanes: int, bits: int) -> None:
        inputs = {"code_points": In(data.ArrayLayout(bits, lanes))}
        super().__init__(logic, lanes, logic.table.longest, inputs)

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
        self.logic, self.slots = logic, logic.table.longest
        words = data.ArrayLayout(logic.table.unit_width + 1, self.slots)
        ports = {"code_point": In(bits), "keep": In(1), "error": In(1)}
        super().__init__(ports | {"out_words": Out(words), "out_keep": Out(self.slots)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        error, found = symbol_classes(m, self.logic, self.code_point, self.error)
        classes = {units: delayed(m, value, f"{class_name(units)}_classified") for units, value in found.items()}
        code_point, keep = (
            delayed(m, self.code_point, "code_point_classified"),
            delayed(m, self.keep, "keep_classified"),
        )
        error = delayed(m, error, "is_error")
        for place, (is_there, bits) in enumerate(self.logic.units(code_point, classes)):
            at = self.slots - 1 - place
            has_unit = named(m, f"has_unit_{at}", keep & is_there)
            unit = self._unit(m, bits, f"unit_{at}")
            m.d.comb += [
                self.out_words[at].eq(Cat(unit, delayed(m, error & has_unit, f"error_{at}"))),
                self.out_keep[at].eq(delayed(m, has_unit, f"keep_{at}")),
            ]
        return m

    @staticmethod
    def _unit(m: Module, bits: list[Value], name: str) -> Value:
        """The bits of a unit in registers, but constants as they are: a register may have an initial value."""
        varying = delayed(m, Cat(bit for bit in bits if not isinstance(bit, Const)), name)
        registers = iter(varying)
        return Cat(bit if isinstance(bit, Const) else next(registers) for bit in bits)


class UnitPairs(UnitStage):
    """The code units of items, at most two each, in the lanes of the last units of their sequences.

    An item with two units comes from a sequence of four. The high surrogate is known with the third of them, whose lane
    has no other item (D91). So the text does not grow, and has one unit in each lane.

    Ports: those of a `UnitStage`, `payloads` and `heads`, as `Items` has them.
    """

    def __init__(self, logic: EncoderLogic, items: Items) -> None:
        self._trail_bits = items.window.control.trail_bits
        inputs = {"payloads": In(data.ArrayLayout(items.bits, items.lanes)), "heads": In(items.lanes)}
        super().__init__(logic, items.lanes, 1, inputs)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        last, valid, keep = self.last, self.valid, self.keep | self.heads
        heads, payloads = delayed(m, self.heads, "heads_classified"), delayed(m, self.payloads, "payloads_classified")
        for cycle in ("classified", "coded"):
            keep, last = delayed(m, keep, f"{cycle}_keep"), delayed(m, last, f"{cycle}_last")
            valid = delayed(m, valid, f"{cycle}_valid", reset_less=False)
        m.d.comb += [self.out_keep.eq(keep), self.out_last.eq(last), self.out_valid.eq(valid)]
        for lane in range(self.lanes):
            classes = self.logic.classes(self.payloads[lane], self.errors[lane])
            error = self.errors[lane] | classes[REPLACED]
            found = {units: delayed(m, value, f"class_{units}_{lane}") for units, value in classes.items()}
            last_unit = self.logic.units(payloads[lane], found)[0][1]
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
        return self.logic.units(code_point, {2: Const(1, 1)})[1][1]
