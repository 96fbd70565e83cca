# SPDX-License-Identifier: BSD-2-Clause
"""The proof that a decoder with a `Refresh` recovers, whatever its registers and those of the `Refresh` hold.

What is asked of the `Refresh`, whatever surrounds it; each from any register contents but the first:

- *harmless*: from a reset or power-up on, a reset comes only where a text has ended and for `still` clocks there was
  no beat on either side; or where the decoder is refuted: then and still it shows nothing and is not ready, or it has
  shown `most` beats since it took one. And nothing is offered and then taken back.
- *due*: as many clocks after a reset as are to pass, the next is due, and stays so until it comes.
- *closes*: where it is due, a text has ended and none has begun, the input is closed or the decoder refuses a beat.
- *comes*: where it is due, nothing can be taken, and for `still` clocks nothing is shown, it comes.
- *counts*: where nothing is taken, each beat shown and taken by the consumer brings nearer the reset after `most`.

So with a willing consumer a reset comes, and after a reset from any contents all is right, which is proved as
equivalence. A right decoder loses nothing: if its text has ended it is empty by then, by its latency; it is ready where
it shows nothing and did not for long, which is proved as stall; and it never holds so many beats.

Of serial decoders the whole is proved, too: `Refreshed` ones, with small numbers, are as right as others.
"""

from __future__ import annotations

from amaranth.back import rtlil
from amaranth.hdl import ClockDomain, Elaboratable, Module, Mux, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from utf8fpga.hdl import Refresh, SerialDecoder
from utf8fpga.sim.engine import Verdict, aig_of, decide, hold_each

__all__ = ["RefreshProof", "Refreshed", "prove_refresh"]


class Refreshed(wiring.Component):
    """A serial decoder with a `Refresh`, as Verilog has them.

    Args:
        decoder: it.
        refresh: with what it is.
    """

    def __init__(self, decoder: SerialDecoder, refresh: Refresh) -> None:
        self._decoder, self._refresh = decoder, refresh
        self.table, self.lanes, self.latency = decoder.table, decoder.lanes, decoder.latency
        self.replacement, self.kind, self.length = decoder.replacement, decoder.kind, decoder.length
        self.practice, self.packed = decoder.practice, decoder.packed
        super().__init__(dict(decoder.signature.members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        decoder, refresh = self._decoder, self._refresh
        resets = ResetInserter(refresh.restart)
        m.submodules.decoder, m.submodules.refresh = resets(decoder), resets(refresh)
        connect(m, flipped(self.items), decoder.items)
        m.d.comb += [
            decoder.units.payload.eq(self.units.payload),
            decoder.units.valid.eq(self.units.valid & ~refresh.closed),
            self.units.ready.eq(decoder.units.ready & ~refresh.closed),
            refresh.offered.eq(self.units.valid),
            refresh.last.eq(self.units.payload.last),
            refresh.able.eq(decoder.units.ready),
            refresh.shows.eq(decoder.items.valid),
            refresh.wanted.eq(self.items.ready),
        ]
        return m


class RefreshProof(Elaboratable):
    """A `Refresh` with any surroundings, and what is asked of it as bits that must stay 0.

    Args:
        refresh: it.

    Attributes:
        asked: by name of the question the bit.
        frames: by name of those that look at a few clocks from any register contents on how many; that is all
            there is to them, since any clock of a run may be the first.
    """

    def __init__(self, refresh: Refresh) -> None:
        self._refresh = refresh
        self.clk = Signal(name="clk")
        names = ("offer", "last", "able", "shows", "wanted", "reset")
        self.offer, self.last, self.able, self.shows, self.wanted, self.reset = (Signal(name=name) for name in names)
        self.asked = {name: Signal(name=name) for name in ("harmless", "due", "closes", "comes", "counts")}
        self.frames = {"due": refresh.every + 2, "comes": refresh.still + 3, "counts": 3}

    @property
    def ports(self) -> list[Signal]:
        """The ports of the top module."""
        given = [self.offer, self.last, self.able, self.shows, self.wanted, self.reset]
        return [self.clk, *given, *self.asked.values()]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        refresh = self._refresh
        m.domains.sync = domain = ClockDomain("sync", reset_less=True)
        m.submodules.dut = ResetInserter(refresh.restart | self.reset)(refresh)
        m.d.comb += [
            domain.clk.eq(self.clk),
            refresh.offered.eq(self.offer),
            refresh.last.eq(self.last),
            refresh.able.eq(self.able),
            refresh.shows.eq(self.shows),
            refresh.wanted.eq(self.wanted),
        ]
        closed, restart, due = refresh.closed, refresh.restart, refresh.due
        fresh = restart | self.reset
        offered = self.offer & ~closed
        taken = offered & self.able
        frame = Signal(range(max(self.frames.values()) + 1))
        m.d.sync += frame.eq(Mux(frame == max(self.frames.values()), frame, frame + 1))

        # What a reset is judged by is what was so in the clock before, when it was decided.
        clocks, most = refresh.still, refresh.most
        still, inside, gone, ended = Signal(range(clocks + 1)), Signal(), Signal(range(most + 1)), Signal()
        refuted, refused, rightly = Signal(), Signal(), Signal()
        silent = (still == clocks) & ~self.shows
        m.d.sync += [
            still.eq(Mux(taken | self.shows | fresh, 0, Mux(still == clocks, still, still + 1))),
            gone.eq(Mux(taken | fresh, 0, gone + (self.shows & self.wanted & (gone != most)))),
            inside.eq(Mux(taken, ~self.last, inside) & ~fresh),
            refuted.eq((silent & ~self.able) | (gone == most)),
            rightly.eq(silent & ~inside & ~taken),
            refused.eq(offered & ~self.able & ~fresh),
        ]
        lost = (restart & ~refuted & ~rightly) | (restart & taken) | (refused & closed & ~restart)
        m.d.comb += self.asked["harmless"].eq(lost)

        quiet, was_due = Signal(init=1), Signal()
        m.d.sync += [quiet.eq(quiet & ~fresh), was_due.eq(due & ~fresh)]
        m.d.comb += self.asked["due"].eq(~due & (was_due | (quiet & (frame == refresh.every))))

        # The first clock ends a text, and no other one begins.
        m.d.sync += ended.eq(Mux(frame == 0, taken & self.last, ended & (~taken | self.last)))
        m.d.comb += self.asked["closes"].eq((frame != 0) & ended & due & ~closed & ~refused)

        calm = Signal(init=1)
        m.d.sync += calm.eq(calm & due & ~taken & ~self.shows & (closed | ~self.able) & ~fresh)
        m.d.comb += self.asked["comes"].eq(calm & ~restart & (frame == clocks + 1))

        before, counted, kept = Signal.like(gone), Signal(), Signal()
        m.d.sync += [
            before.eq(refresh.gone),
            counted.eq(self.shows & self.wanted & ~taken & ~fresh),
            kept.eq(~taken & ~fresh),
        ]
        fewer = kept & (refresh.gone < before)
        stuck = counted & (refresh.gone == before) & ~restart
        m.d.comb += self.asked["counts"].eq((frame != 0) & (fewer | stuck))
        return m


def prove_refresh(refresh: Refresh, *, seconds: int = 600) -> dict[str, Verdict]:
    """Prove that a decoder recovers with a `Refresh`; the verdicts by name of the question.

    Args:
        refresh: what resets it.
        seconds: how long the engine may think about one question.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    proof = RefreshProof(refresh)
    text = str(rtlil.convert(proof, name="top", ports=proof.ports, emit_src=False))
    begun, free = aig_of(text), aig_of(text, free=True)
    questions = {"harmless": (begun, begun.output_bits["harmless"][0]), "closes": (free, free.output_bits["closes"][0])}
    verdicts = decide(questions, seconds=seconds)
    for name, frames in proof.frames.items():
        (verdicts[name],) = hold_each(free, free.output_bits[name], frames, seconds=seconds)
    return verdicts
