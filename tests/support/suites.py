# SPDX-License-Identifier: BSD-2-Clause
"""The cases of public suites; each file in tests/model/suites names its source and the digests of the files read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1] / "model" / "suites"
NAMES = ("utf8tests", "wpt", "kuhn", "cpython", "encoding_rs")
ILL_FORMED = "ill-formed"


def _code_points(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


class Case(NamedTuple):
    """One text of a suite.

    Attributes:
        name: its name.
        chunks: its bytes, in chunks if the suite decodes it so.
        expected: the expected code points of each chunk, or of all together; None if the text is only ill-formed.
        skipped: the expected code points without the marks, if the suite has them.
    """

    name: str
    chunks: list[bytes]
    expected: list[list[int]] | None
    skipped: list[int] | None = None

    @property
    def units(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def code_points(self) -> list[int]:
        return [point for part in self.expected or [] for point in part]


class Suite(NamedTuple):
    """A suite: what its file says about it, by key, and its cases."""

    notes: dict[str, list[str]]
    cases: list[Case]

    @property
    def practice(self) -> str:
        return self.notes["practice"][0]

    @property
    def differs(self) -> dict[str, str]:
        """The reason for each case in which the model differs from the suite."""
        return dict(note.split(": ", 1) for note in self.notes.get("differs", []))


def read_suite(name: str) -> Suite:
    """The recorded cases of a suite."""
    suite = Suite({}, [])
    for line in (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            suite.notes.setdefault(key, []).append(value)
            continue
        case, chunks, expected, *skipped = line.split("\t")
        results = None if expected == ILL_FORMED else [_code_points(part) for part in expected.split("/")]
        units = [bytes.fromhex(part) for part in chunks.split("/")]
        suite.cases.append(Case(case, units, results, *map(_code_points, skipped)))
    return suite
