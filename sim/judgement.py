# SPDX-License-Identifier: BSD-2-Clause
"""Whether what a foreign core does in a run is correct, and of which kind its defect is."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

from utf8fpga.model import REPLACEMENT_CHARACTER, ErrorKind, Item
from utf8fpga.sim.foreign_core import PARTIAL
from utf8fpga.sim.foreign_ports import CheckedPorts
from utf8fpga.sim.foreign_simulation import CHANGED, ERROR, Outcome
from utf8fpga.sim.report import Defect, Failure

_WORD = ERROR - 1


class Run(NamedTuple):
    """A run and what is expected of it.

    Attributes:
        texts: the texts.
        expected: their words with the flag `ERROR`, or the verdicts of a validator.
        ends: for each text the number of expected words up to its end.
        outcome: what the core did.
        pauses: the patterns of pauses at the input and at the output.
    """

    texts: Sequence[bytes]
    expected: array[int]
    ends: Sequence[int]
    outcome: Outcome
    pauses: tuple[str, str] = ("0", "0")

    @property
    def size(self) -> int:
        """The number of bytes."""
        return sum(map(len, self.texts))


def _has_mark(words: array[int]) -> bool:
    return max(words, default=0) >= ERROR


class Output:
    """What a core with these ports should output, and the comparison with what it does."""

    def __init__(self, ports: CheckedPorts) -> None:
        self._is_validator = ports.kind == "validator"
        self.has_last = "last" in ports.output
        self._error = ERROR if "error" in ports.output else 0

    def words(self, items: Sequence[Item]) -> array[int]:
        """The words of one text, or its verdict."""
        if self._is_validator:
            return array("Q", [any(item.error is not None for item in items)])
        found = array("Q")
        for item in items:
            flag = self._error if item.error is not None else 0
            found.append(item.code_point | flag)
        return found

    def of_points(self, points: Iterable[int]) -> array[int]:
        """The words of a well-formed text, or its verdict."""
        if self._is_validator:
            return array("Q", [False])
        # Every code point is compared so, for which one item each would take most of the time.
        return array("Q", points)

    def run(
        self,
        texts: Sequence[bytes],
        words: Sequence[array[int]],
        outcome: Outcome,
        pauses: tuple[str, str] = ("0", "0"),
    ) -> Run:
        """A run, of whose texts the words or the verdicts are given."""
        if len(words) == 1:
            return Run(texts, words[0], (len(words[0]),), outcome, pauses)
        expected = array("Q", chain.from_iterable(words))
        if self._is_validator and not self.has_last:
            expected = array("Q", [any(expected)])
        return Run(texts, expected, tuple(accumulate(map(len, words))), outcome, pauses)

    def given(self, outcome: Outcome) -> array[int]:
        """The words of a core, or its verdicts."""
        if not self._is_validator:
            return outcome.words
        if not self.has_last:
            return array("Q", [_has_mark(outcome.words)])
        return array("Q", [_has_mark(outcome.words[first:end]) for first, end in pairwise([0, *outcome.ends])])

    def resynchronises(self, run: Run, items: Sequence[Item]) -> bool:
        """Whether the output ends with the well-formed items after the last ill-formed one."""
        tail = len(self.words(items))
        return self.given(run.outcome)[-tail:] == run.expected[-tail:]

    def judge(self, run: Run) -> tuple[bool, bool]:
        """Whether the words of a run, or its verdicts, are correct, and whether the ends of its texts are."""
        outcome, expected, given = run.outcome, run.expected, self.given(run.outcome)
        if outcome.reason:
            return False, False
        is_correct = expected == given
        if not self._is_validator:
            return is_correct, is_correct and (not self.has_last or run.ends == tuple(outcome.ends))
        if is_correct or len(expected) == len(given):
            return is_correct, is_correct
        # Without the ends only whether there is an ill-formed text remains.
        return any(expected) == _has_mark(outcome.words), False

    def accepts(self, run: Run, well_formed: Iterable[Item]) -> bool:
        """Whether an ill-formed text is accepted, given its well-formed items; to drop the others is not to accept."""
        given = self.given(run.outcome)
        if run.outcome.reason:
            return False
        if self._is_validator:
            return any(run.expected) and len(given) > 0 and not any(given)
        is_dropped = _is_within(given, self.words(list(well_formed)))
        return bool(self.marks(run.expected)) and not self.marks(given) and not is_dropped

    def defect(self, run: Run, cause: str) -> Defect:
        """The kind of defect in a run of one text that differs and is not accepted, given the cause of the text."""
        expected, given = run.expected, self.given(run.outcome)
        if run.outcome.reason:
            return self.defect_by_reason(run.outcome)
        if self._is_validator:
            return Defect.CORRUPTS if len(given) == len(expected) else Defect.ITEMS
        if cause not in ErrorKind.__members__ and self.marks(given) != self.marks(expected):
            return Defect.CORRUPTS
        points, given_points = (array("Q", self._unmarked(words)) for words in (expected, given))
        if points == given_points:
            return Defect.END if cause == ErrorKind.INCOMPLETE.name else Defect.MARKS
        is_part = _is_within(points, given_points) or _is_within(given_points, points)
        return Defect.ITEMS if is_part else Defect.CORRUPTS

    def defect_by_reason(self, outcome: Outcome, otherwise: Defect = Defect.HANGS) -> Defect:
        """The kind of defect if there is a reason apart from the words."""
        if outcome.reason in (CHANGED, PARTIAL):
            return Defect.PROTOCOL
        return Defect.HANGS if outcome.reason else otherwise

    def failure(self, run: Run) -> Failure:
        """The report of a difference."""
        given = self.given(run.outcome)
        has_correct_words, _ = self.judge(run)
        return Failure(
            texts=tuple(run.texts),
            expected=self._spelt(run.expected),
            given=self._spelt(given),
            expected_marks=self.marks(run.expected),
            given_marks=self.marks(given),
            reason="output.last is not at the ends of the texts" if has_correct_words else run.outcome.reason,
            input_pauses=run.pauses[0],
            output_pauses=run.pauses[1],
            words=tuple(run.expected),
            ends=tuple(run.ends),
        )

    def _unmarked(self, words: array[int]) -> Iterator[int]:
        """The words without the marks."""
        if self._error:
            yield from (word for word in words if not word & ERROR)
            return
        yield from (word for word in words if word != REPLACEMENT_CHARACTER)

    def marks(self, words: array[int]) -> int | None:
        """The number of marks; None if they cannot be counted."""
        if self._error and not self._is_validator:
            return sum(bool(word & ERROR) for word in words)
        if self._is_validator:
            return None
        return sum(word & _WORD == REPLACEMENT_CHARACTER for word in words)

    def _spelt(self, words: array[int]) -> tuple[str, ...]:
        if self._is_validator:
            return tuple("ill-formed" if word else "well-formed" for word in words)
        return tuple(map(self._spelt_word, words))

    def _spelt_word(self, word: int) -> str:
        return f"{'!' if word & ERROR else ''}{word & _WORD:04X}"


def _is_within(part: Iterable[int], whole: Iterable[int]) -> bool:
    """Whether words are those of others, in order, of which some may be left out."""
    remaining = iter(whole)
    return all(word in remaining for word in part)
