# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of a decoder: do the simulation tests and the proofs notice?

A mutant of the netlist is one change of Yosys's `mutate`; a mutant of the table is one moved bound,
with the code points that follow from it, or a row left out. Each is judged twice: by the workload of
the simulation tests against the golden model, and by the proofs. A mutant that all proofs prove right
is a decoder that is right, whatever its gates are, and does not count.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from utf8fpga.hdl.tools import run_tool
from utf8fpga.model import EncodingTable, TableError
from utf8fpga.model.table import Range, Row
from utf8fpga.sim.engine import Aig, assemble, decide, read_aig
from utf8fpga.sim.properties import Property
from utf8fpga.sim.prove import Configuration, harness_aig, harness_rtlil
from utf8fpga.sim.workload import Workload

__all__ = ["JUDGES", "Mutant", "Score", "judge_netlists", "judge_tables", "table_mutants"]

JUDGES = (Property.EQUIVALENCE, Property.STEADY, Property.STALL, Property.LATENCY)
"""The proofs that judge mutants; a decoder of which all hold is right, and in time, on every input."""

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
    """

    name: str
    simulation: str = ""
    proof: str = ""
    undecided: bool = False
    refused: str = ""

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
) -> Score:
    """Make mutants of a decoder's netlist and judge each.

    Args:
        configuration: the decoder.
        count: how many.
        seed: of Yosys's choice.
        jobs: how many at a time.
        seconds: how long the engine may think about one question.
        done: called with how many are judged.
    """
    harnesses = {wanted: harness_rtlil(configuration, wanted) for wanted in JUDGES}
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        for wanted, text in harnesses.items():
            (directory / f"{wanted}.il").write_text(text, encoding="utf-8")
        # The decoder is taken out of its surroundings, so that a change is the same in all of them.
        # Both are mapped once, so that a mutant is soon put together.
        alone = "hierarchy -top top.dut; proc; flatten; opt -nodffe -nosdff; opt_clean; simplemap; write_rtlil dut.il"
        run_tool("yosys", ["-q", "-p", f"read_rtlil {Property.STEADY}.il; {alone}"], directory=directory)
        for wanted in JUDGES:
            mapped = (
                f"techmap; dffunmap; opt -fast -nodffe -nosdff; aigmap; opt_clean; write_rtlil -selected {wanted}.il"
            )
            around = f"read_rtlil {wanted}.il; hierarchy -top top; proc; select top; opt -nodffe -nosdff; {mapped}"
            run_tool("yosys", ["-q", "-p", around], directory=directory)
        listing = f"read_rtlil dut.il; mutate -list {count} -seed {seed} -o mutants.txt"
        run_tool("yosys", ["-q", "-p", listing], directory=directory)
        lines = [line for line in (directory / "mutants.txt").read_text(encoding="utf-8").splitlines() if line]
        workload = Workload.draw(harness_aig(configuration, Property.STEADY), configuration.build())
        batches = [lines[start : start + _BATCH] for start in range(0, len(lines), _BATCH)]
        judge = _Judge(directory, workload, seconds)
        return Score(configuration.name, "netlist", _parallel(judge.netlists, batches, jobs, done))


@dataclass
class _Judge:
    directory: Path
    workload: Workload
    seconds: int

    def netlists(self, number: int, lines: Sequence[str]) -> list[Mutant]:
        mutants = [Mutant(line.removeprefix("mutate ")) for line in lines]
        self._simulate(mutants, self._made(Property.STEADY, number, lines))
        for wanted in JUDGES:
            open_ones = [n for n, mutant in enumerate(mutants) if not mutant.proof]
            made = self._made(wanted, number, [lines[n] for n in open_ones])
            self._prove(wanted, [mutants[n] for n in open_ones], made)
        return mutants

    def _made(self, wanted: Property, number: int, lines: Sequence[str]) -> list[Aig]:
        """The mutants with the monitor of a property."""
        if not lines:
            return []
        names = [f"{wanted}-{number}-{n}" for n in range(len(lines))]
        steps = [
            f"design -reset; read_rtlil {wanted}.il; read_rtlil dut.il; {line}; hierarchy -top top; "
            + assemble(name, free=wanted.any_start)
            for name, line in zip(names, lines, strict=True)
        ]
        script = self.directory / f"{wanted}-{number}.ys"
        script.write_text("\n".join(steps).replace("; ", "\n"), encoding="utf-8")
        run_tool("yosys", ["-q", "-s", script.name], directory=self.directory)
        return [read_aig(self.directory / f"{name}.aig") for name in names]

    def _simulate(self, mutants: Sequence[Mutant], made: Sequence[Aig]) -> None:
        for mutant, aig in zip(mutants, made, strict=True):
            seen = self.workload.play(aig)
            # One run that is wrong is enough.
            for run in self.workload.differing(seen):
                if reason := self.workload.wrong(seen, run):
                    mutant.simulation = f"run {run}, {reason}"
                    break

    def _prove(self, wanted: Property, mutants: Sequence[Mutant], made: Sequence[Aig]) -> None:
        questions = {f"q{n}": (aig, aig.output_bits["bad"][0]) for n, aig in enumerate(made)}
        for mutant, verdict in zip(mutants, decide(questions, seconds=self.seconds, hunt=True).values(), strict=True):
            if verdict.proved is False:
                mutant.proof = wanted
            elif verdict.proved is None:
                mutant.undecided = True

    def tables(self, _number: int, changed: Sequence[tuple[str, Any]]) -> list[Mutant]:
        mutants = [Mutant(name) for name, _made in changed]
        for mutant, (_name, configuration) in zip(mutants, changed, strict=True):
            if isinstance(configuration, str):
                mutant.refused = configuration
                continue
            table = self.workload.decoder.table
            self._simulate([mutant], [harness_aig(configuration, Property.STEADY, table)])
            for wanted in JUDGES:
                if not mutant.proof:
                    self._prove(wanted, [mutant], [harness_aig(configuration, wanted, table)])
        return mutants


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
            changed.append([(name, replace(configuration, table=table))])
    judge = _Judge(Path(), workload, seconds)
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
