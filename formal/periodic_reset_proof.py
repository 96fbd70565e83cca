# SPDX-License-Identifier: BSD-2-Clause
"""The proof that a decoder with a `Refresh` recovers, whatever its registers and those of the `Refresh` hold.

What is asked of a `RefreshedDecoder`, whatever surrounds it and whatever the decoder in it does; each from any
register contents but *harmless*:

- *passes*: both streams are the decoder's, but that no beat is transferred while the input is closed; and the decoder
  is reset where the `Refresh` says so.
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

Of serial decoders the whole is proved, too: a `RefreshedDecoder`, with small numbers, is as correct as others.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from amaranth.back import rtlil
from amaranth.hdl import (
    Cat,
    ClockDomain,
    DomainRenamer,
    Elaboratable,
    Module,
    Mux,
    ResetSignal,
    Signal,
    Value,
)
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from utf8fpga.formal.abc import Verdict, decide, hold_each
from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.hdl import (
    ParallelDecoder,
    Refresh,
    RefreshedDecoder,
    beat_layout,
    item_layout,
)
from utf8fpga.hdl.payloads import HasItemOptions, ItemOptions
from utf8fpga.model import TABLE_3_7

__all__ = ["RefreshProof", "prove_refresh"]


class _AnyDecoder(HasItemOptions, wiring.Component):
    """What stands for the decoder: its outputs are inputs of the proof, so it does anything.

    Attributes:
        able, shows, given: whether it is ready, whether it has a beat, and which.
        in_reset: it is reset in this cycle.
    """

    table = TABLE_3_7
    lanes = 2
    pipeline = 0
    packed = False
    practice = ParallelDecoder.practice
    item_options = ItemOptions()
    # Bounds that any `Refresh` fits: the proof assumes none.
    reset_cycles = drain_cycles = 0

    def __init__(self) -> None:
        units, items = beat_layout(self.table.unit_width, self.lanes), beat_layout(item_layout(self.table), self.lanes)
        super().__init__({"input": In(stream.Signature(units)), "output": Out(stream.Signature(items))})
        self.able, self.shows, self.in_reset = Signal(), Signal(), Signal()
        self.given = Signal(len(Value.cast(self.output.payload)))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.input.ready.eq(self.able),
            self.output.valid.eq(self.shows),
            Value.cast(self.output.payload).eq(self.given),
            self.in_reset.eq(ResetSignal()),
        ]
        return m


class RefreshProof(Elaboratable):
    """A `RefreshedDecoder` with any surroundings and any decoder, and what is asked of it as bits that must stay 0.

    Args:
        refresh: when the decoder is reset.

    Attributes:
        asked: by name of the question the bit.
        frames: by name of those that look at a few clocks from any register contents on how many; that is all
            there is to them, since any clock of a run may be the first.
    """

    def __init__(self, refresh: Refresh) -> None:
        self._refresh = refresh
        self._decoder = decoder = _AnyDecoder()
        like: Any = decoder
        self._refreshed = RefreshedDecoder(like, refresh)
        self.clk = Signal(name="clk")
        self.offer, self.able, self.shows, self.wanted, self.reset = (
            Signal(name=name) for name in ("offer", "able", "shows", "wanted", "reset")
        )
        self.beat = Signal(len(Value.cast(decoder.input.payload)), name="beat")
        self.given = Signal(len(decoder.given), name="given")
        self.asked = {name: Signal(name=name) for name in ("passes", "harmless", "due", "closes", "comes", "counts")}
        self.frames = {"passes": 1, "due": refresh.every + 2, "comes": refresh.still + 3, "counts": 3}

    @property
    def ports(self) -> list[Signal]:
        """The ports of the top module."""
        given = [self.offer, self.beat, self.able, self.shows, self.given, self.wanted, self.reset]
        return [self.clk, *given, *self.asked.values()]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        refresh, decoder, refreshed = self._refresh, self._decoder, self._refreshed
        m.domains.sync = domain = ClockDomain("sync", reset_less=True)
        m.domains.around = around = ClockDomain("around")
        m.submodules.dut = DomainRenamer("around")(refreshed)
        m.d.comb += [
            domain.clk.eq(self.clk),
            around.clk.eq(self.clk),
            around.rst.eq(self.reset),
            refreshed.input.valid.eq(self.offer),
            Value.cast(refreshed.input.payload).eq(self.beat),
            refreshed.output.ready.eq(self.wanted),
            decoder.able.eq(self.able),
            decoder.shows.eq(self.shows),
            decoder.given.eq(self.given),
        ]
        self.last = refreshed.input.payload.last
        # A beat with neither a unit nor `last`, a null beat, begins no text and ends none.
        self.null = ~Value.cast(refreshed.input.payload.keep).any() & ~self.last
        passes = [
            decoder.input.valid == (self.offer & ~refresh.closed),
            refreshed.input.ready == (self.able & ~refresh.closed),
            Value.cast(decoder.input.payload) == self.beat,
            refreshed.output.valid == self.shows,
            Value.cast(refreshed.output.payload) == self.given,
            decoder.output.ready == self.wanted,
            decoder.in_reset == (self.reset | refresh.restart),
        ]
        m.d.comb += self.asked["passes"].eq(~Cat(*passes).all())
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
            inside.eq(Mux(taken & ~self.null, ~self.last, inside) & ~fresh),
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
        m.d.sync += ended.eq(Mux(frame == 0, taken & self.last, ended & (~taken | self.last | self.null)))
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


def prove_refresh(refresh: Refresh, *, asked: Collection[str] = (), seconds: int = 600) -> dict[str, Verdict]:
    """Prove that a decoder recovers with a `Refresh`; the verdicts by name of the question.

    Args:
        refresh: what resets it.
        asked: the questions; all if none.
        seconds: how long the engine may think about one question.

    Raises:
        ToolError: Yosys is missing or failed.
    """
    proof = RefreshProof(refresh)
    text = str(rtlil.convert(proof, name="top", ports=proof.ports, emit_src=False))
    wanted = [name for name in proof.asked if name in asked or not asked]

    def bit(name: str) -> tuple[Aig, int]:
        # Only the harm that a reset does is a matter of where all began.
        aig = aig_of(text, free=name != "harmless")
        return aig, aig.output_bits[name][0]

    verdicts = decide({name: bit(name) for name in wanted if name not in proof.frames}, seconds=seconds)
    if few := [name for name in wanted if name in proof.frames]:
        outputs = {bit(name)[1]: proof.frames[name] for name in few}
        verdicts |= zip(few, hold_each(bit(few[0])[0], outputs, seconds=seconds), strict=True)
    return {name: verdicts[name] for name in wanted}
