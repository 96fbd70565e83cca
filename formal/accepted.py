# SPDX-License-Identifier: BSD-2-Clause
"""The beats that a core has accepted, as the specification of a window keeps them, and what its registers hold.

The window never pauses. So each of its registers is a function of a beat that was accepted so many cycles ago, and of
the units before it. That function is the window's own logic over all these units at once, without registers. It could
be any: one that does not fit only makes the proof fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from utf8fpga.formal.claims import Claims
from utf8fpga.formal.insides import elaborated, make_transparent, registers_in
from utf8fpga.hdl.items import Items
from utf8fpga.hdl.window import STEPS, Window
from utf8fpga.model import START, EncodingTable, ErrorKind
from utf8fpga.sim.reference import Place, Walk, item_layout


class Slot:
    """The expected item in the lane of one unit, as a function of the units around it.

    In a self-synchronising table the state after `longest` - 1 units of one text, and the units of the sequence
    that is open then, do not depend on the state before these units. So no earlier units are needed.

    Args:
        before: the units before, the oldest first, and whether each is in this text; at least `longest` - 1.
        unit: the unit of the lane, and whether there is one.
        after: the next unit, and whether there is one in this text; the text ends if there is none.

    Attributes:
        valid: there is an item.
        word: the item, of `item_layout`.
        open: the unit is in a sequence that needs more units.
        count: the units of that sequence up to this one.
    """

    def __init__(
        self,
        m: Module,
        table: EncodingTable,
        before: Sequence[tuple[Value, Value]],
        unit: tuple[Value, Value],
        after: tuple[Value, Value],
    ) -> None:
        walk = Walk(m, table)
        nothing = [Const(0, table.unit_width)] * (table.longest - 1)
        place = Place(Const(START, walk.states), Const(0, range(table.longest)), nothing)
        for each in before:
            place, _, _ = walk.unit(place, *each)
        place, _, own = walk.unit(place, *unit)
        walk.find_code_point(own)
        _, broken, _ = walk.unit(place, *after)
        self.open, self.count = Signal(), place.count
        self.valid, self.word = Signal(), Signal(item_layout(table))
        m.d.comb += self.open.eq(unit[1] & (place.state != START))
        for item in (own, broken, walk.error(place, ErrorKind.INCOMPLETE, self.open & ~after[1])):
            with m.If(unit[1] & item.valid):
                m.d.comb += [self.valid.eq(1), self.word.eq(item.word)]


class Beat:
    """A beat as it was accepted, with the units before it.

    Args:
        name: the prefix of the names of its signals.

    Attributes:
        past: the number of the units before it.
        before, keep_before: these, the oldest first, and whether they are of the same packet.
        here, keep: the units in its lanes, and whether they are present.
        last: the packet ends with it.
        valid: there is a beat.
    """

    def __init__(self, table: EncodingTable, lanes: int, name: str) -> None:
        self.past, self.lanes, self.width = table.longest, lanes, table.unit_width
        self.before = Signal(self.width * self.past, name=f"{name}_before", reset_less=True)
        self.keep_before = Signal(self.past, name=f"{name}_keep_before", reset_less=True)
        self.here = Signal(self.width * lanes, name=f"{name}_here", reset_less=True)
        self.keep = Signal(lanes, name=f"{name}_keep", reset_less=True)
        self.last = Signal(name=f"{name}_last", reset_less=True)
        self.valid = Signal(name=f"{name}_valid")

    @property
    def own(self) -> list[Signal]:
        """What it consists of by itself."""
        return [self.here, self.keep, self.last]

    def units(self) -> list[tuple[Value, Value]]:
        """The units before it, which are 0 if they are of another packet, and its own; each with whether it counts."""
        before = self.before & Cat(keep.replicate(self.width) for keep in self.keep_before)
        units, keep = Cat(before, self.here), Cat(self.keep_before, self.keep)
        return [(units.word_select(at, self.width), keep[at]) for at in range(len(keep))]

    def passed(self) -> list[Value]:
        """The units before the next beat, and whether they are of its packet."""
        keep = Cat(self.keep_before, self.keep)[-self.past :] & ~self.last.replicate(self.past)
        return [Cat(self.before, self.here)[-len(self.before) :], keep]

    def is_possible(self) -> Value:
        """The units that are present are contiguous, and all are unless the packet ends."""
        before, keep = self.keep_before, self.keep
        return ((before << 1 & ~before)[: self.past] == 0) & ((keep & ~(keep << 1 | 1)) == 0) & (self.last | keep[-1])


class Accepted:
    """The beats that a core with a window has accepted.

    Args:
        harness: where claims are made.
        window: the window of the core.
        path: the path of the window in the core.

    Attributes:
        beats: the beat at the input, and that of each stage of the window.
        held: the last one that passed the window. It is `valid` while it waits for the next one.
        loaded: there is one since the last reset.
    """

    def __init__(self, harness: Claims, m: Module, table: EncodingTable, window: Window, path: str) -> None:
        self._harness, self._m, self._table, self._path, self._window = harness, m, table, path, window
        self.beats = [Beat(table, window.lanes, f"beat_{stage}") for stage in range(window.latency + 1)]
        self.held, self.loaded = Beat(table, window.lanes, "held"), Signal()
        self._cuts = [step for step in STEPS if step in window.cuts]
        self._count = 0

    def follow(self, units: Value, keep: Value, last: Value, accepted: Value) -> None:
        """Follow the beats, of which one is at the input, and claim what the registers of the window hold."""
        m, first, newest, held = self._m, self.beats[0], self.beats[-1], self.held
        m.d.comb += [first.here.eq(units), first.keep.eq(keep), first.last.eq(last), first.valid.eq(accepted)]
        for earlier, beat in zip(self.beats, self.beats[1:], strict=False):
            m.d.sync += [own.eq(given) for own, given in zip(beat.own, earlier.own, strict=True)]
            m.d.sync += beat.valid.eq(earlier.valid)
            self._harness.claim("a beat is possible", ~beat.valid | beat.is_possible())
        with m.If(newest.valid):
            m.d.sync += [own.eq(given) for own, given in zip(held.own, newest.own, strict=True)]
            m.d.sync += [held.before.eq(newest.before), held.keep_before.eq(newest.keep_before), self.loaded.eq(1)]
        self._harness.claim("a held beat is possible", Mux(self.loaded, held.is_possible(), ~held.valid))
        # The units before a beat follow from the beats that are ahead of it.
        before, keep_before = held.passed()
        keep_before &= self.loaded.replicate(held.past)
        for beat in reversed(self.beats):
            m.d.comb += [beat.before.eq(before), beat.keep_before.eq(keep_before)]
            passed = zip(beat.passed(), (beat.before, beat.keep_before), strict=True)
            before, keep_before = (Mux(beat.valid, after, same) for after, same in passed)
        self._claim_stages()

    def _claim_stages(self) -> None:
        """What the registers of the stages hold."""
        path = f"{self._path}window."
        for number, beat in enumerate(self.beats):
            units = beat.units()
            past = self._flat(self._flat_window(beat.past), units[: beat.past], Const(0, 1))
            here = self._flat(self._flat_window(len(units)), units, beat.last) if number else {}
            for name, register in self._registers(path).items():
                if name.endswith("_before"):
                    if self._stage_of(name) == number:
                        self._harness.holds(name, register, past[name])
                elif name.startswith("load_"):
                    if beat is self.beats[-1]:
                        self._harness.holds(name, register, beat.valid)
                elif name != "units_before_beat" and 1 + self._cuts.index(name.partition("_")[0]) == number:
                    self._claim_stage(name, register, beat, here)
        self._claim_before("units_before_beat", self._harness.inside[path + "units_before_beat"], self.beats[-1])

    def _claim_before(self, name: str, register: Signal, beat: Beat) -> None:
        """What is known of the units before a beat."""
        units, reach = beat.units(), self._window.reach
        for number, (unit, keep) in enumerate(units[beat.past - reach : beat.past]):
            self._harness.holds(name, register.word_select(number, beat.width), unit, keep & self.loaded)

    def _claim_stage(self, name: str, register: Signal, beat: Beat, flat: dict[str, Signal]) -> None:
        if name.endswith("_valid"):
            self._harness.holds(name, register, beat.valid)
        else:
            self._harness.holds(name, register, of_lanes(flat[name], beat), beat.valid)

    def _stage_of(self, name: str) -> int:
        """The stage of a register that holds something of the last lane of the beat before."""
        steps = {"lead": "pairs", "second": "thirds"}
        step = steps.get(name.partition("_")[0], "ends")
        return sum(STEPS.index(cut) < STEPS.index(step) for cut in self._cuts)

    def claim_held(self, late: int) -> None:
        """What the registers of `Items` hold of a beat that waits, and whose words come `late`."""
        units = self.held.units()
        # The registers of `Items` are behind the window, so that of its window needs none.
        flat = self._flat(Items(self._table, len(units), (), late), units, self.held.last)
        for name, register in self._registers(self._path).items():
            if name == "held_units_before":
                self._claim_before(name, register, self.held)
            elif name.startswith("held_") and name != "held_payloads":
                # The payload is undefined in some lanes, and only wide transcoders read it.
                self._harness.holds(name, register, of_lanes(flat[name], self.held), self.held.valid)

    def _registers(self, path: str) -> dict[str, Signal]:
        """The registers of a component by name."""
        found = {name.removeprefix(path): each for name, each in self._harness.inside.items() if name.startswith(path)}
        return {name: register for name, register in found.items() if "." not in name}

    def _flat_window(self, units: int) -> Window:
        return Window(self._table, units, self._window.cuts)

    def _flat(self, flat: Any, units: Sequence[tuple[Value, Value]], last: Value) -> dict[str, Signal]:
        """A component for all units at once, with transparent registers: these by name."""
        circuit = elaborated(flat)
        found = registers_in(circuit)
        make_transparent(circuit, lambda name: name.startswith((*STEPS, "held")) or name.endswith("_before"))
        self._m.submodules[f"flat_{self._count}"] = circuit
        self._count += 1
        prefix = "in_" if isinstance(flat, Window) else ""
        given = (Cat(unit for unit, _ in units), Cat(keep for _, keep in units), last, Const(1, 1))
        names = zip(("units", "keep", "last", "valid"), given, strict=True)
        self._m.d.comb += [getattr(flat, prefix + name).eq(value) for name, value in names]
        return found

    def slots(self) -> list[Slot]:
        """The items of the beat that is held, by the DFA."""
        held, newest, longest = self.held, self.beats[-1], self._table.longest
        following = newest.here[: newest.width], newest.valid & newest.keep[0] & ~held.last
        units = [*self._named(held.units()), following]
        return [
            Slot(self._m, self._table, units[place - longest + 1 : place], units[place], units[place + 1])
            for place in range(held.past, held.past + held.lanes)
        ]

    def _named(self, units: Sequence[tuple[Value, Value]]) -> list[tuple[Signal, Signal]]:
        """Signals for units that are used many times."""
        found = [(Signal(len(unit)), Signal()) for unit, _ in units]
        for (name, here), (unit, keep) in zip(found, units, strict=True):
            self._m.d.comb += [name.eq(unit), here.eq(keep)]
        return found


def of_lanes(value: Value, beat: Beat) -> Value:
    """Of a vector over the units before a beat and its lanes, the part of its lanes; or a single bit."""
    each = len(value) // (beat.past + beat.lanes)
    return value[each * beat.past :]
