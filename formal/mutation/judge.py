# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of a decoder, and whether the simulation tests and the proofs detect them.

A mutant of the netlist is one change by Yosys's `mutate`. A mutant of the table has one bound moved, and the code
points changed accordingly, or one row removed. Each mutant is judged twice: by the workload of the simulation tests,
compared with the golden model, and by the proofs. A mutant that all proofs accept is a correct decoder with other
gates; it is not counted.

A parallel decoder is proved by an induction over its components, which a netlist does not have. So a mutant of its
netlist is accepted if it is proved equal to the decoder in every cycle. It is rejected by any trace in which a monitor
of `JUDGES` raises its bit: a run of the workload, a trace in which it differs from the decoder, or one that a search
finds.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from utf8fpga.formal.abc import always_zero, decide, hunt
from utf8fpga.formal.aiger import Aig, aig_of, assemble, read_aig
from utf8fpga.formal.catalogue import Configuration
from utf8fpga.formal.counterexample import Counterexample
from utf8fpga.formal.mutation.workload import Workload
from utf8fpga.formal.properties import JUDGES, Property
from utf8fpga.formal.runner import harness_aig, harness_rtlil
from utf8fpga.hdl import ParallelDecoder, SerialDecoder
from utf8fpga.hdl.jobs import JobExecutor, run_each
from utf8fpga.hdl.toolchain import run_tool
from utf8fpga.model import EncodingTable, TableError
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.table import Range, Row

__all__ = ["Mutant", "Score", "judge_netlists", "judge_tables", "refuting", "table_mutants"]

_BATCH = 16
"""Upper bound on the number of mutants that are made and judged together."""


@dataclass
class Mutant:
    """One mutant and its results.

    Attributes:
        name: the change, as a command of Yosys or in terms of the table's rows.
        simulation: the first difference from the golden model in the workload; empty if there is none.
        proof: the property that fails; empty if all hold.
        undecided: some property was not decided in time.
        invalid: the reason for which no decoder can be made of the table; empty if one can.
        apart: if a proof rejects the mutant and the simulation does not, the lines of an input that distinguishes it.
    """

    name: str
    simulation: str = ""
    proof: str = ""
    undecided: bool = False
    invalid: str = ""
    apart: list[str] = field(default_factory=list)

    @property
    def is_invalid(self) -> bool:
        """Whether no decoder can be made of it."""
        return bool(self.invalid)

    @property
    def correct(self) -> bool:
        """Whether it is proved correct."""
        return not (self.proof or self.undecided or self.invalid)


@dataclass
class Score:
    """The results of mutants.

    Attributes:
        configuration: the name of the decoder's configuration.
        source: ``netlist`` or ``table``.
        mutants: the mutants.
    """

    configuration: str
    source: str
    mutants: list[Mutant]

    @property
    def counted(self) -> list[Mutant]:
        """Those that are not proved correct, and of which a decoder can be made."""
        return [mutant for mutant in self.mutants if not (mutant.correct or mutant.invalid)]

    @property
    def by_proof(self) -> int:
        """The number of those that a proof rejects."""
        return sum(bool(mutant.proof) for mutant in self.counted)

    @property
    def by_simulation(self) -> int:
        """The number of those that the simulation detects."""
        return sum(bool(mutant.simulation) for mutant in self.counted)

    @property
    def survivors(self) -> list[Mutant]:
        """Those that the proofs or the simulation do not detect."""
        return [mutant for mutant in self.counted if not (mutant.proof and mutant.simulation)]

    @property
    def row(self) -> list[str]:
        """The row of a table."""
        correct, invalid = (sum(getattr(m, name) for m in self.mutants) for name in ("correct", "is_invalid"))
        numbers = (len(self.mutants), invalid, correct, len(self.counted), self.by_proof, self.by_simulation)
        return [self.configuration, self.source, *map(str, numbers)]

    def as_dict(self) -> dict[str, Any]:
        """The results as a dictionary, for JSON."""
        return asdict(self)

    @property
    def false_alarms(self) -> list[Mutant]:
        """Those that are proved correct and differ in simulation. There must be none."""
        return [mutant for mutant in self.mutants if mutant.correct and mutant.simulation]


def judge_netlists(
    configuration: Configuration,
    count: int,
    executor: JobExecutor,
    *,
    seed: int = 1,
    seconds: int = 120,
    done: Callable[[int], None] = lambda _: None,
    draw: Callable[[Aig, Any], Workload] = Workload.draw,
) -> Score:
    """Make mutants of a decoder's netlist and judge each.

    Args:
        configuration: the decoder.
        count: the number of mutants that Yosys makes; those of a clock input are omitted.
        executor: runs the jobs, also those that elaborate the decoder, see `job_executor`.
        seed: the seed of Yosys's choice.
        seconds: time limit for one question.
        done: called with the number of mutants that have been judged.
        draw: makes the workload of the simulation from a harness around the decoder and the decoder; a function of a
            module, since it is called in another process.

    Raises:
        InvalidArgumentError: `count` is more than the decoder has cells, or it is neither serial nor sparse.
    """
    if not isinstance(configuration.build(), SerialDecoder | ParallelDecoder):
        raise InvalidArgumentError(f"mutants are made of serial and parallel decoders, not of {configuration.name!r}")
    judge, lines = executor.submit(_prepare_netlists, configuration, count, seed, seconds, draw).result()
    return Score(configuration.name, "netlist", _parallel(judge.netlists, lines, executor, done))


def _prepare_netlists(
    configuration: Configuration, count: int, seed: int, seconds: int, draw: Callable[[Aig, Any], Workload]
) -> tuple[_Judge, list[str]]:
    """The judge of the mutants, and the lines of Yosys that make them."""
    parallel = isinstance(configuration.build(), ParallelDecoder)
    wanted = [Property.TOGETHER, *([Property.TWIN] if parallel else [])]
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        for each in wanted:
            _map(directory, configuration, each)
        files = {f"{name}.il": (directory / f"{name}.il").read_text(encoding="utf-8") for name in ("dut", *wanted)}
        # For more mutants than there are, Yosys would not terminate.
        cells = len(re.findall(r"^  cell ", files["dut.il"], re.MULTILINE))
        if count > cells:
            raise InvalidArgumentError(
                f"{count} mutants of {configuration.name}, which has {cells} cells: specify at most {cells}"
            )
        listing = f"read_rtlil dut.il; mutate -list {count} -seed {seed} -o mutants.txt"
        run_tool("yosys", ["-q", "-p", listing], directory=directory)
        lines = (directory / "mutants.txt").read_text(encoding="utf-8").splitlines()
    # An and-inverter graph has no clock, so a fault at a clock input would have no effect.
    lines = [line for line in lines if line and " -port C " not in line]
    workload = draw(harness_aig(configuration, Property.STEADY), configuration.build())
    judge = _Judge(configuration, files, workload, seconds)
    # The decoder itself must be accepted; otherwise the results of mutants are meaningless.
    (unchanged,) = judge.netlists([_UNCHANGED])
    if not unchanged.correct or unchanged.simulation:
        raise AssertionError(f"{configuration.name} is itself rejected: {unchanged}")
    return judge, lines


def _map(directory: Path, configuration: Configuration, wanted: Property) -> None:
    """Map the decoder and its harness once, separately, so that each mutant is assembled quickly."""
    (directory / "top.il").write_text(harness_rtlil(configuration, wanted), encoding="utf-8")
    if wanted is Property.TOGETHER:
        mapped = "opt_clean; simplemap; dffunmap; write_rtlil dut.il"
        alone = "hierarchy -top top.dut; proc; flatten; memory; setattr -unset init w:*; opt -keepdc -nodffe -nosdff"
        run_tool("yosys", ["-q", "-p", f"read_rtlil top.il; {alone}; {mapped}"], directory=directory)
    mapped = f"techmap; dffunmap; opt -fast -nodffe -nosdff; aigmap; opt_clean; write_rtlil -selected {wanted}.il"
    around = f"hierarchy -top top; proc; select top; opt -nodffe -nosdff; {mapped}"
    run_tool("yosys", ["-q", "-p", f"read_rtlil top.il; {around}"], directory=directory)


_UNCHANGED = "opt_clean"
"""The mutant without a change."""

_FIRST, _DEEP = 14, 32
"""Cycles of a trace in a search of a parallel decoder: in the first search, and in the second one."""

_RESTLESS = 10
"""Time limit in seconds for one question of the first search."""


_Judged = tuple[Mutant, Aig, Callable[[], Aig] | None]
"""A mutant, its graph, and a function that makes the graph of the mutant beside the decoder, if there is one."""


@dataclass
class _Judge:
    """The judge of mutants, the same in each process.

    Attributes:
        configuration: the decoder.
        files: by name the contents of the files from which mutants of the netlist are made.
        workload: the workload of the simulation.
        seconds: time limit for one question.
    """

    configuration: Configuration
    files: dict[str, str]
    workload: Workload
    seconds: int

    def __getstate__(self) -> dict[str, Any]:
        """The state for another process: all but the decoder, which that process builds."""
        return vars(self) | {"workload": replace(self.workload, decoder=None)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.workload = replace(self.workload, decoder=self.configuration.build())

    def netlists(self, lines: Sequence[str]) -> list[Mutant]:
        """Judge the mutants that these lines make."""
        with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
            for name, text in self.files.items():
                (Path(folder) / name).write_text(text, encoding="utf-8")
            return self._netlists(Path(folder), lines)

    def _netlists(self, directory: Path, lines: Sequence[str]) -> list[Mutant]:
        mutants = [Mutant(line.removeprefix("mutate ")) for line in lines]
        names = [f"mutant{n}" for n in range(len(lines))]
        free = Property.TOGETHER.any_start
        around = f"read_rtlil {Property.TOGETHER}.il"
        steps = [
            f"design -reset; {around}; read_rtlil dut.il; {line}; hierarchy -top top; " + assemble(name, free=free)
            for name, line in zip(names, lines, strict=True)
        ]
        _yosys(directory, "mutants", steps)
        judged = [
            (mutant, _take(directory, name), partial(self._twin, directory, name, line))
            for mutant, name, line in zip(mutants, names, lines, strict=True)
        ]
        self._judge(judged)
        return mutants

    def _twin(self, directory: Path, name: str, line: str) -> Aig:
        """The mutant beside the decoder. All registers of both start with 0, which suffices since a reset follows."""
        right = "design -reset; read_rtlil dut.il; rename top.dut top.right"
        both = f"{right}; read_rtlil {Property.TWIN}.il; read_rtlil dut.il; {line}; hierarchy -top top"
        name += "-twin"
        _yosys(directory, name, [f"{both}; flatten; setundef -init -zero; {assemble(name)}"])
        return _take(directory, name)

    def tables(self, changed: Sequence[tuple[str, Any]]) -> list[Mutant]:
        """Judge decoders of other tables, or record why there is none."""
        mutants = [Mutant(name) for name, _made in changed]
        judged: list[_Judged] = []
        for mutant, (_name, made) in zip(mutants, changed, strict=True):
            if isinstance(made, str):
                mutant.invalid = made
            else:
                with_all = harness_rtlil(made, Property.TOGETHER)
                judged.append((mutant, aig_of(with_all, free=Property.TOGETHER.any_start), None))
        self._judge(judged)
        return mutants

    def _judge(self, judged: Sequence[_Judged]) -> None:
        for mutant, aig, twin in judged:
            seen = self.workload.play(aig)
            # One incorrect run suffices.
            wrong: int | None = None
            for run in self.workload.differing(seen):
                if reason := self.workload.wrong(seen, run):
                    mutant.simulation, wrong = f"run {run}, {reason}", run
                    break
            if isinstance(self.workload.decoder, ParallelDecoder):
                self._refute_or_compare(mutant, aig, wrong, twin)
        if not isinstance(self.workload.decoder, ParallelDecoder):
            self._decide({f"mutant{n}": (mutant, aig) for n, (mutant, aig, _) in enumerate(judged)})

    def _decide(self, left: dict[str, tuple[Mutant, Aig]]) -> None:
        """Judge mutants of a serial decoder by the proof engine: all of them, one monitor after the other."""
        for number, wanted in enumerate(JUDGES):
            questions = {name: (aig, aig.output_bits["bad"][number]) for name, (_, aig) in left.items()}
            for name, verdict in decide(questions, seconds=self.seconds, hunt=True).items():
                mutant, aig = left[name]
                mutant.undecided = mutant.undecided or verdict.proved is None
                if verdict.proved is False:
                    mutant.proof = wanted
                    if not mutant.simulation:
                        # Decided again, for the frames of the trace.
                        found = decide({name: questions[name]}, seconds=self.seconds)[name]
                        mutant.apart = self._lines(wanted, aig, found.frames)
                    del left[name]

    def _lines(self, wanted: Property, aig: Aig, frames: Sequence[Sequence[int]]) -> list[str]:
        return Counterexample.of(self.configuration, wanted, aig.values(frames)).lines()

    def _refute_or_compare(self, mutant: Mutant, aig: Aig, wrong: int | None, twin: Callable[[], Aig] | None) -> None:
        """Judge a mutant of a parallel decoder by the monitors, and by comparison with the decoder, which is proved.

        The proof of a parallel decoder is an induction over its components, which a netlist does not have. So a mutant
        is correct if it is equal to the decoder, and incorrect if a monitor raises its bit in a trace: in the run
        that failed in simulation, or in one that a search finds.
        """
        if wrong is not None:
            if found := refuting(aig, self.workload.inputs_of(wrong)):
                mutant.proof = found[0]
                return
        elif twin and self._does_the_same(mutant, aig, twin()):
            return
        for frames, seconds in ((_FIRST, _RESTLESS), (_DEEP, self.seconds)):
            for wanted, where in zip(JUDGES, aig.output_bits["bad"], strict=True):
                verdict = hunt(aig, where, frames, seconds=seconds)
                if verdict.proved is False:
                    mutant.proof = wanted
                    if not mutant.simulation:
                        mutant.apart = self._lines(wanted, aig, verdict.frames)
                    return
        for where in aig.output_bits["bad"]:
            if not decide({"mutant": (aig, where)}, seconds=self.seconds)["mutant"].proved:
                mutant.undecided = True
                return

    def _does_the_same(self, mutant: Mutant, aig: Aig, twin: Aig) -> bool:
        """Whether the mutant is decided: proved equal to the decoder, or rejected by a trace in which it differs."""
        any_difference, difference = twin.output_bits["bad"]
        if always_zero(twin, any_difference):
            return True
        verdict = decide({"twin": (twin, any_difference)}, seconds=self.seconds)["twin"]
        if verdict.proved is None:
            verdict = hunt(twin, any_difference, _DEEP, seconds=self.seconds)
        if verdict.proved is False:
            inputs = [
                {name: sum(frame[where] << bit for bit, where in enumerate(twin.input_bits[name])) for name in _DRIVEN}
                for frame in verdict.frames
            ]
            # The difference may have an effect only later, with or without further beats.
            for offer in (0, 1):
                inputs += [{"offer": offer, "ready": 1, "fresh": 0, "reset": 0}] * _DEEP
            if found := refuting(aig, inputs):
                wanted, frames = found
                mutant.proof, mutant.apart = wanted, self._lines(wanted, aig, frames)
                return True
            verdict = decide({"twin": (twin, difference)}, seconds=self.seconds)["twin"]
        return bool(verdict.proved)


def _yosys(directory: Path, name: str, steps: Sequence[str]) -> None:
    script = directory / f"{name}.ys"
    script.write_text("\n".join(steps).replace("; ", "\n"), encoding="utf-8")
    run_tool("yosys", ["-q", "-s", script.name], directory=directory)


def _take(directory: Path, name: str) -> Aig:
    path = directory / f"{name}.aig"
    aig = read_aig(path)
    path.unlink()
    return aig


_DRIVEN = ("offer", "ready", "fresh", "reset")
"""The ports that a run drives; the remaining one, `pick`, selects the event that the monitor watches."""


def refuting(aig: Aig, inputs: Sequence[dict[str, int]]) -> tuple[Property, list[list[int]]] | None:
    """A property of `JUDGES` that a run violates, for any choice of the watched event, and the frames of the run.

    Args:
        aig: a `Harness` of `Property.TOGETHER`; its free start values are 0.
        inputs: per cycle the values of the ports except `pick`.
    """
    # Many runs at once, one for each cycle and each place of an event: a run watches the first event in that place from
    # that cycle on. So every event is watched in some run.
    places = aig.input_bits["pick"]
    # A monitor raises its bit one cycle after the violation.
    inputs = [*inputs, {}]
    everyone = (1 << len(places) * len(inputs)) - 1
    step, state = aig.stepper(aig.output_bits["bad"]), [0] * len(aig.latches)
    frames: list[list[int]] = []
    looking = 0
    for cycle, values in enumerate(inputs):
        looking |= 1 << len(places) * cycle
        frame = [0] * aig.inputs
        for name, value in values.items():
            for bit, where in enumerate(aig.input_bits.get(name, ())):
                frame[where] = everyone if value >> bit & 1 else 0
        for place, where in enumerate(places):
            frame[where] = looking << place
        frames.append(frame)
        state, bad = step(state, frame, everyone)
        for wanted, seen in zip(JUDGES, bad, strict=True):
            if seen:
                watcher = seen.bit_length() - 1
                return wanted, [[word >> watcher & 1 for word in each] for each in frames]
    return None


def table_mutants(table: EncodingTable) -> Iterator[tuple[str, EncodingTable | TableError]]:
    """Tables with one bound of one position moved by one, or one row fewer; or the error, if there is no such table.

    The range of code points is changed accordingly: those that a moved bound adds or removes are at the same end of
    the row.
    """
    for index, row in enumerate(table.rows):
        others = (*table.rows[:index], *table.rows[index + 1 :])
        yield f"without row {index + 1} ({row})", _table(table, others)
        for position, allowed in enumerate(row.units):
            for low, high in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                name = f"row {index + 1} ({row}): unit {position + 1} "
                name += f"from {allowed.first + low:02X}" if low else f"to {allowed.last + high:02X}"
                try:
                    units = list(row.units)
                    units[position] = Range(allowed.first + low, allowed.last + high)
                    points = prod(map(len, units))
                    span = row.code_points
                    span = (
                        Range(span.last + 1 - points, span.last) if low else Range(span.first, span.first + points - 1)
                    )
                    changed = replace(row, code_points=span, units=tuple(units))
                except TableError as error:
                    yield name, error
                else:
                    yield name, _table(table, (*table.rows[:index], changed, *table.rows[index + 1 :]))


def _table(table: EncodingTable, rows: tuple[Row, ...]) -> EncodingTable | TableError:
    try:
        return replace(table, rows=rows)
    except TableError as error:
        return error


def judge_tables(
    configuration: Configuration,
    executor: JobExecutor,
    *,
    seconds: int = 120,
    done: Callable[[int], None] = lambda _: None,
) -> Score:
    """Make decoders of all mutants of the table and judge each by the original table.

    Args:
        configuration: the decoder.
        executor: see `judge_netlists`.
        seconds: time limit for one question.
        done: called with the number of mutants that have been judged.
    """
    judge, changed = executor.submit(_prepare_tables, configuration, seconds).result()
    return Score(configuration.name, "table", _parallel(judge.tables, changed, executor, done))


def _prepare_tables(configuration: Configuration, seconds: int) -> tuple[_Judge, list[tuple[str, Any]]]:
    """The judge of the mutants, and by name each table, or the reason for which no decoder can be made of it."""
    decoder = configuration.build()
    workload = Workload.draw(harness_aig(configuration, Property.STEADY), decoder)
    changed: list[tuple[str, Any]] = []
    for name, table in table_mutants(decoder.parameters.table):
        try:
            if isinstance(table, TableError):
                raise table
            configuration.build_from(table)
        except TableError as error:
            changed.append((name, str(error)))
        else:
            changed.append((name, replace(configuration, table=table, right=decoder.parameters.table)))
    return _Judge(configuration, {}, workload, seconds), changed


def _parallel(
    judge: Callable[[Sequence[Any]], list[Mutant]],
    changes: Sequence[Any],
    executor: JobExecutor,
    done: Callable[[int], None],
) -> list[Mutant]:
    """The mutants with these changes, in their order."""
    size = max(1, min(_BATCH, -(-len(changes) // executor.jobs)))
    calls = [(changes[start : start + size],) for start in range(0, len(changes), size)]
    found: dict[int, list[Mutant]] = {}
    for number, outcome in run_each(executor, judge, calls):
        found[number] = outcome.result()
        done(sum(map(len, found.values())))
    return [mutant for n in range(len(calls)) for mutant in found[n]]
