# SPDX-License-Identifier: BSD-2-Clause
"""The check of a foreign core against the golden function, by cause.

Every text of one and two bytes, texts of three and four bytes from the bounds of the byte classes, boundary sequences,
the named vectors, random texts and every code point are run from the state after a reset. Each belongs to the cause of
its first ill-formed item, or, if it contains a shorter text for which the core differs, to the cause of that text. Then
follow pairs of texts, and texts with pauses, of those that are correct alone and without pauses: a difference is then
due to the text before, or to the pauses. Last follow long texts, and many texts without a reset between them. The ends
of texts are judged separately, in runs whose words are correct. Ill-formed texts that are accepted are listed, whatever
the cause with which they count.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from operator import itemgetter
from typing import Any

from utf8fpga.model import TABLE_3_7, ErrorKind, Practice, is_well_formed, spell
from utf8fpga.model.errors import representatives
from utf8fpga.model.vectors import vectors
from utf8fpga.sim.check_texts import Text, class_units, described_text, expected_texts, parts_of, shortest_first
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_simulation import NO_PAUSES, ForeignSimulation, Pauses
from utf8fpga.sim.graph import RUNS
from utf8fpga.sim.judgement import Judge, Words
from utf8fpga.sim.report import Accepted, Cause, Defect, Finding, Report, Row, Run, Verdict, well_formed

_BLOCK = 1024
"""Code points of one text where every code point is tried."""

_MEASURED = 1024
"""Bytes of a text whose throughput is measured, at least."""

_LONG_RUNS, _LONG_PIECES = 16, 5000
"""Long texts, and the short ones of which each consists, which have about 10,000 bytes."""

_MANY_TEXTS = 1000
"""Texts of each run of many."""

_PAUSES: tuple[Pauses, ...] = (
    ("10", "0"),
    ("0", "10"),
    ("0", "1110"),
    ("110", "1001"),
    ("0110100", "0"),
    ("0", "0110100"),
    ("01101001", "1101000"),
)

_Cases = Sequence[tuple[bytes, ...]]
"""The texts of each run."""


class _Check:
    """One check of a core."""

    def __init__(self, core: ForeignCore, practice: Practice) -> None:
        self._core, self._practice = core, practice
        self._simulation, self._judge = ForeignSimulation(core), Judge(core)
        self._pauses = Cause.BACK_PRESSURE if core.has_back_pressure else Cause.PAUSES
        causes = [Cause.EMPTY, *map(well_formed, range(1, TABLE_3_7.longest + 1)), *ErrorKind.__members__]
        causes += [Cause.RESYNCHRONISATION, Cause.ENDS, Cause.BACK_TO_BACK, self._pauses, Cause.LONG, Cause.MANY]
        self._rows = {cause: Row(cause) for cause in causes}
        for cause, is_possible, reason in (
            (Cause.EMPTY, core.sends_empty_texts, "the ports cannot send one"),
            (Cause.RESYNCHRONISATION, not core.is_validator, "a validator has one verdict per text"),
            (Cause.ENDS, self._judge.has_last, "the ports have no output.last"),
            (Cause.BACK_TO_BACK, core.separates_texts, "the core has neither an end of the text nor a reset"),
            (Cause.LONG, False, "no text for it is correct alone"),
            (Cause.MANY, False, "no text for it is correct alone" if core.has_end else "a text ends with a reset only"),
        ):
            if not is_possible:
                self._rows[cause].not_checked = reason
        self._defects: dict[Defect, Run] = {}
        self._words: dict[bytes, Words] = {}
        """What is expected of the texts that are run alone."""
        self._correct: set[bytes] = set()
        self._differing: dict[bytes, Text] = {}
        """The texts that differ alone and have no part that does."""
        self._ill_formed: list[Run] = []
        self._accepted: dict[bytes, tuple[str, Run]] = {}
        """By ill-formed text that is accepted, and contains no shorter one, its cause and its run."""

    def report(self) -> Report:
        self._run_texts()
        self._run_code_points()
        self._run_pairs()
        self._run_pauses()
        self._run_long_and_many()
        agreement = self._agreement()
        found = tuple(Finding(defect, self._defects[defect]) for defect in Defect if defect in self._defects)
        return Report(
            module=self._core.module.name,
            kind="validator" if self._core.is_validator else "decoder",
            protocol="axi-stream" if "ready" in self._core.ports["input"] else "strobe",
            practice=self._practice,
            verdict=Verdict(self._conforms_to(agreement), found),
            accepted=self._accepted_by_cause(),
            ill_formed=len(self._ill_formed),
            agreement=agreement,
            causes=tuple(self._rows.values()),
            cycles_per_byte=self._throughput(),
        )

    # What the steps share.

    def _runs(self, cases: _Cases, pauses: Pauses = NO_PAUSES) -> Iterator[Run]:
        """Run texts, each case from the state after a reset."""
        for texts, outcome in zip(cases, self._simulation.run(cases, pauses), strict=True):
            words = [self._words.get(text) or self._judge.words(text, self._practice) for text in texts]
            yield self._judge.run(texts, words, outcome, pauses)

    def _described(self, text: bytes) -> Text:
        return described_text(text, self._practice, self._core.has_end)

    def _add(self, cause: str, run: Run, is_correct: bool) -> None:
        """Count a run in a row."""
        row = self._rows[cause]
        row.runs, row.not_checked = row.runs + 1, None
        if not is_correct:
            row.differ += 1
            self._prefer(cause, run)

    def _count(self, cause: str, run: Run) -> None:
        """Count a run; if its words are correct, the ends of its texts count with their own cause."""
        self._add(cause, run, run.is_correct)
        if run.is_correct and self._judge.has_last:
            self._add(Cause.ENDS, run, run.has_ends)
            if not run.has_ends:
                self._note(Defect.END, run)

    def _prefer(self, cause: str, run: Run) -> None:
        """Let a row show a run that differs, unless another one is as short."""
        row = self._rows[cause]
        if row.shortest is None or run.size < row.shortest.size:
            row.shortest = run

    def _note(self, defect: Defect, run: Run) -> None:
        """Record a defect and the run that shows it, if there is none as short."""
        if defect not in self._defects or run.size < self._defects[defect].size:
            self._defects[defect] = run

    # Texts alone.

    def _texts(self) -> list[Text]:
        """The texts that are run one by one, the shortest first."""
        texts, lanes = expected_texts(self._practice, self._core.has_end), self._core.lanes
        if lanes > 1:
            # The vectors at every position of a beat.
            aligned = shortest_first(b"a" * place + vector.units for vector in vectors() for place in range(1, lanes))
            texts = sorted([*texts, *map(self._described, aligned)], key=lambda each: len(each.text))
        return [each for each in texts if each.text or self._core.sends_empty_texts]

    def _run_texts(self) -> None:
        texts = self._texts()
        self._words = {each.text: self._judge.words(each.text, self._practice) for each in texts}
        for each, run in zip(texts, self._runs([(each.text,) for each in texts]), strict=True):
            part = None if run.is_correct else self._differing_part(each)
            if run.is_correct:
                self._correct.add(each.text)
            elif part is each:
                self._note_text(each, run)
            if each.is_ill_formed:
                self._ill_formed.append(run)
                if not run.is_correct:
                    self._accept(each, run)
            self._count(part.cause if part else each.cause, run)
            if each.tail and not self._core.is_validator and part in (None, each):
                self._add(Cause.RESYNCHRONISATION, run, run.given[-each.tail :] == run.expected[-each.tail :])

    def _differing_part(self, differing: Text) -> Text:
        """The shortest part of a text that differs alone, which may be the whole text."""
        parts = list(parts_of(differing.text))
        for part in parts:
            if (found := self._differing.get(part)) and _explains(found, differing):
                return found
        self._differing[differing.text] = differing
        # A part that was run and is not in `_differing` has itself a part that explains the difference.
        for run in self._runs([(part,) for part in parts if part not in self._words]):
            found = self._described(run.texts[0])
            if not run.is_correct and _explains(found, differing):
                self._differing[found.text] = found
                self._prefer(found.cause, run)
                self._note_text(found, run)
                return found
        return differing

    def _note_text(self, text: Text, run: Run) -> None:
        """Record the defect of a text that differs and has no part that does."""
        if not (text.is_ill_formed and self._judge.accepts(run)):
            self._note(self._judge.defect(run, text.cause), run)

    def _accept(self, text: Text, run: Run) -> None:
        """Record an ill-formed text if it is accepted, and no part of it is."""
        if self._judge.accepts(run) and not any(part in self._accepted for part in parts_of(text.text)):
            self._accepted[text.text] = text.cause, run
            self._note(Defect.ACCEPTS, run)

    def _accepted_by_cause(self) -> tuple[Accepted, ...]:
        order, alike = list(ErrorKind.__members__), dict[tuple[int, int], Accepted]()
        for text, (cause, run) in self._accepted.items():
            alike.setdefault((order.index(cause), len(text)), Accepted(cause, 0, run)).texts += 1
        return tuple(alike[key] for key in sorted(alike))

    def _agreement(self) -> dict[Practice, int]:
        """See `Report.agreement`."""
        if self._core.is_validator:
            return {}
        equal = {self._practice: sum(run.is_correct for run in self._ill_formed)}
        if equal[self._practice] < len(self._ill_formed):
            for practice in set(Practice) - {self._practice, Practice.START_OF_A_SEQUENCE}:
                equal[practice] = sum(self._agrees(practice, run) for run in self._ill_formed)
        return dict(sorted(equal.items(), key=lambda pair: (-pair[1], pair[0])))

    def _agrees(self, practice: Practice, run: Run) -> bool:
        return not run.reason and run.given == self._judge.words(run.texts[0], practice)

    def _conforms_to(self, agreement: dict[Practice, int]) -> Practice | None:
        """See `Verdict.conforms_to`."""
        if not self._defects:
            return self._practice
        if not self._defects.keys() <= {Defect.MARKS, Defect.END} or self._rows[Cause.ENDS].differ:
            return None
        return next((practice for practice, count in agreement.items() if count == len(self._ill_formed)), None)

    # Texts after others, and with pauses.

    def _compare(self, cause: str, cases: _Cases, otherwise: Defect, pauses: Pauses = NO_PAUSES) -> None:
        """Run texts that are correct alone; `otherwise` is the defect if only the words differ."""
        for run in self._runs(cases, pauses):
            self._count(cause, run)
            if not run.is_correct:
                self._note(self._judge.defect_by_reason(run, otherwise), run)

    def _run_pairs(self) -> None:
        if not self._core.separates_texts:
            return
        firsts, _ = class_units()
        before = {b"", *(bytes(units) for units, _ in representatives(TABLE_3_7))}
        before |= {vector.units for vector in vectors() if len(vector.units) <= TABLE_3_7.longest}
        after = {bytes(units) for length in (0, 1, 2) for units in product(firsts, repeat=length)}
        pairs = product(before & self._correct, after & self._correct)
        by_size = sorted(pairs, key=lambda pair: (len(pair[0]) + len(pair[1]), pair))
        self._compare(Cause.BACK_TO_BACK, by_size, Defect.LEAKS)

    def _run_pauses(self) -> None:
        texts = shortest_first(vector.units for vector in vectors() if vector.units in self._correct)
        cases: list[tuple[bytes, ...]] = [(text,) for text in texts]
        if self._core.separates_texts and texts:
            (together,) = self._runs([tuple(texts)])
            cases += [tuple(texts)] if together.is_correct else []
        for pauses in _PAUSES:
            if self._core.has_back_pressure or "1" in pauses[0]:
                self._compare(self._pauses, cases, Defect.PAUSES, pauses)

    # Long texts, and many.

    def _run_code_points(self) -> None:
        """Every code point, in long texts."""
        for row in TABLE_3_7.rows:
            points = range(row.code_points.first, row.code_points.last + 1)
            blocks = [points[first : first + _BLOCK] for first in range(0, len(points), _BLOCK)]
            pieces = [[chr(point).encode() for point in block] for block in blocks]
            self._run_pieces(well_formed(len(row.units)), pieces, _joined)

    def _run_long_and_many(self) -> None:
        """Texts of many bytes, and many texts without a reset between them, of those that are correct alone."""
        # They are well-formed unless all others are correct, too.
        texts = sorted(text for text in self._correct if text and (not self._defects or is_well_formed(text)))
        draw, draw_many = random.Random(2), random.Random(2)
        if texts:
            long = [draw.choices(texts, k=_LONG_PIECES) for _ in range(_LONG_RUNS)]
            self._run_pieces(Cause.LONG, long, _joined)
        if texts and self._core.has_end:
            texts = sorted(text for text in texts if not self._defects or is_well_formed(text))
            self._run_pieces(Cause.MANY, [draw_many.choices(texts, k=_MANY_TEXTS) for _ in range(RUNS)], tuple)

    def _run_pieces(
        self, cause: str, runs: Sequence[list[bytes]], texts_of: Callable[[list[bytes]], tuple[bytes, ...]]
    ) -> None:
        """Run texts that are made of pieces, and shorten the first run that differs."""
        differing = []
        for pieces, run in zip(runs, self._runs([texts_of(each) for each in runs]), strict=True):
            self._count(cause, run)
            if not run.is_correct:
                differing.append(pieces)
        if not differing:
            return
        # Without those behind the difference, then without those before.
        first = differing[0]
        first = first[: self._fewest(len(first), lambda count: texts_of(first[:count]))]
        first = first[-self._fewest(len(first), lambda count: texts_of(first[-count:])) :]
        (least,) = self._runs([texts_of(first)])
        self._prefer(cause, least)
        whole = described_text(least.texts[0], self._practice, True).cause
        otherwise = Defect.LEAKS if cause == Cause.MANY else self._judge.defect(least, whole)
        self._note(self._judge.defect_by_reason(least, otherwise), least)

    def _fewest(self, most: int, texts_of: Callable[[int], tuple[bytes, ...]]) -> int:
        """The fewest pieces that differ, of at most so many, which do; many numbers are tried at once."""
        correct, differing = 0, most
        while differing - correct > 1:
            counts = sorted({correct + (differing - correct) * n // RUNS for n in range(1, RUNS)} - {correct})
            runs = self._runs([texts_of(count) for count in counts])
            place = next((at for at, run in enumerate(runs) if not run.is_correct), len(counts))
            correct, differing = [correct, *counts][place], [*counts, differing][place]
        return differing

    def _throughput(self) -> dict[str, dict[str, Any] | None]:
        """See `Report.cycles_per_byte`."""
        inputs: dict[str, bytes] = {}
        for each in expected_texts(self._practice, self._core.has_end):
            if each.cause not in (Cause.EMPTY, ErrorKind.INCOMPLETE.name):
                inputs.setdefault(each.cause, each.text)
        # A sequence that the next one breaks, over and over.
        inputs[f"{ErrorKind.TRUNCATED.name} by a first byte"] = bytes(next(representatives(TABLE_3_7))[0])
        runs = [(text * -(-_MEASURED // len(text)),) for text in inputs.values()]
        measured = [
            {"text": spell(text, 8), "cause": cause, "cycles": round(outcome.cycles / len(texts[0]), 3)}
            for (cause, text), texts, outcome in zip(inputs.items(), runs, self._simulation.run(runs), strict=True)
            if not outcome.reason
        ]
        ends = {"best": min, "worst": max}
        return {name: end(measured, key=itemgetter("cycles"), default=None) for name, end in ends.items()}


def _joined(pieces: list[bytes]) -> tuple[bytes, ...]:
    return (b"".join(pieces),)


def _explains(part: Text, text: Text) -> bool:
    """Whether a part of a text can explain a difference: if it is incomplete, only at the end of the text."""
    return not part.is_open or text.text.endswith(part.text)


def check_foreign_core(core: ForeignCore, practice: Practice = Practice.MAXIMAL_SUBPARTS) -> Report:
    """Compare a foreign core with the golden function, by cause.

    Args:
        practice: the replacement practice; of a validator it has no effect.
    """
    return _Check(core, practice).report()
