# SPDX-License-Identifier: BSD-2-Clause
"""The check of a foreign core against the golden function, by cause.

Every text of one and two bytes, texts of three and four bytes from the bounds of the byte classes, boundary sequences,
the named vectors, random texts and every code point are run from the state after a reset. Each belongs to the cause of
its first ill-formed item, or, if it contains a shorter text for which the core differs, to the cause of that text. Then
follow pairs of texts, and texts with pauses, of those that are correct alone and without pauses: a difference is then
due to the text before, or to the pauses. The marks of the ends of texts are judged separately, in runs whose words are
correct. Ill-formed texts that are accepted are listed, whatever the cause with which they count.
"""

from __future__ import annotations

import random
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, chain, pairwise, product
from typing import NamedTuple

from utf8fpga.hdl.foreign_core import ForeignCore
from utf8fpga.hdl.foreign_ports import FORMS, CheckedPorts
from utf8fpga.model import DFA, REPLACEMENT_CHARACTER, TABLE_3_7, ErrorKind, Item, encode
from utf8fpga.model.errors import representatives
from utf8fpga.model.practices import IncrementalDecoder, Practice, decode_with
from utf8fpga.model.table import spell
from utf8fpga.model.vectors import vectors
from utf8fpga.sim.boundaries import boundary_sequences
from utf8fpga.sim.foreign import ERROR, ForeignSimulation, Outcome

_WORD = ERROR - 1

_BLOCK = 1024
"""Code points of one text where every code point is tried."""

_LONG = 1024
"""Bytes of a text whose throughput is measured, at least."""

_RANDOM_TEXTS = 4096

_COMPLETE = 2
"""All texts of at most so many bytes are run."""

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


@dataclass(frozen=True)
class Failure:
    """A run in which a core differs from the golden function.

    Attributes:
        texts: the texts, one after another.
        expected: the words of the golden function, as in `given`.
        given: the words of the core: code points or, of a transcoder, code units in hexadecimal, with ``!`` before them
            if the core asserts `error` beside them; for a validator ``well-formed`` or ``ill-formed``.
        expected_marks: the number of ill-formed items; None for a validator.
        given_marks: the same of the core.
        reason: what was wrong apart from the words; empty if nothing was.
        input_pauses: for each cycle, repeated, 1 where the next input was delayed.
        output_pauses: for each cycle, repeated, 1 where the output was not ready.
    """

    texts: tuple[bytes, ...]
    expected: tuple[str, ...]
    given: tuple[str, ...]
    expected_marks: int | None
    given_marks: int | None
    reason: str = ""
    input_pauses: str = "0"
    output_pauses: str = "0"

    @property
    def input(self) -> str:
        """The texts in hexadecimal, with ``|`` between them, and the pauses."""
        text = " | ".join(spell(text, 8) or "(empty)" for text in self.texts)
        pauses = [f"input pauses {self.input_pauses}"] if "1" in self.input_pauses else []
        pauses += [f"output pauses {self.output_pauses}"] if "1" in self.output_pauses else []
        return ", ".join([text, *pauses])


@dataclass(frozen=True)
class Row:
    """The result for one cause.

    Attributes:
        cause: its name.
        texts: the number of runs.
        failed: the number of those that differ from the golden function.
        shortest: the shortest one found; None if none differs.
        not_checked: why there is no run; empty otherwise.
    """

    cause: str
    texts: int
    failed: int = 0
    shortest: Failure | None = None
    not_checked: str = ""


class Accepted(NamedTuple):
    """Ill-formed texts that a core accepts: it outputs other words than those of their well-formed parts, and no mark.

    Attributes:
        cause: the cause of their first ill-formed item.
        texts: the number of them that were run; texts that contain another accepted one are not counted.
        first: the first of them.
    """

    cause: str
    texts: int
    first: Failure


class Throughput(NamedTuple):
    """Cycles per byte on an input.

    Attributes:
        cause: the name of the input.
        text: the bytes that are repeated.
        cycles_per_byte: the cycles from the first accepted byte to the last one per byte.
    """

    cause: str
    text: bytes
    cycles_per_byte: float


@dataclass(frozen=True)
class Report:
    """The result of a check.

    Attributes:
        name: the name of the module.
        practice: the replacement practice.
        accepted: the ill-formed texts that the core accepts, by cause and length.
        ill_formed: the number of ill-formed texts that were run alone.
        agreement: by practice the number of them whose words are as in it, the largest first; only `practice` if these
            are all, and none for a validator. `START_OF_A_SEQUENCE` is left out, whose marks are those of
            `MAXIMAL_SUBPARTS`.
        rows: the results by cause.
        best: the input with the fewest cycles per byte; None if the core accepts none as a whole.
        worst: the one with the most.
    """

    name: str
    practice: Practice
    accepted: tuple[Accepted, ...]
    ill_formed: int
    agreement: Mapping[Practice, int]
    rows: tuple[Row, ...]
    best: Throughput | None
    worst: Throughput | None

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows with a difference."""
        return tuple(row for row in self.rows if row.failed)

    @property
    def runs(self) -> int:
        """The number of runs, some of which count in two rows."""
        return sum(row.texts for row in self.rows if row.cause not in (_ENDS, _RESYNCHRONISATION))


class _Text(NamedTuple):
    """A text and what is expected.

    Attributes:
        cause: the cause of its first ill-formed item, or its name among well-formed texts.
        text: the bytes.
        items: the items of the golden function.
        tail: the number of well-formed items after the last ill-formed one; 0 without one.
        is_open: whether its last sequence is incomplete.
    """

    cause: str
    text: bytes
    items: tuple[Item, ...]
    tail: int
    is_open: bool

    @property
    def is_ill_formed(self) -> bool:
        """Whether it has an ill-formed item."""
        return self.cause in ErrorKind.__members__


_EMPTY = "empty text"
_RESYNCHRONISATION, _ENDS, _BACK_TO_BACK = "resynchronisation", "ends of texts", "back-to-back texts"


def _well_formed(length: int) -> str:
    return f"well-formed, {length} byte{'s' if length > 1 else ''}"


def _causes() -> Iterator[str]:
    """The causes of single texts in the order of the table."""
    yield _EMPTY
    yield from map(_well_formed, range(1, TABLE_3_7.longest + 1))
    yield from (kind.name for kind in ErrorKind)


def _of_golden(text: bytes, practice: Practice, final: bool) -> tuple[Item, ...]:
    return tuple(decode_with(text, practice) if final else IncrementalDecoder(practice).decode(text))


def _shortest_first(texts: Iterable[bytes]) -> list[bytes]:
    return sorted(set(texts), key=lambda text: (len(text), text))


@cache
def _class_units() -> tuple[bytes, bytes]:
    """The first unit of each class of bytes, and the bounds of all ranges of the classes."""
    classes = DFA.of(TABLE_3_7).classes
    bounds = {unit for each in classes for allowed in each.ranges for unit in (allowed.first, allowed.last)}
    return bytes(each.ranges[0].first for each in classes), bytes(sorted(bounds))


@cache
def _short_texts() -> list[bytes]:
    """The texts that are run one by one, the shortest first."""
    firsts, bounds = _class_units()
    found = [bytes(units) for length in range(_COMPLETE + 1) for units in product(range(256), repeat=length)]
    found += map(bytes, product(bounds, repeat=3))
    found += map(bytes, product(firsts, repeat=4))
    found += map(bytes, boundary_sequences())
    found += (vector.units for vector in vectors())
    draw = random.Random(1)
    found += (bytes(draw.choices(bounds, k=draw.randint(5, 12))) for _ in range(_RANDOM_TEXTS))
    return _shortest_first(found)


def _aligned(lanes: int) -> Iterator[bytes]:
    """The vectors at every position of a beat."""
    for vector in vectors():
        for position in range(1, lanes):
            yield b"a" * position + vector.units


@lru_cache(maxsize=4)
def expected_texts(practice: Practice, final: bool) -> list[_Text]:
    return [_text(text, practice, final) for text in _short_texts()]


def _text(text: bytes, practice: Practice, final: bool) -> _Text:
    items = _of_golden(text, practice, final)
    # Also without an end of the text, an incomplete sequence is a cause of its own.
    whole = items if final else _of_golden(text, practice, True)
    marks = [number for number, item in enumerate(whole) if item.error is not None]
    if marks:
        error = whole[marks[0]].error
        assert error is not None
        is_open = whole[-1].error is ErrorKind.INCOMPLETE
        return _Text(error.name, text, items, max(0, len(items) - 1 - marks[-1]), is_open)
    return _Text(_well_formed(max(item.length for item in items)) if items else _EMPTY, text, items, 0, False)


def _parts(text: bytes) -> Iterator[bytes]:
    """The parts of a text, the shortest first."""
    for length in range(1, len(text)):
        for end in range(length, len(text) + 1):
            yield text[end - length : end]


def _is_part(part: _Text, text: _Text) -> bool:
    """Whether a part of a text can explain a difference: if it is incomplete, only at the end of the text."""
    return not part.is_open or text.text.endswith(part.text)


@cache
def _blocks() -> list[tuple[str, range]]:
    """Every code point, in texts of sequences of one length."""
    blocks = []
    for row in TABLE_3_7.rows:
        points = row.code_points
        for first in range(points.first, points.last + 1, _BLOCK):
            blocks.append((_well_formed(len(row.units)), range(first, min(first + _BLOCK, points.last + 1))))
    return blocks


@cache
def _block_bytes() -> list[bytes]:
    # CPython's encoder, since the one of the model takes a second for all code points.
    return ["".join(map(chr, points)).encode() for _, points in _blocks()]


class _Run(NamedTuple):
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


class _Output:
    """What a core with these ports should output, and the comparison with what it does."""

    def __init__(self, ports: CheckedPorts) -> None:
        self._is_validator = ports.kind == "validator"
        self.has_last = "last" in ports.output
        self._error = ERROR if "error" in ports.output else 0
        self._form = FORMS[ports.form] if ports.kind == "transcoder" else None

    def words(self, items: Sequence[Item]) -> array[int]:
        """The words of one text, or its verdict."""
        if self._is_validator:
            return array("Q", [any(item.error is not None for item in items)])
        found = array("Q")
        for item in items:
            flag = self._error if item.error is not None else 0
            units = (item.code_point,) if self._form is None else self._form.encode(item.code_point)
            found.extend(unit | flag for unit in units)
        return found

    def of_points(self, points: Iterable[int]) -> array[int]:
        """The words of a well-formed text, or its verdict."""
        if self._is_validator:
            return array("Q", [False])
        # Every code point is compared so, for which one item each would take most of the time.
        return array("Q", points if self._form is None else chain.from_iterable(map(self._form.encode, points)))

    def run(
        self,
        texts: Sequence[bytes],
        words: Sequence[array[int]],
        outcome: Outcome,
        pauses: tuple[str, str] = ("0", "0"),
    ) -> _Run:
        """A run, of whose texts the words or the verdicts are given."""
        if len(words) == 1:
            return _Run(texts, words[0], (len(words[0]),), outcome, pauses)
        expected = array("Q", chain.from_iterable(words))
        if self._is_validator and not self.has_last:
            expected = array("Q", [any(expected)])
        return _Run(texts, expected, tuple(accumulate(map(len, words))), outcome, pauses)

    def given(self, outcome: Outcome) -> array[int]:
        """The words of a core, or its verdicts."""
        if not self._is_validator:
            return outcome.words
        if not self.has_last:
            return array("Q", [_has_mark(outcome.words)])
        return array("Q", [_has_mark(outcome.words[first:end]) for first, end in pairwise([0, *outcome.ends])])

    def resynchronises(self, run: _Run, text: _Text) -> bool:
        """Whether the output ends with the well-formed items after the last ill-formed one."""
        tail = len(self.words(text.items[-text.tail :]))
        return self.given(run.outcome)[-tail:] == run.expected[-tail:]

    def judge(self, run: _Run) -> tuple[bool, bool]:
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

    def accepts(self, run: _Run, well_formed: Iterable[Item]) -> bool:
        """Whether an ill-formed text is accepted, given its well-formed items; to drop the others is not to accept."""
        given = self.given(run.outcome)
        if run.outcome.reason:
            return False
        if self._is_validator:
            return any(run.expected) and len(given) > 0 and not any(given)
        remaining = iter(self.words(list(well_formed)))
        is_dropped = all(word in remaining for word in given)
        return bool(self._marks(run.expected)) and not self._marks(given) and not is_dropped

    def failure(self, run: _Run) -> Failure:
        """The report of a difference."""
        given = self.given(run.outcome)
        has_correct_words, _ = self.judge(run)
        return Failure(
            texts=tuple(run.texts),
            expected=self._spelt(run.expected),
            given=self._spelt(given),
            expected_marks=self._marks(run.expected),
            given_marks=self._marks(given),
            reason="output.last is not at the ends of the texts" if has_correct_words else run.outcome.reason,
            input_pauses=run.pauses[0],
            output_pauses=run.pauses[1],
        )

    def _marks(self, words: array[int]) -> int | None:
        if self._is_validator:
            return None
        if self._error:
            return sum(bool(word & ERROR) for word in words)
        mark = self.words([Item(0, 1, REPLACEMENT_CHARACTER, None)])
        values = array("Q", [word & _WORD for word in words])
        return sum(values[start : start + len(mark)] == mark for start in range(len(values)))

    def _spelt(self, words: array[int]) -> tuple[str, ...]:
        if self._is_validator:
            return tuple("ill-formed" if word else "well-formed" for word in words)
        return tuple(map(self._spelt_word, words))

    def _spelt_word(self, word: int) -> str:
        digits = 4 if self._form is None else self._form.unit_width // 4
        return f"{'!' if word & ERROR else ''}{word & _WORD:0{digits}X}"


class _Tally:
    """The rows of a report while it is made."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = defaultdict(int)
        self._failed: dict[str, int] = defaultdict(int)
        self._shortest: dict[str, _Run] = {}
        self._not_checked: dict[str, str] = {}

    def add(self, cause: str, failed: _Run | None) -> None:
        """Count a run, which is given if it differs."""
        self._counts[cause] += 1
        if failed:
            self._failed[cause] += 1
            self.prefer(cause, failed)

    def prefer(self, cause: str, failed: _Run) -> None:
        """Replace the shortest run of a cause that differs, if there is none shorter."""
        if cause not in self._shortest or failed.size < self._shortest[cause].size:
            self._shortest[cause] = failed

    def skip(self, cause: str, reason: str) -> None:
        """State why there is no run for a cause, if there is none."""
        self._not_checked[cause] = reason

    def rows(self, causes: Iterable[str], output: _Output) -> Iterator[Row]:
        for cause in causes:
            count = self._counts[cause]
            reason = (
                "" if count else self._not_checked.get(cause, "each of its texts contains a shorter one that differs")
            )
            found = self._shortest.get(cause)
            yield Row(cause, count, self._failed[cause], found and output.failure(found), reason)


class _Check:
    """One check of a core."""

    def __init__(self, core: ForeignCore, practice: Practice, on_step: Callable[[int], None]) -> None:
        self._core, self._practice, self._run = core, practice, ForeignSimulation(core).run
        self._final = core.ports.has_end
        self._is_validator = core.ports.kind == "validator"
        self._output = _Output(core.ports)
        self._tally = _Tally()
        self._correct: dict[bytes, array[int]] = {}
        """By text that is correct alone its expected words."""
        self._differing: dict[bytes, _Text] = {}
        """The texts that differ alone and have no part that does."""
        self._ill_formed: list[tuple[_Text, _Run]] = []
        self._accepted: dict[bytes, tuple[str, _Run]] = {}
        """By ill-formed text that is accepted, and contains no shorter one, its cause and its run."""
        self._on_step = on_step
        is_handshake = core.ports.protocol == "axi-stream"
        self._pauses = "back-pressure" if is_handshake else "pauses between bytes"
        self._patterns = [(given, taken) for given, taken in _PAUSES if is_handshake or "1" in given]

    def report(self) -> Report:
        steps = (self._run_texts, self._run_code_points, self._run_pairs, self._run_pauses)
        for number, step in enumerate(steps, 1):
            step()
            self._on_step(number)
        best, worst = self._throughput()
        self._on_step(len(steps) + 1)
        causes = [*_causes(), _RESYNCHRONISATION, _ENDS, _BACK_TO_BACK, self._pauses]
        return Report(
            name=self._core.name,
            practice=self._practice,
            accepted=tuple(self._accepted_by_cause()),
            ill_formed=len(self._ill_formed),
            agreement=self._agreement(),
            rows=tuple(self._tally.rows(causes, self._output)),
            best=best,
            worst=worst,
        )

    def _texts(self) -> list[_Text]:
        """The texts that are run one by one, the shortest first."""
        texts = expected_texts(self._practice, self._final)
        if self._core.lanes > 1:
            more = [_text(text, self._practice, self._final) for text in _shortest_first(_aligned(self._core.lanes))]
            texts = sorted([*texts, *more], key=lambda each: len(each.text))
        if self._core.sends_empty_texts:
            return texts
        self._tally.skip(_EMPTY, "the ports cannot send one")
        return [each for each in texts if each.text]

    def _run_texts(self) -> None:
        texts, output, tally = self._texts(), self._output, self._tally
        if self._is_validator:
            tally.skip(_RESYNCHRONISATION, "a validator has one verdict per text")
        tally.skip(_ENDS, "no text has correct words" if output.has_last else "the ports have no output.last")
        outcomes = self._run([(each.text,) for each in texts])
        for each, outcome in zip(texts, outcomes, strict=True):
            run = output.run((each.text,), [output.words(each.items)], outcome)
            is_correct = self._is_correct(run)
            part = None
            if is_correct:
                self._correct[each.text] = run.expected
            else:
                part = self._differing_part(each)
            if each.is_ill_formed:
                self._ill_formed.append((each, run))
                if not is_correct:
                    self._accept(each, run)
            tally.add(part.cause if part else each.cause, None if is_correct else run)
            if each.tail and not self._is_validator and part in (None, each):
                lost = not is_correct and not output.resynchronises(run, each)
                tally.add(_RESYNCHRONISATION, run if lost else None)

    def _is_correct(self, run: _Run) -> bool:
        """Whether the words of a run are correct; the ends of its texts then count with their own cause."""
        is_correct, has_ends = self._output.judge(run)
        if is_correct and self._output.has_last:
            self._tally.add(_ENDS, None if has_ends else run)
        return is_correct

    def _accept(self, text: _Text, run: _Run) -> None:
        """Record an ill-formed text if it is accepted, and no part of it is."""
        items = _of_golden(text.text, Practice.MAXIMAL_SUBPARTS, self._final)
        is_accepted = self._output.accepts(run, [item for item in items if item.error is None])
        if is_accepted and not any(part in self._accepted for part in _parts(text.text)):
            self._accepted[text.text] = text.cause, run

    def _accepted_by_cause(self) -> Iterator[Accepted]:
        alike: dict[tuple[str, int], list[_Run]] = defaultdict(list)
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

    def _agrees(self, practice: Practice, text: _Text, run: _Run) -> bool:
        """Whether the words of the run of a text are those of another practice."""
        items = _of_golden(text.text, practice, self._final)
        if text.text in self._correct:
            # Practices only merge or split marks, or end at the first one, so as many items are the same words.
            return len(items) == len(text.items)
        return self._output.judge(self._output.run(run.texts, [self._output.words(items)], run.outcome))[0]

    def _differing_part(self, differing: _Text) -> _Text:
        """The shortest part of a text that differs alone, which may be the whole text."""
        parts = list(_parts(differing.text))
        for part in parts:
            if (found := self._differing.get(part)) and _is_part(found, differing):
                return found
        self._differing[differing.text] = differing
        if len(differing.text) <= _COMPLETE:
            return differing
        described = [_text(part, self._practice, self._final) for part in parts]
        for each, outcome in zip(described, self._run([(part,) for part in parts]), strict=True):
            run = self._output.run((each.text,), [self._output.words(each.items)], outcome)
            if not self._output.judge(run)[0] and _is_part(each, differing):
                self._differing[each.text] = each
                self._tally.prefer(each.cause, run)
                return each
        return differing

    def _run_code_points(self) -> None:
        """Every code point, in long texts; of the first one that differs each code point alone."""
        searched = set()
        outcomes = self._run([(text,) for text in _block_bytes()])
        for (cause, points), text, outcome in zip(_blocks(), _block_bytes(), outcomes, strict=True):
            run = self._output.run((text,), [self._output.of_points(points)], outcome)
            is_correct = self._is_correct(run)
            self._tally.add(cause, None if is_correct else run)
            if not is_correct and cause not in searched:
                searched.add(cause)
                if alone := self._first_wrong(points):
                    self._tally.prefer(cause, alone)

    def _first_wrong(self, points: Sequence[int]) -> _Run | None:
        texts = [encode([point]) for point in points]
        for point, text, outcome in zip(points, texts, self._run([(text,) for text in texts]), strict=True):
            run = self._output.run((text,), [self._output.of_points([point])], outcome)
            if not self._output.judge(run)[0]:
                return run
        return None

    def _run_pairs(self) -> None:
        if not self._core.separates_texts:
            self._tally.skip(_BACK_TO_BACK, "the core has neither an end of the text nor a reset")
            return
        firsts, _ = _class_units()
        before = {b"", *(bytes(units) for units, _ in representatives(TABLE_3_7))}
        before |= {vector.units for vector in vectors() if len(vector.units) <= TABLE_3_7.longest}
        after = [bytes(units) for length in (0, 1, 2) for units in product(firsts, repeat=length)]
        pairs = [(one, two) for one in before for two in after if one in self._correct and two in self._correct]
        pairs.sort(key=lambda pair: (len(pair[0]) + len(pair[1]), pair))
        self._tally.skip(_BACK_TO_BACK, "no pair of texts for it is correct one by one")
        self._compare(_BACK_TO_BACK, pairs)

    def _run_pauses(self) -> None:
        texts = _shortest_first(vector.units for vector in vectors() if vector.units in self._correct)
        self._tally.skip(self._pauses, "none of the named vectors, which it uses, is correct without pauses")
        runs: list[tuple[bytes, ...]] = [(text,) for text in texts]
        if self._core.separates_texts and texts:
            together = tuple(texts)
            (outcome,) = self._run([together])
            if self._output.judge(self._expected(together, outcome))[0]:
                runs.append(together)
        for pattern in self._patterns:
            self._compare(self._pauses, runs, pattern)

    def _expected(self, texts: Sequence[bytes], outcome: Outcome, pauses: tuple[str, str] = ("0", "0")) -> _Run:
        """A run of texts that are correct alone."""
        return self._output.run(texts, [self._correct[text] for text in texts], outcome, pauses)

    def _compare(self, cause: str, runs: Sequence[tuple[bytes, ...]], pauses: tuple[str, str] = ("0", "0")) -> None:
        given, taken = ([digit == "1" for digit in pattern] for pattern in pauses)
        outcomes = self._run(runs, input_pauses=given, output_pauses=taken)
        for texts, outcome in zip(runs, outcomes, strict=True):
            run = self._expected(texts, outcome, pauses)
            self._tally.add(cause, None if self._is_correct(run) else run)

    def _throughput(self) -> tuple[Throughput | None, Throughput | None]:
        inputs: dict[str, bytes] = {}
        for each in expected_texts(self._practice, self._final):
            if each.cause in (_EMPTY, ErrorKind.INCOMPLETE.name):
                continue
            inputs.setdefault(each.cause, each.text)
        # A sequence that the next one breaks, over and over.
        inputs[f"{ErrorKind.TRUNCATED.name} by a first byte"] = bytes(next(representatives(TABLE_3_7))[0])
        runs = [(text * -(-_LONG // len(text)),) for text in inputs.values()]
        measured = [
            Throughput(cause, text, round(outcome.cycles / len(texts[0]), 3))
            for (cause, text), texts, outcome in zip(inputs.items(), runs, self._run(runs), strict=True)
            if not outcome.reason
        ]
        if not measured:
            return None, None
        return min(measured, key=_cycles), max(measured, key=_cycles)


def _cycles(found: Throughput) -> float:
    return found.cycles_per_byte


STEPS = 5
"""The steps of which `check_foreign_core` reports the completion."""


def check_foreign_core(
    core: ForeignCore,
    practice: Practice = Practice.MAXIMAL_SUBPARTS,
    on_step: Callable[[int], None] = lambda _: None,
) -> Report:
    """Compare a foreign core with the golden function, by cause.

    Args:
        core: the core.
        practice: the replacement practice; of a validator it has no effect.
        on_step: called with the number of completed steps, of `STEPS`.
    """
    return _Check(core, practice, on_step).report()
