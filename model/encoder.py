# SPDX-License-Identifier: BSD-2-Clause
"""`encode`, and the golden functions of encoder and transcoder, which output U+FFFD for what has no sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from operator import index
from typing import NamedTuple

from utf8fpga.model.composition import Composition
from utf8fpga.model.decoder import REPLACEMENT_CHARACTER
from utf8fpga.model.encodings import Encoding
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import TABLE_3_7
from utf8fpga.model.named import AnyForm, checked_form
from utf8fpga.model.practices import Decoder
from utf8fpga.model.table import EncodingTable


def encode_units(code_points: str | Iterable[int], table: AnyForm = TABLE_3_7) -> tuple[int, ...]:
    """The code units of code points in any encoding form (D79).

    Args:
        code_points: integers, or a string.
        table: the encoding form or composition, or its name; default: UTF-8.

    Raises:
        TypeError: `code_points` is neither a string nor an iterable of integers, or `table` is no encoding form.
        ValueError: a code point has no sequence in the table, such as a surrogate in UTF-8.
    """
    form = checked_form(table)
    points = map(ord, code_points) if isinstance(code_points, str) else map(index, code_points)
    return tuple(chain.from_iterable(map(_encoder(form), points)))


@lru_cache(maxsize=32)
def _encoder(form: EncodingTable | Composition) -> Callable[[int], Sequence[int]]:
    """The function `encode` of a form with a cache, since a text has few different characters."""
    return lru_cache(maxsize=1 << 16)(form.encode)


def encode(code_points: str | Iterable[int], table: AnyForm = TABLE_3_7) -> bytes:
    """The bytes of code points in an encoding form of 8-bit code units.

    Args:
        code_points: integers, or a string.
        table: the encoding form or composition, or its name; default: UTF-8 (D92).

    Raises:
        TypeError: `code_points` is neither a string nor an iterable of integers, or `table` is no encoding form.
        ValueError: a code point has no sequence in the table, such as a surrogate in UTF-8; or
            the code units of the table are not bytes.

    >>> encode([0x4D, 0x430, 0x4E8C, 0x10302]).hex(" ")
    '4d d0 b0 e4 ba 8c f0 90 8c 82'
    """
    form = checked_form(table)
    if form.unit_width != 8:
        raise InvalidArgumentError(
            f"{form.name} has code units of {form.unit_width} bits, not bytes: encode_units returns them"
        )
    return bytes(encode_units(code_points, form))


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

    >>> from utf8fpga.model.encodings import ENCODINGS
    >>> GoldenEncoder(ENCODINGS["utf-8"]).process([0xE9])
    [CodeUnit(length=0, value=195, error=False), CodeUnit(length=1, value=169, error=False)]
    >>> bytes(unit.value for unit in GoldenEncoder(ENCODINGS["utf-8"]).process([0xD800])).hex()
    'efbfbd'
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def process(self, symbols: Iterable[int], final: bool = False) -> list[CodeUnit]:
        """See `Golden.process`."""
        return [unit for word in symbols for unit in _encoded(self._encoding, word, 1, False)]


class GoldenTranscoder:
    """The golden function of a transcoder: code units of one encoding in, code units of another one out.

    >>> from utf8fpga.model.encodings import ENCODINGS
    >>> transcoder = GoldenTranscoder(ENCODINGS["utf-8"], ENCODINGS["utf-16-le"])
    >>> [hex(unit.value) for unit in transcoder.process("\\U0001F600".encode(), final=True)]
    ['0xd83d', '0xde00']
    """

    def __init__(self, source: Encoding, target: Encoding) -> None:
        self._decoder, self._source, self._target = Decoder(source.table), source, target

    def process(self, symbols: Iterable[int], final: bool = False) -> list[CodeUnit]:
        """See `Golden.process`."""
        items = self._decoder.process(map(self._source.swapped, symbols), final)
        return [
            unit
            for item in items
            for unit in _encoded(self._target, item.code_point, item.length, item.error is not None)
        ]
