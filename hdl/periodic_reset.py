# SPDX-License-Identifier: BSD-2-Clause
"""A reset between texts, again and again, so that nothing that went wrong in a decoder stays."""

from __future__ import annotations

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.hdl.decoder.types import PlainDecoder
from utf8fpga.model import InvalidArgumentError

__all__ = ["MAX_EVERY", "MOST", "STILL", "Refresh", "RefreshedDecoder"]

STILL = 64
"""Clocks without a beat on either side after which no decoder of whole texts holds anything, and none has to wait."""

MOST = 64
"""Beats that no decoder shows after the last that it took."""

MAX_EVERY = (1 << 48) - 1
"""Clocks; at 300 MHz ten days."""


class Refresh(wiring.Component):
    """When a decoder is to be reset, and when it must be given nothing.

    A buffer in memory and a `Packer` have counts and pointers that a flipped bit brings apart for
    good. So every so often, when a text has ended, the input is closed until nothing comes out any
    more, and all is reset. A decoder is reset at once if it does what a right one never does: is not
    ready though it shows nothing and showed nothing for long, or shows beat after beat though it takes none.

    Throughput: the input is closed at most once in `every` clocks, until all is shown, and then for
    `still` clocks and the decoder's reset.

    Args:
        every: clocks, at least, from one reset to the next, 1 to `MAX_EVERY`; 1 is after each text.
        still: clocks without a beat; for decoders that are done sooner fewer than `STILL`.
        most: beats shown since one was taken; for decoders that hold fewer fewer than `MOST`.

    Attributes:
        due: so many have passed.
        gone: beats shown and taken by the consumer since the last that the decoder took.

    Ports:
        offered: there is a beat; not withdrawn until it is taken.
        keep: it has a unit. A beat with neither a unit nor `last`, a null beat, begins no text.
        last: it ends its text.
        able: the decoder is ready; it takes the beat unless `closed`.
        shows: it has something to show.
        wanted: the consumer is ready.
        closed: the decoder is given nothing in this clock.
        restart: it is reset in this clock, and this with it.

    Raises:
        ValueError: `every` is not in 1 to `MAX_EVERY`.
    """

    def __init__(self, every: int, *, still: int = STILL, most: int = MOST) -> None:
        if not 1 <= every <= MAX_EVERY:
            raise InvalidArgumentError(f"a refresh every {every} clocks is not possible: give 1 to {MAX_EVERY}")
        self.every, self.still, self.most = every, still, most
        self.due, self.gone = Signal(), Signal(range(most + 1))
        inward, outward = ("offered", "keep", "last", "able", "shows", "wanted"), ("closed", "restart")
        super().__init__({**dict.fromkeys(inward, In(1)), **dict.fromkeys(outward, Out(1))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        age, still = Signal(range(self.every + 1)), Signal(range(self.still + 1))
        inside, refused = Signal(), Signal()
        # No exact comparison: registers may hold anything once.
        is_due, is_still, too_many = age >= self.every, still >= self.still, self.gone >= self.most
        m.d.comb += [
            self.due.eq(is_due),
            # What the decoder has been offered is not taken back.
            self.closed.eq(self.restart | (is_due & ~inside & ~refused)),
        ]
        offered = self.offered & ~self.closed
        taken = offered & self.able
        m.d.sync += [
            refused.eq(offered & ~self.able),
            # One that has only just shown something may wait for its consumer.
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

    Attributes:
        refresh: when it is reset.
        table, lanes, pipeline, packed, practice, replacement, kind, length: those of the decoder.

    Ports:
        units: as of the decoder; not ready while the input is closed.
        items: as of the decoder.

    Latency: that of the decoder, from the beat that is transferred.
    """

    def __init__(self, decoder: PlainDecoder, refresh: Refresh) -> None:
        self.decoder, self.refresh = decoder, refresh
        self.table, self.lanes, self.pipeline = decoder.table, decoder.lanes, decoder.pipeline
        self.packed, self.practice = decoder.packed, decoder.practice
        self.replacement, self.kind, self.length = decoder.replacement, decoder.kind, decoder.length
        super().__init__(dict(decoder.signature.members))

    @property
    def latency(self) -> int:
        """The cycles from a beat to its items, as of the decoder."""
        return int(self.decoder.latency)

    @property
    def reset_cycles(self) -> int:
        """Cycles after a reset from outside in which `units.ready` is low."""
        return int(self.decoder.reset_cycles)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        decoder, refresh = self.decoder, self.refresh
        # A domain and not a `ResetInserter`, since decoders use their domain's reset in their logic, too. In a
        # simulation its edges come one delta cycle after the outer ones: no later than any input, since each input
        # goes through an assignment below.
        m.domains += ClockDomain("refreshed", local=True)
        m.submodules.decoder = DomainRenamer("refreshed")(decoder)
        m.submodules.refresh = DomainRenamer("refreshed")(refresh)
        units, items = decoder.units, decoder.items
        m.d.comb += [
            ClockSignal("refreshed").eq(ClockSignal()),
            ResetSignal("refreshed").eq(ResetSignal(allow_reset_less=True) | refresh.restart),
            units.payload.eq(self.units.payload),
            units.valid.eq(self.units.valid & ~refresh.closed),
            self.units.ready.eq(units.ready & ~refresh.closed),
            self.items.payload.eq(items.payload),
            self.items.valid.eq(items.valid),
            items.ready.eq(self.items.ready),
            refresh.offered.eq(self.units.valid),
            refresh.keep.eq(Value.cast(self.units.payload.keep).any()),
            refresh.last.eq(self.units.payload.last),
            refresh.able.eq(units.ready),
            refresh.shows.eq(items.valid),
            refresh.wanted.eq(self.items.ready),
        ]
        return m
