# SPDX-License-Identifier: BSD-2-Clause
"""A core in its environment, and the monitors of a serial decoder.

The environment is built, not assumed: a beat that was not accepted is held by a register, and a beat holds units from
the first lane on, or is a null beat. So no assumption can contradict another one and make a proof empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, ResetSignal, Signal, Value

from utf8fpga.hdl.beats import is_effective
from utf8fpga.model import EncodingTable
from utf8fpga.sim.reference import Event, Reference
from utf8fpga.sim.top import Top


class Property(StrEnum):
    """A property by the name that the command line has for it."""

    EQUIVALENCE = "equivalence"
    """What is output is what the reference says, in number and order; after power-up, and after any reset."""
    STEADY = "steady"
    """A beat that waits does not change."""
    STALL = "stall"
    """The input is ready, except within `stall_cycles` of a cycle in which an output beat waits."""
    LATENCY = "latency"
    """With a ready consumer what is determined is transferred within the stated latency."""
    INDEPENDENCE = "independence"
    """`valid` and the payload do not depend on `ready`."""


def how_many(bits: Iterable[Value]) -> Value:
    """The number of bits that are set, in as many bits as it needs."""
    total: Value = Const(0, 1)
    for bit in bits:
        total = total + bit
    return total


def is_independent(environment: Environment) -> bool:
    """Whether `Property.INDEPENDENCE` holds, by the structure of the circuit."""
    return not environment.aig.depends(["see_out_valid", "see_out_payload"], ["ready"])


class Environment(Top):
    """A core and its environment: any beats with any pauses, and any consumer.

    Attributes:
        offer, ready, reset, fresh: the inputs, which are arbitrary in a proof: whether a beat is offered, whether the
            consumer is ready, a reset, and the beat.
        seen: the signals of a trace, which are outputs.
    """

    def __init__(self, core: Any) -> None:
        super().__init__()
        self.core = core
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

    def surround(self, m: Module, circuit: Any, resets: Value) -> None:
        """Add the core with its environment; a valid beat does not change until it is accepted.

        Args:
            circuit: the core, or what it was elaborated to.
            resets: whether there is a reset in the cycle.
        """
        self.clocked(m, resets)
        m.submodules.dut = circuit
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
            Value.cast(source.payload.keep).eq(_possible_keep(payload)),
        ]
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

    def waits(self) -> Value:
        """An output beat waits."""
        return self.core.output.valid & ~self.core.output.ready

    def is_steady(self, m: Module) -> Value:
        """The monitor of `Property.STEADY`."""
        output = self.core.output
        waited, before = Signal(), Signal.like(Value.cast(output.payload), reset_less=True)
        m.d.sync += [waited.eq(self.waits()), before.eq(output.payload)]
        return ~waited | (output.valid & (before == Value.cast(output.payload)))

    def cycles_without(self, m: Module, event: Value, most: int) -> Signal:
        """The cycles before this one without an event, at most so many."""
        count = Signal(range(most + 1))
        m.d.sync += count.eq(Mux(event, 0, Mux(count == most, most, count + 1)))
        return count


def _possible_keep(payload: Any) -> Value:
    """The `keep` of a beat that a producer may send, made from a payload with any contents.

    The units of a beat are contiguous from the first lane. Only a beat that ends its text, or a null beat, has fewer
    units than lanes.
    """
    keep = Value.cast(payload.keep)
    contiguous = Cat(keep[: lane + 1].all() for lane in range(len(keep)))
    return Mux(payload.last, contiguous, keep[0].replicate(len(keep)))


class SerialHarness(Environment):
    """A serial decoder, its environment, and the monitor of one property.

    A text is a sequence of events: its items, and its end. The reference counts those that were accepted and not yet
    output, and watches one of them, any.

    Args:
        table: the table that it is compared with; default: its own.

    Attributes:
        pick: an input, which is arbitrary in a proof: which event is watched.
        bad: what must never be 1, one cycle later.
    """

    def __init__(self, core: Any, wanted: Property, table: EncodingTable | None = None) -> None:
        super().__init__(core)
        self._wanted, self._table = wanted, table or core.table
        self.pick = Signal(4)
        self.bad = Signal(reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # After arbitrary contents of the registers the first cycle is a reset.
        started = Signal(reset_less=True)
        m.d.sync += started.eq(1)
        self.surround(m, self.core, self.reset | ~started)
        running = ~ResetSignal("sync")
        source, output = self.core.input, self.core.output
        # A null beat has no effect.
        self._accepted, self._delivered = Signal(), Signal()
        m.d.comb += [
            self._accepted.eq(is_effective(source) & source.ready & running),
            self._delivered.eq(output.valid & output.ready & running),
        ]
        units = [(source.payload.symbols[0], source.payload.keep[0])]
        reference = Reference(m, self._table, units, source.payload.last, self._accepted)
        self._expected = [self._comparable(m, event, self._accepted) for event in reference.events]
        self._found = [self._item(m, output.payload), self._end(m, output.payload.last)]
        self._capacity = 2 * (self.core.latency + 1)
        self._pending = Signal(range(self._capacity + len(self._expected) + 1))
        self._coming = how_many(event.valid for event in self._expected)
        self._going = Mux(self._delivered, how_many(event.valid for event in self._found), 0)
        m.d.sync += self._pending.eq(self._pending + self._coming - self._going)
        monitors: dict[str, Callable[[Module], Value]] = {
            Property.EQUIVALENCE: self._is_wrong,
            Property.STEADY: lambda m: ~self.is_steady(m),
            Property.STALL: self._stalls,
            Property.LATENCY: self._is_late,
            Property.INDEPENDENCE: lambda m: Const(0, 1),
        }
        m.d.sync += self.bad.eq(monitors[self._wanted](m) & running)
        return m

    def _comparable(self, m: Module, expected: Event, accepted: Value) -> Event:
        """An event of the reference with the fields that the core has and defines, in the cycle in which it occurs."""
        event = Event(self._table)
        m.d.comb += [event.valid.eq(expected.valid & accepted), event.word.eq(expected.word)]
        if not self.core.replacement:
            with m.If(expected.word.error):
                m.d.comb += event.word.code_point.eq(0)
        if not self._has_kind:
            m.d.comb += event.word.kind.eq(0)
        return event

    @property
    def _has_kind(self) -> bool:
        return "kind" in self.core.output.payload.symbols[0].shape().members

    def _item(self, m: Module, payload: Any) -> Event:
        """The item of an output beat."""
        event, item = Event(self._table), payload.symbols[0]
        is_defined = Const(1, 1) if self.core.replacement else ~item.error
        m.d.comb += [
            event.valid.eq(payload.keep[0]),
            event.word.error.eq(item.error),
            event.word.code_point.eq(Mux(is_defined, item.code_point, 0)),
        ]
        if self._has_kind:
            m.d.comb += event.word.kind.eq(Value.cast(item.kind))
        return event

    def _end(self, m: Module, last: Value) -> Event:
        event = Event(self._table)
        m.d.comb += [event.valid.eq(last), event.word.end.eq(1)]
        return event

    def _is_wrong(self, m: Module) -> Value:
        """The watched event is not the one that is output in its place, or events are lost, duplicated or invented."""
        pending, going, expected, found = self._pending, self._going, self._expected, self._found
        after = pending + self._coming
        invented = going > after
        overfull = ~invented & (after - going > self._capacity)
        watching, watched_before = Signal(), Signal()
        word, ahead = Signal.like(expected[0].word, reset_less=True), Signal.like(pending, reset_less=True)
        now_watching, now_word, now_ahead = Signal(), Signal.like(word), Signal(len(pending) + 1)
        m.d.comb += [now_watching.eq(watching), now_word.eq(word), now_ahead.eq(ahead)]
        with m.If(~watched_before):
            for place, event in reversed(list(enumerate(expected))):
                before = how_many([each.valid for each in expected[:place]])
                with m.If(event.valid & self.pick[place]):
                    m.d.comb += [now_watching.eq(1), now_word.eq(event.word), now_ahead.eq(pending + before)]
        wrong: Value = Const(0, 1)
        for place, event in enumerate(found):
            here = event.valid & (now_ahead == how_many([each.valid for each in found[:place]]))
            wrong = wrong | (here & (Value.cast(event.word) != Value.cast(now_word)))
        m.d.sync += [
            watched_before.eq(watched_before | now_watching),
            watching.eq(now_watching & (now_ahead >= going)),
            word.eq(now_word),
            ahead.eq(now_ahead - going),
        ]
        # A beat has an event, and the error flag is never set where there is no item.
        item, end = found
        empty_or_stray = self._delivered & ~item.valid & (~end.valid | item.word.error)
        return invented | overfull | empty_or_stray | (self._delivered & now_watching & wrong)

    def _stalls(self, m: Module) -> Value:
        """The input is not ready, although no beat has waited for `stall_cycles` cycles."""
        enough = self.core.stall_cycles
        if not enough:
            return ~self.core.input.ready & ~self.waits()
        return ~self.core.input.ready & (self.cycles_without(m, self.waits(), enough) == enough)

    def _is_late(self, m: Module) -> Value:
        """While the consumer has been ready for as many cycles as the latency, only later events are in flight."""
        latency = self.core.latency
        ready_long = self.cycles_without(m, ~self.ready, latency) == latency
        recent = self._coming
        total = recent
        for _ in range(latency - 1):
            earlier = Signal(len(self._coming))
            m.d.sync += earlier.eq(recent)
            recent = earlier
            total = total + recent
        return self.ready & ready_long & (self._pending + self._coming > self._going + total)
