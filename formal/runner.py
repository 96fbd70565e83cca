# SPDX-License-Identifier: BSD-2-Clause
"""Runs the proofs of the catalogue: the properties of one core, or of many side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from utf8fpga.formal.abc import Verdict, decide, hunt, resets_to_power_up
from utf8fpga.formal.catalogue import PROPERTIES, Configuration
from utf8fpga.formal.claims import Claims
from utf8fpga.formal.counterexample import Counterexample
from utf8fpga.formal.gates import any_start, depends, graph_of, values
from utf8fpga.formal.netlist import TOP, equal_netlist, equal_verilog
from utf8fpga.formal.packed_proof import LANES as PACKED_LANES
from utf8fpga.formal.packed_proof import PackedProof
from utf8fpga.formal.queue_proof import ItemQueue, QueueProof
from utf8fpga.formal.report import Result
from utf8fpga.formal.sanitizer_proof import SanitizerProof
from utf8fpga.formal.sparse_proof import SparseProof
from utf8fpga.formal.validator_proof import ValidatorProof
from utf8fpga.hdl import DecoderParameters, axi_rtlil, axi_verilog, entry_of, module_name
from utf8fpga.hdl.decoder.parallel import PackedDecoder, ParallelDecoder
from utf8fpga.hdl.decoder.serial import SerialDecoder
from utf8fpga.hdl.encoder.serial import SerialEncoder
from utf8fpga.hdl.sanitizer import Sanitizer
from utf8fpga.hdl.toolchain import ToolFailedError
from utf8fpga.hdl.transcoder.transcoder import SerialTranscoder
from utf8fpga.hdl.validator.tap import TappedStream
from utf8fpga.model import EncodingTable, InvalidArgumentError
from utf8fpga.sim.aiger import Aig
from utf8fpga.sim.harness import Environment, Harness, Property

_HUNTED = 40
"""Upper bound on the cycles of a trace that is searched for where an induction fails."""


def _claims_of(core: Any, table: EncodingTable | None) -> Claims | None:
    """The claims about a core that is proved by induction, if there are any."""
    if isinstance(core, ParallelDecoder):
        return SparseProof(core, table)
    if isinstance(core, PackedDecoder) and core.lanes == PACKED_LANES:
        return PackedProof(core, table)
    if isinstance(core, Sanitizer):
        return SanitizerProof(core, table)
    if isinstance(core, TappedStream) and core.lanes == 1:
        return ValidatorProof(core, table)
    if isinstance(core, SerialEncoder):
        return QueueProof(core, table)
    return None


def prove(configuration: Configuration, *wanted: str, seconds: int = 600) -> list[Result]:
    """Prove properties of one core; those that have no proof for it are left out.

    Args:
        wanted: some of `PROPERTIES`.
        seconds: time limit for one question.

    Raises:
        ToolError: Yosys is missing. A property for which it fails is undecided.
        InvalidArgumentError: there is no such property.
    """
    if unknown := set(wanted) - set(PROPERTIES):
        raise InvalidArgumentError(f"unknown property {min(unknown)!r} (known: {', '.join(PROPERTIES)})")
    proof = _Proof(configuration, seconds)
    results = []
    for name in wanted:
        try:
            results += proof.prove(name)
        except ToolFailedError as error:
            # Yosys may run out of memory with a wide core; the other properties are proved all the same.
            results.append(proof.result(name, "induction", None, note=str(error)))
    return results


def is_independent(environment: Environment) -> bool:
    """Whether `Property.INDEPENDENCE` holds, by the structure of the circuit."""
    return not depends(graph_of(environment), ["see_out_valid", "see_out_payload"], ["ready"])


@dataclass
class _Proof:
    """The proof of properties of one core, one after another."""

    configuration: Configuration
    seconds: int
    started: float = field(default_factory=time.monotonic)
    claims: Claims | None = None
    unproved: list[str] | None = None

    @cached_property
    def core(self) -> Any:
        """The core."""
        return self.configuration.build()

    def result(self, wanted: str, method: str, proved: bool | None, *, depth: int = 0, note: str = "") -> Result:
        """The result, after the time that has passed since the last one."""
        before, self.started = self.started, time.monotonic()
        return Result(self.configuration.name, wanted, method, depth, self.started - before, proved, note)

    def prove(self, wanted: str) -> list[Result]:
        """The result of a property, if it has a proof."""
        if wanted not in list(Property):
            return self._prove_written(wanted) if self.configuration.verilog else []
        core = self.core
        if isinstance(core, SerialDecoder):
            return [self._prove_serial(core, Property(wanted))]
        if isinstance(core, SerialTranscoder):
            return self._prove_transcoder(core, Property(wanted))
        self.claims = self.claims or _claims_of(core, self.configuration.table)
        return self._prove_claims(self.claims, Property(wanted)) if self.claims else []

    def _prove_claims(self, claims: Claims, wanted: Property) -> list[Result]:
        """By one induction for all properties, unless the property is none of the claims."""
        if wanted is Property.INDEPENDENCE:
            return [self.result(wanted, "structure", is_independent(claims))]
        if self.unproved is None:
            self.unproved = claims.unproved()
        if not claims.monitors(wanted):
            return []
        if self.unproved:
            return [self._hunt(claims, wanted, f"does not follow: {self.unproved[0]}")]
        if wanted is Property.LATENCY and claims.latency > claims.core.latency:
            return [self.result(wanted, "induction", None, note=f"{claims.latency} cycles, not {claims.core.latency}")]
        return [self.result(wanted, "induction", True)]

    def _hunt(self, claims: Claims, wanted: Property, note: str) -> Result:
        """A trace from power-up, where the induction fails; undecided if there is none."""
        aig = claims.refutation(wanted)
        verdict = hunt(aig, 0, _HUNTED, seconds=self.seconds)
        if verdict.proved is None:
            return self.result(wanted, "induction", None, note=note)
        # As for a monitor with a register, a cycle follows the one with the violation.
        frames = [*verdict.frames, verdict.frames[-1]]
        return self._refuted(wanted, verdict, graph_of(claims), frames)

    def _refuted(self, wanted: Property, verdict: Verdict, aig: Aig, frames: list[list[int]]) -> Result:
        result = self.result(wanted, "trace", False, depth=verdict.depth)
        result.counterexample = Counterexample.of(self.configuration, wanted, values(aig, frames))
        return result

    def _prove_serial(self, core: Any, wanted: Property) -> Result:
        """Of a serial decoder by property directed reachability, which finds the invariant."""
        entry = entry_of(DecoderParameters(table=self.configuration.table or core.table, kind=core.kind))
        harness = Harness(core, wanted, entry=entry)
        if wanted is Property.INDEPENDENCE:
            return self.result(wanted, "structure", is_independent(harness))
        aig = any_start(graph_of(harness))
        verdict = decide(aig, aig.output_bits["bad"][0], seconds=self.seconds)
        if verdict.proved is False:
            return self._refuted(wanted, verdict, aig, verdict.frames)
        if verdict.proved and not resets_to_power_up(graph_of(harness)):
            return self.result(wanted, "reachability", None, note="power-up is no state after a reset")
        return self.result(wanted, "reachability", verdict.proved, depth=verdict.depth)

    def _prove_transcoder(self, core: Any, wanted: Property) -> list[Result]:
        """Of a serial transcoder: its decoder, and its queue behind any items."""
        if wanted in (Property.STALL, Property.LATENCY):
            return []
        if wanted is Property.EQUIVALENCE:
            decoder = self._prove_serial(core.decoder, wanted)
            if not decoder.proved:
                return [self.result(wanted, decoder.method, decoder.proved, note="its decoder")]
        self.claims = self.claims or QueueProof(ItemQueue(core), self.configuration.table)
        return self._prove_claims(self.claims, wanted)

    def _prove_written(self, wanted: str) -> list[Result]:
        """The netlist of a family, or the Verilog."""
        core = self.core
        if wanted == "verilog":
            verdict = equal_verilog(axi_rtlil(core), axi_verilog(core), module_name(core))
        else:
            verdict = equal_netlist(axi_rtlil(core, TOP), wanted.removeprefix("netlist-"))
        method = "trace" if verdict.proved is False else "reachability"
        return [self.result(wanted, method, verdict.proved, depth=verdict.depth)]


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
        done: called with the number of jobs that are finished, see `jobs`.
    """
    waiting: dict[int, Future[list[Result]]] = {}
    following = 0
    numbers = {
        executor.submit(_prove_job, configuration, names, seconds): number
        for number, (configuration, names) in enumerate(jobs(chosen, wanted))
    }
    for count, outcome in enumerate(as_completed(numbers), 1):
        waiting[numbers[outcome]] = outcome
        done(count)
        while following in waiting:
            yield from waiting.pop(following).result()
            following += 1


def jobs(chosen: Sequence[Configuration], wanted: Sequence[str]) -> list[tuple[Configuration, tuple[str, ...]]]:
    """The jobs of `prove_all`: properties that one induction may prove are one job, any other is one."""
    together = tuple(name for name in wanted if name in list(Property))
    alone = [(name,) for name in wanted if name not in together]
    return [(each, names) for each in chosen for names in (*([together] if together else []), *alone)]


def _prove_job(configuration: Configuration, wanted: Sequence[str], seconds: int) -> list[Result]:
    return prove(configuration, *wanted, seconds=seconds)
