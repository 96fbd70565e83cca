# SPDX-License-Identifier: BSD-2-Clause
"""The command `talk`: sends a text to a board and shows what comes back."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from typing import Any, BinaryIO

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
    began = time.monotonic()
    with ExitStack() as stack:
        out = None if is_quiet else stack.enter_context(writing(output))
        transfer = _Transfer(out, FORMS[form] if check else None, as_json)
        connection = _connected(stack, port, baud or BAUD, FORMS[form])
        is_shown_there = out is not None and out.isatty()
        bar = nullcontext(lambda _: None) if is_shown_there else progress("sending", file_size(file), rate=True)
        transfer.run(connection, file, stack.enter_context(bar))
    seconds = time.monotonic() - began
    counts = f"{counted(transfer.sent, 'byte')}, {counted(transfer.items, 'item')}, {transfer.ill_formed} ill-formed"
    rate = f"{seconds:.1f} s, {transfer.sent / seconds / 1000:.1f} kB/s"
    if check:
        click.echo(f"{counts}, {coloured('all equal to the model', 'green')}; {rate}")
    elif sys.stderr.isatty():
        say(f"{counts}; {rate}")


def _connected(stack: ExitStack, port: str, baud: float, form: Form) -> Conversation:
    """A conversation with a board, or with a virtual one."""
    if port.startswith(VIRTUAL):
        with progress("building the virtual board"):
            return Conversation(VirtualBoard(port.removeprefix(VIRTUAL), form, baud=baud), form)
    if port in BOARDS:
        raise CommandError(f"{port!r} is a board and no port: {VIRTUAL}{port} is this board in simulation")
    serial = SerialPort(find_port() if port == AUTO else port, baud)
    return Conversation(stack.enter_context(closing(serial)), form)


class _Transfer:
    """A text on its way to the board and back.

    Args:
        out: what comes back is written to it; None: it is not.
        checked: the form in which what comes back is compared with the model; None: it is not.

    Attributes:
        sent: the bytes sent so far.
        items: the items received so far, and `ill_formed` of them.
    """

    def __init__(self, out: BinaryIO | None, checked: Form | None, as_json: bool) -> None:
        self._out, self._as_json = out, as_json
        self._model = Expected(checked) if checked else None
        self._expected: deque[Event] = deque()
        self.sent = self.items = self.ill_formed = 0

    def run(self, conversation: Conversation, file: str, done: Callable[[int], None]) -> None:
        """Send the file; `done` is called with the bytes sent so far.

        Raises:
            CommandError: the board lost bytes, or differs from the model.
        """
        is_typed = file == "-" and sys.stdin.isatty()
        lost: list[int] = []
        for events in conversation.exchange(self._parts(file, done), is_typed=is_typed):
            received = [event for event in events if isinstance(event, Received)]
            if Mark.LOST in events:
                lost.append(self.items + len(received))
            elif not lost:
                self._compare(received)
            self.items += len(received)
            self.ill_formed += sum(item.error for item in received)
            if self._out is not None:
                self._out.write(self._shown(received).encode("utf-8", "surrogatepass"))
                self._out.flush()
        if lost:
            places = f"{counted(len(lost), 'place')}, the first before item {lost[0]}"
            raise CommandError(f"the board lost bytes, at {places}: noise on the line", status=1)
        if self._expected:
            raise self._difference(None, self._expected[0])

    def _parts(self, file: str, done: Callable[[int], None]) -> Iterator[bytes]:
        for chunk in read_chunks(file):
            for start in range(0, len(chunk), _PART):
                part = chunk[start : start + _PART]
                if self._model:
                    self._expected += self._model.feed(part)
                yield part
                self.sent += len(part)
                done(self.sent)
        if self._model:
            self._expected += self._model.feed(b"", final=True)

    def _compare(self, received: Sequence[Event]) -> None:
        if self._model is None:
            return
        for number, item in enumerate(received, self.items):
            expected = self._expected.popleft() if self._expected else None
            if item != expected:
                self.items = number
                raise self._difference(item, expected)

    def _difference(self, item: Any, expected: Any) -> CommandError:
        found = f"{item or 'none'} in place of {expected or 'none'}"
        return CommandError(f"the board differs from the model at item {self.items}: {found}", status=1)

    def _shown(self, received: Sequence[Received]) -> str:
        """The output for items: their characters, or lines of JSON."""
        if self._as_json:
            return "".join(f"{json.dumps(item._asdict())}\n" for item in received)
        text = "".join(chr(item.code_point) for item in received)
        return _harmless(text) if self._out and self._out.isatty() else text


_PART = 256
"""Bytes that are given to the model at once."""


def _harmless(text: str) -> str:
    """A text without the control characters with which a board could command a terminal."""
    return "".join(
        f"\\x{ord(each):02x}" if unicodedata.category(each) == "Cc" and each not in "\t\n\r" else each for each in text
    )
