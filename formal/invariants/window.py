# SPDX-License-Identifier: BSD-2-Clause
"""The first half of the proof of a parallel decoder: what it puts into its buffer is right.

Each register before the buffer is said to be a function of the units that were taken in, as they came: this is
the invariant. It is proved by induction, a clock at a time and lane by lane, so the width of a decoder hardly
matters: a lane is asked about with its neighbours, the others may hold anything. What is written to the buffer
is compared with a `Slot`, which shares nothing with the decoder.

The functions of the invariant are the decoder's own, without registers. They could be any: one that does not
fit only makes the proof fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.helpers import keep_of
from utf8fpga.formal.reference_dfa import Slot
from utf8fpga.hdl import ParallelDecoder
from utf8fpga.hdl.decoder.parallel import Merged, Rows
from utf8fpga.hdl.decoder.window import CUTS, Beat, WindowControl, build_window
from utf8fpga.hdl.payloads import items_layout, offers
from utf8fpga.model import EncodingTable

__all__ = ["DRAINED", "WindowProof"]

DRAINED = 2
"""Clocks before the end of a late reset from which on nothing is written to a memory any more."""

ALL = "all"
"""The tag of what is said of a beat as a whole."""


@dataclass
class _Context:
    """A beat as it came, and the units before it.

    Attributes:
        units: first those before, the oldest first, then those of the beat.
        present: of those before, that they are of the same text; of those of the beat, that they are there.
        last: the text ends after the beat.
        valid: there is a beat.
        past: how many of the units are before.
    """

    units: list[Value]
    present: list[Value]
    last: Value
    valid: Value
    past: int

    def following(self, m: Module, name: str, moves: Value, loads: Value | None = None) -> _Context:
        """The same a clock later.

        Args:
            m: where the logic goes.
            name: of the registers.
            moves: otherwise all stays.
            loads: otherwise all but `valid` stays.
        """
        valid = Signal(name=f"{name}_valid")
        kept: list[Signal] = []
        size = len(self.units)
        for number, value in enumerate([*self.units, *self.present, self.last]):
            register = Signal(len(value), name=f"{name}_{number}", reset_less=not size <= number < 2 * size)
            with m.If(moves & (Const(1) if loads is None else loads)):
                m.d.sync += register.eq(value)
            kept.append(register)
        with m.If(moves):
            m.d.sync += valid.eq(self.valid)
        return _Context(list(kept[:size]), list(kept[size : 2 * size]), kept[-1], valid, self.past)

    @property
    def passed(self) -> list[tuple[Value, Value]]:
        """The units before the next beat, and whether they are of its text."""
        # A beat that is not full ends its text, and of that nothing is asked any more.
        pairs = zip(self.units[-self.past :], self.present[-self.past :], strict=True)
        return [(unit, present & ~self.last) for unit, present in pairs]

    def possible(self, there: Value) -> list[Value]:
        """Units of the text are the last ones before and, if the beat is `there`, the first ones of it, or all."""
        before, here = self.present[: self.past], self.present[self.past :]
        past = [~older | newer for older, newer in pairwise(before)]
        return [*past, *(~there | ~new | old for old, new in pairwise(here)), ~there | self.last | here[-1]]

    def slot(self, m: Module, table: EncodingTable, lane: int, after: tuple[Value, Value] | None = None) -> Slot:
        """What belongs in a lane; `after` is the unit after the last lane, if there is one in this text."""
        place = self.past + lane
        before = [(self.units[n], self.present[n]) for n in range(place - table.longest + 1, place)]
        if after is None:
            after = self.units[place + 1], self.present[place + 1]
        return Slot(m, table, before, (self.units[place], self.present[place]), after)

    def flat(self, m: Module, control: WindowControl, *, spans: bool) -> Beat:
        """The window over all the units, without registers."""
        starts = [Const(0, 1), *(~self.present[n - 1] & self.present[n] for n in range(1, len(self.present)))]
        starts[self.past + 1 :] = [Const(0, 1)] * (len(starts) - self.past - 1)
        # A unit that starts its text continues nothing, as one that is not there.
        keep = [present & ~start for present, start in zip(self.present, starts, strict=True)]
        values: dict[str, Sequence[Value]] = {"unit": self.units, "keep": keep, "first": [Const(0, 1)]}
        beat = _Flat(m, len(self.units), Const(1), values, self.last)
        build_window(control, beat, frozenset(), spans=spans)
        beat.values["keep"] = self.present
        return beat


class _Flat(Beat):
    """A beat with nothing before it."""

    def at(self, name: str, place: int) -> Value:
        return self.values[name][place] if place >= 0 else Const(0, len(self.values[name][0]))


class _Front(Elaboratable):
    """A decoder up to its buffer, beside the units as they came; `invariant` says how they go together.

    Attributes:
        offer, fresh: whether a beat comes, and which.
        run: of a decoder with a buffer in registers: everything moves on.
        written: something is written to a memory.
        invariant: per tag what always holds; a tag is a lane, of which negative ones are of beats before.
    """

    def __init__(self, decoder: ParallelDecoder, right: EncodingTable) -> None:
        self.decoder, self.right = decoder, right
        self.offer, self.run = Signal(), Signal()
        self.fresh = Signal(len(Value.cast(decoder.units.payload)))
        self.written = Signal()
        self.invariant: dict[Any, Signal] = {}
        self._said: dict[Any, list[Value]] = {}
        self._past = 2 * decoder.table.longest
        lanes = range(-self._past, decoder.lanes)
        for tag in (ALL, *lanes):
            name = f"inv_{tag}".replace("-", "m")
            self.invariant[tag] = Signal(name=name)

    @property
    def tail(self) -> int:
        """The last lane."""
        return self.decoder.lanes - 1

    def _say(self, tag: Any, *conditions: Value) -> None:
        self._said.setdefault(tag, []).extend(conditions)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        decoder = self.decoder
        self._control = WindowControl.of(decoder.table)
        units = decoder.units
        payload = Signal(units.payload.shape())
        m.d.comb += [
            Value.cast(payload).eq(self.fresh),
            units.payload.eq(payload),
            Value.cast(units.payload.keep).eq(keep_of(payload)),
        ]
        m.d.comb += units.valid.eq(self.offer)
        cuts = CUTS[decoder.pipeline]
        if decoder.buffer == "memory":
            reset = decoder.late_reset(m)
            arrives = offers(units) & ~reset.busy
            moves: Value = Const(1)
            rows = decoder.write(m, arrives, reset)
            contexts = self._contexts(m, arrives, moves, len(cuts - {"words"}))
            self._window(m, rows.beat, contexts)
            self._rows(m, rows, contexts)
            self._say(ALL, *(~value for value in reset.under_way))
            m.d.comb += self.written.eq(rows.leaves | Cat(*rows.advances).any())
        else:
            arrives, moves = offers(units), self.run
            offered = Signal()
            merged = decoder.merge(m, moves, lambda: moves, offered)
            contexts = self._contexts(m, arrives, moves, len(cuts))
            self._window(m, merged.beat, contexts)
            self._merged(m, merged, contexts, offered, moves)
        for tag, signal in self.invariant.items():
            m.d.comb += signal.eq(Cat(*self._said.get(tag, [Const(1, 1)])).all())
        return m

    def _contexts(self, m: Module, arrives: Value, moves: Value, stages: int) -> list[_Context]:
        """The beat at the input and in each row of registers, as it came."""
        units = self.decoder.units.payload
        past = [Signal(self.right.unit_width, name=f"past_{n}", reset_less=True) for n in range(self._past)]
        of_text = [Signal(name=f"past_{n}_of_text") for n in range(self._past)]
        lanes = range(self.decoder.lanes)
        context = _Context(
            [*past, *(units.units[n] for n in lanes)],
            [*of_text, *(units.keep[n] for n in lanes)],
            units.last,
            arrives,
            self._past,
        )
        with m.If(arrives & moves):
            m.d.sync += [register.eq(unit) for register, (unit, _) in zip(past, context.passed, strict=True)]
            m.d.sync += [register.eq(present) for register, (_, present) in zip(of_text, context.passed, strict=True)]
        contexts = [context]
        for stage in range(1, stages + 1):
            contexts.append(contexts[-1].following(m, f"came_{stage}", moves))
        # Whether something comes or not, the units before are in order.
        for each in contexts:
            self._say(ALL, *each.possible(each.valid))
        for earlier, later in pairwise(contexts):
            self._follow(earlier, later, later.valid)
        return contexts

    def _follow(self, context: _Context, passed: _Context, there: Value) -> None:
        """The units before a beat are those of the one that passed, if it is there, and those before that."""
        for n, (unit, present) in enumerate(passed.passed):
            # What is not of the text may be anything.
            of_text = Mux(there, present, passed.present[n])
            same = context.units[n] == Mux(there, unit, passed.units[n])
            self._say(n - self._past + self.decoder.lanes, context.present[n] == of_text, ~of_text | same)

    def _window(self, m: Module, beat: Beat, contexts: Sequence[_Context]) -> None:
        """What the registers of the window hold."""
        for stage, context in zip(beat.stages, contexts, strict=True):
            flat = context.flat(m, self._control, spans=self.decoder.kind or self.decoder.length)
            if stage.before:
                self._say(ALL, stage.valid == context.valid, ~context.valid | (stage.last == context.last))
                given = self._given(m, flat, context.last)
                for name, values in stage.values.items():
                    for lane, value in enumerate(values):
                        if name in given:
                            tag, wanted = given[name]
                            self._say(tag, ~context.valid | self._alike(flat, name, value, wanted))
                        else:
                            self._say(lane, ~context.valid | (value == flat.values[name][self._past + lane]))
            else:
                (first,) = stage.values["first"]
                self._say(ALL, first == ~context.present[self._past - 1])
            for (name, lane, beats), value in stage.history.items():
                place = lane - (beats + 1) * self.decoder.lanes
                at = self._past + place
                self._say(place, ~context.present[at] | (value == flat.values[name][at]))

    def _given(self, m: Module, flat: Beat, last: Value) -> dict[str, tuple[Any, Value]]:
        """What a buffer in registers is given: per name the tag, and the value."""
        decoder, past = self.decoder, self._past
        if decoder.buffer == "memory":
            return {}
        contents = {f"tail_{n}": (self.tail, v) for n, v in self._contents(flat).items()}
        items = {f"item_{n}": (n, decoder._inner_item(flat, past + n)) for n in range(self.tail)}
        here = [flat.at("keep", past + n) & ~flat.at("continued", past + n + 1) for n in range(self.tail)]
        settled = last | ~flat.at("open", past + self.tail)
        return {**contents, **items, "settled": (ALL, settled), "filled": (ALL, last | Cat(*here).any())}

    def _contents(self, flat: Beat) -> Mapping[str, Value]:
        return self.decoder._contents(flat, self._past + self.tail)

    def _alike(self, flat: Beat, name: str, value: Value, wanted: Value) -> Value:
        """What is kept under a name is what is wanted; without U+FFFD in it a code point only if one is completed."""
        item = name.removeprefix("item_")
        if self.decoder.replacement or not (item.isdigit() or name.endswith("code_point")):
            return value == wanted
        bits = self._control.serial.code_point_bits
        completed = flat.at("completed", self._past + (int(item) if item.isdigit() else self.tail))
        return (value[bits:] == wanted[bits:]) & (~completed | (value[:bits] == wanted[:bits]))

    # What is compared with the reference.

    def _is(self, slot: Slot, item: Value) -> Value:
        """The bits of an item are what the reference has."""
        decoder = self.decoder
        layout = items_layout(decoder.table, decoder.lanes, kind=decoder.kind, length=decoder.length)
        one = layout["items"].shape.elem_shape
        found = data.View(one, item)
        undefined = Const(0, 1) if decoder.replacement else slot.word.error
        alike = [found.error == slot.word.error, undefined | (found.code_point == slot.word.code_point)]
        if decoder.kind:
            alike.append(Value.cast(found.kind) == slot.word.kind)
        if decoder.length:
            alike.append(found.length == slot.word.length)
        return (found.keep == slot.valid) & Mux(slot.valid, Cat(*alike).all(), ~found.error)

    def _last_lane(self, m: Module, contexts: Sequence[_Context], moves: Value) -> tuple[_Context, Value, Value, Slot]:
        """The beat that waits for the one after it, the unit after it and whether there is one, and its last slot."""
        looked_at = contexts[-1]
        held = looked_at.following(m, "held", moves, looked_at.valid)
        self._follow(looked_at, held, Const(1))
        unit, keep = looked_at.units[self._past], looked_at.valid & looked_at.present[self._past] & ~held.last
        slot = held.slot(m, self.right, self.tail, (unit, keep))
        return held, unit, keep, slot

    def _waits(self, m: Module, valid: Value, moves: Value, settled: Value) -> Signal:
        """A beat waits."""
        waiting = Signal(name="waits")
        with m.If(moves):
            m.d.sync += waiting.eq(valid | (waiting & ~settled))
        return waiting

    def _rows(self, m: Module, rows: Rows, contexts: list[_Context]) -> None:
        decoder, control, spans = self.decoder, self._control, self.decoder.kind or self.decoder.length
        held, unit, keep, slot = self._last_lane(m, contexts, Const(1))
        settled = held.last | ~slot.open
        waiting = self._waits(m, contexts[-1].valid, Const(1), settled)
        flat = held.flat(m, control, spans=spans)
        expected = {**self._contents(flat), "last": held.last, "settled": settled}
        self._say(ALL, rows.waiting == waiting, *held.possible(waiting))
        for name, value in expected.items():
            self._say(self.tail, ~waiting | self._alike(flat, name, rows.held[name], value))

        # The last lane.
        leaves = Signal(name="leaves_too")
        gone = held.following(m, "gone", Const(1))
        next_unit, next_keep = Signal(len(unit), reset_less=True), Signal(reset_less=True)
        m.d.sync += leaves.eq(waiting & (contexts[-1].valid | settled))
        m.d.sync += [next_unit.eq(unit), next_keep.eq(keep)]
        slot = gone.slot(m, self.right, self.tail, (next_unit, next_keep))
        right = self._is(slot, rows.tail[:-1]) & (rows.tail[-1] == gone.last)
        self._say(ALL, rows.leaves == leaves, *gone.possible(leaves))
        self._say(self.tail, ~leaves | right)

        # The others.
        written = contexts[-1]
        if "words" in CUTS[decoder.pipeline]:
            written = written.following(m, "came_words", Const(1))
            self._say(ALL, *written.possible(written.valid))
        self._say(ALL, *(advance == written.valid for advance in rows.advances))
        for copies, context in zip(rows.passing, [*contexts[1:], written], strict=False):
            self._say(ALL, *(copy == context.valid for copy in copies))
        slots = [written.slot(m, self.right, lane) for lane in range(self.tail)]
        for lane, (own, item) in enumerate(zip(slots, rows.items, strict=True)):
            self._say(lane, ~written.valid | self._is(own, item))

    def _merged(self, m: Module, merged: Merged, contexts: list[_Context], offered: Signal, moves: Value) -> None:
        held, unit, keep, slot = self._last_lane(m, contexts, moves)
        settled = held.last | ~slot.open
        waiting = self._waits(m, contexts[-1].valid, moves, settled)
        flat = held.flat(m, self._control, spans=self.decoder.kind or self.decoder.length)
        self._say(ALL, merged.waiting == waiting, *held.possible(waiting))
        expected = self._given(m, flat, held.last) | {"last": (ALL, held.last)}
        for name, value in merged.held.items():
            tag, wanted = expected[name]
            self._say(tag, ~waiting | self._alike(flat, name, value, wanted))

        # What is offered to the two registers at the output.
        slots = [held.slot(m, self.right, lane) for lane in range(self.tail)] + [slot]
        says = held.last | Cat(*(each.valid for each in slots)).any()
        leaves = Signal(name="leaves_too")
        gone = held.following(m, "gone", moves)
        next_unit, next_keep = Signal(len(unit), reset_less=True), Signal(reset_less=True)
        with m.If(moves):
            m.d.sync += [leaves.eq(waiting & (contexts[-1].valid | settled) & says)]
            m.d.sync += [next_unit.eq(unit), next_keep.eq(keep)]
        self._say(ALL, offered == leaves, *gone.possible(leaves), ~leaves | (merged.word[-1] == gone.last))
        for lane in range(self.decoder.lanes):
            after = (next_unit, next_keep) if lane == self.tail else None
            own = gone.slot(m, self.right, lane, after)
            item = merged.word[lane * merged.width : (lane + 1) * merged.width]
            self._say(lane, ~leaves | self._is(own, item))


class WindowProof(Elaboratable):
    """The questions whose answers are the first half of the proof, each a bit that must stay 0.

    Args:
        decoder: as it is built, and not part of anything else.
        right: what it is compared with.

    Attributes:
        tags: what there is a question about.
        frames: the clocks to look at for each kind of question.
        step: per tag, whether the invariant fails a clock after it held of all that the tag is near.
        reset: per tag, whether it fails as soon as a reset is over, whatever was in the registers. The first also
            fails if anything is written to a memory less than `DRAINED` clocks before.
        start: per tag, whether it fails with the initial register values.
    """

    def __init__(self, decoder: ParallelDecoder, right: EncodingTable) -> None:
        self._front = _Front(decoder, right)
        self.tags = list(self._front.invariant)
        self.frames = {"step": 2, "reset": decoder.resetting + 2, "start": 1}
        self.clk, self.rst = Signal(name="clk"), Signal(name="rst")
        self.offer, self.run = Signal(name="offer"), Signal(name="run")
        self.fresh = Signal.like(self._front.fresh, name="fresh")
        self.step, self.reset, self.start = (Signal(len(self.tags), name=name) for name in self.frames)

    @property
    def ports(self) -> list[Signal]:
        """The ports of the top module."""
        return [self.clk, self.rst, self.offer, self.run, self.fresh, self.step, self.reset, self.start]

    def near(self, tag: Any) -> list[Any]:
        """What of the clock before is looked at for a tag."""
        front = self._front
        lanes, reach = front.decoder.lanes, front.decoder.table.longest
        if tag == ALL:
            wanted = {*range(-reach, min(reach, lanes)), *range(lanes - reach, lanes)}
        else:
            wanted = {centre + n for centre in (tag, *([0] if tag == front.tail else [])) for n in range(-reach, 2)}
        # A unit before was in a lane, or one before already.
        wanted |= {earlier for n in wanted if n < 0 for earlier in (n % lanes, n + lanes)}
        return [ALL, *(near for near in self.tags if near in wanted)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain("sync")
        m.submodules.dut = front = self._front
        late = self.frames["reset"] - 1
        frame = Signal(range(late + 2), reset_less=True)
        first = frame == 0
        held = {tag: Signal(name=f"held_{tag}".replace("-", "m"), reset_less=True) for tag in self.tags}
        was_reset = Signal(reset_less=True)
        m.d.comb += [
            domain.clk.eq(self.clk),
            domain.rst.eq(self.rst & first),
            front.offer.eq(self.offer),
            front.run.eq(self.run),
            front.fresh.eq(self.fresh),
        ]
        m.d.sync += frame.eq(Mux(frame > late, frame, frame + 1))
        with m.If(first):
            m.d.sync += [was_reset.eq(self.rst), *(held[tag].eq(front.invariant[tag] & ~self.rst) for tag in self.tags)]
        for n, tag in enumerate(self.tags):
            before = Cat(*(held[near] for near in self.near(tag))).all()
            fails = ~front.invariant[tag]
            drains = (frame > late - DRAINED) & (frame < late) & front.written & Const(tag == ALL, 1)
            m.d.comb += [
                self.step[n].eq((frame == 1) & before & fails),
                self.reset[n].eq(was_reset & (((frame == late) & fails) | drains)),
                self.start[n].eq(first & fails),
            ]
        return m
