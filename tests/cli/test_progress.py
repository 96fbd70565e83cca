# SPDX-License-Identifier: BSD-2-Clause
"""Progress bars: on a terminal only, and as wide as it is."""

from __future__ import annotations

import io
import logging

import pytest

from utf8fpga.cli.output import progress, spinner
from utf8fpga.cli.process import run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


by_kind = pytest.mark.parametrize("kind", [Terminal, io.StringIO], ids=["terminal", "pipe"])


def redirected(kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Standard error as a terminal or a file in memory."""
    stream = kind()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("sys.stderr", stream)
    return stream


@by_kind
def test_progress_is_shown_on_a_terminal_only(kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(kind, monkeypatch)
    with progress("proving", 3) as show_jobs:
        show_jobs(1)
    jobs = stream.getvalue()
    with progress("decoding", 2000, rate=True) as show_bytes:
        show_bytes(1000)
    if not stream.isatty():
        assert stream.getvalue() == ""
        return
    assert all(text in jobs for text in ("proving", "1/3"))
    assert all(text in stream.getvalue()[len(jobs) :] for text in ("decoding", "kB"))


@by_kind
def test_a_first_start_is_a_spinner_or_one_line(kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(kind, monkeypatch)
    during = []
    message = "yosys compiles itself at its first start, up to a minute"

    def starts() -> None:
        logger = logging.getLogger("utf8fpga.hdl.tool_cache")
        logger.info(message, extra={"first_start": "begin"})
        during.append(stream.getvalue())
        logger.info("yosys has been started", extra={"first_start": "end"})

    assert run(starts) == 0
    if stream.isatty():
        assert message in during[0]
        assert "0:00:00" in during[0]
        assert stream.getvalue().endswith("\x1b[2K"), "the spinner is removed"
    else:
        assert (during, stream.getvalue()) == ([f"utf8fpga: {message}\n"], f"utf8fpga: {message}\n")


def test_a_first_start_is_a_line_above_a_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = redirected(Terminal, monkeypatch)
    with progress("proving", 3), spinner("yosys compiles itself") as is_shown:
        assert not is_shown
    assert "yosys" not in stream.getvalue()
    with spinner("yosys compiles itself") as is_shown:
        assert is_shown
    assert "yosys" in stream.getvalue()
