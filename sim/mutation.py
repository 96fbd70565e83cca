# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of a decoder: do the simulation tests and the proofs notice?

A mutant of the netlist is one change of Yosys's `mutate`; a mutant of the table is one moved bound,
with the code points that follow from it, or a row left out. Each is judged twice: by the workload of
the simulation tests against the golden model, and by the proofs. A mutant that all proofs prove right
is a decoder that is right, whatever its gates are, and does not count.

A parallel decoder is proved by an induction over its parts, of which a netlist knows nothing. Its mutant is
proved right where it does the same, clock by clock, as the decoder; and refuted by any trace in which a monitor
of `JUDGES` says so, be it a run of the workload, what tells it apart from the decoder, or what a search finds.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from utf8fpga.hdl import ParallelDecoder, SerialDecoder
from utf8fpga.hdl.tools import run_tool
from utf8fpga.model import EncodingTable, TableError
from utf8fpga.model.table import Range, Row
from utf8fpga.sim.counterexample import Counterexample
from utf8fpga.sim.engine import Aig, aig_of, always_zero, assemble, decide, hunt, read_aig
from utf8fpga.sim.properties import JUDGES, Property
from utf8fpga.sim.prove import Configuration, harness_aig, harness_rtlil
from utf8fpga.sim.workload import Workload

__all__ = ["Mutant", "Score", "judge_netlists", "judge_tables", "refuting", "table_mutants"]

_BATCH = 16
"""Mutants that one run of Yosys makes."""


@dataclass
class Mutant:
    """One mutant and what became of it.

    Attributes:
        name: the change, as Yosys or the rows put it.
        simulation: what the workload's golden model says against it; empty where it is content.
        proof: the property that fails; empty where all hold.
        undecided: some property was not decided in time.
        refused: no decoder is made of such a table; the reason.
        apart: where a proof refutes what the simulation did not notice, the input that tells it apart, in lines.
    """

    name: str
    simulation: str = ""
    proof: str = ""
    undecided: bool = False
    refused: str = ""
    apart: list[str] = field(default_factory=list)

    @property
    def is_refused(self) -> bool:
        """No decoder is made of it."""
        return bool(self.refused)

    @property
    def right(self) -> bool:
        """It is proved right."""
        return not (self.proof or self.undecided or self.refused)


@dataclass
class Score:
    """What became of some mutants.

    Attributes:
        configuration: of which decoder.
        source: ``netlist`` or ``table``.
        mutants: each of them.
    """

    configuration: str
    source: str
    mutants: list[Mutant]

    @property
    def counted(self) -> list[Mutant]:
        """Those that are not proved right, and of which a decoder is made."""
        return [mutant for mutant in self.mutants if not (mutant.right or mutant.refused)]

    @property
    def by_proof(self) -> int:
        """How many a proof refutes."""
        return sum(bool(mutant.proof) for mutant in self.counted)

    @property
    def by_simulation(self) -> int:
        """How many the simulation notices."""
        return sum(bool(mutant.simulation) for mutant in self.counted)

    @property
    def survivors(self) -> list[Mutant]:
        """Those that one of the two does not notice."""
        return [mutant for mutant in self.counted if not (mutant.proof and mutant.simulation)]

    @property
    def row(self) -> list[str]:
        """The numbers, for a table."""
        right, refused = (sum(getattr(m, name) for m in self.mutants) for name in ("right", "is_refused"))
        numbers = (len(self.mutants), refused, right, len(self.counted), self.by_proof, self.by_simulation)
        return [self.configuration, self.source, *map(str, numbers)]

    def as_dict(self) -> dict[str, Any]:
        """For a program to read."""
        return asdict(self)

    @property
    def false_alarms(self) -> list[Mutant]:
        """Those proved right of which the simulation says otherwise: there must be none."""
        return [mutant for mutant in self.mutants if mutant.right and mutant.simulation]


def judge_netlists(
    configuration: Configuration,
    count: int,
    *,
    seed: int = 1,
    jobs: int = 1,
    seconds: int = 120,
    done: Callable[[int], None] = lambda _: None,
    draw: Callable[[Aig, Any], Workload] = Workload.draw,
) -> Score:
    """Make mutants of a decoder's netlist and judge each.

    Args:
        configuration: the decoder.
        count: how many to ask Yosys for; those of a clock are left out.
        seed: of Yosys's choice.
        jobs: how many at a time.
        seconds: how long the engine may think about one question.
        done: called with how many are judged.
        draw: the workload of the simulation, from a harness around the decoder and the decoder.

    Raises:
        ValueError: more are asked for than the decoder has cells, or it is neither a serial nor a sparse one.
    """
    if not isinstance(configuration.build(), SerialDecoder | ParallelDecoder):
        raise ValueError(f"mutants are made of serial and parallel decoders, not of {configuration.name!r}")
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        wanted = [Property.TOGETHER, *([Property.TWIN] if isinstance(configuration.build(), ParallelDecoder) else [])]
        for each in wanted:
            _map(directory, configuration, each)
        # Asked for more mutants than there are, Yosys would look for them for ever.
        cells = len(re.findall(r"^  cell ", (directory / "dut.il").read_text(encoding="utf-8"), re.MULTILINE))
        if count > cells:
            raise ValueError(f"{count} mutants of {configuration.name}, which has {cells} cells: ask for no more")
        listing = f"read_rtlil dut.il; mutate -list {count} -seed {seed} -o mutants.txt"
        run_tool("yosys", ["-q", "-p", listing], directory=directory)
        lines = (directory / "mutants.txt").read_text(encoding="utf-8").splitlines()
        # An and-inverter graph has no clock, so a damaged one is not to be seen in it.
        lines = [line for line in lines if line and " -port C " not in line]
        workload = draw(harness_aig(configuration, Property.STEADY), configuration.build())
        batches = [lines[start : start + _BATCH] for start in range(0, len(lines), _BATCH)]
        judge = _Judge(configuration, directory, workload, seconds)
        # What is not changed must be proved right, or nothing that follows means anything.
        (unchanged,) = judge.netlists(len(batches), [_UNCHANGED])
        if not unchanged.right or unchanged.simulation:
            raise AssertionError(f"{configuration.name} is itself refused: {unchanged}")
        return Score(configuration.name, "netlist", _parallel(judge.netlists, batches, jobs, done))


def _map(directory: Path, configuration: Configuration, wanted: Property) -> None:
    """Map the decoder and its surroundings once, each by itself, so that a mutant is soon put together."""
    (directory / "top.il").write_text(harness_rtlil(configuration, wanted), encoding="utf-8")
    if wanted is Property.TOGETHER:
        mapped = "opt_clean; simplemap; dffunmap; write_rtlil dut.il"
        alone = "hierarchy -top top.dut; proc; flatten; memory; setattr -unset init w:*; opt -keepdc -nodffe -nosdff"
        run_tool("yosys", ["-q", "-p", f"read_rtlil top.il; {alone}; {mapped}"], directory=directory)
    mapped = f"techmap; dffunmap; opt -fast -nodffe -nosdff; aigmap; opt_clean; write_rtlil -selected {wanted}.il"
    around = f"hierarchy -top top; proc; select top; opt -nodffe -nosdff; {mapped}"
    run_tool("yosys", ["-q", "-p", f"read_rtlil top.il; {around}"], directory=directory)


_UNCHANGED = "opt_clean"
"""A mutant that is none."""

_FIRST, _DEEP = 14, 32
"""Clocks that a trace may have where a parallel decoder is searched: at first, and then."""

_RESTLESS = 10
"""Seconds for a question that is asked in passing."""


@dataclass
class _Judge:
    configuration: Configuration
    directory: Path
    workload: Workload
    seconds: int

    def netlists(self, number: int, lines: Sequence[str]) -> list[Mutant]:
        """Judge the mutants that these lines make; `number` tells batches apart."""
        mutants = [Mutant(line.removeprefix("mutate ")) for line in lines]
        names = [f"m{number}-{n}" for n in range(len(lines))]
        free = Property.TOGETHER.any_start
        around = f"read_rtlil {Property.TOGETHER}.il"
        steps = [
            f"design -reset; {around}; read_rtlil dut.il; {line}; hierarchy -top top; " + assemble(name, free=free)
            for name, line in zip(names, lines, strict=True)
        ]
        self._yosys(f"m{number}", steps)
        for mutant, name, line in zip(mutants, names, lines, strict=True):
            self._judge(mutant, self._take(name), partial(self._twin, name, line))
        return mutants

    def _yosys(self, name: str, steps: Sequence[str]) -> None:
        script = self.directory / f"{name}.ys"
        script.write_text("\n".join(steps).replace("; ", "\n"), encoding="utf-8")
        run_tool("yosys", ["-q", "-s", script.name], directory=self.directory)

    def _take(self, name: str) -> Aig:
        path = self.directory / f"{name}.aig"
        aig = read_aig(path)
        path.unlink()
        return aig

    def _twin(self, name: str, line: str) -> Aig:
        """The mutant beside the decoder. Both start with zeros, from which a reset is as good as from anything."""
        right = "design -reset; read_rtlil dut.il; rename top.dut top.right"
        both = f"{right}; read_rtlil {Property.TWIN}.il; read_rtlil dut.il; {line}; hierarchy -top top"
        name += "-twin"
        self._yosys(name, [f"{both}; flatten; setundef -init -zero; {assemble(name)}"])
        return self._take(name)

    def tables(self, _number: int, changed: Sequence[tuple[str, Any]]) -> list[Mutant]:
        """Judge decoders of other tables, or say why there is none."""
        mutants = [Mutant(name) for name, _made in changed]
        for mutant, (_name, made) in zip(mutants, changed, strict=True):
            if isinstance(made, str):
                mutant.refused = made
            else:
                with_all = harness_rtlil(made, Property.TOGETHER)
                self._judge(mutant, aig_of(with_all, free=Property.TOGETHER.any_start, small=True))
        return mutants

    def _judge(self, mutant: Mutant, aig: Aig, twin: Callable[[], Aig] | None = None) -> None:
        seen = self.workload.play(aig)
        # One run that is wrong is enough.
        wrong: int | None = None
        for run in self.workload.differing(seen):
            if reason := self.workload.wrong(seen, run):
                mutant.simulation, wrong = f"run {run}, {reason}", run
                break
        if isinstance(self.workload.decoder, ParallelDecoder):
            self._refute_or_compare(mutant, aig, wrong, twin)
            return
        for wanted, where in zip(JUDGES, aig.output_bits["bad"], strict=True):
            verdict = decide({"mutant": (aig, where)}, seconds=self.seconds, hunt=True)["mutant"]
            if verdict.proved is False:
                mutant.proof = wanted
                if not mutant.simulation:
                    # Once more, for the frames.
                    frames = decide({"mutant": (aig, where)}, seconds=self.seconds)["mutant"].frames
                    mutant.apart = self._lines(wanted, aig, frames)
                return
            mutant.undecided = mutant.undecided or verdict.proved is None

    def _lines(self, wanted: Property, aig: Aig, frames: Sequence[Sequence[int]]) -> list[str]:
        return Counterexample.of(self.configuration, wanted, aig.values(frames)).lines()

    def _refute_or_compare(self, mutant: Mutant, aig: Aig, wrong: int | None, twin: Callable[[], Aig] | None) -> None:
        """Judge a parallel decoder's mutant by the monitors, and by the decoder that is proved right.

        The proof of a parallel decoder is an induction over its parts, which a netlist does not have. So a mutant
        is right if it does what the decoder does, and wrong where a trace shows a monitor's `bad`: that of the
        run that the simulation did not like, or one that is searched for.
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
        """The mutant is proved to do what the decoder does, or what it does otherwise is seen to be wrong."""
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
            # What follows shows whether it matters.
            for offer in (0, 1):
                inputs += [{"offer": offer, "ready": 1, "fresh": 0, "reset": 0}] * _DEEP
            if found := refuting(aig, inputs):
                wanted, frames = found
                mutant.proof, mutant.apart = wanted, self._lines(wanted, aig, frames)
                return True
            verdict = decide({"twin": (twin, difference)}, seconds=self.seconds)["twin"]
        return bool(verdict.proved)


_DRIVEN = ("offer", "ready", "fresh", "reset")
"""The ports that a run drives; which event is watched is for the monitor."""


def refuting(aig: Aig, inputs: Sequence[dict[str, int]]) -> tuple[Property, list[list[int]]] | None:
    """A property of `JUDGES` that a run refutes, whatever event has to be watched for that, and its frames.

    Args:
        aig: a `Harness` of `Property.TOGETHER`; its free start values are 0.
        inputs: per clock the values of the ports but `pick`.
    """
    # In each clock as many begin to look as there are places for events, each at its own: so every event is watched.
    places = aig.input_bits["pick"]
    # A monitor says a clock later what it saw.
    inputs = [*inputs, {}]
    everyone = (1 << len(places) * len(inputs)) - 1
    step, state = aig.stepper(aig.output_bits["bad"]), [0] * len(aig.latches)
    frames: list[list[int]] = []
    looking = 0
    for clock, values in enumerate(inputs):
        looking |= 1 << len(places) * clock
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
    """Tables with one bound of one position moved by one, or one row less; or why there is none.

    The code points keep to the units: those that a moved bound adds or takes away are at the same end
    of the row.
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
    *,
    jobs: int = 1,
    seconds: int = 120,
    done: Callable[[int], None] = lambda _: None,
) -> Score:
    """Make decoders of all mutants of the table and judge each against the right table.

    Args:
        configuration: the decoder.
        jobs: how many at a time.
        seconds: how long the engine may think about one question.
        done: called with how many are judged.
    """
    decoder = configuration.build()
    workload = Workload.draw(harness_aig(configuration, Property.STEADY), decoder)
    changed: list[list[tuple[str, Any]]] = []
    for name, table in table_mutants(decoder.table):
        try:
            if isinstance(table, TableError):
                raise table
            configuration.build_from(table)
        except TableError as error:
            changed.append([(name, str(error))])
        else:
            changed.append([(name, replace(configuration, table=table, right=decoder.table))])
    judge = _Judge(configuration, Path(), workload, seconds)
    return Score(configuration.name, "table", _parallel(judge.tables, changed, jobs, done))


def _parallel(
    judge: Callable[[int, Sequence[Any]], list[Mutant]],
    batches: Sequence[Sequence[Any]],
    jobs: int,
    done: Callable[[int], None],
) -> list[Mutant]:
    """The mutants of all batches, in their order."""
    found: dict[int, list[Mutant]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(judge, n, batch): n for n, batch in enumerate(batches)}
        try:
            for future in as_completed(running):
                found[running[future]] = future.result()
                done(sum(map(len, found.values())))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [mutant for n in range(len(batches)) for mutant in found[n]]
