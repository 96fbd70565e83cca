# SPDX-License-Identifier: BSD-2-Clause
"""Mutants: the comparison with the golden function and the monitors detect them, or they are proved equal."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, ClockSignal, Const, DomainRenamer, Module, Signal
from support.command import utf8fpga
from support.decoders import sparse_decoder
from support.faults import wrap
from support.tiers import tiered

from utf8fpga.cli.prove import MUTATED
from utf8fpga.formal.aiger import Aig
from utf8fpga.formal.catalogue import CONFIGURATIONS, Configuration
from utf8fpga.formal.mutation.changes import Change, Place, mutated, places_of
from utf8fpga.formal.mutation.judge import Judge, judge_netlist, judge_tables
from utf8fpga.formal.mutation.monitors import refuting
from utf8fpga.formal.mutation.score import Mutant, Outcome, Score
from utf8fpga.formal.mutation.tables import table_mutants
from utf8fpga.formal.mutation.workload import Round, runs_of
from utf8fpga.formal.properties import JUDGES, Property
from utf8fpga.hdl import CORES, CoreParameters, EncoderParameters, ParallelDecoder
from utf8fpga.model import TABLE_3_7, EncodingTable, InvalidArgumentError, TableError
from utf8fpga.model.encoder import GoldenEncoder

# Faults.


class Faulty(ParallelDecoder):
    """A decoder with a fault between it and its ports, or which no reset clears."""

    def __init__(self, fault: str) -> None:
        self._fault, self._inner = fault, sparse_decoder(lanes=1, pipeline=0)
        super().__init__(self._inner.parameters)

    def elaborate(self, platform: object) -> Module:
        inner: Any = self._inner
        if self._fault == "no reset":
            inner = DomainRenamer("unreset")(inner)
        m = wrap(inner, self)
        m.domains.unreset = ClockDomain()
        m.d.comb += ClockSignal("unreset").eq(ClockSignal())
        count, waits, waited = Signal(4), Signal(), Signal()
        m.d.sync += [count.eq(count + 1), waits.eq(self.output.valid & ~self.output.ready), waited.eq(waited | waits)]
        with m.If((count == 15) & Const(self._fault == "input pauses")):
            m.d.comb += [self.input.ready.eq(0), inner.input.valid.eq(0)]
        pauses = {"output pauses": count == 15, "output sticks": waited & ~waits}.get(self._fault, Const(0))
        with m.If(pauses & ~self.input.valid):
            m.d.comb += [self.output.valid.eq(0), inner.output.ready.eq(0), self.input.ready.eq(1)]
        return m


def faulty(fault: str, table: EncodingTable) -> Faulty:
    return Faulty(fault)


STUCK = [Round([((0x41,), True)] * 2, [False] * 4 + [True] * 60, [True] * 5 + [False] * 60)]


@pytest.mark.parametrize(
    ("fault", "run", "reason", "wanted"),
    [
        ("input pauses", None, "the input is not ready", Property.STALL),
        ("output pauses", None, "a symbol is not transferred within latency", Property.LATENCY),
        ("output sticks", STUCK, "a symbol is not transferred within drain_cycles", Property.LATENCY),
        ("no reset", None, "packet 0: ", Property.EQUIVALENCE),
    ],
)
def test_a_fault_is_detected_by_the_workload_and_by_a_monitor(
    fault: str, run: list[Round] | None, reason: str, wanted: Property
) -> None:
    judge = Judge(Configuration("faulty", TABLE_3_7, partial(faulty, fault), ""), monitored=True)
    mutant = judge.whole("faulty", [run] if run else runs_of(judge.simulation, 40, size=60), 60)
    assert (mutant.outcome, mutant.proof) == (Outcome.KILLED, wanted)
    assert mutant.simulation.split(", ", 1)[1].startswith(reason)


def test_a_violation_in_the_last_cycle_of_a_run_is_seen() -> None:
    # The monitor of the first property raises its bit in the cycle after `offer`.
    outputs = [6, *[0] * (len(JUDGES) - 1)]
    aig = Aig(2, [4], outputs, [], {"pick": [0], "offer": [1]}, {"bad": [*range(len(outputs))]}, b"")
    found = refuting(aig, [{"offer": 0}, {"offer": 1}])
    assert found is not None
    wanted, frames = found
    assert wanted is JUDGES[0]
    assert [offer for _, offer in frames] == [0, 1, 0]
    assert refuting(aig, [{"offer": 0}]) is None


# Mutants of netlists.


DECODER, ENCODER, TRANSCODER, VALIDATOR, REMOVER = CORES.values()
CASES: dict[str, tuple[CoreParameters | Configuration, int]] = {
    "encoder": (ENCODER(), 10),
    "verdict": (VALIDATOR(report="verdict"), 20),
    "encoder, all": (ENCODER(), 100),
    "encoder to UTF-16": (ENCODER(to="utf-16-le"), 40),
    "transcoder": (TRANSCODER(to="utf-16-le", pipeline=0), 100),
    "wide transcoder": (TRANSCODER(to="utf-16-le", lanes=2), 10),
    "sanitizer, narrow": (TRANSCODER(narrow=True), 100),
    "verdict, 4 lanes": (VALIDATOR(report="verdict", lanes=4), 10),
    "remover": (REMOVER(), 40),
    "packed decoder": (DECODER(lanes=2), 40),
    "decoder with gaps": (DECODER(lanes=4, packed=False, compact_input=True), 10),
} | {
    name: (CONFIGURATIONS[name], count)
    for name, count in {
        "serial-0": 6,
        "serial-2-full": 20,
        "encoder-narrow": 3,
        "packed-2": 3,
        "parallel-1-pipeline-0": 8,
        "parallel-1": 20,
        "parallel-3-full": 3,
        "parallel-4": 40,
    }.items()
}
"""The cores, each with the number of mutants."""


@pytest.mark.parametrize(("subject", "count"), tiered(CASES, ["encoder", "serial-0"]))
def test_mutants_are_detected_or_proved_equal(subject: CoreParameters | Configuration, count: int) -> None:
    """Neither the workload nor a monitor rejects the core itself, unless it has not the properties of the monitors."""
    score = judge_netlist(subject, count, seconds=3)
    assert len(score.mutants) == count
    assert score.monitored == subject.name.startswith(("serial", "parallel"))
    assert score.having(Outcome.SURVIVED) == []
    # Mutants of a buffer's room pause the input earlier, within the contract.
    assert len(score.having(Outcome.TIMING)) <= 0.1 * count
    assert score.by_simulation >= 0.6 * count
    assert score.by_proof == (len(score.counted) if score.monitored else 0)


@pytest.mark.parametrize("name", ["serial-0", "remover-1"])
def test_each_bit_of_the_output_is_compared(name: str) -> None:
    judge = Judge(CONFIGURATIONS[name])
    variables = dict.fromkeys(literal >> 1 for literal in judge.plain.outputs if literal > 1)
    places = [Place(variable, change) for variable in variables for change in (Change.STUCK_0, Change.STUCK_1)]
    judge.change(places)
    judge.play(runs_of(judge.simulation, 20))
    found = [judge.mutant(number, 3) for number in range(len(places))]
    assert [mutant.name for mutant in found if mutant.outcome is not Outcome.KILLED] == []


@pytest.mark.parametrize(
    ("subject", "count", "beats"),
    [
        pytest.param(
            *(ENCODER(), 12, [*(((point,), False) for point in range(128)), ((), True)]), marks=pytest.mark.slow
        ),
        (CONFIGURATIONS["serial-0"], 4, [((0x41,), True)]),
    ],
    ids=["encoder", "serial-0"],
)
def test_mutants_that_a_workload_of_ascii_does_not_detect_are_found(
    subject: CoreParameters | Configuration, count: int, beats: Any
) -> None:
    """A search has an input with which the comparison, and a monitor if there is one, rejects the mutant."""
    score = judge_netlist(subject, count, workload=[[Round(beats)]])
    survivors = score.having(Outcome.SURVIVED)
    assert len(survivors) >= 2
    assert all(mutant.reason.startswith("with [Round(beats=[") for mutant in survivors)
    assert score.by_proof == (len(score.counted) if score.monitored else 0)
    assert all("fails in" in mutant.apart[0] for mutant in survivors if score.monitored)


def test_the_core_itself_must_be_correct() -> None:
    class Wrong(EncoderParameters):
        def golden(self) -> GoldenEncoder:
            return EncoderParameters(to="utf-16-be").golden()

    with pytest.raises(AssertionError, match=r"^encoder is itself rejected: packet 0: "):
        judge_netlist(Wrong(), 1, workload=[[Round([((0x1F600,), True)])]])


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, r"^0 mutants: specify at least 1$"),
        (99_999, r"^99999 mutants of encoder, which has (\d+) places for them: specify at most \1$"),
    ],
)
def test_the_number_of_mutants_is_checked(count: int, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        judge_netlist(ENCODER(), count, workload=[])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Change.LEFT, 0b0010),
        (Change.RIGHT, 0b0100),
        (Change.OR, 0b1110),
        (Change.STUCK_0, 0b0000),
        (Change.STUCK_1, 0b1111),
    ],
)
def test_a_changed_gate_has_the_values_of_its_change(change: Change, expected: int) -> None:
    gate = Aig(2, [], [6], [(2, 4)], {"first": [0], "second": [1]}, {"both": [0]}, b"")
    step = mutated(gate, [Place(3, change)]).stepper([0])
    assert [step([], [0b1100, 0b1010, effective], 0b1111)[1] for effective in (0, 0b1111)] == [[0b1000], [expected]]


def test_a_changed_initial_value_is_that_of_the_first_cycle_alone() -> None:
    register = Aig(1, [2], [4], [], {"next": [0]}, {"value": [0]}, b"")
    step = mutated(register, [Place(2, Change.INITIAL)]).stepper([0])
    state, first = step([0], [0, 1], 1)
    assert (first, step(state, [0, 1], 1)[1]) == ([1], [0])


def test_mutants_are_made_by_all_changes() -> None:
    assert {place.change for place in places_of(Judge(CONFIGURATIONS["serial-0"]).plain)} == {*Change}


@pytest.mark.parametrize(("monitored", "survivors"), [(True, ["no proof", "no run"]), (False, ["no run"])])
def test_survivors_are_those_that_the_simulation_or_a_proof_does_not_detect(
    monitored: bool, survivors: list[str]
) -> None:
    mutants = [
        Mutant("both", Outcome.KILLED, "run 0, packet 0", "steady"),
        Mutant("no proof", Outcome.KILLED, "run 0, packet 0"),
        Mutant("no run", Outcome.SURVIVED, "with an input", "steady"),
        Mutant("equal", Outcome.EQUIVALENT),
    ]
    assert [each.name for each in Score("core", "netlist", mutants, monitored).survivors] == survivors


# Mutants of tables.


def test_table_mutants_are_moved_bounds_and_missing_rows() -> None:
    mutants, made = list(table_mutants(TABLE_3_7)), list[str]()
    for name, make in mutants:
        with suppress(TableError):
            make()
            made.append(name)
    # 9 rows, 27 positions: each bound down or up by one.
    assert len(mutants) == 9 + 27 * 4
    assert len(made) == 61
    assert sum(name.startswith("without") for name in made) == 9


@pytest.mark.proof
def test_every_table_mutant_is_detected() -> None:
    score = judge_tables(CONFIGURATIONS["serial-0"])
    assert score.survivors == []
    assert len(score.counted) + len(score.having(Outcome.INVALID)) == len(score.mutants)


# The command.


def test_mutants_are_made_of_known_decoders() -> None:
    assert set(MUTATED) <= set(CONFIGURATIONS)


def report(*arguments: str) -> tuple[Any, str]:
    """What the command prints as JSON, and its messages."""
    done = utf8fpga("prove", *arguments, "--json")
    assert done.returncode == 0
    return json.loads(done.stdout), done.stderr.decode()


def test_the_command_judges_the_mutants_of_a_core() -> None:
    score, _ = report("remover", "--lanes", "1", "--mutate", "4")
    assert (score["core"], len(score["mutants"])) == ("remover-1", 4)
    assert {mutant["outcome"] for mutant in score["mutants"]} <= {"killed", "equivalent", "timing", "undecided"}
