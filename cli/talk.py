# SPDX-License-Identifier: BSD-2-Clause
"""The command `talk`: sends a text to a board and shows what comes back."""

from __future__ import annotations

import os
import select
import sys
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, BinaryIO

import click

from utf8fpga.boards.events import Counters, Event, Received, line_of
from utf8fpga.boards.forms import FORMS, Expected
from utf8fpga.boards.host import Conversation, Port, SerialPort, find_port
from utf8fpga.boards.protocol import ENQ, EOT, Mark
from utf8fpga.cli.board_options import form_option
from utf8fpga.cli.options import FILE, output_option
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
from utf8fpga.cli.show import described
from utf8fpga.model.render import counted

if TYPE_CHECKING:
    from rich.console import Console

AUTO, VIRTUAL = "auto", "virtual:"

_END, _REQUEST = EOT, ENQ
"""What a terminal sends for Ctrl-D and Ctrl-E."""


@click.command()
@click.argument("port")
@click.argument("file", type=FILE, required=False)
@output_option
@click.option("--baud", type=click.FloatRange(min=1), default=1_000_000, show_default=True, help="Bits per second.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=2,
    show_default=True,
    help="Seconds without a byte from the board after which it does not answer.",
)
@click.option("--items", is_flag=True, help="Show a line for each item and marker.")
@click.option("--check", is_flag=True, help="Compare with the model; shows nothing but the result without --output.")
@form_option
def talk(
    port: str,
    file: str | None,
    output: str,
    baud: float,
    timeout: float,
    items: bool,
    check: bool,
    form: str,
) -> None:
    """Send FILE to the board at PORT and show the text that comes back.

    PORT is the name of a serial port, auto for the only one, or virtual:NAME for a virtual board, which has the form
    of --form; the form of a real board is recognised.

    Without FILE on a terminal, type or paste text: Ctrl-D ends the text, twice it leaves, Ctrl-E shows the
    counters.
    """
    is_interactive = file is None and sys.stdin.isatty()
    if is_interactive and check:
        raise CommandError("--check compares a whole text: name a FILE, or - for standard input")
    with ExitStack() as stack:
        connection = stack.enter_context(_connected(port, baud, form))
        conversation = Conversation(connection, timeout)
        if is_interactive:
            _interact(connection, conversation)
        else:
            _send_file(conversation, file or "-", output, items, check)


@contextmanager
def _connected(port: str, baud: float, form: str) -> Iterator[Port]:
    """The port of a board, or of a virtual one."""
    if port.startswith(VIRTUAL):
        from utf8fpga.boards.virtual import DirectPort, VirtualBoard

        yield DirectPort(VirtualBoard(port.removeprefix(VIRTUAL), baud=baud, core=FORMS[form].core))
        return
    connection = SerialPort(find_port() if port == AUTO else port, baud)
    try:
        yield connection
    finally:
        connection.close()


def _send_file(conversation: Conversation, file: str, output: str, as_lines: bool, check: bool) -> None:
    """Send a file, show what comes back, and compare it with the model."""
    began = time.monotonic()
    transfer = _Transfer(conversation, as_lines, _Checker(conversation.form) if check else None)
    with ExitStack() as stack:
        if not check or not is_standard_output(output):
            transfer.show_in(stack.enter_context(writing(output)))
        transfer.run(file, stack.enter_context(progress("sending", file_size(file), rate=True)))
    transfer.judge()
    seconds = time.monotonic() - began
    counts = f"{counted(transfer.sent, 'byte')}, {counted(transfer.items, 'item')}, {transfer.ill_formed} ill-formed"
    rate = f"{seconds:.1f} s, {transfer.sent / seconds / 1000:.1f} kB/s"
    if check:
        click.echo(f"{counts}, {coloured('all equal to the model', 'green')}; {rate}")
    elif sys.stderr.isatty():
        say(f"{counts}; {rate}")


class _Transfer:
    """A text on its way to the board and back, which is written to `out`, if there is one."""

    def __init__(self, conversation: Conversation, as_lines: bool, checker: _Checker | None) -> None:
        self._conversation, self._as_lines, self._checker = conversation, as_lines, checker
        self._before = conversation.counters
        self._lost: list[int] = []
        self._is_terminal = False
        self.out: BinaryIO | None = None
        self.sent = self.items = 0

    def show_in(self, out: BinaryIO) -> None:
        """Write what comes back to a file."""
        self.out, self._is_terminal = out, out.isatty()

    @property
    def _counted(self) -> Counters:
        """What the board has counted since the start."""
        pairs = zip(self._conversation.counters, self._before, strict=True)
        return Counters(*((now - then) % (1 << 32) for now, then in pairs))

    @property
    def ill_formed(self) -> int:
        """The ill-formed items that the board has counted."""
        return self._counted.ill_formed

    def run(self, file: str, done: Callable[[int], None]) -> None:
        """Send the file; `done` is called with the bytes sent so far."""
        for events in self._conversation.exchange(self._parts(file, done)):
            for event in events:
                self._receive(event)
            if self.out is not None:
                text = "".join(_shown(event, self._as_lines) for event in events)
                if self._is_terminal:
                    text = _harmless(text)
                self.out.write(text.encode("utf-8", "surrogatepass"))
                if self.out is sys.stdout.buffer:
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
        elif not isinstance(event, Counters | Mark):
            if self._checker and not self._lost:
                self._checker.received(event)
            self.items += 1

    def judge(self) -> None:
        """Check that nothing was lost, and that nothing is missing."""
        if self._lost:
            raise CommandError(
                f"the board lost bytes, at {counted(len(self._lost), 'place')}, the first after "
                f"{counted(self._lost[0], 'item')}: "
                "noise on the line",
                status=1,
            )
        if self._checker:
            self._checker.finish()
            if (units := self._counted.units) != self.sent:
                raise CommandError(f"the board counted {counted(units, 'byte')} of {self.sent}", status=1)


_PART = 256
"""Bytes that are given to the model at once."""


def _shown(event: Event, as_lines: bool) -> str:
    """The output for an event: in text only the items."""
    if as_lines:
        return "" if isinstance(event, Counters) else f"{line_of(event)}\n"
    if not isinstance(event, Received):
        return ""
    return chr(event.code_point) if event.code_point <= sys.maxunicode else "\ufffd"


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


# The interactive mode


def _interact(connection: Port, conversation: Conversation) -> None:
    """Send what is typed, and show what comes back, until Ctrl-D is typed twice."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    with _keys() as read:
        say(
            f"board at {connection.name}, form {conversation.form}: type or paste text; "
            "Ctrl-D ends the text, twice it leaves, Ctrl-E shows the counters"
        )
        is_empty = is_asked = False
        keyboard = sys.stdin.fileno()
        # A virtual board has no descriptor: it answers while it is read.
        board = [connection.fileno()] if isinstance(connection, SerialPort) else []
        while True:
            # While the board is busy, the terminal holds what is typed.
            has_room = conversation.room > 2
            is_due = not has_room or conversation.is_waiting
            seconds = (1 if board else 0) if is_due else None
            ready, _, _ = select.select([keyboard, *board] if has_room else board, [], [], seconds)
            if ready != [keyboard]:
                events = conversation.receive(0 if ready else None)
                if _show(console, events, with_counters=is_asked and not conversation.is_waiting):
                    is_asked = False
            if keyboard not in ready:
                continue
            # Each end of a text among the bytes, and what follows it, is sent with a request of its own.
            typed = read((conversation.room - 1) // 2)
            if not typed:
                return
            while typed:
                if is_empty and typed[0] == _END:
                    while conversation.is_waiting:
                        events = conversation.receive()
                        _show(console, events, with_counters=is_asked and not conversation.is_waiting)
                    return
                text, end, typed = typed.partition(bytes([_END]))
                is_asked |= _REQUEST in text
                conversation.send(text.replace(bytes([_REQUEST]), b""), ends=bool(end))
                is_empty = bool(end)


def _show(console: Console, events: Iterable[Event], *, with_counters: bool) -> bool:
    """Print events, of the counters only the first ones, if at all; whether counters were among them."""
    are_shown = False
    for event in events:
        if not isinstance(event, Counters):
            _print(console, event)
        elif with_counters and not are_shown:
            are_shown = True
            _print(console, event)
    return are_shown


def _print(console: Console, event: Event) -> None:
    """Print an event, with the character and its name."""
    if not isinstance(event, Received):
        console.print(line_of(event), style="dim", markup=False)
    elif event.error:
        console.print(line_of(event), style="bold red", markup=False)
    else:
        console.print(f"{line_of(event):8} {described(event.code_point)}", style="green", markup=False)


@contextmanager
def _keys() -> Iterator[Callable[[int], bytes]]:
    """The terminal without line buffer and echo during the block, which receives a function that reads from it."""
    try:
        import termios
        import tty
    except ImportError:
        raise CommandError("this terminal cannot be read key by key: name a FILE, or - for standard input") from None
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor, termios.TCSADRAIN)  # Keeps what has been typed already.
    # Ctrl-\ would end the process at once, and leave the terminal as it is now.
    modes = termios.tcgetattr(descriptor)
    modes[6][termios.VQUIT] = bytes([os.fpathconf(descriptor, "PC_VDISABLE")])
    termios.tcsetattr(descriptor, termios.TCSADRAIN, modes)
    try:
        yield lambda size: os.read(descriptor, size)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
