# SPDX-License-Identifier: BSD-2-Clause
"""The check of a foreign encoder against the golden function, by cause.

Every code point is run in long texts, surrogates and values beyond U+10FFFF one by one and before and after others.
Then follow pairs of texts, and texts with pauses, of those that are correct alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain, product

from utf8fpga.hdl.foreign_core import ForeignCore
from utf8fpga.model import REPLACEMENT_CHARACTER, TABLE_3_7, ErrorKind, Practice
from utf8fpga.model.encoder import GoldenEncoder
from utf8fpga.model.encodings import encoding_named
from utf8fpga.sim.causes import STEPS, Tally, patterns
from utf8fpga.sim.foreign import ERROR, ForeignSimulation, Outcome
from utf8fpga.sim.judgement import Output
from utf8fpga.sim.report import BACK_TO_BACK, ENDS, RESYNCHRONISATION, Defect, Report, Throughput, well_formed

_Text = tuple[int, ...]

_BLOCK = 1024
"""Code points of one text where every code point is tried, and of one whose throughput is measured."""

_PAUSES = (("10", "0"), ("0", "1110"), ("110", "1001"), ("01101001", "1101000"))
"""Patterns of pauses at the input and at the output; 1 is a pause."""


class _Check:
    def __init__(self, core: ForeignCore) -> None:
        self._core, self._run = core, ForeignSimulation(core).run
        self._golden = GoldenEncoder(encoding_named("utf-8"))
        self._flag = ERROR if "error" in core.ports.output else 0
        # The mark stands alone if it has no bytes of its own, or if these are arbitrary.
        self._mark = core.ports.marks == "separate" or not core.ports.replacement
        self._output = Output(core.ports)
        self.tally = Tally(self._output)
        self.correct: list[_Text] = []

    def words(self, text: Sequence[int]) -> array[int]:
        """The expected words."""
        # CPython's encoder, since the one of the model takes seconds for all code points. It rejects ill-formed texts.
        with suppress(ValueError, OverflowError):
            return array("Q", [*"".join(map(chr, text)).encode()])
        units = [self._golden.process([point]) for point in text]
        mark, found = REPLACEMENT_CHARACTER | self._flag, array("Q")
        for some in units:
            is_alone = self._mark and some[0].error
            found.extend([mark] if is_alone else [unit.value | self._flag * unit.error for unit in some])
        return found

    def compare(self, cause: str, runs: Sequence[Sequence[_Text]], pauses: tuple[str, str] = ("0", "0")) -> list[bool]:
        """Whether each run is correct, which counts with the cause."""
        sent = [[array("I", text).tobytes() for text in texts] for texts in runs]
        results = []
        for texts, outcome in zip(runs, self._run(sent, **patterns(pauses)), strict=True):
            written = [b"".join(point.to_bytes(4, "big") for point in text) for text in texts]
            run = self._output.run(written, list(map(self.words, texts)), outcome, pauses)
            results.append(is_correct := self.tally.judge(run))
            self.tally.add(cause, None if is_correct else run)
        return results

    def alone(self, cause: str, texts: Sequence[_Text]) -> None:
        """Run texts alone, of which some that are correct are remembered."""
        results = self.compare(cause, [[text] for text in texts])
        correct = [text for text, is_correct in zip(texts, results, strict=True) if is_correct]
        self.correct += [*correct[:2], *correct[-2:]]

    def run_code_points(self) -> None:
        """Every code point; of the first text that differs each one alone."""
        for row in TABLE_3_7.rows:
            points = row.code_points
            cause = well_formed(len(row.units))
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
                found.append(Throughput(well_formed(len(text)), text, cycles))
        return sorted(found, key=lambda each: each.cycles_per_byte)


_OF_SEVERAL = {RESYNCHRONISATION: Defect.ITEMS, BACK_TO_BACK: Defect.LEAKS}
"""The defect by cause, of those that are not found in one text alone; default: `Defect.PAUSES`."""

_WELL_FORMED = {well_formed(len(row.units)) for row in TABLE_3_7.rows}


def _defect(cause: str, outcome: Outcome, marks: int | None) -> Defect:
    if cause in ErrorKind.__members__:
        return Defect.MARKS if marks else Defect.ACCEPTS
    if cause in _WELL_FORMED:
        return Defect.HANGS if outcome.reason else Defect.CORRUPTS
    return _OF_SEVERAL.get(cause, Defect.PAUSES)


def check_foreign_encoder(
    core: ForeignCore,
    practice: Practice = Practice.MAXIMAL_SUBPARTS,
    on_step: Callable[[int], None] = lambda _: None,
) -> Report:
    """Compare a foreign encoder with the golden function, by cause.

    Args:
        practice: of the report; for an encoder, whose input has no sequences, it has no effect.
    """
    check = _Check(core)
    for number, step in enumerate((check.run_code_points, check.run_ill_formed, check.run_together), 1):
        step()
        on_step(number)
    speeds = check.throughput()
    on_step(STEPS)
    for cause, run in check.tally.shortest.items():
        if cause != ENDS:
            check.tally.note(_defect(cause, run.outcome, Output(core.ports).marks(run.outcome.words)), run)
    return Report(
        name=core.name,
        practice=practice,
        defects=tuple(check.tally.findings()),
        accepted=(),
        ill_formed=0,
        agreement={},
        rows=tuple(check.tally.rows()),
        best=speeds[0] if speeds else None,
        worst=speeds[-1] if speeds else None,
    )
