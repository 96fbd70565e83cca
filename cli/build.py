# SPDX-License-Identifier: BSD-2-Clause
"""The command `build`: builds the bitstream for a board."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from utf8fpga.boards.build import DIVISORS, FAMILIES, build_board
from utf8fpga.boards.catalog import BOARDS, SIGNALS, Board, find_board
from utf8fpga.boards.forms import FORMS
from utf8fpga.boards.programming import program_board
from utf8fpga.cli.board_options import form_option
from utf8fpga.cli.options import FOLDER, SEED, Word, completion, json_option
from utf8fpga.cli.output import CommandError, echo, say


@click.command()
@click.argument("board", shell_complete=completion(lambda: BOARDS))
@click.option("--directory", type=FOLDER, default="build", show_default=True, help="Folder for the files.")
@click.option(
    "--baud",
    type=click.FloatRange(min=1),
    help="Bits per second of the UART; default: the fastest that the clock allows, up to 1000000.",
)
@form_option
@click.option("--uart", metavar="RX,TX", help="Pins of the UART: names such as A1, or connector pins such as pmod_0:1.")
@click.option("--divide", type=Word([str(n) for n in DIVISORS]), help="Divide the clock; default: if necessary.")
@click.option("--platform", metavar="MODULE:CLASS", help="Amaranth platform of a board that is not in the list.")
@click.option("--family", type=Word(FAMILIES), help="Its FPGA family.")
@click.option("--leds", metavar="LIST", help="Signals of its LEDs 0, 1, 2; default: activity,error,overflow.")
@click.option("--program", is_flag=True, help="Load the bitstream into the board.")
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of place and route.")
@click.option(
    "--check", is_flag=True, help="Simulate the routed design: a text at its UART, compared with the model (iCE40)."
)
@json_option
def build(
    board: str,
    directory: str,
    form: str,
    uart: str | None,
    divide: str | None,
    platform: str | None,
    family: str | None,
    leds: str | None,
    program: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Build the bitstream for BOARD: UART in, a core, UART out."""
    chosen = _chosen(board, platform, family, leds)
    report = build_board(
        chosen,
        Path(directory),
        core=FORMS[form].core,
        uart=None if uart is None else _pins(uart),
        divide=int(divide) if divide else None,
        say=say,
        **options,
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


def _chosen(name: str, platform: str | None, family: str | None, leds: str | None) -> Board:
    """The board of that name, or one with these properties."""
    signals = SIGNALS if leds is None else tuple(leds.split(","))
    if not set(signals) <= set(SIGNALS) or len(set(signals)) < len(signals):
        raise CommandError(f"--leds {leds!r} must be some of {', '.join(SIGNALS)}, separated by commas")
    if platform is None:
        board = find_board(name)
        if family and family != board.family:
            raise CommandError(f"--family {family}: the family of {name} is {board.family}")
        return replace(board, leds=signals) if leds else board
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", platform):
        raise CommandError(f"--platform {platform!r} is not MODULE:CLASS")
    if family is None:
        raise CommandError(f"--platform needs a family: add --family with one of {', '.join(FAMILIES)}")
    if not re.fullmatch(r"[\w-]+", name):
        raise CommandError(f"board {name!r} becomes a file name: use letters, digits, - and _")
    if "" not in sys.path:
        sys.path.insert(0, "")  # A module in the current folder.
    return Board(name, platform, family, platform, signals)
