# SPDX-License-Identifier: BSD-2-Clause
"""The command `talk`: sends a text to a board and shows what comes back."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from itertools import zip_longest

import click

from utf8fpga.boards.catalog import BOARDS
from utf8fpga.boards.forms import FORMS, Event, Expected, Form, Mark, Received
from utf8fpga.boards.host import Conversation, SerialPort, find_port
from utf8fpga.boards.virtual import VirtualBoard
from utf8fpga.cli.command import command
from utf8fpga.cli.options import FILE, baud_option, form_option, json_option, output_option
from utf8fpga.cli.output import (
    CommandError,
    coloured,
    file_size,
    is_standard_output,
    progress,
    read_chunks,
    say,
    writing,
)
from utf8fpga.model.render import counted

AUTO, VIRTUAL = "auto", "virtual:"

_PART = 256
"""Bytes after which progress is shown."""

BAUD = 1_000_000


@command("talk auto page.html --check", "talk virtual:icebreaker page.html")
@click.argument("port")
@click.argument("file", type=FILE, default="-")
@output_option
@baud_option
@click.option("--check", is_flag=True, help="Compare with the model; no output without -o.")
@form_option
@json_option
def talk(port: str, file: str, output: str, baud: int | None, check: bool, form: str, as_json: bool) -> None:
    """Send FILE, or what is typed, to the board at PORT and show what comes back.

    PORT is the name of a serial port, auto for the only one, or virtual:NAME for a virtual board. --form and --baud are
    those with which the board was built. With --json each item is a line. What is typed is sent line by line; Ctrl-D at
    the beginning of a line ends the text.
    """
    is_quiet = check and is_standard_output(output)
    if is_quiet and as_json:
        raise CommandError("--json has no effect with --check, which prints no items: leave it out, or give -o FILE")
    text = bytearray()
    with ExitStack() as stack:
        out = None if is_quiet else stack.enter_context(writing(output))
        conversation = _connected(stack, port, baud or BAUD, FORMS[form])
        began = time.monotonic()  # A virtual board has been built.
        is_shown_there = out is not None and out.isatty()
        bar = nullcontext(lambda _: None) if is_shown_there else progress("sending", file_size(file), rate=True)
        parts = _parts(file, text, stack.enter_context(bar))
        items: list[Received] = []
        for events in conversation.exchange(parts, is_typed=file == "-" and sys.stdin.isatty()):
            received = [event for event in events if isinstance(event, Received)]
            items += received
            if Mark.LOST in events:
                raise CommandError(f"the board lost bytes, before item {len(items)}: noise on the line", status=1)
            if out is not None:
                out.write(_shown(received, as_json, is_shown_there).encode("utf-8", "surrogatepass"))
                out.flush()
        if check:
            _compare(items, Expected(FORMS[form]).feed(bytes(text), final=True))
    seconds = time.monotonic() - began
    ill_formed = sum(item.error for item in items)
    counts = f"{counted(len(text), 'byte')}, {counted(len(items), 'item')}, {ill_formed} ill-formed"
    rate = f"{seconds:.1f} s, {len(text) / seconds / 1000:.1f} kB/s"
    if check:
        click.echo(f"{counts}, {coloured('all equal to the model', 'green')}; {rate}")
    elif sys.stderr.isatty():
        say(f"{counts}; {rate}")


def _parts(file: str, text: bytearray, done: Callable[[int], None]) -> Iterator[bytes]:
    """The parts of a file, which are appended to `text` when they are sent."""
    for chunk in read_chunks(file):
        for start in range(0, len(chunk), _PART):
            yield chunk[start : start + _PART]
            text += chunk[start : start + _PART]
            done(len(text))


def _connected(stack: ExitStack, port: str, baud: float, form: Form) -> Conversation:
    """A conversation with a board, or with a virtual one."""
    if port.startswith(VIRTUAL):
        with progress("building the virtual board"):
            return Conversation(VirtualBoard(port.removeprefix(VIRTUAL), form, baud=baud), form)
    if port in BOARDS:
        raise CommandError(f"{port!r} is a board and no port: {VIRTUAL}{port} is this board in simulation")
    serial = SerialPort(find_port() if port == AUTO else port, baud)
    return Conversation(stack.enter_context(closing(serial)), form)


def _compare(found: Sequence[Event], expected: Sequence[Event]) -> None:
    """Check that a board has sent what the model expects."""
    for number, (item, other) in enumerate(zip_longest(found, expected)):
        if item != other:
            said = f"the board differs from the model at item {number}: {item or 'none'} in place of {other or 'none'}"
            raise CommandError(said, status=1)


def _shown(received: Sequence[Received], as_json: bool, is_terminal: bool) -> str:
    """The output for items: their characters, or lines of JSON."""
    if as_json:
        return "".join(f"{json.dumps(item._asdict())}\n" for item in received)
    text = "".join(chr(item.code_point) for item in received)
    return _harmless(text) if is_terminal else text


def _harmless(text: str) -> str:
    """A text without the control characters with which a board could command a terminal."""
    return "".join(
        f"\\x{ord(each):02x}" if unicodedata.category(each) == "Cc" and each not in "\t\n\r" else each for each in text
    )
