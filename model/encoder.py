# SPDX-License-Identifier: BSD-2-Clause
"""The golden functions of encoder and transcoder: code units of any encoding form, with U+FFFD for what has none."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, NamedTuple

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, Item
from utf8fpga.model.encodings import Encoding
from utf8fpga.model.golden import GoldenDecoder

BYTE_ORDER_MARK = 0xFEFF
"""The code point of a byte order mark at the beginning of a text; elsewhere it is a zero width no-break space."""


class ByteOrderMark(StrEnum):
    """What a transcoder does with a byte order mark at the beginning of a text. The value is the name of the option."""

    KEEP = "keep"
    """It is a character as any other, as in the encodings with a byte order in their name (D96, D97)."""
    REMOVE = "remove"
    """It is removed."""
    DETECT = "detect"
    """It selects the byte order of the text, and is removed; without one the byte order is that of the encoding. So
    ``utf-16-be`` is the encoding scheme UTF-16 (D98), and ``utf-32-be`` the encoding scheme UTF-32 (D101)."""


class CodeUnit(NamedTuple):
    """A code unit in the output of an encoder.

    Attributes:
        length: the number of input symbols that it and those since the last one with a length stand for: of the units
            of a code point the last one has it, and the others have 0.
        value: the code unit.
        error: it belongs to a U+FFFD that stands for something ill-formed, or for a code point without a sequence.
    """

    length: int
    value: int
    error: bool


def _encoded(encoding: Encoding, code_point: int, length: int, error: bool) -> list[CodeUnit]:
    try:
        units = encoding.form.encode(code_point)
    except ValueError:
        units, error = encoding.form.encode(REPLACEMENT_CHARACTER), True
    lengths = [*[0] * (len(units) - 1), length]
    return [CodeUnit(each, unit, error) for each, unit in zip(lengths, units, strict=True)]


class GoldenEncoder:
    """The golden function of an encoder: words of 32 bits in, code units out.

    A word that is no code point of the form is encoded as U+FFFD.

    Args:
        source: that of the words; default: a word is a code point.
        flag: the number of the bit of a symbol above the word that is set for a mark, whose units have the flag
            `error`; default: none.

    >>> from utf8fpga.model.encodings import ENCODINGS
    >>> GoldenEncoder(ENCODINGS["utf-8"]).process([0xE9])
    [CodeUnit(length=0, value=195, error=False), CodeUnit(length=1, value=169, error=False)]
    >>> bytes(unit.value for unit in GoldenEncoder(ENCODINGS["utf-8"]).process([0xD800])).hex()
    'efbfbd'
    """

    def __init__(self, encoding: Encoding, source: Encoding | None = None, flag: int | None = None) -> None:
        self._encoding, self._source = encoding, source
        self._flag = 0 if flag is None else 1 << flag

    def process(self, symbols: Iterable[int], final: bool = False) -> list[CodeUnit]:
        """See `Golden.process`."""
        source = self._source
        words = symbols if source is None else map(source.swapped, symbols)
        flag = self._flag
        return [unit for word in words for unit in _encoded(self._encoding, word & ~flag, 1, bool(word & flag))]

    def getstate(self) -> None:
        """There is one state."""

    def setstate(self, state: None) -> None:
        """See `getstate`."""


class GoldenTranscoder:
    """The golden function of a transcoder: code units of one encoding in, code units of another one out.

    Args:
        decoder: the golden decoder of the input, at the beginning of a text.
        mark: what becomes of a byte order mark. The first code unit with a length also stands for a removed mark.

    >>> from utf8fpga.model import IncrementalDecoder
    >>> from utf8fpga.model.encodings import ENCODINGS
    >>> source, target = ENCODINGS["utf-8"], ENCODINGS["utf-16-le"]
    >>> transcoder = GoldenTranscoder(IncrementalDecoder(), source, target)
    >>> [hex(unit.value) for unit in transcoder.process("\\U0001F600".encode(), final=True)]
    ['0xd83d', '0xde00']
    """

    def __init__(
        self,
        decoder: GoldenDecoder,
        source: Encoding,
        target: Encoding,
        mark: ByteOrderMark = ByteOrderMark.KEEP,
    ) -> None:
        self._decoder, self._source, self._target, self._mark = decoder, source, target, mark
        self._begin()

    def _begin(self) -> None:
        """A new packet begins."""
        self._order: Literal["little", "big"] | None = None
        self._is_first = True
        self._removed = 0

    def process(self, symbols: Iterable[int], final: bool = False) -> list[CodeUnit]:
        """See `Golden.process`."""
        items: list[Item] = self._decoder.process(map(self._unit, symbols), final)
        found: list[CodeUnit] = []
        for item in items:
            if self._is_first and self._mark is not ByteOrderMark.KEEP and item[2:] == (BYTE_ORDER_MARK, None):
                self._removed = item.length
            else:
                length = item.length + self._removed
                found += _encoded(self._target, item.code_point, length, item.error is not None)
                self._removed = 0
            self._is_first = False
        if final:
            self._begin()
        return found

    def _unit(self, symbol: int) -> int:
        """The code unit of a symbol, whose first byte is in the low bits."""
        data = symbol.to_bytes(self._source.unit_bytes, "little")
        if self._order is None:
            self._order = self._source.byte_order
            if self._mark is ByteOrderMark.DETECT:
                for order in ("little", "big"):
                    if int.from_bytes(data, order) == BYTE_ORDER_MARK:
                        self._order = order
        return int.from_bytes(data, self._order)
