# SPDX-License-Identifier: BSD-2-Clause
"""The report of the check of a foreign core, and its verdict. Attributes are the keys of its JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from utf8fpga.model import Practice, spell
from utf8fpga.model.render import counted

CHANGED = "the output changed or was withdrawn before its transfer"
WRONG_ENDS = "output.last is not at the ends of the texts"
"""Reasons of a run; the second one is that of a run whose words are correct."""

_WIDEST = 60
"""Characters of an input or an output that are printed."""


class Cause(StrEnum):
    """The causes of rows other than those of `well_formed` and the names of `ErrorKind`."""

    EMPTY = "empty text"
    ENDS = "ends of texts"
    BACK_TO_BACK = "back-to-back texts"
    PAUSES = "pauses"
    LONG = "long texts"
    MANY = "many texts"


def well_formed(length: int) -> str:
    """The cause of well-formed texts whose longest sequence has so many bytes."""
    return f"well-formed, {counted(length, 'byte')}"


class Defect(StrEnum):
    """A kind of defect of a core, the worst first. `Judge.defect` has the rule for each."""

    ACCEPTS = "accepts ill-formed text"
    """It outputs other words than those of the well-formed parts, and no mark; a validator states ``well-formed``."""

    CORRUPTS = "corrupts well-formed text"
    """Code points are wrong, or well-formed text has a mark or is stated to be ill-formed."""

    ITEMS = "loses or adds items"
    """Code points are missing or additional, the others correct; of a validator the verdict is missing."""

    MARKS = "wrong number of marks"
    """The code points are correct, and the marks of ill-formed sequences are not: their number or their places."""

    END = "wrong at the end of a text"
    """The same for a sequence that is incomplete at the end of the text, or `last` is not at the end."""

    HANGS = "hangs"
    """It does not accept the input, or there is no end of its output."""

    PROTOCOL = "violates the protocol of its output"
    """It changes or withdraws the output before the transfer."""

    LEAKS = "leaks state into the next text"
    """A text that is correct alone is not after another one."""

    PAUSES = "depends on pauses"
    """A text that is correct without pauses is not with them."""


def abridged(words: Iterable[str]) -> str:
    """Words as a text of limited length."""
    text = " ".join(words) or "nothing"
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 4]} ..."


@dataclass(frozen=True)
class Run:
    """A run of a core, and what is expected of it.

    Attributes:
        texts: the texts, one after another.
        pauses: see `Pauses`.
        expected: the words of the golden function, as in `given`.
        given: the words of the core: code points in hexadecimal, with ``!`` before them if the core asserts `error`
            beside them; of a validator ``well-formed`` or ``ill-formed`` for each text.
        marks: the number of marks in both.
        reason: why the run was cut off, or what else was wrong apart from the words; empty if nothing was.
        is_correct: whether the words are equal, and nothing is wrong but the ends of the texts.
    """

    texts: tuple[bytes, ...]
    pauses: tuple[str, str]
    expected: tuple[str, ...]
    given: tuple[str, ...]
    marks: tuple[int, int]
    reason: str
    is_correct: bool

    @property
    def size(self) -> int:
        """The number of bytes."""
        return sum(map(len, self.texts))

    @property
    def input(self) -> str:
        """The texts with ``|`` between them, and the pauses, of limited length."""
        parts = [" | ".join(spell(text, 8) or "(empty)" for text in self.texts)]
        names = zip(("input", "output"), self.pauses, strict=True)
        parts += [f"{name} pauses {pattern}" for name, pattern in names if "1" in pattern]
        return abridged([", ".join(parts)])

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.input} gives {abridged(self.given)}, not {abridged(self.expected)}{reason}"


@dataclass
class Row:
    """The runs for a cause, or those that show a defect.

    Attributes:
        name: the cause or the defect.
        runs: the number of runs.
        differ: the number of those that differ from the golden function.
        shortest: the shortest one found that differs; None if none does.
    """

    name: str
    runs: int = 0
    differ: int = 0
    shortest: Run | None = None

    def add(self, run: Run, is_correct: bool = False) -> None:
        """Count a run."""
        self.runs += 1
        if not is_correct:
            self.differ += 1
            if self.shortest is None or run.size < self.shortest.size:
                self.shortest = run


@dataclass(frozen=True)
class Report:
    """The result of a check; a core without defects conforms to the practice.

    Attributes:
        defects: the defects, the worst first, each with the shortest run found that shows it.
        accepted: the ill-formed texts that the core accepts, by cause; of those that contain one another only the
            shortest.
        causes: the results by cause.
    """

    module: str
    practice: Practice
    defects: tuple[Row, ...]
    accepted: tuple[Row, ...]
    causes: tuple[Row, ...]

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows with a difference."""
        return tuple(row for row in self.causes if row.differ)
