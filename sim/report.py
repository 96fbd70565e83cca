# SPDX-License-Identifier: BSD-2-Clause
"""The report of the check of a foreign core, and its verdict. Attributes have the names of the keys of its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from utf8fpga.model import Practice, spell
from utf8fpga.model.render import counted

SCHEMA_VERSION = 1
"""The version of the JSON of a report, which `cli/check.schema.json` describes."""

_WIDEST = 60
"""Characters of an input or an output that are printed."""


class Cause(StrEnum):
    """The causes of rows other than those of `well_formed` and the names of `ErrorKind`."""

    EMPTY = "empty text"
    RESYNCHRONISATION = "resynchronisation"
    ENDS = "ends of texts"
    BACK_TO_BACK = "back-to-back texts"
    BACK_PRESSURE = "back-pressure"
    PAUSES = "pauses between bytes"
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
        marks: the number of marks in both; None for a validator.
        reason: why the run was cut off, or what else was wrong; empty if nothing was.
        is_correct: whether the words are equal, and nothing else is wrong.
        has_ends: whether the ends of the texts are where they should be, if the words are correct.
    """

    texts: tuple[bytes, ...]
    pauses: tuple[str, str]
    expected: tuple[str, ...]
    given: tuple[str, ...]
    marks: tuple[int | None, int | None]
    reason: str
    is_correct: bool
    has_ends: bool

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

    @property
    def fault(self) -> str:
        """What was wrong apart from the words, given that the run is not as expected; empty if nothing was."""
        return "output.last is not at the ends of the texts" if self.is_correct else self.reason

    def __str__(self) -> str:
        reason = f" ({self.fault})" if self.fault else ""
        return f"{self.input} gives {abridged(self.given)}, not {abridged(self.expected)}{reason}"

    def as_dict(self) -> dict[str, Any]:
        """The run in the JSON of a report."""
        return {
            "texts": [spell(text, 8) for text in self.texts],
            "input_pauses": self.pauses[0],
            "output_pauses": self.pauses[1],
            "expected": self.expected,
            "given": self.given,
            "marks": dict(zip(("expected", "given"), self.marks, strict=True)),
            "reason": self.fault or None,
        }


@dataclass
class Row:
    """The result for one cause, also while the check is made.

    Attributes:
        runs: the number of runs.
        differ: the number of those that differ from the golden function.
        not_checked: why there is no run; None if there is one.
        shortest: the shortest one found that differs; None if none does.
    """

    cause: str
    runs: int = 0
    differ: int = 0
    not_checked: str | None = "each of its texts contains a shorter one that differs"
    shortest: Run | None = None


@dataclass
class Accepted:
    """Ill-formed texts that a core accepts: it outputs other words than those of their well-formed parts, and no mark.

    Attributes:
        cause: the cause of their first ill-formed item.
        texts: the number of them that were run; texts that contain another accepted one are not counted.
    """

    cause: str
    texts: int
    first: Run


@dataclass(frozen=True)
class Finding:
    """A defect, and the shortest run found that shows it and none that is contained in it."""

    defect: Defect
    shortest: Run


@dataclass(frozen=True)
class Verdict:
    """The defects of a core, the worst first.

    Attributes:
        conforms_to: the practice to which the core conforms; None: to none, or not decided by these runs. With defects
            it is another one than that of the check: they are marks only, and all ill-formed texts are as in it.
    """

    conforms_to: Practice | None
    defects: tuple[Finding, ...]


@dataclass(frozen=True)
class Report:
    """The result of a check.

    Attributes:
        accepted: the ill-formed texts that the core accepts, by cause and length.
        ill_formed: the number of ill-formed texts that were run alone.
        agreement: by practice the number of them whose words are as in it, the largest first; only `practice` if these
            are all, and none for a validator. `START_OF_A_SEQUENCE` is left out, whose marks are those of
            `MAXIMAL_SUBPARTS`.
        causes: the results by cause.
        cycles_per_byte: ``best`` and ``worst``: a text, its cause, and the cycles per byte if it is repeated, from the
            first accepted byte to the last one; None if the core accepts no such text as a whole.
    """

    module: str
    kind: str
    protocol: str
    practice: Practice
    verdict: Verdict
    accepted: tuple[Accepted, ...]
    ill_formed: int
    agreement: Mapping[Practice, int]
    causes: tuple[Row, ...]
    cycles_per_byte: Mapping[str, Mapping[str, Any] | None]

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows with a difference."""
        return tuple(row for row in self.causes if row.differ)

    def as_json(self) -> str:
        """The report as JSON."""
        return json.dumps(
            {"version": SCHEMA_VERSION, **vars(self)},
            indent=1,
            default=lambda each: each.as_dict() if isinstance(each, Run) else vars(each),
        )
