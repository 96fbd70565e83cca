# SPDX-License-Identifier: BSD-2-Clause
"""A reset between packets, again and again, so that no flipped bit has an effect for long."""

from __future__ import annotations

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.decoder.types import PlainDecoder
from utf8fpga.hdl.packer.packer import PackedDecoder
from utf8fpga.model import InvalidArgumentError

__all__ = ["MAX_EVERY", "MOST", "STILL", "Refresh", "RefreshedDecoder"]

STILL = 64
"""Cycles without a beat on either side after which no decoder holds items of whole packets, and each is ready."""

MOST = 64
"""Upper bound on the number of output beats after the last accepted input beat."""

MAX_EVERY = (1 << 48) - 1
"""Upper bound on the cycles from one reset to the next; at 300 MHz ten days."""


def _silence(decoder: PlainDecoder) -> int:
    """Upper bound on the cycles without a beat at either side of a decoder while items are pending in it."""
    if isinstance(decoder, PackedDecoder):
        # Without a row at its output, a packer is ready, and all that the other decoder holds passes through it.
        return decoder.packer.stall_cycles + decoder.sparse.drain_cycles + decoder.packer.latency
    return int(decoder.drain_cycles)


class Refresh(wiring.Component):
    """When a decoder is to be reset, and when its input is closed.

    A buffer in memory and a `Packer` have counts and pointers that a flipped bit desynchronises until a reset. So every
    so often, when a packet has ended, the input is closed until in-flight beats have drained, and all is reset. A
    decoder is reset at once if it does what no correct one does: it is not ready although it has had no output beat
    for long, or it has output beat after output beat although it accepts none.

    Throughput: the input is closed at most once in `every` cycles, until in-flight beats have drained, and then for
    `still` cycles and the decoder's reset.

    Args:
        every: lower bound on the cycles from one reset to the next, 1 to `MAX_EVERY`; 1 is after each packet.
        still: cycles without a beat; less than `STILL` for decoders in which items are pending
            for fewer cycles without a beat.
        most: output beats since one was accepted; less than `MOST` for decoders that hold fewer.

    Attributes:
        due: so many cycles have passed.
        gone: output beats transferred since the decoder last accepted a beat.
        age: cycles since the last reset, up to `every`.
        beatless: cycles without a beat on either side, up to `still`.
        inside: a packet has begun and has not ended.
        refused: the decoder was offered a beat in the cycle before and was not ready.

    Ports:
        offered: a beat is offered; it is not withdrawn until it is transferred.
        keep: it has a unit. A beat with neither a unit nor `last`, a null beat, begins no packet.
        last: it ends its packet.
        able: the decoder is ready; it accepts the beat unless `closed`.
        shows: the decoder has an output beat.
        wanted: the consumer is ready.
        closed: the decoder is offered nothing in this cycle.
        restart: it is reset in this cycle, and this component with it.

    Raises:
        InvalidArgumentError: `every` is not in 1 to `MAX_EVERY`.
    """

    def __init__(self, every: int, *, still: int = STILL, most: int = MOST) -> None:
        if not 1 <= every <= MAX_EVERY:
            raise InvalidArgumentError(f"a refresh every {every} clocks is not possible: give 1 to {MAX_EVERY}")
        self.every, self.still, self.most = every, still, most
        self.due, self.gone = Signal(), Signal(range(most + 1))
        # The second ones are named, since the name that Amaranth finds for them depends on the version of Python.
        self.age, self.beatless = Signal(range(every + 1)), Signal(range(still + 1), name="still")
        self.inside, self.refused = Signal(), Signal(name="refused")
        inward, outward = ("offered", "keep", "last", "able", "shows", "wanted"), ("closed", "restart")
        super().__init__({**dict.fromkeys(inward, In(1)), **dict.fromkeys(outward, Out(1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        age, still, inside, refused = self.age, self.beatless, self.inside, self.refused
        # Not compared for equality: after a flipped bit a count may be beyond its bound.
        is_due, is_still, too_many = age >= self.every, still >= self.still, self.gone >= self.most
        m.d.comb += [
            self.due.eq(is_due),
            # A beat that the decoder has been offered is not withdrawn.
            self.closed.eq(self.restart | (is_due & ~inside & ~refused)),
        ]
        offered = self.offered & ~self.closed
        taken = offered & self.able
        m.d.sync += [
            refused.eq(offered & ~self.able),
            # A decoder that has had an output beat just now may wait for its consumer.
            self.restart.eq((is_still & ~self.shows & (self.closed | ~self.able)) | too_many),
        ]
        with m.If(~is_due):
            m.d.sync += age.eq(age + 1)
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
    """A decoder and the `Refresh` that resets it.

    Args:
        decoder: the decoder.
        refresh: when it is reset.

    Raises:
        InvalidArgumentError: `refresh.still` is too small for the decoder: less than the cycles in which it drains, or
            is not ready after a reset.

    Attributes:
        refresh: when it is reset.
        table, lanes, pipeline, packed, practice, replacement, kind, length: those of the decoder.

    Ports:
        input: as of the decoder; not ready while the input is closed.
        output: as of the decoder.

    Latency: that of the decoder, from the beat that is transferred.
    """

    def __init__(self, decoder: PlainDecoder, refresh: Refresh) -> None:
        self.decoder, self.refresh = decoder, refresh
        needed = max(_silence(decoder), decoder.reset_cycles)
        if refresh.still <= needed:
            raise InvalidArgumentError(
                f"{refresh.still} cycles without a beat are too few for this decoder: more than {needed} are needed"
            )
        self.table, self.lanes, self.pipeline = decoder.table, decoder.lanes, decoder.pipeline
        self.packed, self.practice = decoder.packed, decoder.practice
        self.replacement, self.kind, self.length = decoder.replacement, decoder.kind, decoder.length
        super().__init__(dict(decoder.signature.members))

    @property
    def latency(self) -> int:
        """Upper bound on the cycles from a beat to its items, as of the decoder."""
        return int(self.decoder.latency)

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset from outside in which `input.ready` is low."""
        return int(self.decoder.reset_cycles)

    @property
    def drain_cycles(self) -> int:
        """Upper bound on the cycles until all items are transferred that are determined, as of the decoder."""
        return int(self.decoder.drain_cycles)

    @property
    def stall_cycles(self) -> int:
        """Upper bound on the cycles in a row in which `input.ready` is low while no output beat waits.

        The input is closed until in-flight beats have drained, then for `refresh.still` cycles and a reset.
        """
        decoder = self.decoder
        return int(decoder.stall_cycles + decoder.drain_cycles + self.refresh.still + 2 + decoder.reset_cycles)

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
