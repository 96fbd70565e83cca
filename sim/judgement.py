# SPDX-License-Identifier: BSD-2-Clause
"""Whether what a foreign core does in a run is correct, and of which kind its defect is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, pairwise

from utf8fpga.model import ErrorKind, Practice, is_well_formed
from utf8fpga.sim.check_texts import of_golden
from utf8fpga.sim.foreign_core import ForeignCore
from utf8fpga.sim.foreign_simulation import CHANGED, NO_PAUSES, Outcome, Pauses, word
from utf8fpga.sim.report import Defect, Run

Words = tuple[str, ...]


class Judge:
    """What a core should output, and the comparison with what it does."""

    def __init__(self, core: ForeignCore) -> None:
        self._is_validator, self._final = core.is_validator, core.has_end
        self.has_last, self._has_error = "last" in core.ports["output"], "error" in core.ports["output"]

    def words(self, text: bytes, practice: Practice) -> Words:
        """The words of one text, or its verdict."""
        if self._is_validator:
            return (_verdict(not is_well_formed(text)),)
        if is_well_formed(text):
            # Every code point is in such texts, for which one item each would take most of the time.
            return tuple(word(ord(point), False) for point in text.decode())
        items = of_golden(text, practice, self._final)
        return tuple(word(item.code_point, self._has_error and item.error is not None) for item in items)

    def run(
        self, texts: tuple[bytes, ...], words: Sequence[Words], outcome: Outcome, pauses: Pauses = NO_PAUSES
    ) -> Run:
        """A run, of whose texts the words or the verdicts are given."""
        expected, given = tuple(chain.from_iterable(words)), tuple(outcome.words)
        is_equal, has_ends = expected == given, True
        if self._is_validator:
            parts = [given[first:end] for first, end in pairwise([0, *outcome.ends])]
            is_marked, given = _has_flag(given), tuple(_verdict(_has_flag(part)) for part in parts)
            is_equal = expected == given
            if len(expected) != len(given):
                # Without the ends only whether there is an ill-formed text remains.
                is_equal, has_ends = (_verdict(True) in expected) == is_marked, False
        elif self.has_last:
            has_ends = list(accumulate(map(len, words))) == outcome.ends
        marks = (None, None) if self._is_validator else (self._marks(expected), self._marks(given))
        is_correct = is_equal and not outcome.reason
        return Run(texts, pauses, expected, given, marks, outcome.reason, is_correct, has_ends)

    def accepts(self, run: Run) -> bool:
        """Whether an ill-formed text is accepted; to drop all but its well-formed items is not to accept."""
        if run.reason:
            return False
        if self._is_validator:
            return _verdict(True) in run.expected and set(run.given) == {_verdict(False)}
        items = of_golden(run.texts[0], Practice.MAXIMAL_SUBPARTS, self._final)
        kept = [word(item.code_point, False) for item in items if item.error is None]
        return run.marks[0] != 0 and run.marks[1] == 0 and not _is_within(run.given, kept)

    def defect(self, run: Run, cause: str) -> Defect:
        """The kind of defect in a run of one text that differs and is not accepted, given the cause of the text."""
        expected, given = run.expected, run.given
        if run.reason:
            return self.defect_by_reason(run, Defect.HANGS)
        if self._is_validator:
            return Defect.CORRUPTS if len(given) == len(expected) else Defect.ITEMS
        if cause not in ErrorKind.__members__ and run.marks[0] != run.marks[1]:
            return Defect.CORRUPTS
        points, given_points = ([each for each in words if not self._is_mark(each)] for words in (expected, given))
        if points == given_points:
            return Defect.END if cause == ErrorKind.INCOMPLETE.name else Defect.MARKS
        is_part = _is_within(points, given_points) or _is_within(given_points, points)
        return Defect.ITEMS if is_part else Defect.CORRUPTS

    def defect_by_reason(self, run: Run, otherwise: Defect) -> Defect:
        """The kind of defect if there is a reason apart from the words."""
        if run.reason:
            return Defect.PROTOCOL if run.reason == CHANGED else Defect.HANGS
        return otherwise

    def _is_mark(self, each: str) -> bool:
        return each[0] == "!" if self._has_error else each == word(0xFFFD, False)

    def _marks(self, words: Words) -> int:
        return sum(map(self._is_mark, words))


def _has_flag(words: Words) -> bool:
    return any(each[0] == "!" for each in words)


def _verdict(is_ill_formed: bool) -> str:
    return "ill-formed" if is_ill_formed else "well-formed"


def _is_within(part: Iterable[str], whole: Iterable[str]) -> bool:
    """Whether words are those of others, in order, of which some may be left out."""
    remaining = iter(whole)
    return all(each in remaining for each in part)
