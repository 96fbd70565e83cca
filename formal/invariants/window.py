# SPDX-License-Identifier: BSD-2-Clause
"""The first half of the proof of a parallel decoder: the items that its window outputs are correct.

The invariant says of each register of the window which function of the accepted units it is. It is proved by
induction, one cycle at a time and lane by lane, so its cost hardly depends on the width of a decoder: a question
concerns a lane with its neighbours, and the others are arbitrary. The output of the window is compared with a `Slot`,
which has no logic in common with the decoder.

The functions of the invariant are those of the window, without registers. They could be any: one that does not fit
only makes the proof fail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.helpers import keep_of
from utf8fpga.formal.reference_dfa import Slot
from utf8fpga.formal.top import Top
from utf8fpga.hdl import ParallelDecoder
from utf8fpga.hdl.beats import is_effective
from utf8fpga.hdl.decoder.pipeline import slots_of
from utf8fpga.hdl.decoder.window import BeatWindow, ItemWindow, RowWindow
from utf8fpga.hdl.decoder.window_logic import Lanes, Stage, Window
from utf8fpga.hdl.fan_out import LateReset
from utf8fpga.hdl.memory_buffer import RowBuffer
from utf8fpga.hdl.pipeline import Pipeline
from utf8fpga.model import EncodingTable

ALL = "all"
"""The tag of the conditions on a beat as a whole."""


@dataclass
class _Context:
    """A beat as it was accepted, and the units before it.

    Attributes:
        units: first those before, the oldest first, then those of the beat.
        present: for those before, whether they are of the same packet; for those of the beat, whether they are present.
    """

    units: list[Value]
    present: list[Value]
    last: Value
    valid: Value
    past: int

    def following(self, m: Module, name: str, moves: Value, loads: Value | None = None) -> _Context:
        """The same one cycle later, if `moves` is asserted; all but `valid` only if `loads` is, too."""
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
        """The units before the next beat, and whether they are of its packet."""
        # A beat that is not full ends its packet, whose units do not matter any more.
        pairs = zip(self.units[-self.past :], self.present[-self.past :], strict=True)
        return [(unit, present & ~self.last) for unit, present in pairs]

    def possible(self, there: Value) -> list[Value]:
        """Units of the packet are the last ones before and, if the beat is `there`, its first ones, or all."""
        before, here = self.present[: self.past], self.present[self.past :]
        past = [~older | newer for older, newer in pairwise(before)]
        return [*past, *(~there | ~new | old for old, new in pairwise(here)), ~there | self.last | here[-1]]

    def slot(self, m: Module, table: EncodingTable, lane: int, after: tuple[Value, Value] | None = None) -> Slot:
        """The expected item of a lane; `after` is the unit after the last lane, and whether it is of this packet."""
        place = self.past + lane
        before = [(self.units[n], self.present[n]) for n in range(place - table.longest + 1, place)]
        if after is None:
            after = self.units[place + 1], self.present[place + 1]
        return Slot(m, table, before, (self.units[place], self.present[place]), after)

    def flat(self, m: Module, window: ItemWindow) -> _Flat:
        """The logic of the window over all the units, without registers."""
        if not isinstance(window, BeatWindow):
            # Of an earlier packet nothing is left but units.
            return _Flat(m, window, self, self.present, self.present[: self.past])
        starts = [Const(0, 1), *(~self.present[n - 1] & self.present[n] for n in range(1, len(self.present)))]
        starts[self.past + 1 :] = [Const(0, 1)] * (len(starts) - self.past - 1)
        # A unit that starts its packet continues no sequence, as one that is not present.
        keep = [present & ~start for present, start in zip(self.present, starts, strict=True)]
        return _Flat(m, window, self, keep, [])


class _Flat(Window):
    """The values of a beat with no units before it.

    Args:
        m: where each value that is used becomes a signal, since Amaranth would write it out again for each use.
        context: the beat, and the units before it.
        of_packet: for the first units whether each is of this packet; all values of others but units are 0.
    """

    def __init__(
        self, m: Module, window: ItemWindow, context: _Context, present: list[Value], of_packet: list[Value]
    ) -> None:
        self._m, self._of_packet = m, of_packet
        super().__init__(
            window.control,
            Pipeline(),
            Stage("flat", Const(1), context.last),
            context.units,
            present,
            frozenset(),
            counts=window.parameters.kind,
            resets_words=window.resets_words,
        )
        self.stage.values[self.keep] = list(context.present)

    def at(self, value: Lanes, lane: int) -> Value:
        values = self.stage.values[value]
        if lane < 0:
            return Const(0, len(values[0]))
        if not isinstance(values[lane], Signal | Const):
            signal = Signal(len(values[lane]), name=f"flat_{value.name}_{lane}")
            is_cleared = lane < len(self._of_packet) and value not in (self.unit, self.keep)
            self._m.d.comb += signal.eq(Mux(self._of_packet[lane], values[lane], 0) if is_cleared else values[lane])
            values[lane] = signal
        return values[lane]


@dataclass
class _Held:
    """The beat that a window holds, as it was accepted.

    Attributes:
        after: the unit after it, and whether there is one in its packet.
        slot: the expected item of its last lane.
        settled: it does not depend on the next one.
    """

    beat: _Context
    after: tuple[Value, Value]
    slot: Slot
    waiting: Value
    settled: Value
    leaves: Value


class _Bench(Elaboratable):
    """The window of a decoder, beside the units as they were accepted; `invariant` relates the two.

    Attributes:
        offer, fresh: inputs: `valid` and the payload of the decoder's input.
        run: an input, in front of registers: all stages advance.
        written: in front of a memory: a row or a tail is valid.
        invariant: per tag what always holds; a tag is `ALL` or a lane, where negative ones are of beats before.
    """

    def __init__(self, decoder: ParallelDecoder, right: EncodingTable) -> None:
        self.decoder, self.window, self.right = decoder, decoder.window, right
        self.offer, self.run = Signal(), Signal()
        self.fresh = Signal(len(Value.cast(decoder.input.payload)))
        self.written = Signal()
        self._held: dict[Any, list[Value]] = {}
        self._past = 2 * decoder.parameters.table.longest
        lanes = range(-self._past, decoder.lanes)
        self.invariant = {tag: Signal(name=f"inv_{tag}".replace("-", "m")) for tag in (ALL, *lanes)}

    @property
    def tail(self) -> int:
        """The last lane."""
        return self.decoder.lanes - 1

    def _hold(self, tag: Any, *conditions: Value) -> None:
        """Add conditions that always hold."""
        self._held.setdefault(tag, []).extend(conditions)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.window = window = self.window
        source = window.input
        payload = Signal(source.payload.shape())
        m.d.comb += [
            Value.cast(payload).eq(self.fresh),
            source.payload.eq(payload),
            Value.cast(source.payload.keep).eq(keep_of(payload)),
        ]
        if isinstance(window, RowWindow):
            # During the late reset the other half of the proof finds the decoder not ready.
            reset, late_reset = self._late_reset(m)
            m.d.comb += [
                source.valid.eq(self.offer & ~reset.busy),
                window.late_reset.eq(late_reset),
            ]
            contexts = self._contexts(m, is_effective(source), Const(1))
            m.d.comb += self.written.eq(window.tail_valid | window.row_valid.any())
            self._rows(m, window, contexts)
            self._hold(ALL, *(~value for value in reset.active))
        else:
            m.d.comb += [source.valid.eq(self.offer), window.run.eq(self.run.replicate(len(window.run)))]
            contexts = self._contexts(m, is_effective(source), self.run)
            self._beats(m, window, contexts)
        self._stages(m, contexts)
        for tag, signal in self.invariant.items():
            m.d.comb += signal.eq(Cat(*self._held.get(tag, [Const(1, 1)])).all())
        return m

    def _late_reset(self, m: Module) -> tuple[LateReset, Value]:
        """The component that resets a window without pauses, and what the window is connected to."""
        # Only its late reset is of interest.
        m.submodules.buffer = buffer = self.decoder.item_buffer
        assert isinstance(buffer, RowBuffer)
        return buffer.reset, buffer.late_reset

    def _contexts(self, m: Module, arrives: Value, moves: Value) -> list[_Context]:
        """The beat at the input and that of each stage of the window, as they were accepted."""
        beat = self.window.input.payload
        past = [Signal(self.right.unit_width, name=f"past_{n}", reset_less=True) for n in range(self._past)]
        of_packet = [Signal(name=f"past_{n}_of_packet") for n in range(self._past)]
        lanes = range(self.decoder.lanes)
        context = _Context(
            [*past, *(beat.symbols[n] for n in lanes)],
            [*of_packet, *(beat.keep[n] for n in lanes)],
            beat.last,
            arrives,
            self._past,
        )
        with m.If(arrives & moves):
            m.d.sync += [register.eq(unit) for register, (unit, _) in zip(past, context.passed, strict=True)]
            m.d.sync += [register.eq(here) for register, (_, here) in zip(of_packet, context.passed, strict=True)]
        contexts = [context]
        for stage in range(1, self.decoder.stages.window_cycles + 1):
            contexts.append(contexts[-1].following(m, f"stage_{stage}", moves))
        # Whether or not there is a beat, the units before it are a possible history.
        for each in contexts:
            self._hold(ALL, *each.possible(each.valid))
        for earlier, later in pairwise(contexts):
            self._follow(earlier, later, later.valid)
        return contexts

    def _follow(self, context: _Context, passed: _Context, there: Value) -> None:
        """The units before a beat are those of the one that passed, if it is there, and those before that."""
        for n, (unit, present) in enumerate(passed.passed):
            # Units of an earlier packet are arbitrary.
            of_packet = Mux(there, present, passed.present[n])
            same = context.units[n] == Mux(there, unit, passed.units[n])
            self._hold(n - self._past + self.decoder.lanes, context.present[n] == of_packet, ~of_packet | same)

    def _stages(self, m: Module, contexts: Sequence[_Context]) -> None:
        """The registers of the stages of the window."""
        window = self.window.state.beat
        for number, (stage, context) in enumerate(zip(window.stages, contexts, strict=True)):
            flat = context.flat(m, self.window)
            flat_of = dict(zip(window.made, flat.made, strict=False))
            if number:
                self._hold(ALL, stage.valid == context.valid, ~context.valid | (stage.last == context.last))
                given = self._given(flat, context.last)
                for lanes, values in stage.values.items():
                    for lane, value in enumerate(values):
                        if lanes.name in given:
                            tag, wanted = given[lanes.name]
                            self._hold(tag, ~context.valid | self._alike(flat, lanes.name, value, wanted))
                        else:
                            self._hold(lane, ~context.valid | (value == flat_of[lanes][self._past + lane]))
            elif window.first is not None:
                self._hold(ALL, window.first == ~context.present[self._past - 1])
            # Units of an earlier packet are arbitrary. Without pauses nothing but units is left of it.
            for (lanes, lane, beats), value in stage.history.items():
                place = lane - (beats + 1) * self.decoder.lanes
                at = self._past + place
                is_left = lanes is window.unit or isinstance(self.window, BeatWindow)
                self._hold(place, (~context.present[at] & is_left) | (value == flat_of[lanes][at]))

    def _given(self, flat: Window, last: Value) -> dict[str, tuple[Any, Value]]:
        """What a `BeatWindow` holds of a beat: per name the tag, and the value."""
        window, past = self.window, self._past
        if not isinstance(window, BeatWindow):
            return {}
        contents = {f"tail_{n}": (self.tail, v) for n, v in self._contents(flat).items()}
        items = {f"item_{n}": (n, window.inner_item(flat, past + n)) for n in range(self.tail)}
        here = [flat.keep[past + n] & ~flat.continued[past + n + 1] for n in range(self.tail)]
        settled = last | ~flat.open[past + self.tail]
        return {**contents, **items, "settled": (ALL, settled), "filled": (ALL, last | Cat(*here).any())}

    def _contents(self, flat: Window) -> Mapping[str, Value]:
        return self.window.contents(flat, self._past + self.tail)

    # The comparison with the reference.

    def _is(self, slot: Slot, item: Value) -> Value:
        """The bits of an item are those of the reference."""
        decoder = self.decoder
        layout = slots_of(decoder.parameters)
        one = layout["slots"].shape.elem_shape
        found = data.View(one, item)
        alike = [found.error == slot.word.error, found.code_point == slot.word.code_point]
        if decoder.parameters.kind:
            alike.append(Value.cast(found.kind) == slot.word.kind)
        return (found.keep == slot.valid) & Mux(slot.valid, Cat(*alike).all(), ~found.error)

    def _hold_last(self, m: Module, contexts: Sequence[_Context], moves: Value) -> _Held:
        """What a window holds of the last beat until the next one is known."""
        compared, state = contexts[-1], self.window.state
        beat = compared.following(m, "held", moves, compared.valid)
        self._follow(compared, beat, Const(1))
        after = compared.units[self._past], compared.valid & compared.present[self._past] & ~beat.last
        slot = beat.slot(m, self.right, self.tail, after)
        settled = beat.last | ~slot.open
        waiting = Signal(name="waits")
        with m.If(moves):
            m.d.sync += waiting.eq(compared.valid | (waiting & ~settled))
        flat = beat.flat(m, self.window)
        expected = self._given(flat, beat.last) | {"last": (ALL, beat.last)}
        if not isinstance(self.window, BeatWindow):
            contents = {**self._contents(flat), "last": beat.last, "settled": settled}
            expected = {name: (self.tail, value) for name, value in contents.items()}
        self._hold(ALL, state.waiting == waiting, *beat.possible(waiting))
        for name, value in state.held.items():
            tag, wanted = expected[name]
            self._hold(tag, ~waiting | (value == wanted))
        return _Held(beat, after, slot, waiting, settled, waiting & (compared.valid | settled))

    def _gone(
        self, m: Module, held: _Held, moves: Value, leaves: Value
    ) -> tuple[_Context, tuple[Value, Value], Signal]:
        """The beat that was held one cycle before, the unit after it, and whether that beat has left."""
        gone = held.beat.following(m, "gone", moves)
        left = Signal(name="leaves")
        unit, keep = (Signal(len(each), reset_less=True) for each in held.after)
        with m.If(moves):
            m.d.sync += [left.eq(leaves), unit.eq(held.after[0]), keep.eq(held.after[1])]
        self._hold(ALL, *gone.possible(left))
        return gone, (unit, keep), left

    def _rows(self, m: Module, window: RowWindow, contexts: list[_Context]) -> None:
        """What a `RowWindow` holds, and its outputs."""
        held = self._hold_last(m, contexts, Const(1))

        # The last lane.
        gone, after, left = self._gone(m, held, Const(1), held.leaves)
        slot = gone.slot(m, self.right, self.tail, after)
        correct = self._is(slot, Value.cast(window.tail.item)) & (window.tail.last == gone.last)
        self._hold(ALL, window.tail_valid == left)
        self._hold(self.tail, ~left | correct)

        # The others.
        written = contexts[-1]
        if self.decoder.stages.row_cycles > self.decoder.stages.window_cycles:
            written = written.following(m, "written", Const(1))
            self._hold(ALL, *written.possible(written.valid))
        self._hold(ALL, *(valid == written.valid for valid in window.row_valid))
        for copies, context in zip(window.advance.tree, [*contexts[1:], written], strict=False):
            self._hold(ALL, *(copy == context.valid for copy in copies))
        for lane in range(self.tail):
            own = written.slot(m, self.right, lane)
            self._hold(lane, ~written.valid | self._is(own, Value.cast(window.row[lane])))

    def _beats(self, m: Module, window: BeatWindow, contexts: list[_Context]) -> None:
        """What a `BeatWindow` holds, and its outputs."""
        held = self._hold_last(m, contexts, self.run)

        # The output.
        slots = [held.beat.slot(m, self.right, lane) for lane in range(self.tail)] + [held.slot]
        has_items = Cat(*(each.valid for each in slots)).any()
        counts = Const(1, 1) if window.keeps_empty else held.beat.last | has_items
        gone, after, left = self._gone(m, held, self.run, held.leaves & counts)
        self._hold(ALL, window.slots_valid == left, ~left | (window.slots.last == gone.last))
        for lane in range(self.decoder.lanes):
            own = gone.slot(m, self.right, lane, after if lane == self.tail else None)
            self._hold(lane, ~left | self._is(own, Value.cast(window.slots.slots[lane])))


class WindowProof(Top):
    """The questions whose answers are the first half of the proof, each a bit that must stay 0.

    Args:
        decoder: the decoder whose window is proved, which must not be part of another design.

    Attributes:
        tags: the subjects of the questions.
        frames: the number of cycles to examine for each kind of question.
        step: per tag, whether the invariant fails one cycle after it held for all tags that are `near`.
        reset: per tag, whether it fails in the cycle after a reset, before which flip-flop contents were arbitrary. The
            first one also fails if a row or a tail is valid in the last cycles of the late reset, see
            `RowBuffer.drained`.
        start: per tag, whether it fails with the initial values of the registers.
        cycles: the latency that is proved, from the beat that determines an item to the output of the window.
    """

    def __init__(self, decoder: ParallelDecoder, right: EncodingTable) -> None:
        super().__init__()
        self._bench = _Bench(decoder, right)
        self.tags = list(self._bench.invariant)
        self.frames = {"step": 2, "reset": decoder.reset_cycles + 1, "start": 1}
        self._drained = 0
        if isinstance(decoder.item_buffer, RowBuffer):
            self._drained = decoder.item_buffer.drained
        # The stages of the window, the beat that is held and, in registers, its items.
        self.cycles = len(decoder.window.state.beat.stages) - 1 + 2
        self.rst, self.offer, self.run = (Signal(name=n) for n in ("rst", "offer", "run"))
        self.fresh = Signal.like(self._bench.fresh, name="fresh")
        self.step, self.reset, self.start = (Signal(len(self.tags), name=name) for name in self.frames)

    def near(self, tag: Any) -> list[Any]:
        """The tags whose conditions in the cycle before are assumed for a tag."""
        bench = self._bench
        lanes, reach = bench.decoder.lanes, bench.decoder.parameters.table.longest
        if tag == ALL:
            wanted = {*range(-reach, min(reach, lanes)), *range(lanes - reach, lanes)}
        else:
            wanted = {centre + n for centre in (tag, *([0] if tag == bench.tail else [])) for n in range(-reach, 2)}
        # A unit of an earlier beat was in a lane, or in an earlier beat already.
        wanted |= {earlier for n in wanted if n < 0 for earlier in (n % lanes, n + lanes)}
        return [ALL, *(near for near in self.tags if near in wanted)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = bench = self._bench
        late = self.frames["reset"] - 1
        frame = Signal(range(late + 2), reset_less=True)
        first = frame == 0
        self.clocked(m, self.rst & first)
        held = {tag: Signal(name=f"held_{tag}".replace("-", "m"), reset_less=True) for tag in self.tags}
        was_reset = Signal(reset_less=True)
        m.d.comb += [
            bench.offer.eq(self.offer),
            bench.run.eq(self.run),
            bench.fresh.eq(self.fresh),
        ]
        m.d.sync += frame.eq(Mux(frame > late, frame, frame + 1))
        with m.If(first):
            m.d.sync += [was_reset.eq(self.rst), *(held[tag].eq(bench.invariant[tag] & ~self.rst) for tag in self.tags)]
        for n, tag in enumerate(self.tags):
            before = Cat(*(held[near] for near in self.near(tag))).all()
            fails = ~bench.invariant[tag]
            drains = (frame > late - self._drained) & (frame < late) & bench.written & Const(tag == ALL, 1)
            m.d.comb += [
                self.step[n].eq((frame == 1) & before & fails),
                self.reset[n].eq(was_reset & (((frame == late) & fails) | drains)),
                self.start[n].eq(first & fails),
            ]
        return m
