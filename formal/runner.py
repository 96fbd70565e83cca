# SPDX-License-Identifier: BSD-2-Clause
"""Runs the proofs of the catalogue: one property of one decoder, or many side by side."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any

from utf8fpga.formal.abc import Verdict, decide, hunt, hunt_each
from utf8fpga.formal.aiger import Aig
from utf8fpga.formal.catalogue import PROPERTIES, Configuration
from utf8fpga.formal.counterexample import Counterexample
from utf8fpga.formal.cycles import SolverMissingError
from utf8fpga.formal.drained_proof import prove_drained
from utf8fpga.formal.netlist import TOP, equal_netlist, equal_verilog
from utf8fpga.formal.packer_proof import PACKER_LANES, PackerKind, prove_packer
from utf8fpga.formal.parallel_proof import HALVES, Induction, prove_halves
from utf8fpga.formal.parts import has_only
from utf8fpga.formal.properties import Harness, Property, cover_targets
from utf8fpga.formal.report import Result
from utf8fpga.formal.transcoder_proof import (
    TRANSCODER_PROPERTIES,
    decoder_configuration,
    is_same_decoder,
    prove_encoder,
)
from utf8fpga.formal.transcoder_reference import ItemEncoder
from utf8fpga.hdl import (
    CoreParameters,
    DirectPackedDecoder,
    Encoder,
    Packer,
    ParallelDecoder,
    Remover,
    Transcoder,
    axi_rtlil,
    axi_verilog,
    module_name,
)
from utf8fpga.hdl.chain import Chain
from utf8fpga.hdl.toolchain import ToolFailedError
from utf8fpga.model import InvalidArgumentError


def harness_aig(configuration: Configuration, wanted: Property) -> Aig:
    """The monitor of a property around the core, as a graph with the output ``bad``."""
    return Harness(configuration.build, wanted, configuration.right).graph(free=wanted.any_start)


def prove(configuration: Configuration, wanted: str, *, seconds: int = 600) -> list[Result]:
    """Prove one property of one core; for covers there is one result for each target.

    Args:
        wanted: one of `PROPERTIES`.
        seconds: time limit for one question.

    Raises:
        ToolError: Yosys is missing. A property for which it fails is undecided.
        InvalidArgumentError: there is no such property.
    """
    if wanted not in PROPERTIES:
        raise InvalidArgumentError(f"unknown property {wanted!r} (known: {', '.join(PROPERTIES)})")
    started = time.monotonic()
    try:
        if wanted.startswith("netlist-"):
            return _prove_netlist(configuration, wanted) if configuration.verilog else []
        if wanted == "verilog":
            return _prove_verilog(configuration) if configuration.verilog else []
        return _prove(configuration.build(), Question(configuration, Property(wanted), seconds))
    except (SolverMissingError, ToolFailedError) as error:
        # Yosys may run out of memory with a wide core; the other properties are proved all the same.
        return [Result(configuration.name, wanted, "induction", 0, time.monotonic() - started, None, str(error))]


@dataclass(frozen=True)
class Question:
    """A property of a circuit: of a core, or of a stage of one.

    Attributes:
        whole: the core that the circuit is a stage of, of which traces are shown.
    """

    configuration: Configuration
    wanted: Property
    seconds: int
    whole: Configuration | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def build(self) -> Callable[[], Any]:
        """Makes the circuit."""
        return self.configuration.build

    @property
    def is_of_units(self) -> bool:
        """It is the equivalence with the reference, also from power-up on."""
        return self.wanted in (Property.EQUIVALENCE, Property.POWER_UP)

    def of_stage(self, name: str) -> Question:
        """The same property of a stage of this chain."""
        build_from = self.configuration.build_from
        configuration = replace(self.configuration, build_from=lambda *table: build_from(*table).stages[name])
        return Question(configuration, self.wanted, self.seconds, self.whole or self.configuration)

    def result(
        self, method: str, proved: bool | None, *, depth: int = 0, note: str = "", parts: Sequence[str] = ()
    ) -> Result:
        """The result, after the time that has passed."""
        taken = time.monotonic() - self.started
        return Result(self.configuration.name, self.wanted, method, depth, taken, proved, note, tuple(parts))

    def answer(self, verdict: Verdict, *, note: str = "", parts: Sequence[str] = ()) -> Result:
        """The result that a verdict of ABC is, without a counterexample in terms of a core."""
        method = "trace" if verdict.proved is False else "reachability"
        return self.result(method, verdict.proved, depth=verdict.depth, note=note, parts=parts)

    def trace(self, wanted: Property, verdict: Verdict, aig: Aig) -> Result:
        """A refutation by a trace of `harness_aig` with a counterexample."""
        result = self.answer(verdict)
        whole = self.whole or self.configuration
        result.counterexample = Counterexample.of(whole, wanted, aig.values(verdict.frames))
        return result

    def hunt(self, wanted: Property, undecided: Result) -> Result:
        """A trace from the start, for people, where a step from some state fails; `undecided` if there is none."""
        aig = harness_aig(self.whole or self.configuration, wanted)
        verdict = hunt(aig, aig.output_bits["bad"][0], _HUNTED, seconds=self.seconds)
        return undecided if verdict.proved is not False else self.trace(wanted, verdict, aig)


_HUNTED = 40
"""Upper bound on the cycles of a trace that is searched for where an induction fails."""


@singledispatch
def _prove(core: Any, question: Question) -> list[Result]:
    """The proof of a circuit by its type; here of one without parts and without an invariant of our own."""
    if question.wanted is Property.COVER:
        return _cover(core, question)
    return [_prove_whole(question)]


@_prove.register
def _(core: Chain, question: Question) -> list[Result]:
    """Of a chain: of each stage, each of which assumes what the one before guarantees."""
    if core.lanes > PACKER_LANES:
        return []
    if not has_only(core, core.stages):
        return [question.result("structure", None, note="it is not its stages")]
    names = list(core.stages)
    if question.wanted is Property.INDEPENDENCE:
        # The outputs are those of the last stage.
        names = names[-1:]
    results: list[Result] = []
    for name in names:
        stage = question.of_stage(name)
        found = _prove(stage.build(), stage)
        results += found
        if question.wanted is Property.COVER:
            continue
        if not found:
            return []  # There is no method for this stage.
        if not found[-1].proved:
            break
    if question.wanted is Property.COVER:
        return results
    parts = [part for each in results for part in each.parts]
    *_, last = results
    depth = max(each.depth for each in results)
    return [replace(last, depth=depth, parts=tuple(parts), seconds=time.monotonic() - question.started)]


@_prove.register
def _(packer: Packer, question: Question) -> list[Result]:
    if packer.lanes > PACKER_LANES:
        return []
    part = f"packer-{packer.lanes}{'' if packer.flushes else '-filled'}"
    found = prove_packer(PackerKind.of(packer), question.wanted, seconds=question.seconds)
    parts = () if question.wanted is Property.COVER else (part,)
    return [replace(each, configuration=question.configuration.name, parts=parts) for each in found]


@_prove.register
def _(remover: Remover, question: Question) -> list[Result]:
    """A remover of several lanes is a packer, whose streams have other names."""
    if not remover.accepts_gaps:
        return _prove.dispatch(object)(remover, question)
    if not has_only(remover, {"closer": remover.closer}):
        return [question.result("structure", None, note="it is not its packer")]
    return _prove(remover.closer, question)


@_prove.register
def _(decoder: ParallelDecoder, question: Question) -> list[Result]:
    """Its window and its buffer, each by itself."""
    if question.wanted not in HALVES:
        return _prove.dispatch(object)(decoder, question)
    if not has_only(decoder, {"window": decoder.window, "buffer": decoder.item_buffer}):
        return [question.result("structure", None, note="it is not its parts")]
    parameters = decoder.parameters
    parts = [f"buffer-{decoder.lanes}-{parameters.optimize}"]
    if question.is_of_units:
        parts.insert(0, _window(parameters) + ("-with-empty-beats" if decoder.keeps_empty else ""))
    return [_by_induction(prove_halves, parameters, question, parts)]


@_prove.register
def _(_core: DirectPackedDecoder, _question: Question) -> list[Result]:
    """It has more lanes than the packers that are proved."""
    return []


def _window(parameters: CoreParameters) -> str:
    return parameters.name.replace("decoder", "window", 1)


def _by_induction(
    induction: Callable[..., Induction], parameters: Any, question: Question, parts: Sequence[str]
) -> Result:
    table = question.configuration.right or parameters.table
    found = induction(question.build, table, question.wanted, seconds=question.seconds)
    result = question.result("induction", found.proved or None, depth=found.frames, parts=parts)
    if not found.failed:
        return result
    result.note = f"no step: {found.failed[0]}"
    trace = Property.STEADY if question.wanted is Property.STEADY else Property.EQUIVALENCE
    return question.hunt(trace, result)


@_prove.register
def _(core: Encoder, question: Question) -> list[Result]:
    """One with one lane.

    It deasserts `ready` again and again while words have several units, which `Property.STALL` does not
    allow for. With several lanes the invariant of `prove_drained` is not inductive.
    """
    if core.lanes > 1:
        return []
    if question.is_of_units:
        return [_prove_by_drain(question, gapless=True)]
    proved = [Property.STEADY, Property.LATENCY, Property.INDEPENDENCE]
    return [_prove_whole(question)] if question.wanted in proved else []


@_prove.register
def _(core: Transcoder, question: Question) -> list[Result]:
    """By its decoder and its encoder."""
    if core.lanes > 1 or question.wanted not in TRANSCODER_PROPERTIES:
        return []
    decoder = decoder_configuration(core)
    parts = [decoder.name, f"encoder to {core.parameters.to}"]
    if question.wanted is Property.INDEPENDENCE:
        aig = Harness(lambda: ItemEncoder(question.build()), question.wanted).graph(free=True)
        return [question.result("structure", not aig.depends(["see_out_valid", "see_out_payload"], ["ready"]))]
    if not (has_only(core, core.stages) and is_same_decoder(question.build())):
        return [question.result("structure", None, note="it is not its decoder and its encoder")]
    if question.wanted is not Property.STEADY:
        name = question.configuration.name
        (found,) = prove(replace(decoder, name=name), question.wanted, seconds=question.seconds)
        if not found.proved:
            return [replace(found, parts=(decoder.name,))]
    table = question.configuration.right
    proved, note = prove_encoder(question.build, question.wanted, table, seconds=question.seconds)
    return [question.result("induction", proved or None, note=note, parts=parts)]


def _prove_by_drain(question: Question, *, gapless: bool) -> Result:
    """The proof that an encoder, or a core with a `UnitMarker`, follows the rows of its table."""
    table = question.configuration.right
    proved, note = prove_drained(question.build, question.wanted, table, gapless=gapless, seconds=question.seconds)
    result = question.result("induction", proved or None, note=note)
    return question.hunt(question.wanted, result) if proved is False else result


def _prove_whole(question: Question) -> Result:
    """The proof of a core as it is, without parts and without an invariant of our own."""
    wanted = question.wanted
    if wanted is Property.POWER_UP and (result := _power_up_by_reset(question)):
        return result
    aig = harness_aig(question.configuration, wanted)
    if wanted is Property.INDEPENDENCE:
        return question.result("structure", not aig.depends(["see_out_valid", "see_out_payload"], ["ready"]))
    verdict = decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=question.seconds)["proof"]
    if verdict.proved is False:
        return question.trace(wanted, verdict, aig)
    return question.answer(verdict)


def _power_up_by_reset(question: Question) -> Result | None:
    """The proof of `Property.POWER_UP` for a core whose state at power-up is one that a reset leaves behind.

    If a reset from some register contents leads to the initial values, then everything that follows from these is part
    of what `Property.EQUIVALENCE` says.
    """
    aig = harness_aig(question.configuration, Property.EQUIVALENCE)
    reset = replace(aig, outputs=[1]).given(aig.becomes_initial)
    if hunt(reset, 0, 1, seconds=question.seconds).proved is not False:
        return None
    verdict = decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=question.seconds)["proof"]
    note = "by equivalence: a reset leads to the initial values"
    return question.answer(verdict, note=note) if verdict.proved else None


def _prove_netlist(configuration: Configuration, wanted: str) -> list[Result]:
    started = time.monotonic()
    design = axi_rtlil(configuration.build(), TOP)
    return [_of_verdict(configuration, wanted, equal_netlist(design, wanted.removeprefix("netlist-")), started)]


def _prove_verilog(configuration: Configuration) -> list[Result]:
    started, core = time.monotonic(), configuration.build()
    verdict = equal_verilog(axi_rtlil(core), axi_verilog(core), module_name(core))
    return [_of_verdict(configuration, "verilog", verdict, started)]


def _of_verdict(configuration: Configuration, wanted: str, verdict: Verdict, started: float) -> Result:
    method = "trace" if verdict.proved is False else "reachability"
    return Result(configuration.name, wanted, method, verdict.depth, time.monotonic() - started, verdict.proved)


def _cover(core: Any, question: Question) -> list[Result]:
    configuration, seconds = question.configuration, question.seconds
    aig = harness_aig(configuration, Property.COVER)
    targets = cover_targets(core)
    shared = (time.monotonic() - question.started) / len(targets)
    verdicts = hunt_each(aig, aig.output_bits["bad"], _HUNTED, seconds=seconds)
    if core.lanes == 1:
        # What a bounded search does not reach may be unreachable.
        left = {f"{n}": (aig, bit) for n, bit in enumerate(aig.output_bits["bad"]) if verdicts[n].proved is None}
        for name, verdict in decide(left, seconds=seconds).items():
            verdicts[int(name)] = verdict
    traces = aig.values_each([verdict.frames for verdict in verdicts if verdict.proved is False])
    examples = iter(Counterexample.of_each(question.whole or configuration, Property.COVER, traces))
    results = []
    for target, verdict in zip(targets, verdicts, strict=True):
        reached = None if verdict.proved is None else not verdict.proved
        result = question.result("trace", reached, depth=verdict.depth, note=target)
        result.seconds = verdict.seconds + shared
        if reached:
            result.counterexample = next(examples)
        results.append(result)
    return results


def prove_all(
    chosen: Sequence[Configuration],
    wanted: Sequence[str],
    executor: Executor,
    *,
    seconds: int = 600,
    done: Callable[[int], None] = lambda _: None,
) -> Iterator[Result]:
    """Prove several properties of several decoders; results are in the requested order, each as soon as it is known.

    Args:
        wanted: names of `PROPERTIES`.
        executor: runs the proofs, see `job_executor`.
        done: called with the number of proofs that are finished.
    """
    waiting: dict[int, Future[list[Result]]] = {}
    following = 0
    calls = [(each, name, seconds) for each in chosen for name in wanted]
    numbers = {executor.submit(_prove_call, *call): number for number, call in enumerate(calls)}
    for count, outcome in enumerate(as_completed(numbers), 1):
        waiting[numbers[outcome]] = outcome
        done(count)
        while following in waiting:
            yield from waiting.pop(following).result()
            following += 1


def _prove_call(configuration: Configuration, wanted: str, seconds: int) -> list[Result]:
    # The processor time of this process, and of the tools that it has started and that have ended.
    began = sum(os.times()[:4])
    results = prove(configuration, wanted, seconds=seconds)
    for result in results[:1]:
        result.processor = sum(os.times()[:4]) - began
    return results
