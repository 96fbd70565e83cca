# SPDX-License-Identifier: BSD-2-Clause
"""The proof of the stages of an encoder with several words per beat.

The stages have no feedback, but for a beat that waits where the lane before it is not empty. So what they output is a
function of the beats of a few cycles, and three kinds of questions make the proof:

- from arbitrary flip-flop contents, after as many cycles as the stages have, the output is that of the rows;
- so it is in each of these cycles after a reset from arbitrary contents, and after power-up;
- where they can pause, nothing changes in a cycle in which they do.

The reference says for each output lane which unit it has. That the units are in order follows from their lanes:

- the units of a code point end in the last output lane of its lane, and with those that do not fit there begin in the
  output lanes of the lane before;
- no other unit is in these, which is one of the claims, and they do not go beyond one lane, which is another one;
- with units of the first lane of a beat, there is no end of a packet: another one.

The producer is constructed, not assumed: it sends any beats, except that no symbol is in the lane before one that its
contract says has that lane to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.formal.cycles import Cycles, entailed
from utf8fpga.formal.encoder_reference import EncoderReference
from utf8fpga.formal.helpers import lanes_in, named
from utf8fpga.formal.reference import Event
from utf8fpga.formal.top import Top
from utf8fpga.formal.transcoder_reference import is_ill_formed
from utf8fpga.hdl.encoder.stages import EncoderStages
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable


def needs_two_lanes(item: Any, source: EncodingTable) -> Value:
    """Whether the sequence of an item is well-formed and has several units, so that it has the lane before to itself.

    Args:
        item: a well-formed item, or an ill-formed one.
    """
    rows = [row.code_points for row in source.rows if len(row.units) > 1]
    inside = [(item.code_point >= points.first) & (item.code_point <= points.last) for points in rows]
    return ~item.error & Cat(*inside).any()


@dataclass
class _Beat:
    """A beat that the stages accepted, if it is valid."""

    valid: Signal
    payload: Any


class StagesProof(Top):
    """The stages between a producer and a reference.

    Args:
        stages: the stages, which must not be part of another design.
        source: the table of the decoder in front; None: each code point may have any lane, and is any number.

    Attributes:
        cycles: the number of them until nothing of arbitrary flip-flop contents is left.
        offer, fresh: inputs with arbitrary values: whether there is a beat, and from what its payload is made. There is
            none in the cycle after a reset.
        wrong: per output lane whether it differs from the reference; then whether two units are in one place, a unit
            is too far from its lane, `valid` or `last` differs, a lent unit is in a beat with the end of a packet, and
            whether the stages accept a beat although they must not, or the other way round.
    """

    def __init__(self, stages: EncoderStages, reference: EncoderReference, source: EncodingTable | None) -> None:
        super().__init__()
        self._stages, self._reference, self._source = stages, reference, source
        self.reset, self.run, self.offer = (Signal(name=n) for n in ("reset", "run", "offer"))
        self.fresh = Signal(len(Value.cast(stages.input.payload)), name="fresh")
        self.names = [*(f"output lane {lane}" for lane in range(stages.lanes * stages.slots)), *_WHOLE]
        self.wrong = Signal(len(self.names), name="wrong")
        # A beat that waits makes room in the cycle after.
        self.cycles = stages.latency + 2

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.clocked(m, self.reset)
        m.submodules.dut = stages = self._stages
        beats = self._beats(m)
        was_reset = Signal(name="was_reset", reset_less=True)
        m.d.sync += was_reset.eq(self.reset)
        m.d.comb += [
            stages.run.eq(self.run.replicate(len(stages.run))),
            stages.input.valid.eq(beats[0].valid),
            stages.input.payload.eq(beats[0].payload),
        ]
        fresh = data.View(stages.input.payload.shape(), self.fresh)
        self._offer(m, beats, fresh, self.offer & ~was_reset)
        m.d.comb += self.wrong.eq(Cat(*self._compare(m, beats)))
        return m

    def _beats(self, m: Module) -> list[_Beat]:
        """The beat at the input, and those that were accepted, each one stage later than the one before."""
        stages, shape = self._stages, self._stages.input.payload.shape()
        beats = [
            _Beat(Signal(name=f"beat_{n}_valid"), Signal(shape, name=f"beat_{n}", reset_less=n > 0))
            for n in range(stages.latency + 1)
        ]
        for n, (earlier, later) in enumerate(pairwise(beats)):
            # A beat waits in the first stage; in the second one there is none then.
            moves = stages.input.ready if n == 0 else self.run
            with m.If(moves):
                valid = earlier.valid & stages.input.ready if n == 1 else earlier.valid
                m.d.sync += [later.valid.eq(valid), later.payload.eq(earlier.payload)]
        return beats

    def _offer(self, m: Module, beats: Sequence[_Beat], fresh: Any, offer: Value) -> None:
        """The producer."""
        lanes, (given, previous, *_) = self._stages.lanes, beats
        keep: list[Value] = [*fresh.keep]
        for lane in range(lanes):
            symbol = fresh.symbols[lane]
            if self._source is not None:
                error = named(m, f"error_{lane}", is_ill_formed(symbol, self._source))
                item = given.payload.symbols[lane]
                replaced = Const(REPLACEMENT_CHARACTER, len(symbol.code_point))
                m.d.comb += [item.code_point.eq(Mux(error, replaced, symbol.code_point)), item.error.eq(error)]
            else:
                m.d.comb += given.payload.symbols[lane].eq(symbol)
        if self._source is not None:
            for lane in reversed(range(lanes)):
                two = needs_two_lanes(given.payload.symbols[lane], self._source)
                if lane:
                    keep[lane - 1] = keep[lane - 1] & ~(keep[lane] & two)
                elif not self._stages.collides:
                    busy = previous.valid & (previous.payload.keep[lanes - 1] | previous.payload.last)
                    keep[0] = keep[0] & ~(two & busy)
        m.d.comb += [
            given.payload.keep.eq(Cat(*keep)),
            given.payload.last.eq(fresh.last),
            given.valid.eq(offer & (given.payload.keep.any() | fresh.last)),
        ]

    def _compare(self, m: Module, beats: Sequence[_Beat]) -> list[Value]:
        """`wrong`."""
        stages, slots = self._stages, self._stages.slots
        beat, following = beats[-1], beats[-2]
        units = [self._units(m, symbol, beat.valid & keep) for symbol, keep in lanes_in(beat.payload)]
        symbol, keep = lanes_in(following.payload)[0]
        units.append(self._units(m, symbol, following.valid & keep))
        wrong: list[Value] = []
        twice: list[Value] = []
        far: list[Value] = []
        for lane in range(stages.lanes):
            for at in range(slots):
                place = at if stages.from_first else slots - 1 - at
                own = units[lane][place]
                lent = units[lane + 1][slots + place : slots + place + 1]
                present = Cat(each.valid for each in [own, *lent])
                shown, is_kept = stages.entry.symbols[lane * slots + at], stages.entry.keep[lane * slots + at]
                same = [
                    ~each.valid | ((shown.unit == each.word.unit) & (shown.error == each.word.error))
                    for each in [own, *lent]
                ]
                correct = (is_kept == present.any()) & (is_kept | ~shown.error) & Cat(*same).all()
                wrong.append(stages.entry_valid & ~correct)
                twice.append(present.all() if lent else Const(0, 1))
        for each in units:
            far += [unit.valid for unit in each[2 * slots :]]
        lends = named(m, "lends", Cat(unit.valid for unit in units[-1][slots:]).any())
        is_valid, ends = beat.valid | lends, beat.valid & beat.payload.last
        waits: Value = Const(0, 1)
        if stages.collides:
            symbol, keep = lanes_in(beats[1].payload)[0]
            waiting = self._units(m, symbol, beats[1].valid & keep)
            taken = beats[2].payload.keep[stages.lanes - 1] | beats[2].payload.last
            waits = Cat(unit.valid for unit in waiting[slots:]).any() & beats[2].valid & taken
        return [
            *wrong,
            Cat(*twice).any(),
            Cat(*far, Const(0, 1)).any(),
            stages.entry_valid != is_valid,
            is_valid & (stages.entry.last != ends),
            lends & ends,
            stages.input.ready != (self.run & ~waits),
        ]

    def _units(self, m: Module, symbol: Any, keep: Value) -> list[Event]:
        """The units of a symbol: the first one first with `from_first`, otherwise the last one first."""
        events = self._reference.units(m, *self._reference.given(symbol), keep)
        if self._stages.from_first:
            return events
        found = [Event(self._reference.word) for _ in events]
        is_last = [one.valid & ~other.valid for one, other in pairwise(events)]
        for count, last in enumerate([*is_last, events[-1].valid], 1):
            with m.If(last):
                for one, other in zip(found, reversed(events[:count]), strict=False):
                    m.d.comb += [one.valid.eq(1), one.word.eq(other.word)]
        return found


_WHOLE = ("two units in one place", "a unit too far", "valid", "last", "a unit of the next packet", "ready")


def prove_stages(
    build: Callable[[], tuple[EncoderStages, EncoderReference]],
    source: EncodingTable | None = None,
    *,
    power_up: bool = False,
    seconds: int = 600,
) -> tuple[bool | None, str]:
    """Prove that the stages of an encoder output the units of the rows.

    The result is the answer of `entailed`, and what does not hold. For `source` see `StagesProof`.
    """
    stages, reference = build()
    proof = StagesProof(stages, reference, source)
    text = proof.rtlil()
    ways = {"any contents": (True, [0] * proof.cycles), "reset": (True, [1, *[0] * proof.cycles])}
    if power_up:
        ways["power-up"] = (False, [0] * proof.cycles)
    for way, (free, resets) in ways.items():
        aig = aig_of(text, free=free)
        cycles = _cycles(aig, resets, [None if reset else 1 for reset in resets])
        claims = {
            f"{way}: {name} in cycle {cycle}": [outputs[at] ^ 1]
            for cycle, outputs in enumerate(cycles.outputs)
            if cycle >= {"any contents": proof.cycles - 1, "reset": 1, "power-up": 0}[way]
            for name, at in zip(proof.names, aig.output_bits["wrong"], strict=True)
        }
        proved, failed = entailed(cycles.gates, [], claims, seconds=seconds)
        if not proved:
            return proved, failed
    if stages.pauses and not _pauses(aig_of(text, free=True)):
        return False, "something changes in a pause"
    return True, ""


def _cycles(aig: Aig, resets: Sequence[int], runs: Sequence[int | None]) -> Cycles:
    """Some cycles, each with the value of the reset, and of `run`; None: with any value."""
    (reset,), (run,) = aig.input_bits["reset"], aig.input_bits["run"]
    fixed = zip(resets, runs, strict=True)
    return Cycles(aig, [{reset: one, **({} if other is None else {run: other})} for one, other in fixed])


def _pauses(aig: Aig) -> bool:
    """Whether nothing changes in a cycle without `run` and without a reset; by structure, from any contents."""
    # In the first cycle the registers do not hold the contents yet that were chosen for them.
    cycles = _cycles(aig, [0, 0], [1, 0])
    return cycles.states[1] == cycles.states[2]
