# SPDX-License-Identifier: BSD-2-Clause
"""The check of a foreign core against the golden function, by cause.

Every text of one and two bytes, texts of three and four bytes from the bounds of the byte classes, boundary sequences,
the named vectors, random texts and every code point are run from the state after a reset. Each belongs to the cause of
its first ill-formed item, or, if it contains a shorter text for which the core differs, to the cause of that text. Then
follow pairs of texts, and texts with pauses, of those that are correct alone and without pauses: a difference is then
due to the text before, or to the pauses. Last
follow long texts, and many texts without a reset between them. The marks of the ends of texts are judged separately, in
runs whose words are correct. Ill-formed texts that are accepted are listed, whatever the cause with which they count.
"""

from __future__ import annotations

import random
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from operator import attrgetter

from utf8fpga.model import TABLE_3_7, ErrorKind, Practice, encode
from utf8fpga.model.errors import representatives
from utf8fpga.model.vectors import vectors
from utf8fpga.sim.check_texts import (
    COMPLETE,
    Text,
    aligned_texts,
    block_bytes,
    blocks,
    class_units,
    described_text,
    expected_texts,
    explains,
    of_golden,
    parts_of,
    shortest_first,
)
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_ports import CheckedPorts
from utf8fpga.sim.foreign_simulation import ForeignSimulation, Outcome
from utf8fpga.sim.graph import RUNS
from utf8fpga.sim.judgement import Output, Run
from utf8fpga.sim.report import (
    BACK_TO_BACK,
    EMPTY,
    ENDS,
    LONG,
    MANY,
    RESYNCHRONISATION,
    Accepted,
    Defect,
    Report,
    Throughput,
    well_formed,
)
from utf8fpga.sim.tally import Tally

_MEASURED = 1024
"""Bytes of a text whose throughput is measured, at least."""

_LONG_RUNS, _LONG_PIECES = 16, 5000
"""Long texts, and the short ones of which each consists, which have about 10,000 bytes."""

_MANY_TEXTS = 1000
"""Texts of each run of many."""

_PAUSES: tuple[tuple[str, str], ...] = (
    ("10", "0"),
    ("0", "10"),
    ("0", "1110"),
    ("110", "1001"),
    ("0110100", "0"),
    ("0", "0110100"),
    ("01101001", "1101000"),
)
"""Patterns of pauses at the input and at the output; 1 is a pause."""


def _patterns(pauses: tuple[str, str]) -> dict[str, list[bool]]:
    """The arguments of `ForeignSimulation.run` for patterns of pauses."""
    given, taken = ([digit == "1" for digit in pattern] for pattern in pauses)
    return {"input_pauses": given, "output_pauses": taken}


def _pauses(ports: CheckedPorts) -> str:
    return "back-pressure" if ports.has_back_pressure else "pauses between bytes"


def row_names(ports: CheckedPorts) -> list[str]:
    """The causes of the rows of a report, in order, of a core with these ports."""
    causes = [EMPTY, *map(well_formed, range(1, TABLE_3_7.longest + 1)), *ErrorKind.__members__]
    return [*causes, RESYNCHRONISATION, ENDS, BACK_TO_BACK, _pauses(ports), LONG, MANY]


_TextsOf = Callable[[list[bytes]], tuple[bytes, ...]]
"""A function that makes the texts of a run from pieces."""


def _first(pieces: list[bytes], count: int) -> list[bytes]:
    return pieces[:count]


def _last(pieces: list[bytes], count: int) -> list[bytes]:
    return pieces[len(pieces) - count :]


_OF_SEVERAL = {BACK_TO_BACK: Defect.LEAKS}
"""The defect by cause, if texts that are correct alone are not; default: `Defect.PAUSES`."""


class _Check:
    """One check of a core."""

    def __init__(self, core: ForeignCore, practice: Practice, on_step: Callable[[int], None]) -> None:
        self._core, self._practice, self._run = core, practice, ForeignSimulation(core).run
        self._final = core.ports.has_end
        self._is_validator = core.ports.kind == "validator"
        self._output = Output(core.ports)
        self._tally = Tally(self._output)
        self._correct: dict[bytes, array[int]] = {}
        """By text that is correct alone its expected words."""
        self._differing: dict[bytes, Text] = {}
        """The texts that differ alone and have no part that does."""
        self._ill_formed: list[tuple[Text, Run]] = []
        self._accepted: dict[bytes, tuple[str, Run]] = {}
        """By ill-formed text that is accepted, and contains no shorter one, its cause and its run."""
        self._on_step = on_step
        self._pauses = _pauses(core.ports)
        self._patterns = [(given, taken) for given, taken in _PAUSES if core.ports.has_back_pressure or "1" in given]

    def report(self) -> Report:
        short = self._run_texts, self._run_code_points, self._run_pairs, self._run_pauses
        steps = *short, self._run_long, self._run_many
        for number, step in enumerate(steps, 1):
            step()
            self._on_step(number)
        best, worst = self._throughput()
        self._on_step(len(steps) + 1)
        return Report(
            name=self._core.name,
            practice=self._practice,
            defects=tuple(self._tally.findings()),
            accepted=tuple(self._accepted_by_cause()),
            ill_formed=len(self._ill_formed),
            agreement=self._agreement(),
            rows=tuple(self._tally.rows(row_names(self._core.ports))),
            best=best,
            worst=worst,
        )

    def _texts(self) -> list[Text]:
        """The texts that are run one by one, the shortest first."""
        texts = expected_texts(self._practice, self._final)
        if self._core.lanes > 1:
            aligned = shortest_first(aligned_texts(self._core.lanes))
            more = [described_text(text, self._practice, self._final) for text in aligned]
            texts = sorted([*texts, *more], key=lambda each: len(each.text))
        if self._core.sends_empty_texts:
            return texts
        self._tally.skip(EMPTY, "the ports cannot send one")
        return [each for each in texts if each.text]

    def _run_texts(self) -> None:
        texts, output, tally = self._texts(), self._output, self._tally
        if self._is_validator:
            tally.skip(RESYNCHRONISATION, "a validator has one verdict per text")
        tally.skip(ENDS, "no text has correct words" if output.has_last else "the ports have no output.last")
        outcomes = self._run([(each.text,) for each in texts])
        for each, outcome in zip(texts, outcomes, strict=True):
            run = output.run((each.text,), [output.words(each.items)], outcome)
            is_correct = self._tally.judge(run)
            part = None
            if is_correct:
                self._correct[each.text] = run.expected
            else:
                part = self._differing_part(each)
                if part is each:
                    self._note(each, run)
            if each.is_ill_formed:
                self._ill_formed.append((each, run))
                if not is_correct:
                    self._accept(each, run)
            tally.add(part.cause if part else each.cause, None if is_correct else run)
            if each.tail and not self._is_validator and part in (None, each):
                lost = not is_correct and not output.resynchronises(run, each.items[-each.tail :])
                tally.add(RESYNCHRONISATION, run if lost else None)

    def _note(self, text: Text, run: Run) -> None:
        """Record the defect of a text that differs and has no part that does."""
        if not (text.is_ill_formed and self._is_accepted(text, run)):
            self._tally.note(self._output.defect(run, text.cause), run)

    def _is_accepted(self, text: Text, run: Run) -> bool:
        """Whether an ill-formed text is accepted."""
        items = of_golden(text.text, Practice.MAXIMAL_SUBPARTS, self._final)
        return self._output.accepts(run, [item for item in items if item.error is None])

    def _accept(self, text: Text, run: Run) -> None:
        """Record an ill-formed text if it is accepted, and no part of it is."""
        if self._is_accepted(text, run) and not any(part in self._accepted for part in parts_of(text.text)):
            self._accepted[text.text] = text.cause, run
            self._tally.note(Defect.ACCEPTS, run)

    def _accepted_by_cause(self) -> Iterator[Accepted]:
        alike: dict[tuple[str, int], list[Run]] = defaultdict(list)
        for text, (cause, run) in self._accepted.items():
            alike[cause, len(text)].append(run)
        order = list(ErrorKind.__members__)
        for cause, length in sorted(alike, key=lambda key: (order.index(key[0]), key[1])):
            runs = alike[cause, length]
            yield Accepted(cause, len(runs), self._output.failure(runs[0]))

    def _agreement(self) -> dict[Practice, int]:
        """See `Report.agreement`."""
        if self._is_validator:
            return {}
        equal = {self._practice: sum(text.text in self._correct for text, _ in self._ill_formed)}
        if equal[self._practice] < len(self._ill_formed):
            for practice in set(Practice) - {self._practice, Practice.START_OF_A_SEQUENCE}:
                equal[practice] = sum(self._agrees(practice, text, run) for text, run in self._ill_formed)
        return dict(sorted(equal.items(), key=lambda pair: (-pair[1], pair[0])))

    def _agrees(self, practice: Practice, text: Text, run: Run) -> bool:
        """Whether the words of the run of a text are those of another practice."""
        items = of_golden(text.text, practice, self._final)
        if text.text in self._correct:
            # Practices only merge or split marks, or end at the first one, so as many items are the same words.
            return len(items) == len(text.items)
        return self._output.judge(self._output.run(run.texts, [self._output.words(items)], run.outcome))[0]

    def _differing_part(self, differing: Text) -> Text:
        """The shortest part of a text that differs alone, which may be the whole text."""
        parts = list(parts_of(differing.text))
        for part in parts:
            if (found := self._differing.get(part)) and explains(found, differing):
                return found
        self._differing[differing.text] = differing
        if len(differing.text) <= COMPLETE:
            return differing
        described = [described_text(part, self._practice, self._final) for part in parts]
        for each, outcome in zip(described, self._run([(part,) for part in parts]), strict=True):
            run = self._output.run((each.text,), [self._output.words(each.items)], outcome)
            if not self._output.judge(run)[0] and explains(each, differing):
                self._differing[each.text] = each
                self._tally.prefer(each.cause, run)
                self._note(each, run)
                return each
        return differing

    def _run_code_points(self) -> None:
        """Every code point, in long texts; of the first one that differs each code point alone."""
        searched = set()
        outcomes = self._run([(text,) for text in block_bytes()])
        for (cause, points), text, outcome in zip(blocks(), block_bytes(), outcomes, strict=True):
            run = self._output.run((text,), [self._output.of_points(points)], outcome)
            is_correct = self._tally.judge(run)
            self._tally.add(cause, None if is_correct else run)
            if not is_correct and cause not in searched:
                searched.add(cause)
                if alone := self._first_wrong(points):
                    self._tally.prefer(cause, alone)
                self._tally.note(self._output.defect(alone or run, cause), alone or run)

    def _first_wrong(self, points: Sequence[int]) -> Run | None:
        texts = [encode([point]) for point in points]
        for point, text, outcome in zip(points, texts, self._run([(text,) for text in texts]), strict=True):
            run = self._output.run((text,), [self._output.of_points([point])], outcome)
            if not self._output.judge(run)[0]:
                return run
        return None

    def _run_pairs(self) -> None:
        if not self._core.separates_texts:
            self._tally.skip(BACK_TO_BACK, "the core has neither an end of the text nor a reset")
            return
        firsts, _ = class_units()
        before = {b"", *(bytes(units) for units, _ in representatives(TABLE_3_7))}
        before |= {vector.units for vector in vectors() if len(vector.units) <= TABLE_3_7.longest}
        after = [bytes(units) for length in (0, 1, 2) for units in product(firsts, repeat=length)]
        pairs = [(one, two) for one in before for two in after if one in self._correct and two in self._correct]
        pairs.sort(key=lambda pair: (len(pair[0]) + len(pair[1]), pair))
        self._tally.skip(BACK_TO_BACK, "no pair of texts for it is correct one by one")
        self._compare(BACK_TO_BACK, pairs)

    def _run_pauses(self) -> None:
        texts = shortest_first(vector.units for vector in vectors() if vector.units in self._correct)
        self._tally.skip(self._pauses, "none of the named vectors, which it uses, is correct without pauses")
        runs: list[tuple[bytes, ...]] = [(text,) for text in texts]
        if self._core.separates_texts and texts:
            together = tuple(texts)
            (outcome,) = self._run([together])
            if self._output.judge(self._expected(together, outcome))[0]:
                runs.append(together)
        for pattern in self._patterns:
            self._compare(self._pauses, runs, pattern)

    def _pieces(self, runs: int, count: int) -> list[list[bytes]]:
        """For each run so many texts that are correct alone; well-formed ones unless all others are, too."""
        texts = sorted(text for text in self._correct if text)
        if any(self._tally.findings()):
            texts = [text for text in texts if not described_text(text, self._practice, True).is_ill_formed]
        draw = random.Random(2)
        return [draw.choices(texts, k=count) for _ in range(runs)] if texts else []

    def _run_long(self) -> None:
        """Texts of many bytes."""
        self._tally.skip(LONG, "no text for it is correct alone")
        self._run_pieces(LONG, self._pieces(_LONG_RUNS, _LONG_PIECES), lambda pieces: (b"".join(pieces),))

    def _run_many(self) -> None:
        """Many texts without a reset between them."""
        if self._final:
            self._tally.skip(MANY, "no text for it is correct alone")
            self._run_pieces(MANY, self._pieces(RUNS, _MANY_TEXTS), tuple)
        else:
            self._tally.skip(MANY, "a text ends with a reset only")

    def _run_pieces(self, cause: str, runs: Sequence[list[bytes]], texts_of: _TextsOf) -> None:
        """Run texts that are made of pieces, and shorten the first run that differs."""
        differing = []
        for pieces, run in zip(runs, self._judged([texts_of(pieces) for pieces in runs]), strict=True):
            is_correct = self._tally.judge(run)
            self._tally.add(cause, None if is_correct else run)
            if not is_correct:
                differing.append(pieces)
        if differing:
            least = self._fewest(differing[0], texts_of)
            self._tally.prefer(cause, least)
            whole = described_text(least.texts[0], self._practice, True).cause
            otherwise = Defect.LEAKS if cause == MANY else self._output.defect(least, whole)
            self._tally.note(self._output.defect_by_reason(least.outcome, otherwise), least)

    def _judged(self, runs: Sequence[tuple[bytes, ...]]) -> list[Run]:
        """Runs of texts, with what is expected."""
        found = []
        for texts, outcome in zip(runs, self._run(runs), strict=True):
            found.append(self._output.run(texts, [self._words(text) for text in texts], outcome))
        return found

    def _words(self, text: bytes) -> array[int]:
        known = self._correct.get(text)
        return self._output.words(of_golden(text, self._practice, self._final)) if known is None else known

    def _fewest(self, pieces: list[bytes], texts_of: _TextsOf) -> Run:
        """The run of the fewest pieces that still differs: without those behind them, then without those before."""
        for part in (_first, _last):
            correct, differing = 0, len(pieces)
            while differing - correct > 1:
                counts = sorted({correct + (differing - correct) * n // RUNS for n in range(1, RUNS)} - {correct})
                runs = self._judged([texts_of(part(pieces, count)) for count in counts])
                is_correct = [self._output.judge(run)[0] for run in runs] + [False]
                place = is_correct.index(False)
                correct, differing = ([correct, *counts][place], [*counts, differing][place])
            pieces = part(pieces, differing)
        (run,) = self._judged([texts_of(pieces)])
        return run

    def _expected(self, texts: Sequence[bytes], outcome: Outcome, pauses: tuple[str, str] = ("0", "0")) -> Run:
        """A run of texts that are correct alone."""
        return self._output.run(texts, [self._correct[text] for text in texts], outcome, pauses)

    def _compare(self, cause: str, runs: Sequence[tuple[bytes, ...]], pauses: tuple[str, str] = ("0", "0")) -> None:
        outcomes = self._run(runs, **_patterns(pauses))
        for texts, outcome in zip(runs, outcomes, strict=True):
            run = self._expected(texts, outcome, pauses)
            is_correct = self._tally.judge(run)
            self._tally.add(cause, None if is_correct else run)
            if not is_correct:
                self._tally.note(self._output.defect_by_reason(outcome, _OF_SEVERAL.get(cause, Defect.PAUSES)), run)

    def _throughput(self) -> tuple[Throughput | None, Throughput | None]:
        inputs: dict[str, bytes] = {}
        for each in expected_texts(self._practice, self._final):
            if each.cause in (EMPTY, ErrorKind.INCOMPLETE.name):
                continue
            inputs.setdefault(each.cause, each.text)
        # A sequence that the next one breaks, over and over.
        inputs[f"{ErrorKind.TRUNCATED.name} by a first byte"] = bytes(next(representatives(TABLE_3_7))[0])
        runs = [(text * -(-_MEASURED // len(text)),) for text in inputs.values()]
        measured = [
            Throughput(cause, text, round(outcome.cycles / len(texts[0]), 3))
            for (cause, text), texts, outcome in zip(inputs.items(), runs, self._run(runs), strict=True)
            if not outcome.reason
        ]
        by_cycles = attrgetter("cycles_per_byte")
        return min(measured, key=by_cycles, default=None), max(measured, key=by_cycles, default=None)


STEPS = 7
"""The steps of which `check_foreign_core` reports the completion."""


def check_foreign_core(
    core: ForeignCore,
    practice: Practice = Practice.MAXIMAL_SUBPARTS,
    on_step: Callable[[int], None] = lambda _: None,
) -> Report:
    """Compare a foreign core with the golden function, by cause.

    Args:
        practice: the replacement practice; of a validator it has no effect.
    """
    return _Check(core, practice, on_step).report()
