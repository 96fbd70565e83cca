# SPDX-License-Identifier: BSD-2-Clause
"""The command `build`: builds the bitstream for a board."""

from __future__ import annotations

import json
from pathlib import Path

import click

from utf8fpga.boards import Host, build_board
from utf8fpga.cli.core_options import core_command
from utf8fpga.cli.options import FOLDER, HOST, SEED, json_option
from utf8fpga.cli.output import CommandError, say
from utf8fpga.hdl import DecoderParameters

__all__ = ["build"]


@core_command()
@click.argument("board")
@click.option("--directory", type=FOLDER, default="build", show_default=True, help="Folder for the files.")
@click.option(
    "--baud", type=click.FloatRange(min=1), default=1e6, show_default=True, help="Bits per second of the UART."
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of place and route.")
@click.option("--host", type=HOST, help="Run the tools on this host, by SSH with your keys.")
@click.option("--host-tools", type=FOLDER, help="Folder on the host with the tools; default: its PATH.")
@click.option(
    "--check", is_flag=True, help="Simulate the routed design: a text at its UART, compared with the model (iCE40)."
)
@json_option
def build(
    board: str,
    parameters: DecoderParameters,
    directory: str,
    baud: float,
    seed: int,
    host: str | None,
    host_tools: str | None,
    check: bool,
    as_json: bool,
) -> None:
    """Build the bitstream for BOARD: UART in, decoder, UART out."""
    if host_tools and not host:
        raise CommandError(f"--host-tools {host_tools!r} is a folder on a host: give --host too")
    where = Host.parse(host, host_tools) if host else None
    report = build_board(
        board, Path(directory), baud=baud, core=parameters, seed=seed, host=where, say=say, check=check
    )
    click.echo(json.dumps(report.as_dict(), indent=2) if as_json else str(report))
