# SPDX-License-Identifier: BSD-2-Clause
"""Progress: on a terminal only, on one line that is removed at the end."""

from __future__ import annotations

import io
import logging

import pytest

from utf8fpga.cli.output import progress, say
from utf8fpga.cli.process import run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


CLEAR = "\r\x1b[2K"


def redirected(kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Standard error as a terminal or a file in memory."""
    stream = kind()
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("utf8fpga.cli.output._REFRESH_SECONDS", 0)
    return stream


def test_progress_is_one_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(Terminal, monkeypatch)
    with progress("proving", 3) as done:
        done(1)
        say("a message")
    assert stream.getvalue() == f"{CLEAR}proving{CLEAR}proving 1 of 3{CLEAR}a message\n{CLEAR}"
    with progress("x" * 100):
        assert stream.getvalue().endswith(CLEAR + "x" * 39)


def test_progress_is_refreshed_some_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(Terminal, monkeypatch)
    monkeypatch.setattr("utf8fpga.cli.output._REFRESH_SECONDS", 999)
    with progress("decoding") as done:
        done(1)
    assert stream.getvalue() == f"{CLEAR}decoding{CLEAR}"


def test_progress_is_quiet_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(io.StringIO, monkeypatch)
    with progress("proving", 3) as done:
        done(1)
        say("a message")
    assert stream.getvalue() == "a message\n"


def test_a_first_start_of_a_tool_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(io.StringIO, monkeypatch)

    def starts() -> None:
        logging.getLogger("utf8fpga.hdl.toolchain").info("yosys compiles itself")

    assert run(starts) == 0
    assert stream.getvalue() == "utf8fpga: yosys compiles itself\n"
