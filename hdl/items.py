# SPDX-License-Identifier: BSD-2-Clause
"""Items of whole beats: the window, and the beat that waits until the next one is known."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.decoder.window_logic import Source
from utf8fpga.hdl.payloads import Kind
from utf8fpga.hdl.registers import delayed, delayed_by
from utf8fpga.hdl.window import STEPS, Window, any_of
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable

LANES_PER_ENABLE = 8
"""Lanes whose registers share a duplicate of their enable."""


class Items(wiring.Component):
    """Beats of code units in, beats of items out. An item is in the lane of its last unit.

    Whether a unit is the last one of an item depends on the next unit. So a beat waits for the next one, unless its
    packet ends or its last unit leaves no sequence open. Every beat is output once, in order, also one without an item,
    whose units are all of one sequence.

    Throughput: a beat per cycle; it never pauses. Latency: `latency` cycles from the beat itself, or one less from the
    next one, if it has to wait for that. A reset discards the beats inside, and the next beat begins a packet.

    What no one reads of the outputs vanishes in synthesis. Where words may come late, the units wait in their place:
    in UTF-8 these have half the bits of a code point.

    Args:
        table: the encoding form.
        lanes: units per beat.
        cuts: the register stages of the `Window`.
        late: cycles by which `errors`, `words` and `kinds` come after the other outputs.

    Attributes:
        word_sources: the names of what a word is made of.
        waiting_names: the names of what waits until late words are made; `completed` follows from `errors`.

    Ports:
        units, keep, last, valid: a beat, the unit of lane 0 in the low bits. Null beats, with neither a unit nor
            `last`, must not be valid; only a beat with `last` may have fewer units than lanes, in the first lanes.
        leaves: `valid` of the output: there is a beat; all other outputs are undefined without it, those that are late
            if there was none `late` cycles before.
        ends: `last` of the output: its packet ends.
        present: the lane has a unit; `keep` of the beat of units.
        items: the lane has an item; `keep` of the beat of items.
        errors: the item is ill-formed.
        words: the code point of the item, or U+FFFD; undefined in a lane without an item.
        heads: the lane has the third unit of a sequence of four, which the next unit completes.
        payloads: the payload of the sequence, up to and with this unit; undefined where `errors` is 1. Where `heads` is
            1, only its low bits are defined, as many as a sequence of three has.
        kinds: the cause of the error; defined only where `errors` is 1.
        backs: the units of the ill-formed item in front of its last one; defined only where `errors` is 1.

    Raises:
        TableError: see `WindowControl.of`.
    """

    def __init__(self, table: EncodingTable, lanes: int, cuts: Collection[str], late: int = 0) -> None:
        # With many lanes a net to all registers that hold a beat is too long.
        loads = range(0, lanes, LANES_PER_ENABLE) if set(cuts) == set(STEPS) else ()
        self.table, self.lanes, self.window = table, lanes, Window(table, lanes, cuts, loads)
        self.bits, self.late = self.window.control.code_point_bits, late
        self.word_sources = ("units", "units_before", "completed", *(f"longer_{n}" for n in self.window.bounds))
        self.waiting_names = ("errors", "kinds", *(name for name in self.word_sources if name != "completed"))
        self.latency = self.window.latency + 2
        beat = {"units": In(table.unit_width * lanes), "keep": In(lanes), "last": In(1), "valid": In(1)}
        flags = dict.fromkeys(("present", "items", "errors", "heads"), Out(lanes))
        shapes = {"words": self.bits, "payloads": self.bits, "kinds": Kind, "backs": (table.longest - 2).bit_length()}
        of_items = {name: Out(data.ArrayLayout(shape, lanes)) for name, shape in shapes.items()}
        self._made = {"ends": Out(1)} | flags | of_items
        super().__init__(beat | {"leaves": Out(1)} | self._made)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.window = w = self.window
        m.d.comb += [getattr(w, f"in_{name}").eq(getattr(self, name)) for name in ("units", "keep", "last", "valid")]
        held = self._hold(m)
        waiting, leaves = Signal(name="waiting"), Signal(name="is_leaving")
        # If the beat is not settled, it leaves in the cycle in which its successor is at the window's output: `valid`
        # of that is the only thing that releases it.
        m.d.sync += waiting.eq(w.valid | (waiting & ~held["settled"]))
        m.d.sync += leaves.eq(waiting & (w.valid | held["settled"]))
        # The last lane learns from the next beat whether that continues its sequence; none does behind a packet.
        goes_on = Cat(Const(0, self.lanes - 1), w.continued[0] & w.valid)
        items = held["items"] & ~goes_on
        outputs: dict[str, Value] = {
            **held,
            "items": items,
            "errors": held["errors"] & ~goes_on,
            "heads": held["heads"] & ~items,
            "kinds": self._kinds(held),
        }
        if self.late:
            outputs |= {name: delayed_by(m, self.late, outputs[name], f"late_{name}") for name in self.waiting_names}
            outputs["completed"] = ~outputs["errors"]
            outputs["words"] = Cat(self.word(outputs, lane) for lane in range(self.lanes))
        for name in self._made:
            m.d.comb += Value.cast(getattr(self, name)).eq(delayed(m, outputs[name], f"out_{name}"))
        m.d.comb += self.leaves.eq(leaves)
        return m

    def _hold(self, m: Module) -> dict[str, Signal]:
        """Registers for what the window finds of a beat, which hold it until the next beat is there."""
        w, lanes = self.window, range(self.lanes)
        unit = [w.units.word_select(lane, self.table.unit_width) for lane in lanes]
        items = w.keep & ~Cat(w.continued[1:], Const(0, 1))
        known = {name: getattr(w, name) for name in self.word_sources}
        found: dict[str, Value | list[Value]] = {
            "ends": w.last,
            "settled": w.last | ~w.is_open[-1],
            "present": w.keep,
            "items": items,
            "errors": items & ~w.completed,
            "words": [self.word(known, lane) for lane in lanes],
            "heads": w.head,
            "payloads": [self._payload(known, lane) for lane in lanes],
            "backs": [self._back(lane) for lane in lanes],
            "is_open": w.is_open,
            "trail": w.keep & Cat(w.control.is_trail(each) for each in unit),
            "kind": [w.control.kind_of_unit(each) for each in unit],
        }
        if self.late:
            # In place of the words, which no one reads.
            found |= {**known, "units": unit, "units_before": [w.units_before]}
        sizes = {name: sum(map(len, values)) for name, values in found.items()}
        held = {name: Signal(size, name=f"held_{name}", reset_less=True) for name, size in sizes.items()}
        # Each duplicate of the enable is for a group of lanes; what is not of lanes is with the first group. Of what is
        # found only the group's values are read: for a part of a whole vector, Amaranth would write all of it again.
        group = LANES_PER_ENABLE if w.loads else self.lanes
        for number, load in enumerate(w.loads or [w.valid]):
            first = number * group
            with m.If(load):
                for name, values in found.items():
                    part, start = Cat(values[first : first + group]), first * len(values[0])
                    m.d.sync += held[name][start : start + len(part)].eq(part)
        return held

    def _kinds(self, held: dict[str, Signal]) -> Value:
        """The cause of an error in each lane.

        In a lane with an error the next unit did not continue the sequence. If the next unit is a trailing one, this
        unit is a lead that does not allow it, since behind a second unit any trailing unit is allowed.
        """
        w = self.window
        # After the last lane comes the first unit of the next beat, if it is of the same packet.
        keep = Cat(held["present"], w.valid & w.keep[0] & ~held["ends"])
        trail = Cat(held["trail"], w.control.is_trail(w.units[: self.table.unit_width]))
        kinds = []
        for lane in range(self.lanes):
            cut_off = Mux(keep[lane + 1], Kind.TRUNCATED, Kind.INCOMPLETE)
            own_kind = held["kind"].word_select(lane, Shape.cast(Kind).width)
            is_own = ~held["is_open"][lane] | (keep[lane + 1] & trail[lane + 1])
            kinds.append(Mux(is_own, own_kind, cut_off))
        return Cat(kinds)

    def _back(self, lane: int) -> Value:
        """The units of an ill-formed item in front of its last one; it has at most one unit less than the longest."""
        places = {number - 1: getattr(self.window, f"number_{number}")[lane] for number in range(2, self.table.longest)}
        bits = range(self.backs.shape().elem_shape)
        return Cat(any_of(place for back, place in places.items() if back >> bit & 1) for bit in bits)

    def word(self, known: dict[str, Value], lane: int) -> Value:
        """The code point of a complete sequence, or U+FFFD; a function of what is `known`, and of nothing else.

        It is no multiplexer: synthesis would make a reset of the constant, and the net of a reset is long.
        """
        completed = known["completed"][lane].replicate(self.bits)
        return (self._payload(known, lane) & completed) | (Const(REPLACEMENT_CHARACTER, self.bits) & ~completed)

    def _payload(self, known: dict[str, Value], lane: int) -> Value:
        """The payload of a sequence, as of a complete one with the units up to here."""
        sources = self.window.control.sources

        def origin(bit: int) -> list[tuple[object, ...]]:
            """The same for neighbouring bits that come from neighbouring bits of the same units; a sum is alone."""
            return [(each.back, each.place - bit, each.above, each.up_to, each.sum and bit) for each in sources(bit)]

        parts = []
        for _, group in groupby(range(self.bits), origin):
            bits = list(group)
            found = [self._part(known, source, lane, len(bits)) for source in sources(bits[0])]
            parts.append(any_of(found) if found else Const(0, len(bits)))
        return Cat(parts)

    def _part(self, known: dict[str, Value], source: Source, lane: int, count: int) -> Value:
        """Neighbouring bits of a unit, if the sequence has as many units as the source is for."""
        units = Cat(known["units_before"], known["units"])
        unit = units.word_select(lane + self.window.reach - source.back, self.table.unit_width)
        part = unit[source.place : source.place + count] if source.sum is None else source.sum(unit)
        for bound, more in ((source.above, True), (source.up_to, False)):
            if 0 < bound < self.table.longest:
                longer = known[f"longer_{bound}"][lane]
                part &= (longer if more else ~longer).replicate(count)
        return part
