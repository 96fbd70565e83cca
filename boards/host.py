# SPDX-License-Identifier: BSD-2-Clause
"""The host's side of a board: texts with flow control, see `utf8fpga.boards.uart_core`, and serial ports."""

from __future__ import annotations

import errno
import importlib
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from time import monotonic
from typing import Any, Protocol

from utf8fpga.boards.forms import Event, Form, Mark, Received, expected_items
from utf8fpga.boards.uart_core import ENQ, EOT, WINDOW, escaped
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model.exceptions import InvalidArgumentError

_SLICE = WINDOW // 4 - 1
"""The bytes of a text in front of each request, of which several are on the way at once."""

_MOST_GREETING = 10
"""Upper bound on the time for an answer that other bytes precede, in multiples of the time to wait for a byte."""

_QUIET_SECONDS = 0.1
"""The time without a byte from the board after which it is taken to have sent everything, before a conversation."""


class Port(Protocol):
    """A connection to a board."""

    name: str
    """Its name, for messages."""

    def read(self, seconds: float) -> bytes:
        """Bytes that have arrived; none if there are none within so many seconds.

        Raises:
            ToolError: the port is gone.
        """

    def write(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            ToolError: the port is gone, or does not accept them.
        """


class Conversation:
    """Texts that a host sends to a board, and what the board answers.

    Args:
        form: the form of the board's output.
        seconds: how long to wait for a byte from the board before giving up.

    Raises:
        ToolError: the board does not answer, or not in this form.
    """

    def __init__(self, port: Port, form: Form, seconds: float = 2) -> None:
        self._port, self._form, self._seconds = port, form, seconds
        self._parser = form()
        self._waiting: deque[int] = deque()
        """For each request without an answer the entries of the board's buffer that it and the bytes before it need."""
        self._begin()

    def _begin(self) -> None:
        """End what an earlier conversation may have left, and wait for an answer."""
        deadline = monotonic() + _MOST_GREETING * self._seconds
        # The first EOT is a byte of the text if a DLE was the last byte.
        self._port.write(bytes([EOT, EOT]))
        while received := self._port.read(_QUIET_SECONDS):
            if monotonic() > deadline:
                raise self._no_answer(received)
        self._port.write(bytes([ENQ]))
        while not received.endswith(self._form.marks[Mark.ANSWER]):
            data = self._port.read(self._seconds)
            received += data
            if not data or monotonic() > deadline:
                raise self._no_answer(received)

    def _no_answer(self, received: bytes) -> ToolError:
        found = f"{received[:12].hex(' ').upper()!r} is" if received else f"in {self._seconds:g} s"
        return ToolError(
            f"{self._port.name}: {found} no answer of a board in the form {self._form.name}: check that the bitstream "
            "is loaded, the cable, --form and --baud"
        )

    def exchange(self, text: Iterable[bytes], *, is_typed: bool = False) -> Iterator[list[Event]]:
        """Send a text, end it, and yield what the board sends, at least up to the answer behind the end.

        Args:
            text: the text in parts of any size.
            is_typed: wait for the answer to each part before the next one is read.

        Raises:
            ToolError: the board does not answer, or what it sends is not in its form.
        """
        for part in _slices(text):
            while sum(self._waiting) + len(part) + 1 > WINDOW:
                yield self._receive(self._seconds)
            self._send(part)
            while is_typed and self._waiting:
                yield self._receive(self._seconds)
            while events := self._receive(0):
                yield events
        while sum(self._waiting) + 2 > WINDOW:
            yield self._receive(self._seconds)
        self._send(b"", end=bytes([EOT]))
        while self._waiting:
            yield self._receive(self._seconds)

    def _send(self, part: bytes, end: bytes = b"") -> None:
        """Send bytes of a text, and a request behind them."""
        self._port.write(escaped(part) + end + bytes([ENQ]))
        self._waiting.append(len(part) + len(end) + 1)

    def _receive(self, seconds: float) -> list[Event]:
        """What has arrived; waits for it if nothing has."""
        data = self._port.read(seconds)
        if not data and seconds:
            raise ToolError(f"{self._port.name}: no answer in {seconds:g} s: check the cable")
        events = self._parser.feed(data)
        for _ in range(min(events.count(Mark.ANSWER), len(self._waiting))):
            self._waiting.popleft()
        return events


def check_items(found: Sequence[Received], text: bytes, form: Form) -> None:
    """Check that a board has sent what the model expects.

    Raises:
        ToolError: it has not.
    """
    for number, (item, other) in enumerate(zip_longest(found, expected_items(text, form))):
        if item != other:
            raise ToolError(f"item {number} differs from the model: {item or 'none'} in place of {other or 'none'}")


def _slices(text: Iterable[bytes]) -> Iterator[bytes]:
    for part in text:
        for start in range(0, len(part), _SLICE):
            yield part[start : start + _SLICE]


def _serial(module: str = "serial") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidArgumentError("pyserial is not installed: pip install -e '.[serial]'") from None


def port_names() -> list[str]:
    """The names of the serial ports of this machine."""
    # A port without hardware has no description in Linux.
    ports = _serial("serial.tools.list_ports").comports()
    return sorted(port.device for port in ports if port.hwid != "n/a")


def find_port() -> str:
    """The name of the serial port, if this machine has exactly one.

    Raises:
        InvalidArgumentError: pyserial is not installed, or there is none or more than one.
    """
    names = port_names()
    if len(names) == 1:
        return names[0]
    found = f"several serial ports: name one of {', '.join(names)}" if names else "no serial port: connect the board"
    raise InvalidArgumentError(f"this machine has {found}")


class SerialPort:
    """A serial port, 8N1 without handshake lines; see `Port`.

    Args:
        baud: bits per second.

    Raises:
        InvalidArgumentError: it cannot be opened, not with this speed, or pyserial is not installed.
    """

    def __init__(self, name: str, baud: float) -> None:
        serial = _serial()
        self.name = name
        try:
            self._port = serial.Serial(name, round(baud), timeout=0, write_timeout=10, exclusive=True)
        except (ValueError, OSError) as error:  # SerialException is one.
            raise InvalidArgumentError(f"port {name!r}: {_open_reason(error, baud)}") from None

    def read(self, seconds: float) -> bytes:
        """See `Port`."""
        with self._present():
            self._port.timeout = seconds
            first = bytes(self._port.read(1))
            return first + bytes(self._port.read(self._port.in_waiting if first else 0))

    def write(self, data: bytes) -> None:
        """See `Port`."""
        with self._present():
            self._port.write(data)

    @contextmanager
    def _present(self) -> Iterator[None]:
        try:
            yield
        except (OSError, TypeError):  # Errors of pyserial are among them.
            raise ToolError(f"{self.name}: the connection was lost: the cable may be unplugged") from None


def _open_reason(error: Exception, baud: float) -> str:
    """Why a port cannot be opened."""
    found = re.match(r"Could not configure port: \((\d+),", str(error))
    number = int(found[1]) if found else getattr(error, "errno", None)  # pyserial has it in the message only.
    if number == errno.ENOENT:
        names = port_names()
        return "there is no such port" + (f"; this machine has {', '.join(names)}" if names else "")
    if number in (errno.EACCES, errno.EPERM):
        return "no permission to open it: add yourself to the group that owns it (often dialout), and log in again"
    if number == errno.EBUSY or "exclusively lock" in str(error):
        return "another program uses it: close that"
    return f"it is not a serial port, or has not the speed {baud:.10g}"
