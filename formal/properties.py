# SPDX-License-Identifier: BSD-2-Clause
"""The properties of a core, as monitors around it that assert `bad`; the core itself is not changed.

The environment is built, not assumed: a beat that was not accepted is held by a register, and a beat holds units from
the first lane on, or is a null beat; for a core that accepts gaps it holds units in any lanes. So no assumption can
contradict another one and make a proof empty.

A core has two streams of `beat_layout`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import cached_property
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.decoder_reference import reference_of
from utf8fpga.formal.helpers import how_many, keep_of, lanes_in
from utf8fpga.formal.reference import Event, Followed
from utf8fpga.formal.top import Top
from utf8fpga.hdl.beats import is_effective, symbol_shape
from utf8fpga.hdl.memory_buffer import CAPACITY
from utf8fpga.model import EncodingTable


class Property(StrEnum):
    """A property by the name that the command line has for it."""

    EQUIVALENCE = "equivalence"
    """The events at the output are those of the reference, in number and order; after any reset."""
    POWER_UP = "power-up"
    """The same from the initial register values, before any reset."""
    STEADY = "steady"
    """A beat that waits does not change."""
    STALL = "stall"
    """The input is ready, except within `stall_cycles` of a cycle in which an output beat waits."""
    LATENCY = "latency"
    """With a ready consumer an event is transferred within the stated latency."""
    INDEPENDENCE = "independence"
    """`valid` and the payload do not depend on `ready`."""
    COVER = "cover"
    """What must be possible is possible."""

    DRAINED = "drained"
    """`_TOGETHER`, for `drained_proof`; not a property of its own."""

    @property
    def any_start(self) -> bool:
        """The core starts with arbitrary flip-flop contents, and the first cycle is a reset."""
        return self not in (Property.POWER_UP, Property.COVER, Property.DRAINED)


JUDGES = (Property.EQUIVALENCE, Property.STEADY, Property.STALL, Property.LATENCY)
"""A decoder that has all of these is correct, and in time, on every input."""

_TOGETHER = (Property.EQUIVALENCE, Property.STEADY, Property.LATENCY)
"""The properties whose monitors are asked together by `Property.DRAINED`."""

COVERS = ("back-to-back texts", "an empty text", "an item waits")


def cover_targets(core: Any) -> list[str]:
    """What `Property.COVER` reaches: the covers of the reference, such as every cause and state, and `COVERS`."""
    return [*reference_of(core).covers, *COVERS]


class Environment(Top):
    """A core and its environment: any beats with any pauses, and any consumer.

    Args:
        full: whether every beat has a symbol in each lane, for a core whose ports cannot state that one is absent.

    Attributes:
        offer, ready, reset, fresh: the inputs, which are arbitrary in a proof: whether a beat is offered, whether the
            consumer is ready, a reset, and the beat.
        seen: the signals of a trace, which are outputs.
    """

    def __init__(self, core: Any, *, full: bool = False) -> None:
        super().__init__()
        self.core, self._full = core, full
        self.offer, self.ready, self.reset = (Signal(name=n) for n in ("offer", "ready", "reset"))
        self.fresh = Signal(len(Value.cast(core.input.payload)))
        self.seen = {
            name: Signal(size, name=f"see_{name}")
            for name, size in {
                "reset": 1,
                "in_valid": 1,
                "in_ready": 1,
                "in_payload": len(self.fresh),
                "out_valid": 1,
                "out_ready": 1,
                "out_payload": len(Value.cast(core.output.payload)),
            }.items()
        }

    @property
    def accepts_gaps(self) -> bool:
        """See `CoreEntry.accepts_gaps`."""
        return getattr(self.core, "accepts_gaps", False)

    def surround(self, m: Module, resets: Any) -> None:
        """Add the core with its environment; a valid beat does not change until it is accepted.

        Args:
            resets: whether there is a reset in the cycle.
        """
        self.clocked(m, resets)
        m.submodules.dut = self.core
        source, output = self.core.input, self.core.output
        offered = Signal()
        held = Signal.like(self.fresh, reset_less=True)
        beat = Signal.like(self.fresh)
        payload = Signal(source.payload.shape())
        m.d.comb += [
            Value.cast(payload).eq(beat),
            beat.eq(Mux(offered, held, self.fresh)),
            source.payload.eq(payload),
            source.valid.eq(self.offer | offered),
            output.ready.eq(self.ready),
        ]
        keep = Value.cast(payload.keep)
        if self._full:
            keep = Const(-1, len(keep))
        elif not self.accepts_gaps:
            keep = keep_of(payload)
        m.d.comb += Value.cast(source.payload.keep).eq(keep)
        m.d.sync += [offered.eq(source.valid & ~source.ready), held.eq(beat)]
        m.d.comb += [
            self.seen["reset"].eq(ResetSignal("sync")),
            self.seen["in_valid"].eq(source.valid),
            self.seen["in_ready"].eq(source.ready),
            self.seen["in_payload"].eq(source.payload),
            self.seen["out_valid"].eq(output.valid),
            self.seen["out_ready"].eq(output.ready),
            self.seen["out_payload"].eq(output.payload),
        ]


class Harness(Environment):
    """One core, its environment, and the monitor of one property.

    Args:
        table: of a decoder, the table that it is compared with; default: its own.

    Attributes:
        pick: an input, which is arbitrary in a proof: which event is watched.
        bad: what must never be 1, one cycle later; for a cover a bit for each of `cover_targets`, which must be
            possible; for several monitors a bit for each.
    """

    def __init__(
        self,
        build: Callable[[], Any],
        wanted: Property,
        table: EncodingTable | None = None,
        *,
        full: bool = False,
    ) -> None:
        super().__init__(build(), full=full)
        self.wanted = wanted
        self.decoder = self.core
        self.reference = reference_of(self.decoder, table)
        self._source, self._output = self.core.input.payload, self.core.output.payload
        self._symbols, self._items = lanes_in(self._source), lanes_in(self._output)
        self.pick = Signal(self.reference.events_per_symbol * len(self._symbols) + 2)
        several = {Property.DRAINED: len(_TOGETHER) + 1, Property.COVER: len(cover_targets(self.decoder))}
        self.bad = Signal(several.get(wanted, 1), reset_less=True)
        self._module = Module()

    @property
    def _has_error(self) -> bool:
        """Whether output symbols have the flag `error`."""
        shape = symbol_shape(self.decoder.output)
        return isinstance(shape, data.StructLayout) and "error" in shape.members

    def elaborate(self, platform: object) -> Module:
        m, decoder = self._module, self.decoder
        # After arbitrary flip-flop contents the first cycle is a reset.
        started = Signal(reset_less=True)
        m.d.sync += started.eq(1)
        first = Const(self.wanted.any_start, 1) & ~started
        resets = self.wanted is not Property.COVER
        self.surround(m, (self.reset & resets) | first)
        self.running = ~ResetSignal("sync")
        self.accepted = Signal()
        self.delivered = Signal()
        m.d.comb += [
            # A null beat has no effect, so to all monitors it is as if none was accepted.
            self.accepted.eq(self._effective & decoder.input.ready & self.running),
            self.delivered.eq(decoder.output.valid & decoder.output.ready & self.running),
        ]
        monitors = {
            Property.EQUIVALENCE: self._equivalence,
            Property.POWER_UP: self._equivalence,
            Property.STEADY: self._steady,
            Property.STALL: self._stall,
            Property.LATENCY: self._latency,
            Property.INDEPENDENCE: lambda _: Const(0, 1),
            Property.COVER: self._cover,
        }
        if self.wanted is Property.DRAINED:
            found = Cat(*(monitors[wanted](m) for wanted in _TOGETHER), ~self.reference.is_consistent())
        else:
            found = Cat(monitors[self.wanted](m))
        m.d.sync += self.bad.eq(Mux(self.running, found, 0))
        return m

    @property
    def _effective(self) -> Value:
        """Whether there is an input beat other than a null beat."""
        source = self.decoder.input
        if self.accepts_gaps:
            return source.valid & (Value.cast(source.payload.keep).any() | source.payload.last)
        return is_effective(source)

    # The output.

    @cached_property
    def _out_events(self) -> list[Event]:
        """The events of the output beat, one for each item and one for the end of the packet."""
        events = []
        for item, keep in self._items:
            events.append(event := Event(self.reference.word))
            self._module.d.comb += [event.valid.eq(keep), *self.reference.observe(event.word, item)]
        return [*events, self.reference.end(self._module, self._output.last)]

    @cached_property
    def _followed(self) -> Followed:
        """The reference, one for all monitors; its events are valid where the beat is accepted."""
        found = self.reference.follow(self._module, self._symbols, self._source.last, self.accepted)
        events = []
        for expected in found.events:
            events.append(event := Event(self.reference.word))
            self._module.d.comb += [event.valid.eq(expected.valid & self.accepted), event.word.eq(expected.word)]
        return found._replace(events=events)

    @property
    def _capacity(self) -> int:
        """Upper bound on the events that are in flight in a decoder."""
        events = (len(self._symbols) + 1) * self.reference.events_per_symbol // 2
        return events * max(int(self.decoder.latency) + 1, CAPACITY)

    @cached_property
    def _pending(self) -> tuple[Signal, Value, Value]:
        """Events in flight before this cycle, and those that are accepted and transferred at the output in it.

        They are the same for all monitors.
        """
        pending = Signal(range(self._capacity + 1))
        coming = how_many(event.valid for event in self._followed.events)
        going = Mux(self.delivered, how_many(event.valid for event in self._out_events), 0)
        self._module.d.sync += pending.eq(pending + coming - going)
        return pending, coming, going

    def _equivalence(self, m: Module) -> Value:
        """One event is watched, any: the event that is transferred in its place at the output is equal to it.

        Events are counted, so none is lost, duplicated, invented or out of order, `last` included.
        """
        expected = self._followed.events
        found = self._out_events
        pending, coming, going = self._pending
        invented = going > pending + coming
        overfull = ~invented & (pending + coming - going > self._capacity)

        watching, watched_before = Signal(), Signal()
        word, ahead = Signal(self.reference.word, reset_less=True), Signal.like(pending, reset_less=True)
        now_watching, now_word, now_ahead = Signal(), Signal.like(word), Signal(len(pending) + 1)
        m.d.comb += [now_watching.eq(watching), now_word.eq(word), now_ahead.eq(ahead)]
        with m.If(~watched_before):
            for place, event in reversed(list(enumerate(expected))):
                before = how_many([e.valid for e in expected[:place]])
                with m.If(event.valid & self.pick[place]):
                    m.d.comb += [now_watching.eq(1), now_word.eq(event.word), now_ahead.eq(pending + before)]
        wrong: Value = Const(0, 1)
        for place, event in enumerate(found):
            here = event.valid & (now_ahead == how_many([e.valid for e in found[:place]]))
            wrong = wrong | (here & (event.word.as_value() != now_word.as_value()))
        m.d.sync += [
            watched_before.eq(watched_before | now_watching),
            watching.eq(now_watching & (now_ahead >= going)),
            word.eq(now_word),
            ahead.eq(now_ahead - going),
        ]
        # A beat has an event, and the error flag is never set where there is no item.
        empty = self.delivered & ~Cat(event.valid for event in found).any()
        flags = [item.error & ~keep for item, keep in self._items] if self._has_error else [Const(0, 1)]
        stray = self.delivered & Cat(flags).any()
        # Not needed where an engine finds the invariant by itself: the watched event is in flight.
        lost = watching & (ahead >= pending) if self.wanted is Property.DRAINED else Const(0, 1)
        return invented | overfull | empty | stray | lost | (self.delivered & now_watching & wrong)

    # The streams' contract.

    def _steady(self, m: Module) -> Value:
        output = self.decoder.output
        waited = Signal()
        before = Signal.like(Value.cast(output.payload), reset_less=True)
        m.d.sync += [waited.eq(output.valid & ~output.ready), before.eq(output.payload)]
        return waited & (~output.valid | (before != Value.cast(output.payload)))

    def _stall(self, m: Module) -> Value:
        """The input is ready once no beat has waited for `stall_cycles` cycles."""
        waits = self.decoder.output.valid & ~self.decoder.output.ready
        enough = self.decoder.stall_cycles
        if not enough:
            return ~self.decoder.input.ready & ~waits
        willing = Signal(range(enough + 1))
        m.d.sync += willing.eq(Mux(waits, 0, Mux(willing == enough, enough, willing + 1)))
        return ~self.decoder.input.ready & (willing == enough)

    def _latency(self, m: Module) -> Value:
        """While the consumer has been ready for as many cycles as the latency, only later events are in flight."""
        followed = self._followed
        pending, coming, going = self._pending
        if getattr(self.decoder, "holds_beats", False):
            return self._latency_of_beats(m, followed, pending, coming, going)
        willing = Signal(range(self.decoder.latency + 1))
        m.d.sync += willing.eq(Mux(self.ready, Mux(willing == self.decoder.latency, willing, willing + 1), 0))
        late = pending + coming > going + self._recent(m, coming)
        return self.ready & (willing == self.decoder.latency) & late

    def _latency_of_beats(self, m: Module, followed: Followed, pending: Value, coming: Value, going: Value) -> Value:
        """While no beat has waited since none was in flight, only events that were determined later are in flight.

        For a beat that ends within a sequence the cycles count from the beat after it. Where beats waited, all events
        that are determined have been transferred after `drain_cycles`, even if no beat follows.
        """
        waits = self.decoder.output.valid & ~self.ready
        smooth, kept = Signal(), Signal(range(len(self._symbols) + 3))
        now_kept = Mux(self.accepted, Mux(followed.determined, 0, coming), kept)
        due = Mux(self.accepted, kept + coming - now_kept, 0)
        enough = self.decoder.drain_cycles
        quiet = Signal(range(enough + 1))
        m.d.sync += [
            smooth.eq((smooth | (pending == 0)) & ~waits),
            kept.eq(now_kept),
            quiet.eq(Mux(self.accepted | waits, 0, Mux(quiet == enough, enough, quiet + 1))),
        ]
        late = smooth & ~waits & (pending + coming > going + now_kept + self._recent(m, due))
        return late | ((quiet == enough) & (pending > kept))

    def _recent(self, m: Module, coming: Value) -> Value:
        """The number of events that entered in as many cycles as the latency, up to this one."""
        recent: list[Value] = [coming]
        for _ in range(self.decoder.latency - 1):
            earlier = Signal(len(coming))
            m.d.sync += earlier.eq(recent[-1])
            recent.append(earlier)
        return sum(recent, Const(0))

    # Cover.

    def _cover(self, m: Module) -> Value:
        """The target is reached; packets have ended and their items have been transferred: the trace is complete."""
        followed = self._followed
        pending, coming, going = self._pending
        complete = Signal()
        m.d.comb += complete.eq((pending + coming == going) & self._ended(m))
        seen = self._seen(m)
        found = []
        for target in cover_targets(self.decoder):
            reached, now = Signal(), Signal()
            m.d.sync += reached.eq(reached | now)
            m.d.comb += now.eq(self._target(target, followed, *seen))
            found.append((reached | now) & complete)
        return Cat(*found)

    def _ended(self, m: Module) -> Value:
        """No packet is open after this cycle."""
        inside = Signal()
        with m.If(self.accepted):
            m.d.sync += inside.eq(~self._source.last)
        return Mux(self.accepted, self._source.last, ~inside)

    def _seen(self, m: Module) -> tuple[Value, Value]:
        """Whether any beat was accepted before, and whether the beat of the cycle before ended a packet."""
        any_before, just_ended = Signal(), Signal()
        m.d.sync += [any_before.eq(any_before | self.accepted), just_ended.eq(self.accepted & self._source.last)]
        return any_before, just_ended

    def _target(self, target: str, followed: Followed, any_before: Value, just_ended: Value) -> Value:
        if target in followed.conditions:
            return followed.conditions[target]
        keep = self._symbols[0][1]
        return {
            "back-to-back texts": self.accepted & just_ended & keep,
            "an empty text": self.accepted & (~any_before | just_ended) & self._source.last & ~keep,
            "an item waits": self.decoder.output.valid & ~self.ready,
        }[target]
