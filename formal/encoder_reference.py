# SPDX-License-Identifier: BSD-2-Clause
"""The reference of an encoder: the rows of its table, by arithmetic.

The circuit is made from the bit distribution; here each row is applied as it stands: the units of a code point are the
digits of its mixed-radix index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from utf8fpga.formal.reference import CoreReference, Event, Followed
from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable, Row
from utf8fpga.model.encodings import Encoding


class EncoderReference(CoreReference):
    """How an encoder is compared with the rows of a table.

    Args:
        table: the table; default: that of the encoding.
    """

    def __init__(self, encoding: Encoding, table: EncodingTable | None = None) -> None:
        self._encoding = encoding
        self._table = table or encoding.table
        self.events_per_symbol = self._table.longest
        self.word = data.StructLayout({"end": 1, "unit": self._table.unit_width, "error": 1})

    def follow(self, m: Module, symbols: Sequence[tuple[Value, Value]], last: Value, accepted: Value) -> Followed:
        events = []
        for symbol, keep in symbols:
            events += self.units(m, *self.given(symbol), keep)
        return Followed([*events, self.end(m, last)], Const(1, 1), {})

    def given(self, symbol: Any) -> tuple[Value, Value]:
        """The code point of a symbol, and whether it stands for something ill-formed."""
        if isinstance(symbol, data.View):
            return Value.cast(symbol.code_point), symbol.error
        return Value.cast(symbol), Const(0, 1)

    def units(self, m: Module, code_point: Value, error: Value, keep: Value) -> list[Event]:
        """The events of a code point, in the order of its units."""
        rows = self._table.rows
        matches = [(code_point >= row.code_points.first) & (code_point <= row.code_points.last) for row in rows]
        is_known, point = Signal(), Signal(len(code_point))
        m.d.comb += [is_known.eq(Cat(*matches).any()), point.eq(Mux(is_known, code_point, REPLACEMENT_CHARACTER))]
        events = [Event(self.word) for _ in range(self._table.longest)]
        for row in rows:
            with m.If((point >= row.code_points.first) & (point <= row.code_points.last)):
                for event, unit in zip(events, self._digits(row, point), strict=False):
                    m.d.comb += [
                        event.valid.eq(keep),
                        event.word.unit.eq(unit),
                        event.word.error.eq(error | ~is_known),
                    ]
        return events

    @staticmethod
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

    def observe(self, word: Any, symbol: Any) -> list[Any]:
        return [word.unit.eq(self.in_order(symbol.unit)), word.error.eq(symbol.error)]

    def in_order(self, unit: Value) -> Value:
        """A unit with its bytes in the order of the encoding, as a number."""
        if not self._encoding.is_swapped:
            return unit
        return Cat(unit.word_select(byte, 8) for byte in reversed(range(self._encoding.unit_bytes)))
