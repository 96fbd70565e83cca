# SPDX-License-Identifier: BSD-2-Clause
"""The harness: a core in its environment, its reference, and the monitors, as gates of one graph.

The environment is built, not assumed: a beat that was not accepted is held by a register, and a beat holds units from
the first lane on, or is a null beat. So no assumption can contradict another one and make a proof empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, Const, Elaboratable, Module, Mux, ResetSignal, Shape, Signal, Value
from amaranth.lib import data

from utf8fpga.hdl import CoreEntry, entry_of
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.hdl.decoder.serial import SerialDecoder
from utf8fpga.sim.beats import stream_ports
from utf8fpga.sim.reference import Accepted, Expected


class Property(StrEnum):
    """A property by the name that the command line has for it."""

    EQUIVALENCE = "equivalence"
    """What is output is what the reference says, in number and order, and no symbol before it is determined; after
    power-up, and after any reset."""
    STEADY = "steady"
    """A beat that waits does not change."""
    STALL = "stall"
    """The input is ready, except within `stall_cycles` of a cycle in which an output beat waits."""
    LATENCY = "latency"
    """With a ready consumer what is determined is transferred within the stated latency."""
    INDEPENDENCE = "independence"
    """`valid` and the payload do not depend on `ready`."""


class Top(Elaboratable):
    """A top module; its ports are its public attributes that are signals.

    Attributes:
        clk: the clock of the domain `sync`.
    """

    _MustUse__silence = True

    def __init__(self) -> None:
        self.clk = Signal(name="clk")

    def clocked(self, m: Module, reset: Value | None = None) -> None:
        """Add the domain `sync`; its registers are not reset if `reset` is None."""
        m.domains.sync = domain = ClockDomain("sync", reset_less=reset is None)
        m.d.comb += domain.clk.eq(self.clk)
        if reset is not None:
            m.d.comb += domain.rst.eq(reset)

    def rtlil(self) -> str:
        """The module ``top`` in RTLIL."""
        module = self.elaborate(None)  # It may add ports.
        ports = [each for name, each in vars(self).items() if isinstance(each, Signal) and not name.startswith("_")]
        return str(rtlil.convert(module, name="top", ports=ports, emit_src=False))


class Environment(Top):
    """A core and its environment: any beats with any pauses, and any consumer.

    Attributes:
        has_gaps: any lanes of a beat may be without a symbol.
        offer, ready, reset, fresh: the inputs, which are arbitrary in a proof: whether a beat is offered, whether the
            consumer is ready, a reset, and the beat.
        see_reset, see_in_valid, …: the signals of a trace, which are outputs.
    """

    has_gaps = False

    def __init__(self, core: Any) -> None:
        super().__init__()
        self.core = core
        self.offer, self.ready, self.reset = (Signal(name=n) for n in ("offer", "ready", "reset"))
        self.fresh = Signal(len(Value.cast(core.input.payload)))

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
        payload = Signal(source.payload.shape())
        m.d.comb += [
            Value.cast(payload).eq(Mux(offered, held, self.fresh)),
            source.payload.eq(payload),
            source.valid.eq(self.offer | offered),
            output.ready.eq(self.ready),
            Value.cast(source.payload.keep).eq(payload.keep if self.has_gaps else _possible_keep(payload)),
        ]
        m.d.sync += [offered.eq(source.valid & ~source.ready), held.eq(payload)]
        for name, value in {"reset": ResetSignal("sync"), **stream_ports(self.core)}.items():
            port = Signal(len(value), name=f"see_{name}")
            setattr(self, port.name, port)
            m.d.comb += port.eq(value)

    def waits(self) -> Value:
        """An output beat waits."""
        return self.core.output.valid & ~self.core.output.ready

    def changes(self, m: Module) -> Value:
        """The monitor of `Property.STEADY`: which bits of a beat that waited have changed, `valid` and the payload."""
        beat = Cat(self.core.output.valid, self.core.output.payload)
        waited, before = Signal(), Signal.like(beat, name="beat_before", reset_less=True)
        m.d.sync += [waited.eq(self.waits()), before.eq(beat)]
        return (before ^ beat) & waited.replicate(len(beat))

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


class Harness(Environment):
    """A core, its environment, and the monitors of properties: in a proof or, with random inputs, in a simulation.

    A text is a sequence of symbols, and its end. Those that were expected and not yet output are counted, and one of
    them, any, is watched from when it is expected until it is output.

    Args:
        wanted: the properties.
        entry: what it is compared with.

    Attributes:
        pick: an input, which is arbitrary in a proof: which symbol of a beat, if any, is watched if none is.
        bad: for each property what must never be 1, one cycle later.
        accepted: for each lane whether a symbol is transferred at the input, and last whether the end of a text is.
    """

    def __init__(self, core: Any, *wanted: Property, entry: CoreEntry[Any] | None = None) -> None:
        super().__init__(core)
        self._wanted = wanted
        self._entry = entry or entry_of(core.parameters)
        self.has_gaps = self._entry.accepts_gaps
        self.bad = Signal(len(wanted), reset_less=True)
        self.accepted = Signal(core.lanes + 1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # After arbitrary contents of the registers the first cycle is a reset.
        started = Signal(reset_less=True)
        m.d.sync += started.eq(1)
        self.surround(m, self.core, self.reset | ~started)
        running = ~ResetSignal("sync")
        source, output = self.core.input, self.core.output
        # A null beat has no effect.
        is_null = ~source.payload.keep.any() & ~source.payload.last
        self._accepted, self._delivered = Signal(), Signal()
        m.d.comb += [
            self._accepted.eq(source.valid & source.ready & ~is_null & running),
            self._delivered.eq(output.valid & output.ready & running),
            self.accepted.eq(Mux(self._accepted, Cat(source.payload.keep, source.payload.last), 0)),
        ]
        self._follow(m)
        monitors: dict[str, Callable[[Module], Value]] = {
            Property.EQUIVALENCE: self._is_wrong,
            Property.STEADY: lambda m: self.changes(m).any(),
            Property.STALL: self._stalls,
            Property.LATENCY: self._is_late,
            Property.INDEPENDENCE: lambda m: Const(0, 1),
        }
        bad = Cat(monitors[wanted](m) for wanted in self._wanted)
        m.d.sync += self.bad.eq(Mux(running, bad, 0))
        return m

    def _follow(self, m: Module) -> None:
        """Count the symbols that are expected and not yet output."""
        source, payload = self.core.input, self.core.output.payload
        symbols = Accepted(m, self.core, self._entry, self._accepted).symbols()
        # A word has a bit more than a symbol, which is 1 in the end of a text.
        end = Const(1 << Shape.cast(symbol_shape(self.core.output)).width)
        self._expected = [*symbols, Expected(source.payload.last, end)]
        found = [Expected(payload.keep[lane], Value.cast(symbol)) for lane, symbol in enumerate(payload.symbols)]
        self._found = [*found, Expected(payload.last, end)]
        self.pick = Signal(range(len(self._expected) + 1))
        self._expected_before = _sums(m, [event.valid for event in self._expected])
        self._found_before = _sums(m, [event.valid for event in self._found])
        core, most = self.core, len(self._expected)
        # The proof of a serial decoder needs a close bound; in a simulation one of all cores is enough.
        of_all = most * (core.latency + core.drain_cycles + 2)
        self._capacity = 2 * (core.latency + 1) if isinstance(core, SerialDecoder) else of_all
        self._pending = Signal(range(self._capacity + most + 1))
        self._coming = Mux(self._accepted, self._expected_before[-1], 0)
        self._going = Mux(self._delivered, self._found_before[-1], 0)
        m.d.sync += self._pending.eq(self._pending + self._coming - self._going)

    def _is_wrong(self, m: Module) -> Value:
        """The watched symbol is not the one that is output in its place, or symbols are lost or invented."""
        pending, going, payload = self._pending, self._going, self.core.output.payload
        after = pending + self._coming
        invented = going > after
        overfull = ~invented & (after - going > self._capacity)
        watching, word = Signal(), Signal(len(self._expected[-1].symbol), reset_less=True)
        ahead = Signal.like(pending, reset_less=True)
        now_watching, now_word, now_ahead = Signal(), Signal.like(word), Signal(len(pending) + 1)
        m.d.comb += [now_watching.eq(watching), now_word.eq(word), now_ahead.eq(ahead)]
        with m.If(~watching & self._accepted), m.Switch(self.pick):
            for place, event in enumerate(self._expected):
                with m.Case(place):
                    m.d.comb += [now_watching.eq(event.valid), now_word.eq(event.symbol)]
                    m.d.comb += now_ahead.eq(pending + self._expected_before[place])
        wrong: list[Value] = []
        for before, event in zip(self._found_before, self._found, strict=False):
            wrong.append(event.valid & (now_ahead == before) & (event.symbol != now_word))
        m.d.sync += [watching.eq(now_watching & (now_ahead >= going)), word.eq(now_word), ahead.eq(now_ahead - going)]
        is_formed = (payload.keep.any() | payload.last) & ~self._has_stray_error() & ~self._has_gap()
        return invented | overfull | (self._delivered & (~is_formed | (now_watching & Cat(wrong).any())))

    def _has_stray_error(self) -> Value:
        """An error flag is set in a lane without a symbol."""
        payload, shape = self.core.output.payload, symbol_shape(self.core.output)
        if not isinstance(shape, data.StructLayout) or "error" not in shape.members:
            return Const(0, 1)
        return Cat(symbol.error & ~payload.keep[lane] for lane, symbol in enumerate(payload.symbols)).any()

    def _has_gap(self) -> Value:
        """Symbols that should be packed are not."""
        keep = self.core.output.payload.keep
        return (keep[1:] & ~keep[:-1]).any() if self.core.packed else Const(0, 1)

    def _stalls(self, m: Module) -> Value:
        """The input is not ready and no output beat waits, as in all of the `stall_cycles` before."""
        moves = self.core.input.ready | self.waits()
        enough = self.core.stall_cycles
        return ~moves & (self.cycles_without(m, moves, enough) == enough) if enough else ~moves

    def _is_late(self, m: Module) -> Value:
        """What is determined is not output in time.

        Of one lane, while the consumer has been ready for as many cycles as the latency, only later symbols are in
        flight. Several lanes may wait for the next beat, or for a full one: after the end of a text, none is in flight.
        """
        if not isinstance(self.core, SerialDecoder):
            return self._is_left(m)
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

    def _is_left(self, m: Module) -> Value:
        """Something is in flight, although for `drain_cycles` the input has been idle and no output beat has waited."""
        ended = Signal(init=1)
        with m.If(self._accepted):
            m.d.sync += ended.eq(self.core.input.payload.last)
        enough = max(self.core.latency, self.core.drain_cycles) + 1
        quiet = self.cycles_without(m, self._accepted | self.waits(), enough)
        return ended & (quiet == enough) & (self._pending > self._going)


def _sums(m: Module, bits: Sequence[Value]) -> list[Value]:
    """For each bit the number of those before it that are set, and that of all."""
    sums: list[Value] = [Const(0, 1)]
    for bit in bits:
        total = Signal(range(len(sums) + 1))
        m.d.comb += total.eq(sums[-1] + bit)
        sums.append(total)
    return sums
