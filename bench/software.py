# SPDX-License-Identifier: BSD-2-Clause
"""The speed of the software decoders beside that of CPython's codec. Requires the extra ``fast``."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable, Mapping
from time import process_time
from typing import NamedTuple

from utf8fpga.model import REPLACEMENT_CHARACTER, decode
from utf8fpga.model.arrays import decode_array


class Speed(NamedTuple):
    """The decoding speed for one text, in bytes per second of processor time.

    Attributes:
        text: the name of the text.
        bytes: its length.
        plain: the speed of `decode`.
        arrays: the speed of `decode_array`.
        codec: the speed of CPython's ``bytes.decode`` with ``errors="replace"``, which gives characters only.
        handler: its speed with an error handler that notes where the errors are.
    """

    text: str
    bytes: int
    plain: float
    arrays: float
    codec: float
    handler: float


def measure_speed(texts: Mapping[str, bytes]) -> list[Speed]:
    """Measure the speed for each of the texts, by name: the best of several runs, but of `decode` one run."""
    found = []
    for name, text in texts.items():
        plain = _seconds(lambda text: deque(decode(text), maxlen=0), text)
        arrays = min(_seconds(decode_array, text) for _ in range(5))
        codec = min(_seconds(lambda text: text.decode(errors="replace"), text) for _ in range(5))
        handler = min(_seconds(_decode_with_handler, text) for _ in range(5))
        found.append(Speed(name, len(text), *(len(text) / seconds for seconds in (plain, arrays, codec, handler))))
    return found


def _decode_with_handler(text: bytes) -> str:
    """The text as CPython decodes it with an error handler that notes the place of each error."""
    places = []

    def handler(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        places.append((error.start, error.end))
        return chr(REPLACEMENT_CHARACTER), error.end

    codecs.register_error("utf8fpga-places", handler)
    return text.decode(errors="utf8fpga-places")


def _seconds(work: Callable[[bytes], object], text: bytes) -> float:
    start = process_time()
    work(text)
    return process_time() - start
