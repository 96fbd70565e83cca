# SPDX-License-Identifier: BSD-2-Clause
"""The command `build`: builds the bitstream for a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from utf8fpga.boards.build import build_board, build_self_test
from utf8fpga.boards.catalog import find_board
from utf8fpga.boards.forms import FORMS
from utf8fpga.boards.programming import program_board, require_programmer
from utf8fpga.cli.command import command
from utf8fpga.cli.options import SEED, baud_option, directory_option, form_option, json_option
from utf8fpga.cli.output import CommandError, echo, say


@command("build icebreaker --program", "build ulx3s-85f --self-test")
@click.argument("board")
@directory_option
@form_option
@baud_option
@click.option("--uart", metavar="RX,TX", help="Pins of the UART; default: the board's.")
@click.option("--self-test", is_flag=True, help="A test of the decoder at the clock of a PLL instead.")
@click.option("--program", is_flag=True, help="Load the bitstream into the board.")
@click.option("--seed", type=SEED, default=1, help="Seed of place and route; default: 1.")
@json_option
def build(
    board: str,
    directory: str,
    form: str,
    baud: int | None,
    uart: str | None,
    self_test: bool,
    program: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Build the bitstream for BOARD: UART in, a core, UART out.

    With --self-test it needs no host: a decoder at the highest clock that the tools report as met is fed and judged in
    the fabric. The LED for activity, or the UART, says that it passed, and the LED for errors that it failed.
    """
    chosen = find_board(board)
    if program:
        require_programmer(chosen)
    options: dict[str, Any] = {"baud": baud, "uart": None if uart is None else _pins(uart), "seed": seed, "say": say}
    if self_test:
        report = build_self_test(chosen, Path(directory), **options)
    else:
        report = build_board(chosen, Path(directory), core=FORMS[form].core, **options)
    echo(str(report), report.as_dict(), as_json=as_json)
    if program:
        program_board(chosen.create_platform(), report.bitstream)


def _pins(text: str) -> tuple[str, str]:
    """The pins that ``RX,TX`` names."""
    rx, comma, tx = (part.strip() for part in text.partition(","))
    if not (rx and comma and tx) or "," in tx or rx == tx:
        raise CommandError(f"--uart {text!r} is not RX,TX: name two pins, such as pmod_0:1,pmod_0:2")
    return rx, tx
