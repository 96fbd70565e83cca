# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of any core, and whether simulation and proofs detect them.

A mutant of the netlist is one change of the core's graph: an inverted or stuck connection, an OR gate in place of an
AND gate, a register that starts with another value or never changes. A mutant of the table has one bound moved, and the
code points changed accordingly, or one row removed.

All mutants of a netlist are in one graph, and are simulated together: bit n of each value belongs to mutant n. They
receive what the unchanged core receives, in each run of a workload. A mutant that differs in any cycle is simulated
again by itself, by the drivers of the ordinary simulation, and compared with the golden function and the timing
contract. Those that remain are compared with the core by proof: merging signals proves most of them equal, and a search
finds an input with which others differ.

Proofs reject a mutant by a trace in which a monitor of `JUDGES` raises its bit, around the netlist of the mutant: the
run that the simulation rejects, or one that a search finds. They accept it if it is equal to the core, or if no monitor
can ever raise its bit. A core of which not all of `JUDGES` are properties, such as a packed decoder, is proved by its
parts, which a netlist does not have; its mutants are judged without these proofs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import call
from typing import Any

from utf8fpga.formal.abc import always_zero_each, decide, hunt
from utf8fpga.formal.aiger import Aig, aig_of
from utf8fpga.formal.catalogue import Configuration
from utf8fpga.formal.counterexample import Counterexample, compared_with
from utf8fpga.formal.mutation.changes import CHANGES, Place, described, mutated, places_of
from utf8fpga.formal.mutation.monitors import EVERY, Twin, frame_of, joined, monitor_aig, refuting
from utf8fpga.formal.mutation.player import Player, Step
from utf8fpga.formal.mutation.score import Mutant, Outcome, Score
from utf8fpga.formal.mutation.tables import table_mutants
from utf8fpga.formal.mutation.workload import Round, run_of, runs_of
from utf8fpga.formal.properties import JUDGES, Harness, Property
from utf8fpga.hdl import CoreParameters
from utf8fpga.hdl.jobs import JobExecutor, run_each
from utf8fpga.model import InvalidArgumentError, TableError
from utf8fpga.sim import Simulation
from utf8fpga.sim.engines.compiled import core_rtlil

_RUNS = 80
"""Runs of the workload."""

_MONITORED = 4
"""Those of them in which no monitor may reject the core."""

_FEW = 8
"""Runs after which it is asked which mutants are equal to the core."""

_TWIN, _TWIN_SECONDS = 20, 4
"""Cycles of a trace in which a mutant differs from the core, and upper bound on the seconds of the search."""

_FIRST, _DEEP = 14, 32
"""Cycles of a trace in which a monitor raises its bit: in the first search, and in the second one."""

_RESTLESS = 10
"""Upper bound on the seconds for one question of the first search."""

_Cycle = Mapping[str, int]
"""The values of the inputs of an `Environment`."""


def judge_all(
    subjects: Sequence[CoreParameters | Configuration],
    count: int,
    executor: JobExecutor,
    *,
    seed: int = 1,
    seconds: int = 120,
    done: Callable[[int], None] = lambda _: None,
) -> list[Score]:
    """Judge mutants of netlists, and of configurations also those of tables, in processes of their own.

    Args:
        executor: runs the jobs, see `job_executor`.
    """
    calls = list[tuple[Any, ...]]()
    for subject in subjects:
        calls.append((judge_netlist, subject, count, seed, seconds))
        if isinstance(subject, Configuration) and subject.table:
            calls.append((judge_tables, subject, seconds))
    scores: dict[int, Score] = {}
    for number, outcome in run_each(executor, call, calls):
        scores[number] = outcome.result()
        done(len(scores))
    return [scores[number] for number in range(len(calls))]


def judge_netlist(
    subject: CoreParameters | Configuration,
    count: int,
    seed: int = 1,
    seconds: int = 120,
    workload: Sequence[Sequence[Round]] | None = None,
) -> Score:
    """Make mutants of a core's netlist and judge each.

    Args:
        subject: the parameters of the core; or a configuration, whose mutants the proofs judge, too.
        workload: the runs, each of several rounds; default: 80 of `runs_of`.

    Raises:
        InvalidArgumentError: `count` is less than 1, or more than there are mutants.
        AssertionError: the core itself is rejected.
    """
    if count < 1:
        raise InvalidArgumentError(f"{count} mutants: specify at least 1")
    judge = Judge(subject)
    places = places_of(judge.plain)
    if count > len(places):
        raise InvalidArgumentError(
            f"{count} mutants of {subject.name}, which has {len(places)} places for them: specify at most {len(places)}"
        )
    workload = runs_of(judge.simulation, _RUNS) if workload is None else workload
    judge.ask_monitors(workload)
    judge.change(random.Random(seed).sample(places, count))
    judge.play(workload)
    return Score(subject.name, "netlist", [judge.mutant(n, seconds) for n in range(count)], judge.monitored)


def judge_tables(configuration: Configuration, seconds: int = 120) -> Score:
    """Make cores of all mutants of a configuration's table and judge each by the original table."""
    assert configuration.table is not None
    correct = Judge(configuration)
    workload = runs_of(correct.simulation, _RUNS)
    correct.ask_monitors(workload)
    mutants = []
    for name, make in table_mutants(configuration.table):
        try:
            other = replace(configuration, table=make(), right=configuration.right or configuration.table)
            judge = Judge(other, monitored=correct.monitored)
        except TableError as error:
            mutants.append(Mutant(name, Outcome.INVALID, str(error)))
        else:
            mutants.append(judge.whole(name, workload, seconds))
    return Score(configuration.name, "table", mutants, correct.monitored)


class Judge:
    """A core and its mutants.

    Attributes:
        simulation: of the core, for its golden function and its beats.
    """

    def __init__(self, subject: CoreParameters | Configuration, *, monitored: bool = False) -> None:
        self.monitored = monitored
        core = subject.build()
        self._subject = subject
        self._configuration = subject if isinstance(subject, Configuration) else None
        parameters = subject if isinstance(subject, CoreParameters) else compared_with(core, subject.right)
        self.simulation = Simulation(core, parameters)
        self.plain = aig_of(core_rtlil(core, resets=True))
        self._killed: dict[int, tuple[str, Sequence[_Cycle]]] = {}
        self._differing, self._equal = set[int](), set[int]()
        self.change([])

    def change(self, places: Sequence[Place]) -> None:
        """Choose the mutants."""
        self._places = places
        self._graph = mutated(self.plain, places)
        self._step = self._graph.stepper(range(len(self._graph.outputs)))

    def ask_monitors(self, workload: Sequence[Sequence[Round]]) -> None:
        """Decide that monitors judge the mutants of a configuration, unless one rejects the core itself."""
        if self._configuration:
            graph = joined(self._of_judges, self._graph, [None])
            self.monitored = not any(refuting(graph, self.accepted(run)) for run in workload[:_MONITORED])

    def play(self, workload: Sequence[Sequence[Round]]) -> None:
        """Simulate until each mutant is killed or proved equal to the core, or the workload ends."""
        for number, run in enumerate(workload):
            for mutant in self._different(self.accepted(run)):
                self._differing.add(mutant)
                reason, cycles = self._violation(run, mutant)
                if reason:
                    self._killed[mutant] = f"run {number}, {reason}", cycles
            if number == min(_FEW, len(workload) - 1):
                self._merge([n for n in range(len(self._places)) if n not in self._differing])
            if len(self._killed) + len(self._equal) == len(self._places):
                break

    def whole(self, name: str, workload: Sequence[Sequence[Round]], seconds: int) -> Mutant:
        """Judge the core itself, which is a mutant as a whole."""
        mutant = Mutant(name, Outcome.UNDECIDED)
        cycles: Sequence[_Cycle] = ()
        for number, run in enumerate(workload):
            reason, cycles = self._violation(run)
            if reason:
                mutant.outcome, mutant.reason = Outcome.KILLED, f"run {number}, {reason}"
                break
        return self._proved(mutant, None, cycles, seconds) if self.monitored else mutant

    def mutant(self, number: int, seconds: int) -> Mutant:
        """The result of a mutant."""
        mutant = Mutant(described(self.plain, self._places[number]), Outcome.EQUIVALENT)
        cycles: Sequence[_Cycle] = ()
        if number in self._equal:
            return mutant
        if number in self._killed:
            mutant.outcome = Outcome.KILLED
            mutant.reason, cycles = self._killed[number]
        elif number in self._differing:
            mutant.outcome = Outcome.TIMING
        else:
            twin, differs = self._twin(number)
            verdict = hunt(twin, differs, _TWIN, seconds=min(seconds, _TWIN_SECONDS))
            if verdict.proved is None:
                verdict = decide({"twin": (twin, differs)}, seconds=seconds)["twin"]
            if verdict.proved:
                return mutant
            mutant.outcome = Outcome.UNDECIDED
            if verdict.frames:
                run = run_of(self.simulation, twin.values(verdict.frames))
                reason, cycles = self._violation(run, number)
                mutant.outcome = Outcome.SURVIVED if reason else Outcome.TIMING
                mutant.reason = f"with {run}: {reason}" if reason else ""
        return self._proved(mutant, number, cycles, seconds) if self.monitored else mutant

    def _merge(self, numbers: Sequence[int]) -> None:
        """Find the mutants that merging signals proves equal to the core."""
        answers = always_zero_each([self._twin(number) for number in numbers])
        self._equal |= {number for number, is_equal in zip(numbers, answers, strict=True) if is_equal}

    def _twin(self, number: int) -> tuple[Aig, int]:
        """The core and a mutant with the same input, and the number of the output that is 1 if they differ."""
        twin = joined(self._of_twin, self._graph, [None, number])
        return twin, twin.output_bits["bad"][0]

    @cached_property
    def _of_twin(self) -> Aig:
        cores = self._subject.build(), self._subject.build()
        return monitor_aig(Twin(*cores), *cores)

    @cached_property
    def _of_judges(self) -> Aig:
        assert self._configuration is not None
        harness = Harness(self._subject.build, Property.TOGETHER, self._configuration.right, outside=True)
        return monitor_aig(harness, harness.core)

    def _proved(self, mutant: Mutant, number: int | None, cycles: Sequence[_Cycle], seconds: int) -> Mutant:
        """Judge a mutant by the monitors, with the input of a run and by searches."""
        graph = joined(self._of_judges, self._graph, [number])
        found = refuting(graph, cycles)
        bits = graph.output_bits["bad"]
        for frames, limit in ((_FIRST, min(seconds, _RESTLESS)), (_DEEP, seconds)):
            for wanted, bit in zip(JUDGES, bits, strict=True):
                if found is None:
                    verdict = hunt(graph, bit, frames, seconds=limit)
                    found = (wanted, verdict.frames) if verdict.proved is False else None
        if found:
            wanted, trace = found
            mutant.proof = wanted
            if mutant.outcome is not Outcome.KILLED:
                mutant.outcome = Outcome.SURVIVED
                mutant.apart = Counterexample.of(self._configuration, wanted, graph.values(trace)).lines()
        elif mutant.outcome is not Outcome.KILLED:
            verdicts = decide({wanted: (graph, bit) for wanted, bit in zip(JUDGES, bits, strict=True)}, seconds=seconds)
            correct = all(verdict.proved for verdict in verdicts.values())
            mutant.outcome = Outcome.EQUIVALENT if correct else Outcome.UNDECIDED
        return mutant

    def accepted(self, run: Sequence[Round]) -> Sequence[_Cycle]:
        """The inputs of a run of the unchanged core, which is not rejected."""
        reason, cycles = self._violation(run)
        if reason:
            raise AssertionError(f"{self._subject.name} is itself rejected: {reason}")
        return cycles

    def _violation(self, run: Sequence[Round], number: int | None = None) -> tuple[str, Sequence[_Cycle]]:
        """The first violation by a mutant, or by the core, in a run, and the inputs until then."""
        player = Player(self.simulation, self._graph, self._step, number, strict=self.monitored)
        return next(filter(None, map(player.play, run)), ""), player.cycles

    def _different(self, cycles: Sequence[_Cycle]) -> Iterator[int]:
        """The mutants that are not killed and differ in some cycle from the core."""
        graph, step = self._all
        every, state, differ = (1 << len(self._places)) - 1, [0] * len(graph.latches), 0
        changes = {at: 1 << n for n, at in enumerate(graph.input_bits[CHANGES])}
        for values in cycles:
            state, (bad,) = step(state, frame_of(graph, values, every, changes), every)
            differ |= bad
        return (n for n in range(len(self._places)) if differ >> n & 1 and n not in self._killed)

    @cached_property
    def _all(self) -> tuple[Aig, Step]:
        """All mutants, each beside the core: bit n of each value belongs to mutant n."""
        graph = joined(self._of_twin, self._graph, [None, EVERY])
        return graph, graph.stepper(graph.output_bits["bad"])
