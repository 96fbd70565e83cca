# SPDX-License-Identifier: BSD-2-Clause
"""The monitors of a packer: what is proved of it, in terms of its two streams alone.

This is the trusted part of the proof of the packer. No monitor refers to a register of the packer. Each raises a bit
if a property is violated; `prove_packer` lists the properties.

The words of a stream and the ends of its texts are called *events*. The events of a beat are ordered: its words by
lane, then the end of the text if it has `last`. The event of number n is the one with n events before it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from utf8fpga.formal.helpers import delayed, how_many, named
from utf8fpga.formal.properties import Property
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.hdl.packer.packer import Packer

MONITORED = (Property.EQUIVALENCE, Property.STEADY, Property.STALL, Property.LATENCY)
"""The properties that have a monitor."""


class GhostBeat:
    """A beat as it was accepted, or a cycle without one, and where its words belong in the packed stream.

    Where a beat begins follows from the beats before it: rows of as many words as there are lanes are filled one after
    the other; a row ends early where its text ends, and where the input is idle.

    Args:
        name: the prefix of the signals' names.
        row_bits, number_bits: the widths of `row` and `number`, which are counted modulo a power of two.

    Attributes:
        idle: there is none although the packer was ready.
        base, row: the lane and the row in which it begins. Lanes before `base` hold words that wait in that row.
        number: the number of its first event.
        watched: per lane, and for the end of the text, whether that event is the watched one.
    """

    FIELDS: tuple[str, ...] = ("valid", "idle", "last", "keep", "base", "row", "number", "watched")
    """The attributes that are the beat's state; `derive` adds those that follow from it."""

    valid: Signal
    idle: Signal
    last: Signal
    keep: Signal
    base: Signal
    row: Signal
    number: Signal
    watched: Signal

    def __init__(self, name: str, lanes: int, row_bits: int, number_bits: int) -> None:
        base_bits = (lanes - 1).bit_length()
        sizes = {"keep": lanes, "base": base_bits, "row": row_bits, "number": number_bits, "watched": lanes + 1}
        for field in self.FIELDS:
            setattr(self, field, Signal(sizes.get(field, 1), name=f"{name}_{field}"))
        self.name, self.lanes = name, lanes

    def _name(self, m: Module, what: str, value: Value, size: int) -> Signal:
        return named(m, f"{self.name}_{what}", value, size)

    def derive(self, m: Module) -> None:
        """Compute what follows from the state.

        This sets the attributes:
            ranks, gaps: per lane the number of words, and of lanes without a word, before it.
            words, events: the number of words, and of events.
            total: the number of words from the row in which it begins on, `base` earlier ones included.
            full: it fills the row in which it begins.
            rest: the number of words in the last row that it reaches, 0 if the row before that is just full.
            closes: the number of rows that it closes.
            next_base, next_row, next_number: where the next beat begins.
            start: the number of the first event of the row in which it begins.
        """
        lanes, keep, name = self.lanes, self.keep, partial(self._name, m)
        bits = (lanes + 1).bit_length()
        self.ranks = [name(f"rank_{lane}", how_many(keep[:lane]), bits) for lane in range(lanes)]
        self.gaps = [name(f"gap_{lane}", how_many(~keep[:lane]), bits) for lane in range(lanes)]
        self.words = name("words", how_many(keep), bits)
        self.total = name("total", self.base + Mux(self.valid, self.words, 0), bits + 1)
        self.full = name("full", self.total >= lanes, 1)
        self.rest = name("rest", Mux(self.full, self.total - lanes, self.total), bits)
        ends = self.valid & self.last
        # A full row is closed. At the end of a text, or if the input is idle, the row after it is closed as well. The
        # end of a packet belongs to the last of these rows, which may have no word.
        remains = Mux(self.idle, self.rest != 0, ends & ((self.rest != 0) | ~self.full))
        self.closes = name("closed", self.full + remains, 2)
        self.events = name("events", Mux(self.valid, self.words + self.last, 0), bits)
        self.next_base = name("next_base", Mux(self.idle | ends, 0, self.rest), len(self.base))
        self.next_row = name("next_row", self.row + self.closes, len(self.row))
        self.next_number = name("next_number", self.number + self.events, len(self.number))
        self.start = name("start", self.number - self.base, len(self.number))


class PackerMonitors:
    """The monitors of a packer, added to a module that has the packer as a submodule.

    Args:
        packer: the packer. Its streams are used, its `lanes`, whether it `flushes`, and the numbers that bound what it
            does.
        pick: which events of an accepted beat may become the watched one: a bit per lane, and one for the end of the
            packet. It has an arbitrary value in each cycle, so any event can be the watched one.

    Attributes:
        bad: per property of `MONITORED` bits that must never be 1.
        most: upper bound on the events in flight. Numbers of events have `number_bits` bits, enough to compare them by
            their differences.
        number_bits: the width of all numbers of events.
        accepted, idle: a beat is transferred at the input; the input is ready, but not valid, and the packer `flushes`.
        delivered, stalled: a beat is transferred at the output; the output is valid, but not ready.
        keep_out: per lane whether there is a word at the output.
        events_out: the number of events that are delivered in this cycle.
        number_out: register, the number of the event that is delivered next.
        pending: the number of events in flight.
        watching: register, the watched event is in flight. The attributes up to `idled` say which one it is.
        now: register, its number.
        ahead: the number of events in flight before it.
        is_end: register, it is the end of a text.
        token: register, the word, unless it is the end of a text.
        wordless: register, it was accepted in a beat without a word.
        idled: register, the input was idle after that event and before the next one.
        willing: register, the number of cycles since the output was last stalled, at most `stall_cycles`.
        fresh: register, cycles that are left until `reset_cycles` have passed since the last reset.
        restless: a beat that was stalled in the previous cycle is not at the output any more.
        entry: where a beat that is accepted in this cycle begins.
        prompt: register, the output has not been stalled since no event was in flight.
        due: element n is the number of events that had to be in closed rows n cycles ago; `latency` elements.
    """

    def __init__(self, m: Module, packer: Packer, pick: Signal) -> None:
        self._m, self._packer, self._pick = m, packer, pick
        # The events of as many beats as rows fit in, and as there are cycles of latency.
        self.row_bits = (2 * max(packer.egress.room, packer.capacity + 1) - 1).bit_length()
        self.most = (packer.lanes + 1) * (packer.egress.room + packer.latency)
        self.number_bits = self.most.bit_length() + 1
        self._observe_streams()
        self._follow_input()
        self.bad: dict[Property, Value] = {
            Property.EQUIVALENCE: self._monitor_order(),
            Property.STEADY: self._monitor_steady(),
            Property.STALL: self._monitor_stall(),
            Property.LATENCY: self._monitor_latency(),
        }

    def _name(self, name: str, value: Any, size: int | None = None) -> Signal:
        return named(self._m, f"ghost_{name}", value, size)

    def _observe_streams(self) -> None:
        sparse, packed = self._packer.sparse, self._packer.packed
        self.accepted = self._name("accepted", sparse.valid & sparse.ready)
        self.idle = self._name("idle", ~sparse.valid & sparse.ready if self._packer.flushes else 0)
        self.stalled = self._name("stalled", packed.valid & ~packed.ready)
        self.delivered = self._name("delivered", packed.valid & packed.ready)
        inputs, outputs = sparse.payload, packed.payload
        self._keep_in = self._name("keep_in", inputs.keep)
        self.keep_out = self._name("keep_out", outputs.keep)
        self._words_in = [self._name(f"in_{n}", Value.cast(item)) for n, item in enumerate(inputs.symbols)]
        self._words_out = [self._name(f"out_{n}", Value.cast(item)) for n, item in enumerate(outputs.symbols)]
        # Words without such a field, those of a remover, have no errors.
        symbol: Any = symbol_shape(self._packer.packed)
        has_error = any(name == "error" for name, _ in symbol)
        self._errors_out = Cat(item.error for item in outputs.symbols) if has_error else Const(0, self._packer.lanes)
        self._count_out = self._name("count_out", how_many(self.keep_out))
        self.events_out = self._name("events_out", Mux(self.delivered, self._count_out + packed.payload.last, 0))

    def _follow_input(self) -> None:
        """Number the events that are accepted and those that are delivered."""
        m, packer, size = self._m, self._packer, self.number_bits
        self.entry = entry = GhostBeat("ghost_entry", packer.lanes, self.row_bits, size)
        entry.derive(m)
        m.d.comb += [
            entry.valid.eq(self.accepted),
            entry.idle.eq(self.idle),
            entry.last.eq(packer.sparse.payload.last),
            entry.keep.eq(self._keep_in),
        ]
        m.d.sync += [
            entry.base.eq(entry.next_base),
            entry.row.eq(entry.next_row),
            entry.number.eq(entry.next_number),
        ]
        self.number_out = Signal(size, name="ghost_number_out")
        self._next_out = self._name("next_out", self.number_out + self.events_out, size)
        m.d.sync += self.number_out.eq(self._next_out)
        self.pending = self._name("pending", entry.number - self.number_out, size)

    def _monitor_order(self) -> Value:
        """Compare the watched event with what is delivered in its place.

        Any event can be the watched one. So no event is lost, duplicated, invented or out of order; that includes the
        ends of texts and their places between the words.
        """
        m, lanes, size, packed = self._m, self._packer.lanes, self.number_bits, self._packer.packed.payload
        self.now = Signal(size, name="ghost_now")
        self.ahead = self._name("ahead", self.now - self.number_out, size)
        self.watching, self.is_end = Signal(name="ghost_watching"), Signal(name="ghost_is_end")
        self.wordless, self.idled = Signal(name="ghost_wordless"), Signal(name="ghost_idled")
        self.token = Signal(len(self._words_in[0]), name="ghost_token")
        events = Cat(self._keep_in, self._packer.sparse.payload.last)
        self._chosen = Signal(lanes + 1, name="ghost_chosen")
        m.d.comb += self.entry.watched.eq(self._chosen)
        for place in range(lanes + 1):
            earlier = self._chosen[:place].any() if place else Const(0, 1)
            eligible = self.accepted & events[place] & self._pick[place]
            m.d.comb += self._chosen[place].eq(eligible & ~earlier & ~self.watching)
            with m.If(self._chosen[place]):
                m.d.sync += [
                    self.watching.eq(1),
                    self.now.eq(self.entry.number + [*self.entry.ranks, self.entry.words][place]),
                    self.is_end.eq(place == lanes),
                    self.token.eq(self._words_in[place] if place < lanes else 0),
                    self.wordless.eq(~self._keep_in.any()),
                    self.idled.eq(0),
                ]
        is_out = self._name("is_out", self.watching & (self.ahead < self.events_out))
        with m.If(is_out):
            m.d.sync += self.watching.eq(0)
        with m.If(self.watching & self.idle & (self.ahead + 1 == self.pending)):
            m.d.sync += self.idled.eq(1)

        is_word = Const(0, 1)
        for lane, word in enumerate(self._words_out):
            is_word = is_word | ((self.ahead == lane) & self.keep_out[lane] & (word == self.token))
        is_correct = Mux(self.is_end, packed.last & (self.ahead == self._count_out), is_word)
        partial = self.delivered & ~packed.last & (self._count_out < lanes)
        wrong = {
            "invented": self.events_out > self.pending,
            "overfull": self.pending > self.most,
            "empty": self.delivered & (self.events_out == 0),
            "not_contiguous": self.delivered & (self.keep_out & (self.keep_out + 1)).any(),
            "stray_error": self.delivered & (self._errors_out & ~self.keep_out).any(),
            "wrong": is_out & ~is_correct,
            "partial": is_out & partial & (self.ahead + 1 == self._count_out) & ~self.idled,
            "end_alone": is_out & self.is_end & (self._count_out == 0) & ~self.wordless,
        }
        return Cat(self._name(name, value, 1) for name, value in wrong.items())

    def _monitor_steady(self) -> Value:
        """Compare a beat that was stalled with what is at the output one cycle later."""
        packed = self._packer.packed
        payload = Value.cast(packed.payload)
        stalled, before = Signal(name="ghost_waited"), Signal(len(payload), name="ghost_before")
        self._m.d.sync += [stalled.eq(self.stalled), before.eq(payload)]
        self.restless = self._name("restless", stalled & (~packed.valid | (before != payload)))
        return self.restless

    def _monitor_stall(self) -> Value:
        """The input is not ready, and neither was there a reset, nor was the output stalled, in the cycles before.

        Or it is ready before the late reset has ended.
        """
        m, enough, late = self._m, self._packer.stall_cycles, self._packer.reset_cycles
        self.willing = Signal(range(enough + 1), name="ghost_willing")
        self.fresh = Signal(range(late + 1), init=late, name="ghost_fresh")
        m.d.sync += self.willing.eq(Mux(self.stalled, 0, Mux(self.willing == enough, enough, self.willing + 1)))
        with m.If(self.fresh != 0):
            m.d.sync += self.fresh.eq(self.fresh - 1)
        ready = self._packer.sparse.ready
        return Cat(~ready & (self.willing == enough) & (self.fresh == 0), ready & self._packer.reset.busy)

    def _monitor_latency(self) -> Value:
        """An event is late, while the output has not been stalled since none was in flight.

        It is late if its row had to be closed `latency` cycles before, because the row was full, its text ended, or the
        input was idle. The events that are due and those that are delivered differ by at most `most`.
        """
        m, entry = self._m, self.entry
        self.prompt, still_prompt = Signal(init=1, name="ghost_prompt"), Signal(name="ghost_still_prompt")
        m.d.comb += still_prompt.eq((self.prompt | (self.pending == 0)) & ~self.stalled)
        m.d.sync += self.prompt.eq(still_prompt)
        self.due = delayed(m, "ghost_due", entry.start, self._packer.latency - 1)
        late = self._name("late", self.due[-1] - self._next_out, self.number_bits)
        return still_prompt & (late != 0) & ~late[-1]
