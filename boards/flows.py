# SPDX-License-Identifier: BSD-2-Clause
"""The open tools of each FPGA family, and what their reports call its resources."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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
        flip_flops: None where the report lacks their number, which is then read from the log.
        planned: the names of tools in Amaranth's plan, where they differ.
        adapt: changes the arguments of place and route in Amaranth's plan to those of the tool.
        attributes: those of the pins of a UART that is not a resource of the board.
    """

    place_and_route: str
    pack: str
    suffix: str
    logic_cells: str
    block_rams: str
    flip_flops: str | None
    planned: Mapping[str, str] = field(default_factory=dict)
    adapt: Callable[[Sequence[str]], list[str]] = list
    attributes: Mapping[str, str] = field(default_factory=lambda: {"IO_TYPE": "LVCMOS33"})

    @property
    def tools(self) -> tuple[str, str, str]:
        """The tools, in the order in which they run; the version of the last one does not affect the bitstream."""
        return "yosys", self.place_and_route, self.pack

    def commands(self, board: Board, plan: BuildPlan) -> dict[str, Sequence[str]]:
        """The arguments of the tools, from Amaranth's list of commands.

        They run without the shell that Amaranth's build scripts need.
        """
        planned = {tool: arguments for tool, *arguments in json.loads(plan.files[f"build_{NAME}.json"])["commands"]}
        names = {tool: self.planned.get(tool, tool) for tool in self.tools}
        if missing := [name for name in names.values() if name not in planned]:
            raise InvalidArgumentError(
                f"{board.name}: its platform is built with {', '.join(planned)}, not with {', '.join(missing)}: choose "
                "another family or toolchain"
            )
        commands = {tool: planned[name] for tool, name in names.items()}
        return commands | {self.place_and_route: self.adapt(commands[self.place_and_route])}

    def figures(self, work: Path) -> tuple[dict[str, int], dict[str, float]]:
        """What the report of place and route says: the resources for `BuildReport`, and what each clock reaches in MHz.

        Raises:
            ToolError: the report in the folder `work` is missing or incomplete.
        """
        try:
            report = json.loads((work / f"{NAME}.report.json").read_text(encoding="utf-8"))
            used = report["utilization"]
            logic_cells, block_rams = used[self.logic_cells], used[self.block_rams]
            flip_flops = used[self.flip_flops]["used"] if self.flip_flops else _logged_flip_flops(work / LOG)
            clocks = {name: clock["achieved"] for name, clock in report["fmax"].items()}
            if not clocks:
                raise ValueError("no clock in it")
        except (FileNotFoundError, KeyError, ValueError) as error:
            raise ToolError(f"{self.place_and_route} wrote no valid report: {error}") from None
        cells = {"logic_cells": logic_cells["used"], "logic_cells_available": logic_cells["available"]}
        rams = {"block_rams": block_rams["used"], "block_rams_available": block_rams["available"]}
        return {**cells, "flip_flops": flip_flops, **rams}, clocks


def _logged_flip_flops(log: Path) -> int:
    counts = re.findall(r"(\d+) LCs used as (?:LUT4 and DFF|DFF only)", log.read_text(encoding="utf-8"))
    if not counts:
        raise ValueError("no count of flip-flops in its log")
    return sum(map(int, counts))


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
    "ice40": Flow(
        *("nextpnr-ice40", "icepack", "bin", "ICESTORM_LC", "ICESTORM_RAM", None),
        attributes={"IO_STANDARD": "SB_LVCMOS"},
    ),
    "ecp5": Flow("nextpnr-ecp5", "ecppack", "bit", "TRELLIS_COMB", "DP16KD", "TRELLIS_FF"),
    "machxo2": Flow(
        *("nextpnr-machxo2", "xo2pack", "bit", "TRELLIS_COMB", "DP8KC", "TRELLIS_FF"),
        planned={"xo2pack": "ecppack"},
    ),
    "gowin": Flow(
        *("nextpnr-himbaechel-gowin", "gowin_pack", "fs", "LUT4", "BSRAM", "DFF"),
        planned={"nextpnr-himbaechel-gowin": "nextpnr-gowin"},
        adapt=_himbaechel,
    ),
    "nexus": Flow("nextpnr-nexus", "prjoxide", "bit", "OXIDE_COMB", "OXIDE_EBR", "OXIDE_FF"),
    "gatemate": Flow(
        *("nextpnr-himbaechel-gatemate", "gmpack", "bit", "CPE_LT", "RAM_HALF", "CPE_FF"),
        attributes={},
    ),
}
"""The tools of each family."""


def flow_of(board: Board) -> Flow:
    """The tools for a board.

    Raises:
        InvalidArgumentError: there are none, or they cannot build for this board.
    """
    if board.family not in FLOWS:
        raise InvalidArgumentError(
            f"board {board.name} has family {board.family!r}, which is not one of {', '.join(FLOWS)}"
        )
    if board.obstacle:
        raise InvalidArgumentError(f"board {board.name} cannot be built: {board.obstacle}")
    return FLOWS[board.family]
