# SPDX-License-Identifier: BSD-2-Clause
"""The proof that a decoder with a `Refresh` recovers from arbitrary flip-flop contents.

The properties of a `RefreshedDecoder`, for arbitrary inputs and for arbitrary behaviour of the decoder in it. Each
holds from arbitrary flip-flop contents, except *harmless*, which holds from a reset or from power-up:

- *passes*: both streams are those of the decoder, except that no beat is transferred at the input while it is closed.
  The decoder is reset if and only if `rst` or `restart` is asserted.
- *harmless*: a periodic reset happens only between packets after `still` cycles without a beat at the input and the
  output; or if the decoder is faulty: after `still` such cycles it is neither ready nor has an output beat, or it has
  transferred `most` output beats since it last accepted one. A reset loses no accepted beat, and `valid` is not
  deasserted at the decoder before the transfer.
- *due*: `every` cycles after a reset the next one is due, and it stays due until it happens. From arbitrary contents it
  is due after at most the next power of two cycles and one.
- *closes*: while a reset is due between packets, the input is closed or the decoder is not ready for a beat.
- *comes*: if a reset is due, no beat can be accepted, and there is no output beat for `still` cycles, it happens.
- *counts*: while no beat is accepted, each output beat that is transferred increments the count up to `most`.

So a reset happens if the consumer accepts beats, and after a reset from arbitrary contents the decoder is correct,
which is the property equivalence. A correct decoder loses no item: between packets it has drained by then, by its
latency; it is ready if it has had no output beat for `still` cycles, which is the property stall; and it never holds
`most` beats.

A `RefreshedDecoder` with a serial decoder and small numbers is also proved as a whole, like any other decoder.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from amaranth.hdl import Cat, ClockDomain, DomainRenamer, Module, Mux, Signal, Value
from amaranth.lib import wiring

from utf8fpga.formal.abc import Verdict, decide, hold_each
from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.formal.axi_stream_proof import AnyCore
from utf8fpga.formal.top import Top
from utf8fpga.hdl import DecoderParameters, Refresh, RefreshedDecoder


class RefreshProof(Top):
    """A `RefreshedDecoder` with arbitrary inputs and an arbitrary decoder, and a bit per property that must stay 0.

    Attributes:
        asked: the bit of each property, by name.
        frames: for the properties of a few consecutive cycles the number of cycles, by name. To examine so many from
            arbitrary flip-flop contents is a complete proof, since any cycle of a run may be the first.
    """

    def __init__(self, refresh: Refresh) -> None:
        super().__init__()
        self._refresh = refresh
        parameters = DecoderParameters(lanes=2, packed=False)
        # Its bounds are 0, which every `Refresh` satisfies; the proof does not assume any.
        self._decoder: Any = AnyCore(wiring.PureInterface(wiring.Signature(parameters.ports)))
        self._decoder.parameters, self._decoder.lanes, self._decoder.packed = parameters, 2, False
        self._refreshed = RefreshedDecoder(self._decoder, refresh)
        self.offer, self.able, self.shows, self.wanted, self.reset = (
            Signal(name=name) for name in ("offer", "able", "shows", "wanted", "reset")
        )
        self.beat = Signal(len(Value.cast(self._decoder.input.payload)), name="beat")
        self.given = Signal(len(Value.cast(self._decoder.output.payload)), name="given")
        self.asked = {name: Signal(name=name) for name in ("passes", "harmless", "due", "closes", "comes", "counts")}
        self._bound = (1 << len(refresh.age) - 1) + 1
        self.frames = {"passes": 1, "due": self._bound + 2, "comes": refresh.still + 3, "counts": 3}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        refresh, decoder, refreshed = self._refresh, self._decoder, self._refreshed
        self.clocked(m)
        m.domains.around = around = ClockDomain("around")
        m.submodules.dut = DomainRenamer("around")(refreshed)
        m.d.comb += [
            around.clk.eq(self.clk),
            around.rst.eq(self.reset),
            refreshed.input.valid.eq(self.offer),
            Value.cast(refreshed.input.payload).eq(self.beat),
            refreshed.output.ready.eq(self.wanted),
            decoder.made["input_ready"].eq(self.able),
            decoder.made["output_valid"].eq(self.shows),
            decoder.made["output_payload"].eq(self.given),
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
            decoder.reset == (self.reset | refresh.restart),
        ]
        m.d.comb += self.asked["passes"].eq(~Cat(*passes).all())
        closed, restart, due = refresh.closed, refresh.restart, refresh.due
        fresh = restart | self.reset
        offered = self.offer & ~closed
        taken = offered & self.able
        frame = Signal(range(max(self.frames.values()) + 1))
        m.d.sync += frame.eq(Mux(frame == max(self.frames.values()), frame, frame + 1))

        # A reset is judged by the preceding cycle, in which it was decided.
        cycles, most = refresh.still, refresh.most
        still, inside, gone, ended = Signal(range(cycles + 1)), Signal(), Signal(range(most + 1)), Signal()
        refuted, refused, between = Signal(), Signal(), Signal()
        silent = (still == cycles) & ~self.shows
        m.d.sync += [
            still.eq(Mux(taken | self.shows | fresh, 0, Mux(still == cycles, still, still + 1))),
            gone.eq(Mux(taken | fresh, 0, gone + (self.shows & self.wanted & (gone != most)))),
            inside.eq(Mux(taken & ~self.null, ~self.last, inside) & ~fresh),
            refuted.eq((silent & ~self.able) | (gone == most)),
            between.eq(silent & ~inside & ~taken),
            refused.eq(offered & ~self.able & ~fresh),
        ]
        lost = (restart & ~refuted & ~between) | (restart & taken) | (refused & closed & ~restart)
        m.d.comb += self.asked["harmless"].eq(lost)

        # Without a reset, and with one in the first cycle only.
        quiet, follows, was_due = Signal(init=1), Signal(), Signal()
        m.d.sync += [
            quiet.eq(quiet & ~fresh),
            follows.eq(Mux(frame == 0, fresh, follows & ~fresh)),
            was_due.eq(due & ~fresh),
        ]
        late = (quiet & (frame == self._bound)) | (follows & (frame == refresh.every + 1))
        m.d.comb += self.asked["due"].eq(~due & (was_due | late))

        # A packet ends in the first cycle, and no other one begins.
        m.d.sync += ended.eq(Mux(frame == 0, taken & self.last, ended & (~taken | self.last | self.null)))
        m.d.comb += self.asked["closes"].eq((frame != 0) & ended & due & ~closed & ~refused)

        calm = Signal(init=1)
        m.d.sync += calm.eq(calm & due & ~taken & ~self.shows & (closed | ~self.able) & ~fresh)
        m.d.comb += self.asked["comes"].eq(calm & ~restart & (frame == cycles + 1))

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
    """Prove that a decoder recovers with a `Refresh`.

    Args:
        asked: the names of properties; all if empty.

    Returns:
        The verdicts, by name of the property.
    """
    proof = RefreshProof(refresh)
    text = proof.rtlil()
    wanted = [name for name in proof.asked if name in asked or not asked]

    def bit(name: str) -> tuple[Aig, int]:
        # Only *harmless* depends on the initial state.
        aig = aig_of(text, free=name != "harmless")
        return aig, aig.output_bits[name][0]

    verdicts = decide({name: bit(name) for name in wanted if name not in proof.frames}, seconds=seconds)
    if few := [name for name in wanted if name in proof.frames]:
        outputs = {bit(name)[1]: proof.frames[name] for name in few}
        verdicts |= zip(few, hold_each(bit(few[0])[0], outputs, seconds=seconds), strict=True)
    return {name: verdicts[name] for name in wanted}
