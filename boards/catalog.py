# SPDX-License-Identifier: BSD-2-Clause
"""The catalogue of boards, from ``catalog.csv``. Pins, clocks and parts are defined by the platform classes."""

from __future__ import annotations

import csv
import importlib
import shlex
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model.exceptions import InvalidArgumentError, did_you_mean

SIGNALS = ("activity", "error", "overflow")
"""The signals that LEDs show."""


@dataclass(frozen=True, slots=True)
class Board:
    """A board.

    Attributes:
        name: its name on the command line and in file names.
        platform: its Amaranth platform class as ``module:Class``; it has a default clock.
        family: the family of its FPGA in lower case, such as ``ice40``.
        leds: the signals of LEDs 0, 1, 2, some of `SIGNALS`. Where ``overflow`` has no LED, the LED of ``error``
            shows both.
        uart: the pins RX and TX for a platform without a resource ``uart`` 0, each as the name of a pin or, such as
            ``pmod_0:1``, as a pin of a connector; None: the resource.
        obstacle: why no bitstream can be built, other than tools that are not installed; empty: none is known.
        program: the command that loads ``{bitstream}``; ``{folder}`` is that of its logs; empty: none is known.
    """

    name: str
    platform: str
    family: str
    device: str
    leds: tuple[str, ...] = SIGNALS
    uart: tuple[str, str] | None = None
    obstacle: str = ""
    program: str = ""

    def create_platform(self) -> Any:
        """An instance of the platform class.

        Raises:
            ToolError: amaranth-boards is not installed.
        """
        module, _, name = self.platform.partition(":")
        try:
            kind = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError:
            if not module.startswith("amaranth_boards"):
                raise
            raise ToolError("amaranth-boards is not installed: pip install -e '.[boards]'") from None
        # MachXO2 platforms are for Lattice Diamond otherwise.
        platform = kind(toolchain="Trellis") if self.family == "machxo2" else kind()
        if self.name == "supercon19badge":
            # Its method passes this option and all others to its parent twice, which Python rejects.
            options = {"ecppack_opts": "--compress --freq 38.8"}
            parent: Any = super(kind, platform)
            platform.toolchain_prepare = partial(parent.toolchain_prepare, **options)
        return platform

    def programming(self, bitstream: Path) -> list[str]:
        """The words of the command that loads a bitstream; empty where none is known."""
        folder = bitstream.parent / bitstream.stem
        return [word.format(bitstream=bitstream, folder=folder) for word in shlex.split(self.program)]


def _catalogue() -> dict[str, Board]:
    text = resources.files("utf8fpga.boards").joinpath("catalog.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    boards = {}
    for row in rows:
        rx, tx, leds, platform = (row.pop(name) for name in ("rx", "tx", "leds", "platform"))
        whole = platform if platform.startswith("utf8fpga.") else f"amaranth_boards.{platform}"
        uart = (rx, tx) if rx else None
        boards[row["name"]] = Board(**row, platform=whole, leds=tuple(leds.split()) or SIGNALS, uart=uart)
    return boards


BOARDS = _catalogue()
"""The boards, by name."""


def find_board(name: str) -> Board:
    """The board of that name."""
    if name not in BOARDS:
        near = did_you_mean(name, BOARDS)
        raise InvalidArgumentError(f"there is no board {name!r}{near or '; utf8fpga boards --all lists them'}")
    return BOARDS[name]
