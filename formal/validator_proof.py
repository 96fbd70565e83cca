# SPDX-License-Identifier: BSD-2-Clause
"""The proof of a validator with one lane: `Items`, the totals of a packet, and the FIFO of its reports.

The specification counts with numbers as wide as they are in the report. The circuit counts in two halves, of which the
upper one is a cycle later; so what its registers hold are bits of these numbers some cycles before.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.beat_claims import BeatClaims
from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.model import EncodingTable
from utf8fpga.model.validator import COUNTER_WIDTH

_HALF = COUNTER_WIDTH // 2
_AFTER_ITEMS = 6
"""Cycles from a beat behind `Items` to the report."""

_BEAT = data.StructLayout({"unit": 1, "item": 1, "error": 1, "back": 2, "kind": 3, "last": 1})
"""A beat with at most one unit: whether there is one, the item that ends with it, and the units before its last one."""

_TOTALS = data.StructLayout(
    {
        "units": COUNTER_WIDTH + 1,
        "errors": COUNTER_WIDTH,
        "code_points": COUNTER_WIDTH,
        "offset": COUNTER_WIDTH + 2,
        "kind": 3,
        "ill_formed": 1,
        **dict.fromkeys(("many_units", "many_errors", "many_code_points"), 1),
    }
)
"""What is known of a packet: its numbers modulo powers of two, and whether they ever were as high as these."""


def _counted(number: Value, many: Value, amount: Value, is_first: Value) -> tuple[Value, Value]:
    """A number after a beat, and whether it ever was too high: its upper half remains from then on."""
    total, remains = Mux(is_first, 0, number) + amount, many & ~is_first
    upper = Mux(remains, number[_HALF:], total[_HALF : len(number)])
    return Cat(total[:_HALF], upper), remains | total[len(number)]


class ValidatorProof(BeatClaims):
    """A validator with one lane.

    Attributes:
        beats: by cycles, the beat that was behind `Items` so many cycles ago.
        valid: the same, whether there was one.
        totals: by cycles since `beats[3]`, what was known of its packet.
        ended: the same, whether the next beat begins a packet.
        begun: the same, whether there was a beat since the reset.
    """

    def __init__(self, core: Any, table: EncodingTable | None = None) -> None:
        items = core.tap.items
        super().__init__(core, table or items.table, beat_layout(item_layout(items.table, kind=True), 1))
        self.latency = items.latency + _AFTER_ITEMS + 1

    def specify(self, m: Module) -> None:
        items = self.core.tap.items
        (slot,) = self.follow_items(m, items)
        beat: Any = Signal(_BEAT, name="beat_behind", reset_less=True)
        m.d.comb += [beat.item.eq(self.row.keep), beat.last.eq(self.row.last)]
        m.d.comb += [beat.error.eq(self.row.symbols[0].error), beat.kind.eq(self.row.symbols[0].kind)]
        m.d.sync += [beat.unit.eq(self.held.keep), beat.back.eq(Mux(slot.open, slot.count - 1, 0))]
        found = {"present": beat.unit, "items": beat.item, "errors": beat.error, "ends": beat.last}
        for name, value in found.items():
            self.holds(name, self.inside[f"tap.items.out_{name}"], value, self.leaves)
        for name, value in (("kinds", beat.kind), ("backs", beat.back)):
            self.holds(name, self.inside[f"tap.items.out_{name}"], value, self.leaves & beat.error)
        self._follow_totals(m, beat)
        self._claim_delays()
        self._claim_numbers()
        self._claim_report(m)

    def _totals(self, name: str) -> Any:
        return self.inside[f"tap.totals.{name}"]

    def _after(self, before: Any, is_first: Value, beat: Any) -> dict[str, Value]:
        """What is known of a packet after another beat."""
        known: dict[str, Value] = {}
        for name, amount in (("units", beat.unit), ("errors", beat.error), ("code_points", beat.item)):
            known[name], known[f"many_{name}"] = _counted(before[name], before[f"many_{name}"], amount, is_first)
        is_new = beat.error & (is_first | ~before.ill_formed)
        known["ill_formed"] = beat.error | (before.ill_formed & ~is_first)
        kept = {name: Mux(is_first, 0, before[name]) for name in ("offset", "kind")}
        units = Cat(known["units"], known["many_units"])
        known["offset"] = Mux(is_new, units - 1 - beat.back, kept["offset"])[: len(units)]
        known["kind"] = Mux(is_new, beat.kind, kept["kind"])
        return known

    def _follow_totals(self, m: Module, beat: Any) -> None:
        """The beats of the last cycles, and what is known of their packets."""
        self.beats, self.valid = [beat], [self.leaves]
        for cycle in range(1, _AFTER_ITEMS):
            earlier: Any = Signal(_BEAT, name=f"beat_behind_{cycle}", reset_less=True)
            was_valid = Signal(name=f"valid_{cycle}")
            m.d.sync += [earlier.eq(self.beats[-1]), was_valid.eq(self.valid[-1])]
            self.beats.append(earlier)
            self.valid.append(was_valid)
        for beat, valid in zip(self.beats, self.valid, strict=True):
            self.claim("an error ends with a unit", ~(valid & beat.error) | beat.unit)
        self.totals: list[Any] = [Signal(_TOTALS, name=f"totals_{cycle}", reset_less=True) for cycle in range(3)]
        self.ended = [Signal(name=f"ended_{cycle}", init=1) for cycle in range(4)]
        self.begun = [Signal(name=f"begun_{cycle}") for cycle in range(4)]
        now, beat = self.totals[0], self.beats[2]
        with m.If(self.valid[2]):
            known = self._after(now, self.ended[0], beat)
            m.d.sync += [Value.cast(now[name]).eq(value) for name, value in known.items()]
            m.d.sync += [self.ended[0].eq(beat.last), self.begun[0].eq(1)]
        for chain in (self.totals, self.ended, self.begun):
            m.d.sync += [later.eq(earlier) for earlier, later in pairwise(chain)]
        for cycle in range(2):
            before, is_first = self.totals[cycle + 1], self.ended[cycle + 1]
            beat, valid = self.beats[cycle + 3], self.valid[cycle + 3]
            known = self._after(before, is_first, beat)
            same = Cat(Value.cast(self.totals[cycle][name]) == value for name, value in known.items()).all()
            stays = Value.cast(self.totals[cycle]) == Value.cast(before)
            self.claim(f"totals {cycle}", ~self.begun[cycle] | Mux(valid, same, stays))
            self.claim(f"ended {cycle}", self.ended[cycle] == Mux(valid, beat.last, is_first))
            self.claim(f"begun {cycle}", self.begun[cycle] == (valid | self.begun[cycle + 1]))
        self.claim("ended 2", self.ended[2] == Mux(self.valid[5], self.beats[5].last, self.ended[3]))
        self.claim("begun 2", self.begun[2] == (self.valid[5] | self.begun[3]))
        for ended, begun in zip(self.ended, self.begun, strict=True):
            self.claim("a packet has begun", ended | begun)

    def _first(self, cycle: int) -> Value:
        """Whether the beat of so many cycles ago, if there was one, begins its packet."""
        if cycle >= 2:
            return self.ended[cycle - 2]
        return Mux(self.valid[cycle + 1], self.beats[cycle + 1].last, self._first(cycle + 1))

    def _is_since_reset(self, cycle: int) -> Value:
        """Whether there was a beat since the reset, at most so many cycles ago: flags without a reset are known."""
        return self.valid[cycle] | (self.begun[cycle - 2] if cycle >= 2 else self._is_since_reset(cycle + 1))

    def _claim_delays(self) -> None:
        """The registers that hold a beat of some cycles ago."""
        beats, valid = self.beats, self.valid
        self.holds("starts", self._totals("starts"), self._first(0))
        self.holds("valids", self._totals("valids"), Cat(valid[1:5]))
        for cycle in range(1, 5):
            is_first, known = valid[cycle] & self._first(cycle), self._is_since_reset(cycle)
            self.holds("firsts", self._totals("firsts")[cycle - 1], is_first, known)
        ends = [there & beat.last for there, beat in zip(valid, beats, strict=True)]
        self.holds("ends", self._totals("ends")[:5], Cat(ends[1:]))
        self.holds("after", self._totals("after"), beats[1].unit, valid[1])
        fields = (("error", "error", 2), ("units", "unit", 2), ("errors", "error", 3), ("code_points", "item", 3))
        for name, field, cycles in fields:
            for cycle in range(1, cycles + 1):
                self.holds(name, self._totals(f"{name}_after_{cycle}"), beats[cycle][field], valid[cycle])
        for cycle in range(1, 4):
            is_known = valid[cycle] & beats[cycle].error
            self.holds("kind", self._totals(f"beat_kind_after_{cycle}"), beats[cycle].kind, is_known)
        for name, cycle in (("back_after_1", 1), ("distance", 2), ("distance_after_1", 3)):
            beat = beats[cycle]
            value = beat.back if cycle == 1 else beat.back + beat.unit
            self.holds(name, self._totals(name), value, valid[cycle] & beat.error)
        for suffix, cycle in (("", 3), ("_after_1", 4)):
            beat, before, is_first = beats[cycle], self.totals[cycle - 2], self._first(cycle)
            loads = beat.error & (is_first | ~before.ill_formed)
            known = self._is_since_reset(cycle)
            self.holds("loads", self._totals("loads" + suffix), valid[cycle] & loads, known)
            self.holds("clears", self._totals("clears" + suffix), valid[cycle] & is_first & ~beat.error, known)

    def _claim_half(self, name: str, number: str, cycle: int) -> None:
        """The halves of a number: the lower one of so many cycles ago, with a carry, and the upper one."""
        low, high = self.totals[cycle][number], self.totals[cycle + 1][number]
        register, begun = self._totals(f"{name}_low"), self.begun[cycle]
        self.holds(f"{name} low", register[:_HALF], low[:_HALF], begun)
        self.holds(
            f"{name} high", self._totals(f"{name}_high")[: len(high) - _HALF], high[_HALF:], self.begun[cycle + 1]
        )

    def _claim_numbers(self) -> None:
        """The registers of the totals."""
        now, one, two = self.totals
        for name, cycle, amount in (("units", 0, "unit"), ("errors", 1, "error"), ("code_points", 1, "item")):
            self._claim_half(name, name, cycle)
            beat, is_first, before = self.beats[cycle + 3], self._first(cycle + 3), self.totals[cycle + 1][name]
            carry = (before[:_HALF] + beat[amount])[_HALF]
            adds = self.valid[cycle + 3] & ~is_first
            self.holds(f"{name} carry", self._totals(f"{name}_low")[_HALF], carry, adds)
            over = self._totals(f"{name}_high")[-1]
            self.holds(f"{name} over", over, self.totals[cycle + 1][f"many_{name}"], self.begun[cycle + 1])
        self._claim_half("offset", "offset", 1)
        distance = self.beats[4].back + self.beats[4].unit
        loads = self.valid[4] & self.beats[4].error & (self._first(4) | ~two.ill_formed)
        clears = self.valid[4] & self._first(4) & ~self.beats[4].error
        borrow = one.units[:_HALF] < distance
        self.holds("offset borrow", self._totals("offset_low")[_HALF], borrow & loads, loads | clears)
        self.holds("ill_formed", self._totals("ill_formed"), now.ill_formed, self.begun[0])
        self.holds("well_formed", self._totals("well_formed_after_1"), ~one.ill_formed, self.begun[1])
        self.holds("well_formed", self._totals("well_formed_after_2"), ~two.ill_formed, self.begun[2])
        self.holds("kind", self._totals("kind"), one.kind, self.begun[1])
        self.holds("kind", self._totals("first_kind_after_1"), two.kind, self.begun[2])
        units_high = Cat(two.units[_HALF:], two.many_units)
        self.holds("units high", self._totals("high_after_1"), units_high, self.begun[2])
        self.holds("units low", self._totals("low_after_1"), one.units[:_HALF], self.begun[1])
        for name in ("errors", "code_points", "offset", "units"):
            self.holds(f"{name} low", self._totals(f"low_{name}_after_1"), two[name][:_HALF], self.begun[2])

    def _claim_report(self, m: Module) -> None:
        """The report of a packet, and the FIFO."""
        known, beat = self.totals[2], self.core.output.payload.shape()
        stored: Any = Signal(beat, name="report_beat", reset_less=True)
        is_reported, highest = Signal(name="is_reported"), Const(-1, COUNTER_WIDTH)
        report = stored.symbols[0]
        m.d.sync += [is_reported.eq(self.valid[5] & self.beats[5].last), stored.keep.eq(1), stored.last.eq(1)]
        m.d.sync += [report.well_formed.eq(~known.ill_formed), Value.cast(report.kind).eq(known.kind)]
        for name, many in (
            ("units", known.many_units | known.units[-1]),
            ("errors", known.many_errors),
            ("code_points", known.many_code_points),
            ("offset", known.offset[COUNTER_WIDTH:].any()),
        ):
            m.d.sync += report[name].eq(Mux(many, highest, known[name]))
        self.holds("report", self._totals("packet_report"), Value.cast(report), is_reported)
        self.holds("is_reported", self._totals("ends")[5], is_reported)
        behind = [there & beat.last for there, beat in zip(self.valid[1:], self.beats[1:], strict=True)]
        self.in_flight = [*self.coming, *behind, is_reported]
        # Only the last beat of a packet becomes a report.
        returned = self.accepted & ~self.core.input.payload.last
        self.claim_fifo(m, self.core.fifo, stored, is_reported, returned)
