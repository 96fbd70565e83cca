# SPDX-License-Identifier: BSD-2-Clause
"""Encoding forms that no single self-synchronising table describes."""

from __future__ import annotations

from dataclasses import dataclass

from utf8fpga.model.ranges import TableError
from utf8fpga.model.table import EncodingTable


@dataclass(frozen=True)
class Composition:
    """An encoding form in which each code unit of one form is encoded as a sequence of another table.

    CESU-8 is UTF-16 with each code unit encoded in one to three bytes. A single table of it would
    not be self-synchronising (ED starts the three bytes of a surrogate and continues the six bytes
    of a pair), so it is a composition of two tables that are.

    Attributes:
        name: its name in the document that defines it.
        source: the document.
        form: maps code points to code units; for CESU-8 UTF-16.
        unit_table: maps each code unit of `form`, taken as a code point, to the units of the result.

    Raises:
        TableError: a code unit of `form` has no sequence in `unit_table`, or a code point of
            `unit_table` exceeds the width of a code unit of `form`.
    """

    name: str
    source: str
    form: EncodingTable
    unit_table: EncodingTable

    def __post_init__(self) -> None:
        top = (1 << self.form.unit_width) - 1
        if (last := self.unit_table.last_code_point) > top:
            limit = f"a code unit of {self.form.name} ends at {top:X}"
            raise TableError(f"{self.name}: {self.unit_table.name} reaches {last:X}, but {limit}")
        for allowed in (allowed for row in self.form.rows for allowed in row.units):
            covered = (points.last for points in self.unit_table.code_points if allowed.first in points)
            if (unit := next(covered, allowed.first - 1) + 1) <= allowed.last:
                raise TableError(
                    f"{self.name}: code unit {unit:02X} of {self.form.name} has no sequence in {self.unit_table.name}"
                )

    @property
    def unit_width(self) -> int:
        """Bits in a code unit of `unit_table`."""
        return self.unit_table.unit_width

    def encode(self, code_point: int) -> tuple[int, ...]:
        """The code units of `unit_table` for one code point.

        Raises:
            ValueError: no row of `form` contains the code point.
        """
        if not any(code_point in row.code_points for row in self.form.rows):
            raise self.form.no_sequence(code_point, self.name)
        return tuple(unit for written in self.form.encode(code_point) for unit in self.unit_table.encode(written))
