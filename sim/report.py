# SPDX-License-Identifier: BSD-2-Clause
"""The report of the check of a foreign core, and its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from utf8fpga.model import Practice, spell
from utf8fpga.model.render import counted

EMPTY = "empty text"
RESYNCHRONISATION, ENDS, BACK_TO_BACK = "resynchronisation", "ends of texts", "back-to-back texts"
LONG, MANY = "long texts", "many texts"


def well_formed(length: int) -> str:
    """The cause of well-formed texts whose longest sequence has so many bytes."""
    return f"well-formed, {counted(length, 'byte')}"


class Defect(StrEnum):
    """A kind of defect of a core, the worst first. `Output.defect` has the rule for each."""

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
    """It changes or withdraws the output before the transfer, or keeps a part of a word."""

    LEAKS = "leaks state into the next text"
    """A text that is correct alone is not after another one."""

    PAUSES = "depends on pauses"
    """A text that is correct without pauses is not with them."""


@dataclass(frozen=True)
class Failure:
    """A run in which a core differs from the golden function.

    Attributes:
        texts: the texts, one after another.
        expected: the words of the golden function, as in `given`.
        given: the words of the core: code points in hexadecimal, with ``!`` before them
            if the core asserts `error` beside them; for a validator ``well-formed`` or ``ill-formed``.
        expected_marks: the number of ill-formed items; None for a validator.
        given_marks: the same of the core.
        reason: what was wrong apart from the words; empty if nothing was.
        input_pauses: for each cycle, repeated, 1 where the next input was delayed.
        output_pauses: for each cycle, repeated, 1 where the output was not ready.
        words: `expected` as numbers, with the flag `ERROR`; of a validator 1 is ``ill-formed``.
        ends: for each text the number of expected words up to its end.
    """

    texts: tuple[bytes, ...]
    expected: tuple[str, ...]
    given: tuple[str, ...]
    expected_marks: int | None
    given_marks: int | None
    reason: str = ""
    input_pauses: str = "0"
    output_pauses: str = "0"
    words: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    @property
    def input(self) -> str:
        """The bytes of the texts in hexadecimal, with ``|`` between them, and the pauses."""
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
    """

    cause: str
    texts: int
    first: Failure


class Finding(NamedTuple):
    """A defect, and the shortest run found that shows it and none that is contained in it."""

    defect: Defect
    shortest: Failure


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
        defects: the defects, the worst first; none if the core conforms to the practice.
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
    defects: tuple[Finding, ...]
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
        return sum(row.texts for row in self.rows if row.cause not in (ENDS, RESYNCHRONISATION))

    @property
    def conforms_to(self) -> Practice | None:
        """The practice to which the core conforms; None: to none, or not decided by these runs.

        It is another one than that of the check if the only defects are marks, and all ill-formed texts are as in it.
        """
        if not self.defects:
            return self.practice
        only_marks = {each.defect for each in self.defects} <= {Defect.MARKS, Defect.END}
        if not only_marks or any(row.cause == ENDS for row in self.failed):
            return None
        return next((practice for practice, count in self.agreement.items() if count == self.ill_formed), None)
