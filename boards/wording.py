# SPDX-License-Identifier: BSD-2-Clause
"""What the forms of characters send, as programs, of which both the circuits and the parsers are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from utf8fpga.boards.protocol import ITEM_COUNTERS, REPORT_COUNTERS, Mark
from utf8fpga.model.encodings import Encoding
from utf8fpga.model.errors import ErrorKind

CAUSES = {kind.name.lower().replace("_", " "): kind for kind in ErrorKind}
"""The causes of errors by their names in lines."""


class Step(IntEnum):
    """A step of a program, other than to send a character."""

    DONE = 0
    """The record has been sent."""
    DROP = 1
    """Transfer the units of the item without sending them."""
    COPY = 2
    """Send the units of the item."""
    UNITS = 3
    """Send the units of the item in hexadecimal."""
    CODE_POINT = 4
    """Send the code point in hexadecimal, with 4 to 6 digits."""
    CAUSE = 5
    """Continue with the program of the cause of error."""
    UNIT = 6
    """Send the code unit that is the symbol."""
    MARK = 7
    """Send the code unit that precedes a marker."""
    NUMBER = 8
    """Send a number in hexadecimal, with all its digits."""


class Number(NamedTuple):
    """The step NUMBER in a program.

    Attributes:
        name: which one: a field of the symbol, or a counter.
        digits: the number of its digits; None: as many as the field has.
    """

    name: str
    digits: int | None = None


Program = Sequence[bytes | Step | Number]
"""Characters and steps, in order."""


def counters_program(names: Sequence[str]) -> Program:
    """The line with the counters of these names."""
    line: list[bytes | Step | Number] = []
    for name in names:
        line += [f"{', ' if line else ''}{name} ".encode(), Number(name, 8)]
    return [*line, b"\r\n"]


@dataclass(frozen=True)
class Wording:
    """What a form sends.

    Attributes:
        well_formed, ill_formed: the programs of a symbol of the core. After `Step.CAUSE` the name of the cause and a
            line end follow.
        counters: the names of the counters.
        encoding: the encoding of the characters, with a code unit of `MARKS` before each marker; None: ASCII.
    """

    well_formed: Program
    ill_formed: Program
    counters: Sequence[str] = ITEM_COUNTERS
    encoding: Encoding | None = None

    def programs(self) -> dict[str, Program]:
        """The programs by the name of the record, or of the cause of an error."""
        mark = [] if self.encoding is None else [Step.MARK]
        causes = CAUSES if Step.CAUSE in self.ill_formed else {}
        return {
            "well-formed": self.well_formed,
            "ill-formed": self.ill_formed,
            **{each.name: [*mark, f"{each.value}\r\n".encode()] for each in Mark},
            "COUNTERS": [*mark, *counters_program(self.counters)],
            **{kind.name: [f"{name}\r\n".encode()] for name, kind in causes.items()},
        }


ITEM_LINES = Wording([b"U+", Step.CODE_POINT, b"\r\n", Step.DROP], [b"ill-formed ", Step.UNITS, b": ", Step.CAUSE])
"""A line for each item."""

_SIZES = (
    b", bytes ",
    Number("units"),
    b", code points ",
    Number("code_points"),
    b", UTF-16 units ",
    Number("utf16_units"),
)

REPORT_LINES = {
    report: Wording([b"well-formed", *good, b"\r\n"], [b"ill-formed", *bad], REPORT_COUNTERS)
    for report, good, bad in (
        ("verdict", (), (b"\r\n",)),
        ("offset", (), (b" at ", Number("offset"), b"\r\n")),
        ("full", _SIZES, (b" at ", Number("offset"), b", errors ", Number("errors"), *_SIZES, b": ", Step.CAUSE)),
    )
}
"""A line for each report, by the name of the report."""

_PATTERNS = {
    Step.CODE_POINT: "([0-9A-F]{4,6})",
    Step.UNITS: "([0-9A-F]{2}(?: [0-9A-F]{2})*)",
    Step.CAUSE: f"({'|'.join(CAUSES)})",
}


def line_reader(program: Program) -> Callable[[str], dict[str, str] | None]:
    """A function that returns what a line has in place of each step of the program; None for another line."""
    names, pattern = [], ""
    for step in program:
        if isinstance(step, bytes):
            pattern += re.escape(step.decode().removesuffix("\r\n"))
        elif isinstance(step, Number):
            names.append(step.name)
            pattern += f"([0-9A-F]{{{step.digits}}})" if step.digits else "([0-9A-F]+)"
        elif step in _PATTERNS:
            names.append(step.name.lower())
            pattern += _PATTERNS[step]
    compiled = re.compile(pattern)

    def read(line: str) -> dict[str, str] | None:
        found = compiled.fullmatch(line)
        return None if found is None else dict(zip(names, found.groups(), strict=True))

    return read
