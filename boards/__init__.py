# SPDX-License-Identifier: BSD-2-Clause
"""Bitstreams for boards: the catalogue of boards, the top module with UART and decoder, and the build."""

from __future__ import annotations

from utf8fpga.boards.build import (
    DIVISORS,
    FAMILIES,
    BuildError,
    BuildReport,
    build_board,
    facts_of,
    obstacle,
    require_tools,
)
from utf8fpga.boards.catalog import BOARDS, Board, UnknownBoardError, find_board
from utf8fpga.boards.forms import FORMS
from utf8fpga.boards.programming import program_board
from utf8fpga.boards.protocol import BYTES_PER_WORD, WordFlag, escaped
from utf8fpga.boards.ssh_build import Host
from utf8fpga.boards.uart import FRAME_LAYOUT, MINIMUM_DIVISOR, UartReceiver, UartTransmitter, uart_divisor
from utf8fpga.boards.uart_core import UartCore

__all__ = [
    "BOARDS",
    "BYTES_PER_WORD",
    "DIVISORS",
    "FAMILIES",
    "FORMS",
    "FRAME_LAYOUT",
    "MINIMUM_DIVISOR",
    "Board",
    "BuildError",
    "BuildReport",
    "Host",
    "UartCore",
    "UartReceiver",
    "UartTransmitter",
    "UnknownBoardError",
    "WordFlag",
    "build_board",
    "escaped",
    "facts_of",
    "find_board",
    "obstacle",
    "program_board",
    "require_tools",
    "uart_divisor",
]
