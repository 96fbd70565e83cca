# SPDX-License-Identifier: BSD-2-Clause
"""The command `talk`: sends a text to a board and shows what comes back."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from utf8fpga.boards.catalog import BOARDS
from utf8fpga.boards.forms import FORMS, Form, Mark, Received
from utf8fpga.boards.host import Conversation, Port, SerialPort, check_items, find_port
from utf8fpga.boards.virtual import VirtualBoard
from utf8fpga.cli.command import command
from utf8fpga.cli.options import baud_option, form_option
from utf8fpga.cli.output import CommandError, coloured, progress, read_chunks, write_bytes
from utf8fpga.model.render import counted

BAUD = 1_000_000

_VIRTUAL = "virtual:"


@command("talk auto page.html --check", "talk virtual:icebreaker page.html")
@click.argument("port")
@click.argument("file", default="-")
@baud_option
@form_option
@click.option("--check", is_flag=True, help="Compare with the model, and print counts alone.")
def talk(port: str, file: str, baud: int | None, form: str, check: bool) -> None:
    """Send FILE, or what is typed, to the board at PORT and show what comes back.

    PORT is the name of a serial port, auto for the only one, or virtual:NAME for a virtual board. --form and --baud are
    those with which the board was built. What is typed is sent line by line; Ctrl-D at the beginning of a line ends the
    text.
    """
    text, items = bytearray(), []

    def parts() -> Iterator[bytes]:
        for chunk in read_chunks(file):
            text.extend(chunk)
            yield chunk

    conversation = Conversation(_connected(port, baud or BAUD, FORMS[form]), FORMS[form])
    for events in conversation.exchange(parts(), is_typed=file == "-" and sys.stdin.isatty()):
        received = [event for event in events if isinstance(event, Received)]
        items += received
        if Mark.LOST in events:
            raise CommandError(f"the board lost bytes, before item {len(items)}: noise on the line", status=1)
        if not check:
            write_bytes("-", "".join(chr(item.code_point) for item in received).encode())
            sys.stdout.flush()
    if check:
        check_items(items, bytes(text), FORMS[form])
        ill_formed = sum(item.error for item in items)
        counts = f"{counted(len(text), 'byte')}, {counted(len(items), 'item')}, {ill_formed} ill-formed"
        click.echo(f"{counts}, {coloured('all equal to the model', 'green')}")


def _connected(port: str, baud: float, form: Form) -> Port:
    """A serial port, or a virtual board."""
    if port.startswith(_VIRTUAL):
        with progress("building the virtual board"):
            return VirtualBoard(port.removeprefix(_VIRTUAL), form, baud=baud)
    if port in BOARDS:
        raise CommandError(f"{port} is a board: give the name of its serial port, or {_VIRTUAL}{port} to simulate it")
    return SerialPort(find_port() if port == "auto" else port, baud)
