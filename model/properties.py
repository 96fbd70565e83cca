# SPDX-License-Identifier: BSD-2-Clause
"""Properties of items: flags that follow from the code point, or from the cause of the error.

The sets of code points are those of the Unicode data in CPython: `unicodedata.category`, `str.isspace` and
`str.splitlines`. They are the same in each version of Unicode from 6.3 on, and so in each CPython that this package
supports: the general categories Cc, Co and Cs are immutable by Unicode's stability policies, as are the noncharacters;
white space last changed in 6.3 (U+180E). So what is generated from them does not depend on the version of CPython.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from sys import maxunicode
from typing import NamedTuple

from utf8fpga.model.decoder import Item
from utf8fpga.model.errors import ErrorKind
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.golden import GoldenDecoder
from utf8fpga.model.table import LAST_CODE_POINT, Range, joined, runs


class CharacterProperty(StrEnum):
    """A property of an item. The value is the name on the command line.

    An ill-formed item has none of them but, possibly, `SURROGATE`.
    """

    CONTROL = "control"
    """A control code: general category Cc."""
    PRIVATE_USE = "private-use"
    """A private-use character: general category Co."""
    NONCHARACTER = "noncharacter"
    """A noncharacter: U+FDD0..U+FDEF, and the last two code points of each plane (definition D14 of the standard)."""
    SURROGATE = "surrogate"
    """A surrogate code point (general category Cs), of a table that has them; and an ill-formed item that is the start
    of an encoded surrogate, whose cause is `ErrorKind.SURROGATE`."""
    BEYOND_BMP = "beyond-bmp"
    """A code point above U+FFFF, which is two code units in UTF-16."""
    WHITESPACE = "whitespace"
    """White space by `str.isspace`: the property White_Space, and U+001C..U+001F."""
    LINE_BREAK = "line-break"
    """A character at which `str.splitlines` splits. Of CR LF both have the flag."""

    @property
    def field(self) -> str:
        """The name of the field of an item: with underscores, such as ``line_break``."""
        return self.value.replace("-", "_")


_PLANE = 1 << 16
_CATEGORIES = {CharacterProperty.CONTROL: "Cc", CharacterProperty.PRIVATE_USE: "Co", CharacterProperty.SURROGATE: "Cs"}


def unicode_version() -> str:
    """The version of the Unicode data in this CPython, such as ``14.0.0``."""
    return unicodedata.unidata_version


@lru_cache(maxsize=len(CharacterProperty))
def code_points_of(flag: CharacterProperty) -> tuple[Range, ...]:
    """The code points with a property, ascending.

    >>> [str(each) for each in code_points_of(CharacterProperty.CONTROL)]
    ['00..1F', '7F..9F']
    """
    points = range(maxunicode + 1)
    if flag is CharacterProperty.BEYOND_BMP:
        return (Range(_PLANE, LAST_CODE_POINT),)
    if flag is CharacterProperty.NONCHARACTER:
        ends = [Range(plane + _PLANE - 2, plane + _PLANE - 1) for plane in range(0, len(points), _PLANE)]
        return tuple(joined([Range(0xFDD0, 0xFDEF), *ends]))
    if category := _CATEGORIES.get(flag):
        return tuple(runs(point for point in points if unicodedata.category(chr(point)) == category))
    text = "".join(map(chr, points))
    if flag is CharacterProperty.WHITESPACE:
        return tuple(runs(ord(each) for each in text if each.isspace()))
    # The last character of a line is the one at which the text was split, but for the last line.
    return tuple(runs(ord(line[-1]) for line in text.splitlines(keepends=True)[:-1]))


def has_property(flag: CharacterProperty, code_point: int, error: ErrorKind | None = None) -> bool:
    """Whether an item has a property.

    Args:
        code_point: the code point of the item.
        error: the cause where it is ill-formed.

    >>> has_property(CharacterProperty.LINE_BREAK, 0x2028)
    True
    >>> has_property(CharacterProperty.SURROGATE, 0xFFFD, ErrorKind.SURROGATE)
    True
    """
    if error is not None:
        return flag is CharacterProperty.SURROGATE and error is ErrorKind.SURROGATE
    return any(code_point in each for each in code_points_of(flag))


def chosen_properties(given: str | Iterable[str]) -> tuple[CharacterProperty, ...]:
    """The properties of some names, each once and in the order of `CharacterProperty`.

    Args:
        given: the names, as an iterable or separated by commas; ``all`` is every one.

    Raises:
        InvalidArgumentError: a name is unknown, or there are no names.

    >>> chosen_properties("line-break,control") == (CharacterProperty.CONTROL, CharacterProperty.LINE_BREAK)
    True
    """
    try:
        names = given.split(",") if isinstance(given, str) and given else list(given)
    except TypeError:
        raise InvalidArgumentError(f"properties {given!r} is not several names: give a tuple of them") from None
    if names == ["all"]:
        return tuple(CharacterProperty)
    for name in names:
        if name not in list(CharacterProperty):
            raise InvalidArgumentError(f"property {name!r} is not one of {', '.join(CharacterProperty)}, all")
    return tuple(each for each in CharacterProperty if each in names)


class FlaggedItem(NamedTuple):
    """An `Item` with properties.

    Attributes:
        offset, length, code_point, error: see `Item`.
        properties: those that it has, of the ones that were chosen.
    """

    offset: int
    length: int
    code_point: int
    error: ErrorKind | None
    properties: tuple[CharacterProperty, ...]

    def __str__(self) -> str:
        return " ".join([str(Item(*self[:4])), *self.properties])


class GoldenFlags:
    """The golden function of a decoder with properties: code units in, items with their properties out.

    Args:
        decoder: the golden decoder, at the beginning of a text.

    >>> from utf8fpga.model import IncrementalDecoder
    >>> flags = GoldenFlags(IncrementalDecoder(), [CharacterProperty.CONTROL])
    >>> [str(item) for item in flags.process(b"A\\n", final=True)]
    ['0+1 U+0041', '1+1 U+000A control']
    """

    def __init__(self, decoder: GoldenDecoder, properties: Iterable[CharacterProperty]) -> None:
        self._decoder, self._properties = decoder, tuple(properties)

    def process(self, symbols: Iterable[int], final: bool = False) -> list[FlaggedItem]:
        """See `Golden.process`."""
        return [
            FlaggedItem(*item, tuple(each for each in self._properties if has_property(each, *item[2:])))
            for item in self._decoder.process(symbols, final)
        ]
