# SPDX-License-Identifier: BSD-2-Clause
"""The command `talk`: sends a text to a board and shows what comes back."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import BinaryIO

import click

from utf8fpga.boards.events import Event, Received, line_of
from utf8fpga.boards.forms import FORMS, Expected
from utf8fpga.boards.host import Conversation, Port, SerialPort, find_port
from utf8fpga.boards.protocol import Mark
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
from utf8fpga.model import REPLACEMENT_CHARACTER
from utf8fpga.model.render import counted

AUTO, VIRTUAL = "auto", "virtual:"
BAUD = 1_000_000


@command("talk auto page.html --check", "talk virtual:icebreaker page.html")
@click.argument("port")
@click.argument("file", type=FILE, default="-")
@output_option
@baud_option
@click.option("--check", is_flag=True, help="Compare with the model.")
@form_option
@json_option
def talk(port: str, file: str, output: str, baud: int | None, check: bool, form: str, as_json: bool) -> None:
    """Send FILE, or what is typed, to the board at PORT and show what comes back.

    PORT is the name of a serial port, auto for the only one, or virtual:NAME for a virtual board, which has the form
    of --form; the form of a real board is recognised. With --json each item is a line. What is typed is sent line by
    line; Ctrl-D at the beginning of a line ends the text.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        conversation = Conversation(stack.enter_context(_connected(port, baud or BAUD, form)))
        transfer = _Transfer(conversation, as_json, _Checker(conversation.form) if check else None)
        if not check or not is_standard_output(output):
            transfer.out = stack.enter_context(writing(output))
        is_shown_there = transfer.out is not None and transfer.out.isatty()
        bar = nullcontext(lambda _: None) if is_shown_there else progress("sending", file_size(file), rate=True)
        transfer.run(file, stack.enter_context(bar))
    transfer.judge()
    seconds = time.monotonic() - began
    counts = f"{counted(transfer.sent, 'byte')}, {counted(transfer.items, 'item')}, {transfer.ill_formed} ill-formed"
    rate = f"{seconds:.1f} s, {transfer.sent / seconds / 1000:.1f} kB/s"
    if check:
        click.echo(f"{counts}, {coloured('all equal to the model', 'green')}; {rate}")
    elif sys.stderr.isatty():
        say(f"{counts}; {rate}")


@contextmanager
def _connected(port: str, baud: float, form: str) -> Iterator[Port]:
    """The port of a board, or of a virtual one."""
    if port.startswith(VIRTUAL):
        yield VirtualBoard(port.removeprefix(VIRTUAL), baud=baud, core=FORMS[form].core)
        return
    connection = SerialPort(find_port() if port == AUTO else port, baud)
    try:
        yield connection
    finally:
        connection.close()


class _Transfer:
    """A text on its way to the board and back, which is written to `out`, if there is one."""

    def __init__(self, conversation: Conversation, as_json: bool, checker: _Checker | None) -> None:
        self._conversation, self._as_json, self._checker = conversation, as_json, checker
        self._lost: list[int] = []
        self.out: BinaryIO | None = None
        self.sent = self.items = self.ill_formed = 0

    def run(self, file: str, done: Callable[[int], None]) -> None:
        """Send the file; `done` is called with the bytes sent so far."""
        is_typed = file == "-" and sys.stdin.isatty()
        for events in self._conversation.exchange(self._parts(file, done), is_typed=is_typed):
            for event in events:
                self._receive(event)
            if self.out is not None:
                self.out.write(self._shown(events).encode("utf-8", "surrogatepass"))
                self.out.flush()

    def _parts(self, file: str, done: Callable[[int], None]) -> Iterator[bytes]:
        for chunk in read_chunks(file):
            for start in range(0, len(chunk), _PART):
                part = chunk[start : start + _PART]
                if self._checker:
                    self._checker.sent(part)
                yield part
                self.sent += len(part)
                done(self.sent)
        if self._checker:
            self._checker.sent(b"", final=True)

    def _receive(self, event: Event) -> None:
        if event is Mark.LOST:
            self._lost.append(self.items)
        elif isinstance(event, Received):
            if self._checker and not self._lost:
                self._checker.received(event)
            self.items += 1
            self.ill_formed += event.code_point == REPLACEMENT_CHARACTER and event.error is not False

    def _shown(self, events: Sequence[Event]) -> str:
        """The output for events: of items the characters, or lines of JSON."""
        received = [event for event in events if isinstance(event, Received)]
        if self._as_json:
            return "".join(f"{json.dumps(event._asdict())}\n" for event in received)
        text = "".join(chr(min(event.code_point, sys.maxunicode)) for event in received)
        return _harmless(text) if self.out and self.out.isatty() else text

    def judge(self) -> None:
        """Check that nothing was lost, and that nothing is missing."""
        if self._lost:
            places = f"{counted(len(self._lost), 'place')}, the first after {counted(self._lost[0], 'item')}"
            raise CommandError(f"the board lost bytes, at {places}: noise on the line", status=1)
        if self._checker:
            self._checker.finish()


_PART = 256
"""Bytes that are given to the model at once."""


def _harmless(text: str) -> str:
    """A text without the control characters with which a board could command a terminal."""
    return "".join(
        f"\\x{ord(each):02x}" if unicodedata.category(each) == "Cc" and each not in "\t\n\r" else each for each in text
    )


class _Checker:
    """Compares what a board sends with the model, while it does."""

    def __init__(self, form: str) -> None:
        self._model = Expected(FORMS[form].core)
        self._expected: deque[Event] = deque()
        self._number = 0

    def sent(self, part: bytes, *, final: bool = False) -> None:
        """Add a part of the text, before it is sent; `final` at the end of the text."""
        self._expected += self._model.feed(part, final=final)

    def received(self, item: Event) -> None:
        """Compare an item."""
        expected = self._expected.popleft() if self._expected else None
        if expected != item:
            raise self._difference(line_of(item), expected)
        self._number += 1

    def finish(self) -> None:
        """Compare the number of items."""
        if self._expected:
            raise self._difference("none", self._expected[0])

    def _difference(self, found: str, expected: Event | None) -> CommandError:
        return CommandError(
            f"the board differs from the model at item {self._number}: {found} in place of "
            f"{line_of(expected) if expected else 'none'}",
            status=1,
        )
