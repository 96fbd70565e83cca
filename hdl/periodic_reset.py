# SPDX-License-Identifier: BSD-2-Clause
"""A periodic reset between packets, which ends the effect of bit flips."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, cast

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.core import Core
from utf8fpga.model import InvalidArgumentError

if TYPE_CHECKING:
    from utf8fpga.hdl.decoder.parameters import DecoderParameters

STILL = 64
"""Cycles without a beat at the input and the output after which most decoders have drained and are ready."""

MOST = 64
"""Upper bound on the number of output beats after the last accepted input beat."""

MAX_EVERY = (1 << 48) - 1
"""Upper bound on the cycles from one reset to the next; at 300 MHz ten days."""


class Refresh(wiring.Component):
    """The control of a periodic reset: when the input of a decoder is closed, and when the decoder is reset.

    A buffer in memory and a `Packer` have counts and pointers that a bit flip desynchronises until the next reset.
    Therefore, at intervals of at least `every` cycles and between packets, the input is closed until in-flight beats
    have drained, and decoder and control are reset. A decoder is reset immediately if it does what a correct one
    cannot do: it is not ready although it has had no output beat for `still` cycles, or it outputs `most` beats
    without having accepted one.

    Throughput: the input is closed at most once in `every` cycles, until in-flight beats have drained, and then for
    `still` cycles and the decoder's reset.

    Args:
        every: lower bound on the cycles from one reset to the next, 1 to `MAX_EVERY`; 1 is after each packet.
        still: cycles without a beat; may be less than `STILL` for a decoder in which items are pending for fewer
            cycles without a beat.
        most: output beats without an accepted beat; may be less than `MOST` for a decoder that holds fewer.

    Attributes:
        due: register, at least `every` cycles have passed since the last reset. From any contents it is set after at
            most the next power of two cycles and one.
        gone: the number of output beats transferred since the decoder last accepted a beat.
        age: counts the cycles since the last reset; a reset is due once its highest bit was set.
        beatless: the number of cycles without a beat at the input and the output, up to `still`.
        inside: a packet has begun and has not ended.
        blocked: in the preceding cycle `valid` was asserted at the decoder and `ready` was not.

    Ports:
        offered: `valid` at the input; the beat does not change until it is transferred.
        keep: the beat has a unit. A beat with neither a unit nor `last`, a null beat, begins no packet.
        last: the beat ends its packet.
        able: `ready` of the decoder, which accepts the beat unless `closed` is asserted.
        shows: `valid` at the output.
        wanted: `ready` at the output.
        closed: the input is closed in this cycle: `valid` and `ready` are deasserted.
        restart: decoder and control are reset in this cycle.

    Raises:
        InvalidArgumentError: `every` is not in 1 to `MAX_EVERY`.
    """

    def __init__(self, every: int, *, still: int = STILL, most: int = MOST) -> None:
        if not 1 <= every <= MAX_EVERY:
            raise InvalidArgumentError(f"refresh {every} is not in 1..{MAX_EVERY}")
        self.every, self.still, self.most = every, still, most
        self.gone = Signal(range(most + 1))
        bits = (every - 1).bit_length()
        # Logic behind the carry chain would be the longest path, so the count is not compared and does not stop.
        self.age = Signal(bits + 1, init=(1 << bits) - every + 1)
        self.due = Signal()
        self.beatless = Signal(range(still + 1))
        self.inside = Signal()
        self.blocked = Signal()
        inward, outward = ("offered", "keep", "last", "able", "shows", "wanted"), ("closed", "restart")
        super().__init__({**dict.fromkeys(inward, In(1)), **dict.fromkeys(outward, Out(1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        age, still, inside, blocked = self.age, self.beatless, self.inside, self.blocked
        # No comparison for equality, since a count may exceed its bound after a bit flip.
        is_still, too_many = still >= self.still, self.gone >= self.most
        # `valid` must not be withdrawn once the decoder has seen it.
        m.d.comb += self.closed.eq(self.restart | (self.due & ~inside & ~blocked))
        offered = self.offered & ~self.closed
        taken = offered & self.able
        m.d.sync += [
            blocked.eq(offered & ~self.able),
            # A decoder with an output beat may be waiting for its consumer.
            self.restart.eq((is_still & ~self.shows & (self.closed | ~self.able)) | too_many),
        ]
        m.d.sync += [age.eq(age + 1), self.due.eq(self.due | age[-1])]
        with m.If(taken | self.shows):
            m.d.sync += still.eq(0)
        with m.Elif(~is_still):
            m.d.sync += still.eq(still + 1)
        with m.If(taken & (self.keep | self.last)):
            m.d.sync += inside.eq(~self.last)
        with m.If(taken):
            m.d.sync += self.gone.eq(0)
        with m.Elif(self.shows & self.wanted & ~too_many):
            m.d.sync += self.gone.eq(self.gone + 1)
        return m


class RefreshedDecoder(wiring.Component):
    """A decoder with a periodic reset.

    Args:
        refresh: the control of the reset, or the lower bound on the cycles from one reset to the next.

    Raises:
        InvalidArgumentError: `refresh.still` is too small for the decoder: not more than its `reset_cycles`, and than
            the cycles without a beat in which items may be pending.

    Ports:
        input: as of the decoder; `ready` is deasserted while the input is closed.
        output: as of the decoder.

    Latency: that of the decoder, from the beat that is transferred.
    """

    def __init__(self, decoder: Core, refresh: Refresh | int) -> None:
        # Cycles without a beat after which the decoder has drained and is ready, at most.
        needed = max(int(getattr(decoder, "silent_cycles", decoder.drain_cycles)), decoder.reset_cycles)
        if isinstance(refresh, int):
            refresh = Refresh(refresh, still=max(STILL, needed + 1))
        self.decoder, self.refresh = decoder, refresh
        self.parameters = replace(cast("DecoderParameters", decoder.parameters), refresh=refresh.every)
        if refresh.still <= needed:
            raise InvalidArgumentError(
                f"{refresh.still} cycles without a beat are too few for this decoder: more than {needed} are needed"
            )
        self.lanes, self.packed = decoder.lanes, decoder.packed
        super().__init__(dict(decoder.signature.members))

    # No attributes, since a proof has a decoder without `latency` and `stall_cycles`.

    latency = property(attrgetter("decoder.latency"))
    reset_cycles = property(attrgetter("decoder.reset_cycles"))
    drain_cycles = property(attrgetter("decoder.drain_cycles"))

    @property
    def stall_cycles(self) -> int:
        """The input is closed until in-flight beats have drained, then for `refresh.still` cycles and a reset."""
        decoder = self.decoder
        return decoder.stall_cycles + decoder.drain_cycles + self.refresh.still + 2 + decoder.reset_cycles

    def elaborate(self, platform: object) -> Module:
        m = Module()
        decoder, refresh = self.decoder, self.refresh
        # A domain and not a `ResetInserter`, since decoders use the reset of their domain in their logic, too. In a
        # simulation its edges are one delta cycle after the outer ones: no later than any input, since each input
        # goes through an assignment below.
        m.domains += ClockDomain("refreshed", local=True)
        m.submodules.decoder = DomainRenamer("refreshed")(decoder)
        m.submodules.refresh = DomainRenamer("refreshed")(refresh)
        source, output = decoder.input, decoder.output
        m.d.comb += [
            ClockSignal("refreshed").eq(ClockSignal()),
            ResetSignal("refreshed").eq(ResetSignal(allow_reset_less=True) | refresh.restart),
            source.payload.eq(self.input.payload),
            source.valid.eq(self.input.valid & ~refresh.closed),
            self.input.ready.eq(source.ready & ~refresh.closed),
            self.output.payload.eq(output.payload),
            self.output.valid.eq(output.valid),
            output.ready.eq(self.output.ready),
            refresh.offered.eq(self.input.valid),
            refresh.keep.eq(Value.cast(self.input.payload.keep).any()),
            refresh.last.eq(self.input.payload.last),
            refresh.able.eq(source.ready),
            refresh.shows.eq(output.valid),
            refresh.wanted.eq(self.output.ready),
        ]
        return m
