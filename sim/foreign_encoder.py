# SPDX-License-Identifier: BSD-2-Clause
"""The check of a foreign encoder against the golden function, by cause.

Every code point is run in long texts, surrogates and values beyond U+10FFFF one by one and before and after others.
Then follow pairs of texts, and texts with pauses, of those that are correct alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, product

from utf8fpga.hdl.foreign_core import ForeignCore
from utf8fpga.model import REPLACEMENT_CHARACTER, TABLE_3_7, ErrorKind, Practice
from utf8fpga.model.encoder import GoldenEncoder
from utf8fpga.model.encodings import encoding_named
from utf8fpga.sim.causes import STEPS
from utf8fpga.sim.foreign import ERROR, ForeignSimulation, Outcome
from utf8fpga.sim.report import BACK_TO_BACK, ENDS, RESYNCHRONISATION, Defect, Failure, Finding, Report, Row, Throughput

_Text = tuple[int, ...]

_BLOCK = 1024
"""Code points of one text where every code point is tried, and of one whose throughput is measured."""

_PAUSES = (("10", "0"), ("0", "1110"), ("110", "1001"), ("01101001", "1101000"))
"""Patterns of pauses at the input and at the output; 1 is a pause."""


@dataclass(frozen=True)
class EncoderFailure(Failure):
    """A run in which an encoder differs; `texts` are its words as UTF-32, big-endian."""

    @property
    def input(self) -> str:
        """The words in hexadecimal, with ``|`` between texts, and the pauses."""
        words = [
            " ".join(f"{int.from_bytes(text[n : n + 4], 'big'):04X}" for n in range(0, len(text), 4))
            for text in self.texts
        ]
        return ", ".join([" | ".join(words), *super().input.split(", ")[1:]])


class _Check:
    def __init__(self, core: ForeignCore) -> None:
        self._core, self._run = core, ForeignSimulation(core).run
        self._golden = GoldenEncoder(encoding_named("utf-8"))
        self._has_error, self._has_last = "error" in core.ports.output, "last" in core.ports.output
        # The mark stands alone if it has no bytes of its own, or if these are arbitrary.
        self._mark = core.ports.marks == "separate" or not core.ports.replacement
        self.rows: dict[str, Row] = {}
        self.correct: list[_Text] = []

    def words(self, text: Sequence[int]) -> list[int]:
        """The expected words."""
        flag = ERROR * self._has_error
        units = [self._golden.process([point]) for point in text]
        if self._mark:
            return list(
                chain.from_iterable(
                    [REPLACEMENT_CHARACTER | flag] if some[0].error else [unit.value for unit in some] for some in units
                )
            )
        return [unit.value | flag * unit.error for unit in chain.from_iterable(units)]

    def compare(self, cause: str, runs: Sequence[Sequence[_Text]], pauses: tuple[str, str] = ("0", "0")) -> list[bool]:
        """Whether each run is correct, which counts with the cause."""
        given, taken = ([digit == "1" for digit in pattern] for pattern in pauses)
        sent = [[array("I", text).tobytes() for text in texts] for texts in runs]
        results = []
        for texts, outcome in zip(runs, self._run(sent, input_pauses=given, output_pauses=taken), strict=True):
            expected = [self.words(text) for text in texts]
            words = [*chain.from_iterable(expected)]
            is_correct = not outcome.reason and words == list(outcome.words)
            self.count(cause, None if is_correct else self._failure(texts, words, outcome, pauses))
            if is_correct and self._has_last:
                has_ends = list(outcome.ends) == [*accumulate(map(len, expected))]
                why = outcome._replace(reason="output.last is not at the ends of the texts")
                self.count(ENDS, None if has_ends else self._failure(texts, words, why, pauses))
            results.append(is_correct)
        return results

    def count(self, cause: str, failure: Failure | None) -> None:
        before = self.rows.get(cause, Row(cause, 0))
        shortest = before.shortest
        if failure and (shortest is None or sum(map(len, failure.texts)) < sum(map(len, shortest.texts))):
            shortest = failure
        self.rows[cause] = Row(cause, before.texts + 1, before.failed + bool(failure), shortest)

    def _failure(
        self, texts: Sequence[_Text], expected: Sequence[int], outcome: Outcome, pauses: tuple[str, str]
    ) -> Failure:
        spelt, marks = [], []
        for words in (expected, outcome.words):
            spelt.append(tuple(f"{'!' * bool(word & ERROR)}{word & (ERROR - 1):02X}" for word in words))
            marks.append(sum(bool(word & ERROR) for word in words) if self._has_error else None)
        return EncoderFailure(
            texts=tuple(b"".join(point.to_bytes(4, "big") for point in text) for text in texts),
            expected=spelt[0],
            given=spelt[1],
            expected_marks=marks[0],
            given_marks=marks[1],
            reason=outcome.reason,
            input_pauses=pauses[0],
            output_pauses=pauses[1],
        )

    def alone(self, cause: str, texts: Sequence[_Text]) -> None:
        """Run texts alone, of which some that are correct are remembered."""
        results = self.compare(cause, [[text] for text in texts])
        correct = [text for text, is_correct in zip(texts, results, strict=True) if is_correct]
        self.correct += [*correct[:2], *correct[-2:]]

    def run_code_points(self) -> None:
        """Every code point; of the first text that differs each one alone."""
        for row in TABLE_3_7.rows:
            points = row.code_points
            cause = _well_formed(len(row.units))
            all_points = range(points.first, points.last + 1)
            blocks = [tuple(all_points[n : n + _BLOCK]) for n in range(0, len(all_points), _BLOCK)]
            results = self.compare(cause, [[block] for block in blocks])
            self.alone(cause, [(points.first,), (points.last,)])
            if not all(results):
                self.alone(cause, [(point,) for point in blocks[results.index(False)]])

    def run_ill_formed(self) -> None:
        """Surrogates and values beyond the code points, alone and between code points."""
        last, width = TABLE_3_7.last_code_point, self._core.symbol_bits
        beyond = {last + 1, (1 << width) - 1, *(1 << bit | low for bit in range(width) for low in (0, 0x41, 0xD800))}
        self.alone(ErrorKind.SURROGATE.name, [(point,) for point in range(0xD800, 0xE000)])
        self.alone(ErrorKind.OUT_OF_RANGE.name, [(point,) for point in sorted(beyond) if last < point < 1 << width])
        self.compare(RESYNCHRONISATION, [[(0x20AC, *text, *text, 0x41)] for text in self.correct])

    def run_together(self) -> None:
        """Pairs of texts, and texts with pauses."""
        if self._core.separates_texts:
            self.compare(BACK_TO_BACK, [*product(self.correct, repeat=2)])
        texts = [[text] for text in self.correct]
        if self.correct:
            texts.append([tuple(chain.from_iterable(self.correct))])
        is_handshake = self._core.ports.protocol == "axi-stream"
        for given, taken in _PAUSES:
            if is_handshake or "1" in given:
                name = "back-pressure" if is_handshake else "pauses between words"
                self.compare(name, texts, (given, taken))

    def throughput(self) -> list[Throughput]:
        """Cycles per byte for sequences of each length, the fewest first."""
        found = []
        for row in TABLE_3_7.rows:
            point = row.code_points.first
            (outcome,) = self._run([[array("I", [point] * _BLOCK).tobytes()]])
            text = bytes(TABLE_3_7.encode(point))
            if not outcome.reason:
                cycles = round(outcome.cycles / _BLOCK / len(text), 3)
                found.append(Throughput(_well_formed(len(text)), text, cycles))
        return sorted(found, key=lambda each: each.cycles_per_byte)


_OF_SEVERAL = {ENDS: Defect.END, RESYNCHRONISATION: Defect.ITEMS, BACK_TO_BACK: Defect.LEAKS}
"""The defect by cause, of those that are not found in one text alone; default: `Defect.PAUSES`."""


def _findings(rows: Iterable[Row]) -> Iterator[Finding]:
    """The defects of the rows, the worst first."""
    shortest: dict[Defect, Failure] = {}
    for row in rows:
        if found := row.shortest:
            defect = _defect(row.cause, found)
            shortest[defect] = min(found, shortest.get(defect, found), key=lambda each: len(b"".join(each.texts)))
    yield from (Finding(defect, shortest[defect]) for defect in Defect if defect in shortest)


def _defect(cause: str, found: Failure) -> Defect:
    if cause in ErrorKind.__members__:
        return Defect.MARKS if found.given_marks else Defect.ACCEPTS
    if cause.startswith(_WELL_FORMED):
        return Defect.HANGS if found.reason else Defect.CORRUPTS
    return _OF_SEVERAL.get(cause, Defect.PAUSES)


_WELL_FORMED = "well-formed"


def _well_formed(length: int) -> str:
    return f"{_WELL_FORMED}, {length} byte{'s' if length > 1 else ''}"


def check_foreign_encoder(
    core: ForeignCore,
    practice: Practice = Practice.MAXIMAL_SUBPARTS,
    on_step: Callable[[int], None] = lambda _: None,
) -> Report:
    """Compare a foreign encoder with the golden function, by cause.

    Args:
        core: the core.
        practice: of the report; for an encoder, whose input has no sequences, it has no effect.
        on_step: called with the number of completed steps, of `STEPS`.
    """
    check = _Check(core)
    for number, step in enumerate((check.run_code_points, check.run_ill_formed, check.run_together), 1):
        step()
        on_step(number)
    speeds = check.throughput()
    on_step(STEPS)
    rows = sorted(check.rows.values(), key=lambda row: row.cause == ENDS)
    return Report(
        name=core.name,
        practice=practice,
        defects=tuple(_findings(rows)),
        accepted=(),
        ill_formed=0,
        agreement={},
        rows=tuple(rows),
        best=speeds[0] if speeds else None,
        worst=speeds[-1] if speeds else None,
    )
