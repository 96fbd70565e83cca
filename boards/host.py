# SPDX-License-Identifier: BSD-2-Clause
"""The host's side of `utf8fpga.boards.protocol`: serial ports, and texts with flow control."""

from __future__ import annotations

import errno
import importlib
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Protocol

from utf8fpga.boards.events import Event, GarbledError
from utf8fpga.boards.forms import FORMS, answer_in
from utf8fpga.boards.protocol import ENQ, EOT, WINDOW, Mark, escaped
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import UserError
from utf8fpga.model.render import counted

_SLICE = WINDOW // 4 - 1
"""The bytes of a text in front of each request, of which several are on the way at once."""

_MOST_GREETING = 10
"""Upper bound on the time for an answer that other bytes precede, in multiples of the time to wait for a byte."""

_MOST_BYTES = 128 * WINDOW
"""Upper bound on the bytes of a board between two answers: no form has that many for the bytes without an answer."""

_QUIET_SECONDS = 0.1
"""The time without a byte from the board after which it is taken to have sent everything, before a conversation."""


class TalkError(ToolError):
    """The conversation with a board failed; the message is one line with the port and the reason."""


class PortError(UserError):
    """A port cannot be opened; the message is one line with the port, the reason, and what would be correct."""

    exit_status = 2


class Port(Protocol):
    """A connection to a board."""

    @property
    def name(self) -> str:
        """Its name, for messages."""

    def read(self, seconds: float) -> bytes:
        """Bytes that have arrived; none if there are none within so many seconds.

        Raises:
            TalkError: the port is gone.
        """

    def write(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            TalkError: the port is gone, or does not accept them.
        """


# The conversation


class Conversation:
    """Texts that a host sends to a board, and what the board answers.

    Args:
        seconds: how long to wait for a byte from the board before giving up.

    Attributes:
        form: the form of the board's output, which its first answer shows.

    Raises:
        TalkError: the board does not answer, or not in a known form.
    """

    def __init__(self, port: Port, seconds: float = 2) -> None:
        self._port, self._seconds = port, seconds
        self.form = self._greet()
        self._parser = FORMS[self.form].parser()
        self._waiting: deque[int] = deque()
        """For each request without an answer the entries of the board's buffer that it and the bytes before it need."""
        self._sent = 0
        self._since_answer = 0
        """The bytes received since the last answer."""
        self._asked_again = False

    @property
    def room(self) -> int:
        """The bytes that may be sent now, one of them a request."""
        return WINDOW - sum(self._waiting)

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is due."""
        return bool(self._waiting)

    def _greet(self) -> str:
        """End what an earlier conversation may have left, and ask for an answer."""
        # The first EOT is a byte of the text if a DLE was the last byte.
        deadline = monotonic() + _MOST_GREETING * self._seconds
        self._port.write(bytes([EOT, EOT]))
        while received := self._port.read(_QUIET_SECONDS):
            if monotonic() > deadline:
                raise self._not_a_board(received)
        self._port.write(bytes([ENQ]))
        deadline = monotonic() + _MOST_GREETING * self._seconds
        while data := self._port.read(self._seconds):
            received = received[-_GREETING_BYTES:] + data
            if answer := answer_in(received):
                return answer
            if monotonic() > deadline:
                break
        if received:
            raise self._not_a_board(received)
        raise TalkError(
            f"{self._port.name}: no answer within {self._seconds:g} s: check that the bitstream is loaded, the cable, "
            "and the speed, --baud"
        )

    def _not_a_board(self, received: bytes) -> TalkError:
        return TalkError(
            f"{self._port.name}: the answer {received[:12].hex(' ').upper()!r} is not that of a board of utf8fpga: "
            "specify its speed with --baud"
        )

    def send(self, data: bytes, *, ends: bool = False) -> None:
        """Send bytes of a text, and a request behind them; there must be room for them."""
        cost = len(data) + ends + 1
        assert cost <= self.room
        self._port.write(escaped(data) + bytes([EOT] * ends) + bytes([ENQ]))
        self._waiting.append(cost)
        self._sent += len(data)

    def receive(self, seconds: float | None = None) -> list[Event]:
        """What has arrived; waits for it if nothing has. Answers to requests of `send` are among it.

        Args:
            seconds: how long to wait at most; default: as long as the board may take, then ask once more.

        Raises:
            TalkError: the board does not answer, or what it sends is not in its form.
        """
        data = self._port.read(self._seconds if seconds is None else seconds)
        if not data:
            if seconds is None and self._waiting:
                self._ask_again()
            return []
        self._asked_again = False
        self._since_answer += len(data)
        try:
            events = self._parser.feed(data)
        except GarbledError as found:
            raise TalkError(
                f"{self._port.name}: received {found}, which no board sends in the form {self.form}: noise on the "
                "line, or a wrong speed, --baud"
            ) from None
        for event in events:
            if event is Mark.ANSWER:
                self._since_answer = 0
                if self._waiting:
                    self._waiting.popleft()
        if self._since_answer > _MOST_BYTES:
            raise TalkError(
                f"{self._port.name}: {self._since_answer} bytes without an answer, more than any board sends: noise on "
                "the line, or another device"
            )
        return events

    def _ask_again(self) -> None:
        """Send a request in place of one that may have been lost on the line."""
        if self._asked_again:
            raise TalkError(
                f"{self._port.name}: no answer within {self._seconds:g} s after {counted(self._sent, 'byte')}: "
                "check the cable"
            )
        # The board is idle, so that the answer to this request is one to all.
        self._port.write(bytes([ENQ]))
        self._waiting = deque([sum(self._waiting)])
        self._asked_again = True

    def exchange(self, text: Iterable[bytes], *, is_typed: bool = False) -> Iterator[list[Event]]:
        """Send a text, end it, and yield what the board sends, at least up to the answer behind the end.

        Args:
            text: the text in parts of any size.
            is_typed: wait for the answer to each part before the next one is read.
        """
        for part in _slices(text):
            while len(part) + 1 > self.room:
                yield self.receive()
            self.send(part)
            while is_typed and self.is_waiting:
                yield self.receive()
            while events := self.receive(0):
                yield events
        while self.room < 2:
            yield self.receive()
        self.send(b"", ends=True)
        while self.is_waiting:
            yield self.receive()


_GREETING_BYTES = 512


def _slices(text: Iterable[bytes]) -> Iterator[bytes]:
    for part in text:
        for start in range(0, len(part), _SLICE):
            yield part[start : start + _SLICE]


# Serial ports


def _serial() -> Any:
    try:
        return importlib.import_module("serial")
    except ImportError:
        raise PortError("pyserial is not installed: pip install 'utf8fpga[serial]'") from None


def find_port() -> str:
    """The name of the serial port, if this machine has exactly one.

    Raises:
        PortError: pyserial is not installed, or there is none or more than one.
    """
    _serial()
    names = port_names()
    if not names:
        raise PortError("this machine has no serial port: connect the board, or name its port")
    if len(names) > 1:
        raise PortError(f"this machine has several serial ports: name one of {', '.join(names)}")
    return names[0]


def port_names() -> list[str]:
    ports = importlib.import_module("serial.tools.list_ports")
    # A port without hardware has no description in Linux.
    return sorted(port.device for port in ports.comports() if port.hwid != "n/a")


class SerialPort:
    """A serial port, 8N1 without handshake lines; see `Port`.

    Args:
        baud: bits per second, in 1..2147483647.

    Raises:
        PortError: it cannot be opened, not with this speed, or pyserial is not installed.
    """

    def __init__(self, name: str, baud: float) -> None:
        serial = _serial()
        if not 1 <= baud <= _MAX_BAUD:
            raise PortError(f"port {name!r}: baud rate {baud:.10g} is not in 1..{_MAX_BAUD}")
        self.name = name
        self._gone: tuple[type[Exception], ...] = (serial.SerialException, OSError, TypeError)
        self._full = serial.SerialTimeoutException
        try:
            self._port = serial.Serial(name, round(baud), timeout=0, write_timeout=_WRITE_SECONDS, exclusive=True)
        except ValueError as error:
            raise PortError(f"port {name!r} cannot be used at {baud:.10g} baud: {error}") from None
        except OSError as error:  # SerialException is one.
            raise PortError(f"port {name!r}: {_open_reason(error)}") from None

    def fileno(self) -> int:
        """Its descriptor, on systems that have them."""
        return int(self._port.fileno())

    def read(self, seconds: float) -> bytes:
        """See `Port`."""
        with self._present():
            waiting = self._port.in_waiting
            if not waiting and seconds > 0:
                self._port.timeout = seconds
                first: bytes = self._port.read(1)
                self._port.timeout = 0
                waiting = self._port.in_waiting
                return first + (self._port.read(waiting) if waiting else b"")
            return bytes(self._port.read(waiting)) if waiting else b""

    def write(self, data: bytes) -> None:
        """See `Port`."""
        with self._present():
            try:
                self._port.write(data)
            except self._full:
                raise TalkError(f"{self.name}: it accepted no data for {_WRITE_SECONDS} s: check the cable") from None

    def close(self) -> None:
        """Close it."""
        with self._present():
            self._port.close()

    @contextmanager
    def _present(self) -> Iterator[None]:
        try:
            yield
        except self._gone:
            raise TalkError(f"{self.name}: the connection was lost: the cable may be unplugged") from None


_WRITE_SECONDS = 10

_MAX_BAUD = (1 << 31) - 1
"""Upper bound on the speed in the interface of operating systems."""


def _open_reason(error: OSError) -> str:
    """Why a port cannot be opened."""
    found = re.match(r"Could not configure port: \((\d+),", str(error))
    number = int(found[1]) if found else error.errno  # pyserial has it in the message only.
    if number == errno.ENOENT:
        names = port_names()
        return "there is no such port" + (f"; this machine has {', '.join(names)}" if names else "")
    if number in (errno.EACCES, errno.EPERM):
        return "no permission to open it: add yourself to the group that owns it (often dialout), and log in again"
    if number == errno.EBUSY or "exclusively lock" in str(error):
        return "another program uses it: close that"
    return "it is not a serial port, or has no such speed"
