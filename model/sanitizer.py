# SPDX-License-Identifier: BSD-2-Clause
"""The golden function of the sanitizer: text of the same length, with `?` for each unit that is ill-formed."""

from __future__ import annotations

from collections.abc import Iterable

from utf8fpga.model.decoder import code_units
from utf8fpga.model.encoder import CodeUnit
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.named import AnyTable, checked_table
from utf8fpga.model.practices import Decoder
from utf8fpga.model.text import errors

QUESTION_MARK = 0x3F
"""What each unit of an ill-formed subsequence becomes: a character of one unit in every table."""


class GoldenSanitizer:
    """The golden function of a sanitizer: code units in, as many code units out.

    Args:
        table: the encoding form; default: UTF-8.
        replacement: the unit in place of each ill-formed one; None: it remains as it is.

    Raises:
        TypeError: `table` is not an `EncodingTable`.

    >>> GoldenSanitizer().process(b"A\\xff", final=True)
    [CodeUnit(length=1, value=65, error=False), CodeUnit(length=1, value=63, error=True)]
    """

    def __init__(self, table: AnyTable = TABLE_3_7, replacement: int | None = QUESTION_MARK) -> None:
        self._decoder, self._replacement = Decoder(table), replacement

    def process(self, symbols: Iterable[int], final: bool = False) -> list[CodeUnit]:
        """See `Golden.process`."""
        opened, symbols = self._decoder.getstate()[0], tuple(symbols)
        items = self._decoder.decode(symbols, final)
        units = [*opened, *symbols]
        made: list[CodeUnit] = []
        for item in items:
            is_error = item.error is not None
            for unit in units[len(made) : len(made) + item.length]:
                value = self._replacement if is_error and self._replacement is not None else unit
                made.append(CodeUnit(1, value, is_error))
        return made


def sanitize(data: Iterable[int], table: AnyTable = TABLE_3_7) -> bytes:
    """Text of the same length, with `?` in place of each byte of an ill-formed subsequence.

    Args:
        data: the bytes of one text, any bytes-like object.
        table: an encoding form of bytes, or its name; default: UTF-8.

    Raises:
        TypeError: `data` is a string or not iterable, or `table` is not an `EncodingTable`.
        ValueError: the code units of the table are not bytes, or a unit is not a byte.

    >>> sanitize(b"caf\\xc3\\xa9 \\xe2\\x82 \\xff")
    b'caf\\xc3\\xa9 ?? ?'
    """
    form = checked_table(table)
    if form.unit_width != 8:
        raise InvalidArgumentError(
            f"{form.name} has code units of {form.unit_width} bits; sanitize takes tables of bytes, such as utf-8"
        )
    text = bytes(code_units(data, form, 0))
    made = bytearray(text)
    for item in errors(text, form):
        made[item.offset : item.end] = bytes([QUESTION_MARK]) * item.length
    return bytes(made)
