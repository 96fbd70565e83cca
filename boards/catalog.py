# SPDX-License-Identifier: BSD-2-Clause
"""The catalogue of supported boards, as data.

Pins, clocks and parts are defined by the platform classes of amaranth-boards.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from utf8fpga.model import InvalidArgumentError

__all__ = ["BOARDS", "Board", "UnknownBoardError", "find_board"]


@dataclass(frozen=True, slots=True)
class Board:
    """A board with a UART, a clock and an open tool flow.

    Attributes:
        name: its name on the command line and in file names.
        platform: its Amaranth platform class as ``module:Class``; it has a resource ``uart`` 0
            and a default clock.
        family: the tool flow, ``ice40`` or ``ecp5``.
        description: its device and clock.
        leds: the signals ``activity``, ``error`` and ``overflow`` in the order of LEDs 0, 1, 2.
            Where ``overflow`` has no LED, the LED of ``error`` shows both.
    """

    name: str
    platform: str
    family: str
    description: str
    leds: tuple[str, ...] = ("activity", "error", "overflow")


_RED_GREEN = ("error", "activity")
"""The signals of boards whose LED 0 is red and LED 1 green."""

BOARDS: dict[str, Board] = {
    board.name: board
    for board in (
        Board("icebreaker", "amaranth_boards.icebreaker:ICEBreakerPlatform", "ice40", "iCE40 UP5K, 12 MHz", _RED_GREEN),
        Board("ulx3s-85f", "amaranth_boards.ulx3s:ULX3S_85F_Platform", "ecp5", "ECP5 LFE5U-85F, 25 MHz"),
    )
}
"""The supported boards, by name."""


class UnknownBoardError(InvalidArgumentError):
    """No board has this name; the message lists similar names and all names."""

    def __init__(self, name: str) -> None:
        near = get_close_matches(name.lower(), BOARDS)
        guess = f"; did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"unknown board {name!r}{guess} (known: {', '.join(BOARDS)})")


def find_board(name: str) -> Board:
    """The board of that name.

    Raises:
        UnknownBoardError: no board has that name.
    """
    if name not in BOARDS:
        raise UnknownBoardError(name)
    return BOARDS[name]
