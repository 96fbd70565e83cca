# SPDX-License-Identifier: BSD-2-Clause
"""The window of a parallel decoder: beats of code units in, items for a buffer out.

An item is in the lane of its last unit. Whether a unit is the last of an item depends on the unit after it, so the
last lane of a beat waits for the next beat, unless its sequence is complete or the packet ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amaranth.hdl import Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.beats import beat_layout, is_effective
from utf8fpga.hdl.commented import commented
from utf8fpga.hdl.decoder.pipeline import PipelineStages, slots_of
from utf8fpga.hdl.decoder.window_logic import Stage, Window, WindowControl, any_of
from utf8fpga.hdl.fan_out import FanOut
from utf8fpga.hdl.parameters import DecoderParameters
from utf8fpga.hdl.payloads import Kind
from utf8fpga.hdl.pipeline import Pipeline, loaded
from utf8fpga.model import REPLACEMENT_CHARACTER


@dataclass(frozen=True)
class WindowState:
    """The registers of a window, and the values between them.

    Attributes:
        beat: the window; the beat in its last stage is compared with the beat before it.
        held: the held values of the preceding beat, by name.
        items: the output item of each lane; of a `RowWindow` and a `HeldWindow` without the last lane.
        tail: whether the packet ends; of these two with the item of the last lane in front.
    """

    beat: Window
    held: Mapping[str, Signal]
    waiting: Signal
    valid: Signal
    items: Sequence[Value]
    tail: Value


class ItemWindow(wiring.Component):
    """The common part of both windows: the fields of an item.

    Args:
        ports: by name the other ports, from the layout of a beat of `slots_layout`.

    Attributes:
        resets_words: U+FFFD and upper bits of a code point that are 0 are resets of registers, see `Window.resets`.
    """

    resets_words = False

    def __init__(
        self,
        parameters: DecoderParameters,
        stages: PipelineStages,
        ports: Mapping[str, Any],
        *,
        always_ready: bool = True,
    ) -> None:
        self.parameters, self.lanes, self.stages = parameters, parameters.lanes, stages
        self.control = WindowControl.of(parameters.table)
        if parameters.kind:
            _ = self.control.serial.broken_kind  # Raises `TableError`.
        units = beat_layout(parameters.table.unit_width, self.lanes)
        super().__init__({"input": In(stream.Signature(units, always_ready=always_ready)), **ports})

    @cached_property
    def state(self) -> WindowState:
        """The registers, created at first use, since a wide window has many."""
        raise NotImplementedError

    def contents(self, beat: Window, lane: int, *, by_reset: bool = False) -> dict[str, Value]:
        """The values of a lane, by name, if no unit follows its unit; `by_reset` as in `Window.word`."""
        serial = self.control.serial
        completed, keep = beat.completes(lane), beat.keep[lane]
        contents = {
            "code_point": beat.word(lane, by_reset=by_reset),
            "error": keep & ~completed,
            "keep": keep,
        }
        if self.parameters.kind:
            unit, is_open = beat.unit[lane], beat.open[lane]
            alone = Mux(is_open, Kind.INCOMPLETE, serial.stray_kind(unit))
            contents["kind"] = Mux(completed, Kind.NONE, alone)
            contents |= {"unit": unit, "needed": beat.needed[lane], "is_open": is_open}
        return contents

    def item(self, contents: Mapping[str, Value], goes_on: Value, next_unit: Value, next_keep: Value) -> Value:
        """The fields of an item, as `slots_layout` has them, once the unit after it is known.

        Args:
            contents: the values of the lane if no unit follows, see `contents`.
            goes_on: the next unit continues the sequence.
            next_keep: whether there is a next unit in this packet.
        """
        fields = [contents["code_point"], contents["error"] & ~goes_on, contents["keep"] & ~goes_on]
        if self.parameters.kind:
            serial = self.control.serial
            unit = contents["unit"]
            restricts = serial.restricts(unit) & serial.opens(unit)
            broken = serial.broken_kind(serial.context(next_unit, contents["needed"], restricts, unit))
            fields.append(Mux(contents["is_open"] & next_keep, broken, contents["kind"]))
        return Cat(*fields)

    def inner_item(self, beat: Window, lane: int, *, by_reset: bool = False) -> Value:
        """The item of a lane that is not the last; see `contents`."""
        continued, unit, keep = (each[lane + 1] for each in (beat.continued, beat.unit, beat.keep))
        contents = self.contents(beat, lane, by_reset=by_reset)
        return self.item(contents, continued, unit, keep)

    def _window(self, pipeline: Pipeline, first: Signal | None = None, pauses: Sequence[Value] | None = None) -> Window:
        """The beat in the last stage of the steps, from the beat at the input."""
        beat, lanes = self.input.payload, range(self.lanes)
        return Window(
            self.control,
            pipeline,
            Stage("input", is_effective(self.input), beat.last),
            [beat.symbols[lane] for lane in lanes],
            [beat.keep[lane] for lane in lanes],
            self.stages.steps,
            first=first,
            pauses=pauses,
            counts=self.parameters.kind,
            resets_words=self.resets_words,
        )

    def _hold_last(self, beat: Window) -> tuple[dict[str, Signal], Signal, Value]:
        """Hold the last lane until the next beat, unless no unit can continue its sequence, without pauses.

        Returned are what is held, whether a beat is, and the item of the last lane once the next beat is known.
        """
        tail = self.lanes - 1
        given = self.contents(beat, tail)
        given |= {"last": beat.last, "settled": beat.last | ~beat.open[tail]}
        held = {
            name: commented(
                Signal(len(value), name=f"held_{name}", reset_less=True),
                "No unit of the next beat can change the item of the last lane."
                if name == "settled"
                else "Of the last lane, while its item waits for the next beat.",
            )
            for name, value in given.items()
        }
        waiting = commented(Signal(name="waiting", reset_less=True), "A beat is held until the next one is known.")
        beat.pipeline.add(waiting.eq(beat.valid | (waiting & ~held["settled"])))
        beat.pipeline.add(*(held[name].eq(value) for name, value in given.items()), enable=beat.valid)
        goes_on = beat.valid & beat.continued[0]
        next_keep = beat.valid & beat.keep[0] & ~held["last"]
        return held, waiting, self.item(held, goes_on, beat.unit[0], next_keep)

    def _reset_late(self, m: Module, late_reset: Value) -> None:
        """Reset the registers with feedback of a window without pauses, by two duplicates of a late reset."""
        state = self.state
        beat = state.beat
        history = [kept for each in beat.stages for (lanes, *_), kept in each.history.items() if lanes is not beat.unit]
        for reset, registers in zip(late_reset, (history, [state.waiting]), strict=True):
            with m.If(reset):
                m.d.sync += [register.eq(0) for register in registers]


class BeatWindow(ItemWindow):
    """The window in front of a `RegisterBuffer`: it outputs whole beats of items.

    Beats that hold no item and do not end a packet are dropped, unless `keeps_empty`; so are null beats, at the input.

    All stages advance in the cycles in which `run` is asserted, and pause otherwise: then `slots` and `slots_valid`
    do not change, as the rules of streams require.

    Throughput: a beat per cycle. Latency: `stages.item_cycles` cycles in which `run` is asserted, from the beat that
    determines the items of a beat.

    Args:
        keeps_empty: beats that hold no item are output too.

    Ports:
        input: stream of `beat_layout`, code units; `input.ready` is the first bit of `run`.
        run: `stages.pauses` duplicates of the bit that lets all stages advance.
        slots: a beat of `slots_layout`.
        slots_valid: the beat is valid.
    """

    def __init__(self, parameters: DecoderParameters, stages: PipelineStages, *, keeps_empty: bool = False) -> None:
        self.keeps_empty = keeps_empty
        ports = {"run": In(stages.pauses), "slots": Out(slots_of(parameters)), "slots_valid": Out(1)}
        super().__init__(parameters, stages, ports, always_ready=False)

    @cached_property
    def state(self) -> WindowState:
        pipeline, tail = Pipeline(), self.lanes - 1
        accepts, *pauses, moves, emits = self.run
        first = Signal(init=1)
        accepted = is_effective(self.input) & accepts
        pipeline.add(first.eq((accepted & self.input.payload.last) | (~accepted & first)))
        beat = self._window(pipeline, first, pauses)
        contents = self.contents(beat, tail)
        given = {f"tail_{name}": value for name, value in contents.items()}
        given |= {f"item_{lane}": self.inner_item(beat, lane) for lane in range(tail)}
        given["settled"] = beat.last | ~beat.open[tail]
        if not self.keeps_empty:
            # A beat that does not end its packet may consist of units of one sequence only, and have no item.
            here = (beat.keep[lane] & ~beat.continued[lane + 1] for lane in range(tail))
            given["filled"] = beat.last | any_of(here)
        ready = {name: beat.give(name, [value]) for name, value in given.items()}
        if self.stages.words:
            beat.register("words", [*ready.values(), beat.unit, beat.keep, beat.continued])

        # A beat is held here until the next beat is known, unless no unit can continue its last sequence.
        loads = beat.valid & moves

        def hold(name: str, value: Value) -> Signal:
            held = Signal(len(value), name=f"held_{name}", reset_less=True)
            pipeline.add(loaded(held, value, loads))
            return held

        held = {name: hold(name, each[0]) for name, each in ready.items()} | {"last": hold("last", beat.last)}
        waiting = Signal()
        goes_on = beat.valid & beat.continued[0]
        pipeline.add(waiting.eq((moves & (beat.valid | (waiting & ~held["settled"]))) | (waiting & ~moves)))
        # A beat that is settled does not depend on the next one.
        follows = beat.valid
        if not self.keeps_empty:
            follows &= ~beat.continued[0] | held["filled"]
        leaves = waiting & (held["settled"] | follows)
        next_keep = beat.valid & beat.keep[0] & ~held["last"]
        held_contents = {name: held[f"tail_{name}"] for name in contents}
        last_item = self.item(held_contents, goes_on, beat.unit[0], next_keep)
        whole = Cat(*(held[f"item_{lane}"] for lane in range(tail)), last_item, held["last"])
        items, valid = Signal(len(whole), name="items", reset_less=True), Signal(name="items_offered")
        pipeline.add(valid.eq((leaves & emits) | (valid & ~emits)))
        pipeline.add(items.eq(whole), enable=emits)
        width = len(last_item)
        parts = [items[lane * width : (lane + 1) * width] for lane in range(self.lanes)]
        return WindowState(beat, held, waiting, valid, parts, items[-1])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state = self.state
        state.beat.pipeline.connect(m)
        with m.If(ResetSignal()):
            m.d.sync += [valid.eq(0) for valid in state.beat.valids]
        m.d.comb += [
            self.input.ready.eq(self.run[0]),
            Value.cast(self.slots).eq(Cat(*state.items, state.tail)),
            self.slots_valid.eq(state.valid),
        ]
        return m


class RowWindow(ItemWindow):
    """The window in front of a `MemoryBuffer`, which never pauses: it outputs a beat in two parts.

    The items of all lanes but the last, the *row*, are valid `stages.row_cycles` cycles after their beat. The item of
    the last lane, the *tail*, is valid `stages.item_cycles` cycles after the beat that determines it. Each beat except
    null beats has one row and one tail, in order.

    With at least as many lanes as the longest sequence has units, each beat holds an item or ends its packet.

    Throughput: a beat per cycle.

    Attributes:
        advance: the tree of registers from a beat at the input to `row_valid`.

    Ports:
        input: stream of `beat_layout`, code units, always ready.
        late_reset: two duplicates of a late reset, see `MemoryBuffer`: the first resets what is kept of earlier units,
            the second the register that says that a beat waits. No beat may be valid while it is asserted, nor in as
            many cycles before as the window has stages.
        row: the items of all lanes but the last.
        row_valid: duplicates of the bit that `row` is valid.
        tail: the item of the last lane, and whether the packet ends.
        tail_valid: `tail` is valid.
    """

    def __init__(self, parameters: DecoderParameters, stages: PipelineStages) -> None:
        self.advance = FanOut(stages.row_cycles)
        # With as many lanes as slices are for, the nets to the resets are too long for the clock.
        self.resets_words = stages.words and stages.buffer == "memory"

        item = slots_of(parameters)["slots"].shape.elem_shape
        ports = {
            "late_reset": In(2),
            "row": Out(data.ArrayLayout(item, parameters.lanes - 1)),
            "row_valid": Out(self.advance.copies.shape()),
            "tail": Out(data.StructLayout({"item": item, "last": 1})),
            "tail_valid": Out(1),
        }
        super().__init__(parameters, stages, ports)

    @cached_property
    def state(self) -> WindowState:
        beat, tail = self._window(Pipeline()), self.lanes - 1

        # All lanes but the last are known now.
        items = [self.inner_item(beat, lane, by_reset=self.resets_words) for lane in range(tail)]
        if self.stages.words:
            for lane, item in enumerate(items):
                items[lane] = word = _word(item, lane, replacement=self.resets_words)
                beat.pipeline.add(word.eq(item))
                for reset, bits, value in beat.resets(lane, word) if self.resets_words else ():
                    beat.pipeline.add(bits.eq(value), enable=reset)

        held, waiting, item = self._hold_last(beat)
        last_item, valid = (
            Signal(len(item) + 1, name="tail_item", reset_less=True),
            Signal(name="tail_leaves", reset_less=True),
        )
        beat.pipeline.add(
            valid.eq(waiting & (beat.valid | held["settled"])),
            last_item.eq(Cat(item, held["last"])),
        )
        return WindowState(beat, held, waiting, valid, items, last_item)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.advance = self.advance
        state = self.state
        state.beat.pipeline.connect(m)
        self._reset_late(m, self.late_reset)
        m.d.comb += [
            self.advance.value.eq(is_effective(self.input)),
            Value.cast(self.row).eq(Cat(*state.items)),
            self.row_valid.eq(self.advance.copies),
            Value.cast(self.tail).eq(state.tail),
            self.tail_valid.eq(state.valid),
        ]
        return m


class HeldWindow(ItemWindow):
    """A window that never pauses, and outputs whole beats of items: it holds the last beat until the next one is known.

    Each beat except null beats is output once, in order: in the cycle after the one in which it is in the last stage of
    the steps, or, if its last sequence is open, in that in which the next beat is there. So a beat is valid as many
    cycles after one was accepted as there are `cycles`, or one fewer.

    With at least as many lanes as the longest sequence has units, each beat holds an item or ends its packet.

    Throughput: a beat per cycle. Latency: `cycles` from the beat that determines the items of a beat.

    Attributes:
        cycles: cycles from a beat at the input to its items.
        advance: the tree of registers to the enables of the items that are held.

    Ports:
        input: stream of `beat_layout`, code units, always ready. After a reset of the domain no beat is output until
            one was accepted after it.
        late_reset: see `RowWindow`.
        slots: a beat of `slots_layout`.
        slots_valid: the beat is valid.
    """

    def __init__(self, parameters: DecoderParameters, stages: PipelineStages) -> None:
        steps = len(stages.steps)
        self.cycles = steps + 1
        # From the first stage on, since the function in front of it is long.
        self.advance = FanOut(max(0, steps - 1), doubles=steps > 1)
        ports = {"late_reset": In(2), "slots": Out(slots_of(parameters)), "slots_valid": Out(1)}
        super().__init__(parameters, stages, ports)

    @cached_property
    def state(self) -> WindowState:
        beat, tail = self._window(Pipeline()), self.lanes - 1
        items = [self.inner_item(beat, lane) for lane in range(tail)]
        held, waiting, last_item = self._hold_last(beat)
        copies = self.advance.copies
        for lane, item in enumerate(items):
            items[lane] = _word(item, lane)
            beat.pipeline.add(items[lane].eq(item), enable=copies[lane * len(copies) // tail])
        valid = Signal(name="is_valid")
        return WindowState(beat, held, waiting, valid, items, Cat(last_item, held["last"]))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.advance = self.advance
        state = self.state
        state.beat.pipeline.connect(m)
        self._reset_late(m, self.late_reset)
        valids = state.beat.valids
        with m.If(ResetSignal()):
            m.d.sync += [register.eq(0) for register in (*valids, state.waiting)]
        m.d.comb += [
            self.advance.value.eq(valids[0] if valids else state.beat.valid),
            state.valid.eq(state.waiting & (state.beat.valid | state.held["settled"])),
            Value.cast(self.slots).eq(Cat(*state.items, state.tail)),
            self.slots_valid.eq(state.valid),
        ]
        return m


def _word(item: Value, lane: int, *, replacement: bool = False) -> Signal:
    comment = "The item of each lane but the last: code point, with U+FFFD unless completed; error; presence."
    # The initial value of a register must be that of its set, without which ECP5 has no set.
    init = REPLACEMENT_CHARACTER if replacement else 0
    return commented(Signal(len(item), name=f"words_{lane}", init=init, reset_less=True), comment)
