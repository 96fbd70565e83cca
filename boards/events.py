# SPDX-License-Identifier: BSD-2-Clause
"""What a board sends, as a host sees it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from utf8fpga.boards.protocol import ITEM_COUNTERS, Mark
from utf8fpga.model import ErrorKind, ValidatorReport

__all__ = ["Counters", "Event", "GarbledError", "Received", "line_of"]


class Received(NamedTuple):
    """An item from the board.

    Attributes:
        code_point: its code point, U+FFFD if it is ill-formed.
        error: whether it is ill-formed; None where the form does not tell.
        units: the bytes of an ill-formed item, if the form has them.
        kind: its cause, if the form has it.
    """

    code_point: int
    error: bool | None
    units: bytes | None = None
    kind: ErrorKind | None = None


class Counters(NamedTuple):
    """The answer to a request: what the board has counted since its reset, modulo 2**32.

    Attributes:
        units: the bytes.
        well_formed: the scalar values; of a validator the well-formed texts.
        ill_formed: the ill-formed items; of a validator the ill-formed texts.
        names: the names of the three.
    """

    units: int
    well_formed: int
    ill_formed: int
    names: Sequence[str] = ITEM_COUNTERS

    @property
    def values(self) -> tuple[int, ...]:
        """The three numbers."""
        return self.units, self.well_formed, self.ill_formed

    @classmethod
    def of(cls, values: Iterable[int], names: Sequence[str] = ITEM_COUNTERS) -> Counters:
        """Three numbers and their names."""
        units, well_formed, ill_formed = values
        return cls(units, well_formed, ill_formed, names)


Event = Received | ValidatorReport | Mark | Counters
"""What a board sends. A report has None and 0 for what the validator does not report."""


class GarbledError(Exception):
    """What was received is not in the form; the argument says what it is."""


def line_of(event: Event) -> str:
    """An event as a readable line.

    >>> line_of(Received(0x1F600, False))
    'U+1F600'
    """
    if isinstance(event, Mark):
        return event.value
    if isinstance(event, Counters):
        return _named(zip(event.names, event.values, strict=True))
    if isinstance(event, ValidatorReport):
        return _line_of_report(event)
    if not event.error:
        return f"U+{event.code_point:04X}"
    if event.units is None or event.kind is None:
        return f"U+{event.code_point:04X} ill-formed"
    return f"ill-formed {event.units.hex(' ').upper()}: {event.kind.name.lower().replace('_', ' ')}"


def _line_of_report(report: ValidatorReport) -> str:
    verdict = "well-formed" if report.well_formed else "ill-formed"
    if report.offset is not None:
        verdict += f" at {report.offset}"
    if report.kind is not None:
        verdict += f", {report.kind.name.lower().replace('_', ' ')}"
    numbers = {
        "errors": report.errors,
        "bytes": report.units,
        "code points": report.code_points,
        "UTF-16 units": report.utf16_units,
    }
    return ", ".join([verdict, _named((name, value) for name, value in numbers.items() if value)]).removesuffix(", ")


def _named(numbers: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in numbers)
