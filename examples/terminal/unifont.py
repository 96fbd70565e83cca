# SPDX-License-Identifier: BSD-2-Clause
"""The glyphs of GNU Unifont, and the signs of causes, as the terminal has them in a flash."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ROWS = 16
"""The rows of a glyph, and the bytes of one of its columns of 8 pixels."""

Font = Mapping[int, bytes]
"""By code point of plane 0 the columns of its glyph: a byte for each row, the left pixel in the high bit."""

LETTERS = "CBOSRTE"
"""In the order of `utf8fpga.ErrorKind`, from 1 on, the letters of the signs in place of ill-formed bytes."""

SIGNS = 0xD800
"""The place in the flash of the glyph of code points without one; the sign of each cause follows at its number.

No character has these code points, which are those of surrogates.
"""

STRIDE = 1 + 2 * ROWS
"""The bytes of a glyph in the flash: the number of its columns, and the columns."""


def read_font() -> dict[int, bytes]:
    """The font in the file that UNIFONT names, in the format of `unifont.hex`; default: that of Debian's package.

    Raises:
        ValueError: there is none.
    """
    path = Path(os.environ.get("UNIFONT", "/usr/share/unifont/unifont.hex"))
    try:
        return dict(map(_glyph, path.read_text(encoding="ascii").split()))
    except OSError as error:
        raise ValueError(f"GNU Unifont: {path}: {error.strerror}: apt install unifont, or set UNIFONT") from None


def _glyph(line: str) -> tuple[int, bytes]:
    """The code point and the columns of the glyph in a line such as ``0041:0000000018242442427E424242420000``."""
    code, _, digits = line.partition(":")
    rows = bytes.fromhex(digits)
    width = len(rows) // ROWS
    return int(code, 16), b"".join(rows[column::width] for column in range(width))


def sign(letter: bytes) -> bytes:
    """A filled box with a letter cut out, as Unifont's U+FFFD is one with a question mark."""
    return bytes(2) + bytes(row ^ 0xFF for row in letter[2:15]) + bytes(1)


def flash_image(font: Font) -> bytes:
    """The contents of the flash: for each code point of plane 0 the number of its columns, and room for two."""
    missing = bytes([0] * 3 + [0x7E] + [0x42] * 9 + [0x7E] + [0] * 2)
    signs = {SIGNS + cause: sign(font[ord(letter)]) for cause, letter in enumerate(LETTERS, 1)}
    places = {**font, SIGNS: missing, **signs}
    glyphs = (places.get(code, missing) for code in range(0x10000))
    return b"".join(bytes([len(glyph) // ROWS]) + glyph.ljust(2 * ROWS, b"\0") for glyph in glyphs)
