# SPDX-License-Identifier: BSD-2-Clause
"""The stages of an encoder: beats of code points in, beats of code units out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.commented import Namer, commented, named, unnamed
from utf8fpga.hdl.encoder.logic import REPLACED, EncoderLogic, chosen
from utf8fpga.hdl.fan_out import FanOut
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
    logic: EncoderLogic, code_point: Value, error: Value, name: Namer = unnamed, *, parts: bool = False
) -> tuple[Value, dict[int, Value]]:
    """Whether a symbol stands for something ill-formed, and its classes.

    Args:
        name, parts: see `EncoderLogic.classes`.
    """
    classes = logic.classes(code_point, error, name, parts=parts)
    return error | classes[REPLACED] if REPLACED in classes else error, classes


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
        symbol: the shape of a symbol: a number, or an item of a decoder.
        slots: output lanes per lane, at least half of the units of a code point. If there is one lane, the units begin
            in the first of them.
        collides: the last lane of the beat before a code point with more than `slots` units may have a code point.
        copies: bits of `run`, at least 1, duplicates for parts of the lanes; the last one is also for the input.
        pauses: False: `run` is always asserted.
        compares: there is a stage for the bounds of the classes, for a higher clock frequency.

    Attributes:
        stall_cycles: upper bound on the cycles in a row in which `input.ready` is deasserted while `run` is asserted.

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
        copies: int = 1,
        pauses: bool = True,
        compares: bool = False,
    ) -> None:
        assert logic.longest <= 2 * slots
        self.logic, self.lanes, self.slots, self.from_first = logic, lanes, slots, lanes == 1
        self.pauses, self.compares, self.borrows = pauses, compares, logic.longest > slots
        self.collides = collides and self.borrows
        self.latency = 2 + compares + self.borrows + 2 * (not pauses)
        self.stall_cycles = int(self.collides)
        shape = beat_layout(symbol, lanes)
        super().__init__(
            {
                "input": In(stream.Signature(shape)),
                "run": In(copies),
                "entry": Out(beat_layout(unit_layout(logic.table.unit_width), lanes * slots)),
                "entry_valid": Out(1),
            }
        )
        code_point, _ = symbol_fields(self.input.payload.symbols[0])
        classes = len(logic.names) if len(logic.names) > 1 else 0
        # Other bits are not needed once the classes are known.
        self._used = [bit for bit in range(len(code_point)) if logic.used_bits >> bit & 1]
        lane = data.StructLayout({"keep": 1, "error": 1, "code_point": len(self._used), "classes": classes})
        self._stage = data.StructLayout({"lanes": data.ArrayLayout(lane, lanes), "last": 1})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        collision = Signal()
        which = ", ".join("U+FFFD" if each == REPLACED else f"{each}" for each in self.logic.names)
        comment = f"A beat with the class of each code point, one bit for each number of units: {which}."
        taken, shown = (
            Signal(self._stage, name=name, reset_less=True, attrs={"doc": comment})
            for name in ("classified", "encoded")
        )
        taken_valid, shown_valid = (Signal(name=f"{name}_valid") for name in ("classified", "encoded"))
        advance = self.run & ~collision.replicate(len(self.run))
        beat, valid = self.input.payload, self.input.valid
        if not self.pauses:
            # The memories of a buffer are slow: nothing is computed before the first registers.
            beat = Signal.like(beat, name="arrived", reset_less=True)
            valid = Signal(name="arrived_valid")
            m.d.sync += [beat.eq(self.input.payload), valid.eq(self.input.valid)]
        # Two cycles before the beat is classified.
        early = valid if self.compares else self.input.valid
        compared = beat
        if self.compares:
            compared = Signal.like(beat, name="compared", reset_less=True)
            compared_valid = Signal(name="compared_valid")
            with m.If(advance[0]):
                m.d.sync += [compared.eq(beat), compared_valid.eq(valid)]
            valid = compared_valid
        self._load(m, taken, taken_valid, self._classified(m, beat, compared, advance), valid, advance)
        m.d.comb += self.input.ready.eq(advance[-1])
        if not self.borrows:
            self._encode(m, taken, taken_valid, None, Const(0, 1))
            return m
        first, last = taken.lanes[0], shown.lanes[self.lanes - 1]
        lends = Signal()
        m.d.comb += lends.eq(taken_valid & first.keep & self._is_long(first))
        if self.collides:
            # Its units must not get into a packet that has ended.
            m.d.comb += collision.eq(lends & shown_valid & (last.keep | shown.last))
        source = taken if self.pauses else self._only_valid(m, taken, early)
        self._load(m, shown, shown_valid, source, taken_valid & ~collision, self.run)
        self._encode(m, shown, shown_valid, first, lends & ~collision)
        return m

    def _only_valid(self, m: Module, taken: Any, early: Value) -> Any:
        """The beat, whose lanes are empty unless it is there, so that no later step depends on that."""
        # Not reset: they have drained before a beat lends units for the first time.
        m.submodules.valids = tree = FanOut(2, doubles=True)
        masked = Signal(self._stage)
        m.d.comb += [tree.value.eq(early), masked.eq(taken)]
        for number, lane in enumerate(masked.lanes):
            valid = tree.copies[number * len(tree.copies) // self.lanes]
            m.d.comb += lane.keep.eq(taken.lanes[number].keep & valid)
        return masked

    def _classified(self, m: Module, beat: Any, compared: Any, advance: Value) -> Any:
        """A beat with the classes of its code points.

        Args:
            beat: the beat whose code points are compared with the bounds of the classes.
            compared: the same beat, or with `compares` the one before it, whose bounds are in registers.
        """
        offered = Signal(self._stage)
        m.d.comb += offered.last.eq(compared.last)
        for number, lane in enumerate(offered.lanes):

            def name(word: str, value: Value, comment: str, number: int = number) -> Signal:
                if not self.compares:
                    return named(m, f"{word}_{number}", value, comment)
                bound = commented(Signal(name=f"{word}_{number}", reset_less=True), comment)
                with m.If(advance[0]):
                    m.d.sync += bound.eq(value)
                return bound

            code_point, error = symbol_fields(compared.symbols[number])
            compared_point, _ = symbol_fields(beat.symbols[number])
            error, classes = symbol_classes(self.logic, compared_point, error, name, parts=self.compares)
            m.d.comb += [
                lane.keep.eq(compared.keep[number]),
                lane.error.eq(error),
                lane.code_point.eq(Cat(code_point[bit] for bit in self._used)),
            ]
            if len(classes) > 1:
                m.d.comb += lane.classes.eq(Cat(classes[each] for each in self.logic.names))
        return offered

    def _load(self, m: Module, register: Any, valid: Signal, source: Any, source_valid: Value, enable: Value) -> None:
        """Registers of a stage, which load the stage before it."""
        copies = len(enable)
        with m.If(enable[0]):
            m.d.sync += [valid.eq(source_valid), register.last.eq(source.last)]
        for number in range(self.lanes):
            with m.If(enable[number * copies // self.lanes]):
                m.d.sync += register.lanes[number].eq(source.lanes[number])

    def _classes(self, lane: Any) -> dict[int, Value]:
        if len(self.logic.names) == 1:
            return {self.logic.names[0]: Const(1, 1)}
        return dict(zip(self.logic.names, lane.classes, strict=True))

    def _code_point(self, lane: Any) -> Value:
        """The code point, without the bits that are not used."""
        bits: list[Value] = [Const(0, 1)] * (self._used[-1] + 1)
        for place, bit in zip(self._used, lane.code_point, strict=True):
            bits[place] = bit
        return Cat(bits)

    def _is_long(self, lane: Any) -> Value:
        """Whether a code point has more units than slots."""
        classes = self._classes(lane)
        return Cat(value for each, value in classes.items() if self.logic.units_of(each) > self.slots).any()

    def _encode(self, m: Module, beat: Any, valid: Value, follows: Any, lends: Value) -> None:
        """The registers in front of the output: the units of a beat, and those of lane 0 of the next one."""
        copies, slots = len(self.run), self.slots
        wide = self.lanes * slots
        keeps, errors = (Signal(wide, name=name, reset_less=True) for name in ("keeps", "errors"))
        made_valid, made_last = Signal(name="made_valid"), Signal(name="made_last", reset_less=True)
        any_valid, last = valid | lends, beat.last & valid
        # Without pauses, lanes of a beat that is not there are empty already where units are lent.
        is_there = valid if self.pauses or not self.borrows else Const(1, 1)
        coded = [self._coded(lane, lane.keep & is_there) for lane in beat.lanes]
        if follows is not None:
            coded.append(self._coded(follows, lends))
        if not self.pauses:
            # A stage of its own for the units, before they are lent.
            coded_valid = Signal(name="coded_valid")
            m.d.sync += coded_valid.eq(any_valid)
            any_valid, last = coded_valid, self._held(m, "coded_last", [last])[0]
            coded = [
                [self._held(m, f"coded_{lane}_{place}", unit) for place, unit in enumerate(units)]
                for lane, units in enumerate(coded)
            ]
        with m.If(self.run[0]):
            m.d.sync += [made_valid.eq(any_valid), made_last.eq(last)]
        for number in range(self.lanes):
            run = self.run[number * copies // self.lanes]
            for place in range(slots):
                keep, error, *bits = coded[number][place]
                if number + 1 < len(coded) and slots + place < len(coded[number + 1]):
                    # It has no error: what is ill-formed becomes U+FFFD, of at most `slots` units, see `slots_for`.
                    lent, lent_error, *others = coded[number + 1][slots + place]
                    bits = [chosen(keep, one, another) for one, another in zip(bits, others, strict=True)]
                    keep, error = keep | lent, error | lent_error
                at = number * slots + (place if self.from_first else slots - 1 - place)
                with m.If(run):
                    m.d.sync += [keeps[at].eq(keep), errors[at].eq(error)]
                m.d.comb += self.entry.symbols[at].unit.eq(Cat(self._held(m, f"unit_{at}", bits, run)))
                m.d.comb += self.entry.symbols[at].error.eq(errors[at])
        m.d.comb += [self.entry.keep.eq(keeps), self.entry.last.eq(made_last), self.entry_valid.eq(made_valid)]

    def _coded(self, lane: Any, present: Value) -> list[list[Value]]:
        """The code units of a lane, the last one first: whether it is there, whether it has an error, and its bits."""
        slots = self.logic.slots(self._code_point(lane), self._classes(lane), from_first=self.from_first)
        return [[present & slot.keep, present & slot.keep & lane.error, *slot.bits] for slot in slots]

    @staticmethod
    def _held(m: Module, name: str, bits: Sequence[Value], run: Value | None = None) -> list[Value]:
        """The bits from registers, but constants as they are: Yosys stops at the initial value of such a register."""
        varying = [bit for bit in bits if not isinstance(bit, Const)]
        held = commented(Signal(len(varying), name=name, reset_less=True), "The bits of a unit that are not constant.")
        with m.If(Const(1, 1) if run is None else run):
            m.d.sync += held.eq(Cat(varying))
        registers = iter(held)
        return [bit if isinstance(bit, Const) else next(registers) for bit in bits]
