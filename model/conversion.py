# SPDX-License-Identifier: BSD-2-Clause
"""Encoding form conversion (D93) and the encoding schemes (D94), which serialise code units to bytes.

>>> from utf8fpga.model.forms import TABLE_3_7
>>> convert(b"\\xf0\\x90\\x8c\\x82", TABLE_3_7, UTF_16)
(55296, 57090)
>>> UTF_16BE.to_bytes(_).hex(" ", 2)
'd800 df02'
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, decode, kept
from utf8fpga.model.dfa import checked_unit
from utf8fpga.model.errors import ErrorKind
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import UTF_16, UTF_32
from utf8fpga.model.table import Composition, EncodingTable, checked_form, spell


class ConversionError(InvalidArgumentError):
    """A subsequence of the source that cannot be converted.

    Attributes:
        offset: the start of the subsequence, in code units; for an encoding scheme in bytes.
        length: its length, in the same unit.
        kind: the cause.
    """

    def __init__(self, message: str, offset: int, length: int, kind: ErrorKind) -> None:
        super().__init__(message, offset, length, kind)  # All arguments, so that the exception can be pickled.
        self.offset = offset
        self.length = length
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[0])


def convert(
    units: Iterable[int],
    source: EncodingTable | Composition,
    target: EncodingTable | Composition,
    *,
    errors: Literal["strict", "replace"] = "strict",
) -> tuple[int, ...]:
    """Convert code units of one encoding form to another (D93).

    An ill-formed subsequence is an error condition, and so is a code point without a sequence in
    `target`, such as U+D800 from generalised UTF-8 to UTF-8. The result is well-formed in `target`
    for any input.

    Args:
        units: the code units of `source`, one whole text.
        source: the encoding form or composition of `units`.
        target: the encoding form or composition of the result.
        errors: ``"strict"`` raises at the first error; ``"replace"`` puts one U+FFFD for each
            maximal subpart (D93b) and for each code point that `target` lacks.

    Raises:
        ConversionError: there is an error, and `errors` is ``"strict"``. The kind of a code point
            that `target` lacks is OUT_OF_RANGE above the last one of `target`, else SURROGATE.
        TypeError: `units` is a string or not iterable, or `source` or `target` is no encoding form.
        ValueError: a code unit is outside the width of `source`; `errors` is neither of the two
            values; or it is ``"replace"`` and `target` has no U+FFFD.

    >>> from utf8fpga.model.forms import TABLE_3_7
    >>> convert([0x41, 0xD800], UTF_16, TABLE_3_7)
    Traceback (most recent call last):
    utf8fpga.model.conversion.ConversionError: <D800> at offset 1 is ill-formed in UTF-16: INCOMPLETE
    >>> bytes(convert([0x41, 0xD800], UTF_16, TABLE_3_7, errors="replace")).hex(" ")
    '41 ef bf bd'
    """
    if errors not in ("strict", "replace"):
        raise InvalidArgumentError(f"errors is {errors!r}: it must be 'strict' or 'replace'")
    checked_form(target)
    replacement = target.encode(REPLACEMENT_CHARACTER) if errors == "replace" else None
    text = kept(units)
    converted: list[int] = []
    for offset, length, point, kind in decode(text, source):
        if kind is None:
            try:
                converted += target.encode(point)
                continue
            except ValueError:
                kind = ErrorKind.OUT_OF_RANGE if point > target.last_code_point else ErrorKind.SURROGATE
                reason = f"is U+{point:04X}, which has no sequence in {target.name}"
        else:
            reason = f"is ill-formed in {source.name}"
        if replacement is None:
            quoted = spell(text[offset : offset + length], source.unit_width)
            raise ConversionError(f"<{quoted}> at offset {offset} {reason}: {kind.name}", offset, length, kind)
        converted += replacement
    return tuple(converted)


@dataclass(frozen=True)
class EncodingScheme:
    """An encoding scheme (D94): an encoding form with a byte order.

    The byte order is fixed and a byte order mark is not interpreted: FE FF at the start of
    UTF-16BE is the character U+FEFF and is kept. A scheme does not check that the code units are
    well-formed.

    Attributes:
        name: the name of the scheme in the standard.
        source: the definition in the standard.
        form: the encoding form, of 16 or 32 bits.
        byte_order: ``"big"``, the most significant byte first, or ``"little"``.
    """

    name: str
    source: str
    form: EncodingTable
    byte_order: Literal["big", "little"]

    @property
    def unit_bytes(self) -> int:
        """The number of bytes in a code unit."""
        return self.form.unit_width // 8

    def _layout(self, units: int) -> str:
        return f"{'>' if self.byte_order == 'big' else '<'}{units}{ {2: 'H', 4: 'I'}[self.unit_bytes] }"

    def to_units(self, data: bytes | bytearray | memoryview) -> tuple[int, ...]:
        """The code units that bytes of this scheme represent.

        Args:
            data: any bytes-like object.

        Raises:
            ConversionError: the bytes at the end are too few for a code unit; the kind is
                INCOMPLETE, the offset and length are theirs. ``data[:error.offset]`` consists of
                whole code units.
            TypeError: `data` is not bytes-like.

        >>> [hex(unit) for unit in UTF_16LE.to_units(b"\\x4d\\x00\\x00\\xd8")]
        ['0x4d', '0xd800']
        """
        content = memoryview(data).tobytes()
        count, left = divmod(len(content), self.unit_bytes)
        if left:
            whole, kind = len(content) - left, ErrorKind.INCOMPLETE
            where = f"<{spell(content[whole:], 8)}> at byte offset {whole}"
            of = f"{left} of the {self.unit_bytes} bytes of a code unit of {self.name}"
            raise ConversionError(f"{where} is {of}: {kind.name}", whole, left, kind)
        return struct.unpack(self._layout(count), content)

    def to_bytes(self, units: Iterable[int]) -> bytes:
        """The bytes that represent code units in this scheme.

        Args:
            units: code units, each of the form's width.

        Raises:
            ValueError: a code unit is outside the form's width; the message names its offset.

        >>> UTF_32BE.to_bytes([0x10302]).hex(" ")
        '00 01 03 02'
        """
        checked = [checked_unit(self.form, unit, offset) for offset, unit in enumerate(units)]
        return struct.pack(self._layout(len(checked)), *checked)


UTF_16BE = EncodingScheme("UTF-16BE", "The Unicode Standard, section 3.10, D96", UTF_16, "big")
UTF_16LE = EncodingScheme("UTF-16LE", "The Unicode Standard, section 3.10, D97", UTF_16, "little")
UTF_32BE = EncodingScheme("UTF-32BE", "The Unicode Standard, section 3.10, D99", UTF_32, "big")
UTF_32LE = EncodingScheme("UTF-32LE", "The Unicode Standard, section 3.10, D100", UTF_32, "little")

SCHEMES: Mapping[str, EncodingScheme] = MappingProxyType(
    {scheme.name: scheme for scheme in (UTF_16BE, UTF_16LE, UTF_32BE, UTF_32LE)}
)
"""The encoding schemes with a byte order, by name."""
