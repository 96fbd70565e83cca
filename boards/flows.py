# SPDX-License-Identifier: BSD-2-Clause
"""The open tools of each FPGA family, and what their reports call its resources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.build.run import BuildPlan

from utf8fpga.boards.catalog import Board
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model.exceptions import InvalidArgumentError

NAME = "top"
"""The name of the design, and therefore of the files in the working folder."""

SYNTHESIS_LOG, LOG = f"{NAME}.rpt", f"{NAME}.tim"
"""The logs of synthesis, and of place and route."""


@dataclass(frozen=True, slots=True)
class Flow:
    """The tools of a device family, and their names for resources.

    Attributes:
        logic_cells: the name of its logic cells in the report of place and route.
        most_mhz: the highest clock of a core on a board; that of a board is divided until it is no faster.
        planned: the names of tools in Amaranth's plan, where they differ.
        pin: the attribute of the pins of a UART that is not a resource of the board, and its value.
    """

    place_and_route: str
    pack: str
    suffix: str
    logic_cells: str
    most_mhz: float = 50
    planned: Mapping[str, str] | None = None
    pin: tuple[str, str] = ("IO_TYPE", "LVCMOS33")

    @property
    def tools(self) -> tuple[str, str, str]:
        """The tools, in the order in which they run; the version of the last one does not affect the bitstream."""
        return "yosys", self.place_and_route, self.pack

    def commands(self, plan: BuildPlan) -> dict[str, Sequence[str]]:
        """The arguments of the tools, from Amaranth's list of commands.

        They run without the shell that Amaranth's build scripts need.
        """
        planned = {tool: arguments for tool, *arguments in json.loads(plan.files[f"build_{NAME}.json"])["commands"]}
        names = {tool: (self.planned or {}).get(tool, tool) for tool in self.tools}
        commands = {tool: planned[name] for tool, name in names.items()}
        if names[self.place_and_route] == "nextpnr-gowin":
            commands[self.place_and_route] = _himbaechel(commands[self.place_and_route])
        return commands

    def figures(self, work: Path) -> tuple[dict[str, Any], dict[str, float]]:
        """What the report of place and route says: the resources for `BuildReport`, and what each clock reaches in MHz.

        Raises:
            ToolError: the report in the folder `work` is missing or incomplete.
        """
        try:
            report = json.loads((work / f"{NAME}.report.json").read_text(encoding="utf-8"))
            used = report["utilization"][self.logic_cells]
            cells = {"logic_cells": used["used"], "logic_cells_available": used["available"]}
            return cells, {name: clock["achieved"] for name, clock in report["fmax"].items()}
        except (FileNotFoundError, KeyError, ValueError) as error:
            raise ToolError(f"{self.place_and_route} wrote no valid report: {error}") from None


def _himbaechel(arguments: Sequence[str]) -> list[str]:
    """The arguments of nextpnr-himbaechel for those of the older nextpnr-gowin."""
    options = {"--family": "family", "--cst": "cst"}
    words: list[str] = []
    for word in arguments:
        if words and words[-1] in options:
            words[-1:] = ["--vopt", f"{options[words[-1]]}={word}"]
        else:
            words.append(word)
    return words


FLOWS = {
    "ice40": Flow("nextpnr-ice40", "icepack", "bin", "ICESTORM_LC", 16, pin=("IO_STANDARD", "SB_LVCMOS")),
    "ecp5": Flow("nextpnr-ecp5", "ecppack", "bit", "TRELLIS_COMB"),
    "machxo2": Flow("nextpnr-machxo2", "xo2pack", "bit", "TRELLIS_COMB", planned={"xo2pack": "ecppack"}),
    "gowin": Flow(
        "nextpnr-himbaechel-gowin", "gowin_pack", "fs", "LUT4", planned={"nextpnr-himbaechel-gowin": "nextpnr-gowin"}
    ),
    "nexus": Flow("nextpnr-nexus", "prjoxide", "bit", "OXIDE_COMB"),
    "gatemate": Flow("nextpnr-himbaechel-gatemate", "gmpack", "bit", "CPE_LT"),
}
"""The tools of each family."""


def flow_of(board: Board) -> Flow:
    """The tools for a board.

    Raises:
        InvalidArgumentError: there are none, or they cannot build for this board.
    """
    if board.obstacle or board.family not in FLOWS:
        reason = board.obstacle or f"no open tools for {board.family}"
        raise InvalidArgumentError(f"board {board.name} cannot be built: {reason}")
    return FLOWS[board.family]
