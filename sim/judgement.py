# SPDX-License-Identifier: BSD-2-Clause
"""The texts of the check of a foreign core, what it should output for them, and of which kind a defect is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import accumulate, chain, product

from utf8fpga.model import DFA, TABLE_3_7, Decoder, ErrorKind, Practice, decode, is_well_formed
from utf8fpga.model.vectors import vectors
from utf8fpga.sim.foreign_core import ILL_FORMED, WELL_FORMED, ForeignCore, Outcome, Pauses, word
from utf8fpga.sim.report import CHANGED, WRONG_ENDS, Cause, Defect, Run, well_formed
from utf8fpga.sim.stimulus import boundary_sequences

Words = tuple[str, ...]


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
        has_end, has_error = self._core.has_end, self._core.has_error
        practice = self._practice
        items = decode(text, practice=practice) if has_end else Decoder(practice=practice).decode(text)
        return tuple(word(item.code_point, has_error and item.error is not None) for item in items)

    def run(self, texts: tuple[bytes, ...], outcome: Outcome, pauses: Pauses) -> Run:
        """What a core did for texts, and whether that is correct."""
        parts, given, reason = [self.words(text) for text in texts], tuple(outcome.words), outcome.reason
        expected = tuple(chain.from_iterable(parts))
        is_correct = expected == given and not reason
        if is_correct and self._core.has_last and list(accumulate(map(len, parts))) != outcome.ends:
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


def _is_within(part: Iterable[str], whole: Iterable[str]) -> bool:
    """Whether words are those of others, in order, of which some may be left out."""
    remaining = iter(whole)
    return all(each in remaining for each in part)
