# SPDX-License-Identifier: BSD-2-Clause
"""The reference of an encoder: the rows of its table, by arithmetic.

The circuit is made from the bit distribution; here each row is applied as it stands: the units of a code point are the
digits of its mixed-radix index.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable, Row


class Encoded:
    """The units of a code point, by the rows of a table; those of U+FFFD if it is in no row.

    Attributes:
        units: in their order.
        number: how many of them there are.
        known: the code point is in a row.
    """

    def __init__(self, m: Module, table: EncodingTable, code_point: Value) -> None:
        rows = table.rows
        matches = [(code_point >= row.code_points.first) & (code_point <= row.code_points.last) for row in rows]
        self.known, point = Signal(), Signal(len(code_point))
        m.d.comb += [self.known.eq(Cat(*matches).any()), point.eq(Mux(self.known, code_point, REPLACEMENT_CHARACTER))]
        self.units = [Signal(table.unit_width) for _ in range(table.longest)]
        self.number = Signal(range(table.longest + 1))
        for row in rows:
            with m.If((point >= row.code_points.first) & (point <= row.code_points.last)):
                m.d.comb += self.number.eq(len(row.units))
                m.d.comb += [unit.eq(digit) for unit, digit in zip(self.units, _digits(row, point), strict=False)]


def _digits(row: Row, point: Value) -> list[Value]:
    """The units of a code point of a row."""
    index = (point - row.code_points.first)[: len(point)]
    sizes = [len(allowed) for allowed in row.units]
    units: list[Value] = []
    for place, allowed in reversed(list(enumerate(row.units))):
        size = len(allowed)
        if all(earlier == 1 for earlier in sizes[:place]):
            # There is no other choice, so the rest of the index is the digit.
            digit, index = (index if size > 1 else Const(0, 1)), index[:0] if size > 1 else index
        elif size & (size - 1):
            digit, index = index % size, index // size
        else:
            # Yosys does not simplify divisions.
            bits = size.bit_length() - 1
            digit, index = index[:bits], index[bits:]
        units.insert(0, allowed.first + digit)
    return units
