# SPDX-License-Identifier: BSD-2-Clause
"""CPython's codecs as the oracle of encoders and transcoders."""

from __future__ import annotations

from typing import Literal

PYTHON_CODECS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
"""The encodings that CPython has by the same names."""

UNIT_BYTES = {name: int(name.split("-")[1]) // 8 for name in PYTHON_CODECS} | {"cesu-8": 1, "modified-utf-8": 1}


def units_of_bytes(data: bytes, name: str) -> list[int]:
    """The code units in bytes of an encoding."""
    order: Literal["little", "big"] = "big" if name.endswith("-be") else "little"
    size = UNIT_BYTES[name]
    return [int.from_bytes(data[at : at + size], order) for at in range(0, len(data), size)]


def encoded_by_cpython(text: str, name: str) -> bytes:
    """A text in an encoding."""
    if name in PYTHON_CODECS:
        return text.encode(name)
    pairs = text.encode("utf-16-be")
    units = "".join(chr(int.from_bytes(pairs[at : at + 2], "big")) for at in range(0, len(pairs), 2))
    written = units.encode("utf-8", "surrogatepass")
    return written.replace(b"\0", b"\xc0\x80") if name == "modified-utf-8" else written


def transcoded_by_cpython(data: bytes, source: str, target: str) -> bytes:
    """Bytes of one encoding in another one, with U+FFFD for what is ill-formed."""
    return encoded_by_cpython(data.decode(source, "replace"), target)


BOUNDS = sorted(
    {
        near
        for bound in (0, 0x80, 0x800, 0x1000, 0xD000, 0xD800, 0xDC00, 0xE000, 0x10000, 0x40000, 0x100000, 0x110000)
        for near in range(bound - 2, bound + 2)
        if 0 <= near < 0x110000
    }
)
"""The bounds of the rows of all forms and the code points next to them."""


def scalar_values(step: int = 1) -> list[int]:
    """Every scalar value, or every so many of them and those in `BOUNDS`."""
    return sorted(point for point in {*range(0, 0x110000, step), *BOUNDS} if not 0xD800 <= point < 0xE000)
