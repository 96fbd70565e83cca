# SPDX-License-Identifier: BSD-2-Clause
"""The command `build`: builds the bitstream for a board."""

from __future__ import annotations

from pathlib import Path

import click

from utf8fpga.boards.build import build_board
from utf8fpga.boards.catalog import find_board
from utf8fpga.boards.forms import FORMS
from utf8fpga.boards.programming import program_board
from utf8fpga.cli.command import command
from utf8fpga.cli.options import SEED, baud_option, directory_option, form_option, json_option
from utf8fpga.cli.output import CommandError, echo, say


@command("build icebreaker --program", "build ulx3s-85f --form utf-8 --directory build")
@click.argument("board")
@directory_option
@form_option
@baud_option
@click.option("--uart", metavar="RX,TX", help="Pins of the UART; default: the board's.")
@click.option("--program", is_flag=True, help="Load the bitstream into the board.")
@click.option("--seed", type=SEED, default=1, help="Seed of place and route; default: 1.")
@json_option
def build(
    board: str,
    directory: str,
    form: str,
    baud: int | None,
    uart: str | None,
    program: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Build the bitstream for BOARD: UART in, a core, UART out."""
    chosen = find_board(board)
    report = build_board(
        chosen,
        Path(directory),
        core=FORMS[form].core,
        baud=baud,
        uart=None if uart is None else _pins(uart),
        seed=seed,
        say=say,
    )
    echo(str(report), report.as_dict(), as_json=as_json)
    if program:
        program_board(chosen.create_platform(), report.bitstream)


def _pins(text: str) -> tuple[str, str]:
    """The pins that ``RX,TX`` names."""
    rx, comma, tx = (part.strip() for part in text.partition(","))
    if not (rx and comma and tx) or "," in tx or rx == tx:
        raise CommandError(f"--uart {text!r} is not RX,TX: name two pins, such as pmod_0:1,pmod_0:2")
    return rx, tx
