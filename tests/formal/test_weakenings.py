# SPDX-License-Identifier: BSD-2-Clause
"""A proof that states less is noticed: for each file of proofs, some faults that only one part of a proof refutes.

The faults are in a circuit; where a refutation would take long, in a trace, or in the answer to one of the questions.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, ClockDomain, Const, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import stream
from support.benches import run_benches
from support.decoders import SMALL, sparse_decoder
from support.faults import Fault, combinational, inject, mute_errors, registered, with_fault, with_registers
from support.faulty_cores import FaultyCore, PortFault, valid_is_never_asserted
from support.tiers import tiered
from support.weakenings import Weakening, dropped, weaken

from utf8fpga import formal
from utf8fpga.formal import drained_proof, packer_proof, parallel_proof, record, runner, wide_proof
from utf8fpga.formal.abc import decide
from utf8fpga.formal.aiger import Aig
from utf8fpga.formal.axi_stream_proof import (
    AnyCore,
    PortsProof,
    RegisteredPorts,
    StatisticsProof,
    prove_ports,
    prove_registered,
)
from utf8fpga.formal.catalogue import Configuration
from utf8fpga.formal.drained_proof import prove_drained
from utf8fpga.formal.encoder_reference import EncoderReference
from utf8fpga.formal.foreign import prove_foreign
from utf8fpga.formal.invariants.buffer import Start, _RegisterBench
from utf8fpga.formal.invariants.window import _Bench
from utf8fpga.formal.item_lanes import ItemLanes, prove_item_lanes
from utf8fpga.formal.joints import ChainJoints, Joints, is_joined
from utf8fpga.formal.mark_proof import MarkProof, prove_marks
from utf8fpga.formal.netlist import _equal, equal_verilog
from utf8fpga.formal.packer_monitors import PackerMonitors
from utf8fpga.formal.packer_proof import NARROW, PackerKind
from utf8fpga.formal.parallel_proof import Induction, prove_halves, prove_recovery
from utf8fpga.formal.periodic_reset_proof import RefreshProof, prove_refresh
from utf8fpga.formal.properties import Harness, Property
from utf8fpga.formal.recovery_proof import _Twins
from utf8fpga.formal.runner import prove
from utf8fpga.formal.stages_proof import StagesProof, prove_stages
from utf8fpga.formal.tap_proof import TapHarness, prove_tap
from utf8fpga.formal.transcoder_proof import is_same_decoder
from utf8fpga.formal.uart_proof import ReceiverProof, TransmitterProof, prove_uart
from utf8fpga.formal.wide_proof import EncoderJoints, prove_joints, prove_units
from utf8fpga.hdl import (
    CoreParameters,
    DecoderParameters,
    EncoderParameters,
    ParallelDecoder,
    PortOptions,
    Refresh,
    RefreshedDecoder,
    Remover,
    RemoverParameters,
    TranscoderParameters,
    axi_verilog,
    decoder_core,
)
from utf8fpga.hdl.axi_stream import AxiStreamCore
from utf8fpga.hdl.beats import beat_layout
from utf8fpga.hdl.decoder.window import BeatWindow
from utf8fpga.hdl.encoder.logic import EncoderLogic
from utf8fpga.hdl.encoder.parallel_encoder import ParallelEncoder
from utf8fpga.hdl.encoder.stages import EncoderStages
from utf8fpga.hdl.foreign_core import ForeignCore
from utf8fpga.hdl.payloads import item_layout
from utf8fpga.hdl.register_buffer import RegisterBuffer
from utf8fpga.hdl.transcoder import byte_order_mark
from utf8fpga.hdl.transcoder.byte_order_mark import MarkRemover
from utf8fpga.hdl.transcoder.transcoder import Transcoder
from utf8fpga.hdl.uart import UartReceiver, UartTransmitter
from utf8fpga.hdl.validator.parameters import ValidatorParameters
from utf8fpga.hdl.validator.verdict import VerdictTap
from utf8fpga.model import TABLE_3_7, UTF_16

Proves = Callable[[pytest.MonkeyPatch], bool | None]


def at_first(valid: Callable[[Any], Value], *, reset_less: bool) -> Fault:
    """There is a beat at the output in the cycle after power-up, and unless `reset_less` in that after a reset."""

    def fault(m: Module, component: Any) -> None:
        first = Signal(init=1, reset_less=reset_less)
        m.d.sync += first.eq(0)
        with m.If(first):
            m.d.comb += valid(component).eq(1)

    return fault


def tap(component: Callable[[ValidatorParameters], Any], wanted: Property = Property.EQUIVALENCE) -> Proves:
    verdict = ValidatorParameters(report="verdict")
    return lambda _: prove_tap(lambda: component(verdict), TABLE_3_7, wanted).proved


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
        m.submodules.inner = inner = VerdictTap(self.parameters)
        m.d.comb += [
            inner.payload.eq(self.payload),
            inner.valid.eq(self.valid),
            inner.ready.eq(1),
            self.report.eq(inner.report),
            self.report_valid.eq(inner.report_valid),
        ]
        return m


TAP = {
    "reports at other times": dropped(
        TapHarness.elaborate,
        "(tap.report_valid != report) | ",
        tap(with_fault(VerdictTap, combinational(lambda tap: tap.report_valid.eq(1)))),
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
    power_up: bool = False,
) -> Proves:
    """Whether stages to UTF-16 with one lane are proved."""
    symbol = item_layout(TABLE_3_7) if items else 32

    def parts() -> tuple[EncoderStages, EncoderReference]:
        made = stages(EncoderLogic.of_bits(UTF_16, 21 if items else 32), 1, symbol, slots)
        target: Any = SimpleNamespace(table=UTF_16)
        return made, EncoderReference(target)

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool | None:
        for change in changes:
            change(monkeypatch)
        return prove_stages(parts, TABLE_3_7 if items else None, power_up=power_up)[0]

    return proves


def shown(assignments: Callable[[Any], Any]) -> Proves:
    """Whether stages with another output are proved."""
    return staged(with_fault(EncoderStages, combinational(assignments)), slots=2)


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
    "units": dropped(
        StagesProof._compare,
        "(shown.unit == each.word.unit) & ",
        shown(lambda stages: stages.entry.symbols[0].unit.eq(0)),
    ),
    "errors": dropped(
        StagesProof._compare,
        " & (shown.error == each.word.error)",
        shown(lambda stages: [stages.entry.symbols[n].error.eq(0) for n in range(2)]),
    ),
    "errors in empty lanes": dropped(
        StagesProof._compare, " & (is_kept | ~shown.error)", staged(EncoderStages, errors_in_empty_lanes, slots=2)
    ),
    "lanes that have a unit": dropped(
        StagesProof._compare, "(is_kept == present.any()) & ", shown(lambda stages: stages.entry.keep.eq(-1))
    ),
    "valid": Weakening(
        StagesProof._compare,
        "stages.entry_valid != is_valid",
        "Const(0, 1)",
        shown(lambda stages: stages.entry_valid.eq(0)),
    ),
    "last": Weakening(
        StagesProof._compare,
        "is_valid & (stages.entry.last != ends)",
        "Const(0, 1)",
        shown(lambda stages: stages.entry.last.eq(0)),
    ),
    "a unit of the next packet": Weakening(
        StagesProof._compare, "lends & ends,", "Const(0, 1),", staged(EncoderStages, joined_packets, items=True)
    ),
    "resets": dropped(
        prove_stages,
        ', "reset": (True, [1, *[0] * proof.cycles])',
        staged(with_fault(EncoderStages, at_first(lambda stages: stages.entry_valid, reset_less=False)), slots=2),
    ),
    "power-up": Weakening(
        prove_stages,
        "if power_up:",
        "if False:",
        staged(
            with_fault(EncoderStages, at_first(lambda stages: stages.entry_valid, reset_less=True)),
            slots=2,
            power_up=True,
        ),
    ),
    "pauses": Weakening(
        prove_stages,
        "if stages.pauses and not",
        "if False and not",
        staged(EncoderStages, a_stage_that_does_not_pause, slots=2),
    ),
}

Words = tuple[list[int | None], bool]
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

    given: Words | None = None
    shown: Words | None = None
    able: bool = True
    ready: bool = True
    pick: int = 0b111
    resetting: bool = False


def traced(*cycles: Cycle) -> Proves:
    """Whether no monitor of a packer objects to a trace."""
    streams = [stream.Signature(beat_layout(NARROW, 2)).create() for _ in range(2)]
    busy, pick = Signal(), Signal(3)
    packer: Any = SimpleNamespace(lanes=2, latency=1, ahead=0, flushes=True, stall_cycles=1, reset_cycles=1, capacity=1)
    packer.sparse, packer.packed = streams
    packer.egress, packer.reset = SimpleNamespace(room=2), SimpleNamespace(busy=busy)

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

        run_benches(m, bench)
        # Up to the last cycle the trace is correct.
        assert not any(bad[:-1]), bad
        return not bad[-1]

    return proves


STALLED = Cycle(shown=([1, 1], False), ready=False)


def ordered(name: str, *cycles: Cycle) -> Weakening:
    """A monitor of the order of events is dropped."""
    return Weakening(PackerMonitors._monitor_order, f'"{name}": ', f'"{name}": 0 & ', traced(*cycles))


MONITORS = {
    "one event more than pending": Weakening(
        PackerMonitors._monitor_order,
        "self.events_out > self.pending",
        "self.events_out > self.pending + 1",
        traced(Cycle(([1, None], False)), Cycle(([1, 1], False), ([1, 2], False))),
    ),
    "more events than fit": ordered(
        "overfull", *[replace(STALLED, given=([1, 2], True))] * 3, replace(STALLED, given=([1, None], False)), STALLED
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
    "beats that change": dropped(
        PackerMonitors._monitor_steady,
        " | (before != payload)",
        traced(STALLED, replace(STALLED, shown=([1, 2], False))),
    ),
    "beats that are withdrawn": dropped(
        PackerMonitors._monitor_steady, "~packed.valid | ", traced(STALLED, replace(STALLED, shown=None))
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
        return packer_proof._decide(PackerKind(None, 2), wanted, 1)[0]

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
        return inspect.unwrap(packer_proof._induction)(PackerKind(None, 2), 1)[0]


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


def judged(wanted: Property, fault: PortFault, parameters: CoreParameters | None = None) -> Proves:
    """Whether a property is proved of a core with a fault; default: a remover with one lane."""

    def proves(_: pytest.MonkeyPatch) -> bool | None:
        harness = Harness(lambda: FaultyCore(parameters or RemoverParameters(lanes=1), fault), wanted)
        aig = harness.graph(free=wanted.any_start)
        return decide({"proof": (aig, aig.output_bits["bad"][0])})["proof"].proved

    return proves


def other_symbols(m: Module, outer: Any, inner: Any) -> None:
    m.d.comb += outer.output.payload.symbols[0].eq(inner.output.payload.symbols[0] ^ 1)


def null_beats(m: Module, outer: Any, inner: Any) -> None:
    with m.If(~inner.output.valid):
        m.d.comb += [outer.output.valid.eq(1), outer.output.payload.keep.eq(0), outer.output.payload.last.eq(0)]


def stray_errors(m: Module, outer: Any, inner: Any) -> None:
    with m.If(~inner.output.payload.keep[0]):
        m.d.comb += outer.output.payload.symbols[0].error.eq(1)


def impatient(m: Module, outer: Any, inner: Any) -> None:
    """Beats that wait are lost."""
    m.d.comb += inner.output.ready.eq(1)


def changing(m: Module, outer: Any, inner: Any) -> None:
    waited = Signal()
    m.d.sync += waited.eq(outer.output.valid)
    m.d.comb += outer.output.payload.last.eq(inner.output.payload.last ^ waited)


def never_ready(m: Module, outer: Any, inner: Any) -> None:
    m.d.comb += [outer.input.ready.eq(0), inner.input.valid.eq(0)]


PROPERTIES = {
    "symbols": Weakening(
        Harness._equivalence,
        "event.word.as_value() != now_word.as_value()",
        "Const(0, 1)",
        judged(Property.EQUIVALENCE, other_symbols),
    ),
    "beats without an event": dropped(Harness._equivalence, "| empty ", judged(Property.EQUIVALENCE, null_beats)),
    "errors where there is no item": dropped(
        Harness._equivalence, "| stray ", judged(Property.EQUIVALENCE, stray_errors, DecoderParameters(table=SMALL))
    ),
    "pauses": Weakening(
        Harness.surround, "output.ready.eq(self.ready)", "output.ready.eq(1)", judged(Property.EQUIVALENCE, impatient)
    ),
    "beats that change": dropped(
        Harness._steady, " | (before != Value.cast(output.payload))", judged(Property.STEADY, changing)
    ),
    "stalls": Weakening(Harness._stall, "& (willing == enough)", "& 0", judged(Property.STALL, never_ready)),
    "late items": Weakening(Harness._latency, " & late", " & 0", judged(Property.LATENCY, valid_is_never_asserted)),
}


def remover(wanted: Property, fault: Fault) -> Proves:
    """Whether a property is proved of a remover with one lane, as the command does it."""

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool | None:
        inject(monkeypatch, Remover, fault)
        (result,) = prove(Configuration.of(RemoverParameters(lanes=1)), wanted)
        return result.proved

    return proves


RUNNER = {
    "an output that depends on ready": Weakening(
        runner._prove_whole,
        'not aig.depends(["see_out_valid", "see_out_payload"], ["ready"])',
        "True",
        remover(Property.INDEPENDENCE, combinational(lambda core: core.output.valid.eq(core.output.ready))),
    ),
    "a payload that depends on ready": dropped(
        runner._prove_whole,
        ', "see_out_payload"',
        remover(Property.INDEPENDENCE, combinational(lambda core: core.output.payload.last.eq(core.output.ready))),
    ),
    "initial values that no reset leads to": Weakening(
        runner._power_up_by_reset,
        "if hunt(reset, 0, 1, seconds=question.seconds).proved is not False:",
        "if False:",
        remover(Property.POWER_UP, at_first(lambda core: core.output.valid, reset_less=True)),
    ),
}


def drained(way: str) -> Proves:
    """Whether a core is proved by its drain if one of the questions is refuted."""

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool | None:
        def answer(_: Any, given: Any, claims: Iterable[str], *, seconds: int) -> tuple[bool, str]:
            return not any(name.startswith(way) for name in claims), ""

        monkeypatch.setattr(drained_proof, "entailed", answer)
        return prove_drained(RemoverParameters(lanes=1).build, Property.POWER_UP)[0]

    return proves


DRAINED = {
    "resets": dropped(prove_drained, ', "reset": drain.contents', drained("reset")),
    "power-up": Weakening(prove_drained, "if wanted is Property.POWER_UP:", "if False:", drained("power-up")),
}


def lanes_without_items(monkeypatch: pytest.MonkeyPatch) -> bool | None:
    """Whether the lanes of items are proved if no lane has one."""
    slot = ItemLanes._slot

    def wrong(self: ItemLanes, m: Module, at: int) -> Any:
        return SimpleNamespace(valid=Const(0, 1), word=slot(self, m, at).word)

    monkeypatch.setattr(ItemLanes, "_slot", wrong)
    return prove_item_lanes(SMALL)[0]


ITEM_LANES = {
    "lanes without an item": Weakening(
        ItemLanes.elaborate, ".any(), none)", ".any(), Const(0, 1))", lanes_without_items
    )
}

TO_UTF_16 = TranscoderParameters(to="utf-16-le", pipeline=0)


def joined(assignments: Callable[[Any], Any]) -> Proves:
    """Whether a transcoder is its parts."""

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool:
        inject(monkeypatch, Transcoder, combinational(assignments))
        return is_joined(TO_UTF_16.build())[0]

    return proves


def another_decoder(_: pytest.MonkeyPatch) -> bool:
    """Whether a decoder whose output is never valid is the one that is proved."""
    core = TO_UTF_16.build()
    decoder: Any = core.decoder
    elaborate = decoder.elaborate

    def wrong(platform: object) -> Module:
        m = elaborate(platform)
        m.d.comb += decoder.output.valid.eq(0)
        return m

    decoder.elaborate = wrong
    return is_same_decoder(core)


JOINTS = {
    "all pairs": Weakening(
        Joints.elaborate,
        "self.connected())",
        "self.connected()[:-1])",
        joined(lambda core: core.output.payload.symbols[0].error.eq(0)),
    ),
    "ready": dropped(
        ChainJoints.connected, "(source.ready, target.ready),", joined(lambda core: core.encoder.output.ready.eq(1))
    ),
    "errors": dropped(
        ChainJoints.same_symbols,
        ", (target.error, source.error)",
        joined(lambda core: core.output.payload.symbols[0].error.eq(0)),
    ),
    "another decoder": Weakening(is_same_decoder, "return first == second", "return True", another_decoder),
}


def wide_payload(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether an encoder is its parts, although its units do not reach its output."""
    inject(monkeypatch, ParallelEncoder, combinational(lambda core: core.output.payload.symbols[0].unit.eq(0)))
    return prove_joints(EncoderParameters(to="utf-32-le", lanes=2).build)[0]


def wide_units(**answers: tuple[bool, str]) -> Proves:
    """Whether the units of a transcoder are proved if its parts have these answers."""

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool | None:
        for name, answer in {"prove_item_lanes": (True, ""), "prove_stages": (True, ""), **answers}.items():
            monkeypatch.setattr(wide_proof, name, lambda *_, answer=answer, **__: answer)
        return prove_units(replace(TO_UTF_16, lanes=2).build, Property.EQUIVALENCE)[0]

    return proves


WIDE_PROOF = {
    "packed units": dropped(EncoderJoints.connected, "(output.payload, packed.payload),", wide_payload),
    "lanes of items": Weakening(prove_units, "if not proved:", "if False:", wide_units(prove_item_lanes=(False, ""))),
}


def refreshed(fault: Fault, question: str) -> Proves:
    def proves(monkeypatch: pytest.MonkeyPatch) -> bool | None:
        inject(monkeypatch, RefreshedDecoder, fault)
        return prove_refresh(Refresh(16), asked=[question])[question].proved

    return proves


REFRESH = {
    "the output": dropped(
        RefreshProof.elaborate,
        "refreshed.output.valid == self.shows,",
        refreshed(combinational(lambda core: core.output.valid.eq(0)), "passes"),
    )
}


def halved(wanted: Property, component: type[Any], fault: Fault, *, window: bool = False) -> Proves:
    """Whether a parallel decoder is proved, or of a fault in its window, whether that is."""

    def build() -> ParallelDecoder:
        return sparse_decoder(SMALL, lanes=1, pipeline=0)

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool:
        inject(monkeypatch, component, fault)
        if window:
            found = Induction()
            parallel_proof._ask_window(found, build, SMALL, Start.RESET, 600)
            return found.proved
        # The other half has no fault.
        monkeypatch.setattr(parallel_proof, "_ask_window", lambda *_: None)
        return prove_halves(build, SMALL, wanted).proved

    return proves


def halves() -> Proves:
    """Whether a parallel decoder is proved if its window is refuted, and nothing else."""

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool:
        monkeypatch.setattr(parallel_proof, "_ask_window", lambda found, *_: found.failed.append("window"))
        monkeypatch.setattr(Induction, "ask", lambda *_: None)
        return prove_halves(lambda: sparse_decoder(SMALL, lanes=1, pipeline=0), SMALL, Property.EQUIVALENCE).proved

    return proves


def another_item_if_ready(buffer: Any) -> Any:
    """The output is wrong in the cycle in which it is transferred."""
    first, second = buffer.words
    return Value.cast(buffer.output.payload).eq(Mux(buffer.output.ready, 0, Mux(buffer.second, second, first)))


changing_words = registered(lambda buffer: [word.eq(buffer.entry) for word in buffer.words])
no_code_points = combinational(lambda window: window.slots.slots[0].code_point.eq(0))

PARALLEL = {
    "the window": Weakening(
        parallel_proof._prove_halves, "_ask_window(found, build, right, start, seconds)", "pass", halves()
    ),
    "the step of the buffer": Weakening(
        parallel_proof._prove_halves,
        "for begin in (Start.HELD, start):",
        "for begin in (start,):",
        halved(Property.STEADY, RegisterBuffer, changing_words),
    ),
}
INVARIANTS = {
    "the order of beats": dropped(
        _RegisterBench.connect,
        "valid & ((held == 0) | (shown != queue[0])), ",
        halved(Property.EQUIVALENCE, RegisterBuffer, combinational(another_item_if_ready)),
    ),
    "code points": Weakening(
        _Bench._is,
        ", undefined | (found.code_point == slot.word.code_point)]",
        "]",
        halved(Property.EQUIVALENCE, BeatWindow, no_code_points, window=True),
    ),
}


def recovers(monkeypatch: pytest.MonkeyPatch) -> bool | None:
    """Whether a window recovers in which a register that no beat changes mutes errors."""
    mute_errors(monkeypatch)
    return prove_recovery(lambda: sparse_decoder(SMALL, lanes=1, pipeline=0)).proved


RECOVERY = {"items": Weakening(_Twins._part, "[*items, window.slots.last]", "[window.slots.last]", recovers)}


def foreign(_: pytest.MonkeyPatch) -> bool | None:
    """Whether beats of a Verilog core wait that are withdrawn if a bit is set, which it never is from power-up on."""
    valid, instance = ".output_valid(m_axis_tvalid)", "  utf8_decoder_core core ("
    wrong = (
        "reg odd = 0, spoilt = 0; always @(posedge clk) begin odd <= ~odd; spoilt <= spoilt & (odd | spoilt); end"
        " wire core_valid; assign m_axis_tvalid = core_valid & ~(spoilt & odd);\n"
    )
    text = axi_verilog(decoder_core(lanes=1))
    assert text.count(valid) == text.count(instance) == 1
    with TemporaryDirectory() as folder:
        (file := Path(folder) / "core.v").write_text(
            text.replace(valid, ".output_valid(core_valid)").replace(instance, wrong + instance)
        )
        return prove_foreign(ForeignCore([file]), Property.STEADY).proved


FOREIGN = {"any flip-flop contents": Weakening(prove_foreign, "free=wanted.any_start", "free=False", foreign)}


def netlist(_: pytest.MonkeyPatch) -> bool | None:
    """Whether a flip-flop is equal to one with the other edge of the clock."""
    m, given, kept = Module(), Signal(name="d"), Signal(name="q")
    m.domains.sync = domain = ClockDomain("sync", reset_less=True)
    m.d.sync += kept.eq(given)
    ports = {"clk": (domain.clk, None), "d": (given, None), "q": (kept, None)}
    design = str(rtlil.convert(m, name="top", ports=ports, emit_src=False))
    falling = (
        "module top(input clk, input d, output reg q);\ninitial q = 0;\nalways @(negedge clk) q <= d;\nendmodule\n"
    )
    return equal_verilog(design, falling, "top").proved


NETLIST = {"clocks": Weakening(_equal, "if not _one_clock(text):", "if False:", netlist)}


def marks(fault: Callable[[pytest.MonkeyPatch], None]) -> Proves:
    """Whether the stages for byte order marks are proved, with a fault in one of them."""

    def proves(monkeypatch: pytest.MonkeyPatch) -> bool | None:
        fault(monkeypatch)
        core = TranscoderParameters(from_="utf-16-be", to="utf-8", bom="detect").build()
        return prove_marks(core, Property.EQUIVALENCE)[0]

    return proves


def no_order_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_order_mark, "swapped_bytes", lambda unit: unit)


def ends_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, MarkRemover, combinational(lambda stage: stage.output.payload.last.eq(0)))


def marks_are_empty_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, MarkRemover, combinational(lambda stage: stage.output.valid.eq(stage.input.valid)))


MARKS = {
    "symbols": Weakening(
        MarkProof.elaborate,
        "same = same & (~kept | (Value.cast(found) == Value.cast(expected)))",
        "pass",
        marks(no_order_is_detected),
    ),
    "ends": dropped(MarkProof.elaborate, " & (output.payload.last == last)", marks(ends_are_lost)),
    "beats": dropped(MarkProof.elaborate, "(output.valid != shown) | ", marks(marks_are_empty_beats)),
}


def ports(assignments: Callable[[Any], Any], options: PortOptions | None = None) -> Proves:
    """Whether ports are proved with these assignments, which are a fault."""
    fault = combinational(assignments)

    def proves(_: pytest.MonkeyPatch) -> bool | None:
        core = AnyCore(EncoderParameters().build())
        return prove_ports(
            with_fault(AxiStreamCore, fault)(core, options or PortOptions()), Property.EQUIVALENCE, seconds=60
        ).proved

    return proves


def registers(fault: Fault, wanted: Property) -> Proves:
    return lambda _: prove_registered(with_fault(RegisteredPorts, fault)(item_layout(TABLE_3_7), 1), wanted).proved


PORTS = {
    "ends": dropped(
        PortsProof._shown, "dut.m_axis_tlast == payload.last,", ports(lambda ports: ports.m_axis_tlast.eq(0))
    ),
    "partial symbols": Weakening(
        PortsProof._taken,
        "payload.keep[lane] == tkeep.all()",
        "Const(1, 1)",
        ports(lambda ports: ports.core.input.payload.keep.eq(ports.s_axis_tkeep[0])),
    ),
    "reset": dropped(
        PortsProof.elaborate,
        ", core.reset == reset",
        ports(lambda ports: ResetSignal("axi").eq(ports.rst & ~ports.s_axis_tvalid)),
    ),
    "what is read": dropped(
        StatisticsProof._axi_lite,
        "responds & (dut.s_axil_rdata != found),",
        ports(lambda ports: ports.s_axil_rdata.eq(0), PortOptions(statistics="axi-lite")),
    ),
    "registered outputs": Weakening(
        prove_registered,
        'not aig.depends(["see_out_valid", "see_out_payload"], ["ready"])',
        "True",
        registers(combinational(lambda ports: ports.output.payload.last.eq(ports.output.ready)), Property.INDEPENDENCE),
    ),
}


def uart(component: type[UartReceiver | UartTransmitter]) -> Proves:
    return lambda _: prove_uart(component(5), Property.EQUIVALENCE)[0]


UART = {
    "bytes received": dropped(
        ReceiverProof.elaborate,
        " & (~dut.frames.valid | is_right)",
        uart(with_fault(UartReceiver, combinational(lambda receiver: receiver.frames.payload.data.eq(0)))),
    ),
    "frames received": dropped(
        ReceiverProof.elaborate,
        "(dut.frames.valid == (since == due)) & ",
        uart(with_fault(UartReceiver, combinational(lambda receiver: receiver.frames.valid.eq(0)))),
    ),
    "the line": dropped(
        TransmitterProof.elaborate,
        " & (dut.tx == Array(levels)[bit])",
        uart(with_fault(UartTransmitter, registered(lambda transmitter: transmitter.tx.eq(1)))),
    ),
}

WEAKENINGS: dict[str, Weakening] = {
    f"{each.module.split('.')[-1]}: {name}": each
    for group in (
        *(TAP, STAGES, MONITORS, PACKER, PROPERTIES, RUNNER, DRAINED, ITEM_LANES, JOINTS, WIDE_PROOF),
        *(REFRESH, PARALLEL, INVARIANTS, RECOVERY, FOREIGN, NETLIST, MARKS, PORTS, UART),
    )
    for name, each in group.items()
}


CHEAP = ("packer_monitors", "packer_proof", "drained_proof", "item_lanes", "transcoder_proof")
QUICK = {name for name in WEAKENINGS if name.split(":")[0] in CHEAP} | {
    *("tap_proof: pauses", "stages_proof: valid", "stages_proof: resets", "properties: stalls"),
    *("properties: late items", "runner: an output that depends on ready", "runner: a payload that depends on ready"),
    *("joints: errors", "joints: ready", "wide_proof: lanes of items", "axi_stream_proof: reset"),
    *("axi_stream_proof: registered outputs", "uart_proof: the line"),
}
"""All of the modules in `CHEAP`, and the cheapest ones of others."""


@pytest.mark.parametrize("weakening", tiered(WEAKENINGS, QUICK))
def test_only_the_unchanged_proof_refutes_the_fault(weakening: Weakening, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        assert not weakening.proves(patch), f"the fault is accepted, which {weakening.old!r} is there to refute"
    with monkeypatch.context() as patch:
        weaken(patch, weakening.function, weakening.old, weakening.new)
        assert weakening.proves(patch), f"the fault is refuted without {weakening.old!r}, so it does not test that"


STATES_WHAT_IS_PROVED = re.compile(r"(prove|equal)_\w+|\w*(Proof|Monitors|Harness|Joints)")
"""The names of functions in files of proofs."""


def test_each_file_of_proofs_has_weakenings() -> None:
    modules = [each.name for each in pkgutil.walk_packages(formal.__path__, f"{formal.__name__}.")]
    proofs = {
        name
        for name in modules
        if name.endswith("_proof")
        or any(
            STATES_WHAT_IS_PROVED.fullmatch(word) and getattr(value, "__module__", "") == name
            for word, value in vars(importlib.import_module(name)).items()
        )
    }
    listed = {each.module for each in WEAKENINGS.values()}
    assert sorted(proofs - listed) == [], "a file of proofs needs entries in WEAKENINGS"
    assert sorted(listed - proofs) == []


def test_a_recorded_answer_is_of_each_file_of_proofs() -> None:
    stated = {*record._STATED_FOR_ALL, *chain(*record._STATED_FOR.values())}
    named = {each.module.removeprefix(f"{formal.__name__}.").replace(".", "/") for each in WEAKENINGS.values()}
    assert sorted(named - stated) == ["foreign", "runner"]  # Of foreign cores no answer is recorded.
