# SPDX-License-Identifier: BSD-2-Clause
"""Runs the proofs of the catalogue: one property of one decoder, or many side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace

from amaranth.back import rtlil

from utf8fpga.formal.abc import decide, hunt, hunt_each
from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.formal.answers import shared_answers
from utf8fpga.formal.catalogue import PROPERTIES, Configuration
from utf8fpga.formal.counterexample import Counterexample
from utf8fpga.formal.cycles import SolverMissingError
from utf8fpga.formal.decoder_reference import reference_of
from utf8fpga.formal.drained_proof import prove_drained
from utf8fpga.formal.netlist import TOP, equal_netlist
from utf8fpga.formal.packer_proof import prove_packer
from utf8fpga.formal.parallel_proof import HALVES, prove_direct, prove_halves, prove_recovery
from utf8fpga.formal.periodic_reset_proof import prove_refresh
from utf8fpga.formal.properties import Harness, Property, cover_targets
from utf8fpga.formal.report import Result
from utf8fpga.formal.tap_proof import TAP_PROPERTIES, prove_tap
from utf8fpga.formal.transcoder_proof import TRANSCODER_PROPERTIES, is_joined, is_same_decoder, prove_encoder
from utf8fpga.formal.wide_proof import is_wide, prove_joints, prove_units
from utf8fpga.formal.workers import run_each, shared_folder
from utf8fpga.hdl import (
    CompactDecoder,
    DecoderParameters,
    DirectPackedDecoder,
    Encoder,
    PackedDecoder,
    Packer,
    ParallelDecoder,
    Refresh,
    RefreshedDecoder,
    Remover,
    SerialDecoder,
    axi_rtlil,
    parameters_of,
)
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.hdl.encoder.parallel_encoder import ParallelEncoder
from utf8fpga.hdl.encoder.unit_queue import UnitQueue
from utf8fpga.hdl.transcoder.transcoder import Transcoder
from utf8fpga.hdl.validator.tapped import TappedStream
from utf8fpga.model import InvalidArgumentError

__all__ = ["harness_aig", "harness_rtlil", "prove", "prove_all"]


def harness_rtlil(configuration: Configuration, wanted: Property) -> str:
    """The monitor of a property around the decoder, in RTLIL with the top module ``top``."""
    harness = Harness(configuration.build, wanted, configuration.right)
    return str(rtlil.convert(harness, name="top", ports=harness.ports, emit_src=False))


def harness_aig(configuration: Configuration, wanted: Property) -> Aig:
    """The same as a graph with the output ``bad``."""
    return aig_of(harness_rtlil(configuration, wanted), free=wanted.any_start)


def prove(configuration: Configuration, wanted: str, *, seconds: int = 600) -> list[Result]:
    """Prove one property of one decoder; for covers there is one result for each target.

    Args:
        configuration: the decoder.
        wanted: one of `PROPERTIES`.
        seconds: time limit for one question.

    Raises:
        ToolError: Yosys is missing or failed.
        ValueError: there is no such property.
    """
    if wanted not in PROPERTIES:
        raise InvalidArgumentError(f"unknown property {wanted!r} (known: {', '.join(PROPERTIES)})")
    decoder = configuration.build()
    if isinstance(decoder, Refresh):
        return _prove_refresh(configuration, seconds) if wanted == Property.RECOVERY else []
    if isinstance(decoder, RefreshedDecoder) and wanted not in _KEPT:
        return []
    try:
        if (found := _prove_parts(configuration, decoder, wanted, seconds)) is not None:
            return found
    except SolverMissingError as error:
        return [Result(configuration.name, wanted, "induction", 0, 0, None, str(error))]
    if wanted.startswith("netlist-"):
        return _prove_netlist(configuration, wanted) if configuration.verilog else []
    if wanted == Property.COVER:
        return _cover(configuration, seconds)
    if wanted == Property.RECOVERY and reference_of(decoder).forgets is None:
        return []
    return [_prove_whole(configuration, Property(wanted), seconds)]


def _of_encoder(encoder: Encoder) -> tuple[Property, ...]:
    """The properties that are proved of an encoder.

    A narrow encoder deasserts `ready` again and again while words have several units, which `Property.STALL` does not
    allow for. With several lanes the invariant of `prove_drained` is not inductive, and if the output is that of a
    packer, its latency is not proved.
    """
    if is_wide(encoder):
        return (*TRANSCODER_PROPERTIES, Property.STALL)
    found = [Property.STEADY, Property.LATENCY, Property.INDEPENDENCE]
    if not isinstance(encoder.encoder, UnitQueue):
        found.append(Property.STALL)
    if encoder.lanes == 1:
        found += [Property.EQUIVALENCE, Property.POWER_UP]
    return tuple(found)


def _prove_parts(configuration: Configuration, core: object, wanted: str, seconds: int) -> list[Result] | None:
    """The proof of a core whose components are proved each by itself; None if the property is proved of the whole."""
    if isinstance(core, Encoder | Transcoder):
        return _prove_coder(configuration, core, wanted, seconds)
    if wanted == Property.COVER and (found := _cover_parts(configuration, core, seconds)):
        return found
    if isinstance(core, TappedStream):
        return [_prove_tap(configuration, core, Property(wanted), seconds)] if wanted in TAP_PROPERTIES else []
    if isinstance(core, Remover) and core.accepts_gaps and wanted in (*HALVES, Property.INDEPENDENCE):
        return [_prove_packer(configuration, core, wanted, seconds)]
    if isinstance(core, CompactDecoder) and wanted in (*HALVES, Property.INDEPENDENCE, Property.RECOVERY):
        return _prove_compact(configuration, wanted, seconds)
    if isinstance(core, PackedDecoder | DirectPackedDecoder) and wanted == Property.INDEPENDENCE:
        return [_packed_independence(configuration, seconds)]
    if isinstance(core, DirectPackedDecoder) and wanted in (*HALVES, Property.RECOVERY):
        return [] if wanted == Property.RECOVERY else [_prove_direct(configuration, Property(wanted), seconds)]
    if isinstance(core, ParallelDecoder | PackedDecoder) and wanted in (*HALVES, Property.RECOVERY):
        return _prove_parallel(configuration, Property(wanted), seconds)
    return None


def _prove_coder(
    configuration: Configuration, core: Encoder | Transcoder, wanted: str, seconds: int
) -> list[Result] | None:
    """See `_prove_parts`."""
    if wanted not in (_of_encoder(core) if isinstance(core, Encoder) else TRANSCODER_PROPERTIES):
        return []
    if is_wide(core):
        return [_prove_wide(configuration, core, wanted, seconds)]
    if isinstance(core, Transcoder):
        return [_prove_transcoder(configuration, core, wanted, seconds)]
    if wanted in (Property.EQUIVALENCE, Property.POWER_UP):
        return [_prove_encoder(configuration, core, Property(wanted), seconds)]
    return None


def _prove_encoder(configuration: Configuration, core: Encoder, wanted: Property, seconds: int) -> Result:
    """The proof that an encoder follows the rows of its table."""
    started = time.monotonic()
    gapless = isinstance(core.encoder, UnitQueue)
    proved, note = prove_drained(configuration.build, wanted, configuration.right, gapless=gapless, seconds=seconds)
    result = Result(configuration.name, wanted, "induction", 0, 0, proved or None, note)
    if proved is False:
        aig = harness_aig(configuration, wanted)
        verdict = hunt(aig, aig.output_bits["bad"][0], _HUNTED, seconds=seconds)
        if verdict.proved is False:
            result.method, result.depth, result.proved, result.note = "trace", verdict.depth, False, ""
            result.counterexample = Counterexample.of(configuration, wanted, aig.values(verdict.frames))
    result.seconds = time.monotonic() - started
    return result


def _prove_transcoder(configuration: Configuration, core: Transcoder, wanted: str, seconds: int) -> Result:
    """The proof of a transcoder by its parts, and of how they are joined."""
    started = time.monotonic()
    decoder = Configuration.of(parameters_of(core.decoder))
    parts = (decoder.name, f"encoder to {core.target.name}")
    joined, dependent = is_joined(configuration.build())
    if wanted == Property.INDEPENDENCE:
        return Result(configuration.name, wanted, "structure", 0, time.monotonic() - started, not dependent)
    if not (joined and is_same_decoder(configuration.build())):
        taken = time.monotonic() - started
        return Result(configuration.name, wanted, "structure", 0, taken, None, "it is not its decoder and its encoder")
    if wanted != Property.STEADY:
        (found,) = prove(replace(decoder, name=configuration.name), wanted, seconds=seconds)
        if not found.proved:
            return replace(found, parts=parts[:1])
    proved, note = prove_encoder(configuration.build, Property(wanted), configuration.right, seconds=seconds)
    taken = time.monotonic() - started
    return Result(configuration.name, wanted, "induction", 0, taken, proved or None, note, parts)


def _prove_wide(configuration: Configuration, core: Encoder | Transcoder, wanted: str, seconds: int) -> Result:
    """The proof of an encoder or a transcoder with several lanes by its parts, and of how they are joined."""
    started = time.monotonic()
    assert isinstance(core.encoder, ParallelEncoder)
    stages, packer = core.encoder.stages, core.encoder.packer
    assert packer is not None
    parts = [f"{core.lanes} lanes to {stages.logic.table.name}", f"packer-{packer.lanes}-ahead-{packer.ahead}"]

    def result(method: str, proved: bool | None, note: str = "") -> Result:
        return Result(configuration.name, wanted, method, 0, time.monotonic() - started, proved, note, tuple(parts))

    joined, dependent = prove_joints(configuration.build())
    if wanted == Property.INDEPENDENCE:
        return result("structure", not dependent)
    if not (joined and (isinstance(core, Encoder) or is_same_decoder(configuration.build()))):
        return result("structure", None, "it is not its parts")
    if wanted in (Property.EQUIVALENCE, Property.POWER_UP):
        if isinstance(core, Transcoder):
            decoder = Configuration.of(parameters_of(core.decoder))
            parts.insert(0, decoder.name)
            (found,) = prove(decoder, wanted, seconds=seconds)
            if not found.proved:
                return result(found.method, None, f"{decoder.name}: {found.note}")
        proved, note = prove_units(configuration.build, Property(wanted), configuration.right, seconds=seconds)
        if not proved:
            return result("induction", None, note)
    symbol = symbol_shape(packer.sparse)
    (of_packer,) = prove_packer(
        packer.lanes, wanted, symbol=symbol, ahead=packer.ahead, lends=packer.lends, seconds=seconds
    )
    return result("induction", of_packer.proved or None, of_packer.note)


def _prove_tap(configuration: Configuration, core: TappedStream, wanted: Property, seconds: int) -> Result:
    """The proof of a tap by itself, without the buffer that makes a core of it."""
    started = time.monotonic()
    table = configuration.right or core.parameters.table
    verdict = prove_tap(core.parameters.tap, table, wanted, seconds=seconds)
    taken = time.monotonic() - started
    return Result(configuration.name, wanted, "reachability", verdict.depth, taken, verdict.proved, parts=("tap",))


def _prove_whole(configuration: Configuration, wanted: Property, seconds: int) -> Result:
    """The proof of a core as it is, without parts and without an invariant of our own."""
    started = time.monotonic()
    if wanted is Property.POWER_UP and (result := _power_up_by_reset(configuration, seconds)):
        return result
    aig = harness_aig(configuration, wanted)
    if wanted is Property.INDEPENDENCE:
        shown = [*aig.output_bits["see_out_valid"], *aig.output_bits["see_out_payload"]]
        touched = bool(aig.fan_in(shown) & set(aig.input_bits["ready"]))
        return Result(configuration.name, wanted, "structure", 0, time.monotonic() - started, not touched)
    verdict = decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=seconds)["proof"]
    result = Result(configuration.name, wanted, "reachability", verdict.depth, 0, verdict.proved)
    if verdict.proved is False:
        result.method = "trace"
        result.counterexample = Counterexample.of(configuration, wanted, aig.values(verdict.frames))
    result.seconds = time.monotonic() - started
    return result


def _power_up_by_reset(configuration: Configuration, seconds: int) -> Result | None:
    """The proof of `Property.POWER_UP` for a core whose state at power-up is one that a reset leaves behind.

    If a reset from some register contents leads to the initial values, then everything that follows from these is part
    of what `Property.EQUIVALENCE` says.
    """
    started = time.monotonic()
    aig = harness_aig(configuration, Property.EQUIVALENCE)
    reset = replace(aig, outputs=[1]).given(aig.becomes_initial)
    if hunt(reset, 0, 1, seconds=seconds).proved is not False:
        return None
    verdict = decide({"proof": (aig, aig.output_bits["bad"][0])}, seconds=seconds)["proof"]
    if not verdict.proved:
        return None
    taken = time.monotonic() - started
    note = "by equivalence: a reset leads to the initial values"
    return Result(configuration.name, Property.POWER_UP, "reachability", verdict.depth, taken, True, note)


def _prove_netlist(configuration: Configuration, wanted: str) -> list[Result]:
    started = time.monotonic()
    design = axi_rtlil(configuration.build(), TOP)
    verdict = equal_netlist(design, wanted.removeprefix("netlist-"))
    method = "trace" if verdict.proved is False else "reachability"
    return [Result(configuration.name, wanted, method, verdict.depth, time.monotonic() - started, verdict.proved)]


def _prove_parallel(configuration: Configuration, wanted: Property, seconds: int) -> list[Result]:
    if wanted is not Property.RECOVERY:
        return [_prove_halves(configuration, wanted, seconds)]
    # The pointers of a packer's memories, as those of a buffer, stay apart if they ever are.
    packed = isinstance(configuration.build(), PackedDecoder)
    return [] if packed else [_prove_recovery(configuration, seconds)]


def _prove_direct(configuration: Configuration, wanted: Property, seconds: int) -> Result:
    """The proof of a packed decoder without a buffer: its window, and its packer."""
    started = time.monotonic()
    decoder = configuration.build()
    right = configuration.right or decoder.table
    found = prove_direct(configuration.build, right, wanted, seconds=seconds)
    result = Result(configuration.name, wanted, "induction", found.frames, 0, found.proved or None)
    window = parameters_of(decoder).name.replace("decoder", "window", 1)
    result.parts = (window, f"packer-{decoder.lanes}-ahead-{decoder.packer.ahead}")
    if found.proved:
        symbol, packs = symbol_shape(decoder.output), decoder.packer
        (packer,) = prove_packer(
            packs.lanes, wanted, symbol=symbol, ahead=packs.ahead, lends=packs.lends, seconds=seconds
        )
        result.proved, result.note = packer.proved, packer.note
    if found.failed:
        _find_trace(configuration, wanted, found.failed[0], result, seconds)
    result.seconds = time.monotonic() - started
    return result


def _find_trace(configuration: Configuration, wanted: Property, failed: str, result: Result, seconds: int) -> None:
    """Refute a property by a trace from the start, for people, where a step from some state fails."""
    result.note = f"no step: {failed}"
    trace = Property.STEADY if wanted is Property.STEADY else Property.EQUIVALENCE
    aig = harness_aig(configuration, trace)
    verdict = hunt(aig, aig.output_bits["bad"][0], _HUNTED, seconds=seconds)
    if verdict.proved is False:
        result.method, result.depth, result.proved, result.note = "trace", verdict.depth, False, ""
        result.counterexample = Counterexample.of(configuration, trace, aig.values(verdict.frames))


def _prove_halves(configuration: Configuration, wanted: Property, seconds: int) -> Result:
    started = time.monotonic()
    decoder = configuration.build()
    right = configuration.right or decoder.table
    packed = isinstance(decoder, PackedDecoder)
    # A packed decoder is a sparse one and a packer, which are proved each by itself.
    found = prove_halves(
        lambda: configuration.build().sparse if packed else configuration.build(), right, wanted, seconds=seconds
    )
    result = Result(configuration.name, wanted, "induction", found.frames, 0, True if found.proved else None)
    result.parts = _parts(decoder, wanted)
    if packed and found.proved:
        symbol = symbol_shape(decoder.output)
        (packer,) = prove_packer(decoder.lanes, wanted, symbol=symbol, seconds=seconds)
        result.proved, result.note = packer.proved, packer.note
    if found.failed:
        _find_trace(configuration, wanted, found.failed[0], result, seconds)
    result.seconds = time.monotonic() - started
    return result


def _packed_independence(configuration: Configuration, seconds: int) -> Result:
    """All outputs of a packed decoder are those of its packer."""
    decoder = configuration.build()
    symbol = symbol_shape(decoder.output)
    packer, direct = decoder.packer, isinstance(decoder, DirectPackedDecoder)
    (found,) = prove_packer(
        packer.lanes, Property.INDEPENDENCE, symbol=symbol, ahead=packer.ahead, lends=packer.lends, seconds=seconds
    )
    part = f"packer-{packer.lanes}" + (f"-ahead-{packer.ahead}" if direct else "")
    return replace(found, configuration=configuration.name, parts=(part,))


def _prove_packer(configuration: Configuration, remover: Remover, wanted: str, seconds: int) -> Result:
    """A remover of several lanes is a packer, whose streams have other names."""
    assert isinstance(remover.closer, Packer)
    symbol = symbol_shape(remover.closer.sparse)
    (found,) = prove_packer(remover.lanes, wanted, symbol=symbol, flushes=remover.flushes, seconds=seconds)
    flushing = "" if remover.flushes else "-filled"
    return replace(found, configuration=configuration.name, parts=(f"packer-{remover.lanes}{flushing}",))


def _prove_compact(configuration: Configuration, wanted: str, seconds: int) -> list[Result]:
    """A decoder whose input may have gaps is a remover and a decoder, which are proved each by itself.

    That the remover's beats are full except for the last one of a packet, as the decoder requires, is a part of
    `Property.EQUIVALENCE` of a packer that does not flush.
    """
    if wanted == Property.RECOVERY:
        return []
    decoder = configuration.build()
    inner = Configuration.of(parameters_of(decoder.decoder))
    (found,) = prove(replace(inner, name=configuration.name, right=configuration.right), wanted, seconds=seconds)
    if found.proved:
        packer = _prove_packer(configuration, decoder.remover, wanted, seconds)
        found.proved, found.note = packer.proved, packer.note
        found.parts, found.seconds = (*found.parts, *packer.parts), found.seconds + packer.seconds
    return [found]


def _cover_parts(configuration: Configuration, core: object, seconds: int) -> list[Result]:
    """The covers of the parts of a core; none if it is covered as a whole.

    A bounded search in a whole core that contains a packer does not end in minutes.
    """
    found: list[Result] = []
    packers: list[Packer] = []
    if isinstance(core, PackedDecoder | DirectPackedDecoder):
        parameters = parameters_of(core)
        assert isinstance(parameters, DecoderParameters)
        # A sparse decoder with the same window.
        buffer = None if isinstance(core, DirectPackedDecoder) else parameters.buffer
        sparse = Configuration.of(replace(parameters, packed=False, buffer=buffer))
        found, packers = prove(sparse, Property.COVER, seconds=seconds), [core.packer]
    elif isinstance(core, CompactDecoder):
        found = prove(Configuration.of(parameters_of(core.decoder)), Property.COVER, seconds=seconds)
        packers = [core.remover.closer]
    elif isinstance(core, Remover) and core.accepts_gaps:
        packers = [core.closer]
    for packer in packers:
        found += prove_packer(
            packer.lanes,
            Property.COVER,
            flushes=packer.flushes,
            ahead=packer.ahead,
            lends=packer.lends,
            seconds=seconds,
        )
    return [replace(each, configuration=configuration.name) for each in found]


def _parts(decoder: ParallelDecoder | PackedDecoder, wanted: Property) -> tuple[str, ...]:
    """The names of the components for which a property of a parallel decoder is proved."""
    sparse = decoder.sparse if isinstance(decoder, PackedDecoder) else decoder
    parts = [f"buffer-{sparse.lanes}-{sparse.buffer}-pipeline-{sparse.pipeline}"]
    if wanted in (Property.EQUIVALENCE, Property.POWER_UP):
        empty = "-with-empty-beats" if sparse.keeps_empty else ""
        parts.insert(0, parameters_of(sparse).name.replace("decoder", "window", 1) + empty)
    if sparse is not decoder:
        parts.append(f"packer-{decoder.lanes}")
    return tuple(parts)


def _prove_recovery(configuration: Configuration, seconds: int) -> Result:
    started = time.monotonic()
    verdict = prove_recovery(configuration.build, seconds=seconds)
    method = "trace" if verdict.proved is False else "reachability"
    note = "up to the buffer, which needs a reset" if configuration.build().buffer != "registers" else ""
    return Result(
        configuration.name,
        Property.RECOVERY,
        method,
        verdict.depth,
        time.monotonic() - started,
        verdict.proved,
        note=note,
    )


_KEPT = (Property.EQUIVALENCE, Property.POWER_UP, Property.STEADY, Property.INDEPENDENCE)
"""The properties that a `Refresh` does not change."""


def _prove_refresh(configuration: Configuration, seconds: int) -> list[Result]:
    verdicts = prove_refresh(configuration.build(), seconds=seconds)
    return [
        Result(
            configuration.name,
            Property.RECOVERY,
            "trace" if verdict.proved is False else "reachability",
            verdict.depth,
            verdict.seconds,
            verdict.proved,
            note=question,
        )
        for question, verdict in verdicts.items()
    ]


_HUNTED = 40
"""Upper bound on the cycles of a trace that is searched for where an induction fails."""


def _cover(configuration: Configuration, seconds: int) -> list[Result]:
    started = time.monotonic()
    aig = harness_aig(configuration, Property.COVER)
    targets = cover_targets(configuration.build())
    shared = (time.monotonic() - started) / len(targets)
    verdicts = hunt_each(aig, aig.output_bits["bad"], _HUNTED, seconds=seconds)
    if isinstance(configuration.build(), SerialDecoder):
        # What a bounded search does not reach may be unreachable.
        left = {f"{n}": (aig, bit) for n, bit in enumerate(aig.output_bits["bad"]) if verdicts[n].proved is None}
        for name, verdict in decide(left, seconds=seconds).items():
            verdicts[int(name)] = verdict
    traces = aig.values_each([verdict.frames for verdict in verdicts if verdict.proved is False])
    examples = iter(Counterexample.of_each(configuration, Property.COVER, traces))
    results = []
    for target, verdict in zip(targets, verdicts, strict=True):
        reached = None if verdict.proved is None else not verdict.proved
        taken = verdict.seconds + shared
        result = Result(configuration.name, Property.COVER, "trace", verdict.depth, taken, reached, target)
        if reached:
            result.counterexample = next(examples)
        results.append(result)
    return results


def prove_all(
    chosen: Sequence[Configuration],
    wanted: Sequence[str],
    *,
    jobs: int = 1,
    seconds: int = 600,
    done: Callable[[int], None] = lambda _: None,
) -> Generator[Result, None, None]:
    """Prove several properties of several decoders; results are in the requested order, each as soon as it is known.

    Each proof has a process of its own, see `run_each`. Closing the iterator ends the proofs that are not finished.

    Args:
        chosen: the decoders.
        wanted: names of `PROPERTIES`.
        jobs: the number of processes.
        seconds: see `prove`.
        done: called with the number of proofs that are finished.
    """
    waiting: dict[int, Future[list[Result]]] = {}
    following = 0
    calls = [(each, name, seconds) for each in chosen for name in wanted]
    with closing(run_each(_prove_call, calls, jobs=jobs, group=lambda call: call[0].name)) as outcomes:
        for count, (number, outcome) in enumerate(outcomes, 1):
            waiting[number] = outcome
            done(count)
            while following in waiting:
                yield from waiting.pop(following).result()
                following += 1


def _prove_call(configuration: Configuration, wanted: str, seconds: int) -> list[Result]:
    with shared_answers(shared_folder()):
        return prove(configuration, wanted, seconds=seconds)
