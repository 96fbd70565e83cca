# SPDX-License-Identifier: BSD-2-Clause
"""The symbols of cores: items and code units."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.lib import data, enum

from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable, ErrorKind


class Kind(enum.Enum, shape=3):  # type: ignore[call-arg]  # amaranth's metaclass takes the shape
    """The model's `ErrorKind` as a three-bit shape, and NONE where the item is well-formed."""

    NONE = 0
    UNEXPECTED_CONTINUATION = ErrorKind.UNEXPECTED_CONTINUATION.value
    INVALID_BYTE = ErrorKind.INVALID_BYTE.value
    OVERLONG = ErrorKind.OVERLONG.value
    SURROGATE = ErrorKind.SURROGATE.value
    OUT_OF_RANGE = ErrorKind.OUT_OF_RANGE.value
    TRUNCATED = ErrorKind.TRUNCATED.value
    INCOMPLETE = ErrorKind.INCOMPLETE.value


def code_point_bits(table: EncodingTable) -> int:
    """The width of a code point: enough for the last one of a table, and for U+FFFD."""
    return max(table.last_code_point, REPLACEMENT_CHARACTER).bit_length()


def item_layout(table: EncodingTable, *, kind: bool = False) -> data.StructLayout:
    """One item: a symbol of a decoder's output.

    Fields:
        code_point: the scalar value, or U+FFFD where `error` is set.
        error: the item is ill-formed; 0 in a lane without an item.
        kind: the cause of the error, `Kind.NONE` without one (only with `kind`).
    """
    fields: dict[str, object] = {"code_point": code_point_bits(table), "error": 1}
    if kind:
        fields["kind"] = Kind
    return data.StructLayout(fields)


def unit_layout(width: int) -> data.StructLayout:
    """One code unit: a symbol of an encoder's output.

    Fields:
        unit: the code unit.
        error: it belongs to a U+FFFD that stands for something ill-formed; 0 in a lane without a unit.
    """
    return data.StructLayout({"unit": width, "error": 1})


class OutputUnit(NamedTuple):
    """A code unit at the output of a circuit.

    Attributes:
        value: the code unit.
    """

    value: int
    error: bool


class Word(NamedTuple):
    """An item at the output of a decoder.

    Attributes:
        code_point: the code point; U+FFFD where ill-formed.
        error: whether the item is ill-formed; of a decoder with `kind` the cause, or None.

    >>> print(Word(0xFFFD, ErrorKind.SURROGATE), Word(0xFFFD, True), Word(0x41, False))
    U+FFFD SURROGATE U+FFFD ERROR U+0041
    """

    code_point: int
    error: ErrorKind | bool | None

    def __str__(self) -> str:
        if not self.error:
            return f"U+{self.code_point:04X}"
        return f"U+{self.code_point:04X} {self.error.name if isinstance(self.error, ErrorKind) else 'ERROR'}"
