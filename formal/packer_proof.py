# SPDX-License-Identifier: BSD-2-Clause
"""Proofs of the packer, by induction over one cycle.

Three kinds of questions to a SAT solver make the proof:

- `reset_cycles` cycles after a reset, from arbitrary contents of flip-flops and memories, the invariant holds, and
  until then no monitor has raised its bit; each further reset starts this anew;
- if it holds, it holds one cycle later, for any input without a reset;
- if it holds, no monitor raises its bit.

The trusted part is the monitors in `packer_monitors` and the producer and the consumer that `PackerProof` builds. The
invariant, in `invariants.packer`, need not be trusted.

Nothing is assumed of the producer: a beat may have neither a word nor an end, and `valid` may be deasserted before the
transfer. Packers have at most `PACKER_LANES` lanes; others are simulated.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.aiger import Aig
from utf8fpga.formal.cycles import Cycles, SolverMissingError, entailed
from utf8fpga.formal.invariants.packer import FLUSHED_COVERS, PACKER_COVERS, PackerInvariant
from utf8fpga.formal.invariants.registers import Registers, register_claims
from utf8fpga.formal.packer_monitors import MONITORED, PackerMonitors
from utf8fpga.formal.properties import Property
from utf8fpga.formal.report import Result
from utf8fpga.formal.top import Top
from utf8fpga.hdl.beats import symbol_shape
from utf8fpga.hdl.packer.packer import Packer
from utf8fpga.model.exceptions import InvalidArgumentError

PACKER_PROPERTIES = (*MONITORED, Property.INDEPENDENCE, Property.POWER_UP, Property.COVER)
"""The properties of `prove_packer`."""

PACKER_LANES = 2
"""Upper bound on the lanes of a packer that is proved."""


class PackerProof(Top):
    """A packer between any producer and any consumer, and the questions of the induction as outputs.

    Args:
        packer: the packer. Its memories are given more read ports, so it must not be part of another design.

    Attributes:
        offer, fresh, ready, pick: inputs with arbitrary values: `valid` and the payload of the producer, `ready` of the
            consumer, and the number of the event that is watched, see `PackerMonitors`.
        seen: per property of `MONITORED`, it is violated.
    """

    def __init__(self, packer: Packer) -> None:
        super().__init__()
        self.packer = packer
        self.reset, self.offer, self.ready = (Signal(name=n) for n in ("reset", "offer", "ready"))
        self.fresh = Signal(len(Value.cast(packer.sparse.payload)))
        self.pick = Signal(packer.lanes + 1)
        self._observed = Module()
        self._observed.submodules.packer = packer
        self.monitors = PackerMonitors(self._observed, packer, self.pick)
        self.invariant = PackerInvariant(self._observed, packer, self.monitors)
        self.holds = Signal(len(self.invariant.parts))
        self.registers = Cat(each.value for each in packer.pipeline.registers)
        self.cycles = [each.stage for each in packer.pipeline.registers for _ in range(len(each.value))]
        observed = {"registers": self.registers, "roots": Cat(packer.roots), "states": self.invariant.states}
        for n, (slot, states) in enumerate(zip(self.invariant.slots, self.invariant.expected, strict=True)):
            valids = slot.valid.replicate(len(packer.valids))
            observed |= {f"slot_{n}": Cat(valids, slot.idle, slot.last, slot.keep), f"states_{n}": states}
        self._values = [*observed.values()]
        self.observed = [Signal(len(value), name=f"see_{name}") for name, value in observed.items()]
        self.wrong = Signal(sum(map(len, self.monitors.bad.values())))
        self.seen = Signal(len(MONITORED))
        self.covered = Signal(len(PACKER_COVERS))
        self.packed_valid = Signal()
        self.sparse_ready = Signal()
        self.packed_payload = Signal(len(Value.cast(packer.packed.payload)))

    @property
    def given(self) -> Registers:
        """The registers of the pipeline."""
        slots = [(f"see_slot_{n}", f"see_states_{n}") for n in range(len(self.invariant.slots))]
        return Registers("see_registers", self.cycles, "see_roots", "see_states", self.invariant.cycles, slots)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.clocked(m, self.reset)
        # All registers of this submodule start with any contents, see `aig_of`: those of the packer and the ghosts.
        m.submodules.dut = self._observed
        sparse, packed = self.packer.sparse, self.packer.packed
        m.d.comb += [
            sparse.valid.eq(self.offer),
            Value.cast(sparse.payload).eq(self.fresh),
            packed.ready.eq(self.ready),
            self.packed_valid.eq(packed.valid),
            self.packed_payload.eq(packed.payload),
            self.sparse_ready.eq(sparse.ready),
        ]
        m.d.comb += [
            *(signal.eq(value) for signal, value in zip(self.observed, self._values, strict=True)),
            self.holds.eq(Cat(self.invariant.parts.values())),
            self.wrong.eq(Cat(self.monitors.bad.values())),
            self.seen.eq(Cat(self.monitors.bad[wanted].any() for wanted in MONITORED)),
            self.covered.eq(Cat(self.invariant.covers[target] for target in PACKER_COVERS)),
        ]
        return m


_AFTER_POWER_UP = 3
"""Cycles after power-up in which the invariant need not hold: registers that duplicate others have no initial value."""


class PackerKind(NamedTuple):
    """A packer with what it is built from, as a key of a cache.

    Attributes:
        packer: the class of the packer. For mypy a class whose instances have a method `__hash__` is not hashable.
        lanes, flushes: see `Packer`.
        fields: the name and the width of each field of a word.
    """

    packer: Any
    lanes: int
    flushes: bool
    fields: tuple[tuple[str, int], ...]

    @staticmethod
    def of(packer: Packer) -> PackerKind:
        """That of a packer."""
        symbol: Any = symbol_shape(packer.sparse)
        fields = tuple((name, field.width) for name, field in symbol)
        return PackerKind(type(packer), packer.lanes, packer.flushes, fields)

    def build(self) -> Packer:
        """The packer."""
        made: Packer = self.packer(data.StructLayout(dict(self.fields)), self.lanes, flushes=self.flushes)
        return made


@dataclass(frozen=True)
class _Design:
    """A `PackerProof` for the engines.

    Attributes:
        claims: the invariant: by name of a part or of a cycle of the pipeline the output that is 1 if it holds.
        bad: per property the outputs that must never be 1.
        after: the number of cycles after which a reset, or power-up, ends.
    """

    aig: Aig
    claims: dict[str, int]
    bad: dict[Property, list[int]]
    after: int

    @staticmethod
    @lru_cache(maxsize=4)
    def of(kind: PackerKind, *, free: bool = True) -> _Design:
        """That of a packer; the last ones are kept.

        Args:
            free: whether all registers start with any contents, and the first cycle is a reset.
        """
        proof = PackerProof(kind.build())
        aig, registers = register_claims(proof.graph(free=free), proof.given)
        claims = dict(zip(proof.invariant.parts, aig.output_bits["holds"], strict=True))
        claims |= {f"registers in cycle {cycle}": n for n, cycle in enumerate(registers, len(aig.outputs))}
        found = iter(aig.output_bits["wrong"])
        bad = {wanted: [next(found) for _ in range(len(each))] for wanted, each in proof.monitors.bad.items()}
        aig = replace(aig, outputs=[*aig.outputs, *registers.values()])
        return _Design(aig, claims, bad, proof.packer.reset_cycles if free else _AFTER_POWER_UP)

    def cycles(self, *resets: int | None) -> Cycles:
        """Some cycles, each with the value of the reset; None: with any value."""
        (reset,) = self.aig.input_bits["reset"]
        return Cycles(self.aig, [{} if value is None else {reset: value} for value in resets])

    def invariant(self, outputs: Sequence[int]) -> dict[str, list[int]]:
        """The literals of the claims in a cycle."""
        return {name: [outputs[at]] for name, at in self.claims.items()}


@lru_cache(maxsize=4)
def _induction(kind: PackerKind, seconds: int) -> tuple[bool | None, str]:
    """The answer to base and step; if it is not yes, also the part of the invariant that does not follow."""
    design = _Design.of(kind)
    if not (found := _start(design, seconds, reset=1))[0]:
        return found
    cycles = design.cycles(0, None)
    before, after = (design.invariant(outputs) for outputs in cycles.outputs)
    return entailed(cycles.gates, (literal for each in before.values() for literal in each), after, seconds=seconds)


def _start(design: _Design, seconds: int, *, reset: int) -> tuple[bool | None, str]:
    """Whether the invariant holds at the end of a reset, or of power-up, and no monitor raises its bit before.

    Args:
        seconds: limit, see `entailed`.
        reset: whether there is one in the first cycle. In the cycles after it there is none.
    """
    cycles = design.cycles(reset, *[0] * design.after)
    wanted = design.invariant(cycles.outputs[-1])
    # What happens in the cycle of a reset itself belongs to the time before it.
    for name, bits in design.bad.items():
        wanted[f"{name} at the start"] = [outputs[bit] ^ 1 for outputs in cycles.outputs[reset:] for bit in bits]
    return entailed(cycles.gates, [], wanted, seconds=seconds)


def prove_packer(kind: PackerKind, wanted: str, *, seconds: int = 600) -> list[Result]:
    """Prove one property of a packer.

    The properties:

    - equivalence: after any reset the words and the ends of texts at the output are those at the input, in number
      and in order. A beat has a word or an end; its words are contiguous from word 0; it has fewer words than lanes
      only if it has an end, or, with `flushes`, if the input was ready but not valid before more was accepted. An end
      is in a beat without a word only if it was so at the input.
    - power-up: the same, and all other properties with a monitor, from the initial values of the registers, before
      any reset.
    - steady: a beat at the output stays as it is until it is transferred.
    - stall: the input is ready except in the `reset_cycles` cycles after a reset, and except where the output was valid
      but not ready in one of the `stall_cycles` cycles before.
    - latency: if the output has been ready in every cycle since nothing was in flight, everything has been transferred
      that was due `latency` cycles ago: up to the last point at which a row was full, a text ended, or, with `flushes`,
      the input was ready but not valid.
    - independence: `valid` and the payload of the output do not depend on its `ready` in the same cycle, and `ready`
      of the input does not depend on any input in the same cycle.
    - cover: what the invariant must not rule out is reached in random runs; one result for each of `PACKER_COVERS` that
      the packer can reach.

    The induction is the same for all properties but the last two, and is made once. If it fails, the packer may still
    be correct. It is refuted if one of some random runs violates the property.

    Args:
        wanted: one of `PACKER_PROPERTIES`.
        seconds: limit on the time that the engine spends on one question.

    Returns:
        the result; undecided if python-sat is missing. Covers have one each.

    Raises:
        ToolError: Yosys is missing or failed.
        InvalidArgumentError: there is no such property.
    """
    if wanted not in PACKER_PROPERTIES:
        raise InvalidArgumentError(f"unknown property {wanted!r} (known: {', '.join(PACKER_PROPERTIES)})")
    started, name = time.monotonic(), f"packer-{kind.lanes}"
    aig = _Design.of(kind).aig
    if wanted == Property.COVER:
        cycles, _ = _run_at_random(aig)
        targets = [target for target in PACKER_COVERS if kind.flushes or target not in FLUSHED_COVERS]
        taken = (time.monotonic() - started) / len(targets)
        return [
            Result(name, wanted, "trace", cycles.get(target, 0), taken, target in cycles, target) for target in targets
        ]
    if wanted == Property.INDEPENDENCE:
        outward = aig.depends(["packed_valid", "packed_payload"], ["ready"])
        inward = aig.depends(["sparse_ready"], ["ready", "offer", "fresh", "reset"])
        return [Result(name, wanted, "structure", 0, time.monotonic() - started, not (outward or inward))]
    try:
        proved, note = _decide(kind, wanted, seconds)
    except SolverMissingError as error:
        # Properties that need no solver are proved all the same.
        proved, note = None, str(error)
    result = Result(name, wanted, "induction", 0, 0, proved or None, note)
    if not proved and wanted in MONITORED:
        _, violated = _run_at_random(aig)
        if wanted in violated:
            result.proved, result.method, result.depth = False, "trace", violated[Property(wanted)]
    result.seconds = time.monotonic() - started
    return [result]


def _decide(kind: PackerKind, wanted: str, seconds: int) -> tuple[bool | None, str]:
    """Whether the induction proves a property, and why it does not."""
    proved: bool | None = True
    part = ""
    if wanted == Property.POWER_UP:
        proved, part = _start(_Design.of(kind, free=False), seconds, reset=0)
    if proved:
        proved, part = _induction(kind, seconds)
    if not proved:
        return proved, f"{'not decided' if proved is None else 'not inductive'}: {part}"
    proved = _follows(_Design.of(kind), wanted, seconds)
    notes = {True: "", False: "does not follow from the invariant", None: f"not decided: {wanted}"}
    return proved, notes[proved]


def _follows(design: _Design, wanted: str, seconds: int) -> bool | None:
    """Whether a property follows from the invariant."""
    followed = MONITORED if wanted == Property.POWER_UP else [Property(wanted)]
    cycles = design.cycles(None)
    (outputs,) = cycles.outputs
    given = (literal for each in design.invariant(outputs).values() for literal in each)
    none = {str(name): [outputs[bit] ^ 1 for bit in design.bad[name]] for name in followed}
    return entailed(cycles.gates, given, none, seconds=seconds)[0]


_RUNS, _CYCLES = 192, 250
"""The number of random runs, and their length."""


def _run_at_random(aig: Aig) -> tuple[dict[str, int], dict[Property, int]]:
    """Random runs from a reset: when each of `PACKER_COVERS` was reached, and when a monitor raised its bit.

    The density of words differs from run to run, and so does whether only ends of texts are watched. How often the
    producer is valid and the consumer ready also changes during a run.
    """
    rng, all_runs = random.Random(1), (1 << _RUNS) - 1
    inputs, outputs = aig.input_bits, aig.output_bits
    wanted = [*outputs["covered"], *outputs["seen"]]
    names = [*PACKER_COVERS, *MONITORED]
    step, state = aig.stepper(wanted), [0] * len(aig.latches)
    seen: dict[str, int] = {}

    def draw(chances: Sequence[float], period: int, cycle: int) -> int:
        at = cycle // period
        return sum((rng.random() < chances[(at + run) % len(chances)]) << run for run in range(_RUNS))

    for cycle in range(_CYCLES):
        frame = [rng.getrandbits(_RUNS) for _ in range(aig.inputs)]
        # The last bit of a beat is that of `last`.
        *words, last = inputs["fresh"]
        dense = draw((0, 0.5, 0, 1, 0), _CYCLES, 0)
        for bit in words:
            frame[bit] |= dense & rng.getrandbits(_RUNS) | dense & rng.getrandbits(_RUNS)
        frame[last] = draw((0.1, 0.3, 0.02), _CYCLES, 0)
        # Of many lanes it is rare that no word is present, or that none is picked.
        empty, ends = draw((0.2, 0, 0.1), _CYCLES, 0), draw((0, 1, 0, 0), _CYCLES, 0)
        for bit in words[-(len(inputs["pick"]) - 1) :]:
            frame[bit] &= ~empty
        for bit in inputs["pick"][:-1]:
            frame[bit] &= ~ends
        frame[inputs["offer"][0]] = draw((0.5, 0.9, 1, 0.97), 40, cycle)
        frame[inputs["ready"][0]] = draw((0, 1, 0.5), 25, cycle)
        frame[inputs["reset"][0]] = draw((0.003,), 1, cycle) if cycle else all_runs
        state, found = step(state, frame, all_runs)
        if cycle:
            for name, value in zip(names, found, strict=True):
                if value:
                    seen.setdefault(name, cycle)
    covers = {target: seen[target] for target in PACKER_COVERS if target in seen}
    return covers, {wanted: seen[wanted] for wanted in MONITORED if wanted in seen}
