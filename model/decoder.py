# SPDX-License-Identifier: BSD-2-Clause
"""The golden decoder: what "right" means for everything else in the project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from utf8fpga.model.dfa import DFA, REJECT, START, unit_message
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.kinds import ErrorKind, cause
from utf8fpga.model.table import EncodingTable, Row

__all__ = ["REPLACEMENT_CHARACTER", "Decoder", "Item", "decode", "encode", "encode_units", "is_well_formed"]

REPLACEMENT_CHARACTER = 0xFFFD
"""The code point of an ill-formed item."""


class Item(NamedTuple):
    """One scalar value or one maximal subpart of an ill-formed subsequence.

    Attributes:
        offset: where it starts, in code units from the start of the text.
        length: its code units, 1 to the longest sequence of the table.
        code_point: the code point; U+FFFD where ill-formed.
        error: None, or the cause (the code point U+FFFD may also be well-formed).
    """

    offset: int
    length: int
    code_point: int
    error: ErrorKind | None

    def __str__(self) -> str:
        named = f" {self.error.name}" if self.error else ""
        return f"{self.offset}+{self.length} U+{self.code_point:04X}{named}"


class Decoder:
    """An incremental decoder, after the manner of `codecs.IncrementalDecoder`.

    Items come out as soon as the units received determine them. A unit that does not continue
    the open sequence ends it: the units consumed so far are one ill-formed item (the maximal
    subpart, D93b), and the unit is looked at again from the start state. At the end of the text
    an open sequence is one ill-formed item.

    Args:
        table: the encoding form, UTF-8 unless given.

    >>> decoder = Decoder()
    >>> decoder.decode(b"\\xe1\\x80")
    []
    >>> [str(item) for item in decoder.decode(b"A", final=True)]
    ['0+2 U+FFFD TRUNCATED', '2+1 U+0041']
    """

    def __init__(self, table: EncodingTable = TABLE_3_7) -> None:
        self.table = table
        self._dfa = DFA.of(table)
        self._rows = _rows_by_lead(self._dfa)
        self.reset()

    def reset(self) -> None:
        """Forget the open sequence and count offsets from 0 again."""
        self._open: list[int] = []
        self._state = START
        self._offset = 0

    def getstate(self) -> tuple[tuple[int, ...], int]:
        """The code units of the open sequence, and the offset of the first of them in the text."""
        return tuple(self._open), self._offset

    def setstate(self, state: tuple[Iterable[int], int]) -> None:
        """Go on from what `getstate` gave, here or in another process.

        Raises:
            ValueError: the units do not start a sequence of the table, or the offset is negative.
        """
        units, offset = list(state[0]), state[1]
        number = START
        for position, unit in enumerate(units):
            number = self._dfa.step(number, unit)
            if number in (REJECT, START):
                shown = " ".join(f"{u:02X}" for u in units[: position + 1])
                raise ValueError(f"state {shown} is not an open sequence of {self.table.name}")
        if offset < 0:
            raise ValueError(f"offset {offset} in the state is negative")
        self._open, self._state, self._offset = units, number, offset

    def decode(self, data: Iterable[int], final: bool = False) -> list[Item]:
        """The items that this chunk completes.

        Args:
            data: code units, each of the table's width; for UTF-8 any bytes-like object.
            final: the text ends after this chunk; the decoder then starts anew.

        Raises:
            TypeError: `data` is text, not code units.
            ValueError: a code unit is outside the table's width. The decoder is as it was before.
        """
        before = self.getstate()
        items: list[Item] = []
        try:
            self._run(_units(data), items)
        except (TypeError, ValueError):
            self.setstate(before)
            raise
        if final:
            if self._open:
                items.append(self._ill_formed(None))
            self.reset()
        return items

    def _run(self, data: Iterable[int], items: list[Item]) -> None:
        states, class_of = self._dfa.states, self._dfa.class_of
        for unit in data:
            try:
                unit_class = class_of(unit)
            except (TypeError, ValueError):
                where = f" at offset {self._offset + len(self._open)}"
                raise ValueError(unit_message(self.table, unit, where)) from None
            state = states[self._state].transitions[unit_class]
            if state == REJECT:
                if self._open:
                    items.append(self._ill_formed(unit))
                    state = states[START].transitions[unit_class]
                if state == REJECT:
                    self._open.append(unit)
                    items.append(self._ill_formed(None))
                    continue
            self._open.append(unit)
            self._state = state
            if state == START:
                items.append(self._item(self._code_point(), None))

    def _ill_formed(self, following: int | None) -> Item:
        return self._item(REPLACEMENT_CHARACTER, cause(self.table, self._open, following))

    def _item(self, code_point: int, error: ErrorKind | None) -> Item:
        item = Item(self._offset, len(self._open), code_point, error)
        self._offset += len(self._open)
        self._open.clear()
        self._state = START
        return item

    def _code_point(self) -> int:
        rows = self._rows[self._dfa.class_of(self._open[0])]
        row = rows[0] if len(rows) == 1 else next(row for row in rows if row.matches(self._open))
        return row.code_point(self._open)


def _rows_by_lead(dfa: DFA) -> tuple[tuple[Row, ...], ...]:
    return tuple(
        tuple(row for row in dfa.table.rows if unit_class.ranges[0].first in row.units[0])
        for unit_class in dfa.classes
    )


def _units(data: Iterable[int]) -> Iterable[int]:
    if isinstance(data, str):
        raise TypeError("decode takes code units such as bytes, not str; encode gives the code units of text")
    return data


def decode(data: Iterable[int], table: EncodingTable = TABLE_3_7) -> Iterator[Item]:
    """The items of a whole text, in order, as they are determined.

    Args:
        data: the code units of one text; for UTF-8 any bytes-like object.
        table: the encoding form.

    Raises:
        TypeError: `data` is text, not code units.
        ValueError: a code unit is outside the table's width.

    >>> for item in decode(b"\\xe1\\x80A"):
    ...     print(item)
    0+2 U+FFFD TRUNCATED
    2+1 U+0041
    """
    units = _units(data)

    def items() -> Iterator[Item]:
        decoder = Decoder(table)
        for unit in units:
            yield from decoder.decode((unit,))
        yield from decoder.decode((), final=True)

    return items()


def is_well_formed(data: Iterable[int], table: EncodingTable = TABLE_3_7) -> bool:
    """Whether the code units are well-formed (D85): only minimal well-formed subsequences (D85a).

    Raises:
        TypeError: `data` is text, not code units.
        ValueError: a code unit is outside the table's width.

    >>> is_well_formed(b"\\x41\\xc3\\xb1\\x42"), is_well_formed(b"\\x41\\xc2\\xc3\\xb1\\x42")
    (True, False)
    """
    dfa = DFA.of(table)
    state = START
    for unit in _units(data):
        state = dfa.step(state, unit)
        if state == REJECT:
            return False
    return state == START


def encode_units(code_points: str | Iterable[int], table: EncodingTable = TABLE_3_7) -> tuple[int, ...]:
    """The code units of code points in any encoding form (D79).

    Args:
        code_points: integers, or a string.
        table: the encoding form.

    Raises:
        ValueError: a code point has no sequence in the table, such as a surrogate in UTF-8.
    """
    points = map(ord, code_points) if isinstance(code_points, str) else code_points
    return tuple(unit for point in points for unit in table.encode(point))


def encode(code_points: str | Iterable[int], table: EncodingTable = TABLE_3_7) -> bytes:
    """The bytes of code points in an encoding form of 8-bit code units (D92 unless another is given).

    Args:
        code_points: integers, or a string.
        table: the encoding form.

    Raises:
        ValueError: a code point has no sequence in the table, such as a surrogate in UTF-8; or
            the code units of the table are not bytes.

    >>> encode([0x4D, 0x430, 0x4E8C, 0x10302]).hex(" ")
    '4d d0 b0 e4 ba 8c f0 90 8c 82'
    """
    if table.unit_width != 8:
        raise ValueError(
            f"{table.name} has code units of {table.unit_width} bits, not bytes: encode_units gives them"
        )
    return bytes(encode_units(code_points, table))
