# SPDX-License-Identifier: BSD-2-Clause
"""The command `build`: builds the bitstream for a board."""

from __future__ import annotations

from pathlib import Path

import click

from utf8fpga.boards.build import build_board, build_self_test, program_board, require_programmer
from utf8fpga.boards.catalog import find_board
from utf8fpga.cli.command import command
from utf8fpga.cli.options import baud_option, directory_option, form_option, json_option, reject, seed_option
from utf8fpga.cli.output import progress


@command("build icebreaker --program", "build ulx3s-85f --self-test")
@click.argument("board")
@directory_option
@form_option
@baud_option
@click.option("--self-test", is_flag=True, help="A test of the decoder at the clock of a PLL instead.")
@click.option("--program", is_flag=True, help="Load the bitstream into the board.")
@seed_option
@json_option
def build(
    board: str, directory: str, form: str, baud: int | None, self_test: bool, program: bool, seed: int, as_json: bool
) -> None:
    """Build the bitstream for BOARD: UART in, a core, UART out.

    With --self-test it needs no host: a decoder at the highest clock that the tools report as met is fed and judged in
    the fabric. The LED for activity, or the UART, says that it passed, and the LED for errors that it failed.
    """
    if self_test:
        reject("with --self-test", "form")
    chosen = find_board(board)
    if program:
        require_programmer(chosen)
    with progress(f"building for {board},"):
        if self_test:
            report = build_self_test(chosen, Path(directory), baud=baud, seed=seed)
        else:
            report = build_board(chosen, Path(directory), form, baud=baud, seed=seed)
    click.echo(report.as_json() if as_json else str(report))
    if program:
        program_board(chosen, report.bitstream)
