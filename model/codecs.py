# SPDX-License-Identifier: BSD-2-Clause
"""The replacement practices and encodings of the model as codecs of Python, for `open` and `bytes.decode`.

- ``utf-8-`` and a practice, such as ``utf-8-each-unit``: UTF-8, where an ill-formed item of that practice is an error
- ``generalised-utf-8``, ``cesu-8``, ``modified-utf-8``: these encodings, where a maximal subpart is an error

With ``errors="replace"`` each error is one U+FFFD, so ``utf-8-maximal-subparts`` gives the same text as Python's
``utf-8``. It is the model in Python, slower by orders of magnitude; the reason in its `UnicodeDecodeError` is the
cause, an `ErrorKind` in words. The practice ``first-error`` has no codec: it is what ``errors="strict"`` does. Nor has
the UTF-8 of RFC 2279, most of whose code points are no characters of Python. ``generalized-utf-8`` is another spelling.

The error handler ``utf8fpga.each-unit`` gives Python's ``utf-8`` the practice ``each-unit`` at its own speed. The other
practices are no error handlers, since a handler cannot know the bytes after the chunk that it is called for.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from utf8fpga.model.decoder import REPLACEMENT_CHARACTER, ComposedDecoder, Decoder, Item, encode
from utf8fpga.model.encodings import ENCODINGS
from utf8fpga.model.exceptions import InvalidArgumentError
from utf8fpga.model.forms import RFC_2279, TABLE_3_7
from utf8fpga.model.practices import IncrementalDecoder, Practice
from utf8fpga.model.table import Composition, EncodingTable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_CHUNK = 1 << 16
"""The number of bytes whose items are in memory at the same time."""

_Decoders = Callable[[], Decoder | IncrementalDecoder | ComposedDecoder]


class _Coding:
    """The functions of a codec: `decode` and `encode` have the interface of `codecs.Codec`."""

    def __init__(self, name: str, decoders: _Decoders, form: EncodingTable | Composition) -> None:
        self.name, self._decoders, self._form = name, decoders, form

    def _items(self, data: bytes, final: bool) -> Iterator[Item]:
        decoder = self._decoders()
        for at in range(0, len(data), _CHUNK):
            yield from decoder.decode(data[at : at + _CHUNK])
        yield from decoder.decode(b"", final)

    def decode(self, data: ReadableBuffer, errors: str = "strict", final: bool = True) -> tuple[str, int]:
        """The text, and the number of bytes that determine it; where `final` is false, others may follow."""
        content, parts, start = bytes(data), list[str](), 0
        while True:
            end = start
            for item in self._items(content[start:], final):
                first, end = start + item.offset, start + item.offset + item.length
                if item.error is None:
                    parts.append(chr(item.code_point))
                    continue
                reason = item.error.name.lower().replace("_", " ")
                found = UnicodeDecodeError(self.name, content, first, end, reason)
                replacement, after = codecs.lookup_error(errors)(found)
                parts.append(str(replacement))
                if after != end:
                    break  # The error handler continues elsewhere.
            else:
                return "".join(parts), end
            start = _position(after, len(content))

    def encode(self, text: str, errors: str = "strict") -> tuple[bytes, int]:
        """The bytes of a text, and the number of its characters."""
        parts, at = list[bytes](), 0
        while at < len(text):
            try:
                parts.append(encode(text[at], self._form))
                at += 1
            except InvalidArgumentError:
                found = UnicodeEncodeError(self.name, text, at, at + 1, "character has no sequence")
                replacement, after = codecs.lookup_error(errors)(found)
                at = _position(after, len(text))
                parts.append(self.encode(replacement)[0] if isinstance(replacement, str) else replacement)
        return b"".join(parts), len(text)

    def info(self) -> codecs.CodecInfo:
        """The codec, with its incremental and its stream forms."""
        coding = self

        class Encoder(codecs.IncrementalEncoder):
            def encode(self, input: str, final: bool = False) -> bytes:  # noqa: A002 - as in the base class
                return coding.encode(input, self.errors)[0]

        class BufferedDecoder(codecs.BufferedIncrementalDecoder):
            def _buffer_decode(self, input: ReadableBuffer, errors: str, final: bool) -> tuple[str, int]:  # noqa: A002 - as in the base class
                return coding.decode(input, errors, final)

        class Reader(codecs.StreamReader):
            def decode(self, input: ReadableBuffer, errors: str = "strict") -> tuple[str, int]:  # noqa: A002 - as in the base class
                return coding.decode(input, errors, final=False)

        class Writer(codecs.StreamWriter):
            def encode(self, input: str, errors: str = "strict") -> tuple[bytes, int]:  # noqa: A002 - as in the base class
                return coding.encode(input, errors)

        return codecs.CodecInfo(self.encode, self.decode, Reader, Writer, Encoder, BufferedDecoder, self.name)


def _position(given: int, length: int) -> int:
    """The position at which an error handler continues; negative ones are from the end."""
    position = given + length * (given < 0)
    if not 0 <= position <= length:
        raise IndexError(f"position {given} from error handler out of bounds")
    return position


@cache
def python_codecs() -> Mapping[str, codecs.CodecInfo]:
    """Every codec by its name."""
    practices = (practice for practice in Practice if practice is not Practice.FIRST_ERROR)
    found = [_Coding(f"utf-8-{each}", partial(IncrementalDecoder, each), TABLE_3_7) for each in practices]
    for name, encoding in ENCODINGS.items():
        form = encoding.form
        if encoding.unit_bytes == 1 and form not in (TABLE_3_7, RFC_2279):
            decoders = partial(ComposedDecoder, form) if isinstance(form, Composition) else partial(Decoder, form)
            found.append(_Coding(name, decoders, form))
    return {coding.name: coding.info() for coding in found}


def _search(name: str) -> codecs.CodecInfo | None:
    # The specification of WTF-8 spells it with a z.
    return python_codecs().get(name.replace("_", "-").replace("generalized", "generalised"))


def _each_unit(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return chr(REPLACEMENT_CHARACTER) * (error.end - error.start), error.end


def register_codecs() -> None:
    """Add the codecs and the error handler of `utf8fpga.model.codecs` to those of Python.

    A second call has no effect.

    >>> register_codecs()
    >>> [len(b"\\xf0\\x9f\\x98A".decode(f"utf-8-{name}", "replace")) for name in ("maximal-subparts", "each-unit")]
    [2, 4]
    """
    codecs.unregister(_search)
    codecs.register(_search)
    codecs.register_error("utf8fpga.each-unit", _each_unit)
