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
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain, pairwise, product

from utf8fpga.model import DFA, TABLE_3_7, Decoder, ErrorKind, Practice, decode, is_well_formed
from utf8fpga.model.bounds import boundary_sequences
from utf8fpga.model.vectors import vectors
from utf8fpga.sim.foreign_core import NO_PAUSES, ForeignCore, Outcome, Pauses, word
from utf8fpga.sim.graph import RUNS
from utf8fpga.sim.report import CHANGED, WRONG_ENDS, Cause, Defect, Report, Row, Run, well_formed

_BLOCK = 1024
"""Code points of one text where every code point is tried."""

_LONG_RUNS, _LONG_PIECES = 16, 5000
"""Long texts, and the short ones of which each consists, which have about 10,000 bytes."""

_MANY_TEXTS = 1000
"""Texts of each run of many."""

_PAUSES: Sequence[Pauses] = (("10", "0"), ("0", "10"), ("0", "1110"), ("110", "1001"), ("01101001", "1101000"))

_INCOMPLETE = ErrorKind.INCOMPLETE.name

WELL_FORMED, ILL_FORMED = "well-formed", "ill-formed"
"""The verdicts of a validator."""

Words = tuple[str, ...]

Cases = Sequence[tuple[bytes, ...]]
"""The texts of each run."""


def cause_of(text: bytes) -> str:
    """The cause of the first ill-formed item of a text, or its name among well-formed texts."""
    if is_well_formed(text):
        return well_formed(len(max(text.decode()).encode())) if text else Cause.EMPTY
    return next(item.error.name for item in decode(text) if item.error is not None)


def parts_of(text: bytes) -> list[bytes]:
    """The parts of a text, the shortest first."""
    lengths = range(1, len(text))
    return [text[end - length : end] for length in lengths for end in range(length, len(text) + 1)]


def shortest_first(texts: Iterable[bytes]) -> list[bytes]:
    """Different texts, in order."""
    return sorted(set(texts), key=lambda text: (len(text), text))


@cache
def short_texts(lanes: int) -> list[bytes]:
    """The texts that are run one by one, the shortest first, with all their parts.

    They are every text of at most two bytes, longer ones from the bounds of the classes, and the vectors at every
    position of a beat.
    """
    classes = DFA.of(TABLE_3_7).classes
    firsts = [each.ranges[0].first for each in classes]
    bounds = {unit for each in classes for allowed in each.ranges for unit in (allowed.first, allowed.last)}
    found = [bytes(units) for length in range(3) for units in product(range(256), repeat=length)]
    found += map(bytes, product(bounds, repeat=3))
    found += map(bytes, product(firsts, repeat=4))
    found += map(bytes, boundary_sequences())
    found += (b"a" * place + vector.units for vector in vectors() for place in range(lanes))
    return shortest_first(chain(found, *map(parts_of, found)))


class Judge:
    """What a core should output, and the comparison with what it does."""

    def __init__(self, core: ForeignCore, practice: Practice) -> None:
        self._core, self._practice = core, practice
        # Most texts are in several runs.
        self.words = lru_cache(1 << 17)(self._words)

    def _words(self, text: bytes) -> Words:
        """The words of one text, or its verdict."""
        if self._core.is_validator:
            return (WELL_FORMED if is_well_formed(text) else ILL_FORMED,)
        if is_well_formed(text):
            # Every code point is in such texts, for which one item each would take most of the time.
            return tuple(word(ord(point), False) for point in text.decode())
        items = Decoder(practice=self._practice).decode(text, final=self._core.has_end)
        return tuple(word(item.code_point, self._core.has_error and item.error is not None) for item in items)

    def run(self, texts: tuple[bytes, ...], outcome: Outcome, pauses: Pauses) -> Run:
        """What a core did for texts, and whether that is correct."""
        parts, given, reason = [self.words(text) for text in texts], tuple(outcome.words), outcome.reason
        expected, has_ends = tuple(chain.from_iterable(parts)), True
        if self._core.is_validator:
            words, given = given, tuple(_verdict(given[first:end]) for first, end in pairwise([0, *outcome.ends]))
            has_ends = len(given) == len(expected)
            # Without the ends only whether there is an ill-formed text remains.
            is_correct = given == expected if has_ends else (ILL_FORMED in expected) == (_verdict(words) == ILL_FORMED)
        else:
            is_correct = given == expected
            has_ends = not self._core.has_last or list(accumulate(map(len, parts))) == outcome.ends
        is_correct = is_correct and not reason
        if is_correct and not has_ends:
            reason = WRONG_ENDS
        marks = self._marks(expected), self._marks(given)
        return Run(texts, pauses, expected, given, marks, reason, is_correct)

    def defect(self, run: Run, otherwise: Defect | None = None) -> Defect:
        """The kind of defect in a run that differs; `otherwise` if only the words differ; default: as for one text."""
        text, expected, given, (marks, given_marks) = run.texts[0], run.expected, run.given, run.marks
        if run.reason:
            return Defect.PROTOCOL if run.reason == CHANGED else Defect.HANGS
        if otherwise:
            return otherwise
        if self._core.is_validator and len(expected) != len(given):
            return Defect.ITEMS
        # To drop all but the well-formed items is not to accept.
        kept = [word(ord(point), False) for point in text.decode(errors="ignore")]
        is_ill_formed = not is_well_formed(text)
        if is_ill_formed and marks and not given_marks and not _is_within(given, kept):
            return Defect.ACCEPTS
        if not is_ill_formed and marks != given_marks:
            return Defect.CORRUPTS
        points, given_points = ([each for each in words if not self._is_mark(each)] for words in (expected, given))
        if points == given_points:
            return Defect.END if cause_of(text) == ErrorKind.INCOMPLETE.name else Defect.MARKS
        is_part = _is_within(points, given_points) or _is_within(given_points, points)
        return Defect.ITEMS if is_part else Defect.CORRUPTS

    def _is_mark(self, each: str) -> bool:
        return each == ILL_FORMED or (each[0] == "!" if self._core.has_error else each == word(0xFFFD, False))

    def _marks(self, words: Words) -> int:
        return sum(map(self._is_mark, words))


def _verdict(words: Iterable[str]) -> str:
    """The verdict that a validator outputs beside the words of a text."""
    return ILL_FORMED if any(each[0] == "!" for each in words) else WELL_FORMED


def _is_within(part: Iterable[str], whole: Iterable[str]) -> bool:
    """Whether words are those of others, in order, of which some may be left out."""
    remaining = iter(whole)
    return all(each in remaining for each in part)


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
