# SPDX-License-Identifier: BSD-2-Clause
"""A proof that states less is noticed: for each file of proofs, some faults that only one part of a proof refutes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream
from amaranth.sim import Simulator
from support.faults import combinational, with_fault, with_registers
from support.weakenings import Weakening, weaken

from utf8fpga.formal import packer_proof
from utf8fpga.formal.aiger import Aig
from utf8fpga.formal.encoder_reference import EncoderReference
from utf8fpga.formal.packer_monitors import PackerMonitors
from utf8fpga.formal.packer_proof import NARROW
from utf8fpga.formal.properties import Property
from utf8fpga.formal.stages_proof import StagesProof, prove_stages
from utf8fpga.formal.tap_proof import TapHarness, prove_tap
from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.encoder.logic import EncoderLogic
from utf8fpga.hdl.encoder.stages import EncoderStages
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.hdl.validator.verdict import VerdictTap
from utf8fpga.model import TABLE_3_7, UTF_16

Proves = Callable[[pytest.MonkeyPatch], bool | None]


def tap(component: Callable[[], Any], wanted: Property = Property.EQUIVALENCE) -> Proves:
    return lambda _: prove_tap(component, TABLE_3_7, wanted).proved


def spoilt(m: Module, component: Any) -> None:
    """A register that no reset clears inverts the verdict while it is set, which it never is from power-up on."""
    spoils = Signal(reset_less=True)
    m.d.sync += spoils.eq(spoils)
    with m.If(spoils):
        m.d.comb += component.report.well_formed.eq(0)


class Hasty(VerdictTap):
    """A tap that takes a beat that waits for one that is transferred."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = VerdictTap(self.table)
        m.d.comb += [
            inner.payload.eq(self.payload),
            inner.valid.eq(self.valid),
            inner.ready.eq(1),
            self.report.eq(inner.report),
            self.report_valid.eq(inner.report_valid),
        ]
        return m


TAP = {
    "reports at other times": Weakening(
        TapHarness.elaborate,
        "(tap.report_valid != report) | ",
        "",
        tap(with_fault(VerdictTap, combinational(lambda tap: tap.report_valid.eq(1)))),
    ),
    "the verdict": Weakening(
        TapHarness.elaborate,
        " | (report & (tap.report.well_formed != verdict))",
        "",
        tap(with_fault(VerdictTap, combinational(lambda tap: tap.report.well_formed.eq(1)))),
    ),
    "pauses": Weakening(
        TapHarness.elaborate, "m = Module()", "m = Module()\n    m.d.comb += self.ready.eq(1)", tap(Hasty)
    ),
    "resets": Weakening(
        TapHarness.elaborate,
        "self.reset | first",
        "first",
        tap(with_registers(VerdictTap, failed={"reset_less": True}), Property.POWER_UP),
    ),
    "any flip-flop contents": Weakening(
        prove_tap, "free=wanted.any_start", "free=False", tap(with_fault(VerdictTap, spoilt))
    ),
}


def staged(
    stages: type[EncoderStages],
    *changes: Callable[[pytest.MonkeyPatch], None],
    items: bool = False,
    slots: int = 1,
    collides: bool = False,
) -> Proves:
    """Stages to UTF-16 with one lane."""
    symbol = item_layout(TABLE_3_7) if items else 32

    def parts() -> tuple[EncoderStages, EncoderReference]:
        made = stages(EncoderLogic.of_bits(UTF_16, 21 if items else 32), 1, symbol, slots, collides=collides)
        return made, EncoderReference(SimpleNamespace(encoding=SimpleNamespace(table=UTF_16)))

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool | None:
        for change in changes:
            change(monkeypatch)
        return prove_stages(parts, TABLE_3_7 if items else None)[0]

    return proves


def shown(assignments: Callable[[Any], Any]) -> type[EncoderStages]:
    """Stages with another output."""
    return with_fault(EncoderStages, combinational(assignments))


def errors_in_empty_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    coded = EncoderStages._coded

    def wrong(self: EncoderStages, lane: Any, present: Any) -> Any:
        return [[keep, error | ~keep, *bits] for keep, error, *bits in coded(self, lane, present)]

    monkeypatch.setattr(EncoderStages, "_coded", wrong)


def a_stage_that_does_not_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    load = EncoderStages._load

    def wrong(self: EncoderStages, *given: Any) -> None:
        load(self, *given[:-1], Const(1, 1))

    monkeypatch.setattr(EncoderStages, "_load", wrong)


def joined_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The producer sends a code point of two units although the packet before ended in the lane before."""
    weaken(monkeypatch, StagesProof._offer, " | previous.payload.last", "")


STAGES = {
    "units": Weakening(
        StagesProof._compare,
        "(shown.unit == each.word.unit) & ",
        "",
        staged(shown(lambda stages: stages.entry.symbols[0].unit.eq(0)), slots=2),
    ),
    "errors": Weakening(
        StagesProof._compare,
        " & (shown.error == each.word.error)",
        "",
        staged(shown(lambda stages: [stages.entry.symbols[n].error.eq(0) for n in range(2)]), slots=2),
    ),
    "errors in empty lanes": Weakening(
        StagesProof._compare,
        " & (is_kept | ~shown.error)",
        "",
        staged(EncoderStages, errors_in_empty_lanes, slots=2),
    ),
    "lanes that have a unit": Weakening(
        StagesProof._compare,
        "(is_kept == present.any()) & ",
        "",
        staged(shown(lambda stages: stages.entry.keep.eq(-1)), slots=2),
    ),
    "valid": Weakening(
        StagesProof._compare,
        "stages.entry_valid != is_valid",
        "Const(0, 1)",
        staged(shown(lambda stages: stages.entry_valid.eq(0)), slots=2),
    ),
    "last": Weakening(
        StagesProof._compare,
        "is_valid & (stages.entry.last != ends)",
        "Const(0, 1)",
        staged(shown(lambda stages: stages.entry.last.eq(0)), slots=2),
    ),
    "a unit of the next packet": Weakening(
        StagesProof._compare, "lends & ends,", "Const(0, 1),", staged(EncoderStages, joined_packets, items=True)
    ),
    "pauses": Weakening(
        prove_stages,
        "if stages.pauses and not",
        "if False and not",
        staged(EncoderStages, a_stage_that_does_not_pause, slots=2),
    ),
}

Beat = tuple[list[int | None], bool]
"""The words of a beat by lane, None where there is none, and whether it has the end of a packet."""

STRAY = -1
"""In place of a word: none, but with the flag for errors."""


@dataclass(frozen=True)
class Cycle:
    """What is at the ports of a packer of 2 lanes.

    Attributes:
        given, shown: the beats at the input and at the output.
        able, ready: `ready` of the input and of the output.
        pick: which events may be the watched one.
        resetting: the packer states that its reset has not ended.
    """

    given: Beat | None = None
    shown: Beat | None = None
    able: bool = True
    ready: bool = True
    pick: int = 0b111
    resetting: bool = False


def traced(*cycles: Cycle) -> Proves:
    """Whether no monitor of a packer objects to a trace."""
    streams = [stream.Signature(beat_layout(NARROW, 2)).create() for _ in range(2)]
    busy, pick = Signal(), Signal(3)
    packer: Any = SimpleNamespace(lanes=2, depth=1, latency=1, ahead=0, flushes=True, stall_cycles=1, reset_cycles=1)
    packer.sparse, packer.packed = streams
    packer.buffer, packer.reset = SimpleNamespace(capacity=1), SimpleNamespace(busy=busy)

    def proves(_: pytest.MonkeyPatch) -> bool:
        m, bad = Module(), list[int]()
        monitors = PackerMonitors(m, packer, packer.sparse.valid, pick)
        wrong = Signal(sum(map(len, monitors.bad.values())))
        m.d.comb += wrong.eq(Cat(monitors.bad.values()))

        async def bench(ctx: Any) -> None:
            for cycle in cycles:
                for port, beat in zip(streams, (cycle.given, cycle.shown), strict=True):
                    ctx.set(port.valid, beat is not None)
                    if beat is None:
                        continue
                    words, last = beat
                    ctx.set(port.payload.last, last)
                    ctx.set(port.payload.keep, sum((word not in (None, STRAY)) << n for n, word in enumerate(words)))
                    for lane, word in enumerate(words):
                        value = 2 if word == STRAY else word or 0
                        ctx.set(port.payload.symbols[lane].as_value(), value)
                ctx.set(packer.sparse.ready, cycle.able)
                ctx.set(packer.packed.ready, cycle.ready)
                ctx.set(pick, cycle.pick)
                ctx.set(busy, cycle.resetting)
                bad.append(ctx.get(wrong))
                await ctx.tick()

        simulator = Simulator(m)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()
        # Up to the last cycle the trace is correct.
        assert not any(bad[:-1]), bad
        return not bad[-1]

    return proves


STALLED = Cycle(shown=([1, 1], False), ready=False)


def ordered(name: str, *cycles: Cycle) -> Weakening:
    """A monitor of the order of events is dropped."""
    return Weakening(PackerMonitors._monitor_order, f'"{name}": ', f'"{name}": 0 & ', traced(*cycles))


MONITORS = {
    "more events than pending": ordered("invented", Cycle(([1, None], False)), Cycle(([1, 1], 0), ([1, 2], False))),
    "one event more than pending": Weakening(
        PackerMonitors._monitor_order,
        "self.events_out > self.pending",
        "self.events_out > self.pending + 1",
        traced(Cycle(([1, None], False)), Cycle(([1, 1], False), ([1, 2], False))),
    ),
    "more events than fit": ordered(
        "overfull",
        *[replace(STALLED, given=([1, 2], True))] * 3,
        replace(STALLED, given=([1, None], False)),
        STALLED,
    ),
    "beats without an event": ordered("empty", Cycle(shown=([None, None], False))),
    "gaps": ordered(
        "not_contiguous", Cycle(([1, None], False), pick=0), Cycle(([1, 1], False), ([None, 1], False), pick=0)
    ),
    "errors where there is no word": ordered("stray_error", Cycle(([1, None], True)), Cycle(shown=([1, STRAY], True))),
    "words": ordered("wrong", Cycle(([1, 2], False)), Cycle(shown=([3, 2], False))),
    "ends": ordered("wrong", Cycle(([1, None], True), pick=0b100), Cycle(([1, 1], False), ([1, 2], False), pick=0)),
    "beats that are not full": ordered(
        "partial", Cycle(([1, None], False)), Cycle(([1, 1], False), ([1, None], False))
    ),
    "ends alone": ordered(
        "end_alone",
        Cycle(([1, None], True), pick=0b100),
        Cycle(shown=([1, None], False), ready=False),
        Cycle(shown=([1, None], False)),
        Cycle(shown=([None, None], True)),
    ),
    "beats that change": Weakening(
        PackerMonitors._monitor_steady,
        " | (before != payload)",
        "",
        traced(STALLED, replace(STALLED, shown=([1, 2], False))),
    ),
    "beats that are withdrawn": Weakening(
        PackerMonitors._monitor_steady, "~packed.valid | ", "", traced(STALLED, replace(STALLED, shown=None))
    ),
    "stalls": Weakening(
        PackerMonitors._monitor_stall,
        "~ready & (self.willing == enough) & (self.fresh == 0)",
        "Const(0, 1)",
        traced(Cycle(), Cycle(able=False)),
    ),
    "ready before the reset has ended": Weakening(
        PackerMonitors._monitor_stall, "ready & self._packer.reset.busy", "Const(0, 1)", traced(Cycle(resetting=True))
    ),
    "late events": Weakening(
        PackerMonitors._monitor_latency, "return still_prompt", "return 0", traced(Cycle(([1, 2], False)), Cycle())
    ),
}


def answered(wanted: Property, **answers: Any) -> Proves:
    """Whether a property is proved if the questions of the induction have these answers."""

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool | None:
        monkeypatch.setattr(packer_proof._Design, "of", lambda *_, **__: None)
        for name, answer in {"_start": (True, ""), "_induction": (True, ""), "_follows": True, **answers}.items():
            monkeypatch.setattr(packer_proof, name, lambda *_, answer=answer, **__: answer)
        return packer_proof._decide(None, 2, True, 0, False, wanted, 1)[0]

    return proves


ANY, AFTER_RESET_OR_ANY = 4, 9
"""Literals of the graph below: an input, and whether that is 1 or there was a reset in the cycle before."""


def asked(question: Callable[..., Any], claim: int, *bad: int) -> Proves:
    """Whether a question of the induction is answered with yes, if the graph is the whole design."""

    def proves(_: pytest.MonkeyPatch) -> bool | None:
        aig = Aig(2, [2], [claim, *bad], [(7, 5)], {"reset": [0]}, {}, b"")
        monitors = {Property.EQUIVALENCE: [*range(1, 1 + len(bad))]}
        design = packer_proof._Design(aig, {"claim": 0}, monitors, 1)
        return question(design)

    return proves


def induction(design: packer_proof._Design) -> bool | None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packer_proof._Design, "of", lambda *_, **__: design)
        return inspect.unwrap(packer_proof._induction)(None, 2, True, 0, False, 1)[0]


PACKER = {
    "power-up without the induction": Weakening(
        packer_proof._decide,
        "if proved:",
        "if proved and wanted != Property.POWER_UP:",
        answered(Property.POWER_UP, _induction=(False, "")),
    ),
    "power-up without the start": Weakening(
        packer_proof._decide,
        "if wanted == Property.POWER_UP:",
        "if False:",
        answered(Property.POWER_UP, _start=(False, "")),
    ),
    "properties that do not follow": Weakening(
        packer_proof._decide,
        "return proved, notes[proved]",
        "return True, ''",
        answered(Property.STEADY, _follows=False),
    ),
    "the base of the induction": Weakening(
        packer_proof._induction,
        "if not (found := _start(design, seconds, reset=1))[0]:",
        "if False:",
        asked(induction, 0),
    ),
    "the step of the induction": Weakening(
        packer_proof._induction,
        "return entailed(",
        "return (True, '') or entailed(",
        asked(induction, AFTER_RESET_OR_ANY),
    ),
    "monitors at the start": Weakening(
        packer_proof._start,
        "in design.bad.items()",
        "in ()",
        asked(lambda design: packer_proof._start(design, 1, reset=1)[0], 1, 0, ANY),
    ),
    "all bits of a monitor": Weakening(
        packer_proof._follows,
        "in design.bad[name]]",
        "in design.bad[name][:1]]",
        asked(lambda design: packer_proof._follows(design, "equivalence", 1), 1, 0, ANY),
    ),
}

WEAKENINGS: dict[str, Weakening] = {
    f"{each.module.split('.')[-1]}: {name}": each
    for group in (TAP, STAGES, MONITORS, PACKER)
    for name, each in group.items()
}


@pytest.mark.parametrize("weakening", WEAKENINGS.values(), ids=list(WEAKENINGS))
def test_a_weaker_proof_is_noticed(weakening: Weakening, monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts what the proof refutes."""
    with monkeypatch.context() as patch:
        assert not weakening.proves(patch)
    with monkeypatch.context() as patch:
        weaken(patch, weakening.function, weakening.old, weakening.new)
        assert weakening.proves(patch)
