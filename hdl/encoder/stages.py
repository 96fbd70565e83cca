# SPDX-License-Identifier: BSD-2-Clause
"""The stages of an encoder: beats of code points in, beats of code units out."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.encoder.logic import REPLACED, EncoderLogic

__all__ = ["EncoderStages", "symbol_classes", "unit_layout"]


def unit_layout(width: int) -> data.StructLayout:
    """One code unit: a symbol of an encoder's output.

    Fields:
        unit: the code unit.
        error: it belongs to a U+FFFD that stands for something ill-formed; 0 in a lane without a unit.

    Args:
        width: the bits of a code unit.
    """
    return data.StructLayout({"unit": width, "error": 1})


def symbol_classes(logic: EncoderLogic, symbol: Any) -> tuple[Value, Value, dict[int, Value]]:
    """The code point of a symbol, whether it stands for something ill-formed, and its classes.

    Args:
        logic: the logic functions.
        symbol: a code point, or an item with the fields `code_point` and `error`.
    """
    is_item = isinstance(symbol, data.View)
    code_point = Value.cast(symbol.code_point if is_item else symbol)
    error = symbol.error if is_item else Const(0, 1)
    classes = logic.classes(code_point, error)
    return code_point, error | classes[REPLACED] if REPLACED in classes else error, classes


class EncoderStages(wiring.Component):
    """Registers and logic from beats of code points to beats of code units, which all move on or pause together.

    Each lane has `slots` output lanes for the units of its code point, which end in the last one. A code point with
    more units has the first ones in the output lanes of the input lane before it, which must be empty. That of lane 0
    is the last lane of the beat before, which is therefore held until it leaves together with them; if it has left,
    they are a beat of their own.

    Throughput: a beat per cycle. With `collides`, where the lane before may have a code point after all, one cycle
    more for each that has.

    Latency: `latency` cycles to `entry`, while `run` is asserted.

    Args:
        logic: the functions from a code point to its units.
        lanes: code points per beat.
        symbol: the shape of a symbol: a number, or an item of a decoder.
        slots: output lanes per lane, at least half of the units of a code point.
        collides: the last lane of the beat before a code point with more than `slots` units may have a code point.
        from_first: the units begin in the first output lane of their lane, rather than ending in the last one; for
            code points with at most `slots` units.
        copies: bits of `run`, at least 1, duplicates for parts of the lanes.

    Ports:
        input: stream of `beat_layout`. Null beats must not be `valid`.
        run: all stages move on at the end of the cycle.
        entry: a beat of `beat_layout` with symbols of `unit_layout`.
        entry_valid: there is one.
    """

    def __init__(
        self,
        logic: EncoderLogic,
        lanes: int,
        symbol: ShapeLike,
        slots: int,
        *,
        collides: bool = False,
        from_first: bool = False,
        copies: int = 1,
    ) -> None:
        assert logic.longest <= 2 * slots
        self.logic, self.lanes, self.slots, self.from_first = logic, lanes, slots, from_first
        self.borrows = logic.longest > slots
        self.collides = collides and self.borrows
        shape = beat_layout(symbol, lanes)
        super().__init__(
            {
                "input": In(stream.Signature(shape)),
                "run": In(copies),
                "entry": Out(beat_layout(unit_layout(logic.table.unit_width), lanes * slots)),
                "entry_valid": Out(1),
            }
        )
        code_point, _, classes = symbol_classes(logic, self.input.payload.symbols[0])
        lane = data.StructLayout({"keep": 1, "error": 1, "code_point": len(code_point), "classes": len(classes)})
        self._stage = data.StructLayout({"lanes": data.ArrayLayout(lane, lanes), "last": 1})

    @property
    def latency(self) -> int:
        """Cycles from a beat at the input to its units at `entry`."""
        return 2 + self.borrows

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is deasserted while `run` is asserted."""
        return int(self.collides)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        collision = Signal()
        taken, shown = Signal(self._stage, reset_less=True), Signal(self._stage, reset_less=True)
        taken_valid, shown_valid = Signal(), Signal()
        advance = self.run & ~collision.replicate(len(self.run))
        self._classify(m, taken)
        self._load(m, taken, taken_valid, self._offered, self.input.valid, advance)
        m.d.comb += self.input.ready.eq(advance[0])
        if not self.borrows:
            self._encode(m, taken, taken_valid, None, Const(0, 1))
            return m
        first, last = taken.lanes[0], shown.lanes[self.lanes - 1]
        lends = Signal()
        m.d.comb += lends.eq(taken_valid & first.keep & self._is_long(first))
        if self.collides:
            # Its units must not get into a packet that has ended.
            m.d.comb += collision.eq(lends & shown_valid & (last.keep | shown.last))
        self._load(m, shown, shown_valid, taken, taken_valid & ~collision, self.run)
        self._encode(m, shown, shown_valid, first, lends & ~collision)
        return m

    def _classify(self, m: Module, taken: Any) -> None:
        """The beat at the input, with the classes of its code points."""
        self._offered = offered = Signal(self._stage)
        beat = self.input.payload
        m.d.comb += offered.last.eq(beat.last)
        for number, lane in enumerate(offered.lanes):
            code_point, error, classes = symbol_classes(self.logic, beat.symbols[number])
            m.d.comb += [
                lane.keep.eq(beat.keep[number]),
                lane.error.eq(error),
                lane.code_point.eq(code_point),
                lane.classes.eq(Cat(classes[each] for each in self.logic.names)),
            ]

    def _load(self, m: Module, register: Any, valid: Signal, source: Any, source_valid: Value, enable: Value) -> None:
        """Registers of a stage, which load the stage before it."""
        copies = len(enable)
        with m.If(enable[0]):
            m.d.sync += [valid.eq(source_valid), register.last.eq(source.last)]
        for number in range(self.lanes):
            with m.If(enable[number * copies // self.lanes]):
                m.d.sync += register.lanes[number].eq(source.lanes[number])

    def _classes(self, lane: Any) -> dict[int, Value]:
        return dict(zip(self.logic.names, lane.classes, strict=True))

    def _is_long(self, lane: Any) -> Value:
        """Whether a code point has more units than slots."""
        classes = self._classes(lane)
        return Cat(value for each, value in classes.items() if self.logic.units_of(each) > self.slots).any()

    def _encode(self, m: Module, beat: Any, valid: Value, follows: Any, lends: Value) -> None:
        """The registers in front of the output: the units of a beat, and those of lane 0 of the next one."""
        copies, slots = len(self.run), self.slots
        made, made_valid = Signal(self.entry.shape(), reset_less=True), Signal()
        with m.If(self.run[0]):
            m.d.sync += [made_valid.eq(valid | lends), made.last.eq(beat.last & valid)]
        lanes = [*beat.lanes, *([] if follows is None else [follows])]
        present = [*(lane.keep & valid for lane in beat.lanes), lends]
        encoded = [self.logic.slots(lane.code_point, self._classes(lane), from_first=self.from_first) for lane in lanes]
        for number in range(self.lanes):
            with m.If(self.run[number * copies // self.lanes]):
                for place in range(slots):
                    lane, keep, units = beat.lanes[number], present[number], encoded[number]
                    kept: Value = Const(0, 1)
                    error: Value = Const(0, 1)
                    unit: Value = Const(0, 1)
                    if place < len(units):
                        kept, unit = keep & units[place].keep, units[place].unit
                        error = kept & lane.error
                    if number + 1 < len(lanes) and slots + place < len(encoded[number + 1]):
                        other = encoded[number + 1][slots + place]
                        lent = present[number + 1] & other.keep
                        kept, error = kept | lent, error | (lent & lanes[number + 1].error)
                        unit = Mux(beat.lanes[number].keep & valid, unit, other.unit)
                    at = number * slots + (place if self.from_first else slots - 1 - place)
                    m.d.sync += [
                        made.keep[at].eq(kept),
                        made.symbols[at].unit.eq(unit),
                        made.symbols[at].error.eq(error),
                    ]
        m.d.comb += [self.entry.eq(made), self.entry_valid.eq(made_valid)]
