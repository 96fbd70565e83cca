# SPDX-License-Identifier: BSD-2-Clause
"""The virtual board and the host's side: texts at line rate, and ports.

Expected items are those of CPython, or are written out.
"""

from __future__ import annotations

import errno
import functools
import math
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command import utf8fpga
from support.engines import requires_graph
from support.oracle import refusal
from support.pty_board import on_pty

from utf8fpga.boards import host
from utf8fpga.boards.events import GarbledError, Received, Text, Words
from utf8fpga.boards.forms import FORMS, Expected, answer_in
from utf8fpga.boards.host import Conversation, PortError, SerialPort, TalkError, find_port
from utf8fpga.boards.protocol import Mark, escaped
from utf8fpga.boards.virtual import VirtualBoard
from utf8fpga.cli.demo import show_virtual_board
from utf8fpga.cli.output import CommandError

pytestmark = requires_graph

PATIENCE = 300
"""Seconds after which a test gives up; a loaded machine simulates slowly."""


class Wire:
    """A `Port` that is connected to a virtual board without an operating system in between.

    Attributes:
        swallowed: the number of requests that are lost on the line from now on.
        requests: the number of those that were written alone, not behind bytes.
    """

    name = "wire"

    def __init__(self, board: VirtualBoard, baud: float | None = None) -> None:
        self._board, self._baud = board, baud
        self._received = b""
        self.swallowed = self.requests = 0

    def write(self, data: bytes) -> None:
        self.requests += data == b"\x05"
        if self.swallowed and data.endswith(b"\x05"):
            self.swallowed -= 1
            data = data[:-1]
        self._received += self._board.exchange(data, baud=self._baud)

    def read(self, seconds: float) -> bytes:
        del seconds
        data, self._received = self._received + self._board.drain(baud=self._baud), b""
        return data


_boards: dict[tuple[str, float], VirtualBoard] = {}


def board(form: str = "words", *, baud: float = 3e6) -> VirtualBoard:
    """A board without a history, which is built once; its text has ended."""
    found = _boards.get((form, baud))
    if found is None:
        found = _boards[form, baud] = VirtualBoard("icebreaker", core=FORMS[form].core, baud=baud)
    found.reset()
    return found


def conversation(of: VirtualBoard, text: bytes) -> list[Any]:
    """What comes back for a text, without the answers to requests."""
    events = Conversation(Wire(of)).exchange([text])
    return [event for some in events for event in some if event is not Mark.ANSWER]


def characters(events: list[Any]) -> str:
    return "".join(chr(event.code_point) for event in events if isinstance(event, Received))


LED_SECONDS = 0.001
"""The time for which the boards of these tests show an event, so that it need not be simulated for 50 ms."""


@pytest.fixture(autouse=True)
def short_led_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("utf8fpga.boards.uart_core._LED_SECONDS", LED_SECONDS)


def lit_long_after(of: VirtualBoard) -> list[str]:
    """The LEDs that are on when no event is shown any more: on an iCEBreaker the error LED, if bytes were lost."""
    idle = of.cycles
    while of.cycles - idle < 1.2 * LED_SECONDS * of.clock_hz:
        of.exchange(b"")
    return [name for name, is_on in of.leds.items() if is_on]


DAMAGED = b"A\xc3\xa9\xf0\x9f\x98\x80 \xe2\x82A \xed\xa0\x80 \xc0 \xf5 \xff \xf4\x8f\xbf\xbf\xf0\x9f"


@pytest.mark.smoke
def test_utf8_has_markers_that_no_text_has() -> None:
    of = board("utf-8")
    sent = of.exchange(escaped(DAMAGED) + b"\x04\x05") + of.drain()
    assert sent == repaired_and_marked(DAMAGED)
    assert answer_in(sent) == "utf-8"


def repaired_and_marked(text: bytes) -> bytes:
    """The repaired text, its end, and an answer: markers of bits 29 and 28, see docs/boards.md."""
    return text.decode("utf-8", "replace").encode() + bytes.fromhex("FF 00 00 00 20 FF 00 00 00 10")


def test_any_division_of_a_text_gives_the_same_events() -> None:
    data = repaired_and_marked(DAMAGED) + "é".encode()
    whole = Text().feed(data)
    assert characters(whole) == DAMAGED.decode("utf-8", "replace") + "é"
    assert [event for event in whole if not isinstance(event, Received)] == [Mark.END, Mark.ANSWER]
    parser = Text()
    assert [event for place in range(len(data)) for event in parser.feed(data[place : place + 1])] == whole


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"\xff\x41\0\0\0", "U+0041 as a marker"),
        (b"\xff\0\0\0\x70", "the word 70000000"),
        (b"\xe2\x82\xff", "ill-formed UTF-8"),
    ],
)
def test_text_that_no_board_sends_is_garbled(data: bytes, found: str) -> None:
    with pytest.raises(GarbledError, match=f"^{re.escape(found)}$"):
        Text().feed(data)


@pytest.mark.parametrize("form", ["words", "utf-8"])
def test_any_text_at_line_rate_loses_nothing(form: str) -> None:
    # Every byte in every neighbourhood, ASCII for which the output is the longest, and sequences of four bytes.
    generator = random.Random(form)
    text = generator.randbytes(1500) + b"A" * 1500 + bytes(range(256)) * 2 + "😀é€".encode() * 100
    of = board(form)
    events = conversation(of, text)
    assert characters(events) == text.decode("utf-8", "replace")
    assert events[-1] is Mark.END
    assert Mark.LOST not in events
    assert lit_long_after(of) == []
    assert events[:-1] == [*Expected(FORMS[form].core).feed(text, final=True)]


@pytest.mark.parametrize(("name", "baud", "led"), [("icebreaker", 3e6, "error"), ("ulx3s-85f", 6.25e6, "overflow")])
def test_an_overflow_is_lit_until_reset(name: str, baud: float, led: str) -> None:
    # With two LEDs, an overflow is an error that does not go out.
    of = board(baud=baud) if name == "icebreaker" else VirtualBoard(name, baud=baud)
    assert ("overflow" in of.leds) == (led == "overflow")

    def lit_by(data: bytes) -> list[str]:
        assert of.exchange(data) + of.drain()
        return lit_long_after(of)

    assert lit_by(b"A" * 2048 + b"\xff\x05") == [], "as many as the buffer holds"
    assert lit_by(b"A" * 3500) == [led]
    assert lit_by(b"A\x05") == [led]
    of.reset()
    assert lit_by(b"A") == []


def test_a_later_conversation_ends_what_an_interrupted_one_left() -> None:
    of = board()
    # In the middle of a sequence, and of an escape.
    of.exchange(b"AB\xe2\x82\x10")
    assert conversation(of, b"\xacC") == [Received(0xFFFD, True), Received(ord("C"), False), Mark.END]


# Damage and silence


def test_a_break_condition_ends_the_text() -> None:
    of = board()
    sent = of.exchange(b"A\xe2\x82") + of.send_break() + of.exchange(b"\x82") + of.drain()
    assert Words().feed(sent) == [
        *(Received(ord("A"), False), Received(0xFFFD, True), Mark.END, Received(0xFFFD, True))
    ]


def test_a_lost_request_is_repeated() -> None:
    wire = Wire(board())
    talk = Conversation(wire)
    for _ in range(2):
        wire.swallowed = 3
        events = [event for some in talk.exchange([b"A" * 2000]) for event in some]
        assert characters(events) == "A" * 2000
        assert wire.swallowed == 0
    # One to begin with, and one each time for all three that were lost.
    assert wire.requests == 3


def test_a_board_that_falls_silent_is_reported() -> None:
    wire = Wire(board())
    talk = Conversation(wire, 7)
    wire.swallowed = 99
    message = "wire: no answer within 7 s after 1020 bytes: check the cable"
    assert refusal(TalkError, lambda: list(talk.exchange([b"A" * 5000]))) == message


@pytest.mark.parametrize(
    ("baud", "said"),
    [(3e6, "is not that of a board of utf8fpga"), (2e6, "is not that of a board of utf8fpga"), (3e5, "")],
)
def test_a_wrong_speed_is_reported(baud: float, said: str) -> None:
    of = board(baud=1e6)
    message = refusal(TalkError, lambda: Conversation(Wire(of, baud)))
    assert said in message
    assert message.endswith("specify its speed with --baud")


class Scripted:
    """A `Port` behind which a function answers to what is written; it is called with None if the host waits."""

    name = "scripted"

    def __init__(self, answer: Callable[[bytes | None], bytes]) -> None:
        self._answer, self._received = answer, b""

    def write(self, data: bytes) -> None:
        self._received += self._answer(data)

    def read(self, seconds: float) -> bytes:
        data, self._received = self._received or (self._answer(None) if seconds else b""), b""
        return data


def test_no_board_is_reported() -> None:
    message = "scripted: no answer within 2 s: check that the bitstream is loaded, the cable, and the speed, --baud"
    assert refusal(TalkError, lambda: Conversation(Scripted(lambda _data: b""))) == message


ANSWER = bytes.fromhex("00 00 00 10")
"""Bit 28 set, see docs/boards.md."""


@pytest.mark.parametrize("is_quiet_first", [False, True])
def test_a_device_that_floods_is_no_board(is_quiet_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(host, "monotonic", lambda: next(clock))
    has_asked = not is_quiet_first

    def answer(data: bytes | None) -> bytes:
        nonlocal has_asked
        has_asked |= data == b"\x05"
        return b"noise" * has_asked

    message = (
        "scripted: the answer '6E 6F 69 73 65{}' is not that of a board of utf8fpga: specify its speed with --baud"
    )
    more = " 6E 6F 69 73 65 6E 6F" if is_quiet_first else ""
    assert refusal(TalkError, lambda: Conversation(Scripted(answer), 7)) == message.format(more)
    assert next(clock) < 100, "ten times the timeout of 7 s"


def test_items_without_an_answer_are_bounded() -> None:
    def answer(data: bytes | None) -> bytes:
        return b"" if data == b"\4\4" else ANSWER if data == b"\5" else b"A\0\0\0" * 1024 if talks else b""

    talks = False
    talk = Conversation(Scripted(answer))
    talks = True
    message = (
        "scripted: 135168 bytes without an answer, more than any board sends: noise on the line, or another device"
    )
    assert refusal(TalkError, lambda: list(talk.exchange([b"A" * 100]))) == message


@pytest.mark.parametrize("word", [0x70000000, 0x00200000, 0x80200000])
def test_output_that_no_board_sends_is_reported(word: int) -> None:
    wire = Wire(board())
    talk = Conversation(wire)
    wire._received = word.to_bytes(4, "little")
    message = (
        f"wire: received the word {word:08X}, which no board sends in the form words: noise on the line, or a "
        "wrong speed, --baud"
    )
    assert refusal(TalkError, talk.receive) == message


# Ports


@pytest.fixture
def port() -> Iterator[str]:
    pytest.importorskip("serial", reason="requires the extra 'serial'")
    with on_pty(board(baud=1e6)) as (name, _unplug):
        yield name


def test_a_text_through_a_serial_port(port: str) -> None:
    events = Conversation(SerialPort(port, 1e6), PATIENCE).exchange([DAMAGED])
    found = [event for some in events for event in some if isinstance(event, Received)]
    assert characters(found) == DAMAGED.decode("utf-8", "replace")


def test_an_unplugged_cable_is_reported() -> None:
    pytest.importorskip("serial", reason="requires the extra 'serial'")
    with on_pty(board(baud=1e6)) as (name, unplug):
        events = Conversation(SerialPort(name, 1e6), PATIENCE).exchange([b"A" * 50_000])
        next(events)
        unplug()
        message = refusal(TalkError, lambda: list(events))
    assert message.startswith(f"{name}: the connection was lost: ")


def test_ports_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    serial = pytest.importorskip("serial", reason="requires the extra 'serial'")

    def reason(name: str | Path) -> str:
        return refusal(PortError, lambda: SerialPort(str(name), 1e6))

    missing = tmp_path / "none"
    with monkeypatch.context() as patch:
        names = {"ttyUSB1": "USB VID:PID=0403:6010", "ttyS0": "n/a", "ttyACM0": "USB"}
        known = [SimpleNamespace(device=f"/dev/{name}", hwid=hwid) for name, hwid in names.items()]
        patch.setattr("serial.tools.list_ports.comports", lambda: known)
        message = f"port {str(missing)!r}: there is no such port; this machine has /dev/ttyACM0, /dev/ttyUSB1"
        assert reason(missing) == message
        known.clear()
        assert reason(missing) == f"port {str(missing)!r}: there is no such port"
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path, tmp_path / "file"):
        assert reason(path) == f"port {str(path)!r}: it is not a serial port, or has no such speed"
    for baud in (0, 1e12, math.inf, math.nan):
        message = f"port {port!r}: baud rate {baud:.10g} is not in 1..2147483647"
        assert refusal(PortError, functools.partial(SerialPort, port, baud)) == message
    other = SerialPort(port, 1e6)
    assert reason(port) == f"port {port!r}: another program uses it: close that"
    other.close()

    def forbidden(*_arguments: Any, **_options: Any) -> None:
        raise serial.SerialException(errno.EACCES, f"could not open port: {os.strerror(errno.EACCES)}")

    monkeypatch.setattr(serial, "Serial", forbidden)
    assert reason("mine") == (
        "port 'mine': no permission to open it: add yourself to the group that owns it (often dialout), and log in "
        "again"
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "this machine has no serial port: connect the board, or name its port"),
        (["/dev/a", "/dev/b"], "this machine has several serial ports: name one of /dev/a, /dev/b"),
    ],
)
def test_the_only_port_is_found(names: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("serial", reason="requires the extra 'serial'")
    monkeypatch.setattr("utf8fpga.boards.host.port_names", lambda: names)
    assert refusal(PortError, find_port) == said
    names[:] = ["/dev/one"]
    assert find_port() == "/dev/one"


def test_without_pyserial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "serial", None)
    message = "pyserial is not installed: pip install 'utf8fpga[serial]'"
    assert refusal(PortError, find_port) == message
    assert refusal(PortError, lambda: SerialPort("any", 1e6)) == message


def test_a_virtual_board_needs_no_pyserial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "serial", None)
    done = utf8fpga("talk", "virtual:icebreaker", "--baud", "3000000", "--check", data=b"\xe1\x80A")
    assert done.stdout.decode().startswith("3 bytes, 2 items, 1 ill-formed, all equal to the model; "), done.stderr


@pytest.mark.smoke
def test_the_demo_shows_what_a_virtual_board_sends(capsys: pytest.CaptureFixture[str]) -> None:
    show_virtual_board(b"A\xe2\x82(\xff\xff")
    assert capsys.readouterr().out == (
        "ill-formed FF: invalid byte\nill-formed E2 82: truncated\n\n6 bytes, 5 items, all equal\n"
    )


def test_the_demo_ends_with_an_error_if_the_board_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Expected, "feed", lambda *_arguments, **_named: [])
    assert refusal(CommandError, show_virtual_board, b"A") == "the virtual icebreaker differs from the model"
