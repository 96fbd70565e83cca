# SPDX-License-Identifier: BSD-2-Clause
"""A reset between texts, again and again, so that nothing that went wrong in a decoder stays."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["MOST", "STILL", "Refresh"]

STILL = 64
"""Clocks without a beat on either side after which no decoder of whole texts holds anything, and none has to wait."""

MOST = 64
"""Beats that no decoder shows after the last that it took."""


class Refresh(wiring.Component):
    """When a decoder is to be reset, and when it must be given nothing.

    A buffer in memory and a `Packer` have counts and pointers that a flipped bit brings apart for
    good. So every so often, when a text has ended, the input is closed until nothing comes out any
    more, and all is reset. A decoder is reset at once if it does what a right one never does: is not
    ready though it shows nothing and showed nothing for long, or shows beat after beat though it takes none.

    Throughput: the input is closed at most once in `every` clocks, until all is shown, and then for
    `still` clocks and the decoder's reset.

    Args:
        every: clocks, at least, from one reset to the next; 1 is after each text.
        still: clocks without a beat; for decoders that are done sooner fewer than `STILL`.
        most: beats shown since one was taken; for decoders that hold fewer fewer than `MOST`.

    Attributes:
        due: so many have passed.
        gone: beats shown and taken by the consumer since the last that the decoder took.

    Ports:
        offered: there is a beat; not withdrawn until it is taken.
        last: it ends its text.
        able: the decoder is ready; it takes the beat unless `closed`.
        shows: it has something to show.
        wanted: the consumer is ready.
        closed: the decoder is given nothing in this clock.
        restart: it is reset in this clock, and this with it.

    Raises:
        ValueError: `every` is not positive.
    """

    def __init__(self, every: int, *, still: int = STILL, most: int = MOST) -> None:
        if every < 1:
            raise ValueError(f"a refresh every {every} clocks is not possible: give 1 or more")
        self.every, self.still, self.most = every, still, most
        self.due, self.gone = Signal(), Signal(range(most + 1))
        inward, outward = ("offered", "last", "able", "shows", "wanted"), ("closed", "restart")
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
        with m.If(taken):
            m.d.sync += [inside.eq(~self.last), self.gone.eq(0)]
        with m.Elif(self.shows & self.wanted & ~too_many):
            m.d.sync += self.gone.eq(self.gone + 1)
        return m
