# SPDX-License-Identifier: BSD-2-Clause
"""The decoder on real boards: a UART, a top that holds the decoder, the catalog, and the build."""

from __future__ import annotations

from utf8fpga.boards.bench import (
    DEVICES,
    SETTINGS,
    Area,
    Device,
    Speed,
    design_digest,
    figures_table,
    measure_all,
    measure_area,
    measure_speed,
    tool_versions,
)
from utf8fpga.boards.build import BuildError, BuildReport, build_board, require_tools
from utf8fpga.boards.catalog import BOARDS, Board, UnknownBoardError, find_board
from utf8fpga.boards.top import BYTES_PER_WORD, UartDecoder, WordFlag
from utf8fpga.boards.uart import FRAME_LAYOUT, MINIMUM_DIVISOR, UartReceiver, UartTransmitter, uart_divisor

__all__ = [
    "BOARDS",
    "BYTES_PER_WORD",
    "DEVICES",
    "FRAME_LAYOUT",
    "MINIMUM_DIVISOR",
    "SETTINGS",
    "Area",
    "Board",
    "BuildError",
    "BuildReport",
    "Device",
    "Speed",
    "UartDecoder",
    "UartReceiver",
    "UartTransmitter",
    "UnknownBoardError",
    "WordFlag",
    "build_board",
    "design_digest",
    "figures_table",
    "find_board",
    "measure_all",
    "measure_area",
    "measure_speed",
    "require_tools",
    "tool_versions",
    "uart_divisor",
]
