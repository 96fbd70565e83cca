# SPDX-License-Identifier: BSD-2-Clause
"""The check of a foreign core against the golden function, by cause.

Every text of one and two bytes, texts of three and four bytes from the bounds of the byte classes, boundary sequences,
the named vectors and every code point are run from the state after a reset. Each belongs to the cause of its first
ill-formed item, or, if it contains a shorter text for which the core differs, to the cause of that text. Then follow
pairs of texts, long texts, many texts without a reset between them, and texts with pauses, of those that are correct
alone and without pauses: a difference is then due to the text before, or to the pauses. The ends of texts are judged
separately, in runs whose words are correct. Ill-formed texts that are accepted are listed, whatever the cause with
which they count.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import product

from utf8fpga.model import TABLE_3_7, ErrorKind, Practice, decode, is_well_formed
from utf8fpga.model.vectors import vectors
from utf8fpga.sim.foreign_core import NO_PAUSES, ForeignCore, Pauses
from utf8fpga.sim.graph import RUNS
from utf8fpga.sim.judgement import Judge, cause_of, parts_of, short_texts, shortest_first
from utf8fpga.sim.report import Cause, Defect, Report, Row, Run, well_formed

_BLOCK = 1024
"""Code points of one text where every code point is tried."""

_LONG_RUNS, _LONG_PIECES = 16, 5000
"""Long texts, and the short ones of which each consists, which have about 10,000 bytes."""

_MANY_TEXTS = 1000
"""Texts of each run of many."""

_PAUSES: Sequence[Pauses] = (("10", "0"), ("0", "10"), ("0", "1110"), ("110", "1001"), ("01101001", "1101000"))

_INCOMPLETE = ErrorKind.INCOMPLETE.name

Cases = Sequence[tuple[bytes, ...]]
"""The texts of each run."""


class _Check:
    """One check of a core."""

    def __init__(self, core: ForeignCore, practice: Practice) -> None:
        self._core, self._practice, self._judge = core, practice, Judge(core, practice)
        causes = [Cause.EMPTY, *map(well_formed, range(1, TABLE_3_7.longest + 1)), *ErrorKind.__members__]
        causes += [Cause.ENDS, Cause.BACK_TO_BACK, Cause.PAUSES, Cause.LONG, Cause.MANY]
        self._rows = {cause: Row(cause) for cause in causes}
        self._defects: dict[Defect, Row] = {}
        self._accepted: dict[str, Row] = {}
        """By cause."""
        self._correct: set[bytes] = set()

    def report(self) -> Report:
        self._run_alone()
        self._run_code_points()
        self._run_pairs()
        self._run_long_and_many()
        self._run_pauses()
        return Report(
            module=self._core.module.name,
            practice=self._practice,
            defects=tuple(self._defects[defect] for defect in Defect if defect in self._defects),
            accepted=tuple(self._accepted[cause] for cause in ErrorKind.__members__ if cause in self._accepted),
            causes=tuple(self._rows.values()),
        )

    def _runs(self, cases: Cases, pauses: Pauses = NO_PAUSES) -> Iterator[Run]:
        """Run texts, each case from the state after a reset."""
        for case, outcome in zip(cases, self._core.run(cases, pauses), strict=True):
            yield self._judge.run(case, outcome, pauses)

    def _count(self, cause: str, run: Run) -> None:
        """Count a run; if its words are correct, the ends of its texts count with their own cause."""
        self._rows[cause].add(run, run.is_correct)
        if run.is_correct and self._core.has_last:
            self._rows[Cause.ENDS].add(run, not run.reason)
            if run.reason:
                self._note(Defect.END, run)

    def _note(self, defect: Defect, run: Run) -> None:
        self._defects.setdefault(defect, Row(defect)).add(run)

    def _run_alone(self) -> None:
        """Run the short texts one by one."""
        texts = [text for text in short_texts(self._core.lanes) if text or self._core.sends_empty_texts]
        differing, accepted = dict[bytes, str](), set[bytes]()
        for text, run in zip(texts, self._runs([(text,) for text in texts]), strict=True):
            cause = cause_of(text)
            if run.is_correct:
                self._correct.add(text)
                self._count(cause, run)
                continue
            parts, defect = parts_of(text), self._judge.defect(run)
            # A part that is incomplete explains a difference only at the end of a text.
            known = [part for part in parts if differing.get(part, _INCOMPLETE) != _INCOMPLETE]
            known += [part for part in parts if part in differing and text.endswith(part)]
            if not known:
                differing[text] = cause
            if not known or defect is Defect.ACCEPTS:
                self._note(defect, run)
            if defect is Defect.ACCEPTS and accepted.isdisjoint(parts):
                accepted.add(text)
                self._accepted.setdefault(cause, Row(cause)).add(run)
            self._count(differing[min(known, key=len, default=text)], run)

    def _run_others(
        self, cause: str, cases: Cases, otherwise: Defect | None = None, pauses: Pauses = NO_PAUSES
    ) -> None:
        """Run texts of correct ones, and shorten the first that differs.

        Args:
            otherwise: the defect if only the words differ; default: as for the text alone.
        """
        differing = []
        for run in self._runs(cases, pauses):
            self._count(cause, run)
            if not run.is_correct:
                differing.append(run)
        if differing:
            run = self._shortened(differing[0])
            self._count(cause, run)
            self._note(self._judge.defect(run, otherwise), run)

    def _shortened(self, run: Run) -> Run:
        """A run without what is behind a difference, then without what is before: whole texts, or items of one."""
        is_one, pieces = len(run.texts) == 1, run.texts
        if is_one:
            pieces = tuple(run.texts[0][item.offset :][: item.length] for item in decode(run.texts[0]))

        def run_of(first: int, end: int) -> Run:
            part = pieces[first:end]
            (found,) = self._runs([(b"".join(part),) if is_one else part], run.pauses)
            return found

        end = 1 + bisect_left(range(1, len(pieces)), True, key=lambda end: not run_of(0, end).is_correct)
        first = bisect_left(range(1, end), True, key=lambda first: run_of(first, end).is_correct)
        return run_of(first, end)

    def _run_code_points(self) -> None:
        """Every code point, in long texts."""
        for row in TABLE_3_7.rows:
            points = range(row.code_points.first, row.code_points.last + 1)
            blocks = [points[first : first + _BLOCK] for first in range(0, len(points), _BLOCK)]
            self._run_others(well_formed(len(row.units)), [("".join(map(chr, block)).encode(),) for block in blocks])

    def _vectors(self) -> list[bytes]:
        """The vectors that are correct alone."""
        return shortest_first(vector.units for vector in vectors() if vector.units in self._correct)

    def _run_pairs(self) -> None:
        if not self._core.separates_texts:
            return
        texts = [text for text in self._vectors() if len(text) <= TABLE_3_7.longest]
        pairs = sorted(product(texts, texts), key=lambda pair: len(pair[0]) + len(pair[1]))
        self._run_others(Cause.BACK_TO_BACK, pairs, Defect.LEAKS)

    def _run_long_and_many(self) -> None:
        """Texts of many bytes, and many texts without a reset between them."""
        # They are well-formed unless all others are correct, too.
        texts = sorted(text for text in self._correct if text and (not self._defects or is_well_formed(text)))
        draw = random.Random(2)
        if texts:
            long = [b"".join(draw.choices(texts, k=_LONG_PIECES)) for _ in range(_LONG_RUNS)]
            self._run_others(Cause.LONG, [(text,) for text in long])
        if texts and self._core.has_end:
            many = [tuple(draw.choices(texts, k=_MANY_TEXTS)) for _ in range(RUNS)]
            self._run_others(Cause.MANY, many, Defect.LEAKS)

    def _run_pauses(self) -> None:
        texts = self._vectors()
        cases: list[tuple[bytes, ...]] = [(text,) for text in texts]
        if self._core.separates_texts and texts and Defect.LEAKS not in self._defects:
            cases.append(tuple(texts))
        for pauses in _PAUSES:
            if self._core.has_back_pressure or "1" in pauses[0]:
                self._run_others(Cause.PAUSES, cases, Defect.PAUSES, pauses)


def check_foreign_core(core: ForeignCore, practice: Practice = Practice.MAXIMAL_SUBPARTS) -> Report:
    """Compare a foreign core with the golden function, by cause.

    Args:
        practice: the replacement practice; of a validator it has no effect.
    """
    return _Check(core, practice).report()
