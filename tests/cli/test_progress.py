# SPDX-License-Identifier: BSD-2-Clause
"""Progress: on a terminal only, on one line that is removed at the end."""

from __future__ import annotations

import io
import logging
import re

import pytest
from support.processes import wait_until

from utf8fpga.cli.output import print_above, progress, say
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
    monkeypatch.setattr("utf8fpga.cli.output._REFRESH_SECONDS", 0.01)
    return stream


def test_progress_is_one_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(Terminal, monkeypatch)

    def lines() -> list[str]:
        """What was shown, once each."""
        return list(dict.fromkeys(re.sub(r"\d+ s$", "N s", line.rstrip()) for line in stream.getvalue().split(CLEAR)))

    with progress("proving", 3) as done:
        done(1)
        wait_until(lambda: "proving 1 of 3" in stream.getvalue(), expected="the number")
        say("a message")
    assert [line for line in lines() if line != "proving of 3 N s"] == ["", "proving 1 of 3 N s", "a message"]
    with progress("decoding", 2000, rate=True) as done:
        done(1000)
        wait_until(lambda: re.search(r"decoding 1 kB, \d+ kB/s \d+ s", stream.getvalue()), expected="the rate")
    with progress("x" * 100):
        pass
    assert lines()[-1] == "x" * 39
    assert stream.getvalue().endswith(CLEAR), "the line is removed"


def test_the_seconds_go_on_while_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(Terminal, monkeypatch)
    with progress("writing"):
        wait_until(lambda: "writing 1 s" in stream.getvalue(), expected="a second")


def test_progress_is_quiet_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(io.StringIO, monkeypatch)
    with progress("proving", 3) as done:
        done(1)
        say("a message")
    assert stream.getvalue() == "a message\n"


def test_a_printed_line_replaces_the_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(Terminal, monkeypatch)
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("utf8fpga.cli.output._REFRESH_SECONDS", 999)
    with progress("proving", 3):
        wait_until(lambda: "proving" in stream.getvalue(), expected="the first line")
        before = stream.getvalue()
        print_above("a result")
        assert stream.getvalue() == before + CLEAR


def test_a_first_start_of_a_tool_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(io.StringIO, monkeypatch)

    def starts() -> None:
        logger = logging.getLogger("utf8fpga.hdl.tool_cache")
        logger.info("yosys compiles itself", extra={"first_start": "begin"})
        logger.info("yosys has been started", extra={"first_start": "end"})

    assert run(starts) == 0
    assert stream.getvalue() == "utf8fpga: yosys compiles itself\n"
