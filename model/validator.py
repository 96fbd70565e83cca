# SPDX-License-Identifier: BSD-2-Clause
"""The golden function of the validator: one report per text, with the first error and the lengths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from utf8fpga.model.decoder import whole
from utf8fpga.model.errors import ErrorKind
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.golden import Symbol
from utf8fpga.model.named import AnyTable, checked_table
from utf8fpga.model.pattern import Pattern
from utf8fpga.model.text import decode, errors

COUNTER_WIDTH = 32
"""The width of the numbers in a report, in bits."""


class ValidatorReport(NamedTuple):
    """What a validator says about one text.

    The numbers are saturating: one that does not fit the width of the counters is the highest number of that width. So
    a number that is the highest means that number or more.

    Attributes:
        well_formed: the text is well-formed.
        offset: the number of code units before the first ill-formed maximal subpart (D93b); None if well-formed. Of a
            text that ends within a sequence it is that of the first unit of the sequence, if there is no error before.
            It is `UnicodeDecodeError.start` of Python.
        error: the cause of this first error; None if well-formed. `ErrorKind.INCOMPLETE` means that the text would be
            well-formed up to its end, if its last sequence went on.
        errors: the number of ill-formed maximal subparts.
        units: the number of code units; of a table of bytes, the number of bytes.
        code_points: the number of code points of the text in which each ill-formed maximal subpart is replaced by one
            U+FFFD, as decoders with replacement output it: the well-formed code points are ``code_points - errors``.

    >>> validate(b"a\\xe2\\x82\\xac\\xf0\\x9f\\x98")
    ValidatorReport(well_formed=False, offset=4, error=<ErrorKind.INCOMPLETE: 7>, errors=1, units=7, code_points=3)
    """

    well_formed: bool
    offset: int | None
    error: ErrorKind | None
    errors: int
    units: int
    code_points: int

    def as_dict(self) -> dict[str, Any]:
        """The report for JSON, with the name of the cause."""
        return self._asdict() | {"error": self.error.name if self.error else None}

    def saturated(self) -> ValidatorReport:
        """The report with numbers that saturate."""
        top = (1 << COUNTER_WIDTH) - 1
        numbers = (self.errors, self.units, self.code_points)
        offset = None if self.offset is None else min(self.offset, top)
        return ValidatorReport(self.well_formed, offset, self.error, *(min(number, top) for number in numbers))


class GoldenValidator:
    """The golden function of a validator that outputs only reports: code units in, one report per text out.

    Args:
        table: the encoding form; default: UTF-8.

    >>> validator = GoldenValidator()
    >>> validator.process(b"\\xe1\\x80")
    []
    >>> (symbol,) = validator.process(b"A", final=True)
    >>> symbol.length, symbol.value.offset, symbol.value.error.name, symbol.value.code_points
    (3, 0, 'TRUNCATED', 2)
    """

    def __init__(self, table: AnyTable = TABLE_3_7) -> None:
        self._table = checked_table(table)
        self._units: list[int] = []

    def process(self, symbols: Iterable[int], final: bool = False) -> list[Symbol]:
        """See `Golden.process`."""
        self._units += symbols
        if not final:
            return []
        length, report = len(self._units), validate(self._units, self._table)
        self._units.clear()
        return [Symbol(length, report)]


def validate(data: Iterable[int], table: AnyTable = TABLE_3_7) -> ValidatorReport:
    """The report of one text.

    Args:
        data: the code units of the text; for UTF-8 any bytes-like object.
        table: the encoding form, or its name; default: UTF-8.

    Raises:
        InvalidArgumentError: a code unit is outside the table's width.
        TypeError: `data` is a string or not iterable, or `table` is not an `EncodingTable`.

    >>> validate("naïve 😀".encode()).code_points
    7
    """
    form = checked_table(table)
    units = whole(data, form)
    units = bytes(units) if form.unit_width == 8 else units
    others = Pattern.of(form).others if form.unit_width == 8 else ()
    first, number, alone = None, 0, 0
    for item in errors(units, form):
        first = first or item
        number += 1
        alone += units[item.offset] in others
    if isinstance(units, bytes) and form.self_synchronising:
        # Each item but those alone starts with a byte that may start a sequence, and has no second one.
        code_points = alone + len(units.translate(None, bytes(others)))
    else:
        code_points = sum(1 for _ in decode(units, form))
    offset, kind = (first.offset, first.error) if first else (None, None)
    return ValidatorReport(first is None, offset, kind, number, len(units), code_points).saturated()
