# SPDX-License-Identifier: BSD-2-Clause
"""The decoder on real boards: a UART, a top that holds the decoder, the catalog, and the build."""

from __future__ import annotations

from utf8fpga.boards.build import BuildError, BuildReport, build_board, require_tools
from utf8fpga.boards.cache import Cache, CacheError, default_cache
from utf8fpga.boards.catalog import BOARDS, Board, UnknownBoardError, find_board
from utf8fpga.boards.core import Core, CoreError, Ports, decoder_core, foreign_core, read_ports
from utf8fpga.boards.figures import (
    COMMAND,
    SCALING,
    SETTINGS,
    Scaling,
    chosen_core,
    design_digest,
    figures_as_dict,
    figures_table,
    points_table,
    scaling_points,
    setting_points,
)
from utf8fpga.boards.measure import DEVICES, Area, Device, Speed, tool_versions
from utf8fpga.boards.picture import PictureError, drawn_digest, picture_tools, scaling_picture
from utf8fpga.boards.remote import Host
from utf8fpga.boards.sweep import Figure, Point, Progress, sweep
from utf8fpga.boards.top import BYTES_PER_WORD, UartDecoder, WordFlag
from utf8fpga.boards.uart import FRAME_LAYOUT, MINIMUM_DIVISOR, UartReceiver, UartTransmitter, uart_divisor

__all__ = [
    "BOARDS",
    "BYTES_PER_WORD",
    "COMMAND",
    "DEVICES",
    "FRAME_LAYOUT",
    "MINIMUM_DIVISOR",
    "SCALING",
    "SETTINGS",
    "Area",
    "Board",
    "BuildError",
    "BuildReport",
    "Cache",
    "CacheError",
    "Core",
    "CoreError",
    "Device",
    "Figure",
    "Host",
    "PictureError",
    "Point",
    "Ports",
    "Progress",
    "Scaling",
    "Speed",
    "UartDecoder",
    "UartReceiver",
    "UartTransmitter",
    "UnknownBoardError",
    "WordFlag",
    "build_board",
    "chosen_core",
    "decoder_core",
    "default_cache",
    "design_digest",
    "drawn_digest",
    "figures_as_dict",
    "figures_table",
    "find_board",
    "foreign_core",
    "picture_tools",
    "points_table",
    "read_ports",
    "require_tools",
    "scaling_picture",
    "scaling_points",
    "setting_points",
    "sweep",
    "tool_versions",
    "uart_divisor",
]
