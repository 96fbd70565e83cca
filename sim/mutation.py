# SPDX-License-Identifier: BSD-2-Clause
"""Mutants of a decoder: do the simulation tests and the proofs notice?

A mutant of the netlist is one change of Yosys's `mutate`; a mutant of the table is one moved bound,
with the code points that follow from it, or a row left out. Each is judged twice: by the workload of
the simulation tests against the golden model, and by the proofs. A mutant that all proofs prove right
is a decoder that is right, whatever its gates are, and does not count.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

from utf8fpga.hdl.tools import run_tool
from utf8fpga.model import EncodingTable, TableError
from utf8fpga.model.table import Range, Row
from utf8fpga.sim.counterexample import Counterexample
from utf8fpga.sim.engine import Aig, assemble, decide, read_aig
from utf8fpga.sim.properties import JUDGES, Property
from utf8fpga.sim.prove import Configuration, harness_aig, harness_rtlil
from utf8fpga.sim.workload import Workload

__all__ = ["Mutant", "Score", "judge_netlists", "judge_tables", "table_mutants"]

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
) -> Score:
    """Make mutants of a decoder's netlist and judge each.

    Args:
        configuration: the decoder.
        count: how many to ask Yosys for; those of a clock are left out.
        seed: of Yosys's choice.
        jobs: how many at a time.
        seconds: how long the engine may think about one question.
        done: called with how many are judged.

    Raises:
        ValueError: more are asked for than the decoder has cells.
    """
    with tempfile.TemporaryDirectory(prefix="utf8fpga-") as folder:
        directory = Path(folder)
        (directory / "top.il").write_text(harness_rtlil(configuration, Property.TOGETHER), encoding="utf-8")
        # The decoder and its surroundings are mapped once, so that a mutant is soon put together.
        mapped = "opt_clean; simplemap; dffunmap; write_rtlil dut.il"
        alone = f"hierarchy -top top.dut; proc; flatten; setattr -unset init w:*; opt -keepdc -nodffe -nosdff; {mapped}"
        run_tool("yosys", ["-q", "-p", f"read_rtlil top.il; {alone}"], directory=directory)
        mapped = "techmap; dffunmap; opt -fast -nodffe -nosdff; aigmap; opt_clean; write_rtlil -selected around.il"
        around = f"hierarchy -top top; proc; select top; opt -nodffe -nosdff; {mapped}"
        run_tool("yosys", ["-q", "-p", f"read_rtlil top.il; {around}"], directory=directory)
        # Asked for more mutants than there are, Yosys would look for them for ever.
        cells = len(re.findall(r"^  cell ", (directory / "dut.il").read_text(encoding="utf-8"), re.MULTILINE))
        if count > cells:
            raise ValueError(f"{count} mutants of {configuration.name}, which has {cells} cells: ask for no more")
        listing = f"read_rtlil dut.il; mutate -list {count} -seed {seed} -o mutants.txt"
        run_tool("yosys", ["-q", "-p", listing], directory=directory)
        lines = (directory / "mutants.txt").read_text(encoding="utf-8").splitlines()
        # An and-inverter graph has no clock, so a damaged one is not to be seen in it.
        lines = [line for line in lines if line and " -port C " not in line]
        workload = Workload.draw(harness_aig(configuration, Property.STEADY), configuration.build())
        batches = [lines[start : start + _BATCH] for start in range(0, len(lines), _BATCH)]
        judge = _Judge(configuration, directory, workload, seconds)
        # What is not changed must be proved right, or nothing that follows means anything.
        (unchanged,) = judge.netlists(len(batches), [_UNCHANGED])
        if not unchanged.right or unchanged.simulation:
            raise AssertionError(f"{configuration.name} is itself refused: {unchanged}")
        return Score(configuration.name, "netlist", _parallel(judge.netlists, batches, jobs, done))


_UNCHANGED = "opt_clean"
"""A mutant that is none."""


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
        steps = [
            f"design -reset; read_rtlil around.il; read_rtlil dut.il; {line}; hierarchy -top top; "
            + assemble(name, free=free)
            for name, line in zip(names, lines, strict=True)
        ]
        script = self.directory / f"m{number}.ys"
        script.write_text("\n".join(steps).replace("; ", "\n"), encoding="utf-8")
        run_tool("yosys", ["-q", "-s", script.name], directory=self.directory)
        for mutant, name in zip(mutants, names, strict=True):
            self._judge(mutant, read_aig(self.directory / f"{name}.aig"))
            (self.directory / f"{name}.aig").unlink()
        return mutants

    def tables(self, _number: int, changed: Sequence[tuple[str, Any]]) -> list[Mutant]:
        """Judge decoders of other tables, or say why there is none."""
        mutants = [Mutant(name) for name, _made in changed]
        for mutant, (_name, made) in zip(mutants, changed, strict=True):
            if isinstance(made, str):
                mutant.refused = made
            else:
                self._judge(mutant, harness_aig(made, Property.TOGETHER))
        return mutants

    def _judge(self, mutant: Mutant, aig: Aig) -> None:
        seen = self.workload.play(aig)
        # One run that is wrong is enough.
        for run in self.workload.differing(seen):
            if reason := self.workload.wrong(seen, run):
                mutant.simulation = f"run {run}, {reason}"
                break
        for wanted, where in zip(JUDGES, aig.output_bits["bad"], strict=True):
            verdict = decide({"mutant": (aig, where)}, seconds=self.seconds, hunt=True)["mutant"]
            if verdict.proved is False:
                mutant.proof = wanted
                if not mutant.simulation:
                    # Once more, for the frames.
                    frames = decide({"mutant": (aig, where)}, seconds=self.seconds)["mutant"].frames
                    mutant.apart = Counterexample.of(self.configuration, wanted, aig.values(frames)).lines()
                return
            mutant.undecided = mutant.undecided or verdict.proved is None


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
