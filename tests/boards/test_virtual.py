# SPDX-License-Identifier: BSD-2-Clause
"""The virtual board and the host's side: texts at line rate, and ports.

Expected items are those of CPython, or are written out.
"""

from __future__ import annotations

import errno
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.engines import requires_graph
from support.oracle import refusal
from support.pty_board import on_pty

from utf8fpga.boards import host
from utf8fpga.boards.forms import FORMS, Mark, Received, Text, expected_items
from utf8fpga.boards.host import Conversation, SerialPort, find_port
from utf8fpga.boards.uart_core import escaped
from utf8fpga.boards.virtual import VirtualBoard
from utf8fpga.cli.demo import show_virtual_board
from utf8fpga.hdl.toolchain import ToolError
from utf8fpga.model import InvalidArgumentError

pytestmark = requires_graph

PATIENCE = 300
"""Seconds after which a test gives up; a loaded machine simulates slowly."""


WORDS, TEXT = FORMS["words"], FORMS["utf-8"]


_boards: dict[tuple[str, float], VirtualBoard] = {}


def board(form: str = "words", *, baud: float = 3e6) -> VirtualBoard:
    """A board without a history, which is built once; its text has ended."""
    found = _boards.get((form, baud))
    if found is None:
        found = _boards[form, baud] = VirtualBoard("icebreaker", FORMS[form], baud=baud)
    found.bit = 12e6 / baud
    found.reset()
    return found


def conversation(of: VirtualBoard, text: bytes, form: str = "words") -> list[Any]:
    """What comes back for a text, without the answers to requests."""
    events = Conversation(of, FORMS[form]).exchange([text])
    return [event for some in events for event in some if event is not Mark.ANSWER]


def characters(events: list[Any]) -> str:
    return "".join(chr(event.code_point) for event in events if isinstance(event, Received))


DAMAGED = b"A\xc3\xa9\xf0\x9f\x98\x80 \xe2\x82A \xed\xa0\x80 \xc0 \xf5 \xff \xf4\x8f\xbf\xbf\xf0\x9f"


@pytest.mark.smoke
def test_repaired_text_has_markers_that_no_text_has() -> None:
    of = board("utf-8")
    of.write(escaped(DAMAGED) + b"\x04\x05")
    sent = b"".join(iter(lambda: of.read(0), b""))
    # The end of the text and an answer, see docs/boards.md.
    assert sent == DAMAGED.decode("utf-8", "replace").encode() + b"\xfe\xff"
    whole = Text().feed(sent)
    assert characters(whole) == DAMAGED.decode("utf-8", "replace")
    assert whole[-2:] == [Mark.END, Mark.ANSWER]
    parser = Text()
    assert [event for place in range(len(sent)) for event in parser.feed(sent[place : place + 1])] == whole
    with pytest.raises(ToolError, match=r"^received ill-formed UTF-8, which no board sends in this form: "):
        parser.feed(b"\xe2\x82\xff")


@pytest.mark.parametrize("form", FORMS)
def test_any_text_at_line_rate_loses_nothing(form: str) -> None:
    # Every byte in every neighbourhood, ASCII for which the output is the longest, and sequences of four bytes.
    generator = random.Random(form)
    text = generator.randbytes(1500) + b"A" * 1500 + bytes(range(256)) * 2 + "😀é€".encode() * 100
    events = conversation(board(form), text, form)
    assert characters(events) == text.decode("utf-8", "replace")
    assert events[-1] is Mark.END
    assert Mark.LOST not in events
    assert events[:-1] == expected_items(text, FORMS[form])


def test_a_later_conversation_ends_what_an_interrupted_one_left() -> None:
    of = board()
    # In the middle of a sequence, and of an escape.
    of.write(b"AB\xe2\x82\x10")
    assert conversation(of, b"\xacC") == [Received(0xFFFD, True), Received(ord("C"), False), Mark.END]


# Damage and silence


@pytest.mark.parametrize("baud", [3e6, 3e5])
def test_a_wrong_speed_is_reported(baud: float) -> None:
    of = board(baud=1e6)
    of.bit = 12e6 / baud
    message = refusal(ToolError, lambda: Conversation(of, WORDS))
    end = "no answer of a board in the form words: check that the bitstream is loaded, the cable, --form and --baud"
    assert message.endswith(end)


def test_a_wrong_form_is_reported() -> None:
    assert "is no answer of a board in the form utf-8: " in refusal(ToolError, lambda: Conversation(board(), TEXT))


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


@pytest.mark.parametrize("is_quiet_first", [False, True])
def test_a_device_that_floods_is_no_board(is_quiet_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10**6))
    monkeypatch.setattr(host, "monotonic", lambda: next(clock))
    has_asked = not is_quiet_first

    def answer(data: bytes | None) -> bytes:
        nonlocal has_asked
        has_asked |= data == b"\x05"
        return b"noise" * has_asked

    message = refusal(ToolError, lambda: Conversation(Scripted(answer), WORDS, 7))
    assert "6E 6F 69 73 65" in message
    assert next(clock) < 100, "ten times the timeout of 7 s"


@pytest.mark.parametrize(
    ("later", "said"),
    [
        (b"", "scripted: no answer in 2 s: check the cable"),
        (0x70000000, "received the word 70000000, which no board sends in this form: noise on the line"),
        (0x00200000, "received the word 00200000, "),
        (0x80200000, "received the word 80200000, "),
    ],
)
def test_a_board_that_is_lost_during_a_conversation_is_reported(later: Any, said: str) -> None:
    # Bit 28 is set in the answer, see docs/boards.md.
    answers = {b"\4\4": b"", b"\5": bytes.fromhex("00 00 00 10")}
    sent = later.to_bytes(4, "little") if later else b""
    port = Scripted(lambda data: answers.get(data or b"", b""))
    talk = Conversation(port, WORDS)
    port._received = sent
    assert refusal(ToolError, lambda: list(talk.exchange([b"A" * 5000]))).startswith(said)


# Ports


@pytest.fixture
def port() -> Iterator[str]:
    pytest.importorskip("serial", reason="requires the extra 'serial'")
    with on_pty(board(baud=1e6)) as (name, _unplug):
        yield name


def test_an_unplugged_cable_is_reported() -> None:
    pytest.importorskip("serial", reason="requires the extra 'serial'")
    with on_pty(board(baud=1e6)) as (name, unplug):
        events = Conversation(SerialPort(name, 1e6), WORDS, PATIENCE).exchange([b"A" * 50_000])
        next(events)
        unplug()
        message = refusal(ToolError, lambda: list(events))
    assert message.startswith(f"{name}: the connection was lost: ")


def test_ports_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    serial = pytest.importorskip("serial", reason="requires the extra 'serial'")

    def reason(name: str | Path) -> str:
        return refusal(InvalidArgumentError, lambda: SerialPort(str(name), 1e6)).removeprefix(f"port {str(name)!r}: ")

    names = {"ttyUSB1": "USB VID:PID=0403:6010", "ttyS0": "n/a", "ttyACM0": "USB"}
    known = [SimpleNamespace(device=f"/dev/{name}", hwid=hwid) for name, hwid in names.items()]
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: known)
    assert reason(tmp_path / "none") == "there is no such port; this machine has /dev/ttyACM0, /dev/ttyUSB1"
    assert refusal(InvalidArgumentError, find_port) == (
        "this machine has several serial ports: name one of /dev/ttyACM0, /dev/ttyUSB1"
    )
    del known[1:]
    assert find_port() == "/dev/ttyUSB1"
    known.clear()
    assert reason(tmp_path / "none") == "there is no such port"
    assert refusal(InvalidArgumentError, find_port) == "this machine has no serial port: connect the board"
    assert reason(tmp_path) == "it is not a serial port, or has not the speed 1000000"
    other = SerialPort(port, 1e6)
    assert reason(port) == "another program uses it: close that"
    del other

    def forbidden(*_arguments: Any, **_options: Any) -> None:
        raise serial.SerialException(errno.EACCES, f"could not open port: {os.strerror(errno.EACCES)}")

    monkeypatch.setattr(serial, "Serial", forbidden)
    assert reason("mine").startswith("no permission to open it: add yourself to the group that owns it")
    monkeypatch.setitem(sys.modules, "serial.tools.list_ports", None)
    assert refusal(InvalidArgumentError, find_port) == "pyserial is not installed: pip install -e '.[serial]'"


@pytest.mark.smoke
def test_the_demo_shows_what_a_virtual_board_sends(capsys: pytest.CaptureFixture[str]) -> None:
    show_virtual_board(b"A\xe2\x82(\xff\xff")
    assert capsys.readouterr().out == (
        "ill-formed FF: invalid byte\nill-formed E2 82: truncated\n\n6 bytes, 5 items, all equal\n"
    )
