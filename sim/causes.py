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
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import product
from operator import attrgetter
from typing import NamedTuple

from utf8fpga.model import DFA, TABLE_3_7, ErrorKind, IncrementalDecoder, Item, Practice, decode_with, encode
from utf8fpga.model.errors import representatives
from utf8fpga.model.vectors import vectors
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
    Finding,
    Report,
    Row,
    Throughput,
    well_formed,
)
from utf8fpga.sim.stimulus import boundary_sequences

_BLOCK = 1024
"""Code points of one text where every code point is tried."""

_MEASURED = 1024
"""Bytes of a text whose throughput is measured, at least."""

_RANDOM_TEXTS = 4096

_LONG_RUNS, _LONG_PIECES = 16, 5000
"""Long texts, and the short ones of which each consists, which have about 10,000 bytes."""

_MANY_TEXTS = 1000
"""Texts of each run of many."""

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


class _Text(NamedTuple):
    """A text and what is expected.

    Attributes:
        cause: the cause of its first ill-formed item, or its name among well-formed texts.
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
    return _Text(well_formed(max(item.length for item in items)) if items else EMPTY, text, items, 0, False)


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
            blocks.append((well_formed(len(row.units)), range(first, min(first + _BLOCK, points.last + 1))))
    return blocks


@cache
def _block_bytes() -> list[bytes]:
    # CPython's encoder, since the one of the model takes a second for all code points.
    return ["".join(map(chr, points)).encode() for _, points in _blocks()]


_TextsOf = Callable[[list[bytes]], tuple[bytes, ...]]
"""A function that makes the texts of a run from pieces."""


def _first(pieces: list[bytes], count: int) -> list[bytes]:
    return pieces[:count]


def _last(pieces: list[bytes], count: int) -> list[bytes]:
    return pieces[len(pieces) - count :]


class _Tally:
    """The rows of a report while it is made."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._counts: dict[str, int] = defaultdict(int)
        self._failed: dict[str, int] = defaultdict(int)
        self._shortest: dict[str, Run] = {}
        """By cause the shortest run that differs."""
        self._not_checked: dict[str, str] = {}
        self._defects: dict[Defect, Run] = {}

    def note(self, defect: Defect, run: Run) -> None:
        """Record a defect and the run that shows it, if there is none shorter."""
        if defect not in self._defects or run.size < self._defects[defect].size:
            self._defects[defect] = run

    def findings(self) -> Iterator[Finding]:
        for defect in Defect:
            if found := self._defects.get(defect):
                yield Finding(defect, self._output.failure(found))

    def judge(self, run: Run) -> bool:
        """Whether the words of a run are correct; the ends of its texts then count with their own cause."""
        is_correct, has_ends = self._output.judge(run)
        if is_correct and self._output.has_last:
            self.add(ENDS, None if has_ends else run)
            if not has_ends:
                self.note(Defect.END, run)
        return is_correct

    def add(self, cause: str, failed: Run | None) -> None:
        """Count a run, which is given if it differs."""
        self._counts[cause] += 1
        if failed:
            self._failed[cause] += 1
            self.prefer(cause, failed)

    def prefer(self, cause: str, failed: Run) -> None:
        """Replace the shortest run of a cause that differs, if there is none shorter."""
        if cause not in self._shortest or failed.size < self._shortest[cause].size:
            self._shortest[cause] = failed

    def skip(self, cause: str, reason: str) -> None:
        """State why there is no run for a cause, if there is none."""
        self._not_checked[cause] = reason

    def rows(self, causes: Iterable[str]) -> Iterator[Row]:
        """The rows of these causes."""
        for cause in causes:
            count = self._counts[cause]
            reason = (
                "" if count else self._not_checked.get(cause, "each of its texts contains a shorter one that differs")
            )
            found = self._shortest.get(cause)
            yield Row(cause, count, self._failed[cause], found and self._output.failure(found), reason)


_OF_SEVERAL = {BACK_TO_BACK: Defect.LEAKS}
"""The defect by cause, if texts that are correct alone are not; default: `Defect.PAUSES`."""


class _Check:
    """One check of a core."""

    def __init__(self, core: ForeignCore, practice: Practice, on_step: Callable[[int], None]) -> None:
        self._core, self._practice, self._run = core, practice, ForeignSimulation(core).run
        self._final = core.ports.has_end
        self._is_validator = core.ports.kind == "validator"
        self._output = Output(core.ports)
        self._tally = _Tally(self._output)
        self._correct: dict[bytes, array[int]] = {}
        """By text that is correct alone its expected words."""
        self._differing: dict[bytes, _Text] = {}
        """The texts that differ alone and have no part that does."""
        self._ill_formed: list[tuple[_Text, Run]] = []
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

    def _texts(self) -> list[_Text]:
        """The texts that are run one by one, the shortest first."""
        texts = expected_texts(self._practice, self._final)
        if self._core.lanes > 1:
            more = [_text(text, self._practice, self._final) for text in _shortest_first(_aligned(self._core.lanes))]
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

    def _note(self, text: _Text, run: Run) -> None:
        """Record the defect of a text that differs and has no part that does."""
        if not (text.is_ill_formed and self._is_accepted(text, run)):
            self._tally.note(self._output.defect(run, text.cause), run)

    def _is_accepted(self, text: _Text, run: Run) -> bool:
        """Whether an ill-formed text is accepted."""
        items = _of_golden(text.text, Practice.MAXIMAL_SUBPARTS, self._final)
        return self._output.accepts(run, [item for item in items if item.error is None])

    def _accept(self, text: _Text, run: Run) -> None:
        """Record an ill-formed text if it is accepted, and no part of it is."""
        if self._is_accepted(text, run) and not any(part in self._accepted for part in _parts(text.text)):
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

    def _agrees(self, practice: Practice, text: _Text, run: Run) -> bool:
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
                self._note(each, run)
                return each
        return differing

    def _run_code_points(self) -> None:
        """Every code point, in long texts; of the first one that differs each code point alone."""
        searched = set()
        outcomes = self._run([(text,) for text in _block_bytes()])
        for (cause, points), text, outcome in zip(_blocks(), _block_bytes(), outcomes, strict=True):
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
        firsts, _ = _class_units()
        before = {b"", *(bytes(units) for units, _ in representatives(TABLE_3_7))}
        before |= {vector.units for vector in vectors() if len(vector.units) <= TABLE_3_7.longest}
        after = [bytes(units) for length in (0, 1, 2) for units in product(firsts, repeat=length)]
        pairs = [(one, two) for one in before for two in after if one in self._correct and two in self._correct]
        pairs.sort(key=lambda pair: (len(pair[0]) + len(pair[1]), pair))
        self._tally.skip(BACK_TO_BACK, "no pair of texts for it is correct one by one")
        self._compare(BACK_TO_BACK, pairs)

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

    def _pieces(self, runs: int, count: int) -> list[list[bytes]]:
        """For each run so many texts that are correct alone; well-formed ones unless all others are, too."""
        texts = sorted(text for text in self._correct if text)
        if any(self._tally.findings()):
            texts = [text for text in texts if not _text(text, self._practice, True).is_ill_formed]
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
            whole = _text(least.texts[0], self._practice, True).cause
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
        return self._output.words(_of_golden(text, self._practice, self._final)) if known is None else known

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
