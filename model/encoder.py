# SPDX-License-Identifier: BSD-2-Clause
"""The golden functions of encoder and transcoder: code units of any encoding form, with U+FFFD for what has none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER
from utf8fpga.model.encodings import Encoding
from utf8fpga.model.practices import IncrementalDecoder


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

    def getstate(self) -> None:
        """There is one state."""

    def setstate(self, state: None) -> None:
        """See `getstate`."""


class GoldenTranscoder:
    """The golden function of a transcoder: code units of one encoding in, code units of another one out.

    >>> from utf8fpga.model.encodings import ENCODINGS
    >>> transcoder = GoldenTranscoder(ENCODINGS["utf-8"], ENCODINGS["utf-16-le"])
    >>> [hex(unit.value) for unit in transcoder.process("\\U0001F600".encode(), final=True)]
    ['0xd83d', '0xde00']
    """

    def __init__(self, source: Encoding, target: Encoding) -> None:
        self._decoder, self._source, self._target = IncrementalDecoder(table=source.table), source, target

    def process(self, symbols: Iterable[int], final: bool = False) -> list[CodeUnit]:
        """See `Golden.process`."""
        items = self._decoder.process(map(self._source.swapped, symbols), final)
        return [
            unit
            for item in items
            for unit in _encoded(self._target, item.code_point, item.length, item.error is not None)
        ]
