# SPDX-License-Identifier: BSD-2-Clause
"""The payloads of a decoder's two streams."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Value
from amaranth.lib import data, enum

from utf8fpga.model import REPLACEMENT_CHARACTER, EncodingTable, ErrorKind
from utf8fpga.model.forms import RFC_2279

__all__ = ["Kind", "beat_layout", "code_point_bits", "item_layout", "items_layout", "offers"]


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


LONGEST_ANNOUNCED = RFC_2279.longest
"""The most units that a first byte has ever announced."""


def code_point_bits(table: EncodingTable) -> int:
    """Bits of the last code point of a table, or of U+FFFD where that is above it."""
    return max(table.last_code_point, REPLACEMENT_CHARACTER).bit_length()


def item_layout(
    table: EncodingTable, *, kind: bool = False, length: bool = False, announced: bool = False
) -> data.StructLayout:
    """One item of a beat of `items_layout`.

    Fields:
        code_point: the scalar value, or U+FFFD where `error` is set.
        error: the item is ill-formed.
        keep: 1 where an item is present; without one, the other fields mean nothing.
        kind: the cause of the error, `Kind.NONE` without one (only with `kind`).
        length: the code units of the item (only with `length`).
        announced: how many units the first unit of the item announces (only with `announced`).
    """
    fields: dict[str, object] = {"code_point": code_point_bits(table), "error": 1, "keep": 1}
    if kind:
        fields["kind"] = Kind
    if length:
        fields["length"] = table.longest.bit_length()
    if announced:
        fields["announced"] = LONGEST_ANNOUNCED.bit_length()
    return data.StructLayout(fields)


def beat_layout(table: EncodingTable, lanes: int) -> data.StructLayout:
    """One beat of the input of a decoder.

    Fields:
        units: the code units, the first in lane 0; anything where `keep` is 0.
        keep: a bit per lane, 1 where a unit is present: lanes without one come last, and only in a
            beat with `last` set or in one without any unit.
        last: the text ends after this beat.

    A beat with neither a unit nor `last` is a null beat, which has no effect.
    """
    return data.StructLayout({"units": data.ArrayLayout(table.unit_width, lanes), "keep": lanes, "last": 1})


def items_layout(table: EncodingTable, lanes: int, **fields: bool) -> data.StructLayout:
    """One beat of the output of a decoder.

    Args:
        table: the encoding form.
        lanes: items per beat.
        fields: which of the optional fields of `item_layout` an item has.

    Fields:
        items: per lane an item of `item_layout`.
        last: no further item of this text follows; a beat without an item only carries this.
    """
    return data.StructLayout({"items": data.ArrayLayout(item_layout(table, **fields), lanes), "last": 1})


def offers(units: Any) -> Value:
    """A beat is offered that is no null beat.

    Args:
        units: a stream of `beat_layout`.
    """
    # So multiplied out, synthesis finds the smallest decoders.
    return (units.valid & units.payload.keep[0]) | (units.valid & units.payload.last)
