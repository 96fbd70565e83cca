# SPDX-License-Identifier: BSD-2-Clause
"""The command `boards`: a list of the boards."""

from __future__ import annotations

import click

from utf8fpga.boards.build import obstacle
from utf8fpga.boards.catalog import BOARDS
from utf8fpga.cli.command import command
from utf8fpga.cli.options import json_option
from utf8fpga.cli.output import echo
from utf8fpga.model.render import columns


@command("boards", "boards --all --json")
@click.option("--all", "every", is_flag=True, help="Also those that cannot be built here, and why.")
@json_option
def boards(every: bool, as_json: bool) -> None:
    """List the boards for which a bitstream can be built here.

    A name of the list is the argument of build, and virtual:NAME that of talk for the board in simulation.
    """
    known = []
    for board in BOARDS.values():
        uart = ",".join(board.uart) if board.uart else "the board's"
        row = {"name": board.name, "family": board.family, "device": board.device, "uart": uart}
        known.append({**row, "obstacle": obstacle(board)})
    listed = [each for each in known if every or not each["obstacle"]]
    heading = ["name", "family", "device", "uart", *(["obstacle"] if every else [])]
    lines = columns([[each[key] for key in heading] for each in listed], heading)
    if len(listed) < len(known):
        lines.append(f"{len(known) - len(listed)} more cannot be built here: --all lists them, and why")
    echo("\n".join(lines), listed, as_json=as_json)
