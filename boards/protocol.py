# SPDX-License-Identifier: BSD-2-Clause
"""What a host and a board send to each other, for the circuit and the host program alike.

The host sends the bytes of a text. Three of the transmission control characters of ASCII (ISO 646) are commands:

- EOT, which a terminal sends for Ctrl-D, ends the text, as a break condition does.
- ENQ, Ctrl-E, requests an answer.
- DLE, Ctrl-P, before one of the three makes it a byte of the text; before any other byte it has no effect.

Flow control is by ENQ: the answer is sent when everything received before has been decoded and sent, so a host that
has `WINDOW` bytes or fewer in front of an answer that it waits for never overruns the board. This needs neither other
wires than RX and TX, nor a reaction within a time limit; RTS and CTS are not connected on most boards, and XON and XOFF
arrive too late behind a USB adapter, whose buffer holds more than the board's.
"""

from __future__ import annotations

import re
from enum import Enum, IntFlag

EOT, ENQ, DLE = 0x04, 0x05, 0x10

WINDOW = 1024
"""Upper bound on the bytes, without each DLE that precedes a byte, and commands that a host sends without an answer."""

MARK = 0xFF
"""The byte before a marker in UTF-8, in no sequence of which it is."""


class Mark(Enum):
    """A marker from the board; the value is how the host shows it."""

    END = "end of text"
    LOST = "bytes lost"
    ANSWER = "answer"


BYTES_PER_WORD = 4
"""The number of bytes in which a word is sent, the least significant one first."""


class WordFlag(IntFlag):
    """The flags of a word; a word without a flag is a well-formed item.

    A word with ANSWER, END or LOST is a marker, not an item, and has no other bit set.
    """

    ANSWER = 1 << 28
    """The answer to ENQ."""
    END = 1 << 29
    """The end of a text."""
    LOST = 1 << 30
    """The end of a text at which at least one received byte was lost."""
    ERROR = 1 << 31
    """The item is ill-formed; its code point is U+FFFD."""


def escaped(text: bytes) -> bytes:
    """A text with a DLE before each byte that is a command.

    >>> escaped(b"A\\x04\\x10").hex(" ")
    '41 10 04 10 10'
    """
    return _COMMANDS.sub(b"\x10\\g<0>", text)


_COMMANDS = re.compile(b"[%c%c%c]" % (EOT, ENQ, DLE))
