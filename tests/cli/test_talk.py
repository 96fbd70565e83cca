# SPDX-License-Identifier: BSD-2-Clause
"""The command `talk`, with a virtual board in place of a real one."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command import COMMAND, utf8fpga
from support.engines import requires_graph
from support.processes import run, started

from utf8fpga.boards.forms import Form, Words
from utf8fpga.boards.virtual import VirtualBoard
from utf8fpga.hdl import DecoderParameters
from utf8fpga.model import GENERALISED_UTF_8

pytestmark = requires_graph

TEXT = b"h\xc3\xa9llo \xf0\x9f\x98\x80 \xff \xe2\x82"
VIRTUAL = "virtual:icebreaker"
SPEED = ("--baud", "3000000")
"""The speed at which test_virtual.py, too, simulates boards, so that their models are compiled once."""


def talk(*words: str | Path, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return utf8fpga("talk", VIRTUAL, *SPEED, *words, data=data)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_bytes(TEXT)
    return path


@pytest.mark.smoke
def test_the_text_comes_back(file: Path) -> None:
    expected = TEXT.decode("utf-8", "replace").encode()
    assert talk(file).stdout == expected
    assert talk(data=TEXT).stdout == expected


def test_a_reader_that_closes_the_pipe(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"A" * 20_000)
    command = shlex.join([*COMMAND, "talk", VIRTUAL, *SPEED, "long"])
    done = run(["bash", "-c", f"{command} | head -c 3; echo ${{PIPESTATUS[0]}}"], cwd=tmp_path, capture_output=True)
    assert (done.stdout, done.stderr) == (b"AAA141\n", b"")


@pytest.mark.parametrize("form", ["words", "utf-8"])
def test_a_check_without_difference(form: str, file: Path) -> None:
    done = talk(file, "--check", "--form", form)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"16 bytes, 11 items, 2 ill-formed, all equal to the model\n"


@pytest.mark.smoke
def test_a_difference_from_the_model(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_surrogates(name: str, form: Form, baud: float) -> VirtualBoard:
        class Wrong(Words):
            core = DecoderParameters(table=GENERALISED_UTF_8, optimize="area")

        return VirtualBoard(name, Wrong, baud=baud)

    monkeypatch.setattr("utf8fpga.cli.talk.VirtualBoard", with_surrogates)
    file.write_bytes(b"A\xed\xa0\x80")
    done = talk(file, "--check")
    message = b"utf8fpga: item 1 differs from the model: U+D800 in place of U+FFFD ill-formed\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", message)


# On a terminal


@contextmanager
def on_terminal(*words: str | Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The command on a terminal, and the other side of the terminal."""
    primary, secondary = pty.openpty()
    command = [*COMMAND, "talk", VIRTUAL, *SPEED, *map(str, words)]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with started(command, stdin=secondary, stdout=secondary, stderr=secondary, env=environment) as process:
        yield primary, process
    os.close(primary)
    os.close(secondary)


def shown_until(primary: int, text: str, times: int = 1) -> str:
    """What the terminal shows until it has shown a text so many times."""
    shown = b""
    while shown.replace(b"\r", b"").count(text.encode()) < times:
        shown += os.read(primary, 10_000)
    return shown.decode().replace("\r", "")


def test_each_typed_line_is_answered_before_the_next_one() -> None:
    with on_terminal() as (primary, process):
        os.write(primary, b"h\xc3\xa9\n")
        assert shown_until(primary, "hé\n", 2), "the echo of the terminal, and the answer"
        os.write(primary, b"A\n\x04")
        shown_until(primary, "A\n", 2)
        assert process.wait() == 0


def test_ctrl_c_while_a_file_is_sent(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"A" * 10_000_000)
    with on_terminal(tmp_path / "long") as (primary, process):
        shown_until(primary, "AAA")
        os.kill(process.pid, signal.SIGINT)
        shown_until(primary, "interrupted")
        assert process.wait() == 130
