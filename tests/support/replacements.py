# SPDX-License-Identifier: BSD-2-Clause
"""CPython's error handlers as the oracle of what each ill-formed byte is replaced with."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator

from utf8fpga.model import Replacement


def _each_byte(character: str) -> str:
    """The name of an error handler with one character for each ill-formed byte."""

    def handler(error: UnicodeError) -> tuple[str, int]:
        return character * (error.end - error.start), error.end

    codecs.register_error(name := f"each-{ord(character):04X}", handler)
    return name


def escaped_privately(text: bytes) -> str:
    """The definition: sequences of U+EF80..U+EFFF are ill-formed, and ill-formed bytes are these characters."""
    points = map(ord, text.decode("utf-8", "surrogateescape"))
    return "".join(_characters_of(points))


def _characters_of(points: Iterable[int]) -> Iterator[str]:
    for point in points:
        if 0xDC80 <= point <= 0xDCFF:
            yield chr(point - 0xDC00 + 0xEF00)
        elif 0xEF80 <= point <= 0xEFFF:
            yield from (chr(0xEF00 + byte) for byte in chr(point).encode())
        else:
            yield chr(point)


REPLACED: dict[Replacement, Callable[[bytes], str]] = {
    Replacement.REPLACEMENT_CHARACTER: lambda text: text.decode("utf-8", _each_byte("\ufffd")),
    Replacement.QUESTION_MARK: lambda text: text.decode("utf-8", _each_byte("?")),
    Replacement.SUBSTITUTE: lambda text: text.decode("utf-8", _each_byte("\x1a")),
    Replacement.SURROGATE_ESCAPE: lambda text: text.decode("utf-8", "surrogateescape"),
    Replacement.PRIVATE_USE_ESCAPE: escaped_privately,
}
"""The text that bytes are decoded to, with one mark for each ill-formed byte, by what it is replaced with."""
