# SPDX-License-Identifier: BSD-2-Clause
"""The commands `talk` and `boards run`, with a virtual board in place of a real one."""

from __future__ import annotations

import os
import pty
import re
import shlex
import signal
import subprocess
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from support.command import COMMAND, utf8fpga
from support.engines import requires_compiler
from support.processes import run, started, wait_until
from support.tiers import tiered

from utf8fpga.boards.forms import FORMS
from utf8fpga.boards.virtual import VirtualBoard, VirtualPort
from utf8fpga.hdl import CoreParameters, DecoderParameters
from utf8fpga.model import GENERALISED_UTF_8

pytestmark = requires_compiler

TEXT = b"h\xc3\xa9llo \xf0\x9f\x98\x80 \xff \xe2\x82"
VIRTUAL = "virtual:icebreaker"
SPEED = 3_000_000
"""The speed at which test_virtual.py, too, simulates boards, so that their models are compiled once."""
BAUD = ("--baud", f"{SPEED}")
PATIENT = (*BAUD, "--timeout", "300")


def talk(*words: str | Path, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return utf8fpga("talk", *PATIENT, *words, data=data)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_bytes(TEXT)
    return path


@pytest.mark.smoke
def test_the_text_comes_back(file: Path, tmp_path: Path) -> None:
    expected = TEXT.decode("utf-8", "replace").encode()
    assert talk(VIRTUAL, file).stdout == expected
    assert talk(VIRTUAL, data=TEXT).stdout == expected
    assert talk(VIRTUAL, "-", "-o", tmp_path / "out", data=TEXT).stdout == b""
    assert (tmp_path / "out").read_bytes() == expected


def test_a_reader_that_closes_the_pipe(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"A" * 20_000)
    with running() as port:
        command = shlex.join([*COMMAND, "talk", port, *PATIENT, "long"])
        done = run(["bash", "-c", f"{command} | head -c 3; echo ${{PIPESTATUS[0]}}"], cwd=tmp_path, capture_output=True)
    assert done.stdout == b"AAA141\n"
    assert done.stderr == b""


def test_items_are_lines(file: Path) -> None:
    assert talk(VIRTUAL, file, "--items").stdout.decode().splitlines() == [
        *["U+0068", "U+00E9", "U+006C", "U+006C", "U+006F", "U+0020", "U+1F600", "U+0020"],
        *("U+FFFD ill-formed", "U+0020", "U+FFFD ill-formed", "end of text"),
    ]


@pytest.mark.parametrize("form", ["words", "utf-8"])
def test_a_check_without_difference(form: str, file: Path) -> None:
    done = talk(VIRTUAL, file, "--check", "--form", form)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        r"16 bytes, 11 items, 2 ill-formed, all equal to the model; [\d.]+ s, [\d.]+ kB/s\n", done.stdout.decode()
    )


@contextmanager
def running(core: CoreParameters | None = None) -> Iterator[str]:
    """The port of a virtual board in another thread."""
    pytest.importorskip("serial", reason="requires the extra 'serial'")
    board = VirtualBoard("icebreaker", baud=SPEED, core=core)
    with VirtualPort(board).running() as port:
        yield port


@contextmanager
def board_process() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The port of a virtual board in another process, and the process."""
    pytest.importorskip("serial", reason="requires the extra 'serial'")
    command = [*COMMAND, "boards", "run", "icebreaker", "--rtl", *BAUD]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield process.stdout.readline().decode().strip(), process


def failure(port: str, *words: str | Path, status: int = 1) -> str:
    done = talk(port, *words)
    assert (done.returncode, done.stdout) == (status, b"")
    [line] = done.stderr.decode().splitlines()
    return line.removeprefix("utf8fpga: ")


def test_a_wrong_speed_is_one_line(file: Path) -> None:
    with running() as port:
        # No time is long enough for an answer.
        message = failure(port, file, "--baud", "115200", "--timeout", "0.5")
        assert re.fullmatch(f"{port}: (no answer within 0.5 s|the answer '.*' is not that of a board).*--baud", message)


@pytest.mark.smoke
def test_a_difference_from_the_model(file: Path) -> None:
    file.write_bytes(b"A\xed\xa0\x80")
    with running(DecoderParameters(table=GENERALISED_UTF_8, optimize="area")) as port:
        message = "the board differs from the model at item 1: U+D800 in place of U+FFFD ill-formed"
        assert failure(port, file, "--check") == message


# The interactive mode


@contextmanager
def typing(port: str, *options: str, stderr: int | None = None) -> Iterator[tuple[int, int, subprocess.Popen[bytes]]]:
    """A session on a terminal, without a file interactive; the terminal, from both sides, and its process."""
    primary, secondary = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    command = [*COMMAND, "talk", port, *PATIENT, *options]
    with started(command, stdin=secondary, stdout=secondary, stderr=stderr or secondary, env=environment) as process:
        yield primary, secondary, process
    os.close(primary)
    os.close(secondary)


def shown_until(primary: int, text: str) -> str:
    """What the terminal shows up to a text."""
    shown = b""
    while text.encode() not in shown:
        shown += os.read(primary, 10_000)
    return shown.decode()


def test_what_is_typed_is_shown_and_the_terminal_is_restored() -> None:
    with running() as port, typing(port) as (primary, secondary, process):
        before = termios.tcgetattr(secondary)
        shown_until(primary, "Ctrl-D ends the text")
        wait_until(lambda: termios.tcgetattr(secondary) != before, expected="a terminal without echo")
        os.write(primary, "é".encode())
        assert "\x1b[32mU+00E9   é  LATIN SMALL LETTER E WITH ACUTE" in shown_until(primary, "ACUTE")
        os.write(primary, b"\xe2\x82\x04")
        assert "\x1b[1;31mU+FFFD ill-formed" in shown_until(primary, "end of text")
        os.write(primary, b"\x05")
        shown_until(primary, "bytes 4, scalar values 1, ill-formed items 1")
        os.write(primary, b"A\x1c\x04")  # Ctrl-\ is a character.
        assert "U+001C" in shown_until(primary, "end of text")
        # A paste with ends of texts: nothing after the first one is lost, and what it leaves behind is shown.
        os.write(primary, b"B\x04C\xff\x04\x04")
        shown = shown_until(primary, "ill-formed")
        assert re.findall("U[+]004.|end of text", shown)[:3] == ["U+0042", "end of text", "U+0043"]
        assert process.wait() == 0
        assert termios.tcgetattr(secondary) == before


@pytest.mark.parametrize(
    ("number", "status"),
    tiered({"SIGTERM": (signal.SIGTERM, -signal.SIGTERM), "SIGINT": (signal.SIGINT, 130)}, ["SIGTERM"]),
)
def test_a_signal_leaves_the_terminal_as_it_was(number: signal.Signals, status: int) -> None:
    with running() as port, typing(port) as (primary, secondary, process):
        before = termios.tcgetattr(secondary)
        shown_until(primary, "Ctrl-D ends the text")
        wait_until(lambda: termios.tcgetattr(secondary) != before, expected="a terminal without echo")
        os.kill(process.pid, number)
        shown_until(primary, "interrupted" if number == signal.SIGINT else "terminated")
        assert process.wait() == status
        assert termios.tcgetattr(secondary) == before


ENDS = {
    "SIGKILL": (signal.SIGKILL, "the connection was lost: the cable may be unplugged"),
    "SIGSTOP": (signal.SIGSTOP, r"no answer within 2 s after 1 byte: check the cable"),
}


@pytest.mark.parametrize(("number", "reason"), tiered(ENDS, ["SIGKILL"]))
def test_a_board_that_ends_or_falls_silent_during_a_session(number: signal.Signals, reason: str) -> None:
    with board_process() as (port, board), typing(port, "--timeout", "2") as (primary, secondary, process):
        before = termios.tcgetattr(secondary)
        shown_until(primary, "Ctrl-D ends the text")
        os.kill(board.pid, number)
        if number == signal.SIGSTOP:
            # A silent board is noticed when it should answer.
            os.write(primary, b"A")
        shown = shown_until(primary, "cable" if number == signal.SIGSTOP else "unplugged")
        assert re.search(f"utf8fpga: {port}: {reason}\\s*$", click.unstyle(shown))
        assert process.wait() == 1
        assert termios.tcgetattr(secondary) == before


def test_ctrl_c_while_a_file_is_sent(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"A" * 1_000_000)
    out = tmp_path / "out"
    with running() as port, typing(port, str(tmp_path / "long"), "-o", str(out)) as (primary, secondary, process):
        before = termios.tcgetattr(secondary)
        shown_until(primary, "sending")
        os.kill(process.pid, signal.SIGINT)
        shown = shown_until(primary, "interrupted")
        assert process.wait() == 130
        assert termios.tcgetattr(secondary) == before
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l"), "the cursor is shown"
    assert not out.exists()


def test_a_board_does_not_command_a_terminal(tmp_path: Path) -> None:
    text = "A\x1b]0;title\x07 \x9b2J\x7f\tB\r\n\N{EURO SIGN}Z"
    (tmp_path / "text").write_bytes(text.encode())
    with running(FORMS["utf-8"].core) as port:
        with typing(port, str(tmp_path / "text"), stderr=subprocess.DEVNULL) as (primary, _, process):
            shown = shown_until(primary, "Z")
            assert process.wait() == 0
        assert talk(port, tmp_path / "text").stdout == text.encode(), "data for other programs are as they are"
    assert shown.replace("\r", "") == "A\\x1b]0;title\\x07 \\x9b2J\\x7f\tB\n\N{EURO SIGN}Z"


def test_files_that_cannot_be_used(file: Path, tmp_path: Path) -> None:
    full = Path("/dev/full")
    with running() as port:
        cases: list[tuple[list[str | Path], str, int]] = [
            ([tmp_path / "none"], f"cannot read '{tmp_path / 'none'}': No such file or directory", 2),
            ([tmp_path], f"cannot read '{tmp_path}': Is a directory", 2),
            ([file, "-o", tmp_path], f"cannot write '{tmp_path}': Is a directory", 2),
            ([file, "--baud", "1e12"], f"port '{port}': baud rate 1e+12 is not in 1..2147483647", 2),
            ([file, "--timeout", "inf"], "the timeout of inf s is not above 0 and at most 86400", 2),
        ]
        if full.exists():
            cases.append(([file, "-o", full], f"cannot write '{full}': No space left on device", 1))
        for words, message, status in cases:
            assert failure(port, *words, status=status) == message
